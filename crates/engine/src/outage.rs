//! The store does not answer: how long to leave it alone, and saying so once.
//!
//! Every loop that lives on the store goes through the same weather. One line is logged when it turns bad and one when
//! it is fine again, however many ticks lie between.

use std::time::Duration;

use foreman_core::duration::Span;
use foreman_core::ports::StoreError;
use foreman_runtime::{Backoff, Shutdown};
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};

/// A loop had to stop: trying again would not help.
#[derive(Debug, thiserror::Error)]
#[error("the {name} cannot continue")]
pub struct Error {
    pub name: &'static str,
    pub source: StoreError,
}

/// One loop's view of whether the store answers.
#[derive(Debug)]
pub(crate) struct Outage {
    name: &'static str,
    since: Option<Instant>,
    backoff: Backoff,
}

impl Outage {
    pub fn new(name: &'static str) -> Self {
        Self { name, since: None, backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(5)) }
    }

    /// The store answered.
    pub fn is_over(&mut self) {
        self.backoff.reset();
        if let Some(since) = self.since.take() {
            let lasted = since.elapsed();
            let outage_ms = lasted.as_millis() as u64;
            info!(loop.name = self.name, outage_ms, "the store responds to the {} again after {}", self.name, Span(lasted));
        }
    }

    /// It did not: how long to wait before the next try, or the end of the loop when no try can help.
    pub fn goes_on(&mut self, error: StoreError) -> Result<Duration, Error> {
        match error {
            StoreError::Damaged(_) | StoreError::Closed => return Err(Error { name: self.name, source: error }),
            StoreError::Broken(_) => {
                error!(loop.name = self.name, "the store rejected a call of the {}: {error}", self.name);
            }
            StoreError::Unavailable(_) | StoreError::Internal(_) | StoreError::Full(_) if self.since.is_none() => {
                warn!(loop.name = self.name, "the store does not respond to the {}: {error}; retrying", self.name);
            }
            StoreError::Unavailable(_) | StoreError::Internal(_) | StoreError::Full(_) => {}
        }
        self.since.get_or_insert_with(Instant::now);
        Ok(self.backoff.next())
    }
}

/// Waits for a store call at most for `limit`.
///
/// A call that is let go may still take effect: its outcome is unknown, as after a lost connection, and every verb of
/// the ports can be sent again under the same identity. So a store that hangs costs its caller `limit`, never for ever.
pub(crate) async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {}", Span(limit)))),
    }
}

/// Does work that calls the store, and lets go of it only when the process must leave *now*: what is half done then is
/// as if the process had died there, which every verb of the ports survives. Draining never cuts a call short.
pub(crate) async fn unless_aborted<T>(shutdown: &Shutdown, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = shutdown.aborting() => None,
        done = work => Some(done),
    }
}
