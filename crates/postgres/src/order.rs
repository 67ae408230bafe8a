//! The fair order: which key a job that falls due is given.
//!
//! Keys are reserved before the batch that uses them, by a short transaction of its own: the row of a tenant's last key is
//! hot, and nobody is to wait for it while somebody's batch is on its way to the disk. What the batch did not need is given
//! back if nobody has reserved since; otherwise, and when the process dies in between, the keys are wasted, which is no harm.

use std::collections::BTreeMap;

use foreman_core::fair::UNIT;
use foreman_core::job::QueueName;
use foreman_core::ports::{StoreError, Topic};
use foreman_core::{JobId, Lane, TenantId};
use tracing::debug;
use uuid::Uuid;

use crate::connection::Purpose;
use crate::error::Fault;
use crate::rows::{Cells, rank};
use crate::value::Arg;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

/// Weight of every tenant until tenants can be given one.
const WEIGHT: u32 = 1;
const STEP: i64 = UNIT / WEIGHT as i64;

pub(crate) const RESERVE: &str = include_str!("sql/reserve.sql");
pub(crate) const GIVE_BACK: &str = "UPDATE shares SET last_key = given_back.used
    FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[])
         AS given_back (queue, lane, tenant, last_key, used)
    WHERE shares.queue = given_back.queue AND shares.lane = given_back.lane AND shares.tenant = given_back.tenant
      AND shares.last_key = given_back.last_key";
pub(crate) const SERVED: &str = "INSERT INTO lanes AS known (queue, lane, v)
    SELECT queue, lane, v FROM unnest($1::text[], $2::smallint[], $3::bigint[]) AS served (queue, lane, v)
    ORDER BY lane, queue
    ON CONFLICT (lane, queue) DO UPDATE SET v = excluded.v WHERE excluded.v > known.v";
pub(crate) const PLACE: &str = "UPDATE ready SET key = given.key
    FROM unnest($1::uuid[], $2::bigint[]) AS given (job, key) WHERE ready.job = given.job";

/// A line in which tenants share.
type Share = (QueueName, Lane, TenantId);

/// Keys at hand for one operation.
#[derive(Clone, Default)]
pub(crate) struct Reservation {
    shares: BTreeMap<Share, Reserved>,
}

#[derive(Clone, Copy)]
struct Reserved {
    next: i64,
    last: i64,
}

/// How many keys of each share an operation wants.
#[derive(Default)]
pub(crate) struct Demand(BTreeMap<Share, i64>);

impl Demand {
    pub fn one(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane) {
        *self.0.entry((queue.clone(), lane, tenant.clone())).or_default() += 1;
    }
}

impl Reservation {
    /// In a transaction of its own, which does not wait for the disk.
    pub async fn make(store: &PostgresStore, demand: &Demand) -> Result<Self, StoreError> {
        if demand.0.is_empty() {
            return Ok(Self::default());
        }
        transact!(store, data, Hint, |tx| Self::reserve(&tx, demand, true).await)
    }

    /// In the transaction that uses them: for the few that turn out to be due only there.
    pub async fn within(tx: &Transaction, demand: &Demand) -> Result<Self, Fault> {
        Self::reserve(tx, demand, false).await
    }

    async fn reserve(tx: &Transaction, demand: &Demand, is_all: bool) -> Result<Self, Fault> {
        let (mut queues, mut lanes, mut tenants, mut given) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for ((queue, lane, tenant), count) in &demand.0 {
            queues.push(queue.as_str());
            lanes.push(rank(*lane));
            tenants.push(tenant.as_str());
            given.push(count * STEP);
        }
        let args: [&dyn Arg; 4] = [&queues, &lanes, &tenants, &given];
        let step = [(RESERVE, &args[..])];
        // Done twice, it wastes keys and nothing else.
        let rows = if is_all { tx.last(&step, true).await? } else { tx.all(&step).await? }.pop().unwrap_or_default();
        let mut shares = BTreeMap::new();
        for row in &rows {
            let cells = Cells { row, table: "shares", id: JobId(Uuid::nil()) };
            let share = (cells.queue(0)?, cells.lane(1)?, cells.tenant(2)?);
            let last: i64 = cells.get(3, "last_key")?;
            let count = demand.0.get(&share).copied().unwrap_or_default();
            // What `Keys::reserve` gives, counted from its end.
            shares.insert(share, Reserved { next: last - STEP * (count - 1), last });
        }
        Ok(Self { shares })
    }

