//! The door out: records how attempts ended, many outcomes in one write.
//!
//! One settler belongs to one session. An outcome whose write is of unknown outcome, or found no room on the disk, is
//! sent again under the same identity (fence and job) until the store answers or the session is over: dropping it
//! would leave the job held for as long as the session lives. What the store answers is counted: recorded now, recorded
//! before (an answer was lost), or fenced (a zombie's outcome, refused and dropped).
//!
//! A write that the store refuses for any other reason (a right that was revoked, a table that is not there, a bug) is taken
//! apart, so that one outcome does not keep back the others. The one that is refused alone goes to a list of its own and
//! is sent again, alone, after waits that grow; the rest goes on without it. A store that fails inside is asked again a few
//! times, and then treated alike: one of the outcomes may be what it fails over.
//!
//! An outcome that the store goes on refusing while it takes others is given up after [`GIVEN_UP_AFTER`], or after
//! half a minute where those that are refused take more than half of the room: the heartbeat then finds its job forgotten, and
//! hands it back. While the store takes nothing, nothing is given up, and no more is run than there is room for.
//! [`RefusedOutcomes`] says how many there are, and for how long.
//!
//! The settler also knows which jobs it owes the store an outcome for ([`SettleHandle::not_owed`]): the session's heartbeats
//! release jobs that the store has as held and that this process knows nothing of.
//!
//! How many outcomes go into one write follows from the load (`settle/pace.rs`). A slot does not wait for that: it is free
//! when its outcome is handed over.
//!
//! When the process dies half way, the unrecorded outcomes are lost with it; the session lapses and the jobs run again.

mod pace;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use foreman_core::duration::Span;
use foreman_core::ports::{JobStore, OpenJob, Settled, Settlement, StoreError};
use foreman_core::{SessionId, Verdict};
use foreman_runtime::tasks::panic_message;
use foreman_runtime::{Backoff, Shutdown};
use futures_util::FutureExt;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, error, info, warn};

use crate::coalesce::{BatchLimits, Coalescer, Handle, Sink};
use crate::outage::bounded;
use pace::SettlePace;

/// How long an outcome waits that the store has refused: the first time, and at most.
const REFUSED_FIRST: Duration = Duration::from_millis(200);
const REFUSED_MOST: Duration = Duration::from_secs(30);

/// An outcome that is refused for so long while others are taken is given up.
pub const GIVEN_UP_AFTER: Duration = Duration::from_mins(10);

/// So often in a row a store that fails inside is asked again before the outcomes are sent apart.
const MOST_FAILURES_INSIDE: u32 = 3;

/// Between two sendings to a store that does not answer.
const AWAY_FIRST: Duration = Duration::from_millis(20);
const AWAY_MOST: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long outcomes wait to be written together under load; one after which no other is to be expected does not.
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
            window: Duration::from_millis(5),
            max_batch: 1_000,
            max_waiting: 2_000,
            in_flight: 2,
            call_timeout: Duration::from_secs(5),
        }
    }
}

/// The session is over, or the deadline has passed: whoever takes the job next runs it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outcomes of this session are no longer recorded")]
pub struct Over;

/// What became of a session's outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlements {
    pub now: u64,
    /// An earlier sending had recorded them; its answer was lost.
    pub before: u64,
    /// Refused: the attempt no longer held the job.
    pub fenced: u64,
    /// Given up: the settler was told to stop before the store had taken them.
    pub unrecorded: u64,
}

/// Outcomes that the store refuses, of all sessions of a worker. Clones share one list.
#[derive(Clone, Default)]
pub struct RefusedOutcomes(Arc<Mutex<Vec<Weak<SettleLedger>>>>);

impl RefusedOutcomes {
    pub fn count(&self) -> usize {
        self.look().0
    }

