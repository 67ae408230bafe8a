//! Takes back announcements that came to nothing, so that the broker may lose everything.
//!
//! A batch that nobody acknowledged belonged to a relay that died, and a job that waits long after its announcement has lost its
//! message, or the message lies where nobody reads it. Both are unmarked, and announced again by any relay. Any number may run:
//! the store takes each mark away once. It also looks at how much waits to be announced, for metrics.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::Clock;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{AnnounceRequest, AnnounceStore, Queues, StoreError};
use foreman_core::target::Route;
use foreman_runtime::{Shutdown, Ticker, WakeReason};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;

use super::{Config, RelayBacklog, RelayReadings};
use crate::consumers::CommonWork;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

/// How often it is counted how much waits.
const COUNT_EVERY: Duration = Duration::from_secs(5);

pub struct Reconciler {
    store: Arc<dyn AnnounceStore>,
    clock: Arc<dyn Clock>,
    config: Config,
    readings: RelayReadings,
}

impl Reconciler {
    pub fn new(store: Arc<dyn AnnounceStore>, clock: Arc<dyn Clock>, config: Config, readings: RelayReadings) -> Self {
        Self { store, clock, config, readings }
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        // Nobody rings for what does not happen.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.reconcile_every, 0.2);
        let mut outage = Outage::new("reconciler");
        let mut count_at = Instant::now();
        loop {
            let Some(done) = unless_aborted(&shutdown, self.reconcile(&shutdown, &mut count_at)).await else {
                return Ok(());
            };
            let next = match done {
                Ok(()) => {
                    outage.is_over();
                    None
                }
                Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            if ticker.next_until(next, &mut wake, &shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    async fn reconcile(&self, shutdown: &Shutdown, count_at: &mut Instant) -> Result<(), StoreError> {
        let Config { unanswered_after, unclaimed_after, call_timeout, .. } = self.config;
        let mut total = 0;
        while !shutdown.is_draining() {
            let jobs = bounded(call_timeout, self.store.reannounce(unanswered_after, unclaimed_after)).await?;
            if jobs == 0 {
                break;
            }
            self.readings.reannounced(jobs);
            total += jobs;
        }
        if total > 0 {
            info!(jobs.count = total, "{total} announcements were not claimed in time: these jobs are announced again");
        }
        if *count_at <= Instant::now() {
            *count_at = Instant::now() + COUNT_EVERY;
            self.count().await?;
        }
        Ok(())
    }

    async fn count(&self) -> Result<(), StoreError> {
        let limit = self.config.call_timeout;
        let consumers = bounded(limit, self.store.consumers()).await?;
        let (queues, routes): (Queues, Vec<Route>) = match CommonWork::of(&consumers) {
            Some(common) => (common.queues, common.routes),
            None => (Queues::All, Vec::new()),
        };
        let request = AnnounceRequest {
            plan: LanePlan::strict(usize::MAX),
            limit: usize::MAX,
            queues,
            routes,
            rooms: Vec::new(),
        };
        let waiting = bounded(limit, self.store.unannounced(&request)).await?;
        let age = waiting.oldest.map_or(Duration::ZERO, |since| self.clock.now().since(since));
        self.readings.set_backlog(RelayBacklog { jobs: waiting.jobs, is_more: waiting.is_more, age });
        Ok(())
    }
}
