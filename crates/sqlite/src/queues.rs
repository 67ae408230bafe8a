//! Which queues nobody uses any more, and removing them.
//!
//! A reader finds the queues that were not used for long and looks whether anything waits or is held in them: that is a
//! question to every row there, and the writer has better things to do. The writer then removes what is still as it was.
//! What came in between has noted its use, for it comes more than an hour after the last note
//! ([`USE_IS_NOTED_EVERY`](foreman_core::ports::USE_IS_NOTED_EVERY)): a queue noted since then stays.

use std::collections::HashSet;
use std::time::Duration;

use foreman_core::Timestamp;

use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::write::Write;

/// By name and tenant.
type Queue = (String, String);

/// Queues not used since `until`.
pub(crate) struct Unused {
    until: Timestamp,
    empty: Vec<Queue>,
    /// With something in them: in use, and not asked again before they have been unused as long.
    in_use: Vec<Queue>,
}

/// The `limit` that are unused for longest.
pub(crate) fn unused(read: &ReadSnapshot<'_>, since: Duration, limit: usize) -> Result<Unused, Fault> {
    let until = read.now.minus(since);
    let mut statement = read.sql.prepare_cached(
        "SELECT queue, tenant FROM queues INDEXED BY queues_by_use
         WHERE paused_at IS NULL AND used_at <= ?1 ORDER BY used_at, queue, tenant LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map((until.as_micros(), limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let old: Vec<Queue> = rows.collect::<Result<_, _>>()?;
    let empty = without_jobs(read, &old)?;
    let (empty, in_use) = old.into_iter().partition(|queue| empty.contains(queue));
    Ok(Unused { until, empty, in_use })
}

fn without_jobs(read: &ReadSnapshot<'_>, queues: &[Queue]) -> Result<HashSet<Queue>, Fault> {
    let mut empty: HashSet<Queue> = queues.iter().cloned().collect();
    for sql in ["SELECT queue, tenant FROM held", "SELECT queue, tenant FROM ready"] {
        let mut statement = read.sql.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut last = Queue::default();
        while !empty.is_empty() {
            let Some(row) = rows.next()? else { break };
            let text = |place| row.get_ref(place)?.as_str().map_err(rusqlite::Error::from);
            let (queue, tenant): (&str, &str) = (text(0)?, text(1)?);
            // Neighbours are often alike.
            if (last.0.as_str(), last.1.as_str()) != (queue, tenant) {
                last = (queue.to_owned(), tenant.to_owned());
                empty.remove(&last);
            }
        }
    }
    Ok(empty)
}

impl Unused {
    /// Removes those that are still unused, and what the order knows of them.
    pub fn prune(&self, write: &Write<'_>) -> Result<usize, Fault> {
        for (queue, tenant) in &self.in_use {
            write
                .prepared("UPDATE queues SET used_at = ?3 WHERE queue = ?1 AND tenant = ?2 AND used_at <= ?4")?
                .execute((queue, tenant, write.now.as_micros(), self.until.as_micros()))?;
        }
        let mut pruned = 0;
        for (queue, tenant) in &self.empty {
            let gone = write
                .prepared(
                    "DELETE FROM queues WHERE queue = ?1 AND tenant = ?2 AND paused_at IS NULL AND used_at <= ?3",
                )?
                .execute((queue, tenant, self.until.as_micros()))?;
            if gone == 1 {
                forget_order(write, queue, tenant)?;
            }
            pruned += gone;
        }
        Ok(pruned)
    }
}

/// V of a queue goes with its last tenant: nothing is left there whose key it could be compared with.
fn forget_order(write: &Write<'_>, queue: &str, tenant: &str) -> Result<(), Fault> {
    write
        .prepared("DELETE FROM line_shares WHERE queue = ?1 AND lane IN (0, 1, 2) AND tenant = ?2")?
        .execute((queue, tenant))?;
    write
        .prepared("DELETE FROM line_fronts WHERE queue = ?1 AND NOT EXISTS (SELECT 1 FROM queues WHERE queue = ?1)")?
        .execute([queue])?;
    Ok(())
}

/// Forgets the order of tasks that have been unused for long, where none is due: every task has lines of its own, in a queue that is
/// used for others. V goes with the last tenant of a line.
pub(crate) fn forget_lines(write: &Write<'_>, until: Timestamp, limit: usize) -> Result<usize, Fault> {
    let unused: Vec<(String, i64, String, String)> = {
        let mut statement = write.prepared(
            "SELECT queue, lane, route, tenant FROM line_shares
             WHERE lane IN (0, 1, 2) AND route >= 'task:' AND route < 'task;' AND given_at <= ?1
                   AND NOT EXISTS (SELECT 1 FROM ready WHERE ready.lane = line_shares.lane AND ready.route = line_shares.route
                                   AND ready.queue = line_shares.queue AND ready.key IS NOT NULL)
             LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement
            .query_map((until.as_micros(), limit), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for (queue, lane, route, tenant) in &unused {
        write
            .prepared("DELETE FROM line_shares WHERE queue = ?1 AND lane = ?2 AND route = ?3 AND tenant = ?4")?
            .execute((queue, lane, route, tenant))?;
        write
            .prepared(
                "DELETE FROM line_fronts WHERE queue = ?1 AND lane = ?2 AND route = ?3 AND NOT EXISTS (
                     SELECT 1 FROM line_shares AS other WHERE other.queue = ?1 AND other.lane = ?2 AND other.route = ?3)",
            )?
            .execute((queue, lane, route))?;
    }
    Ok(unused.len())
}
