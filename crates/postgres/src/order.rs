//! The fair order: which key a job that falls due is given.
//!
//! Keys are reserved before the batch that uses them, by a short transaction of its own: the row of a tenant's last key is
//! hot, and nobody is to wait for it while somebody's batch is on its way to the disk. Where the batch needs nothing else
//! beforehand, both go out in one round trip (`jobs/submit/at_once.rs`). What the batch did not need is given back if nobody has
//! reserved since; otherwise, and when the process dies in between, the keys are wasted, which is no harm.

use std::collections::BTreeMap;

use foreman_core::fair::UNIT;
use foreman_core::job::QueueName;
use foreman_core::ports::{StoreError, Topic};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use tokio_postgres::Row;
use tracing::debug;
use uuid::Uuid;

use crate::connection::TransactionPurpose;
use crate::error::Fault;
use crate::rows::{NamedCells, rank};
use crate::value::{Arg, bound};
use crate::write::{Query, Transaction};
use crate::{PostgresStore, transact};

pub(crate) const RESERVE: &str = include_str!("sql/reserve.sql");
pub(crate) const GIVE_BACK: &str = include_str!("sql/order/give_back.sql");
pub(crate) const SERVED: &str = include_str!("sql/order/served.sql");
pub(crate) const SERVED_OUT_OF_TURN: &str = include_str!("sql/order/served_out_of_turn.sql");
pub(crate) const PLACE: &str = include_str!("sql/order/place.sql");

/// What is due in one lane, for one route, in one queue.
pub(crate) type LineId = (QueueName, Lane, Route);

/// A line in which tenants share.
pub(crate) type Share = (QueueName, Lane, Route, TenantId);

/// Keys at hand for one operation.
#[derive(Clone, Default)]
pub(crate) struct Reservation {
    shares: BTreeMap<Share, ReservedKeys>,
}

#[derive(Clone, Copy)]
struct ReservedKeys {
    next: i64,
    last: i64,
    step: i64,
}

/// How many keys of each share an operation wants.
#[derive(Default)]
pub(crate) struct Demand(BTreeMap<Share, i64>);

impl Demand {
    pub fn one(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane, route: &Route) {
        self.some(tenant, queue, lane, route, 1);
    }

    pub fn some(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane, route: &Route, count: usize) {
        *self.0.entry((queue.clone(), lane, route.clone(), tenant.clone())).or_default() += bound(count);
    }

    /// Its shares in the order in which they are asked for.
    pub fn shares(&self) -> impl Iterator<Item = &Share> {
        self.0.keys()
    }

    /// As [`RESERVE`] wants it. `mark`: for a batch that is sent along and finds its keys by it.
    pub fn asked(&self, mark: Option<String>) -> AskedKeys<'_> {
        let mut asked = AskedKeys { shares: ShareColumns::default(), counts: Vec::with_capacity(self.0.len()), mark };
        for (share, count) in &self.0 {
            asked.shares.push(share);
            asked.counts.push(*count);
        }
        asked
    }
}

/// A demand, column by column.
pub(crate) struct AskedKeys<'a> {
    shares: ShareColumns<'a>,
    counts: Vec<i64>,
    mark: Option<String>,
}

impl AskedKeys<'_> {
    pub fn args(&self) -> [&dyn Arg; 7] {
        let ShareColumns { queues, lanes, routes, tenants } = &self.shares;
        [queues, lanes, routes, tenants, &self.counts, &UNIT, &self.mark]
    }
}

impl Reservation {
    /// In a transaction of its own, which does not wait for the disk.
    pub async fn make(store: &PostgresStore, demand: &Demand) -> Result<Self, StoreError> {
        if demand.0.is_empty() {
            return Ok(Self::default());
        }
        // Done twice, it wastes keys and nothing else.
        transact!(store, data, Hint, |tx| {
            let asked = demand.asked(None);
            let answers = tx.last(&[(RESERVE, &asked.args()[..])], true).await;
            answers.and_then(|mut answers| Self::read(demand, &answers.pop().unwrap_or_default()))
        })
    }

    /// In the transaction that uses them: for the few that turn out to be due only there.
    pub async fn within(tx: &Transaction, demand: &Demand) -> Result<Self, Fault> {
        Self::read(demand, &tx.rows(RESERVE, &demand.asked(None).args()).await?)
    }

    /// What [`RESERVE`] answered.
    pub fn read(demand: &Demand, rows: &[Row]) -> Result<Self, Fault> {
        let mut shares = BTreeMap::new();
        for row in rows {
            let given = NamedCells::about(row, "line_shares", "unknown");
            let share = (given.queue()?, given.lane()?, given.route()?, given.tenant()?);
            let (last, step): (i64, i64) = (given.get("last_key")?, given.get("step")?);
            let count = demand.0.get(&share).copied().unwrap_or_default();
            // What `Keys::reserve` gives, counted from its end.
            shares.insert(share, ReservedKeys { next: last - step * (count - 1), last, step });
        }
        Ok(Self { shares })
    }

    /// The first key of a share, and the step from one to the next.
    pub fn first(&self, share: &Share) -> Option<(i64, i64)> {
        self.shares.get(share).map(|reserved| (reserved.next, reserved.step))
    }

    /// The key of a job that falls due now; none when none was reserved for it.
    pub fn next(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane, route: &Route) -> Option<i64> {
        let reserved = self.shares.get_mut(&(queue.clone(), lane, route.clone(), tenant.clone()))?;
        if reserved.next > reserved.last {
            return None;
        }
        let key = reserved.next;
        reserved.next += reserved.step;
        Some(key)
    }

