//! Firing schedules: from what is due to what the store is asked for.
//!
//! Shared by the scheduler, which fires on time, and by the schedule editor, which fires what is due before it changes a schedule.
//! Both may do so at once, and as often as they like: a tick is fired once because of its key, and a firing that was
//! computed from an older state is refused.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{DueSchedule, Fired, Firing, JobStore, Leader, NewTick, ScheduleStore, StoreError, TickAct};
use foreman_core::schedule::{Planned, PlannedTick, plan};
use foreman_core::spec::Invalid;
use foreman_core::{JobId, ScheduleId, TenantId, Timestamp, Work};

use crate::backlog::Backlog;
use crate::outage::bounded;

/// A schedule's firing, and whose schedule it is.
#[derive(Clone, Debug)]
pub(crate) struct ReadyFiring {
    pub tenant: TenantId,
    pub firing: Firing,
}

/// What one transaction still takes. A scheduler that was away for days finds a thousand ticks of each of a thousand schedules
/// due; all at once they would neither fit into memory nor be written before the call's time is over, and so never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    ticks: usize,
    bytes: usize,
}

impl Budget {
    /// Of what the jobs of one transaction say, as JSON.
    const BYTES: usize = 16 * 1024 * 1024;

    pub fn new(ticks: usize) -> Self {
        Self { ticks: ticks.max(1), bytes: Self::BYTES }
    }

    pub fn is_left(self) -> bool {
        self.ticks > 0 && self.bytes > 0
    }

    /// Puts off what does not fit; one tick always does.
    fn take(&mut self, planned: &mut Planned, bytes_each: usize) {
        let most = self.ticks.min(self.bytes / bytes_each.max(1)).max(1);
        planned.put_off_after(most);
        self.ticks = self.ticks.saturating_sub(planned.ticks.len().max(1));
        self.bytes = self.bytes.saturating_sub(planned.ticks.len() * bytes_each);
    }
}

/// How long it is as JSON, without writing it down.
fn length(work: &Work) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    serde_json::to_writer(&mut length, work).expect("work is plain data with text keys");
    length.0
}

/// What is to be done about a schedule now, as far as there is room. An error when the schedule cannot be read: a zone that
/// this binary does not know, or an expression of a later version.
pub(crate) fn prepare(
    due: &DueSchedule,
    now: Timestamp,
    missed_after: Duration,
    room: &mut Budget,
) -> Result<ReadyFiring, Invalid> {
    let DueSchedule { schedule, seen } = due;
    let rule = schedule.rule()?;
    let mut planned = match seen.next.filter(|next| *next <= now) {
        Some(next) => plan(&rule, next, now, missed_after),
        None => Planned { ticks: Vec::new(), next: seen.next },
    };
    room.take(&mut planned, length(&schedule.work));
    let tick = |planned: &PlannedTick| match *planned {
        PlannedTick::Fire { nominal } => NewTick { nominal, act: TickAct::Fire(schedule.job_at(nominal, rule.jitter)) },
        PlannedTick::Skip { first, last, count } => NewTick { nominal: first, act: TickAct::Miss { last, count } },
    };
    let firing = Firing {
        schedule: schedule.id,
        seen: *seen,
        overlap: rule.overlap,
        release: seen.held.map(|nominal| schedule.job_now(nominal)),
        ticks: planned.ticks.iter().map(tick).collect(),
        next: planned.next,
    };
    Ok(ReadyFiring { tenant: schedule.tenant.clone(), firing })
}

/// What a round of firing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FiringRound {
    pub jobs: Vec<JobId>,
    /// Not what they were any more: others fired or changed them.
    pub stale: Vec<ScheduleId>,
}

/// Both halves of a store that firing needs.
#[derive(Clone)]
pub(crate) struct Firer {
    pub schedules: Arc<dyn ScheduleStore>,
    pub jobs: Arc<dyn JobStore>,
    pub call_timeout: Duration,
    /// Without it, everything fires however much waits.
    pub backlog: Option<Arc<Backlog>>,
}

/// Cancelling makes room at once, so a second round finds something open only when others fire at the same time.
const ROUNDS: usize = 3;

impl Firer {
    /// Fires them all; `None` when the leader's term is over.
    pub async fn fire(
        &self,
        leader: Option<&Leader>,
        mut ready: Vec<ReadyFiring>,
    ) -> Result<Option<FiringRound>, StoreError> {
        let mut done = FiringRound::default();
        if let Some(backlog) = &self.backlog {
            backlog.hold_back(&mut ready).await?;
        }
        for _ in 0..ROUNDS {
            if ready.is_empty() {
                break;
            }
            let firings: Vec<Firing> = ready.iter().map(|ready| ready.firing.clone()).collect();
            let Some(answers) = bounded(self.call_timeout, self.schedules.fire(leader, &firings)).await? else {
                return Ok(None);
            };
            let mut again = Vec::new();
            for (ready, fired) in ready.into_iter().zip(answers) {
                match fired {
                    Fired::Done(jobs) => done.jobs.extend(jobs),
                    Fired::Stale => done.stale.push(ready.firing.schedule),
                    Fired::CancelFirst(open) => {
                        if !self.cancel(leader, &ready.tenant, &open).await? {
                            return Ok(None);
                        }
                        again.push(ready);
                    }
                }
            }
            ready = again;
        }
        done.stale.extend(ready.into_iter().map(|ready| ready.firing.schedule));
        Ok(Some(done))
    }

    /// `false` when the leader's term is over.
    async fn cancel(&self, leader: Option<&Leader>, tenant: &TenantId, open: &[JobId]) -> Result<bool, StoreError> {
        match leader {
            Some(leader) => {
                let answer = bounded(self.call_timeout, self.jobs.cancel_as(leader, tenant, open)).await?;
                Ok(answer.is_some())
            }
            None => bounded(self.call_timeout, self.jobs.cancel(tenant, open)).await.map(|_| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ticks: u64) -> Planned {
        let nominal = |n: u64| Timestamp::default().plus(Duration::from_secs(n));
        let ticks = (0..ticks).map(|n| PlannedTick::Fire { nominal: nominal(n) }).collect();
        Planned { ticks, next: None }
    }

    #[test]
    fn a_transaction_has_room_for_so_many_ticks_and_so_many_bytes() {
        for (ticks, bytes_each, taken) in
            [(10, 100, 10), (2_000, 100, 500), (2_000, 1024 * 1024, 16), (5, 100 * 1024 * 1024, 1), (0, 100, 0)]
        {
            let (mut room, mut planned) = (Budget::new(500), of(ticks));
            room.take(&mut planned, bytes_each);
            assert_eq!(planned.ticks.len(), taken, "{ticks} of {bytes_each} bytes");
            assert_eq!(room.is_left(), ticks <= 10 && bytes_each == 100, "{ticks} of {bytes_each} bytes");
        }
    }
}
