//! Numbers over time.
//!
//! They are added in the transaction that moves the bookkeeper (`followers.rs`), under the lock of its row: what is there is read,
//! added to here and written back, so nothing is added to a number that somebody else is changing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{Bucket, Depth, PruneStep, Range, StatisticsStore, StoreError, WaitingCounts};
use foreman_core::statistics::{BucketEntry, Level, MINUTES_KEPT, SampledLevel, Slot, Tally, carry};
use foreman_core::{TenantId, Timestamp};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, json, number};
use crate::schedules::read::NOW;
use crate::value::{Arg, Interval, Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look};

/// What is there of the buckets that are added to, in the order asked for.
pub(crate) const TOUCHED: &str = "SELECT asked.rank, statistics.tally
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) WITH ORDINALITY
         AS asked (tenant, slot, queue, at, rank)
    JOIN statistics ON statistics.tenant = asked.tenant AND statistics.slot = asked.slot
                   AND statistics.queue = asked.queue AND statistics.at = asked.at";
/// One that was pruned since it was read is written anew.
pub(crate) const ADD: &str = "INSERT INTO statistics (tenant, slot, queue, at, tally)
    SELECT tenant, slot, queue, at, tally
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
         AS added (tenant, slot, queue, at, tally)
    ON CONFLICT (tenant, slot, queue, at) DO UPDATE SET tally = excluded.tally";
/// All that waits and is held, walked over once.
pub(crate) const DEPTHS: &str =
    "SELECT tenant, queue, sum(scheduled)::bigint, sum(pending)::bigint, sum(retrying)::bigint,
           sum(running)::bigint, foreman_now() - min(oldest)
    FROM (
        SELECT tenant, queue, count(*) FILTER (WHERE run_at > foreman_now() AND attempt = 0) AS scheduled,
               count(*) FILTER (WHERE run_at <= foreman_now()) AS pending,
               count(*) FILTER (WHERE run_at > foreman_now() AND attempt > 0) AS retrying, 0 AS running,
               min(run_at) FILTER (WHERE run_at <= foreman_now()) AS oldest
        FROM ready GROUP BY tenant, queue
        UNION ALL
        SELECT member.tenant, member.queue, 0, 0, 0, count(*), NULL
        FROM claims
        CROSS JOIN LATERAL unnest(claims.tenants, claims.queues) WITH ORDINALITY AS member (tenant, queue, place)
        WHERE get_bit(claims.open, member.place::integer - 1) = 1
        GROUP BY member.tenant, member.queue
    ) AS counted
    GROUP BY tenant, queue ORDER BY tenant COLLATE \"C\", queue COLLATE \"C\"";
/// How deep queues were when last sampled, unless later is known.
pub(crate) const LEVELS: &str = "INSERT INTO depths AS known (tenant, queue, waiting, running, since)
    SELECT tenant, queue, waiting, running, since
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[])
         AS sampled (tenant, queue, waiting, running, since)
    WHERE waiting > 0 OR running > 0
    ON CONFLICT (tenant, queue) DO UPDATE
    SET waiting = excluded.waiting, running = excluded.running, since = excluded.since WHERE known.since <= excluded.since";
pub(crate) const EMPTIED: &str = "DELETE FROM depths
    USING unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[])
          AS sampled (tenant, queue, waiting, running, since)
    WHERE sampled.waiting = 0 AND sampled.running = 0 AND depths.tenant = sampled.tenant
      AND depths.queue = sampled.queue AND depths.since <= sampled.since";
pub(crate) const KNOWN: &str = "SELECT tenant, queue, waiting, running, since FROM depths";
pub(crate) const CURRENT: &str = "SELECT waiting, running, since FROM depths
    WHERE tenant = $1::text AND queue = $2::text AND since <= $3::timestamptz";
/// Those in which nothing has changed since.
pub(crate) const IDLE: &str = "SELECT queue, waiting, running, since FROM depths
    WHERE tenant = $1::text AND queue > '' AND since <= $2::timestamptz AND left(queue, 8) <> 'foreman.'";
/// The last sample. Of minutes and hours there are a few thousand at most, and most have one.
pub(crate) const BEFORE: &str = "SELECT at, tally FROM statistics
    WHERE tenant = $1::text AND slot = $2::text AND queue = $3::text AND at < $4::timestamptz
      AND tally LIKE '%\"waiting\":%'
    ORDER BY at DESC LIMIT 1";
