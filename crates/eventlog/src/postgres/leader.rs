//! Gives consumers to workers, in the one worker that leads.
//!
//! Removes workers that are silent for too long, plans, and writes what differs from what is. It looks every
//! `rebalance_interval`, and every second whether workers came or went, so a worker that leaves in good order is replaced within
//! that second. Every write carries the term. What is idle moves at once. What is at work moves when its batch ends, if that is soon;
//! otherwise another consumer moves in its place. Dies half way: the next leader finds what is and plans from there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foreman_runtime::{Lead, Shutdown, Term};
use tokio::time::{Instant, sleep};
use tokio_postgres::types::Type;
use tracing::{info, warn};
use uuid::Uuid;

use super::assign::Unit;
use super::control::Control;
use super::error::LogError;
use super::lease::number;
use super::worker::Inner;
use crate::failure::chain;

/// How often a leader looks whether workers came or went.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) async fn run(inner: Arc<Inner>, lead: Lead, shutdown: Shutdown) {
    loop {
        let term = tokio::select! {
            () = shutdown.draining() => return,
            term = lead.elected() => term,
        };
        info!(worker.id = %inner.id, term = %term, "this worker leads: it gives consumers to workers");
        let mut known = None;
        let mut due = Instant::now();
        while lead.holds(term) && !shutdown.is_draining() {
            match round(&inner, term, &mut known, &mut due).await {
                Ok(()) => {}
                Err(error) => {
                    warn!(worker.id = %inner.id, error = chain(&error), "consumers could not be given to workers");
                }
            }
            tokio::select! {
                () = shutdown.draining() => return,
                () = sleep(LOOK.min(inner.options.rebalance_interval)) => {}
            }
        }
    }
}

/// How long one round waits for batches to end, in all and for one.
const HANDS: Duration = Duration::from_secs(3);
const BATCH_END: Duration = Duration::from_millis(500);

/// Who is alive with what, and who has what.
type Situation = (BTreeMap<Uuid, BTreeSet<Unit>>, BTreeMap<Unit, Uuid>);

async fn round(inner: &Inner, term: Term, known: &mut Option<Situation>, due: &mut Instant) -> Result<(), LogError> {
    let timeout = inner.options.heartbeat_timeout.as_secs_f64();
    let of = [(&number(term) as _, Type::INT8), (&timeout as _, Type::FLOAT8)];
    for row in inner.control.query(&inner.log.sql.prune_workers, &of).await? {
        let gone: Uuid = row.try_get(0)?;
        warn!(worker.id = %gone, "worker {gone} was silent for too long: its consumers go to others");
    }
    let now = situation(inner, timeout).await?;
    if known.as_ref() == Some(&now) && Instant::now() < *due {
        return Ok(());
    }
    *due = Instant::now() + inner.options.rebalance_interval;
    let plan = inner.options.assign.plan(&now.0, &now.1);
    let changes = changes(&plan, &now.1);
    if changes.is_empty() {
        *known = Some(now);
        return Ok(());
    }
    let mut moved = assign(inner, &inner.control, term, &changes).await?;
    let mut busy: Vec<&Change> = changes.iter().filter(|(unit, _)| !moved.contains(unit)).collect();
    let hands_until = Instant::now() + HANDS;
    while let Some(change) = busy.pop_if(|_| Instant::now() < hands_until) {
        moved.extend(wait_and_assign(inner, term, change).await?);
    }
    let busy: BTreeSet<&Unit> = changes.iter().map(|(unit, _)| unit).filter(|unit| !moved.contains(*unit)).collect();
    let mut after = situation(inner, timeout).await?;
    if !busy.is_empty() {
        info!(worker.id = %inner.id, "{} consumers are in long batches: others are moved instead", busy.len());
        let around = pinned(&after, &busy);
        let plan = inner.options.assign.plan(&around, &after.1);
        moved.extend(assign(inner, &inner.control, term, &self::changes(&plan, &after.1)).await?);
        after = situation(inner, timeout).await?;
    }
    info!(worker.id = %inner.id, workers = now.0.len(), "gave {} consumers to other workers", moved.len());
    inner.options.observer.rebalanced(&after.1);
    inner.sync_now.notify_one();
    *known = busy.is_empty().then_some(after);
    Ok(())
}

