//! How long to wait before coming back.
//!
//! Longer after every failure, and never as long as anybody else: a thousand clients that lost one server do not meet
//! again at the next.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Where the server does not say.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(15);
/// However long a server asks us to stay away, we look once in so long.
const LONGEST_ASKED: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Pauses {
    failures: u32,
}

impl Pauses {
    /// The next one. `retry` is what the stream said, `asked` what a refusal said.
    pub fn next(&mut self, retry: Option<Duration>, asked: Option<Duration>) -> Duration {
        let first = retry.unwrap_or(FIRST).min(LONGEST);
        let longest = first.saturating_mul(2_u32.saturating_pow(self.failures.min(16))).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let pause = longest.mul_f64(0.5 + 0.5 * chance());
        asked.map_or(pause, |asked| pause.max(asked.min(LONGEST_ASKED)))
    }

    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// From 0 to 1. Good enough to keep crowds apart.
fn chance() -> f64 {
    let drawn = RandomState::new().hash_one(0_u8) >> 11;
    drawn as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_start_again() {
        let mut pauses = Pauses::default();
        for most in [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000] {
            let pause = pauses.next(None, None).as_millis();
            assert!((most / 2..=most).contains(&pause), "{pause} of {most}");
        }
        pauses.reset();
        assert!(pauses.next(None, None) <= FIRST);
    }

    #[test]
    fn the_server_says_how_long_within_reason() {
        let mut pauses = Pauses::default();
        let second = Duration::from_secs(1);
        assert!(pauses.next(Some(second * 4), None) >= second * 2);
        assert_eq!(pauses.next(None, Some(second * 30)), second * 30);
        assert_eq!(pauses.next(None, Some(second * 3_600)), LONGEST_ASKED);
        assert!(pauses.next(Some(second * 3_600), None) <= LONGEST);
    }

    #[test]
    fn a_crowd_does_not_come_back_together() {
        let pauses: std::collections::BTreeSet<_> = (0..50).map(|_| Pauses::default().next(None, None)).collect();
        assert!(pauses.len() > 40, "{}", pauses.len());
    }
}
