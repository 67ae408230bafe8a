//! How long to leave a broken thing alone: the database that does not answer, the disk that is full.
//!
//! This is for our own infrastructure and lives in memory: a process that dies begins anew. A *job's* retries are another
//! matter; they are decided by its policy and live in the store.

use std::time::Duration;

use rand::{SeedableRng, rngs::SmallRng};

use crate::jitter;

/// Waits that double from `base` to `cap`, each drawn between its half and its whole, so that all who lost the same
/// database do not come back in the same instant.
#[derive(Debug)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    failures: u32,
    rng: SmallRng,
}

impl Backoff {
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self { base, cap, failures: 0, rng: rand::make_rng() }
    }

    /// The same, with jitter that repeats: for tests and simulations.
    pub fn seeded(base: Duration, cap: Duration, seed: u64) -> Self {
        Self { base, cap, failures: 0, rng: SmallRng::seed_from_u64(seed) }
    }

    /// How long to wait after one more failure.
    #[expect(clippy::should_implement_trait, reason = "it has no end, so an Option would only be in the way")]
    pub fn next(&mut self) -> Duration {
        let factor = 2_u32.saturating_pow(self.failures);
        self.failures = self.failures.saturating_add(1);
        let whole = self.base.saturating_mul(factor).min(self.cap);
        jitter::between(&mut self.rng, whole / 2, whole)
    }

    /// It works again: the next failure waits the shortest.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Failures since it last worked.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(100);
    const CAP: Duration = Duration::from_secs(5);

    #[test]
    fn each_wait_lies_between_half_and_whole_of_a_doubling_step() {
        for seed in 0..200 {
            let mut backoff = Backoff::seeded(BASE, CAP, seed);
            for whole_millis in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
                let whole = Duration::from_millis(whole_millis);
                let wait = backoff.next();
                assert!((whole / 2..=whole).contains(&wait), "{wait:?} of {whole:?}");
            }
        }
    }

    #[test]
    fn the_cap_holds_however_often_it_fails() {
        let mut backoff = Backoff::seeded(BASE, CAP, 1);
        for _ in 0..10_000 {
            assert!(backoff.next() <= CAP);
        }
        let mut for_ever = Backoff::seeded(Duration::MAX, Duration::MAX, 1);
        for _ in 0..100 {
            assert!(for_ever.next() > Duration::from_hours(24), "no overflow to a short wait");
        }
    }

    #[test]
    fn once_it_works_again_the_waits_begin_anew() {
        let mut backoff = Backoff::seeded(BASE, CAP, 1);
        for _ in 0..8 {
            backoff.next();
        }
        assert_eq!(backoff.failures(), 8);
        backoff.reset();
        assert!(backoff.next() <= BASE);
    }

    #[test]
    fn processes_that_fail_together_do_not_come_back_together() {
        let waits: std::collections::BTreeSet<_> =
            (0..100).map(|seed| Backoff::seeded(BASE, CAP, seed).next()).collect();
        assert!(waits.len() > 90, "only {} different waits of 100", waits.len());
        assert_eq!(Backoff::seeded(BASE, CAP, 3).next(), Backoff::seeded(BASE, CAP, 3).next(), "a seed repeats");
    }
}