    /// For how long the oldest of them has been refused; zero when there is none.
    pub fn age(&self) -> Duration {
        self.look().1.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn look(&self) -> (usize, Option<Instant>) {
        let ledgers: Vec<Arc<SettleLedger>> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        let refused = ledgers.iter().map(|ledger| ledger.refused());
        refused.fold((0, None), |(count, oldest), (some, since)| (count + some, oldest.into_iter().chain(since).min()))
    }

    fn add(&self, ledger: &Arc<SettleLedger>) {
        let mut ledgers = lock(&self.0);
        ledgers.retain(|ledger| ledger.strong_count() > 0);
        ledgers.push(Arc::downgrade(ledger));
    }
}

/// An attempt that runs: while there are such, outcomes may wait for theirs. Dropped when its own is handed over, or when
/// there is none.
pub struct ExpectedOutcome(Arc<SettleLedger>);

/// The loop.
pub struct Settler {
    coalescer: Coalescer<Recorder>,
    handle: Handle<Recorder>,
    ledger: Arc<SettleLedger>,
}

/// The attempts' end: cheap to clone.
#[derive(Clone)]
pub struct SettleHandle {
    handle: Handle<Recorder>,
    ledger: Arc<SettleLedger>,
}

/// An outcome on its way to the settler. From here on the store is owed an answer for the job; dropped unsent, it no
/// longer is.
pub struct OutgoingSettlement<'a> {
    to: &'a SettleHandle,
    /// `None` once it is handed over.
    settlement: Option<Settlement>,
}

impl Settler {
    pub fn new(store: Arc<dyn JobStore>, session: SessionId, config: Config) -> (Self, SettleHandle) {
        // How many wait is bounded by the room, which is counted until they are recorded.
        let limits = BatchLimits { batch: config.max_batch, waiting: usize::MAX, in_flight: config.in_flight };
        let ledger = Arc::new(SettleLedger {
            pace: SettlePace::new(config.window),
            room: Semaphore::new(config.max_waiting.max(1)),
            counts: SettleCounts::default(),
            owed: Mutex::default(),
            refused: Mutex::default(),
            answers: Mutex::default(),
            failures_inside: AtomicU32::new(0),
            changed: Notify::new(),
            store,
            session,
            config,
        });
        let (coalescer, handle) = Coalescer::new(Recorder(Arc::clone(&ledger)), limits);
        (Self { coalescer, handle: handle.clone(), ledger: Arc::clone(&ledger) }, SettleHandle { handle, ledger })
    }

    /// Shows there what the store refuses.
    #[must_use]
    pub fn shown_in(self, outcomes: &RefusedOutcomes) -> Self {
        outcomes.add(&self.ledger);
        self
    }

    /// Draining: takes no more, and ends when all is recorded. Aborting: drops what is left and says how much that was.
    pub async fn run(self, shutdown: Shutdown) -> Settlements {
        let Self { coalescer, handle, ledger } = self;
        let flush = async {
            shutdown.draining().await;
            handle.close();
            std::future::pending::<()>().await;
        };
        let give_up = async {
            tokio::select! {
                biased;
                () = shutdown.aborting() => {}
                () = flush => {}
            }
        };
        let all_taken = AtomicBool::new(false);
        let write = async {
            let left = coalescer.run(give_up).await;
            all_taken.store(true, Ordering::Release);
            ledger.changed.notify_one();
            left
        };
        let again = async {
            tokio::select! {
                biased;
                () = shutdown.aborting() => {}
                () = ledger.send_refused_again(|| all_taken.load(Ordering::Acquire)) => {}
            }
        };
        let (left, ()) = tokio::join!(write, again);
        // An attempt that waits for room would wait for ever.
        ledger.room.close();
        let refused = std::mem::take(&mut *lock(&ledger.refused)).len();
        let given_up = (left.unwritten + left.unknown + refused) as u64;
        if given_up > 0 {
            ledger.counts.unrecorded.fetch_add(given_up, Ordering::Relaxed);
            warn!(
                outcomes.count = given_up,
                "{given_up} outcomes could not be recorded and were dropped; their jobs will run again"
            );
        }
        ledger.counts.read()
    }
}

impl SettleHandle {
    /// An attempt begins.
    pub fn expect(&self) -> ExpectedOutcome {
        self.ledger.pace.expect();
        ExpectedOutcome(Arc::clone(&self.ledger))
    }

