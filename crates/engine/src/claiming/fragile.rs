//! Whether a job waits that must run alone, and since when.
//!
//! A session that is never idle by itself stops taking work now and then, until it is.

use std::time::Duration;

use tokio::time::Instant;

/// A session that is to run dry does so for at most this long out of each [`DRY_EVERY`].
pub const DRY_SPELL: Duration = Duration::from_secs(10);
const DRY_EVERY: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Fragile {
    since: Option<Instant>,
    last_dry: Option<Instant>,
}

impl Fragile {
    pub fn seen(&mut self, is_waiting: bool) {
        if is_waiting {
            self.since.get_or_insert_with(Instant::now);
        } else {
            self.since = None;
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    pub fn is_dry_spell_due(&mut self, patience: Duration) -> bool {
        let waited = self.since.is_some_and(|since| since.elapsed() >= patience);
        let is_due = waited && self.last_dry.is_none_or(|last| last.elapsed() >= DRY_EVERY);
        if is_due {
            self.last_dry = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_busy_worker_runs_dry_for_a_fragile_job_once_a_minute_at_most() {
        let patience = Duration::from_secs(30);
        let mut fragile = Fragile::default();
        fragile.seen(true);
        let mut spells = Vec::new();
        let start = Instant::now();
        for _ in 0..200 {
            tokio::time::advance(Duration::from_secs(1)).await;
            fragile.seen(true);
            if fragile.is_dry_spell_due(patience) {
                spells.push(start.elapsed().as_secs());
            }
        }
        assert_eq!(spells, [30, 90, 150]);
        fragile.seen(false);
        tokio::time::advance(DRY_EVERY).await;
        assert!(!fragile.is_dry_spell_due(patience), "it was taken");
    }
}
