//! Counts what happens to jobs: reads the change log and keeps numbers per minute and per hour.
//!
//! The bookkeeper has one place in the log, kept by the store. A round reads on from there, adds up what it reads in a
//! [`Ledger`], and writes the sums in the transaction that moves its place: every move is counted once. Once a minute it looks
//! how deep the queues are and writes down those that are not as deep as a minute before ([`Levels`]), a few hundred at a time: queues
//! in which nothing happens cost nothing. Between two rounds it holds its place and those numbers.
//!
//! **Two of it.** One works at a time, the one that leads. Should two, one is overtaken at its next write: nothing of what it
//! added up is written, and it looks again where the other stands.
//!
//! **When it dies half way** its last write was made or was not. What it had added up since is read again by its successor.
//! A write whose answer was lost is not sent again: the place tells whether it was made.
//!
//! **When it is far behind** numbers come late; [`Lag`] says how late. When the log was pruned before it was read, as after
//! days without a leader, what was in it is counted nowhere, and the log of this process says so once.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Changes, Leader, Position, Posted, Store, StoreError, Stretch, Topic, Wakeups};
use foreman_core::statistics::{Change, Ledger, Levels, Slot};
use foreman_core::{Clock, Timestamp};
use foreman_runtime::{Lead, Shutdown, Term, Tick, Ticker, clock};
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

pub use crate::lag::Lag;
use crate::led::Led;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};
use crate::reading::Reader;
pub use crate::readings::{OTHER, QueueReading, Readings, Seen};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when no wake-up came, give or take a tenth.
    pub poll: Duration,
    /// Between two looks, and between two writes of one round: numbers are so old.
    pub every: Duration,
    /// Rows of the log read at once; each is what one write of a store moved.
    pub step: usize,
    /// Buckets written in one transaction, give or take those of one row.
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
            most_buckets: 500,
            busiest_queues: 20,
            call_timeout: Duration::from_secs(10),
        }
    }
}

pub struct Bookkeeper {
    store: Arc<dyn Store>,
    reader: Reader,
    wakeups: Arc<dyn Wakeups>,
    clock: Arc<dyn Clock>,
    config: Config,
    led: Led,
    lag: Lag,
    readings: Readings,
}

/// What it remembers from round to round.
#[derive(Default)]
struct Desk {
    stand: Option<Stand>,
    /// When to look how deep the queues are; not yet known, at once.
    sample_at: Option<Instant>,
    /// How deep they were when they were last sampled; not yet known, the store is asked.
    levels: Option<Levels>,
    /// The last look at them failed.
    is_blind: bool,
    /// Nothing before this place is said to be missing again.
    told: Position,
}

/// Where this bookkeeper believes to stand.
#[derive(Clone, Copy, Debug)]
struct Stand {
    term: Term,
    /// The place that the store keeps.
    kept: Position,
}

