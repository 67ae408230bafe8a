//! A token bucket: so many at once, so many a second over time.
//!
//! Plain arithmetic on whole numbers: the state is how much is missing from a full bucket and when that was so, and the
//! time is passed in. Nothing is rounded away, whatever the rate, and a state of zeros is a full bucket. Several processes
//! may share one state through a store; their clocks need not agree for the limit to hold.

use std::time::Duration;

use super::{Limit, TenantLimits};
use crate::time::Timestamp;

/// `per_second` over time, `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u64,
    pub burst: u64,
}

/// Millionths of a token: each microsecond brings `per_second` of them.
const PARTS: u128 = 1_000_000;

impl Rate {
    /// How fast a tenant may submit jobs; `None` when nothing holds them up.
    pub fn of_submissions(limits: &TenantLimits) -> Option<Self> {
        match (limits.submit_per_second, limits.submit_burst) {
            (Limit::AtMost(per_second), Limit::AtMost(burst)) => Some(Self { per_second, burst }),
            _ => None,
        }
    }

    fn full(self) -> u128 {
        u128::from(self.burst) * PARTS
    }

    /// How long until so many parts have come; for ever when none do.
    fn time_for(self, parts: u128) -> Duration {
        match u128::from(self.per_second) {
            _ if parts == 0 => Duration::ZERO,
            0 => Duration::MAX,
            rate => Duration::from_micros(u64::try_from(parts.div_ceil(rate)).unwrap_or(u64::MAX)),
        }
    }
}

/// What has been taken and has not come back yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    /// In millionths of a token.
    missing: u128,
    at: Timestamp,
}

/// What the asker is told, allowed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most at once.
    pub limit: u64,
    /// As much could be taken now.
    pub remaining: u64,
    /// Until the bucket is full again, if nothing is taken.
    pub full_in: Duration,
}

impl Quota {
    /// The fields that clients know: whole seconds, rounded up.
    pub fn headers(self) -> [(&'static str, String); 3] {
        [
            ("ratelimit-limit", self.limit.to_string()),
            ("ratelimit-remaining", self.remaining.to_string()),
            ("ratelimit-reset", seconds_up(self.full_in).to_string()),
        ]
    }
}

/// A wait as clients are told: whole seconds, rounded up.
pub fn seconds_up(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It was taken.
    Allowed(Quota),
    /// Nothing was taken; as much can be after this long, if nobody else takes it.
    Wait { quota: Quota, retry_after: Duration },
    /// More than the bucket ever holds: asking again will not help, asking for less may.
    Never(Quota),
}

impl Take {
    pub fn is_allowed(self) -> bool {
        matches!(self, Take::Allowed(_))
    }

    pub fn quota(self) -> Quota {
        match self {
            Take::Allowed(quota) | Take::Wait { quota, .. } | Take::Never(quota) => quota,
        }
    }

    /// For `Retry-After`: whole seconds, at least one.
    pub fn retry_after_secs(self) -> Option<u64> {
        match self {
            Take::Wait { retry_after, .. } => Some(seconds_up(retry_after).max(1)),
            Take::Allowed(_) | Take::Never(_) => None,
        }
    }
}

impl TokenBucket {
    /// As it is kept elsewhere: how much is missing, in millionths of a token, and when that was so.
    pub fn kept(missing: u128, at: Timestamp) -> Self {
        Self { missing, at }
    }

    /// One in which so many tokens are left.
    pub fn lacking(rate: Rate, remaining: u64, now: Timestamp) -> Self {
        Self { missing: u128::from(rate.burst.saturating_sub(remaining)) * PARTS, at: now }
    }

    /// What [`TokenBucket::kept`] makes it of.
    pub fn parts(&self) -> (u128, Timestamp) {
        (self.missing, self.at)
    }

    /// Takes `count` tokens, all or none.
    pub fn take(&mut self, rate: Rate, count: u64, now: Timestamp) -> Take {
        self.refill(rate, now);
        let wanted = self.missing + u128::from(count) * PARTS;
        if count == 0 || wanted <= rate.full() {
            self.missing = wanted;
            return Take::Allowed(self.quota(rate, now));
        }
        let quota = self.quota(rate, now);
        if count > rate.burst || rate.per_second == 0 {
            return Take::Never(quota);
        }
        Take::Wait { quota, retry_after: self.ahead_of(now).saturating_add(rate.time_for(wanted - rate.full())) }
    }

    /// What could be taken, without taking it.
    pub fn look(&self, rate: Rate, now: Timestamp) -> Quota {
        let mut copy = *self;
        copy.refill(rate, now);
        copy.quota(rate, now)
    }