    /// The outcome of an attempt that has ended. Make it before the attempt is forgotten elsewhere: somebody must know of the
    /// job at any time until the store has answered.
    pub fn outgoing(&self, settlement: Settlement) -> OutgoingSettlement<'_> {
        lock(&self.ledger.owed).insert(open(&settlement));
        OutgoingSettlement { to: self, settlement: Some(settlement) }
    }

    /// Hands a job back unstarted, if there is room for that; `false` when there is none.
    pub fn release(&self, OpenJob { fence, job }: OpenJob) -> bool {
        let outgoing = self.outgoing(Settlement { fence, job, verdict: Verdict::Released });
        self.ledger.room.try_acquire().is_ok_and(|room| outgoing.hand_over(room).is_ok())
    }

    /// Of these, those for which no outcome is on its way to the store.
    pub fn not_owed(&self, jobs: Vec<OpenJob>) -> Vec<OpenJob> {
        if jobs.is_empty() {
            return jobs;
        }
        let owed = lock(&self.ledger.owed);
        jobs.into_iter().filter(|job| !owed.contains(job)).collect()
    }

    /// Lets so many more outcomes wait: work that must stop must be able to say how it ended, however long the store is away.
    pub fn make_room(&self, outcomes: usize) {
        if !self.ledger.room.is_closed() {
            self.ledger.room.add_permits(outcomes);
        }
    }

    /// Outcomes handed over and not yet answered for, without those that the store has refused.
    pub fn pending(&self) -> usize {
        self.handle.pending()
    }

    /// Returns when nothing is pending.
    pub async fn idle(&self) {
        self.handle.idle().await;
    }

    /// Outcomes that the store has refused and that are sent again, and since when.
    pub fn refused(&self) -> (usize, Option<Instant>) {
        self.ledger.refused()
    }

    /// Sends what was refused again at once.
    pub fn send_refused_now(&self) {
        for one in lock(&self.ledger.refused).iter_mut() {
            one.waits.reset();
            one.next = Instant::now();
        }
        self.ledger.changed.notify_one();
    }

    /// Since when the store has refused what it did not take, if it has done so after `moment` too; `None` while it is away.
    pub fn refusing_since(&self, moment: Instant) -> Option<Instant> {
        let refusals = lock(&self.ledger.answers).refusals?;
        (refusals.last > moment).then_some(refusals.first)
    }

    pub fn counts(&self) -> Settlements {
        self.ledger.counts.read()
    }
}

impl Drop for ExpectedOutcome {
    fn drop(&mut self) {
        self.0.pace.came();
    }
}

impl OutgoingSettlement<'_> {
    /// Hands the outcome over, once there is room for it, without waiting for its record: a slot is free as soon as its
    /// work has ended. An error when outcomes are no longer recorded.
    pub async fn send(self) -> Result<(), Over> {
        let to = self.to;
        let room = to.ledger.room.acquire().await.map_err(|_| Over)?;
        self.hand_over(room)
    }

    fn hand_over(mut self, room: SemaphorePermit<'_>) -> Result<(), Over> {
        let Some(settlement) = self.settlement.take() else { return Ok(()) };
        let job = open(&settlement);
        if self.to.handle.send(settlement).is_err() {
            lock(&self.to.ledger.owed).remove(&job);
            return Err(Over);
        }
        // Given back by the recorder, once the store has answered.
        room.forget();
        Ok(())
    }
}

impl Drop for OutgoingSettlement<'_> {
    fn drop(&mut self) {
        if let Some(settlement) = &self.settlement {
            lock(&self.to.ledger.owed).remove(&open(settlement));
        }
    }
}

fn open(settlement: &Settlement) -> OpenJob {
    OpenJob { fence: settlement.fence, job: settlement.job }
}

/// Whole after every line that holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct SettleCounts {
    now: AtomicU64,
    before: AtomicU64,
    fenced: AtomicU64,
    unrecorded: AtomicU64,
}

impl SettleCounts {
    fn read(&self) -> Settlements {
        Settlements {
            now: self.now.load(Ordering::Relaxed),
            before: self.before.load(Ordering::Relaxed),
            fenced: self.fenced.load(Ordering::Relaxed),
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
        }
    }
}

