//! Tells those who asked how jobs ended: reads the change log and makes a delivery of every ending.
//!
//! The courier has one place in the log, kept by the store. A round reads on from there, makes one job for each endpoint that
//! wants to hear of an ending and one for a job's `callback_url`, and writes these jobs in the transaction that moves its
//! place: what was read is told, once, and what was not is read again. The jobs it makes are run by the workers
//! ([`crate::target::webhook`]), which is where the network begins; the courier itself calls nobody.
//!
//! It also reads how the deliveries went and notes it with their endpoints, so that one that is gone, or has failed for days, is
//! disabled; its tenant's other endpoints are told, and so is the audit trail.
//!
//! **Two of it.** One works at a time, the one that leads. Should two, one is overtaken at its next write and looks again.
//!
//! **When it dies half way** its round was written or was not. What else a round does (noting health, the audit entry) comes
//! before that write and may be done twice; it is the same the second time. Every delivery has an id made from what it tells
//! and whom, so that even a round that is too large for one transaction, and is written in several, makes each of them once.
//!
//! **When it is far behind** (workers write faster than it reads, or nobody led for hours) endings are told late and in order;
//! [`Lag`] says how late, and the log says so from [`FAR_BEHIND`] on. The store keeps what it has not read for
//! [`foreman_core::ports::UNREAD_KEPT`]; what is older is gone untold.

mod endings;
mod health;
mod letter;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foreman_core::duration::Span;
use foreman_core::ports::{
    Changes, Leader, Moved, NewDelivery, Position, Posted, Round, Store, StoreError, Tenancy, Topic, Wakeups,
};
use foreman_core::{Clock, Timestamp};
use foreman_runtime::{Lead, Shutdown, Term, Tick, Ticker, clock};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use self::letter::Bag;
pub use crate::lag::Lag;
use crate::led::Led;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};
use crate::reading::Reader;

/// Between two looks: under load there is always something new, and one look at much costs less than many at little.
const SHORTEST_NAP: Duration = Duration::from_millis(50);
/// A stretch of the log in which nobody is interested moves the courier's place so often, and no oftener.
const MOVE_EVERY: Duration = Duration::from_secs(1);
/// An operator should know.
pub const FAR_BEHIND: Duration = Duration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when no wake-up came, give or take a tenth.
    pub poll: Duration,
    /// Rows of the log read at once; each is what one write of a store moved.
    pub step: usize,
    /// Moves that are looked into together.
    pub slice: usize,
    /// Jobs read at the same time.
    pub loads: usize,
    /// Deliveries written in one transaction, and bytes of them, give or take one.
    pub most_deliveries: usize,
    pub most_bytes: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            step: 100,
            slice: 500,
            loads: 4,
            most_deliveries: 500,
            most_bytes: 16 * 1024 * 1024,
            call_timeout: Duration::from_secs(10),
        }
    }
}

/// What it has done since it started, for whoever counts.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    deliveries: Arc<AtomicU64>,
    disabled: Arc<AtomicU64>,
}

impl Tally {
    /// Deliveries made.
    pub fn deliveries(&self) -> u64 {
        self.deliveries.load(Ordering::Relaxed)
    }

    /// Endpoints disabled.
    pub fn disabled(&self) -> u64 {
        self.disabled.load(Ordering::Relaxed)
    }
}

pub struct Courier {
    store: Arc<dyn Store>,
    reader: Reader,
    tenancy: Arc<dyn Tenancy>,
    wakeups: Arc<dyn Wakeups>,
    clock: Arc<dyn Clock>,
    config: Config,
    led: Led,
    lag: Lag,
    tally: Tally,
}

/// Where this courier believes to stand.
#[derive(Clone, Copy, Debug)]
struct Stand {
    term: Term,
    /// The place that the store keeps.
    kept: Position,
    /// Nothing between there and here is to be told.
    read: Position,
    moved_at: Instant,
}

