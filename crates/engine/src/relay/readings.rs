//! What relays have done and seen, for metrics and probes: never computed when somebody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::Lane;
use foreman_core::ports::LaneCounts;
use tokio::time::Instant;

/// Told by the relay and the reconciler of a process, read by anyone.
#[derive(Clone, Debug, Default)]
pub struct RelayReadings(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    snapshot: RelaySnapshot,
    trouble: Option<(Instant, String)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelaySnapshot {
    /// Jobs marked as announced by this process.
    pub announced: u64,
    /// Messages that the broker has.
    pub acknowledged: u64,
    /// Messages that it did not accept.
    pub failed: u64,
    /// Jobs whose announcement was taken back, because it was not claimed in time.
    pub reannounced: u64,
    /// Announced and not claimed, by all relays.
    pub outstanding: LaneCounts,
    /// How many may be.
    pub window: LaneCounts,
    /// What waits to be announced.
    pub backlog: RelayBacklog,
    /// How long the broker has not accepted messages, and why.
    pub trouble: Option<(Duration, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayBacklog {
    /// Counted up to a bound.
    pub jobs: u64,
    pub is_more: bool,
    /// How long the first of them has been due.
    pub age: Duration,
}

impl RelayReadings {
    pub fn get(&self) -> RelaySnapshot {
        let kept = self.lock();
        let trouble = kept.trouble.as_ref().map(|(since, why)| (since.elapsed(), why.clone()));
        RelaySnapshot { trouble, ..kept.snapshot.clone() }
    }

    pub(super) fn announced(&self, jobs: usize) {
        self.lock().snapshot.announced += jobs as u64;
    }

    pub(super) fn published(&self, acknowledged: usize, failed: usize) {
        let mut kept = self.lock();
        kept.snapshot.acknowledged += acknowledged as u64;
        kept.snapshot.failed += failed as u64;
    }

    pub(super) fn reannounced(&self, jobs: usize) {
        self.lock().snapshot.reannounced += jobs as u64;
    }

    pub(super) fn set_window(&self, outstanding: LaneCounts, size: impl Fn(Lane) -> usize) {
        let mut window = LaneCounts::default();
        for lane in Lane::ALL {
            window.add(lane, size(lane));
        }
        let mut kept = self.lock();
        (kept.snapshot.outstanding, kept.snapshot.window) = (outstanding, window);
    }

    pub(super) fn set_backlog(&self, backlog: RelayBacklog) {
        self.lock().snapshot.backlog = backlog;
    }

    /// `None`: the broker accepts messages.
    pub(super) fn set_trouble(&self, why: Option<&str>) {
        let trouble = &mut self.lock().trouble;
        *trouble = why.map(|why| (trouble.as_ref().map_or_else(Instant::now, |(since, _)| *since), why.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Whole after every line that holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
