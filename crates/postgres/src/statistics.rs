//! Numbers over time, and the bookkeeper's place in the log.
//!
//! The bookkeeper's row is locked and compared with where the stretch began; whether the leader's term is still in force is read
//! behind that lock, which may have been waited for. Of two bookkeepers the second finds the row moved and has added nothing. What
//! is there is read under the same lock, added to here and written back, so nothing is added to a number that somebody else is
//! changing. A process that dies before the commit has neither counted nor moved; one that does not hear of its commit sends the
//! same again and finds the row moved, by itself.

use std::collections::BTreeMap;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{Bucket, Depth, Leader, Position, Posted, Range, StatisticsStore, StoreError, Stretch};
use foreman_core::statistics::{Entry, Tally};
use foreman_core::{TenantId, Timestamp};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, json, number};
use crate::upkeep::leads;
use crate::value::{Arg, Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

pub(crate) const STANDS: &str = "SELECT position FROM bookkeeper";
pub(crate) const LOCK: &str = "SELECT position FROM bookkeeper FOR UPDATE";
pub(crate) const MOVE: &str = "UPDATE bookkeeper SET position = $1::bigint";
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
pub(crate) const DEPTHS: &str = "SELECT tenant, queue, sum(waiting)::bigint, sum(running)::bigint
    FROM (
        SELECT tenant, queue, count(*) AS waiting, 0 AS running FROM ready GROUP BY tenant, queue
        UNION ALL
        SELECT member.tenant, member.queue, 0, count(*)
        FROM claims
        CROSS JOIN LATERAL unnest(claims.tenants, claims.queues) WITH ORDINALITY AS member (tenant, queue, place)
        WHERE get_bit(claims.open, member.place::integer - 1) = 1
        GROUP BY member.tenant, member.queue
    ) AS counted
    GROUP BY tenant, queue ORDER BY tenant COLLATE \"C\", queue COLLATE \"C\"";
pub(crate) const BUCKETS: &str = "SELECT at, tally FROM statistics
    WHERE tenant = $1::text AND slot = $2::text AND queue = $3::text AND at >= $4::timestamptz AND at < $5::timestamptz
    ORDER BY at LIMIT $6::bigint";
/// From one queue to the next by the key, and of each the stretch of time that is asked for.
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
    WHERE walk.queue IS NOT NULL";
pub(crate) const CUT_STATISTICS: &str = "DELETE FROM statistics WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM statistics WHERE at <= foreman_now() - $2::interval ORDER BY at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

/// What stands where a queue's name would: no name is empty.
const ALL_TOGETHER: &str = "";

#[async_trait]
impl StatisticsStore for PostgresStore {
    async fn bookkeeper(&self) -> Result<Position, StoreError> {
        look!(self, Look, |tx| bookkeeper(&tx).await)
    }

    async fn book(&self, leader: Option<&Leader>, stretch: &Stretch) -> Result<Option<Posted>, StoreError> {
        let books = Books::new(&stretch.entries);
        transact!(self, data, Write, |tx| book(&tx, leader, stretch, &books).await)
    }

    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        look!(self, Audit, |tx| depths(&tx).await)
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

async fn bookkeeper(tx: &Transaction) -> Result<Position, Fault> {
    let row = tx.row(STANDS, &[]).await?;
    Ok(Position(row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default()))
}

/// What is to be added, column by column, each bucket once and in one order.
struct Books<'a> {
    tallies: Vec<Tally>,
    tenants: Vec<&'a str>,
    slots: Vec<&'static str>,
    queues: Vec<&'a str>,
    times: Vec<Time>,
}

impl<'a> Books<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let mut sums: BTreeMap<(&str, &'static str, &str, Timestamp), Tally> = BTreeMap::new();
        for Entry { tenant, queue, slot, at, tally } in entries {
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
    async fn add(&self, tx: &Transaction) -> Result<(), Fault> {
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
        Ok(())
    }
}

fn tally(row: &Row, place: usize, tenant: &str) -> Result<Tally, Fault> {
    Cells { row, table: "statistics", id: tenant }.json(place, "tally")
}

async fn book(
    tx: &Transaction,
    leader: Option<&Leader>,
    stretch: &Stretch,
    books: &Books<'_>,
) -> Result<Option<Posted>, Fault> {
    let row = tx.row(LOCK, &[]).await?;
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let stands: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    if stands != Some(stretch.from.0) {
        return Ok(Some(Posted::Overtaken));
    }
    books.add(tx).await?;
    if stretch.to != stretch.from {
        tx.rows(MOVE, &[&stretch.to.0]).await?;
    }
    Ok(Some(Posted::Done))
}

async fn depths(tx: &Transaction) -> Result<Vec<Depth>, Fault> {
    let rows = tx.rows(DEPTHS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Depth {
                tenant: TenantId::new(row.try_get::<_, &str>(0)?),
                queue: QueueName::from_stored(row.try_get(1)?),
                waiting: number(row, 2)?,
                running: number(row, 3)?,
            })
        })
        .collect()
}

async fn buckets(tx: &Transaction, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, Fault> {
    let queue = range.queue.as_ref().map_or(ALL_TOGETHER, QueueName::as_str);
    let (tenant, slot, from, to) = (tenant.as_str(), range.slot.as_str(), Time(range.from), Time(range.to));
    let rows = tx.rows(BUCKETS, &[&tenant, &slot, &queue, &from, &to, &bound(limit)]).await?;
    rows.iter().map(|row| Ok(Bucket { at: row.try_get::<_, Time>(0)?.0, tally: tally(row, 1, tenant)? })).collect()
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
    let mut sums: Vec<(String, Tally)> = sums.into_iter().collect();
    // By name where they are equal: the order they come in.
    sums.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.submitted.max(tally.ended())));
    sums.truncate(limit);
    Ok(sums.into_iter().map(|(queue, tally)| (QueueName::from_stored(&queue), tally)).collect())
}
