//! Numbers per minute and per hour. They are added in the operation that moves the bookkeeper (`followers.rs`).

use std::collections::BTreeMap;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{Bucket, Depth, Range, StatisticsStore, StoreError, WaitingCounts};
use foreman_core::statistics::{BucketEntry, Level, SampledLevel, Slot, Tally, carry};
use foreman_core::{TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::SqliteStore;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::write::Write;

/// How the numbers of all queues together are named: no queue has an empty name.
const TOGETHER: &str = "";

const OF_ONE: &str = "SELECT at, tally FROM statistics
     WHERE tenant = ?1 AND slot = ?2 AND queue = ?3 AND at >= ?4 AND at < ?5 ORDER BY at LIMIT ?6";

/// The last sample. Of minutes and hours there are a few thousand at most, and most have one.
const BEFORE: &str = "SELECT at, tally FROM statistics
     WHERE tenant = ?1 AND slot = ?2 AND queue = ?3 AND at < ?4 AND tally LIKE '%\"waiting\":%' ORDER BY at DESC LIMIT 1";

const OF_EACH: &str = "SELECT queue, tally FROM statistics INDEXED BY statistics_of_queues
     WHERE tenant = ?1 AND slot = ?2 AND queue <> '' AND substr(queue, 1, 8) <> 'foreman.' AND at >= ?3 AND at < ?4";

#[async_trait]
impl StatisticsStore for SqliteStore {
    /// A look at everything that waits: asked once a minute, and an index would be written at every move of every job.
    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        self.read(|read| depths(read.sql, read.now)).await
    }

    async fn known_depths(&self) -> Result<Vec<SampledLevel>, StoreError> {
        self.read(|read| known_depths(read.sql)).await
    }

    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        let (tenant, range) = (tenant.clone(), range.clone());
        let look = move |read: &ReadSnapshot<'_>| {
            let mut buckets = of_one(read.sql, &tenant, &range, limit)?;
            carry(&mut buckets, &range, before(read.sql, &tenant, &range)?, read.now);
            buckets.truncate(limit);
            Ok(buckets)
        };
        self.read(look).await
    }

    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError> {
        let (tenant, range) = (tenant.clone(), range.clone());
        let mut sums: Vec<_> = self.read(move |read| of_each(read.sql, &tenant, &range)).await?.into_iter().collect();
        sums.sort_by_key(|(queue, tally)| (std::cmp::Reverse(tally.submitted.max(tally.ended())), queue.clone()));
        sums.truncate(limit);
        Ok(sums)
    }
}

pub(crate) fn add_all(write: &Write<'_>, entries: &[BucketEntry]) -> Result<(), Fault> {
    for entry in entries {
        add(write, entry)?;
        note_level(write, entry)?;
    }
    Ok(())
}

/// How deep it was when last sampled, unless later is known.
fn note_level(write: &Write<'_>, entry: &BucketEntry) -> Result<(), Fault> {
    let BucketEntry { tenant, queue, slot, tally, .. } = entry;
    let Some(level) = tally.last.filter(|_| *slot == Slot::Minute) else { return Ok(()) };
    let (tenant, queue) = (tenant.as_str(), queue.as_ref().map_or(TOGETHER, QueueName::as_str));
    if level.is_empty() {
        write.prepared("DELETE FROM depths WHERE tenant = ?1 AND queue = ?2 AND since <= ?3")?.execute((
            tenant,
            queue,
            level.at_us,
        ))?;
        return Ok(());
    }
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    write
        .prepared(
            "INSERT INTO depths (tenant, queue, waiting, running, since) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET waiting = excluded.waiting, running = excluded.running, since = excluded.since
             WHERE since <= excluded.since",
        )?
        .execute((tenant, queue, number(level.waiting), number(level.running), level.at_us))?;
    Ok(())
}

fn level(row: &Row<'_>, first: usize) -> rusqlite::Result<Level> {
    let count = |place: usize| row.get::<_, i64>(place).map(i64::unsigned_abs);
    Ok(Level { waiting: count(first)?, running: count(first + 1)?, at_us: row.get(first + 2)? })
}

