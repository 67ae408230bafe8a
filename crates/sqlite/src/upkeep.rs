//! What falls due, expires, or has outlived its retention.
//!
//! Each call is one operation of the one writer (queues, ticks and jobs are looked for by a reader before) and does at most `limit` of
//! a kind, so that nobody waits long behind it.
//! Pages that are freed are used again by what is written next; the file keeps its size, and a full one has room again.

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{
    DONE_IS_NOTED_EVERY, Due, Leader, PruneKind, PruneStep, Retention, StoreError, Topic, USE_IS_NOTED_EVERY, Upkeep,
};
use foreman_core::statistics::MINUTES_KEPT;
use foreman_core::storage::StoredReport;
use foreman_core::{JobId, State, Timestamp};
use rusqlite::OptionalExtension;

use crate::SqliteStore;
use crate::error::Fault;
use crate::followers::OldChanges;
use crate::jobs::forget;
use crate::order::KeyAssignments;
use crate::places::{self, EndRecord};
use crate::queues::{self, Unused};
use crate::readers::ReadSnapshot;
use crate::rows::{JobRow, ReadyRow, job_row_columns};
use crate::schedules::OldTicks;
use crate::write::Write;

#[async_trait]
impl Upkeep for SqliteStore {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        self.write(move |write| promote(write, limit)).await
    }

    /// There are no terms: one process has the file for itself.
    async fn prune_kind(
        &self,
        _leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError> {
        let (retention, look) = (retention.clone(), retention.clone());
        // By a reader: what is to go is looked for among everything that is old, or that waits.
        let found = self.read(move |read| PruneCandidates::look(read, kind, &look, limit)).await?;
        let step = self.write(move |write| prune(write, kind, &retention, &found, limit)).await?;
        if matches!(kind, PruneKind::Queues | PruneKind::Lines) && step.removed > 0 {
            self.parts.rotation.forget_lines();
        }
        Ok(Some(step))
    }
}

/// What a reader found, for those kinds that the writer must not look for itself.
enum PruneCandidates {
    Queues(Unused),
    Ticks(OldTicks),
    Jobs(Vec<(JobId, State, Timestamp)>),
    Nothing,
}

impl PruneCandidates {
    fn look(read: &ReadSnapshot<'_>, kind: PruneKind, retention: &Retention, limit: usize) -> Result<Self, Fault> {
        Ok(match kind {
            PruneKind::Queues => PruneCandidates::Queues(queues::unused(
                read,
                retention.queues.saturating_add(USE_IS_NOTED_EVERY),
                limit,
            )?),
            PruneKind::Ticks => PruneCandidates::Ticks(OldTicks::find(read, retention.ticks, limit)?),
            PruneKind::Jobs => PruneCandidates::Jobs(outlived(read, retention, limit)?),
            _ => PruneCandidates::Nothing,
        })
    }
}

fn promote(write: &Write<'_>, limit: usize) -> Result<Due, Fault> {
    // First what may no longer start, so that it is not given a place in line.
    let expired = expired(write, limit)?;
    expire(write, &expired)?;
    let due = due(write, limit)?;
    give_places(write, &due)?;
    let next = next(write)?;
    Ok(Due { promoted: due.len(), expired: expired.len(), next, next_in: next.map(|time| time.since(write.now)) })
}

fn expired(write: &Write<'_>, limit: usize) -> Result<Vec<JobRow>, Fault> {
    let sql = concat!(
        "SELECT ",
        job_row_columns!(),
        ", key FROM ready WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at, job LIMIT ?2"
    );
    job_rows(write, sql, limit)
}

fn due(write: &Write<'_>, limit: usize) -> Result<Vec<JobRow>, Fault> {
    let sql = concat!(
        "SELECT ",
        job_row_columns!(),
        ", key FROM ready WHERE key IS NULL AND run_at <= ?1 ORDER BY run_at, job LIMIT ?2"
    );
    job_rows(write, sql, limit)
}