pub(crate) const BUCKETS: &str = "SELECT at, tally FROM statistics
    WHERE tenant = $1::text AND slot = $2::text AND queue = $3::text AND at >= $4::timestamptz AND at < $5::timestamptz
    ORDER BY at LIMIT $6::bigint";
/// From one queue to the next by the key, and of each the stretch of time that is asked for. Foreman's own are left out.
pub(crate) const BY_QUEUE: &str = "WITH RECURSIVE walk (queue) AS (
        (SELECT statistics.queue FROM statistics
         WHERE statistics.tenant = $1::text AND statistics.slot = $2::text AND statistics.queue > ''
         ORDER BY statistics.queue LIMIT 1)
        UNION ALL
        SELECT (SELECT statistics.queue FROM statistics
                WHERE statistics.tenant = $1 AND statistics.slot = $2 AND statistics.queue > walk.queue
                ORDER BY statistics.queue LIMIT 1)
        FROM walk WHERE walk.queue IS NOT NULL
    )
    SELECT walk.queue, statistics.at, statistics.tally
    FROM walk
    JOIN statistics ON statistics.tenant = $1 AND statistics.slot = $2 AND statistics.queue = walk.queue
                   AND statistics.at >= $3::timestamptz AND statistics.at < $4::timestamptz
    WHERE walk.queue IS NOT NULL AND left(walk.queue, 8) <> 'foreman.'";
pub(crate) const CUT_STATISTICS: &str = "DELETE FROM statistics WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM statistics WHERE at <= foreman_now() - $2::interval ORDER BY at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

pub(crate) const OLDEST: &str = "SELECT foreman_now(), (SELECT at FROM statistics ORDER BY at LIMIT 1)";
/// Minutes within a stretch of time: beside them are the hours of that time, which stay, so the stretch is short.
pub(crate) const CUT_MINUTES: &str = "DELETE FROM statistics WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM statistics WHERE at >= $2::timestamptz AND at < $3::timestamptz AND slot = 'minute'
        LIMIT $1::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1";

/// How much time one step of pruning looks through.
const HOURS_IN_A_STEP: usize = 24;

/// Up to when minutes have been pruned, as far as this process knows: before that nothing is left but hours. (A minute that is
/// booked days late is missed, and goes with the hours.)
#[derive(Default)]
pub(crate) struct Minutes(Mutex<Option<Timestamp>>);

impl Minutes {
    /// It was committed.
    pub fn reached(&self, place: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    /// One step: what is older than all statistics are kept first, then minutes, from where the last step stopped. Answers where
    /// this one did.
    pub async fn prune(
        &self,
        tx: &Transaction,
        keep: Duration,
        limit: usize,
    ) -> Result<(PruneStep, Option<Timestamp>), Fault> {
        let mut removed = tx.rows(CUT_STATISTICS, &[&bound(limit), &Interval(keep)]).await?.len();
        if removed >= limit {
            return Ok((PruneStep { removed, ..PruneStep::default() }, None));
        }
        let row =
            tx.row(OLDEST, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
        let until = row.try_get::<_, Time>(0)?.0.minus(keep.min(MINUTES_KEPT));
        let Some(Time(oldest)) = row.try_get::<_, Option<Time>>(1)? else {
            return Ok((PruneStep { removed, is_done: true, ..PruneStep::default() }, None));
        };
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut from = known.map_or(oldest, |known| known.max(oldest)).min(until);
        // The moment itself is old, too.
        let end = until.plus(Duration::from_micros(1));
        for _ in 0..HOURS_IN_A_STEP {
            let to = Slot::Hour.of(from).plus(Slot::Hour.length()).min(end);
            let room = limit - removed;
            let some = tx.rows(CUT_MINUTES, &[&bound(room), &Time(from), &Time(to)]).await?.len();
            removed += some;
            if some >= room {
                break;
            }
            from = to;
            if from >= end {
                break;
            }
        }
        Ok((PruneStep { removed, is_done: from >= end, ..PruneStep::default() }, Some(from)))
    }
}

/// What stands where a queue's name would: no name is empty.
const ALL_TOGETHER: &str = "";

#[async_trait]
impl StatisticsStore for PostgresStore {
    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        look!(self, Census, |tx| depths(&tx).await)
    }

    async fn known_depths(&self) -> Result<Vec<SampledLevel>, StoreError> {
        look!(self, Census, |tx| known_depths(&tx).await)
    }

    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        look!(self, Look, |tx| buckets(&tx, tenant, range, limit).await)
    }

    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError> {
        look!(self, Look, |tx| by_queue(&tx, tenant, range, limit).await)
    }
}

