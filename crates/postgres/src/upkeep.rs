//! What falls due, expires, or has outlived its retention.
//!
//! Any number may do this at once: rows that another is working on are skipped, and each step is at most `limit` of a kind.
//! Places in line are reserved for jobs that are locked, so that each is charged once.

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Due, Leader, Pruned, Retention, Step, StoreError, UNREAD_KEPT, USE_IS_NOTED_EVERY, Upkeep};
use foreman_core::target::Route;
use foreman_core::{JobId, Report, State, Timestamp};
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::remove::forget;
use crate::order::{self, Placeless};
use crate::passes::CUT_PASSES;
use crate::rows::{Cells, json};
use crate::schedules::ticks::CUT_TICKS;
use crate::statistics::CUT_STATISTICS;
use crate::trail::CUT_TRAIL;
use crate::value::{Span, Time, bound};
use crate::webhooks::deliveries::CUT_DELIVERIES;
use crate::write::Transaction;
use crate::{PostgresStore, partitions, transact};

pub(crate) const EXPIRE: &str = include_str!("sql/expire.sql");
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

/// The oldest in a final state, over all tenants: a skip through the index by tenant, then a range of times.
pub(crate) const OUTLIVED: &str = "WITH RECURSIVE tenants (tenant) AS (
        (SELECT tenant FROM outcomes ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT outcomes.tenant FROM outcomes WHERE outcomes.tenant > tenants.tenant ORDER BY outcomes.tenant LIMIT 1)
        FROM tenants WHERE tenants.tenant IS NOT NULL
    )
    SELECT old.job FROM tenants
    CROSS JOIN LATERAL (
        SELECT outcomes.job FROM outcomes
        WHERE outcomes.tenant = tenants.tenant AND outcomes.state = $1::text
          AND outcomes.finished_at <= foreman_now() - $2::interval
        ORDER BY outcomes.finished_at LIMIT $3::bigint
    ) AS old
    WHERE tenants.tenant IS NOT NULL LIMIT $3";
/// What was found to be old, if it still is: a re-drive may have been faster.
pub(crate) const LOCK_OUTLIVED: &str = "SELECT job FROM outcomes
    WHERE job = ANY ($1::uuid[]) AND state = $2::text AND finished_at <= foreman_now() - $3::interval
    ORDER BY job FOR UPDATE SKIP LOCKED";
