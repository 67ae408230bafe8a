//! What falls due, expires, or has outlived its retention.
//!
//! Any number may do this at once: rows that another is working on are skipped, and each step is at most `limit` of a kind.
//! Places in line are reserved for jobs that are locked, so that each is charged once.

use async_trait::async_trait;
use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{
    DONE_IS_NOTED_EVERY, Due, FollowerName, Leader, PARKED_KEPT, PruneKind, PruneStep, Retention, Step, StoreError,
    UNREAD_KEPT, USE_IS_NOTED_EVERY, Upkeep,
};
use foreman_core::storage::StoredReport;
use foreman_core::target::Route;
use foreman_core::{State, Timestamp};

use crate::announce::parked::CUT_PARKED;
use crate::audit_log::CUT_AUDIT_LOG;
use crate::error::Fault;
use crate::lines::{CleanupPlace, LineCleanup};
use crate::order::{self, Placeless};
use crate::passes::CUT_PASSES;
use crate::places::{self, EXPIRE};
use crate::rows::Cells;
use crate::schedules::ticks::CUT_TICKS;
use crate::statistics::Minutes;
use crate::value::{Arg, Interval, Time, bound};
use crate::webhooks::deliveries::CUT_DELIVERIES;
use crate::write::Transaction;
use crate::{PostgresStore, outlived, partitions, transact};

/// What has fallen due. A job that another promoter is moving, or has moved, is left to it: whoever reserved a place first and
/// looked again afterwards would charge the tenant for it all the same.
pub(crate) const DUE: &str =
    "SELECT job, tenant, queue, lane, route, attempt, foreman_counted(moves, attempt) + 1 FROM ready
    WHERE key IS NULL AND run_at <= foreman_now()
    ORDER BY run_at, job LIMIT $1::bigint FOR UPDATE SKIP LOCKED";
/// When the next waiting job falls due or expires, and what time it is.
pub(crate) const NEXT: &str = "SELECT least(
        (SELECT run_at FROM ready WHERE key IS NULL ORDER BY run_at LIMIT 1),
        (SELECT expires_at FROM ready WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1)), foreman_now()";

/// A plain read: a share lock on the lease would block its own renewal, and what keeps the data safe is locks on the data.
pub(crate) const LEADS: &str =
    "SELECT 1 FROM leases WHERE name = $1::text AND term = $2::bigint AND expires_at > foreman_now()";
pub(crate) const NOTE_DONE: &str = "INSERT INTO upkeep (kind, done_at) VALUES ($1::text, foreman_now())
    ON CONFLICT (kind) DO UPDATE SET done_at = excluded.done_at
    WHERE upkeep.done_at <= excluded.done_at - $2::interval";
pub(crate) const CUT_KEYS: &str = "DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE expires_at <= foreman_now() ORDER BY expires_at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";
pub(crate) const CUT_CHANGES: &str = include_str!("sql/cut_changes.sql");
pub(crate) const CUT_SESSIONS: &str = "DELETE FROM sessions WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM sessions
        WHERE state IN ('ended', 'dead') AND renewed_at <= foreman_now() - $2::interval LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

pub(crate) const CUT_QUEUES: &str = include_str!("sql/cut_queues.sql");

#[async_trait]
impl Upkeep for PostgresStore {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        transact!(self, data, Write, |tx| promote(&tx, limit).await)
    }

    async fn prune_kind(
        &self,
        leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError> {
        match kind {
            PruneKind::Partitions => {
                // Also where there is nothing to do.
                if !transact!(self, data, Write, |tx| leads(&tx, leader).await)? {
                    return Ok(None);
                }
                let step = partitions::prune(self, leader, limit).await?;
                transact!(self, data, Write, |tx| match leads(&tx, leader).await {
                    Ok(true) if step.is_some() => note_done(&tx, kind).await.map(|()| step.clone()),
                    Ok(_) => Ok(None),
                    Err(fault) => Err(fault),
                })
            }
            PruneKind::Jobs => outlived::prune(self, leader, retention, limit).await,
            PruneKind::Lines => {
                let lines = &self.parts.lines;
                let step = transact!(self, data, Write, |tx| forget_lines(&tx, lines, leader, retention, limit).await)?;
                Ok(step.map(|(step, place)| {
                    lines.reached(place);
                    step
                }))
            }
            PruneKind::Statistics => {
                let minutes = &self.parts.minutes;
                let step = transact!(self, data, Write, |tx| statistics(&tx, minutes, leader, retention, limit).await)?;
                if let Some((_, Some(place))) = step {
                    minutes.reached(place);
                }
                Ok(step.map(|(step, _)| step))
            }
            _ => transact!(self, data, Write, |tx| prune(&tx, leader, kind, retention, limit).await),
        }
    }
}

/// First what may no longer start, so that it is not given a place in line.
async fn promote(tx: &Transaction, limit: usize) -> Result<Due, Fault> {
    let expired = expire(tx, limit).await?;
    let rows = tx.rows(DUE, &[&bound(limit)]).await?;
    let mut due: Vec<Placeless> = Vec::with_capacity(rows.len());
    for row in &rows {
        let cells = Cells::of_job(row, "ready", 0)?;
        let (tenant, queue) = (cells.tenant(1)?, cells.queue(2)?);
        let (attempt, sequence) = (cells.count(5, "attempt")?, cells.moves(6)?);
        tx.note(cells.id, &tenant, &queue, Step { state: State::Pending, attempt, sequence, took: None });
        due.push((cells.id, tenant, queue, cells.lane(3)?, Route::from_stored(cells.get(4, "route")?)));
    }
    order::promote(tx, &due).await?;
    let (time, now) = next(tx).await?;
    Ok(Due { expired, promoted: due.len(), next: time, next_in: time.map(|time| time.since(now)) })
}

