//! Removes what has outlived its retention.
//!
//! In small steps, so that no transaction is long and the door in never waits for it. Any number may run: what one has
//! removed the other does not find. A pruner that dies has removed less.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Pruned, Retention, StoreError, Upkeep};
use foreman_runtime::{Shutdown, Tick, Ticker};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::info;

pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look, give or take a quarter.
    pub every: Duration,
    /// Rows of a kind removed in one transaction.
    pub step: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
    pub retention: Retention,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            every: Duration::from_mins(1),
            step: 500,
            call_timeout: Duration::from_secs(10),
            retention: Retention::default(),
        }
    }
}

pub struct Pruner {
    store: Arc<dyn Upkeep>,
    config: Config,
}

impl Pruner {
    pub fn new(store: Arc<dyn Upkeep>, config: Config) -> Self {
        Self { store, config }
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        // Nobody rings for old age.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.every, 0.25);
        let mut outage = Outage::new("pruner");
        loop {
            let Some(pruned) = unless_aborted(&shutdown, self.prune(&shutdown)).await else { return Ok(()) };
            let retry_at = match pruned {
                Ok(()) => {
                    outage.is_over();
                    None
                }
                Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            if ticker.next_until(retry_at, &mut wake, &shutdown).await == Tick::Draining {
                return Ok(());
            }
        }
    }

    /// Step by step until nothing is left to remove, or until draining.
    async fn prune(&self, shutdown: &Shutdown) -> Result<(), StoreError> {
        let Config { step, call_timeout, retention, .. } = &self.config;
        let mut total = Pruned::default();
        loop {
            let pruned = bounded(*call_timeout, self.store.prune(retention, *step)).await?;
            total.jobs += pruned.jobs;
            total.keys += pruned.keys;
            total.changes += pruned.changes;
            total.sessions += pruned.sessions;
            total.queues += pruned.queues;
            if !pruned.was_busy(*step) || shutdown.is_draining() {
                break;
            }
            yield_now().await;
        }
        if total.jobs > 0 {
            info!(
                jobs.count = total.jobs,
                keys.count = total.keys,
                changes.count = total.changes,
                "removed {} jobs past their retention",
                total.jobs
            );
        }
        Ok(())
    }
}
