//! The door out: records how attempts ended, many outcomes in one write.
//!
//! One settler belongs to one session. An outcome whose write is of unknown outcome, or found no room on the disk, is
//! sent again under the same identity (fence and job) until the store answers or the session is over: dropping it
//! would leave the job held for as long as the session lives. What the store answers is counted: recorded now, recorded
//! before (an answer was lost), or fenced (a zombie's outcome, refused and dropped).
//!
//! When the process dies half way, the unrecorded outcomes are lost with it; the session lapses and the jobs run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foreman_core::SessionId;
use foreman_core::ports::{JobStore, Settled, Settlement, StoreError};
use foreman_runtime::{Backoff, Shutdown};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tracing::{debug, error, warn};

use crate::coalesce::{Coalescer, Handle, Limits, Refused, Sink, Unanswered};
use crate::outage::bounded;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a batch waits for company while another is being written.
    pub window: Duration,
    /// Outcomes written at once.
    pub max_batch: usize,
    /// Outcomes that may wait to be written; beyond it a slot stays taken until there is room.
    pub max_waiting: usize,
    /// Store calls under way at once.
    pub in_flight: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: Duration::from_millis(1),
            max_batch: 1_000,
            max_waiting: 2_000,
            in_flight: 2,
            call_timeout: Duration::from_secs(5),
        }
    }
}

/// Why an outcome was not recorded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The session is over, or the deadline has passed: whoever takes the job next runs it again.
    #[error("outcomes of this session are no longer recorded")]
    Over,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a session's outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlements {
    pub now: u64,
    /// An earlier sending had recorded them; its answer was lost.
    pub before: u64,
    /// Refused: the attempt no longer held the job.
    pub fenced: u64,
    /// Given up, or refused by the store for a reason of its own.
    pub unrecorded: u64,
}

/// The loop.
pub struct Settler {
    coalescer: Coalescer<Recorder>,
    counts: Arc<Counts>,
    room: Arc<Semaphore>,
    handle: Handle<Recorder>,
}

/// The attempts' end: cheap to clone.
#[derive(Clone)]
pub struct SettleHandle {
    handle: Handle<Recorder>,
    room: Arc<Semaphore>,
    counts: Arc<Counts>,
}

/// Room for one outcome, held until it is recorded.
pub struct Room(OwnedSemaphorePermit);

impl Settler {
    pub fn new(store: Arc<dyn JobStore>, session: SessionId, config: Config) -> (Self, SettleHandle) {
        let waiting = config.max_waiting.max(1);
        let limits = Limits { batch: config.max_batch, waiting, in_flight: config.in_flight };
        let room = Arc::new(Semaphore::new(waiting));
        let counts = Arc::new(Counts::default());
        let recorder = Recorder { store, session, config, room: Arc::clone(&room), counts: Arc::clone(&counts) };
        let (coalescer, handle) = Coalescer::new(recorder, limits);
        let settler = Self { coalescer, counts: Arc::clone(&counts), room: Arc::clone(&room), handle: handle.clone() };
        (settler, SettleHandle { handle, room, counts })
    }

    /// Draining: takes no more, and ends when all is recorded. Aborting: drops what is left and says how much that was.
    pub async fn run(self, shutdown: Shutdown) -> Settlements {
        let flush = async {
            shutdown.draining().await;
            self.handle.close();
            std::future::pending::<()>().await;
        };
        let give_up = async {
            tokio::select! {
                biased;
                () = shutdown.aborting() => {}
                () = flush => {}
            }
        };
        let left = self.coalescer.run(give_up).await;
        // An attempt that waits for room would wait for ever.
        self.room.close();
        let given_up = (left.unwritten + left.unknown) as u64;
        if given_up > 0 {
            self.counts.unrecorded.fetch_add(given_up, Ordering::Relaxed);
            warn!(outcomes.count = given_up, "{given_up} outcomes were dropped unrecorded; their jobs will run again");
        }
        self.counts.read()
    }
}

impl SettleHandle {
    /// Waits for room for one outcome; an error when outcomes are no longer recorded.
    pub async fn room(&self) -> Result<Room, Error> {
        Arc::clone(&self.room).acquire_owned().await.map(Room).map_err(|_| Error::Over)
    }

    /// Hands over an outcome without waiting for its record: a slot is free as soon as its work has ended.
    pub fn send(&self, room: Room, settlement: Settlement) -> Result<(), Error> {
        self.handle.send(settlement).map_err(|_| Error::Over)?;
        // Given back by the recorder, once the store has answered.
        room.0.forget();
        Ok(())
    }

