//! Keeps the topics there: looks at start, now and then, and when a client has lost the brokers.
//!
//! Topics that vanished are created again, so that deleting them costs what was in them and nothing more. Any number may run: whoever
//! is second finds what the first has created. What it finds is in [`Health`], for `/readyz` among others.

use std::sync::Arc;
use std::time::Duration;

use foreman_runtime::{Backoff, Shutdown};
use tokio::time::sleep;

use crate::error::Error;
use crate::health::Health;
use crate::topics::Topics;

/// While something is wrong, the next look comes after this, growing to that.
const SOON: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

pub struct TopicKeeper {
    topics: Arc<Topics>,
    health: Arc<Health>,
    every: Duration,
}

impl TopicKeeper {
    pub(crate) fn new(topics: Arc<Topics>, health: Arc<Health>, every: Duration) -> Self {
        Self { topics, health, every }
    }

    /// Until draining. Nothing that happens to Kafka ends it.
    pub async fn run(self, shutdown: Shutdown) {
        let mut losses = self.health.losses();
        let mut backoff = Backoff::new(SOON.0, SOON.1);
        loop {
            losses.mark_unchanged();
            let found = tokio::select! {
                biased;
                () = shutdown.draining() => return,
                found = self.topics.ensure() => found,
            };
            let wait = match &found {
                Ok(()) => {
                    backoff.reset();
                    self.every
                }
                Err(Error::Unreachable(_) | Error::Client(_)) => backoff.next(),
                // Somebody has to do something about it; look as often as it may have been done.
                Err(_) => SOON.1.min(self.every),
            };
            let is_fine = found.is_ok();
            self.health.looked(found);
            tokio::select! {
                biased;
                () = shutdown.draining() => return,
                () = sleep(wait) => {}
                // A client that keeps losing them is heard once for each look that found them.
                Ok(()) = losses.changed(), if is_fine => {}
            }
        }
    }
}
