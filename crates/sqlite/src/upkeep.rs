//! What falls due, expires, or has outlived its retention.
//!
//! Each call is one operation of the one writer (queues and ticks are looked for by a reader before) and does at most `limit` of a kind, so that nobody waits long behind it.
//! Pages that are freed are used again by what is written next; the file keeps its size, and a full one has room again.

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Due, Pruned, Retention, StoreError, Topic, USE_IS_NOTED_EVERY, Upkeep};
use foreman_core::{JobId, Report, State, Timestamp};
use rusqlite::OptionalExtension;

use crate::SqliteStore;
use crate::error::Fault;
use crate::jobs::forget;
use crate::order::Order;
use crate::places::{self, End};
use crate::queues::{self, Unused};
use crate::readers::Read;
use crate::rows::{Traveller, Waiting, traveller_columns};
use crate::schedules::OldTicks;
use crate::webhooks::OldChanges;
use crate::write::Write;

#[async_trait]
impl Upkeep for SqliteStore {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        self.write(move |write| promote(write, limit)).await
    }

    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        let retention = retention.clone();
        // By a reader: whether anything waits in a queue is a question to all that waits, and whether a tick is over one to
        // everything old.
        let (since, ticks) = (retention.queues.saturating_add(USE_IS_NOTED_EVERY), retention.ticks);
        let look =
            move |read: &Read<'_>| Ok((queues::unused(read, since, limit)?, OldTicks::find(read, ticks, limit)?));
        let (unused, ticks) = self.read(look).await?;
        let pruned = self.write(move |write| prune(write, &retention, &unused, &ticks, limit)).await?;
        if pruned.queues > 0 {
            self.parts.rotation.forget_lines();
        }
        Ok(pruned)
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

fn expired(write: &Write<'_>, limit: usize) -> Result<Vec<Traveller>, Fault> {
    let sql = concat!(
        "SELECT ",
        traveller_columns!(),
        ", key FROM ready WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at, job LIMIT ?2"
    );
    travellers(write, sql, limit)
}

fn due(write: &Write<'_>, limit: usize) -> Result<Vec<Traveller>, Fault> {
    let sql = concat!(
        "SELECT ",
        traveller_columns!(),
        ", key FROM ready WHERE key IS NULL AND run_at <= ?1 ORDER BY run_at, job LIMIT ?2"
    );
    travellers(write, sql, limit)
}

fn travellers(write: &Write<'_>, sql: &'static str, limit: usize) -> Result<Vec<Traveller>, Fault> {
    let mut statement = write.prepared(sql)?;
    let mut rows = statement.query((write.now.as_micros(), bound(limit)))?;
    let mut travellers = Vec::new();
    while let Some(row) = rows.next()? {
        travellers.push(Waiting::try_from(row)?.traveller);
    }
    Ok(travellers)
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn expire(write: &Write<'_>, expired: &[Traveller]) -> Result<(), Fault> {
    const ERROR: &str = "expired";
    let report = serde_json::to_string(&Report::error(ERROR)).map_err(|error| StoreError::Broken(error.to_string()))?;
    let group = ErrorGroup::of(ERROR);
    let end = End { tenure: None, is_settled: false, report: &report, group: Some(&group) };
    for traveller in expired {
        places::leave_ready(write, traveller.job)?;
        places::finish(write, traveller, State::Failed, &end)?;
    }
    Ok(())
}

fn give_places(write: &Write<'_>, due: &[Traveller]) -> Result<(), Fault> {
    if due.is_empty() {
        return Ok(());
    }
    let mut order = Order::new(write.sql);
    let mut update = write.prepared("UPDATE ready SET key = ?2, moves = ?3 WHERE job = ?1")?;
    for traveller in due {
        let key = order.next(traveller)?;
        let counters = traveller.counters.moved();
        update.execute((traveller.job.0, key, counters.moves))?;
        places::note(write, traveller, counters.step(State::Pending, None));
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
    retention: &Retention,
    unused: &Unused,
    ticks: &OldTicks,
    limit: usize,
) -> Result<Pruned, Fault> {
    let now = write.now;
    Ok(Pruned {
        jobs: prune_jobs(write, retention, limit)?,
        keys: cut(
            write,
            "DELETE FROM idempotency WHERE (tenant, key) IN
             (SELECT tenant, key FROM idempotency WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
            now,
            limit,
        )?,
        changes: OldChanges::find(write, now.minus(retention.changes))?.prune(write, bound(limit))?,
        sessions: cut(
            write,
            "DELETE FROM sessions WHERE id IN
             (SELECT id FROM sessions WHERE state IN ('ended', 'dead') AND renewed_at <= ?1 LIMIT ?2)",
            now.minus(retention.sessions),
            limit,
        )?,
        queues: unused.prune(write)?,
        ticks: ticks.prune(write)?,
        deliveries: cut(
            write,
            "DELETE FROM deliveries WHERE (tenant, webhook, job) IN
             (SELECT tenant, webhook, job FROM deliveries WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)",
            now.minus(retention.deliveries),
            limit,
        )?,
        audit: cut(
            write,
            "DELETE FROM audit_trail WHERE id IN
             (SELECT id FROM audit_trail WHERE at <= ?1 ORDER BY at LIMIT ?2)",
            now.minus(retention.audit),
            limit,
        )?,
        statistics: cut(
            write,
            "DELETE FROM statistics WHERE (tenant, slot, queue, at) IN
             (SELECT tenant, slot, queue, at FROM statistics WHERE at <= ?1 ORDER BY at LIMIT ?2)",
            now.minus(retention.statistics),
            limit,
        )?,
        passes: cut(
            write,
            "DELETE FROM passes WHERE hash IN
             (SELECT hash FROM passes WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
            now,
            limit,
        )?,
    })
}

fn cut(write: &Write<'_>, sql: &'static str, until: Timestamp, limit: usize) -> Result<usize, Fault> {
    Ok(write.prepared(sql)?.execute((until.as_micros(), bound(limit)))?)
}

fn prune_jobs(write: &Write<'_>, retention: &Retention, limit: usize) -> Result<usize, Fault> {
    let kept: [(State, Option<Duration>); 4] = [
        (State::Completed, retention.completed),
        (State::Failed, retention.failed),
        (State::Cancelled, retention.cancelled),
        (State::Dead, retention.dead),
    ];
    let mut pruned = 0;
    for (state, keep) in kept {
        let Some(keep) = keep else { continue };
        for id in outlived(write, state, write.now.minus(keep), limit - pruned)? {
            forget(write, id)?;
            pruned += 1;
        }
    }
    Ok(pruned)
}

/// The oldest in a final state, over all tenants: a skip through the index by tenant, then a range of times.
fn outlived(write: &Write<'_>, state: State, until: Timestamp, limit: usize) -> Result<Vec<JobId>, Fault> {
    let mut statement = write.prepared(
        "WITH RECURSIVE tenants (tenant) AS (
             SELECT min(tenant) FROM outcomes
             UNION ALL
             SELECT (SELECT min(tenant) FROM outcomes WHERE tenant > tenants.tenant)
             FROM tenants WHERE tenants.tenant IS NOT NULL
         )
         SELECT outcomes.job FROM tenants CROSS JOIN outcomes INDEXED BY outcomes_by_state
         ON outcomes.tenant = tenants.tenant AND outcomes.state = ?1 AND outcomes.finished_at <= ?2
         LIMIT ?3",
    )?;
    let ids = statement.query_map((state.as_str(), until.as_micros(), bound(limit)), |row| row.get(0).map(JobId))?;
    Ok(ids.collect::<Result<_, _>>()?)
}