    /// Returns what was not needed.
    pub async fn give_back(self, store: &PostgresStore) {
        let mut unused = ShareColumns::default();
        let (mut last, mut used) = (Vec::new(), Vec::new());
        for (share, reserved) in self.shares.iter().filter(|(_, reserved)| reserved.next <= reserved.last) {
            unused.push(share);
            last.push(reserved.last);
            used.push(reserved.next - reserved.step);
        }
        if last.is_empty() {
            return;
        }
        let ShareColumns { queues, lanes, routes, tenants } = &unused;
        let done: Result<(), StoreError> = transact!(store, data, Hint, |tx| tx
            .rows(GIVE_BACK, &[queues, lanes, routes, tenants, &last, &used])
            .await
            .map(|_| ()));
        if let Err(error) = done {
            debug!("could not return unused order keys: {error}");
        }
    }
}

/// Shares, column by column.
#[derive(Default)]
struct ShareColumns<'a> {
    queues: Vec<&'a str>,
    lanes: Vec<i16>,
    routes: Vec<&'a str>,
    tenants: Vec<&'a str>,
}

impl<'a> ShareColumns<'a> {
    fn push(&mut self, (queue, lane, route, tenant): &'a Share) {
        self.queues.push(queue.as_str());
        self.lanes.push(rank(*lane));
        self.routes.push(route.as_str());
        self.tenants.push(tenant.as_str());
    }
}

/// A job that is due and has no place in line yet.
pub(crate) type Placeless = (JobId, TenantId, QueueName, Lane, Route);

/// Gives a place in line to jobs that stand in `ready` without one and turned out to be due, in the transaction that put them
/// there.
pub(crate) async fn place(tx: &Transaction, due: &[Placeless]) -> Result<(), Fault> {
    give_places(tx, due, 0).await
}

/// The same for jobs that have waited for their time: to fall due is a move.
pub(crate) async fn promote(tx: &Transaction, due: &[Placeless]) -> Result<(), Fault> {
    give_places(tx, due, 1).await
}

async fn give_places(tx: &Transaction, due: &[Placeless], moves: i32) -> Result<(), Fault> {
    if due.is_empty() {
        return Ok(());
    }
    let mut demand = Demand::default();
    for (_, tenant, queue, lane, route) in due {
        demand.one(tenant, queue, *lane, route);
    }
    let mut reservation = Reservation::within(tx, &demand).await?;
    let ids: Vec<Uuid> = due.iter().map(|(job, ..)| job.0).collect();
    let keys: Vec<Option<i64>> =
        due.iter().map(|(_, tenant, queue, lane, route)| reservation.next(tenant, queue, *lane, route)).collect();
    tx.rows(PLACE, &[&ids, &keys, &moves]).await?;
    tx.ring(Topic::Ready);
    Ok(())
}

/// What a claim took, line by line.
pub(crate) struct ServedLines {
    lines: BTreeMap<LineId, (i64, i64)>,
    is_in_turn: bool,
}

impl ServedLines {
    pub fn new(is_in_turn: bool) -> Self {
        Self { lines: BTreeMap::new(), is_in_turn }
    }

    pub fn one(&mut self, line: LineId, key: i64) {
        let (highest, count) = self.lines.entry(line).or_insert((key, 0));
        (*highest, *count) = (key.max(*highest), *count + 1);
    }

    /// The highest key of each line; none for a claim out of turn, which says nothing about what comes next.
    pub fn fronts(&self) -> Vec<((i16, Route, QueueName), i64)> {
        let lines = self.lines.iter().filter(|_| self.is_in_turn);
        lines.map(|((queue, lane, route), (key, _))| ((rank(*lane), route.clone(), queue.clone()), *key)).collect()
    }
}

/// V moves with service: the highest key claimed so far. After the claim and apart from it, so that claims do not wait for
/// each other here; lost, it lets a newcomer in a little further in front. So nobody waits for its answer either: what was
/// claimed starts two round trips sooner, and whoever uses the connection next finds V moved.
pub(crate) async fn served(store: &PostgresStore, served: &ServedLines) {
    if served.lines.is_empty() {
        return;
    }
    let queues: Vec<&str> = served.lines.keys().map(|(queue, ..)| queue.as_str()).collect();
    let lanes: Vec<i16> = served.lines.keys().map(|(_, lane, _)| rank(*lane)).collect();
    let routes: Vec<&str> = served.lines.keys().map(|(.., route)| route.as_str()).collect();
    let keys: Vec<i64> = served.lines.values().map(|(highest, _)| *highest).collect();
    let most: Vec<i64> = served.lines.values().map(|(_, count)| UNIT.saturating_mul(*count)).collect();
    let args: [&dyn Arg; 5] = [&queues, &lanes, &routes, &keys, &most];
    let step = if served.is_in_turn { (SERVED, &args[..4]) } else { (SERVED_OUT_OF_TURN, &args[..]) };
    hint(store, step, "advance the front of the queue").await;
}

/// Writes something that nobody waits for, and that may be lost.
pub(crate) async fn hint(store: &PostgresStore, step: Query<'_>, what: &str) {
    let sent = store.in_time(store.parts.call_timeout, async {
        let tx = Transaction::new(&store.parts, &store.parts.data, TransactionPurpose::Hint).await?;
        Ok(tx.unheard(step).await?)
    });
    if let Err(error) = sent.await {
        debug!("could not {what}: {error}");
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[GIVE_BACK, PLACE, RESERVE, SERVED, SERVED_OUT_OF_TURN];