    fn refill(&mut self, rate: Rate, now: Timestamp) {
        let come = now.since(self.at).as_micros().saturating_mul(u128::from(rate.per_second));
        // No more is missing than fits in: the burst may have been lowered since.
        self.missing = self.missing.saturating_sub(come).min(rate.full());
        // Never back: two processes whose clocks differ by a little would otherwise be given that little again at every
        // turn. But a clock that was wrong by years must not close the bucket for years, so no further ahead than it
        // takes to fill.
        self.at = self.at.min(now.plus(rate.time_for(rate.full()))).max(now);
    }

    /// How far the state is ahead of a clock that is behind: nothing comes until then.
    fn ahead_of(&self, now: Timestamp) -> Duration {
        self.at.since(now)
    }

    fn quota(&self, rate: Rate, now: Timestamp) -> Quota {
        let full_in = match rate.time_for(self.missing) {
            Duration::ZERO => Duration::ZERO,
            wait => wait.saturating_add(self.ahead_of(now)),
        };
        let remaining = rate.full().saturating_sub(self.missing) / PARTS;
        Quota { limit: rate.burst, remaining: u64::try_from(remaining).unwrap_or(u64::MAX), full_in }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_767_225_600_000_000;
    const TEN: Rate = Rate { per_second: 10, burst: 20 };

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(START + micros)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_new_bucket_is_full() {
        let quota = Quota { limit: 20, remaining: 20, full_in: Duration::ZERO };
        assert_eq!(TokenBucket::default().look(TEN, at(0)), quota);
    }

    #[test]
    fn a_burst_goes_through_and_then_the_rate() {
        let mut bucket = TokenBucket::default();
        assert_eq!(bucket.take(TEN, 20, at(0)).quota().remaining, 0);
        let refused = bucket.take(TEN, 1, at(0));
        let quota = Quota { limit: 20, remaining: 0, full_in: Duration::from_secs(2) };
        assert_eq!(refused, Take::Wait { quota, retry_after: millis(100) });
        assert!(!bucket.take(TEN, 1, at(99_999)).is_allowed());
        assert!(bucket.take(TEN, 1, at(100_000)).is_allowed());
        assert!(!bucket.take(TEN, 1, at(100_000)).is_allowed());
        assert!(bucket.take(TEN, 20, at(10_000_000)).is_allowed(), "and after a quiet time the burst again");
    }

    #[test]
    fn a_batch_is_taken_whole_or_not_at_all() {
        let mut bucket = TokenBucket::default();
        bucket.take(TEN, 15, at(0));
        let Take::Wait { quota, retry_after } = bucket.take(TEN, 8, at(0)) else { panic!("five are left") };
        assert_eq!((quota.remaining, retry_after), (5, millis(300)));
        assert!(bucket.take(TEN, 5, at(0)).is_allowed(), "the refusal took nothing");
    }

    #[test]
    fn more_than_the_bucket_holds_is_never_allowed() {
        let mut bucket = TokenBucket::default();
        assert!(matches!(bucket.take(TEN, 21, at(0)), Take::Never(quota) if quota.remaining == 20));
        assert!(bucket.take(TEN, 20, at(0)).is_allowed());
        let nothing = Rate { per_second: 0, burst: 0 };
        assert!(matches!(bucket.take(nothing, 1, at(0)), Take::Never(_)));
        let once = Rate { per_second: 0, burst: 1 };
        let mut bucket = TokenBucket::default();
        assert!(bucket.take(once, 1, at(0)).is_allowed());
        assert!(matches!(bucket.take(once, 1, at(i64::MAX / 2)), Take::Never(_)), "it does not fill again");
        assert!(bucket.take(nothing, 0, at(0)).is_allowed(), "nothing can always be had");
    }

    #[test]
    fn the_headers_are_whole_seconds_rounded_up() {
        let mut bucket = TokenBucket::default();
        let headers = |take: Take| take.quota().headers().map(|(name, value)| format!("{name}: {value}"));
        let expected = ["ratelimit-limit: 20", "ratelimit-remaining: 9", "ratelimit-reset: 2"];
        assert_eq!(headers(bucket.take(TEN, 11, at(0))), expected);
        assert_eq!(bucket.take(TEN, 10, at(0)).retry_after_secs(), Some(1), "a tenth of a second is a second");
        assert_eq!(bucket.take(TEN, 1, at(0)).retry_after_secs(), None);
    }

    #[test]
    fn a_lowered_limit_holds_at_once_and_is_not_held_against_anyone_for_long() {
        let mut bucket = TokenBucket::default();
        bucket.take(Rate { per_second: 1, burst: 1_000 }, 1_000, at(0));
        let Take::Wait { retry_after, .. } = bucket.take(TEN, 1, at(0)) else { panic!("nothing is left") };
        assert_eq!(retry_after, millis(100));
    }

    #[test]
    fn a_clock_that_was_wrong_by_years_closes_the_bucket_for_seconds() {
        let mut bucket = TokenBucket::default();
        let years = 400 * 86_400 * 1_000_000;
        bucket.take(TEN, 20, at(years));
        let Take::Wait { retry_after, .. } = bucket.take(TEN, 1, at(0)) else { panic!("nothing is left") };
        assert!(retry_after <= millis(2_100), "{retry_after:?}");
        assert!(bucket.take(TEN, 1, at(0).plus(retry_after)).is_allowed());
    }

    #[test]
    fn a_rate_needs_both_its_numbers() {
        let limits = TenantLimits::default();
        assert_eq!(Rate::of_submissions(&limits), Some(Rate { per_second: 1_000, burst: 10_000 }));
        let unlimited = crate::tenant::LimitOverrides {
            submit_per_second: Some(Limit::Unlimited),
            ..crate::tenant::LimitOverrides::default()
        };
        assert_eq!(Rate::of_submissions(&limits.with(&unlimited)), None);
        assert_eq!(Rate::of_submissions(&TenantLimits::unlimited()), None);
    }

    fn rates() -> impl Strategy<Value = Rate> {
        (1_u64..5_000, 1_u64..10_000).prop_map(|(per_second, burst)| Rate { per_second, burst })
    }

    proptest! {
        /// The promise itself: in any stretch of time no more than the burst and what the rate brings.
        #[test]
        fn no_more_goes_through_than_the_burst_and_the_rate(
            rate in rates(), asks in prop::collection::vec((0_i64..2_000_000, 1_u64..2_000), 1..60),
        ) {
            let (mut bucket, mut now, mut granted) = (TokenBucket::default(), 0, Vec::new());
            for (wait, count) in asks {
                now += wait;
                if bucket.take(rate, count, at(now)).is_allowed() {
                    granted.push((now, count));
                }
            }
            for (first, (from, _)) in granted.iter().enumerate() {
                let mut total = 0_u128;
                for (to, count) in &granted[first..] {
                    total += u128::from(*count);
                    let most = rate.full() + u128::from(rate.per_second) * (to - from) as u128;
                    prop_assert!(total * PARTS <= most, "{total} between {from} and {to}");
                }
            }
        }

        #[test]
        fn who_waits_as_told_is_let_in_and_not_a_microsecond_earlier(
            rate in rates(), taken in 0_u64..10_000, count in 1_u64..10_000, later in 0_i64..1_000_000,
        ) {
            let mut bucket = TokenBucket::default();
            bucket.take(rate, taken.min(rate.burst), at(0));
            let before = bucket.look(rate, at(later));
            match bucket.take(rate, count, at(later)) {
                Take::Allowed(quota) => {
                    prop_assert!(before.remaining >= count);
                    prop_assert_eq!(quota.remaining, before.remaining - count);
                }
                Take::Never(quota) => {
                    prop_assert!(count > rate.burst);
                    prop_assert_eq!(quota, before);
                }
                Take::Wait { quota, retry_after } => {
                    prop_assert!(before.remaining < count && count <= rate.burst);
                    prop_assert_eq!(quota, before);
                    let then = at(later).plus(retry_after);
                    prop_assert!(!bucket.clone().take(rate, count, then.minus(Duration::from_micros(1))).is_allowed());
                    prop_assert!(bucket.take(rate, count, then).is_allowed());
                }
            }
        }

        #[test]
        fn a_bucket_is_full_when_it_said_and_never_fuller(rate in rates(), taken in 1_u64..10_000, later in 0_i64..3_000_000) {
            let mut bucket = TokenBucket::default();
            let taken = bucket.take(rate, taken.min(rate.burst), at(0)).quota();
            let then = at(0).plus(taken.full_in);
            prop_assert_eq!(bucket.look(rate, then), Quota { remaining: rate.burst, full_in: Duration::ZERO, ..taken });
            prop_assert!(bucket.look(rate, then.minus(Duration::from_micros(1))).full_in > Duration::ZERO);
            prop_assert_eq!(bucket.look(rate, then.plus(Duration::from_micros(later as u64))).remaining, rate.burst);
        }

        /// Processes that share a bucket, disagree about the time by less than it takes to fill, and take what they get.
        #[test]
        fn clocks_that_disagree_bring_nothing_extra(
            per_second in 1_u64..1_000, burst in 1_u64..100,
            asks in prop::collection::vec((0_i64..10_000, 0_i64..100), 1..80),
        ) {
            let rate = Rate { per_second, burst };
            let fill = rate.time_for(rate.full()).as_micros() as i64;
            let (mut bucket, mut now, mut latest, mut total) = (TokenBucket::default(), 0, 0, 0_u128);
            for (wait, skew) in asks {
                now += wait;
                let seen = now + fill * skew / 100;
                latest = latest.max(seen);
                let there = bucket.look(rate, at(seen)).remaining;
                prop_assert!(bucket.take(rate, there, at(seen)).is_allowed());
                total += u128::from(there);
            }
            prop_assert!(total * PARTS <= rate.full() + u128::from(rate.per_second) * latest as u128);
        }
    }
}
