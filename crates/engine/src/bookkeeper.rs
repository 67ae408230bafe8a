//! Counts what happens to jobs: a follower of the change log that keeps numbers per minute and per hour.
//!
//! It adds up what it reads in a [`Ledger`], and the sums are written in the transaction that moves its position
//! ([`crate::follower`]): every move is counted once. Once a minute it looks how deep the queues are and writes down those that are
//! not as deep as a minute before ([`Levels`]), a few hundred at a time: queues in which nothing happens cost nothing. Between two
//! rounds it holds those numbers.
//!
//! A bucket is a row of the store, however many moves it sums up, and where thousands of tenants or queues are busy there are
//! thousands of them for each second. So a write is followed by a pause of [`SMALL_PART`] times as long as it took, up to
//! [`LONGEST_PAUSE`], in which more is added to each bucket: with 10,000 tenants, written by 500 as they came, statistics cost the
//! database more than running the jobs did. How much one write may hold begins small and grows while writes are quick, so that
//! a store that is slow is never asked for more than it can do in one call.
//!
//! **When it dies half way** what it had added up and not written is read again by its successor, as after it was overtaken.
//!
//! **When it is far behind** numbers come late. When the log was pruned before it was read, as after a week without a leader, what
//! was in it is counted nowhere.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{BOOKKEEPER, Begin, Changes, Effect, Position, Store, StoreError};
use foreman_core::statistics::{BucketEntry, DepthChange, Ledger, Levels, Slot};
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::follower::{Bookmark, Follow, FollowerPace, Notices, Stopped};
use crate::outage::bounded;
pub use crate::readings::{OTHER, QueueReading, Readings, ReadingsSnapshot};

/// A write that took long is followed by a pause of so many times as long.
const SMALL_PART: u32 = 10;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A first write holds so many buckets at most. One that was as large as it may be and took so small a part of its time limit is
/// followed by one that is four times as large, or twice.
const FIRST_ROOM: usize = 500;
const QUICK: u32 = 10;
const QUICK_ENOUGH: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when no wake-up came, give or take a tenth.
    pub poll: Duration,
    /// Between two looks, and between two writes: numbers are so old, unless writing them takes long.
    pub every: Duration,
    /// Rows of the log read at once; each is what one write of a store moved.
    pub step: usize,
    /// Buckets written in one transaction at most, give or take those of one row; as many are held in memory.
    pub most_buckets: usize,
    /// So many queues are named in the metrics, those with most jobs; the others are summed.
    pub busiest_queues: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            every: Duration::from_secs(1),
            step: 100,
            most_buckets: 50_000,
            busiest_queues: 20,
            call_timeout: Duration::from_secs(10),
        }
    }
}

/// Adds up what was read, and looks at the queues.
pub struct Bookkeeper {
    store: Arc<dyn Store>,
    config: Config,
    readings: Readings,
    /// What was read and is not written yet.
    ledger: Ledger,
    /// Between two writes.
    pause: Duration,
    /// Not before this moment, unless there is no room for more.
    write_at: Instant,
    /// So many buckets at most in the next write.
    room: usize,
    /// When to look how deep the queues are; not yet known, at once.
    sample_at: Option<Instant>,
    /// How deep they were when they were last sampled; not yet known, the store is asked.
    levels: Option<Levels>,
    /// The last look at them failed.
    is_blind: bool,
}

impl Bookkeeper {
    pub fn new(store: Arc<dyn Store>, config: Config) -> Self {
        Self {
            pause: config.every,
            write_at: Instant::now(),
            room: config.most_buckets.min(FIRST_ROOM),
            store,
            config,
            readings: Readings::default(),
            ledger: Ledger::default(),
            sample_at: None,
            levels: None,
            is_blind: false,
        }
    }

    pub fn readings(&self) -> Readings {
        self.readings.clone()
    }

    /// Writes what is in the ledger, and moves on.
    async fn book(&mut self, to: Position, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        let entries = std::mem::take(&mut self.ledger).entries();
        let count = entries.len();
        let together: Vec<BucketEntry> = entries.iter().filter(|entry| entry.queue.is_none()).cloned().collect();
        let begun = Instant::now();
        at.move_to(to, Effect::Counts(entries)).await?;
        self.wrote(count, begun.elapsed());
        self.readings.count(&together);
        if count > 0 {
            debug!(buckets.count = count, position = to.0, "wrote {count} buckets of statistics");
        }
        Ok(())
    }