fn job_rows(write: &Write<'_>, sql: &'static str, limit: usize) -> Result<Vec<JobRow>, Fault> {
    let mut statement = write.prepared(sql)?;
    let mut rows = statement.query((write.now.as_micros(), bound(limit)))?;
    let mut job_rows = Vec::new();
    while let Some(row) = rows.next()? {
        job_rows.push(ReadyRow::try_from(row)?.job_row);
    }
    Ok(job_rows)
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn expire(write: &Write<'_>, expired: &[JobRow]) -> Result<(), Fault> {
    let report = StoredReport::of_end("expired")?;
    let end = EndRecord { claim_info: None, is_settled: false, report: &report };
    for job_row in expired {
        places::leave_ready(write, job_row.job)?;
        places::finish(write, job_row, State::Failed, &end)?;
    }
    Ok(())
}

fn give_places(write: &Write<'_>, due: &[JobRow]) -> Result<(), Fault> {
    if due.is_empty() {
        return Ok(());
    }
    let mut order = KeyAssignments::new(write.sql);
    let mut update = write.prepared("UPDATE ready SET key = ?2, moves = ?3 WHERE job = ?1")?;
    for job_row in due {
        let key = order.next(job_row)?;
        let counters = job_row.counters.moved();
        update.execute((job_row.job.0, key, counters.moves))?;
        places::note(write, job_row, counters.step(State::Pending, None));
    }
    order.keep(write)?;
    write.ring(Topic::Ready);
    Ok(())
}

/// When the next waiting job falls due or expires.
fn next(write: &Write<'_>) -> Result<Option<Timestamp>, Fault> {
    const FIRST: [&str; 2] = [
        "SELECT run_at FROM ready WHERE key IS NULL ORDER BY run_at LIMIT 1",
        "SELECT expires_at FROM ready WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1",
    ];
    let mut next: Option<Timestamp> = None;
    for sql in FIRST {
        let first: Option<i64> = write.prepared(sql)?.query_row([], |row| row.get(0)).optional()?;
        next = next.into_iter().chain(first.map(Timestamp::from_micros)).min();
    }
    Ok(next)
}

fn prune(
    write: &Write<'_>,
    kind: PruneKind,
    retention: &Retention,
    found: &PruneCandidates,
    limit: usize,
) -> Result<PruneStep, Fault> {
    let now = write.now;
    let mut held_by = None;
    let removed = match (kind, found) {
        (_, PruneCandidates::Queues(unused)) => unused.prune(write)?,
        (_, PruneCandidates::Ticks(ticks)) => ticks.prune(write)?,
        (_, PruneCandidates::Jobs(old)) => prune_jobs(write, old)?,
        (PruneKind::Keys, _) => cut(
            write,
            "DELETE FROM idempotency WHERE (tenant, key) IN
             (SELECT tenant, key FROM idempotency WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
            now,
            limit,
        )?,
        (PruneKind::Changes, _) => {
            let step = OldChanges::find(write, now.minus(retention.changes))?.prune(write, limit)?;
            held_by = step.held_by;
            step.removed
        }
        (PruneKind::Sessions, _) => cut(
            write,
            "DELETE FROM sessions WHERE id IN
             (SELECT id FROM sessions WHERE state IN ('ended', 'dead') AND renewed_at <= ?1 LIMIT ?2)",
            now.minus(retention.sessions),
            limit,
        )?,
        (PruneKind::Deliveries, _) => cut(
            write,
            "DELETE FROM deliveries WHERE (tenant, webhook, job) IN
             (SELECT tenant, webhook, job FROM deliveries WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)",
            now.minus(retention.deliveries),
            limit,
        )?,
        (PruneKind::Audit, _) => cut(
            write,
            "DELETE FROM audit_trail WHERE id IN
             (SELECT id FROM audit_trail WHERE at <= ?1 ORDER BY at LIMIT ?2)",
            now.minus(retention.audit),
            limit,
        )?,
        (PruneKind::Statistics, _) => {
            let minutes = now.minus(retention.statistics.min(MINUTES_KEPT));
            let minutes = cut(write, CUT_MINUTES, minutes, limit)?;
            minutes + cut(write, CUT_HOURS, now.minus(retention.statistics), limit - minutes)?
        }
        (PruneKind::Passes, _) => cut(
            write,
            "DELETE FROM passes WHERE hash IN
             (SELECT hash FROM passes WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
            now,
            limit,
        )?,
        (PruneKind::Lines, _) => {
            queues::forget_lines(write, now.minus(retention.queues).minus(USE_IS_NOTED_EVERY), limit)?
        }
        // There are none here.
        (PruneKind::Partitions | PruneKind::Parked, _) => 0,
        (PruneKind::Queues | PruneKind::Ticks | PruneKind::Jobs, PruneCandidates::Nothing) => 0,
    };
    let step = PruneStep { held_by, ..PruneStep::of(removed, limit) };
    if step.is_done {
        note_done(write, kind)?;
    }
    Ok(step)
}

/// For whoever looks at the file from outside. Most of the time there is nothing to write.
fn note_done(write: &Write<'_>, kind: PruneKind) -> Result<(), Fault> {
    write
        .prepared(
            "INSERT INTO upkeep (kind, done_at) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET done_at = excluded.done_at WHERE done_at <= ?3",
        )?
        .execute((kind.as_str(), write.now.as_micros(), write.now.minus(DONE_IS_NOTED_EVERY).as_micros()))?;
    Ok(())
}

const CUT_MINUTES: &str = "DELETE FROM statistics WHERE (tenant, slot, queue, at) IN
     (SELECT tenant, slot, queue, at FROM statistics WHERE slot = 'minute' AND at <= ?1 ORDER BY at LIMIT ?2)";
const CUT_HOURS: &str = "DELETE FROM statistics WHERE (tenant, slot, queue, at) IN
     (SELECT tenant, slot, queue, at FROM statistics WHERE slot = 'hour' AND at <= ?1 ORDER BY at LIMIT ?2)";

fn cut(write: &Write<'_>, sql: &'static str, until: Timestamp, limit: usize) -> Result<usize, Fault> {
    Ok(write.prepared(sql)?.execute((until.as_micros(), bound(limit)))?)
}

/// Those that are still as they were found: a re-drive may have been faster.
fn prune_jobs(write: &Write<'_>, old: &[(JobId, State, Timestamp)]) -> Result<usize, Fault> {
    let mut pruned = 0;
    for (id, state, finished_at) in old {
        let is_there = write
            .prepared("SELECT 1 FROM outcomes WHERE job = ?1 AND state = ?2 AND finished_at = ?3")?
            .exists((id.0, state.as_str(), finished_at.as_micros()))?;
        if is_there {
            forget(write, *id)?;
            pruned += 1;
        }
    }
    Ok(pruned)
}

/// Final jobs that are kept no longer, at most `limit`.
fn outlived(
    read: &ReadSnapshot<'_>,
    retention: &Retention,
    limit: usize,
) -> Result<Vec<(JobId, State, Timestamp)>, Fault> {
    let kept: [(State, Option<Duration>); 4] = [
        (State::Completed, retention.completed),
        (State::Failed, retention.failed),
        (State::Cancelled, retention.cancelled),
        (State::Dead, retention.dead),
    ];
    // Over all tenants: a skip through the index from one to the next, then a range of times.
    let mut statement = read.sql.prepare_cached(
        "WITH RECURSIVE tenants (tenant) AS (
             SELECT min(tenant) FROM outcomes
             UNION ALL
             SELECT (SELECT min(tenant) FROM outcomes WHERE tenant > tenants.tenant)
             FROM tenants WHERE tenants.tenant IS NOT NULL
         )
         SELECT outcomes.job, outcomes.finished_at
         FROM tenants CROSS JOIN outcomes INDEXED BY outcomes_by_state
         ON outcomes.tenant = tenants.tenant AND outcomes.state = ?1 AND outcomes.finished_at <= ?2
         LIMIT ?3",
    )?;
    let mut found = Vec::new();
    for (state, keep) in kept {
        let Some(keep) = keep else { continue };
        let asked = (state.as_str(), read.now.minus(keep).as_micros(), bound(limit - found.len()));
        let rows =
            statement.query_map(asked, |row| Ok((JobId(row.get(0)?), state, Timestamp::from_micros(row.get(1)?))))?;
        for row in rows {
            found.push(row?);
        }
    }
    Ok(found)
}