/// What the loop, the recorder and the attempts share.
struct SettleLedger {
    store: Arc<dyn JobStore>,
    session: SessionId,
    config: Config,
    pace: SettlePace,
    room: Semaphore,
    counts: SettleCounts,
    /// Every outcome that was announced and that the store has not answered for.
    owed: Mutex<HashSet<OpenJob>>,
    refused: Mutex<Vec<RefusedSettlement>>,
    answers: Mutex<Answers>,
    /// How often in a row the store failed inside.
    failures_inside: AtomicU32,
    /// Something was refused, or no more will come.
    changed: Notify,
}

/// How the store has answered of late.
#[derive(Debug, Default)]
struct Answers {
    /// When it last took an outcome.
    taken_at: Option<Instant>,
    /// Those since it was last away.
    refusals: Option<Refusals>,
}

#[derive(Clone, Copy, Debug)]
struct Refusals {
    first: Instant,
    last: Instant,
}

/// An outcome that the store did not take, although it answered.
struct RefusedSettlement {
    settlement: Settlement,
    since: Instant,
    /// Since when it is known that others are taken.
    singled_out: Option<Instant>,
    next: Instant,
    waits: Backoff,
}

struct Recorder(Arc<SettleLedger>);

impl Sink for Recorder {
    type Item = Settlement;
    type Answer = Settled;
    type Error = StoreError;

    async fn write(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let ledger = &self.0;
        let mut backoff = Backoff::new(AWAY_FIRST, AWAY_MOST);
        loop {
            let began = ledger.pace.begins(settlements.len());
            match ledger.record(settlements).await {
                Ok(answers) => {
                    ledger.pace.ended(began);
                    return Ok(answers);
                }
                Err(error) if error.is_transient() && !ledger.may_be_an_items_fault(&error) => {
                    if backoff.failures() == 0 {
                        warn!(
                            session.id = %ledger.session,
                            outcomes.count = settlements.len(),
                            "could not record {} outcomes: {error}; retrying",
                            settlements.len()
                        );
                    }
                    sleep(backoff.next()).await;
                }
                Err(error) => {
                    if !self.blames_an_item(&error) {
                        ledger.give_up(settlements, &error);
                    } else if let [alone] = settlements {
                        // A batch is taken apart until the guilty one stands alone.
                        ledger.refuse(alone, &error);
                    }
                    return Err(error);
                }
            }
        }
    }

    async fn linger(&self) {
        self.0.pace.linger().await;
    }

    async fn gather(&self) {
        self.0.pace.gather().await;
    }

    fn blames_an_item(&self, error: &StoreError) -> bool {
        matches!(error, StoreError::Broken(_) | StoreError::Damaged(_) | StoreError::Internal(_))
    }

    fn miscounted(&self) -> StoreError {
        miscounted()
    }
}

/// Nobody has looked at what was sent.
fn is_away(error: &StoreError) -> bool {
    error.is_transient() && !matches!(error, StoreError::Internal(_))
}

fn miscounted() -> StoreError {
    StoreError::Broken("the store did not answer for every settlement".into())
}

impl SettleLedger {
    async fn record(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let answer = self.send(settlements).await;
        self.note(answer.as_ref().err());
        answer
    }

    fn note(&self, error: Option<&StoreError>) {
        let (mut answers, now) = (lock(&self.answers), Instant::now());
        match error {
            None => {
                answers.taken_at = Some(now);
                self.failures_inside.store(0, Ordering::Relaxed);
            }
            Some(error) if is_away(error) => answers.refusals = None,
            Some(error) => {
                if matches!(error, StoreError::Internal(_)) {
                    self.failures_inside.fetch_add(1, Ordering::Relaxed);
                }
                answers.refusals.get_or_insert(Refusals { first: now, last: now }).last = now;
            }
        }
    }

    fn may_be_an_items_fault(&self, error: &StoreError) -> bool {
        matches!(error, StoreError::Internal(_)) && self.failures_inside.load(Ordering::Relaxed) >= MOST_FAILURES_INSIDE
    }

    fn refused(&self) -> (usize, Option<Instant>) {
        let refused = lock(&self.refused);
        (refused.len(), refused.iter().map(|one| one.since).min())
    }

