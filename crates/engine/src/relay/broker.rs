//! The broker does not take messages: how long to leave it alone, and saying so once.

use std::time::Duration;

use foreman_core::duration::Span;
use foreman_runtime::Backoff;
use tokio::time::Instant;
use tracing::{info, warn};

use super::readings::RelayReadings;

/// The relay's view of whether the broker answers.
#[derive(Debug)]
pub(super) struct BrokerOutage {
    since: Option<Instant>,
    until: Option<Instant>,
    backoff: Backoff,
    readings: RelayReadings,
}

impl BrokerOutage {
    pub fn new(readings: RelayReadings) -> Self {
        let backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
        Self { since: None, until: None, backoff, readings }
    }

    /// It took a message.
    pub fn is_over(&mut self) {
        self.backoff.reset();
        self.until = None;
        if let Some(since) = self.since.take() {
            self.readings.set_trouble(None);
            let lasted = since.elapsed();
            let outage_ms = lasted.as_millis() as u64;
            info!(outage_ms, "the broker accepts messages again after {}", Span(lasted));
        }
    }

    /// It took none of a batch.
    pub fn goes_on(&mut self, why: &str) {
        if self.since.is_none() {
            warn!("the broker does not accept messages: {why}; retrying. Jobs wait in the database meanwhile");
            self.since = Some(Instant::now());
        }
        self.readings.set_trouble(Some(why));
        self.until = Some(Instant::now() + self.backoff.next());
    }

    pub fn is_away(&self) -> bool {
        self.since.is_some()
    }

    /// Nothing is to be sent before then.
    pub fn pause(&self) -> Option<Instant> {
        self.until.filter(|until| *until > Instant::now())
    }
}
