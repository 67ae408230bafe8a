//! What was done to the fleet, counted: a test whose faults did not happen must not be green.

use std::collections::BTreeMap;
use std::fmt;

use super::process::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(dead_code, reason = "no broker stands in a team; the fleet uses these too")]
pub enum Fault {
    Killed(Role),
    Stopped(Role),
    Frozen(Role),
    DatabaseCrashed,
    DatabaseFrozen,
    RightRevoked,
    ConnectionsCut,
    ConnectionsEaten,
    TransactionIdle,
    BrokerKilled,
    BrokerFrozen,
    TopicsDeleted,
    MessageForged,
    WorkerJoined,
    #[allow(dead_code, reason = "counted by the tests of Redis, which stand on this stage too")]
    RedisBroken,
}

#[derive(Debug, Default)]
pub struct Faults(BTreeMap<Fault, usize>);

impl Faults {
    pub fn count(&mut self, fault: Fault) {
        self.add(fault, 1);
    }

    pub fn add(&mut self, fault: Fault, times: usize) {
        *self.0.entry(fault).or_default() += times;
    }

    /// Each of these happened at least so often.
    pub fn assert_at_least(&self, expected: &[(Fault, usize)]) {
        for (fault, least) in expected {
            let happened = self.0.get(fault).copied().unwrap_or(0);
            assert!(happened >= *least, "{fault:?} happened {happened} times and not {least}: this run proves nothing");
        }
    }

    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (fault, count)) in self.0.iter().enumerate() {
            write!(f, "{}{fault:?} ×{count}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