async fn expire(tx: &Transaction, limit: usize) -> Result<usize, Fault> {
    let StoredReport { json, group } = StoredReport::of_end("expired")?;
    let args: [&dyn Arg; 3] = [&bound(limit), &json, &group.as_ref().map(ErrorGroup::as_str)];
    Ok(places::finish(tx, EXPIRE, &args).await?.len())
}

/// When there is something to do next, and what time it is.
type NextDue = (Option<Timestamp>, Timestamp);

async fn next(tx: &Transaction) -> Result<NextDue, Fault> {
    let row = tx.row(NEXT, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
    Ok((row.try_get::<_, Option<Time>>(0)?.map(|time| time.0), row.try_get::<_, Time>(1)?.0))
}

/// Reads the term before it removes anything: `None` when it is over.
async fn prune(
    tx: &Transaction,
    leader: Option<&Leader>,
    kind: PruneKind,
    retention: &Retention,
    limit: usize,
) -> Result<Option<PruneStep>, Fault> {
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let most = bound(limit);
    let removed = match kind {
        PruneKind::Keys => tx.rows(CUT_KEYS, &[&most]).await?,
        PruneKind::Changes => return prune_changes(tx, retention, limit).await.map(Some),
        PruneKind::Sessions => tx.rows(CUT_SESSIONS, &[&most, &Interval(retention.sessions)]).await?,
        PruneKind::Queues => {
            let unused = Interval(retention.queues.saturating_add(USE_IS_NOTED_EVERY));
            tx.rows(CUT_QUEUES, &[&most, &unused]).await?
        }
        PruneKind::Ticks => tx.rows(CUT_TICKS, &[&most, &Interval(retention.ticks)]).await?,
        PruneKind::Deliveries => tx.rows(CUT_DELIVERIES, &[&most, &Interval(retention.deliveries)]).await?,
        PruneKind::Audit => tx.rows(CUT_AUDIT_LOG, &[&most, &Interval(retention.audit)]).await?,
        PruneKind::Passes => tx.rows(CUT_PASSES, &[&most]).await?,
        PruneKind::Parked => tx.rows(CUT_PARKED, &[&most, &Interval(retention.parked), &bound(PARKED_KEPT)]).await?,
        // These take more than a statement.
        PruneKind::Partitions | PruneKind::Lines | PruneKind::Statistics | PruneKind::Jobs => Vec::new(),
    };
    let step = PruneStep::of(removed.len(), limit);
    if step.is_done {
        note_done(tx, kind).await?;
    }
    Ok(Some(step))
}

async fn prune_changes(tx: &Transaction, retention: &Retention, limit: usize) -> Result<PruneStep, Fault> {
    let unread = Interval(retention.changes.max(UNREAD_KEPT));
    let row = tx.row(CUT_CHANGES, &[&bound(limit), &Interval(retention.changes), &unread]).await?;
    let row = row.ok_or_else(|| StoreError::Broken("pruning the change log answered nothing".into()))?;
    let removed: i64 = row.try_get("removed")?;
    let held_by = row.try_get::<_, Option<String>>("held_by")?.map(FollowerName::from_stored);
    let step = PruneStep { held_by, ..PruneStep::of(usize::try_from(removed).unwrap_or_default(), limit) };
    if step.is_done {
        note_done(tx, PruneKind::Changes).await?;
    }
    Ok(step)
}

async fn forget_lines(
    tx: &Transaction,
    lines: &LineCleanup,
    leader: Option<&Leader>,
    retention: &Retention,
    limit: usize,
) -> Result<Option<(PruneStep, CleanupPlace)>, Fault> {
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let step = lines.prune(tx, retention, limit).await?;
    if step.0.is_done {
        note_done(tx, PruneKind::Lines).await?;
    }
    Ok(Some(step))
}

async fn statistics(
    tx: &Transaction,
    minutes: &Minutes,
    leader: Option<&Leader>,
    retention: &Retention,
    limit: usize,
) -> Result<Option<(PruneStep, Option<Timestamp>)>, Fault> {
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let step = minutes.prune(tx, retention.statistics, limit).await?;
    if step.0.is_done {
        note_done(tx, PruneKind::Statistics).await?;
    }
    Ok(Some(step))
}

/// For whoever looks at the database from outside. Most of the time there is nothing to write.
pub(crate) async fn note_done(tx: &Transaction, kind: PruneKind) -> Result<(), Fault> {
    tx.rows(NOTE_DONE, &[&kind.as_str(), &Interval(DONE_IS_NOTED_EVERY)]).await?;
    Ok(())
}

/// Whether the leader's term is still the one in force. Whoever acts for nobody's sake always may.
pub(crate) async fn leads(tx: &Transaction, leader: Option<&Leader>) -> Result<bool, Fault> {
    let Some(Leader { office, term }) = leader else { return Ok(true) };
    let term = i64::try_from(*term).unwrap_or(i64::MAX);
    Ok(tx.row(LEADS, &[office, &term]).await?.is_some())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CUT_CHANGES, CUT_KEYS, CUT_SESSIONS, CUT_QUEUES, DUE, LEADS, NOTE_DONE, NEXT];