/// What is to be added, column by column, each bucket once and in one order.
pub(crate) struct TallyColumns<'a> {
    tallies: Vec<Tally>,
    tenants: Vec<&'a str>,
    slots: Vec<&'static str>,
    queues: Vec<&'a str>,
    times: Vec<Time>,
}

impl<'a> TallyColumns<'a> {
    pub fn new(entries: &'a [BucketEntry]) -> Self {
        let mut sums: BTreeMap<(&str, &'static str, &str, Timestamp), Tally> = BTreeMap::new();
        for BucketEntry { tenant, queue, slot, at, tally } in entries {
            let queue = queue.as_ref().map_or(ALL_TOGETHER, QueueName::as_str);
            sums.entry((tenant.as_str(), slot.as_str(), queue, *at)).or_default().add(tally);
        }
        let mut books = Self {
            tallies: Vec::with_capacity(sums.len()),
            tenants: Vec::with_capacity(sums.len()),
            slots: Vec::with_capacity(sums.len()),
            queues: Vec::with_capacity(sums.len()),
            times: Vec::with_capacity(sums.len()),
        };
        for ((tenant, slot, queue, at), tally) in sums {
            books.tallies.push(tally);
            books.tenants.push(tenant);
            books.slots.push(slot);
            books.queues.push(queue);
            books.times.push(Time(at));
        }
        books
    }

    /// Under the bookkeeper's lock.
    pub async fn add(&self, tx: &Transaction) -> Result<(), Fault> {
        if self.tallies.is_empty() {
            return Ok(());
        }
        let touched: [&dyn Arg; 4] = [&self.tenants, &self.slots, &self.queues, &self.times];
        let mut sums = self.tallies.clone();
        for row in &tx.rows(TOUCHED, &touched).await? {
            let place = usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or(usize::MAX);
            if let Some(sum) = sums.get_mut(place) {
                sum.add(&tally(row, 1, self.tenants[place])?);
            }
        }
        let texts: Vec<String> = sums.iter().map(json).collect::<Result<_, _>>()?;
        tx.rows(ADD, &[&self.tenants, &self.slots, &self.queues, &self.times, &texts]).await?;
        self.note_levels(tx).await
    }

    async fn note_levels(&self, tx: &Transaction) -> Result<(), Fault> {
        let (mut tenants, mut queues) = (Vec::new(), Vec::new());
        let (mut waiting, mut running, mut since) = (Vec::new(), Vec::new(), Vec::new());
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        // Of two minutes of one queue the later says how deep it is.
        let mut last: BTreeMap<(&str, &str), Level> = BTreeMap::new();
        for (place, tally) in
            self.tallies.iter().enumerate().filter(|(place, _)| self.slots[*place] == Slot::Minute.as_str())
        {
            let Some(level) = tally.last else { continue };
            let known = last.entry((self.tenants[place], self.queues[place])).or_insert(level);
            if known.at_us < level.at_us {
                *known = level;
            }
        }
        for ((tenant, queue), level) in last {
            tenants.push(tenant);
            queues.push(queue);
            waiting.push(number(level.waiting));
            running.push(number(level.running));
            since.push(Time(Timestamp::from_micros(level.at_us)));
        }
        if !tenants.is_empty() {
            let levels: [&dyn Arg; 5] = [&tenants, &queues, &waiting, &running, &since];
            tx.all(&[(LEVELS, &levels), (EMPTIED, &levels)]).await?;
        }
        Ok(())
    }
}

fn tally(row: &Row, place: usize, tenant: &str) -> Result<Tally, Fault> {
    Cells { row, table: "statistics", id: tenant }.json(place, "tally")
}

async fn depths(tx: &Transaction) -> Result<Vec<Depth>, Fault> {
    let rows = tx.rows(DEPTHS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Depth {
                tenant: TenantId::new(row.try_get::<_, &str>(0)?),
                queue: QueueName::from_stored(row.try_get(1)?),
                waiting: WaitingCounts {
                    scheduled: number(row, 2)?,
                    pending: number(row, 3)?,
                    retrying: number(row, 4)?,
                },
                running: number(row, 5)?,
                oldest_wait: row.try_get::<_, Option<Interval>>(6)?.map(|span| span.0),
            })
        })
        .collect()
}