/// Why a round came to nothing.
enum Stopped {
    Store(StoreError),
    /// Another courier was faster: look where it stands.
    Overtaken,
    /// The term is over.
    Deposed,
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Courier {
    pub fn new(store: Arc<dyn Store>, tenancy: Arc<dyn Tenancy>, wakeups: Arc<dyn Wakeups>, config: Config) -> Self {
        let log = Arc::clone(&store) as _;
        Self {
            store,
            reader: Reader { who: "courier", log, call_timeout: config.call_timeout },
            tenancy,
            wakeups,
            clock: Arc::new(|| Timestamp::from_micros(clock::now())),
            config,
            led: Led::default(),
            lag: Lag::default(),
            tally: Tally::default(),
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

    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let mut wake = self.wakeups.listen(Topic::Changed);
        let mut ticker = Ticker::new(self.config.poll, 0.1);
        let mut outage = Outage::new("courier");
        let mut stand = None;
        loop {
            if self.led.is_waiting() {
                // Who does not lead is not behind.
                self.lag.set(Duration::ZERO);
            }
            let Some(term) = self.led.elected(&shutdown).await else { return Ok(()) };
            stand = stand.filter(|stand: &Stand| stand.term == term);
            let Some(told) = unless_aborted(&shutdown, self.tell_all(term, &mut stand, &shutdown)).await else {
                return Ok(());
            };
            let next = match told {
                Ok(wait) => {
                    outage.is_over();
                    wait.map(|wait| Instant::now() + wait)
                }
                Err(error) => {
                    stand = None;
                    Some(Instant::now() + outage.goes_on(error)?)
                }
            };
            // Until draining; a wake-up meanwhile is heard right after.
            let _ = timeout(SHORTEST_NAP, shutdown.draining()).await;
            if ticker.next_until(next, &mut wake, &shutdown).await == Tick::Draining {
                return Ok(());
            }
        }
    }

    /// Round by round until nothing is left to read, the term is over, or until draining. Answers how long to sleep.
    async fn tell_all(
        &self,
        term: Term,
        stand: &mut Option<Stand>,
        shutdown: &Shutdown,
    ) -> Result<Option<Duration>, StoreError> {
        let mut overtaken = 0;
        loop {
            if !self.led.holds(term) {
                return Ok(Some(Duration::ZERO));
            }
            let found = match *stand {
                Some(here) => Some(here),
                None => self.find_place(term).await?,
            };
            let Some(mut here) = found else {
                self.led.until_deposed(term, shutdown).await;
                return Ok(Some(Duration::ZERO));
            };
            let changes = self.reader.read(here.read, self.config.step).await?;
            self.note_lag(&changes);
            let is_all = changes.position == here.read;
            if is_all && (here.kept == here.read || here.moved_at.elapsed() < MOVE_EVERY) {
                *stand = Some(here);
                return Ok((here.kept != here.read).then_some(MOVE_EVERY));
            }
            match self.round(self.led.leader(term).as_ref(), &mut here, &changes).await {
                Ok(()) => *stand = Some(here),
                Err(Stopped::Store(error)) => return Err(error),
                Err(Stopped::Overtaken) => {
                    *stand = None;
                    overtaken += 1;
                }
                Err(Stopped::Deposed) => {
                    *stand = None;
                    self.led.until_deposed(term, shutdown).await;
                    return Ok(Some(Duration::ZERO));
                }
            }
            // Somebody else is faster all the time: that is no reason to spin with them.
            if overtaken > 3 || shutdown.is_draining() {
                return Ok(Some(SHORTEST_NAP));
            }
        }
    }

    /// `None` when the term is over.
    async fn find_place(&self, term: Term) -> Result<Option<Stand>, StoreError> {
        let limit = self.config.call_timeout;
        let kept = match self.led.leader(term) {
            Some(leader) => bounded(limit, self.tenancy.courier_as(&leader)).await?,
            None => Some(bounded(limit, self.tenancy.courier()).await?),
        };
        Ok(kept.map(|kept| Stand { term, kept, read: kept, moved_at: Instant::now() }))
    }

    /// Tells what there is to tell of a stretch of the log, and moves on.
    async fn round(&self, leader: Option<&Leader>, here: &mut Stand, changes: &Changes) -> Result<(), Stopped> {
        let mut bag = Bag::default();
        let mut has_noted = false;
        let moved: Vec<&Moved> =
            changes.moved().filter(|moved| endings::is_one(moved) || health::is_one(moved)).collect();
        for slice in moved.chunks(self.config.slice.max(1)) {
            self.tell_endings(slice, leader, here.kept, &mut bag).await?;
            has_noted |= self.note_health(slice, leader, &mut bag).await?;
            self.empty_if_full(&mut bag, leader, here.kept).await?;
        }
        here.read = changes.position;
        if bag.is_empty() && !has_noted && here.moved_at.elapsed() < MOVE_EVERY {
            return Ok(());
        }
        self.post(leader, Round { from: here.kept, to: here.read, deliveries: bag.take() }).await?;
        here.kept = here.read;
        here.moved_at = Instant::now();
        Ok(())
    }

    /// Writes what has come together when it is as much as one transaction takes, without moving on: there is more to come of
    /// what was read.
    async fn empty_if_full(&self, bag: &mut Bag, leader: Option<&Leader>, kept: Position) -> Result<(), Stopped> {
        if !bag.is_full(&self.config) {
            return Ok(());
        }
        self.post(leader, Round { from: kept, to: kept, deliveries: bag.take() }).await
    }

    async fn post(&self, leader: Option<&Leader>, round: Round) -> Result<(), Stopped> {
        match bounded(self.config.call_timeout, self.tenancy.post(leader, &round)).await? {
            Some(Posted::Done) => {
                self.count(&round.deliveries);
                Ok(())
            }
            Some(Posted::Overtaken) => Err(Stopped::Overtaken),
            None => Err(Stopped::Deposed),
        }
    }

    fn count(&self, deliveries: &[NewDelivery]) {
        if !deliveries.is_empty() {
            self.tally.deliveries.fetch_add(deliveries.len() as u64, Ordering::Relaxed);
            debug!(deliveries.count = deliveries.len(), "created {} deliveries", deliveries.len());
        }
    }

    fn note_lag(&self, changes: &Changes) {
        let oldest = changes.moved().next().map(|moved| moved.at);
        let (before, lag) = (self.lag.get(), oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest)));
        self.lag.set(lag);
        let lag_ms = lag.as_millis() as u64;
        if before < FAR_BEHIND && lag >= FAR_BEHIND {
            warn!(lag_ms, "webhooks are notified {} late: the courier is behind", Span(lag));
        } else if before >= FAR_BEHIND && lag < FAR_BEHIND {
            info!(lag_ms, "webhooks are notified on time again");
        }
    }
}
