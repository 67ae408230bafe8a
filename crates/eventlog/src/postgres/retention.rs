//! Removing events that nobody needs any more, and the audit rows of long ago.
//!
//! Never past the slowest consumer unless told to, so a consumer that was forgotten holds the log: [`Admin::forget`](super::Admin::forget).
//! Partitions that lie wholly behind are dropped, and new ones are made ahead; without partitions, rows are deleted bit by
//! bit. Run it from one place, every few minutes; two of it wait for each other.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::LogError;
use super::log::EventLog;
use super::migrations::partition_sql;

/// Positions that one statement deletes at most.
const BIT: i64 = 10_000;
/// Partitions that are made before they are needed.
const AHEAD: i64 = 4;

/// What to keep. By default everything.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    keep_for: Option<Duration>,
    keep_last: Option<i64>,
    passes_consumers: bool,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Everything up to here is gone.
    pub pruned_to: i64,
    pub rows_deleted: u64,
    pub partitions_dropped: Vec<String>,
    pub partitions_made: Vec<String>,
    /// The consumer that something was kept for, although it is old enough to go.
    pub held_by: Option<RetentionHold>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionHold {
    pub consumer: String,
    pub shard: i32,
    pub position: i64,
}

impl Retention {
    pub fn new() -> Self {
        Self::default()
    }

    /// Events that are younger stay.
    #[must_use]
    pub fn keep_for(self, age: Duration) -> Self {
        Self { keep_for: Some(age), ..self }
    }

    /// This many of the last positions stay.
    #[must_use]
    pub fn keep_last(self, positions: u32) -> Self {
        Self { keep_last: Some(i64::from(positions)), ..self }
    }

    /// Removes also what a consumer has not handled yet. That consumer misses it for good.
    #[must_use]
    pub fn pass_consumers(self) -> Self {
        Self { passes_consumers: true, ..self }
    }

    /// One pass. `client` is a connection of its own: a pass may take long.
    pub async fn prune(&self, log: &EventLog, client: &mut Client) -> Result<Pruned, LogError> {
        let mut pruned = Pruned::default();
        let frontier = log.frontier(client).await?;
        let mut limit = if self.keep_for.is_some() || self.keep_last.is_some() { frontier.position } else { 0 };
        if let Some(age) = self.keep_for {
            let row = client.query_typed_one(&log.sql.older_than, &[(&age.as_secs_f64(), Type::FLOAT8)]).await?;
            limit = limit.min(row.try_get(0)?);
        }
        if let Some(last) = self.keep_last {
            limit = limit.min(frontier.head - last);
        }
        if !self.passes_consumers
            && let Some(row) = client.query_typed_opt(&log.sql.slowest, &[]).await?
        {
            let slowest: i64 = row.try_get(2)?;
            if slowest < limit {
                limit = slowest;
                pruned.held_by =
                    Some(RetentionHold { consumer: row.try_get(0)?, shard: row.try_get(1)?, position: slowest });
            }
        }
        let tx = client.transaction().await?;
        let row = tx.query_typed_one(&log.sql.retention_look, &[]).await?;
        let (size, before): (Option<i64>, i64) = (row.try_get(0)?, row.try_get(1)?);
        tx.commit().await?;
        pruned.pruned_to = before.max(limit);
        if let Some(size) = size {
            partitions(log, client, size, frontier.head, before, &mut pruned).await?;
        } else if limit > before {
            mark(log, client, limit).await?;
            loop {
                let deleted = client.execute_typed(&log.sql.prune, &[(&limit, Type::INT8), (&BIT, Type::INT8)]).await?;
                pruned.rows_deleted += deleted;
                if deleted == 0 {
                    break;
                }
            }
        }
        Ok(pruned)
    }

    /// Audit rows older than this go.
    pub async fn prune_audit(&self, log: &EventLog, client: &Client, age: Duration) -> Result<u64, LogError> {
        Ok(client.execute_typed(&log.sql.prune_audit, &[(&age.as_secs_f64(), Type::FLOAT8)]).await?)
    }
}

/// Before anything is removed: a reader that comes later is refused, never led over a gap.
async fn mark(log: &EventLog, client: &Client, limit: i64) -> Result<(), LogError> {
    client.execute_typed(&log.sql.prune_mark, &[(&limit, Type::INT8)]).await?;
    Ok(())
}

async fn partitions(
    log: &EventLog,
    client: &mut Client,
    size: i64,
    head: i64,
    before: i64,
    pruned: &mut Pruned,
) -> Result<(), LogError> {
    let (schema, events) = (&log.names.events_schema, &log.names.events);
    let list = format!(
        "SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
         WHERE i.inhparent = '\"{schema}\".\"{events}\"'::regclass ORDER BY 1"
    );
    let mut starts: Vec<(i64, String)> = Vec::new();
    for row in client.query_typed(&list, &[]).await? {
        let name: String = row.try_get(0)?;
        if let Some(first) = name.strip_prefix(&format!("{events}_p")).and_then(|text| text.parse().ok()) {
            starts.push((first, name));
        }
    }
    starts.sort();
    let mut next = starts.last().map_or(1, |(first, _)| first + size);
    while next <= head + AHEAD * size {
        client.batch_execute(&partition_sql(&log.names, next - 1, next - 1 + size)).await?;
        pruned.partitions_made.push(format!("{events}_p{next}"));
        next += size;
    }
    // Only what lies wholly behind; the rest of the limit waits for its partition to be full.
    let gone: Vec<&(i64, String)> = starts.iter().filter(|(first, _)| first + size - 1 <= pruned.pruned_to).collect();
    pruned.pruned_to = gone.last().map_or(before, |(first, _)| (first + size - 1).max(before));
    if gone.is_empty() {
        return Ok(());
    }
    mark(log, client, pruned.pruned_to).await?;
    for (_, name) in gone {
        // Readers and writers hold the parent; a lock that does not come soon is left for the next pass.
        let tx = client.transaction().await?;
        tx.batch_execute(&format!("SET LOCAL lock_timeout = '2s'; DROP TABLE \"{schema}\".\"{name}\"")).await?;
        tx.commit().await?;
        pruned.partitions_dropped.push(name.clone());
    }
    Ok(())
}
