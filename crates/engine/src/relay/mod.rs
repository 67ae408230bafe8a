//! Tells the broker which jobs are due, so that workers need not ask the store.
//!
//! A row that waits in the store is the outbox. The relay has due jobs marked as announced (one transaction), sends a message for
//! each, and tells the store when the broker has them. No lock and no transaction is held while it sends: several batches
//! are under way at once, and the next is marked meanwhile.
//!
//! Jobs are announced in the order in which a claim would take them, and no more of each lane than fit into its
//! [`window`]. Only what every worker can run is announced ([`crate::consumers`]); what a claim would pass over (paused queues,
//! tenants at their limit, jobs that must run alone) the store passes over here, too.
//!
//! Any number of relays may run, and share the windows: each batch is marked by one of them. A relay that dies before it sent a
//! batch, or before it said so, leaves marks that nobody acknowledged. The [`Reconciler`] of any other takes them back, and
//! the jobs are announced again; a message that comes twice is refused by its claim. While the broker is away, what it does not
//! accept is unmarked and the relay tries again, less and less often. Jobs wait in the store meanwhile.

mod broker;
mod readings;
mod reconciler;
mod send;
mod window;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::{Lane, Pick};
use foreman_core::ports::{
    AnnounceRequest, AnnounceStore, AnnouncedBatch, Headroom, JobQuery, Publisher, StoreError, Topic, Wakeups,
};
use foreman_runtime::{Shutdown, Task, TaskFailed, Tasks, Ticker, WakeReason};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::claiming::HeadroomLookup;
use crate::consumers::CommonWork;
use crate::outage::{Outage, bounded, unless_aborted};
use crate::tenants::Tenants;
use broker::BrokerOutage;
pub use readings::{RelayBacklog, RelayReadings, RelaySnapshot};
pub use reconciler::Reconciler;
use send::{Sending, SentBatch};
use window::LaneWindows;

/// So many times as long as [`Config::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (15, Duration::from_secs(15));
/// For so long it is believed which workers there are.
const CONSUMERS_FOR: Duration = Duration::from_secs(1);
/// How long it waits for room in a full window: little while jobs are claimed all the time, longer where they take long.
const NAPS: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(250));
/// While the broker is away, so few jobs find out whether it is back.
const PROBE: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when no wake-up came, give or take a fifth; seldomer while there is nothing to announce.
    pub poll: Duration,
    /// Jobs of one lane that are announced together, at most.
    pub batch: usize,
    /// Batches that are on their way to the broker at once.
    pub in_flight: usize,
    /// Jobs of one lane that may wait in the broker. `None`: twice the slots of all workers, and more where they are claimed quickly.
    pub window: Option<usize>,
    /// A batch that nobody acknowledged is announced again after so long: its relay died.
    pub unanswered_after: Duration,
    /// A job that was announced and not claimed is announced again after so long: its message was lost, or lies far behind.
    pub unclaimed_after: Duration,
    /// How often to look for these.
    pub reconcile_every: Duration,
    /// How long one store call may take.
    pub call_timeout: Duration,
    /// How long sending a batch may take; the publisher gives up before that by itself.
    pub publish_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            batch: 500,
            in_flight: 8,
            window: None,
            unanswered_after: Duration::from_secs(30),
            unclaimed_after: Duration::from_mins(2),
            reconcile_every: Duration::from_secs(2),
            call_timeout: Duration::from_secs(5),
            publish_timeout: Duration::from_mins(1),
        }
    }
}

/// Why a relay ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] crate::outage::Error),
    /// A bug: logged where it was caught.
    #[error(transparent)]
    Task(#[from] TaskFailed),
}

pub struct Relay {
    store: Arc<dyn AnnounceStore>,
    jobs: Arc<dyn JobQuery>,
    publisher: Arc<dyn Publisher>,
    tasks: Tasks,
    config: Config,
    readings: RelayReadings,
    headroom: HeadroomLookup,
    wake: watch::Receiver<u64>,
    /// The bell that says that something was claimed, or has ended.
    changed: watch::Receiver<u64>,
    common: Option<(Instant, Option<CommonWork>)>,
    window: LaneWindows,
    broker: BrokerOutage,
    sending: FuturesUnordered<Task<SentBatch>>,
    nap: Duration,
    /// Lanes that have nothing more to announce, as far as nothing has rung since.
    dry: Vec<Lane>,
    /// A tenant used up its headroom: there may be more when something has ended.
    is_held_back: bool,
}

/// What to do after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayMove {
    /// There may be more to announce.
    Announce,
    /// There is nothing more, or nobody who would take it.
    Wait,
    /// The windows are full.
    WaitForRoom,
    /// As many batches are under way as may be.
    WaitForAnswer,
    /// The store or the broker is to be left alone until then.
    Pause(Instant),
}