fn known_depths(sql: &Connection) -> Result<Vec<SampledLevel>, Fault> {
    let mut statement = sql.prepare_cached("SELECT tenant, queue, waiting, running, since FROM depths")?;
    let rows = statement.query_map([], |row| {
        let queue: String = row.get(1)?;
        Ok(SampledLevel {
            tenant: TenantId::new(row.get::<_, String>(0)?),
            queue: (queue != TOGETHER).then(|| QueueName::from_stored(&queue)),
            level: level(row, 2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How deep it was when the range begins.
fn before(sql: &Connection, tenant: &TenantId, range: &Range) -> Result<Option<Level>, Fault> {
    let queue = range.queue.as_ref().map_or(TOGETHER, QueueName::as_str);
    let current = sql
        .prepare_cached("SELECT waiting, running, since FROM depths WHERE tenant = ?1 AND queue = ?2 AND since <= ?3")?
        .query_row((tenant.as_str(), queue, range.from.as_micros()), |row| level(row, 0))
        .optional()?;
    if current.is_some() {
        return Ok(current);
    }
    for (slot, until) in [(range.slot, range.from), (Slot::Hour, Slot::Hour.of(range.from))] {
        let mut statement = sql.prepare_cached(BEFORE)?;
        let mut rows = statement.query((tenant.as_str(), slot.as_str(), queue, until.as_micros()))?;
        if let Some(row) = rows.next()? {
            let at = Timestamp::from_micros(row.get(0)?);
            let tally: Tally = Cells { row, table: "statistics", id: at.as_micros() }.json(1, "tally")?;
            return Ok(tally.level(at));
        }
    }
    Ok(None)
}

fn add(write: &Write<'_>, entry: &BucketEntry) -> Result<(), Fault> {
    let BucketEntry { tenant, queue, slot, at, tally } = entry;
    let queue = queue.as_ref().map_or(TOGETHER, QueueName::as_str);
    let place = (tenant.as_str(), slot.as_str(), queue, at.as_micros());
    let mut sum = {
        let mut statement = write
            .prepared("SELECT tally FROM statistics WHERE tenant = ?1 AND slot = ?2 AND queue = ?3 AND at = ?4")?;
        let mut rows = statement.query(place)?;
        match rows.next()? {
            Some(row) => Cells { row, table: "statistics", id: format!("{place:?}") }.json(0, "tally")?,
            None => Tally::default(),
        }
    };
    sum.add(tally);
    let text = serde_json::to_string(&sum).map_err(|error| StoreError::Broken(error.to_string()))?;
    let (tenant, slot, queue, at) = place;
    write
        .prepared(
            "INSERT INTO statistics (tenant, slot, queue, at, tally) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET tally = excluded.tally",
        )?
        .execute((tenant, slot, queue, at, text))?;
    Ok(())
}

fn depths(sql: &Connection, now: Timestamp) -> Result<Vec<Depth>, Fault> {
    let mut depths: BTreeMap<(String, String), Depth> = BTreeMap::new();
    let mut statement = sql.prepare_cached(
        "SELECT tenant, queue, count(*) FILTER (WHERE run_at > ?1 AND attempt = 0), count(*) FILTER (WHERE run_at <= ?1),
                count(*) FILTER (WHERE run_at > ?1 AND attempt > 0), 0, min(run_at) FILTER (WHERE run_at <= ?1)
         FROM ready GROUP BY tenant, queue
         UNION ALL SELECT tenant, queue, 0, 0, 0, count(*), NULL FROM held GROUP BY tenant, queue",
    )?;
    let mut rows = statement.query([now.as_micros()])?;
    while let Some(row) = rows.next()? {
        let (tenant, queue): (String, String) = (row.get(0)?, row.get(1)?);
        let number = |place| row.get::<_, i64>(place).map(i64::unsigned_abs);
        let depth = depths.entry((tenant, queue)).or_insert_with_key(|(tenant, queue)| Depth {
            tenant: TenantId::new(tenant.as_str()),
            queue: QueueName::from_stored(queue),
            waiting: WaitingCounts::default(),
            running: 0,
            oldest_wait: None,
        });
        depth.waiting.scheduled += number(2)?;
        depth.waiting.pending += number(3)?;
        depth.waiting.retrying += number(4)?;
        depth.running += number(5)?;
        let oldest: Option<i64> = row.get(6)?;
        depth.oldest_wait = depth.oldest_wait.max(oldest.map(|time| now.since(Timestamp::from_micros(time))));
    }
    Ok(depths.into_values().collect())
}

fn of_one(sql: &Connection, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, Fault> {
    let queue = range.queue.as_ref().map_or(TOGETHER, QueueName::as_str);
    let mut statement = sql.prepare_cached(OF_ONE)?;
    let mut rows = statement.query((
        tenant.as_str(),
        range.slot.as_str(),
        queue,
        range.from.as_micros(),
        range.to.as_micros(),
        i64::try_from(limit).unwrap_or(i64::MAX),
    ))?;
    let mut buckets = Vec::new();
    while let Some(row) = rows.next()? {
        let at = Timestamp::from_micros(row.get(0)?);
        let cells = Cells { row, table: "statistics", id: at.as_micros() };
        buckets.push(Bucket { at, tally: cells.json(1, "tally")? });
    }
    Ok(buckets)
}

fn of_each(sql: &Connection, tenant: &TenantId, range: &Range) -> Result<BTreeMap<QueueName, Tally>, Fault> {
    let mut statement = sql.prepare_cached(OF_EACH)?;
    let asked = (tenant.as_str(), range.slot.as_str(), range.from.as_micros(), range.to.as_micros());
    let mut rows = statement.query(asked)?;
    let mut sums: BTreeMap<QueueName, Tally> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let tally: Tally = Cells { row, table: "statistics", id: &name }.json(1, "tally")?;
        sums.entry(QueueName::from_stored(&name)).or_default().add(&tally);
    }
    // As deep as this all the time.
    let mut statement = sql.prepare_cached(
        "SELECT queue, waiting, running, since FROM depths
         WHERE tenant = ?1 AND queue <> '' AND substr(queue, 1, 8) <> 'foreman.' AND since <= ?2",
    )?;
    let mut rows = statement.query((tenant.as_str(), range.from.as_micros()))?;
    while let Some(row) = rows.next()? {
        let queue = QueueName::from_stored(&row.get::<_, String>(0)?);
        sums.entry(queue).or_default().add(&Tally::idle(level(row, 1)?));
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare, plan};

    #[test]
    fn a_time_is_a_stretch_of_an_index() {
        let sql = bare();
        let one = plan(&sql, OF_ONE);
        let expected = "SEARCH statistics USING PRIMARY KEY (tenant=? AND slot=? AND queue=? AND at>? AND at<?)";
        assert_eq!(one, [expected]);
        let each = plan(&sql, OF_EACH);
        let expected = "SEARCH statistics USING INDEX statistics_of_queues (tenant=? AND slot=? AND at>? AND at<?)";
        assert_eq!(each, [expected], "the index has no rows of all together");
    }
}