    fn wrote(&mut self, buckets: usize, took: Duration) {
        self.pause = self.config.every.max((took * SMALL_PART).min(LONGEST_PAUSE));
        self.write_at = Instant::now() + self.pause;
        let growth = match self.config.call_timeout {
            limit if took < limit / QUICK => 4,
            limit if took < limit / QUICK_ENOUGH => 2,
            _ => 1,
        };
        if buckets >= self.room {
            self.room = (self.room * growth).min(self.config.most_buckets);
        }
    }

    /// Numbers are written as soon as all was read, but for a pause after a write that took long.
    fn is_pausing(&self) -> bool {
        self.pause > self.config.every && self.write_at > Instant::now()
    }

    /// Once in every minute of the store's clock. That the queues cannot be counted is no reason not to count anything: it is
    /// said once and tried again with the next minute.
    async fn sample_if_due(&mut self, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        if self.sample_at.is_some_and(|at| at > Instant::now()) {
            return Ok(());
        }
        let now = bounded(self.config.call_timeout, self.store.time()).await?;
        let left = Slot::Minute.of(now).plus(Slot::Minute.length()).since(now);
        self.sample_at = Some(Instant::now() + left);
        match self.look_at_queues().await {
            Ok((mut levels, changes)) => {
                self.is_blind = false;
                // A queue has two buckets, of the minute and of the hour.
                for some in changes.chunks((self.room / 2).max(1)) {
                    for change in some {
                        self.ledger.see(change, now);
                    }
                    self.book(at.read(), at).await?;
                    for change in some {
                        levels.note(change);
                    }
                }
                self.levels = Some(levels);
            }
            Err(error) if error.is_transient() => {
                self.readings.forget();
                if !std::mem::replace(&mut self.is_blind, true) {
                    warn!("could not read the queue depths for this minute: {error}");
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// What was known of the queues, and what is not so any more.
    async fn look_at_queues(&mut self) -> Result<(Levels, Vec<DepthChange>), StoreError> {
        let limit = self.config.call_timeout;
        let levels = match self.levels.take() {
            Some(levels) => levels,
            None => Levels::of(bounded(limit, self.store.known_depths()).await?),
        };
        let depths = bounded(limit, self.store.depths()).await?;
        self.readings.see(&depths, self.config.busiest_queues);
        let changes = levels.changes(&depths);
        Ok((levels, changes))
    }
}

#[async_trait]
impl Follow for Bookkeeper {
    fn name(&self) -> &'static str {
        BOOKKEEPER
    }

    fn begin(&self) -> Begin {
        Begin::Start
    }

    /// Under load there is always something new, and one look a second is as much as anybody sees of it.
    fn pace(&self) -> FollowerPace {
        let Config { poll, every, step, call_timeout, .. } = self.config;
        FollowerPace { poll, nap: every, step, call_timeout }
    }

    fn notices(&self) -> Notices {
        Notices { late: "statistics are late", lost: "statistics of that time are incomplete" }
    }

    /// Adds up, and writes when it has become much and when it has taken long.
    async fn read(&mut self, changes: &Changes, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        if self.ledger.is_empty() {
            self.write_at = self.write_at.max(Instant::now() + self.config.every);
        }
        for row in &changes.rows {
            self.ledger.count_all(&row.moved);
            if self.ledger.len() >= self.room {
                self.book(row.position, at).await?;
            }
        }
        if self.ledger.is_empty() {
            return at.advance(changes.position, Effect::Nothing).await;
        }
        if self.write_at <= Instant::now() {
            self.book(changes.position, at).await?;
        }
        Ok(())
    }

    async fn caught_up(&mut self, at: &mut Bookmark<'_>) -> Result<Option<Instant>, Stopped> {
        if !self.is_pausing() {
            self.book(at.read(), at).await?;
        }
        self.sample_if_due(at).await?;
        let write_at = (!self.ledger.is_empty()).then_some(self.write_at);
        Ok(self.sample_at.into_iter().chain(write_at).min())
    }

    fn rewind(&mut self) {
        self.ledger = Ledger::default();
        self.room = self.config.most_buckets.min(FIRST_ROOM);
        self.levels = None;
    }

    fn rest(&mut self) {
        self.readings.forget();
        self.sample_at = None;
        self.levels = None;
    }
}