    /// Records an outcome and waits for the store's answer.
    pub async fn settle(&self, settlement: Settlement) -> Result<Settled, Error> {
        let room = self.room().await?;
        let call = self.handle.call([settlement]);
        room.0.forget();
        match call.await {
            Ok(answers) => Ok(answers[0]),
            Err(Unanswered::Failed(error)) => Err(Error::Store(error)),
            Err(Unanswered::Refused(Refused::Closed | Refused::Full) | Unanswered::Unknown) => Err(Error::Over),
        }
    }

    /// Outcomes handed over and not yet recorded.
    pub fn pending(&self) -> usize {
        self.handle.pending()
    }

    /// Returns when every outcome handed over is recorded.
    pub async fn idle(&self) {
        self.handle.idle().await;
    }

    pub fn counts(&self) -> Settlements {
        self.counts.read()
    }
}

#[derive(Debug, Default)]
struct Counts {
    now: AtomicU64,
    before: AtomicU64,
    fenced: AtomicU64,
    unrecorded: AtomicU64,
}

impl Counts {
    fn read(&self) -> Settlements {
        Settlements {
            now: self.now.load(Ordering::Relaxed),
            before: self.before.load(Ordering::Relaxed),
            fenced: self.fenced.load(Ordering::Relaxed),
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
        }
    }
}

struct Recorder {
    store: Arc<dyn JobStore>,
    session: SessionId,
    config: Config,
    room: Arc<Semaphore>,
    counts: Arc<Counts>,
}

impl Sink for Recorder {
    type Item = Settlement;
    type Answer = Settled;
    type Error = StoreError;

    async fn write(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        loop {
            match bounded(self.config.call_timeout, self.store.settle(self.session, settlements)).await {
                Ok(answers) => {
                    self.count(settlements, &answers);
                    self.room.add_permits(settlements.len());
                    return Ok(answers);
                }
                Err(error) if error.is_transient() => {
                    if backoff.failures() == 0 {
                        warn!(
                            session.id = %self.session,
                            outcomes.count = settlements.len(),
                            "could not record {} outcomes: {error}; sending them again",
                            settlements.len()
                        );
                    }
                    sleep(backoff.next()).await;
                }
                Err(error) => {
                    // A batch is taken apart until the guilty one stands alone; only then is it lost.
                    if let [alone] = settlements {
                        self.counts.unrecorded.fetch_add(1, Ordering::Relaxed);
                        self.room.add_permits(1);
                        error!(job.id = %alone.job, fence = %alone.fence, "job {} could not be settled: {error}", alone.job);
                    } else if !self.blames_an_item(&error) {
                        self.counts.unrecorded.fetch_add(settlements.len() as u64, Ordering::Relaxed);
                        self.room.add_permits(settlements.len());
                        error!(
                            outcomes.count = settlements.len(),
                            "{} outcomes were not recorded: {error}",
                            settlements.len()
                        );
                    }
                    return Err(error);
                }
            }
        }
    }

    async fn linger(&self) {
        sleep(self.config.window).await;
    }

    fn blames_an_item(&self, error: &StoreError) -> bool {
        matches!(error, StoreError::Broken(_) | StoreError::Damaged(_))
    }

    fn miscounted(&self) -> StoreError {
        StoreError::Broken("the store did not answer for every settlement".into())
    }
}

impl Recorder {
    fn count(&self, settlements: &[Settlement], answers: &[Settled]) {
        for (settlement, answer) in settlements.iter().zip(answers) {
            let (job, outcome) = (settlement.job, settlement.verdict.name().as_str());
            match answer {
                Settled::Now => {
                    self.counts.now.fetch_add(1, Ordering::Relaxed);
                    debug!(job.id = %job, fence = %settlement.fence, "settled job {job} as {outcome}");
                }
                Settled::Before => {
                    self.counts.before.fetch_add(1, Ordering::Relaxed);
                    let fence = settlement.fence;
                    debug!(job.id = %job, %fence, "job {job} had been settled as {outcome}: an answer was lost");
                }
                Settled::Fenced => {
                    self.counts.fenced.fetch_add(1, Ordering::Relaxed);
                    warn!(
                        job.id = %job, fence = %settlement.fence, session.id = %self.session,
                        "dropped outcome {outcome} of job {job}: this attempt no longer holds it"
                    );
                }
            }
        }
    }
}