    /// The key of a job that falls due now; none when none was reserved for it.
    pub fn next(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane) -> Option<i64> {
        let reserved = self.shares.get_mut(&(queue.clone(), lane, tenant.clone()))?;
        if reserved.next > reserved.last {
            return None;
        }
        let key = reserved.next;
        reserved.next += STEP;
        Some(key)
    }

    /// Returns what was not needed.
    pub async fn give_back(self, store: &PostgresStore) {
        let unused: Vec<_> = self.shares.iter().filter(|(_, reserved)| reserved.next <= reserved.last).collect();
        if unused.is_empty() {
            return;
        }
        let queues: Vec<&str> = unused.iter().map(|((queue, ..), _)| queue.as_str()).collect();
        let lanes: Vec<i16> = unused.iter().map(|((_, lane, _), _)| rank(*lane)).collect();
        let tenants: Vec<&str> = unused.iter().map(|((.., tenant), _)| tenant.as_str()).collect();
        let last: Vec<i64> = unused.iter().map(|(_, reserved)| reserved.last).collect();
        let used: Vec<i64> = unused.iter().map(|(_, reserved)| reserved.next - STEP).collect();
        let done: Result<(), StoreError> = transact!(store, data, Hint, |tx| tx
            .rows(GIVE_BACK, &[&queues, &lanes, &tenants, &last, &used])
            .await
            .map(|_| ()));
        if let Err(error) = done {
            debug!("keys that were not needed are wasted: {error}");
        }
    }
}

/// Gives a place in line to jobs that stand in `ready` without one and turned out to be due, in the transaction that put them
/// there.
pub(crate) async fn place(tx: &Transaction, due: &[(JobId, TenantId, QueueName, Lane)]) -> Result<(), Fault> {
    if due.is_empty() {
        return Ok(());
    }
    let mut demand = Demand::default();
    for (_, tenant, queue, lane) in due {
        demand.one(tenant, queue, *lane);
    }
    let mut reservation = Reservation::within(tx, &demand).await?;
    let ids: Vec<Uuid> = due.iter().map(|(job, ..)| job.0).collect();
    let keys: Vec<Option<i64>> =
        due.iter().map(|(_, tenant, queue, lane)| reservation.next(tenant, queue, *lane)).collect();
    tx.rows(PLACE, &[&ids, &keys]).await?;
    tx.ring(Topic::Ready);
    Ok(())
}

/// V moves with service: the highest key claimed so far. After the claim and apart from it, so that claims do not wait for
/// each other here; lost, it lets a newcomer in a little further in front. So nobody waits for its answer either: what was
/// claimed starts two round trips sooner, and whoever uses the connection next finds V moved.
pub(crate) async fn served(store: &PostgresStore, highest: &BTreeMap<(QueueName, Lane), i64>) {
    let queues: Vec<&str> = highest.keys().map(|(queue, _)| queue.as_str()).collect();
    let lanes: Vec<i16> = highest.keys().map(|(_, lane)| rank(*lane)).collect();
    let keys: Vec<i64> = highest.values().copied().collect();
    let args: [&dyn Arg; 3] = [&queues, &lanes, &keys];
    let sent = store.in_time(store.parts.call_timeout, async {
        let tx = Transaction::new(&store.parts, &store.parts.data, Purpose::Hint).await?;
        Ok(tx.unheard((SERVED, &args)).await?)
    });
    if let Err(error) = sent.await {
        debug!("the front of the line was not moved on: {error}");
    }
}

const _: () = assert!(STEP > 0);

#[cfg(test)]
mod tests {
    use foreman_core::fair::Keys;

    use super::*;

    #[test]
    fn the_last_of_the_keys_the_core_reserves_lies_as_many_steps_on_as_the_statement_moves() {
        for count in 1..5 {
            let keys = Keys::reserve(7 * UNIT, 3 * UNIT, WEIGHT, count);
            assert_eq!(keys.last(), 7 * UNIT + STEP * count as i64);
        }
    }
}