/// Why a write came to nothing.
enum Stopped {
    Store(StoreError),
    /// Another bookkeeper was faster: look where it stands.
    Overtaken,
    /// The term is over.
    Deposed,
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Bookkeeper {
    pub fn new(store: Arc<dyn Store>, wakeups: Arc<dyn Wakeups>, config: Config) -> Self {
        let log = Arc::clone(&store) as _;
        Self {
            store,
            reader: Reader { who: "bookkeeper", log, call_timeout: config.call_timeout },
            wakeups,
            clock: Arc::new(|| Timestamp::from_micros(clock::now())),
            config,
            led: Led::default(),
            lag: Lag::default(),
            readings: Readings::default(),
        }
    }

    /// Works only while `lead` says that this process holds the `office`.
    #[must_use]
    pub fn led_by(self, office: impl Into<String>, lead: Lead) -> Self {
        Self { led: Led::by(office, lead), ..self }
    }

    /// Tells how late it is by this clock.
    #[must_use]
    pub fn timed_by(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    pub fn lag(&self) -> Lag {
        self.lag.clone()
    }

    pub fn readings(&self) -> Readings {
        self.readings.clone()
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let mut wake = self.wakeups.listen(Topic::Changed);
        let mut ticker = Ticker::new(self.config.poll, 0.1);
        let mut outage = Outage::new("bookkeeper");
        let mut desk = Desk::default();
        loop {
            if self.led.is_waiting() {
                // Who does not lead is not behind, and does not know how deep anything is.
                self.lag.set(Duration::ZERO);
                self.readings.forget();
                desk.sample_at = None;
                desk.levels = None;
            }
            let Some(term) = self.led.elected(&shutdown).await else { return Ok(()) };
            desk.stand = desk.stand.filter(|stand| stand.term == term);
            let Some(booked) = unless_aborted(&shutdown, self.book_all(term, &mut desk, &shutdown)).await else {
                return Ok(());
            };
            let next = match booked {
                Ok(()) => {
                    outage.is_over();
                    desk.sample_at
                }
                Err(error) => {
                    // Whether the last write was made is known from the place alone, and from what is known of the queues.
                    desk.stand = None;
                    desk.levels = None;
                    Some(Instant::now() + outage.goes_on(error)?)
                }
            };
            // Until draining; a wake-up meanwhile is heard right after. Under load there is always something new, and one
            // look a second is as much as anybody sees of it.
            let _ = timeout(self.config.every, shutdown.draining()).await;
            if ticker.next_until(next, &mut wake, &shutdown).await == Tick::Draining {
                return Ok(());
            }
        }
    }

    /// Round by round until everything is counted, the term is over, or until draining.
    async fn book_all(&self, term: Term, desk: &mut Desk, shutdown: &Shutdown) -> Result<(), StoreError> {
        let mut overtaken = 0;
        loop {
            if !self.led.holds(term) {
                return Ok(());
            }
            let mut here = match desk.stand {
                Some(here) => here,
                None => self.find_place(term, &mut desk.told).await?,
            };
            match self.round(&mut here, desk, shutdown).await {
                Ok(()) => {
                    desk.stand = Some(here);
                    return Ok(());
                }
                Err(Stopped::Store(error)) => return Err(error),
                Err(Stopped::Overtaken) => {
                    desk.stand = None;
                    desk.levels = None;
                    overtaken += 1;
                }
                Err(Stopped::Deposed) => {
                    desk.stand = None;
                    desk.levels = None;
                    self.led.until_deposed(term, shutdown).await;
                    return Ok(());
                }
            }
            // Somebody else is faster all the time: that is no reason to spin with them.
            if overtaken > 3 || shutdown.is_draining() {
                return Ok(());
            }
        }
    }

    async fn find_place(&self, term: Term, told: &mut Position) -> Result<Stand, StoreError> {
        let limit = self.config.call_timeout;
        let kept = bounded(limit, self.store.bookkeeper()).await?;
        let start = bounded(limit, self.store.start()).await?;
        if kept < start && *told < start {
            warn!(
                position.from = kept.0,
                position.to = start.0,
                "part of the change log was deleted before it was counted: statistics of that time are incomplete"
            );
            *told = start;
        }
        Ok(Stand { term, kept })
    }

    /// Reads to the end of the log, and writes what it adds up to: at the end, when it has become much, and when it has taken
    /// long.
    async fn round(&self, here: &mut Stand, desk: &mut Desk, shutdown: &Shutdown) -> Result<(), Stopped> {
        let leader = self.led.leader(here.term);
        let mut ledger = Ledger::default();
        let mut read = here.kept;
        let mut since = Instant::now();
        loop {
            let changes = self.reader.read(read, self.config.step).await?;
            self.note_lag(&changes);
            let is_all = changes.position == read;
            for row in &changes.rows {
                row.moved.iter().for_each(|moved| ledger.count(moved));
                read = row.position;
                if ledger.len() >= self.config.most_buckets {
                    self.book(leader.as_ref(), here, read, &mut ledger).await?;
                    since = Instant::now();
                }
            }
            read = changes.position;
            if is_all || shutdown.is_draining() {
                break;
            }
            if since.elapsed() >= self.config.every {
                self.book(leader.as_ref(), here, read, &mut ledger).await?;
                since = Instant::now();
            }
        }
        self.book(leader.as_ref(), here, read, &mut ledger).await?;
        self.sample_if_due(leader.as_ref(), here, desk).await
    }

    /// Writes what is in the ledger, and moves on.
    async fn book(
        &self,
        leader: Option<&Leader>,
        here: &mut Stand,
        to: Position,
        ledger: &mut Ledger,
    ) -> Result<(), Stopped> {
        if ledger.is_empty() && here.kept == to {
            return Ok(());
        }
        let entries = std::mem::take(ledger).entries();
        let count = entries.len();
        let stretch = Stretch { from: here.kept, to, entries };
        match bounded(self.config.call_timeout, self.store.book(leader, &stretch)).await? {
            Some(Posted::Done) => {
                here.kept = to;
                self.readings.count(&stretch.entries);
                debug!(buckets.count = count, position = to.0, "wrote {count} buckets of statistics");
                Ok(())
            }
            Some(Posted::Overtaken) => Err(Stopped::Overtaken),
            None => Err(Stopped::Deposed),
        }
    }

    /// Once in every minute of the store's clock. That the queues cannot be counted is no reason not to count anything: it is
    /// said once and tried again with the next minute.
    async fn sample_if_due(&self, leader: Option<&Leader>, here: &mut Stand, desk: &mut Desk) -> Result<(), Stopped> {
        if desk.sample_at.is_some_and(|at| at > Instant::now()) {
            return Ok(());
        }
        let limit = self.config.call_timeout;
        let now = bounded(limit, self.store.time()).await?;
        let left = Slot::Minute.of(now).plus(Slot::Minute.length()).since(now);
        desk.sample_at = Some(Instant::now() + left);
        match self.look_at_queues(desk.levels.take()).await {
            Ok((mut levels, changes)) => {
                desk.is_blind = false;
                // A queue has two buckets, of the minute and of the hour.
                for some in changes.chunks((self.config.most_buckets / 2).max(1)) {
                    let mut ledger = Ledger::default();
                    for change in some {
                        ledger.see(change, now);
                    }
                    let place = here.kept;
                    self.book(leader, here, place, &mut ledger).await?;
                    for change in some {
                        levels.note(change);
                    }
                }
                desk.levels = Some(levels);
            }
            Err(error) if error.is_transient() => {
                self.readings.forget();
                if !std::mem::replace(&mut desk.is_blind, true) {
                    warn!("could not read the queue depths for this minute: {error}");
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// What was known of the queues, and what is not so any more.
    async fn look_at_queues(&self, known: Option<Levels>) -> Result<(Levels, Vec<Change>), StoreError> {
        let limit = self.config.call_timeout;
        let levels = match known {
            Some(levels) => levels,
            None => Levels::of(bounded(limit, self.store.known_depths()).await?),
        };
        let depths = bounded(limit, self.store.depths()).await?;
        self.readings.see(&depths, self.config.busiest_queues);
        let changes = levels.changes(&depths);
        Ok((levels, changes))
    }

    fn note_lag(&self, changes: &Changes) {
        let oldest = changes.rows.first().map(|row| row.at);
        self.lag.set(oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest)));
    }
}