/// A unit and the worker that is to have it.
type Change = (Unit, Uuid);

fn changes(plan: &BTreeMap<Unit, Uuid>, owners: &BTreeMap<Unit, Uuid>) -> Vec<Change> {
    let differs = plan.iter().filter(|(unit, worker)| owners.get(*unit) != Some(*worker));
    differs.map(|(unit, worker)| (unit.clone(), *worker)).collect()
}

/// What each worker can run if those that are busy stay where they are.
fn pinned((workers, owners): &Situation, busy: &BTreeSet<&Unit>) -> BTreeMap<Uuid, BTreeSet<Unit>> {
    let stays = |worker: &Uuid, unit: &Unit| !busy.contains(unit) || owners.get(unit) == Some(worker);
    let left = |(worker, can): (&Uuid, &BTreeSet<Unit>)| {
        (*worker, can.iter().filter(|unit| stays(worker, unit)).cloned().collect())
    };
    workers.iter().map(left).collect()
}

/// Those that no batch holds. Returns which.
async fn assign(inner: &Inner, control: &Control, term: Term, changes: &[Change]) -> Result<BTreeSet<Unit>, LogError> {
    let names: Vec<&str> = changes.iter().map(|((name, _), _)| name.as_str()).collect();
    let shards: Vec<i32> = changes.iter().map(|((_, shard), _)| *shard).collect();
    let workers: Vec<Uuid> = changes.iter().map(|(_, worker)| *worker).collect();
    let of = [
        (&number(term) as _, Type::INT8),
        (&names as _, Type::TEXT_ARRAY),
        (&shards as _, Type::INT4_ARRAY),
        (&workers as _, Type::UUID_ARRAY),
    ];
    let rows = control.query(&inner.log.sql.assign, &of).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// A consumer that catches up holds its row nearly all the time: this waits in line for the end of its batch. On a connection
/// of its own, so that nothing else waits; and the lease is looked at after the wait.
async fn wait_and_assign(inner: &Inner, term: Term, change: &Change) -> Result<BTreeSet<Unit>, LogError> {
    let hands = &inner.hands;
    let of = [(&change.0.0 as _, Type::TEXT), (&change.0.1 as _, Type::INT4)];
    let begin = format!("BEGIN; SET LOCAL lock_timeout = {}", BATCH_END.as_millis());
    hands.ended(async |client: &tokio_postgres::Client| Ok(client.batch_execute(&begin).await?)).await?;
    let moved = match hands.execute(&inner.log.sql.await_unit, &of).await {
        Ok(_) => assign(inner, hands, term, std::slice::from_ref(change)).await,
        Err(LogError::Database(error)) if error.code().is_some_and(|code| code.code() == "55P03") => {
            Ok(BTreeSet::new())
        }
        Err(error) => Err(error),
    };
    let end = if moved.is_ok() { "COMMIT" } else { "ROLLBACK" };
    hands.ended(async |client: &tokio_postgres::Client| Ok(client.batch_execute(end).await?)).await?;
    moved
}

async fn situation(inner: &Inner, timeout: f64) -> Result<Situation, LogError> {
    let mut workers = BTreeMap::new();
    for row in inner.control.query(&inner.log.sql.living_workers, &[(&timeout, Type::FLOAT8)]).await? {
        let can: Vec<String> = row.try_get(1)?;
        workers.insert(row.try_get(0)?, can.iter().filter_map(|text| unit_of(text)).collect());
    }
    let mut owners = BTreeMap::new();
    for row in inner.control.query(&inner.log.sql.owners, &[]).await? {
        if let Some(worker) = row.try_get(2)? {
            owners.insert((row.try_get(0)?, row.try_get(1)?), worker);
        }
    }
    Ok((workers, owners))
}

/// As a worker writes it into its row.
pub(crate) fn unit_text(name: &str, shard: i32) -> String {
    format!("{name}/{shard}")
}

fn unit_of(text: &str) -> Option<Unit> {
    let (name, shard) = text.rsplit_once('/')?;
    Some((name.to_owned(), shard.parse().ok()?))
}
