//! Reads the change log, once per process: wakes the requests that wait for a job, and hands what it reads to the
//! streams.
//!
//! While nobody waits or watches it reads nothing. When the first comes, it goes to the end of the log and makes
//! everyone who waits look again: what ended before that moment is seen by that look, what ends after it is read in the
//! log. A stream joins at the reader's position (`stream/hub.rs`).
//!
//! Each API process has its own; they do not know of each other. While the store does not answer, waiters wait on and
//! streams stay open; afterwards it goes on from where it was, so that nothing is missed. If that has been pruned
//! meanwhile, the streams are closed, and learn of it when they come back. Wake-ups may be lost: a poll backs them up.
//! When the server drains, everyone is released: waiters answer with what is known, streams end.

mod waits;

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Position, Store, StoreError, Topic, Wakeups};
use foreman_runtime::{Backoff, Shutdown, Ticker, WakeReason};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::problem::Problem;
use crate::serve::health::Readiness;
use crate::stream::{self, Cursors, Hub};
pub use waits::{TooMany, Waiter, Waits, Woken};

/// Rows read at once while somebody watches, and the time they are given to take them while there is more to read. It is still
/// 10,000 rows a second, several times what a store commits.
const WATCHED_PAGE: usize = 100;
const BREATH: Duration = Duration::from_millis(10);

/// A store that has not answered for so long is asked again: what was lost on the way must not end all streams.
const PATIENCE: Duration = Duration::from_secs(10);

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
    /// Those of one tenant.
    pub max_waiters_per_tenant: usize,
    pub streams: stream::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            gap: Duration::from_millis(5),
            page: 500,
            max_waiters: 400,
            max_waiters_per_tenant: 200,
            streams: stream::Config::default(),
        }
    }
}

pub struct Tail {
    store: Arc<dyn Store>,
    wake: watch::Receiver<u64>,
    config: Config,
    readiness: Readiness,
    /// Rung when somebody begins to wait or to watch.
    someone: Arc<Notify>,
    released: CancellationToken,
    waits: Waits,
    hub: Hub,
}

impl Tail {
    /// `cursors`: how clients are told where they stand, the same for every process of a team.
    pub fn new(
        store: Arc<dyn Store>,
        wakeups: &dyn Wakeups,
        cursors: Cursors,
        config: Config,
        readiness: Readiness,
    ) -> Self {
        let (someone, released) = (Arc::new(Notify::new()), CancellationToken::new());
        let waits =
            Waits::new(config.max_waiters, config.max_waiters_per_tenant, Arc::clone(&someone), released.clone());
        let hub = Hub::new(config.streams.clone(), cursors, Arc::clone(&someone), released.clone());
        Self { store, wake: wakeups.listen(Topic::Changed), config, readiness, someone, released, waits, hub }
    }

    pub fn waits(&self) -> Waits {
        self.waits.clone()
    }

    pub fn streams(&self) -> Hub {
        self.hub.clone()
    }

    /// Follows until draining; then releases everyone who waits or watches, and everyone who will.
    pub async fn run(mut self, shutdown: Shutdown) {
        // Whatever ends this loop, even a panic, nobody is left waiting for it.
        let _release = self.released.clone().drop_guard();
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        while !shutdown.is_draining() {
            // Reads may be dropped half way, so the end need not wait for the store.
            let followed = tokio::select! {
                () = shutdown.draining() => break,
                followed = self.follow(&shutdown, &mut backoff) => followed,
            };
            if let Err(error) = followed {
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

    /// From the first who waits or watches until there is none left.
    async fn follow(&mut self, shutdown: &Shutdown, backoff: &mut Backoff) -> Result<(), StoreError> {
        // Where it was is of no use to whoever comes next: they begin at the end of the log.
        while self.waits.is_empty() && self.hub.rest() {
            self.someone.notified().await;
        }
        let mut position = self.position().await?;
        self.waits.wake_all();
        let mut ticker = Ticker::new(self.config.poll, 0.1);
        loop {
            position = self.read_on(position).await?;
            backoff.reset();
            tokio::time::sleep(self.config.gap).await;
            // Whoever comes after this look has rung, and is heard at the next beginning.
            if (self.waits.is_empty() && self.hub.rest())
                || ticker.next(&mut self.wake, shutdown).await == WakeReason::Draining
            {
                return Ok(());
            }
        }
    }

    /// Where to read on: where it was when the store went away, or else the end of the log.
    async fn position(&self) -> Result<Position, StoreError> {
        if let Some(position) = self.hub.position() {
            if in_time(self.store.start()).await? <= position {
                return Ok(position);
            }
            tracing::warn!("the change log was pruned past the read position; open streams are reset");
            self.hub.lose();
        }
        let head = in_time(self.store.head()).await?;
        self.hub.begin(head);
        Ok(head)
    }

    /// Reads to the end of the log, wakes whoever waits for what ended, and tells whoever watches.
    async fn read_on(&self, mut position: Position) -> Result<Position, StoreError> {
        loop {
            let is_watched = self.hub.is_watched();
            let page = if is_watched { self.config.page.min(WATCHED_PAGE) } else { self.config.page };
            let changes = in_time(self.store.changes(position, page)).await?;
            for moved in changes.moved().filter(|moved| moved.step.state.is_final()) {
                self.waits.wake(moved.id);
            }
            self.hub.tell(&changes);
            if changes.position == position {
                return Ok(position);
            }
            position = changes.position;
            if is_watched && changes.is_full {
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

async fn in_time<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = || StoreError::Unavailable(format!("no answer within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(late()))
}