async fn known_depths(tx: &Transaction) -> Result<Vec<SampledLevel>, Fault> {
    let rows = tx.rows(KNOWN, &[]).await?;
    rows.iter()
        .map(|row| {
            let queue: &str = row.try_get(1)?;
            Ok(SampledLevel {
                tenant: TenantId::new(row.try_get::<_, &str>(0)?),
                queue: (queue != ALL_TOGETHER).then(|| QueueName::from_stored(queue)),
                level: level(row, 2)?,
            })
        })
        .collect()
}

/// From `waiting`, `running`, `since`.
fn level(row: &Row, first: usize) -> Result<Level, Fault> {
    let at_us = row.try_get::<_, Time>(first + 2)?.0.as_micros();
    Ok(Level { waiting: number(row, first)?, running: number(row, first + 1)?, at_us })
}

async fn buckets(tx: &Transaction, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, Fault> {
    let queue = range.queue.as_ref().map_or(ALL_TOGETHER, QueueName::as_str);
    let (tenant, slot, from, to) = (tenant.as_str(), range.slot.as_str(), Time(range.from), Time(range.to));
    let rows = tx.rows(BUCKETS, &[&tenant, &slot, &queue, &from, &to, &bound(limit)]).await?;
    let read = |row: &Row| Ok(Bucket { at: row.try_get::<_, Time>(0)?.0, tally: tally(row, 1, tenant)? });
    let mut buckets: Vec<Bucket> = rows.iter().map(read).collect::<Result<_, Fault>>()?;
    let now = tx.row(NOW, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
    carry(&mut buckets, range, before(tx, tenant, queue, range).await?, now.try_get::<_, Time>(0)?.0);
    buckets.truncate(limit);
    Ok(buckets)
}

/// How deep it was when the range begins.
async fn before(tx: &Transaction, tenant: &str, queue: &str, range: &Range) -> Result<Option<Level>, Fault> {
    if let Some(row) = tx.row(CURRENT, &[&tenant, &queue, &Time(range.from)]).await? {
        return level(&row, 0).map(Some);
    }
    for (slot, until) in [(range.slot, range.from), (Slot::Hour, Slot::Hour.of(range.from))] {
        if let Some(row) = tx.row(BEFORE, &[&tenant, &slot.as_str(), &queue, &Time(until)]).await? {
            return Ok(tally(&row, 1, tenant)?.level(row.try_get::<_, Time>(0)?.0));
        }
    }
    Ok(None)
}

async fn by_queue(
    tx: &Transaction,
    tenant: &TenantId,
    range: &Range,
    limit: usize,
) -> Result<Vec<(QueueName, Tally)>, Fault> {
    let (tenant, slot, from, to) = (tenant.as_str(), range.slot.as_str(), Time(range.from), Time(range.to));
    let mut sums: BTreeMap<String, Tally> = BTreeMap::new();
    for row in &tx.rows(BY_QUEUE, &[&tenant, &slot, &from, &to]).await? {
        let queue: &str = row.try_get(0)?;
        let tally = tally(row, 2, tenant)?;
        match sums.get_mut(queue) {
            Some(sum) => sum.add(&tally),
            None => drop(sums.insert(queue.to_owned(), tally)),
        }
    }
    for row in &tx.rows(IDLE, &[&tenant, &from]).await? {
        let queue: &str = row.try_get(0)?;
        sums.entry(queue.to_owned()).or_default().add(&Tally::idle(level(row, 1)?));
    }
    let mut sums: Vec<(String, Tally)> = sums.into_iter().collect();
    // By name where they are equal: the order they come in.
    sums.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.submitted.max(tally.ended())));
    sums.truncate(limit);
    Ok(sums.into_iter().map(|(queue, tally)| (QueueName::from_stored(&queue), tally)).collect())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[
    ADD,
    BEFORE,
    BUCKETS,
    BY_QUEUE,
    CURRENT,
    CUT_MINUTES,
    CUT_STATISTICS,
    DEPTHS,
    EMPTIED,
    IDLE,
    KNOWN,
    LEVELS,
    OLDEST,
    TOUCHED,
];