    /// One sending. A store that panics over it has refused it.
    async fn send(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let call = bounded(self.config.call_timeout, self.store.settle(self.session, settlements));
        let answers = match AssertUnwindSafe(call).catch_unwind().await {
            Ok(answers) => answers?,
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                return Err(StoreError::Broken(format!("the store panicked: {message}")));
            }
        };
        if answers.len() != settlements.len() {
            return Err(miscounted());
        }
        self.count(settlements, &answers);
        self.forget(settlements);
        Ok(answers)
    }

    /// Nothing is owed for these any more, and there is room for others.
    fn forget(&self, settlements: &[Settlement]) {
        let mut owed = lock(&self.owed);
        for settlement in settlements {
            owed.remove(&open(settlement));
        }
        drop(owed);
        self.room.add_permits(settlements.len());
    }

    fn give_up(&self, settlements: &[Settlement], error: &StoreError) {
        let count = settlements.len();
        self.counts.unrecorded.fetch_add(count as u64, Ordering::Relaxed);
        self.forget(settlements);
        error!(outcomes.count = count, "{count} outcomes were not recorded: {error}");
    }

    fn refuse(&self, settlement: &Settlement, error: &StoreError) {
        let (job, now) = (settlement.job, Instant::now());
        error!(
            job.id = %job, fence = %settlement.fence,
            "the store rejected the outcome of job {job}: {error}; retrying until it accepts it"
        );
        let mut waits = Backoff::new(REFUSED_FIRST, REFUSED_MOST);
        let next = now + waits.next();
        lock(&self.refused).push(RefusedSettlement {
            settlement: settlement.clone(),
            since: now,
            singled_out: None,
            next,
            waits,
        });
        self.changed.notify_one();
    }

    /// Sends each outcome that was refused again, alone, after waits that grow; until no more will come and none is left.
    async fn send_refused_again(&self, no_more_will_come: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            let is_last = no_more_will_come();
            let first =
                lock(&self.refused).iter().min_by_key(|one| one.next).map(|one| (one.next, one.settlement.clone()));
            let Some((next, settlement)) = first else {
                if is_last {
                    return;
                }
                changed.await;
                continue;
            };
            tokio::select! {
                biased;
                () = sleep_until(next) => {}
                () = changed => continue,
            }
            let answer = self.record(std::slice::from_ref(&settlement)).await;
            let now = Instant::now();
            let mut refused = lock(&self.refused);
            let Some(place) = refused.iter().position(|one| open(&one.settlement) == open(&settlement)) else {
                continue;
            };
            match answer {
                Ok(_) => {
                    let (job, lasted) = (settlement.job, now - refused.swap_remove(place).since);
                    info!(job.id = %job, "recorded the outcome of job {job}, {} after the store first rejected it", Span(lasted));
                    // Whatever it was may be over for the others too.
                    refused.iter_mut().for_each(|one| one.next = now);
                    if refused.is_empty() {
                        lock(&self.answers).refusals = None;
                    }
                }
                Err(error) if is_away(&error) => {
                    refused[place].next = now + AWAY_MOST;
                }
                Err(error) if self.is_hopeless(place, &mut refused) => {
                    let (job, lasted) = (settlement.job, now - refused.swap_remove(place).since);
                    drop(refused);
                    warn!(
                        job.id = %job, fence = %settlement.fence,
                        "gave up the outcome of job {job}, refused for {}: {error}; the job is handed back and runs again",
                        Span(lasted)
                    );
                    self.counts.unrecorded.fetch_add(1, Ordering::Relaxed);
                    self.forget(std::slice::from_ref(&settlement));
                }
                Err(_) => {
                    let wait = refused[place].waits.next();
                    refused[place].next = now + wait;
                }
            }
        }
    }

    /// It is this outcome that the store refuses, for others were taken since, and that for long enough.
    fn is_hopeless(&self, place: usize, refused: &mut [RefusedSettlement]) -> bool {
        let is_crowded = refused.len() > self.config.max_waiting / 2;
        let patience = if is_crowded { REFUSED_MOST } else { GIVEN_UP_AFTER };
        let (one, taken_at) = (&mut refused[place], lock(&self.answers).taken_at);
        if one.singled_out.is_none() && taken_at.is_some_and(|at| at > one.since) {
            one.singled_out = Some(Instant::now());
        }
        one.singled_out.is_some_and(|since| since.elapsed() >= patience)
    }

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
                    debug!(job.id = %job, %fence, "job {job} was already settled as {outcome}: the response was lost");
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
