//! Follows the change log, once per process, and wakes the requests that wait for a job.
//!
//! While nobody waits it reads nothing. When the first waiter comes, it goes to the end of the log and makes everyone look
//! again: what ended before that moment is seen by that look, what ends after it is read in the log. A waiter therefore
//! registers *before* it looks, and nothing falls between.
//!
//! Each API process has its own; they do not know of each other. While the store does not answer, waiters wait on: their
//! own deadlines end them. Wake-ups may be lost: a poll backs them up. When the server drains, everyone is released and
//! answers with what is known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::JobId;
use foreman_core::ports::{Position, Store, StoreError, Topic, Wakeups};
use foreman_runtime::{Backoff, Shutdown, Tick, Ticker};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::health::Readiness;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often it looks without being woken.
    pub poll: Duration,
    /// The least time between two looks: under load, rings come faster than anyone needs to know.
    pub gap: Duration,
    /// Rows of the log read at once.
    pub page: usize,
    /// Requests that may wait at the same time; further ones are refused.
    pub max_waiters: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { poll: Duration::from_secs(1), gap: Duration::from_millis(5), page: 500, max_waiters: 10_000 }
    }
}

pub struct Tail {
    store: Arc<dyn Store>,
    wake: watch::Receiver<u64>,
    config: Config,
    readiness: Readiness,
    waits: Waits,
}

impl Tail {
    pub fn new(store: Arc<dyn Store>, wakeups: &dyn Wakeups, config: Config, readiness: Readiness) -> Self {
        let waits = Waits::new(config.max_waiters);
        Self { store, wake: wakeups.listen(Topic::Changed), config, readiness, waits }
    }

    pub fn waits(&self) -> Waits {
        self.waits.clone()
    }

    /// Follows until draining; then releases everyone who waits, and everyone who will.
    pub async fn run(mut self, shutdown: Shutdown) {
        // Whatever ends this loop, even a panic, nobody is left waiting for it.
        let _release = ReleaseAtTheEnd(self.waits.clone());
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        while !shutdown.is_draining() {
            // Reads may be dropped half way, so the end need not wait for the store.
            let followed = tokio::select! {
                () = shutdown.draining() => break,
                followed = self.follow(&shutdown) => followed,
            };
            match followed {
                Ok(()) => backoff.reset(),
                Err(error) => {
                    // Who waited still does: the next round starts at the end of the log, and everyone looks again.
                    self.waits.shared.someone.notify_one();
                    let wait = backoff.next();
                    tracing::warn!(wait_ms = wait.as_millis() as u64, "cannot follow the change log: {error}");
                    self.readiness.heed(Problem::from(error).kind);
                    tokio::select! {
                        () = shutdown.draining() => break,
                        () = tokio::time::sleep(wait) => {}
                    }
                }
            }
        }
    }

    /// From the first waiter until there is none left.
    async fn follow(&mut self, shutdown: &Shutdown) -> Result<(), StoreError> {
        self.waits.shared.someone.notified().await;
        let mut position = self.store.head().await?;
        self.waits.wake_all();
        let mut ticker = Ticker::new(self.config.poll, 0.1);
        while !self.waits.is_empty() {
            position = self.read_on(position).await?;
            tokio::time::sleep(self.config.gap).await;
            if ticker.next(&mut self.wake, shutdown).await == Tick::Draining {
                break;
            }
        }
        Ok(())
    }

    /// Reads to the end of the log and wakes whoever waits for what ended.
    async fn read_on(&self, mut position: Position) -> Result<Position, StoreError> {
        loop {
            let changes = self.store.changes(position, self.config.page).await?;
            for moved in changes.moved().filter(|moved| moved.step.state.is_final()) {
                self.waits.wake(moved.id);
            }
            if changes.position == position {
                return Ok(position);
            }
            position = changes.position;
        }
    }
}

struct ReleaseAtTheEnd(Waits);

impl Drop for ReleaseAtTheEnd {
    fn drop(&mut self) {
        self.0.shared.released.cancel();
    }
}

/// The handle by which requests wait.
#[derive(Clone)]
pub struct Waits {
    shared: Arc<Shared>,
}

struct Shared {
    max: usize,
    waiting: Mutex<Waiting>,
    /// Rung when somebody begins to wait.
    someone: Notify,
    released: CancellationToken,
}

#[derive(Default)]
struct Waiting {
    count: usize,
    by_job: HashMap<JobId, Vec<Arc<Notify>>>,
}

/// As many wait as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests are waiting already")]
pub struct TooMany;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The job may have ended: look again.
    Look,
    /// The server drains: answer with what is known.
    Released,
}

impl Waits {
    fn new(max: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                max,
                waiting: Mutex::default(),
                someone: Notify::new(),
                released: CancellationToken::new(),
            }),
        }
    }

    /// Begins to wait for a job. Register first, then look: what happens from now on wakes the waiter.
    pub fn register(&self, job: JobId) -> Result<Waiter, TooMany> {
        let notify = Arc::new(Notify::new());
        {
            let mut waiting = self.lock();
            if waiting.count >= self.shared.max {
                return Err(TooMany);
            }
            waiting.count += 1;
            waiting.by_job.entry(job).or_default().push(Arc::clone(&notify));
        }
        self.shared.someone.notify_one();
        Ok(Waiter { job, notify, waits: self.clone() })
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.lock().count
    }

    fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn wake(&self, job: JobId) {
        for notify in self.lock().by_job.get(&job).into_iter().flatten() {
            notify.notify_one();
        }
    }

    fn wake_all(&self) {
        for notify in self.lock().by_job.values().flatten() {
            notify.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in here can panic half way through a change.
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits; gone when dropped.
pub struct Waiter {
    job: JobId,
    // Keeps one wake-up, so that one which comes during a look is not lost.
    notify: Arc<Notify>,
    waits: Waits,
}

impl Waiter {
    pub async fn woken(&self) -> Woken {
        tokio::select! {
            biased;
            () = self.waits.shared.released.cancelled() => Woken::Released,
            () = self.notify.notified() => Woken::Look,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = self.waits.lock();
        waiting.count -= 1;
        if let Some(waiters) = waiting.by_job.get_mut(&self.job) {
            waiters.retain(|notify| !Arc::ptr_eq(notify, &self.notify));
            if waiters.is_empty() {
                waiting.by_job.remove(&self.job);
            }
        }
    }
}
