//! When to try again, and when to give up.
//!
//! Decided from the outcome and the job's policy alone, by the side that owns the store, never by the worker's mood.

use std::time::Duration;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::job::{Work, span};
use crate::outcome::{AttemptEnd, Report, Verdict};

/// `d = min(cap, base · factor^(n−1))`, then a wait between d/2 and d.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    #[serde(with = "span")]
    pub base: Duration,
    pub factor: f64,
    #[serde(with = "span")]
    pub cap: Duration,
}

/// A job that takes its worker down this often is declared dead with reason `poison`.
pub const MAX_CRASHES: u32 = 3;

/// A target may ask for a pause; nobody may ask for more than this.
pub const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

impl Backoff {
    /// Eight attempts of this span about two hours: a target's deploy must not fill the dead letters.
    pub const HTTP: Self = Self { base: Duration::from_secs(10), factor: 3.0, cap: Duration::from_hours(1) };
    pub const COMMAND: Self = Self::HTTP;
    pub const TASK: Self = Self { base: Duration::from_secs(5), factor: 2.0, cap: Duration::from_hours(1) };

    /// The longest wait after the `spent`th attempt.
    pub fn ceiling(&self, spent: u32) -> Duration {
        let exponent = i32::try_from(spent.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.base.as_secs_f64() * self.factor.powi(exponent);
        // Written so that an infinite product lands on the cap.
        if seconds < self.cap.as_secs_f64() { Duration::from_secs_f64(seconds) } else { self.cap }
    }

    /// Between half of the ceiling and the ceiling, so that what failed together does not return together.
    pub fn delay(&self, spent: u32, rng: &mut impl Rng) -> Duration {
        let ceiling = self.ceiling(spent);
        ceiling / 2 + ceiling.mul_f64(rng.random_range(0.0..=0.5))
    }
}

/// How long a delivery waits after each try, as receivers know it from Standard Webhooks; then it is dead.
pub const DELIVERY_WAITS: [Duration; 9] = {
    const MINUTE: Duration = Duration::from_mins(1);
    const HOUR: Duration = Duration::from_hours(1);
    [
        Duration::from_secs(5),
        MINUTE.saturating_mul(5),
        MINUTE.saturating_mul(30),
        HOUR.saturating_mul(2),
        HOUR.saturating_mul(5),
        HOUR.saturating_mul(10),
        HOUR.saturating_mul(14),
        HOUR.saturating_mul(20),
        HOUR.saturating_mul(24),
    ]
};

/// How hard a job is tried.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    pub max_attempts: u32,
    pub pace: Pace,
}

/// How long to wait before the next try.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    Backoff(Backoff),
    /// So long after each; the last of them from then on.
    Listed(&'static [Duration]),
}

impl Pace {
    fn delay(&self, spent: u32, rng: &mut impl Rng) -> Duration {
        match self {
            Pace::Backoff(backoff) => backoff.delay(spent, rng),
            Pace::Listed(waits) => {
                let place = usize::try_from(spent.saturating_sub(1)).unwrap_or(usize::MAX);
                waits.get(place).or(waits.last()).copied().unwrap_or_default()
            }
        }
    }
}

impl RetryPolicy {
    pub fn of(work: &Work) -> Self {
        Self { max_attempts: work.max_attempts, pace: work.target.pace(work.backoff) }
    }

    /// What becomes of a job whose attempt ended like this. `spent` counts this attempt.
    pub fn decide(&self, ended: AttemptEnd, spent: u32, report: Report, rng: &mut impl Rng) -> Verdict {
        match ended {
            AttemptEnd::Completed => Verdict::Completed(report),
            AttemptEnd::Failed => Verdict::Failed(report),
            AttemptEnd::Interrupted => Verdict::Interrupted(report),
            AttemptEnd::Again { .. } if spent >= self.max_attempts => Verdict::Dead(report),
            AttemptEnd::Again { after } => {
                let backoff = self.pace.delay(spent, rng);
                let delay = after.map_or(backoff, |asked| asked.min(MAX_RETRY_AFTER).max(backoff));
                Verdict::Retry { delay, report }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    fn rng() -> SmallRng {
        SmallRng::seed_from_u64(7)
    }

    #[test]
    fn the_wait_grows_to_its_cap_and_stays_between_half_and_whole() {
        let backoff = Backoff::HTTP;
        let ceilings: Vec<u64> = (1..=8).map(|n| backoff.ceiling(n).as_secs()).collect();
        assert_eq!(ceilings, [10, 30, 90, 270, 810, 2430, 3600, 3600]);
        for n in [1, 4, 30, u32::MAX] {
            for _ in 0..200 {
                let delay = backoff.delay(n, &mut rng());
                assert!(delay >= backoff.ceiling(n) / 2 && delay <= backoff.ceiling(n));
            }
        }
    }

    #[test]
    fn waits_are_spread_so_that_what_failed_together_does_not_return_together() {
        let mut rng = rng();
        let delays: std::collections::BTreeSet<u128> =
            (0..1_000).map(|_| Backoff::HTTP.delay(3, &mut rng).as_millis()).collect();
        assert!(delays.len() > 900, "{}", delays.len());
    }

    #[test]
    fn the_last_attempt_that_fails_makes_the_job_dead() {
        let policy = RetryPolicy { max_attempts: 3, pace: Pace::Backoff(Backoff::HTTP) };
        let again = AttemptEnd::Again { after: None };
        assert!(matches!(policy.decide(again, 2, Report::default(), &mut rng()), Verdict::Retry { .. }));
        assert!(matches!(policy.decide(again, 3, Report::default(), &mut rng()), Verdict::Dead(_)));
    }

    #[test]
    fn a_target_may_ask_for_a_longer_pause_but_not_for_more_than_a_day() {
        let policy = RetryPolicy { max_attempts: 9, pace: Pace::Backoff(Backoff::HTTP) };
        let wait = |asked: Duration| match policy.decide(
            AttemptEnd::Again { after: Some(asked) },
            1,
            Report::default(),
            &mut rng(),
        ) {
            Verdict::Retry { delay, .. } => delay,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait(Duration::from_mins(10)), Duration::from_mins(10));
        assert_eq!(wait(Duration::from_secs(1_000_000)), MAX_RETRY_AFTER);
        assert!(wait(Duration::ZERO) >= Duration::from_secs(5), "a target cannot ask to be hammered");
    }

    #[test]
    fn an_interrupted_attempt_is_never_the_last() {
        let policy = RetryPolicy { max_attempts: 1, pace: Pace::Backoff(Backoff::HTTP) };
        assert!(matches!(
            policy.decide(AttemptEnd::Interrupted, 1, Report::default(), &mut rng()),
            Verdict::Interrupted(_)
        ));
    }
}
