//! Announcing: which due jobs a broker has been told of.
//!
//! The row in `ready` is the outbox, and `ready.announced` the mark: the number of the batch that it was announced in. The mark ends
//! with the row, so whatever takes a job out of `ready` need not know of it, and one that returns is unannounced. A row of
//! `announcements` names the jobs of a batch, as long as one of them bears its number; so what is outstanding is counted, and what
//! was lost is found, by looking up ids, and `ready` has no index more.
//!
//! Any number of relays may run: rows that another has locked are skipped, and rows that it has marked are not chosen. One that
//! dies between the mark and the broker's answer leaves a batch that nobody acknowledges; another forgets it, and the jobs are
//! announced again. So a commit here does not wait for the disk: a mark that is lost with the server is a job that is announced
//! twice, and the claim decides.
//!
//! Who waits for rows waits in one order: the batch before its jobs, jobs by their ids. Announcing itself waits for nobody.

pub(crate) mod mark;
pub(crate) mod parked;

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    AnnounceRequest, AnnounceStore, AnnouncedBatch, BatchNumber, Consumer, LaneCounts, ParkedMessage, ParkedView,
    Queues, StoreError, Topic, Unannounced,
};
use foreman_core::target::Route;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::jobs::claim::{SLACK, ScopeColumns, pauses};
use crate::value::{Interval, Time};
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

pub(crate) const ACKNOWLEDGE: &str = include_str!("sql/announce/acknowledge.sql");
pub(crate) const OUTSTANDING: &str = include_str!("sql/announce/outstanding.sql");
pub(crate) const REANNOUNCE: &str = include_str!("sql/announce/reannounce.sql");
pub(crate) const UNANNOUNCED: &str = include_str!("sql/announce/unannounced.sql");
pub(crate) const CONSUMERS: &str = "SELECT slots, queues, consumes FROM sessions
    WHERE state = 'live' AND expires_at > foreman_now() AND consumes IS NOT NULL ORDER BY id";

/// So many jobs are looked up in whole batches by one count of what is outstanding, and about as many in the others.
const LOOKED_UP: i64 = 2_048;

/// So many batches are forgotten by one call.
const FORGOTTEN_AT_ONCE: i64 = 16;

/// What waits to be announced is counted in so many lines, so far in each, and up to so many in all.
const LINES_COUNTED: i64 = 512;
const COUNTED_IN_A_LINE: i64 = 1_000;
const ENOUGH: i64 = 10_000;

#[async_trait]
impl AnnounceStore for PostgresStore {
    async fn announce(&self, request: &AnnounceRequest) -> Result<Option<AnnouncedBatch>, StoreError> {
        mark::announce(self, request).await
    }

    async fn acknowledge(&self, batch: BatchNumber, failed: &[usize]) -> Result<(), StoreError> {
        let places: Vec<i32> = failed.iter().filter_map(|place| i32::try_from(place + 1).ok()).collect();
        let args = (batch.0, places, pauses());
        transact!(self, data, Hint, |tx| tx.rows(ACKNOWLEDGE, &[&args.0, &args.1, &args.2]).await).map(drop)
    }

    async fn outstanding(&self) -> Result<LaneCounts, StoreError> {
        let after = self.parts.counted_after.load(Ordering::Relaxed);
        let row = transact!(self, data, Hint, |tx| tx.row(OUTSTANDING, &[&after, &LOOKED_UP]).await)?;
        let (counts, last) = outstanding(row.as_ref()).map_err(StoreError::from)?;
        self.parts.counted_after.store(last, Ordering::Relaxed);
        Ok(counts)
    }

    async fn reannounce(&self, unanswered: Duration, unclaimed: Duration) -> Result<usize, StoreError> {
        let args = (Interval(unanswered), Interval(unclaimed));
        transact!(self, data, Hint, |tx| {
            let unmarked = tx.rows(REANNOUNCE, &[&args.0, &args.1, &FORGOTTEN_AT_ONCE]).await;
            if unmarked.as_ref().is_ok_and(|rows| !rows.is_empty()) {
                tx.ring(Topic::Ready);
            }
            unmarked.map(|rows| rows.len())
        })
    }

    async fn unannounced(&self, request: &AnnounceRequest) -> Result<Unannounced, StoreError> {
        let scope = ScopeColumns::of(&request.queues, &request.routes, &[]);
        look!(self, Look, |tx| unannounced(&tx, &scope).await)
    }

    async fn consumers(&self) -> Result<Vec<Consumer>, StoreError> {
        let rows = look!(self, Look, |tx| tx.rows(CONSUMERS, &[]).await)?;
        rows.iter().map(|row| consumer(row).map_err(StoreError::from)).collect()
    }

    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError> {
        transact!(self, data, Write, |tx| parked::park(&tx, messages).await)
    }

    async fn parked(&self, before: Option<i64>, limit: usize) -> Result<Vec<ParkedView>, StoreError> {
        look!(self, Look, |tx| parked::list(&tx, before, limit).await)
    }
}

/// What is outstanding, and after which batch the next count goes on.
fn outstanding(row: Option<&Row>) -> Result<(LaneCounts, i64), Fault> {
    let Some(row) = row else {
        return Err(StoreError::Broken("a count was answered without a row".into()).into());
    };
    let count = |name: &str| row.try_get::<_, i64>(name).map(|count| usize::try_from(count).unwrap_or_default());
    let counts = LaneCounts { high: count("high")?, normal: count("normal")?, low: count("low")? };
    Ok((counts, row.try_get::<_, Option<i64>>("last")?.unwrap_or_default()))
}

async fn unannounced(tx: &Transaction, scope: &ScopeColumns<'_>) -> Result<Unannounced, Fault> {
    let (enough, below) = (ENOUGH + 1, SLACK);
    let row = tx
        .row(UNANNOUNCED, &[&scope.queues, &scope.routes, &COUNTED_IN_A_LINE, &enough, &LINES_COUNTED, &below])
        .await?;
    let Some(row) = row else { return Ok(Unannounced::default()) };
    let jobs: i64 = row.try_get("jobs")?;
    Ok(Unannounced {
        jobs: jobs.clamp(0, ENOUGH).unsigned_abs(),
        is_more: jobs > ENOUGH,
        oldest: row.try_get::<_, Option<Time>>("oldest")?.map(|time| time.0),
    })
}

fn consumer(row: &Row) -> Result<Consumer, Fault> {
    let (slots, queues, routes): (i64, Vec<&str>, Vec<&str>) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let named = || queues.iter().map(|name| QueueName::from_stored(name)).collect();
    Ok(Consumer {
        slots: u32::try_from(slots).unwrap_or(u32::MAX),
        queues: if queues.is_empty() { Queues::All } else { Queues::Named(named()) },
        routes: routes.into_iter().map(Route::from_stored).collect(),
    })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[
    ACKNOWLEDGE,
    CONSUMERS,
    OUTSTANDING,
    REANNOUNCE,
    UNANNOUNCED,
    mark::CORRELATED,
    mark::MARK,
    mark::NOTE,
    mark::ROOMS_TAKEN,
    parked::CUT_PARKED,
    parked::LIST,
    parked::PARK,
];
