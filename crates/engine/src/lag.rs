//! How late a loop is, for whoever watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Told by the loop, read by anyone.
#[derive(Clone, Debug, Default)]
pub struct Lag(Arc<AtomicU64>);

impl Lag {
    /// How long what was due first had been due at the last look; zero when nothing was.
    pub fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, lag: Duration) {
        self.0.store(u64::try_from(lag.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
