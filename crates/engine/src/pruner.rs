//! Removes what has outlived its retention.
//!
//! In small steps, so that no transaction is long and the door in never waits for it. Any number may run: what one has
//! removed the other does not find. A pruner that dies has removed less.
//!
//! Where many processes share a store, one is enough: a pruner that was given a [`Lead`] works only while its process leads, and
//! each of its writes carries the term.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Pruned, Retention, StoreError, Upkeep};
use foreman_runtime::{Lead, Shutdown, Term, Tick, Ticker};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::info;

use crate::led::Led;
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
    led: Led,
}

impl Pruner {
    pub fn new(store: Arc<dyn Upkeep>, config: Config) -> Self {
        Self { store, config, led: Led::default() }
    }

    /// Works only while `lead` says that this process holds the `office`.
    #[must_use]
    pub fn led_by(self, office: impl Into<String>, lead: Lead) -> Self {
        Self { led: Led::by(office, lead), ..self }
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        // Nobody rings for old age.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.every, 0.25);
        let mut outage = Outage::new("pruner");
        loop {
            let Some(term) = self.led.elected(&shutdown).await else { return Ok(()) };
            let Some(pruned) = unless_aborted(&shutdown, self.prune(term, &shutdown)).await else { return Ok(()) };
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

    /// One step; `None` when the term is over.
    async fn step(&self, term: Term) -> Result<Option<Pruned>, StoreError> {
        let Config { step, call_timeout, retention, .. } = &self.config;
        if !self.led.holds(term) {
            return Ok(None);
        }
        match self.led.leader(term) {
            None => bounded(*call_timeout, self.store.prune(retention, *step)).await.map(Some),
            Some(leader) => bounded(*call_timeout, self.store.prune_as(&leader, retention, *step)).await,
        }
    }

    /// Step by step until nothing is left to remove, the term is over, or until draining.
    async fn prune(&self, term: Term, shutdown: &Shutdown) -> Result<(), StoreError> {
        let step = self.config.step;
        let mut total = Pruned::default();
        while let Some(pruned) = self.step(term).await? {
            total.jobs += pruned.jobs;
            total.keys += pruned.keys;
            total.changes += pruned.changes;
            total.sessions += pruned.sessions;
            total.queues += pruned.queues;
            total.ticks += pruned.ticks;
            total.deliveries += pruned.deliveries;
            total.audit += pruned.audit;
            total.statistics += pruned.statistics;
            total.passes += pruned.passes;
            if !pruned.was_busy(step) || shutdown.is_draining() {
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
