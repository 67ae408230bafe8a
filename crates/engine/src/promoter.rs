//! Gives waiting jobs that fall due their place in the order, and fails those that expired.
//!
//! Sleeps until the next job falls due, a job is put off (it may be due sooner), or its poll period is over, which grows while
//! nothing happens. Any number may run: the store gives each job its place once. A promoter that dies loses nothing; the next
//! look finds the same jobs due.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Due, StoreError, Topic, Upkeep, Wakeups};
use foreman_runtime::{Shutdown, Ticker, WakeReason};
use tokio::time::{Instant, timeout};
use tracing::debug;

pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

/// Between two looks. Every retry and every delay rings, and a store that is asked for each of them does little else.
const SHORTEST_NAP: Duration = Duration::from_millis(10);
/// So many times as long as [`Config::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (15, Duration::from_secs(15));

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when nothing says that something falls due, give or take a tenth; seldomer while nothing happens.
    pub poll: Duration,
    /// Jobs moved in one transaction.
    pub step: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { poll: Duration::from_secs(1), step: 1_000, call_timeout: Duration::from_secs(10) }
    }
}

pub struct Promoter {
    store: Arc<dyn Upkeep>,
    wakeups: Arc<dyn Wakeups>,
    config: Config,
}

impl Promoter {
    pub fn new(store: Arc<dyn Upkeep>, wakeups: Arc<dyn Wakeups>, config: Config) -> Self {
        Self { store, wakeups, config }
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let mut wake = self.wakeups.listen(Topic::Waiting);
        let mut ticker = Ticker::new(self.config.poll, 0.1).resting((self.config.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new("promoter");
        loop {
            let Some(due) = unless_aborted(&shutdown, self.promote(&shutdown)).await else { return Ok(()) };
            let next = match due {
                Ok(due) => {
                    outage.is_over();
                    if due.promoted + due.expired > 0 {
                        ticker.hurry();
                    }
                    due.next_in.map(|wait| Instant::now() + wait)
                }
                Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            // Until draining; a wake-up meanwhile is heard right after.
            let _ = timeout(SHORTEST_NAP, shutdown.draining()).await;
            if ticker.next_until(next, &mut wake, &shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    /// Step by step until nothing more is due, or until draining.
    async fn promote(&self, shutdown: &Shutdown) -> Result<Due, StoreError> {
        loop {
            let due = bounded(self.config.call_timeout, self.store.promote(self.config.step)).await?;
            if due.promoted + due.expired > 0 {
                debug!(
                    promoted = due.promoted,
                    expired = due.expired,
                    "{} jobs fell due, {} expired",
                    due.promoted,
                    due.expired
                );
            }
            if !due.was_busy(self.config.step) || shutdown.is_draining() {
                return Ok(due);
            }
        }
    }
}