impl Relay {
    pub fn new(
        store: Arc<dyn AnnounceStore>,
        jobs: Arc<dyn JobQuery>,
        publisher: Arc<dyn Publisher>,
        wakeups: &dyn Wakeups,
        tasks: Tasks,
        config: Config,
    ) -> Self {
        let readings = RelayReadings::default();
        Self {
            headroom: HeadroomLookup::unlimited(),
            wake: wakeups.listen(Topic::Ready),
            changed: wakeups.listen(Topic::Changed),
            common: None,
            window: LaneWindows::new(config.window),
            broker: BrokerOutage::new(readings.clone()),
            sending: FuturesUnordered::new(),
            nap: NAPS.0,
            dry: Vec::new(),
            is_held_back: false,
            store,
            jobs,
            publisher,
            tasks,
            config,
            readings,
        }
    }

    /// Announces no more jobs of a tenant than may run.
    #[must_use]
    pub fn limited_by(self, tenants: Arc<Tenants>) -> Self {
        let headroom = HeadroomLookup::of_fleet(Some(tenants), self.config.call_timeout);
        Self { headroom, ..self }
    }

    /// What it has done and seen, whenever somebody asks.
    pub fn readings(&self) -> RelayReadings {
        self.readings.clone()
    }

    /// Announces until draining, then waits for what is under way; aborting leaves that to the reconciler.
    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), Error> {
        let mut ticker = Ticker::new(self.config.poll, 0.2).resting((self.config.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new("relay");
        loop {
            // Register for the wake-ups before looking.
            if self.wake.has_changed().unwrap_or_default() {
                self.dry.clear();
            }
            self.wake.mark_unchanged();
            self.changed.mark_unchanged();
            let Some(looked) = unless_aborted(&shutdown, self.look(&shutdown)).await else { return Ok(()) };
            let next = match looked {
                Ok(next) => {
                    outage.is_over();
                    next
                }
                Err(error) => RelayMove::Pause(Instant::now() + outage.goes_on(error)?),
            };
            if self.wait(next, &mut ticker, &shutdown).await? == WakeReason::Draining {
                break;
            }
        }
        while let Some(Some(sent)) = unless_aborted(&shutdown, self.sending.next()).await {
            self.heed(sent?);
        }
        Ok(())
    }

    /// Announces one batch, if there is one and room for it.
    async fn look(&mut self, shutdown: &Shutdown) -> Result<RelayMove, StoreError> {
        if let Some(until) = self.broker.pause() {
            return Ok(RelayMove::Pause(until));
        }
        let most = if self.broker.is_away() { 1 } else { self.config.in_flight };
        if self.sending.len() >= most {
            return Ok(RelayMove::WaitForAnswer);
        }
        let Some(common) = self.common().await? else { return Ok(RelayMove::Wait) };
        self.window.set_slots(common.slots);
        self.headroom.set_slots(common.slots);
        if self.window.is_count_due(Instant::now()) {
            let counts = bounded(self.config.call_timeout, self.store.outstanding()).await?;
            self.window.counted(counts, Instant::now());
        }
        self.readings.set_window(self.window.waiting(), |lane| self.window.size(lane));
        let most = if self.broker.is_away() { PROBE } else { self.config.batch };
        let Some((plan, limit)) = self.window.plan(most, &self.dry) else { return Ok(self.idle()) };
        let rooms = self.headroom.look(&*self.jobs).await?;
        let request = AnnounceRequest { plan, limit, queues: common.queues, routes: common.routes, rooms };
        let batch = bounded(self.config.call_timeout, self.store.announce(&request)).await?;
        self.is_held_back = is_used_up(&request.rooms, batch.as_ref());
        let taken = |pick: &Pick| {
            batch.as_ref().map_or(0, |batch| batch.jobs.iter().filter(|job| job.lane == pick.lane).count())
        };
        // Of a lane that gave as much as it was asked for there may be more.
        let is_cut = batch.as_ref().is_some_and(|batch| batch.has_more);
        let dry = request.plan.0.iter().filter(|pick| !is_cut && taken(pick) < pick.up_to).map(|pick| pick.lane);
        self.dry.extend(dry);
        let Some(batch) = batch else { return Ok(self.idle()) };
        batch.jobs.iter().for_each(|job| self.window.announced(job.lane));
        self.nap = NAPS.0;
        self.send(batch, shutdown);
        Ok(if self.dry.len() == Lane::ALL.len() { RelayMove::Wait } else { RelayMove::Announce })
    }

    /// What to wait for when there is nothing to announce, or no room.
    fn idle(&self) -> RelayMove {
        if self.dry.len() == Lane::ALL.len() { RelayMove::Wait } else { RelayMove::WaitForRoom }
    }

    /// What all workers can run.
    async fn common(&mut self) -> Result<Option<CommonWork>, StoreError> {
        if let Some((at, common)) = &self.common
            && at.elapsed() < CONSUMERS_FOR
        {
            return Ok(common.clone());
        }
        let looked_at = Instant::now();
        let consumers = bounded(self.config.call_timeout, self.store.consumers()).await?;
        let common = CommonWork::of(&consumers);
        self.common = Some((looked_at, common.clone()));
        Ok(common)
    }

    fn send(&self, batch: AnnouncedBatch, shutdown: &Shutdown) {
        self.readings.announced(batch.jobs.len());
        let sending = Sending {
            store: Arc::clone(&self.store),
            publisher: Arc::clone(&self.publisher),
            call_timeout: self.config.call_timeout,
            publish_timeout: self.config.publish_timeout,
        };
        let shutdown = shutdown.clone();
        let sent = async move { unless_aborted(&shutdown, sending.run(batch)).await.unwrap_or_default() };
        self.sending.push(self.tasks.spawn("announcement", sent));
    }

    fn heed(&mut self, sent: SentBatch) {
        self.readings.published(sent.accepted, sent.failed);
        match sent.trouble {
            Some(why) if sent.accepted == 0 => self.broker.goes_on(&why),
            _ if sent.accepted > 0 => self.broker.is_over(),
            _ => {}
        }
    }

    /// Waits until there may be something to do. What was sent meanwhile is heeded.
    async fn wait(&mut self, next: RelayMove, ticker: &mut Ticker, shutdown: &Shutdown) -> Result<WakeReason, Error> {
        if next == RelayMove::Announce {
            ticker.hurry();
            // Answers that have come already.
            while let Some(Some(sent)) = self.sending.next().now_or_never() {
                self.heed(sent?);
            }
            return Ok(if shutdown.is_draining() { WakeReason::Draining } else { WakeReason::Due });
        }
        let (mut next, began) = (next, Instant::now());
        loop {
            tokio::select! {
                biased;
                () = shutdown.draining() => return Ok(WakeReason::Draining),
                sent = answered(&mut self.sending) => {
                    self.heed(sent?);
                    match self.broker.pause() {
                        Some(until) => next = RelayMove::Pause(until),
                        None if next == RelayMove::WaitForAnswer => return Ok(WakeReason::Due),
                        None => {}
                    }
                }
                () = room(next, self.is_held_back, began, self.nap, &mut self.changed) => {
                    if next == RelayMove::WaitForRoom {
                        self.nap = (self.nap * 2).min(NAPS.1);
                    } else {
                        self.dry.clear();
                    }
                    return Ok(WakeReason::Woken);
                }
                reason = woken(next, ticker, &mut self.wake, shutdown) => {
                    self.dry.clear();
                    return Ok(reason);
                }
            }
        }
    }
}

async fn answered(sending: &mut FuturesUnordered<Task<SentBatch>>) -> Result<SentBatch, TaskFailed> {
    match sending.next().await {
        Some(sent) => sent,
        None => pending().await,
    }
}

/// Until a full window, or a tenant without headroom, may have room again.
async fn room(next: RelayMove, is_held_back: bool, began: Instant, nap: Duration, changed: &mut watch::Receiver<u64>) {
    match next {
        RelayMove::WaitForRoom => {
            // Where things ring all the time, room is counted now and then; where nothing is claimed, seldom.
            sleep_until(began + NAPS.0).await;
            let _ = timeout_at(began + nap, rung(changed)).await;
        }
        RelayMove::Wait if is_held_back => {
            sleep_until(began + NAPS.0).await;
            rung(changed).await;
        }
        _ => pending().await,
    }
}

async fn woken(
    next: RelayMove,
    ticker: &mut Ticker,
    wake: &mut watch::Receiver<u64>,
    shutdown: &Shutdown,
) -> WakeReason {
    match next {
        RelayMove::Wait | RelayMove::WaitForRoom => ticker.next(wake, shutdown).await,
        RelayMove::Pause(until) => {
            sleep_until(until).await;
            WakeReason::Due
        }
        _ => pending().await,
    }
}

/// Returns at the next ring; never, when nobody can ring any more.
async fn rung(bell: &mut watch::Receiver<u64>) {
    if bell.changed().await.is_err() {
        pending::<()>().await;
    }
}

/// A tenant was given all the headroom it had: there may be more of its jobs, which were passed over.
fn is_used_up(rooms: &[Headroom], batch: Option<&AnnouncedBatch>) -> bool {
    let taken =
        |room: &Headroom| batch.map_or(0, |batch| batch.jobs.iter().filter(|job| job.tenant == room.tenant).count());
    rooms.iter().any(|room| taken(room) >= room.jobs as usize)
}
