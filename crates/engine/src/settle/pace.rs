//! When outcomes that have gathered are written: at once where no more are to be expected, together where many are.
//!
//! A call costs the store far more than an outcome in it (Postgres: 340 µs before the first one, 4 µs for each), so under
//! load a batch waits for company: up to [`SettlePace::window`] counted from its first outcome, and the longer the more came with
//! the batch before. An outcome that comes alone is written at once, and so is the last of all that run: nobody would come
//! after it.
//!
//! While a write is under way its answer is awaited. A second one is begun only when the first takes longer than usual.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// After a batch of so many outcomes the next one waits for the whole window.
const MANY: u32 = 8;
/// What the last batch says about the load is forgotten after so many windows; and no write is waited for any longer.
const FRESH: u32 = 20;

pub(super) struct SettlePace {
    window: Duration,
    writes: Mutex<RecentWrites>,
    /// Attempts that run: their outcomes are still to come.
    expected: AtomicUsize,
    none_expected: Notify,
}

#[derive(Debug, Default)]
struct RecentWrites {
    /// When the last one was begun, and with how many outcomes.
    began: Option<(Instant, u32)>,
    /// How long they take of late.
    takes: Duration,
    /// Since when the batch gathers that is written next.
    gathers_since: Option<Instant>,
}

impl SettlePace {
    pub fn new(window: Duration) -> Self {
        Self { window, writes: Mutex::default(), expected: AtomicUsize::new(0), none_expected: Notify::new() }
    }

    /// An attempt runs.
    pub fn expect(&self) {
        self.expected.fetch_add(1, Ordering::AcqRel);
    }

    /// Its outcome has been handed over, or there is none.
    pub fn came(&self) {
        if self.expected.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none_expected.notify_one();
        }
    }

    pub fn begins(&self, outcomes: usize) -> Instant {
        let now = Instant::now();
        let mut writes = self.lock();
        writes.began = Some((now, u32::try_from(outcomes).unwrap_or(u32::MAX)));
        writes.gathers_since = None;
        now
    }

    /// A write that was answered well.
    pub fn ended(&self, began: Instant) {
        let mut writes = self.lock();
        writes.takes = (writes.takes * 3 + began.elapsed()) / 4;
    }

    /// Returns when a batch that gathers while nothing is written is to be written.
    pub async fn gather(&self) {
        let until = self.lock().until(Instant::now(), self.window);
        tokio::select! {
            biased;
            () = self.none_is_expected() => {}
            () = sleep_until(until) => {}
        }
    }

    /// Returns when a batch is to be written beside one that is under way.
    pub async fn linger(&self) {
        let until = self.lock().until_beside(Instant::now(), self.window);
        sleep_until(until).await;
    }

    async fn none_is_expected(&self) {
        loop {
            let changed = self.none_expected.notified();
            if self.expected.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecentWrites> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecentWrites {
    fn until(&mut self, now: Instant, window: Duration) -> Instant {
        let since = *self.gathers_since.get_or_insert(now);
        let company = match self.began {
            Some((began, outcomes)) if now - began < window * FRESH => outcomes.saturating_sub(1).min(MANY),
            _ => 0,
        };
        since + window * company / MANY
    }

    fn until_beside(&mut self, now: Instant, window: Duration) -> Instant {
        let since = *self.gathers_since.get_or_insert(now);
        let overdue = self.began.map_or(now, |(began, _)| began + (self.takes * 2).min(window * FRESH));
        overdue.max(since + window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(8);
    const MS: Duration = Duration::from_millis(1);

    fn after(outcomes: u32, now: Instant) -> RecentWrites {
        RecentWrites { began: Some((now, outcomes)), takes: MS, gathers_since: None }
    }

    #[test]
    fn the_wait_follows_the_last_batch() {
        let now = Instant::now();
        for (outcomes, wait) in [(0, 0), (1, 0), (2, 1), (5, 4), (9, 8), (1_000, 8)] {
            assert_eq!(after(outcomes, now).until(now, WINDOW) - now, MS * wait, "after {outcomes}");
        }
        assert_eq!(RecentWrites::default().until(now, WINDOW), now, "the first of all");
        assert_eq!(after(1_000, now).until(now + WINDOW * FRESH, WINDOW), now + WINDOW * FRESH, "long ago");
    }

    #[test]
    fn the_wait_is_counted_from_the_first_outcome_of_the_batch() {
        let now = Instant::now();
        let mut writes = after(100, now);
        assert_eq!(writes.until_beside(now + MS, WINDOW), now + MS + WINDOW);
        assert_eq!(writes.until(now + MS * 6, WINDOW), now + MS + WINDOW, "the answer came meanwhile");
    }

    #[test]
    fn a_second_write_is_begun_when_the_first_is_overdue() {
        let now = Instant::now();
        let mut writes = RecentWrites { takes: MS * 20, ..after(100, now) };
        assert_eq!(writes.until_beside(now + MS, WINDOW), now + MS * 40);
        let mut slow = RecentWrites { takes: MS * 5_000, ..after(100, now) };
        assert_eq!(slow.until_beside(now + MS, WINDOW), now + WINDOW * FRESH);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_that_runs_is_not_kept_waiting() {
        let pace = SettlePace::new(WINDOW);
        let began = pace.begins(100);
        pace.expect();
        let (start, came) = (Instant::now(), async {
            sleep_until(began + MS * 3).await;
            pace.came();
        });
        tokio::join!(pace.gather(), came);
        assert_eq!(start.elapsed(), MS * 3);
        pace.gather().await;
        assert_eq!(start.elapsed(), MS * 3, "nobody is expected");
    }
}