/// A plain read: a share lock on the lease would block its own renewal, and what keeps the data safe is locks on the data.
pub(crate) const LEADS: &str =
    "SELECT 1 FROM leases WHERE name = $1::text AND term = $2::bigint AND expires_at > foreman_now()";
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

    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        Ok(prune(self, None, retention, limit).await?.unwrap_or_default())
    }

    async fn prune_as(
        &self,
        leader: &Leader,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<Pruned>, StoreError> {
        prune(self, Some(leader), retention, limit).await
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
    let error = "expired";
    let report = json(&Report::error(error))?;
    let rows = tx.rows(EXPIRE, &[&bound(limit), &report, &ErrorGroup::of(error).as_str()]).await?;
    for row in &rows {
        let cells = Cells::of_job(row, "ready", 0)?;
        let (attempt, sequence) = (cells.count(3, "attempt")?, cells.moves(4)?);
        let step = Step { state: State::Failed, attempt, sequence, took: None };
        tx.note(cells.id, &cells.tenant(1)?, &cells.queue(2)?, step);
    }
    Ok(rows.len())
}

/// When there is something to do next, and what time it is.
type Next = (Option<Timestamp>, Timestamp);

async fn next(tx: &Transaction) -> Result<Next, Fault> {
    let row = tx.row(NEXT, &[]).await?.ok_or_else(|| StoreError::Broken("no time was told".into()))?;
    Ok((row.try_get::<_, Option<Time>>(0)?.map(|time| time.0), row.try_get::<_, Time>(1)?.0))
}

/// Each transaction reads the term before it removes anything: `None` when it is over.
async fn prune(
    store: &PostgresStore,
    leader: Option<&Leader>,
    retention: &Retention,
    limit: usize,
) -> Result<Option<Pruned>, StoreError> {
    let kept: [(State, Option<Duration>); 4] = [
        (State::Completed, retention.completed),
        (State::Failed, retention.failed),
        (State::Cancelled, retention.cancelled),
        (State::Dead, retention.dead),
    ];
    let mut pruned = Pruned::default();
    for (state, keep) in kept {
        let (Some(keep), room) = (keep, limit - pruned.jobs) else { continue };
        if room == 0 {
            break;
        }
        let step = transact!(store, data, Write, |tx| match leads(&tx, leader).await {
            Ok(true) => forget_outlived(&tx, state, keep, room).await.map(Some),
            Ok(false) => Ok(None),
            Err(fault) => Err(fault),
        })?;
        let Some(jobs) = step else { return Ok(None) };
        pruned.jobs += jobs;
    }
    let cut = transact!(store, data, Write, |tx| match leads(&tx, leader).await {
        Ok(true) => cut(&tx, retention, limit).await.map(Some),
        Ok(false) => Ok(None),
        Err(fault) => Err(fault),
    })?;
    let Some(cut) = cut else { return Ok(None) };
    partitions::tend(store, limit).await;
    Ok(Some(Pruned { jobs: pruned.jobs, ..cut }))
}

/// Whether the leader's term is still the one in force. Whoever acts for nobody's sake always may.
pub(crate) async fn leads(tx: &Transaction, leader: Option<&Leader>) -> Result<bool, Fault> {
    let Some(Leader { office, term }) = leader else { return Ok(true) };
    let term = i64::try_from(*term).unwrap_or(i64::MAX);
    Ok(tx.row(LEADS, &[office, &term]).await?.is_some())
}

async fn forget_outlived(tx: &Transaction, state: State, keep: Duration, limit: usize) -> Result<usize, Fault> {
    let found = tx.rows(OUTLIVED, &[&state.as_str(), &Span(keep), &bound(limit)]).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let found: Vec<Uuid> = found.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<_, Fault>>()?;
    let locked = tx.rows_by_id(LOCK_OUTLIVED, &[&found, &state.as_str(), &Span(keep)]).await?;
    let old: Vec<JobId> = locked.iter().map(|row| Ok(JobId(row.try_get(0)?))).collect::<Result<_, Fault>>()?;
    forget(tx, &old).await?;
    Ok(old.len())
}

async fn cut(tx: &Transaction, retention: &Retention, limit: usize) -> Result<Pruned, Fault> {
    let limit = bound(limit);
    let (changes, sessions, ticks) = (Span(retention.changes), Span(retention.sessions), Span(retention.ticks));
    let unread = Span(retention.changes.max(UNREAD_KEPT));
    let (deliveries, audit) = (Span(retention.deliveries), Span(retention.audit));
    let statistics = Span(retention.statistics);
    let queues = Span(retention.queues.saturating_add(USE_IS_NOTED_EVERY));
    let answers = tx
        .all(&[
            (CUT_KEYS, &[&limit]),
            (CUT_CHANGES, &[&limit, &changes, &unread]),
            (CUT_SESSIONS, &[&limit, &sessions]),
            (CUT_QUEUES, &[&limit, &queues]),
            (CUT_TICKS, &[&limit, &ticks]),
            (CUT_DELIVERIES, &[&limit, &deliveries]),
            (CUT_TRAIL, &[&limit, &audit]),
            (CUT_STATISTICS, &[&limit, &statistics]),
            (CUT_PASSES, &[&limit]),
        ])
        .await?;
    let count = |place: usize| answers[place].len();
    Ok(Pruned {
        jobs: 0,
        keys: count(0),
        changes: count(1),
        sessions: count(2),
        queues: count(3),
        ticks: count(4),
        deliveries: count(5),
        audit: count(6),
        statistics: count(7),
        passes: count(8),
    })
}
