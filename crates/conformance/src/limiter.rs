//! Rate limits: what every limiter keeps, shared or not.
//!
//! Time is the limiter's own; a suite can only wait for it. Rates are such that waits are short, and whatever must not have
//! come back yet would take minutes.

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{LimitKey, Limiter, Window};
use foreman_core::tenant::{Rate, Take};

/// A limiter that nobody else uses, and its time.
#[async_trait]
pub trait LimiterSubject: Send + Sync {
    fn limiter(&self) -> &dyn Limiter;

    /// Returns when so much more time has passed there.
    async fn pass(&self, time: Duration);
}

/// Brings next to nothing while a test runs.
const SLOW: Rate = Rate { per_second: 1, burst: 10_000 };

fn key(whose: &str) -> LimitKey<'_> {
    LimitKey::of("submit", whose)
}

async fn remaining(subject: &dyn LimiterSubject, key: LimitKey<'_>, rate: Rate) -> u64 {
    subject.limiter().take(key, rate, 0).await.quota().remaining
}

pub async fn a_burst_goes_through_and_no_more(subject: &dyn LimiterSubject) {
    let limiter = subject.limiter();
    let first = limiter.take(key("a"), SLOW, 9_000).await;
    assert!(matches!(first, Take::Allowed(quota) if quota.limit == 10_000 && quota.remaining == 1_000), "{first:?}");
    let refused = limiter.take(key("a"), SLOW, 5_000).await;
    let Take::Wait { quota, retry_after } = refused else { panic!("a thousand are left: {refused:?}") };
    assert!((1_000..1_100).contains(&quota.remaining), "the refusal took nothing: {quota:?}");
    assert!(retry_after > Duration::from_mins(65) && retry_after <= Duration::from_secs(4_000), "{retry_after:?}");
    assert!(quota.full_in > Duration::from_secs(8_900) && quota.full_in <= Duration::from_mins(150), "{quota:?}");
}

pub async fn what_was_taken_comes_back_at_the_rate(subject: &dyn LimiterSubject) {
    let (limiter, rate) = (subject.limiter(), Rate { per_second: 20, burst: 2 });
    assert!(limiter.take(key("a"), rate, 2).await.is_allowed());
    let Take::Wait { retry_after, .. } = limiter.take(key("a"), rate, 2).await else { panic!("it is empty") };
    assert!(retry_after <= Duration::from_millis(100), "{retry_after:?}");
    subject.pass(retry_after).await;
    assert!(limiter.take(key("a"), rate, 2).await.is_allowed(), "who waits as told is let in");
}

pub async fn more_than_a_bucket_holds_is_never_allowed(subject: &dyn LimiterSubject) {
    let limiter = subject.limiter();
    assert!(matches!(limiter.take(key("a"), SLOW, 10_001).await, Take::Never(_)));
    assert!(matches!(limiter.take(key("a"), SLOW, u64::MAX).await, Take::Never(_)));
    let once = Rate { per_second: 0, burst: 1 };
    assert!(limiter.take(key("b"), once, 1).await.is_allowed());
    assert!(matches!(limiter.take(key("b"), once, 1).await, Take::Never(_)), "it does not fill again");
    let nothing = Rate { per_second: 0, burst: 0 };
    assert!(matches!(limiter.take(key("c"), nothing, 1).await, Take::Never(_)));
    assert!(limiter.take(key("c"), nothing, 0).await.is_allowed(), "nothing can always be had");
}

pub async fn to_look_takes_nothing(subject: &dyn LimiterSubject) {
    subject.limiter().take(key("a"), SLOW, 10_000).await;
    for _ in 0..3 {
        assert!(remaining(subject, key("a"), SLOW).await < 100);
    }
    assert_eq!(remaining(subject, key("b"), SLOW).await, 10_000);
    assert!(subject.limiter().take(key("b"), SLOW, 10_000).await.is_allowed());
}

pub async fn keys_have_buckets_of_their_own(subject: &dyn LimiterSubject) {
    let names = ["a", "A", "a:b", "a}b", "{a}", "", "ä", "a b", "a\n"];
    for name in names {
        for what in ["submit", "sign-in"] {
            let taken = subject.limiter().take(LimitKey::of(what, name), SLOW, 10_000).await;
            assert!(taken.is_allowed(), "{what} of {name:?} has been taken of by another");
        }
    }
}

pub async fn a_lowered_limit_holds_at_once(subject: &dyn LimiterSubject) {
    subject.limiter().take(key("a"), SLOW, 5_000).await;
    let lower = Rate { per_second: 1, burst: 100 };
    assert!(remaining(subject, key("a"), lower).await < 10);
    assert!(matches!(subject.limiter().take(key("a"), lower, 101).await, Take::Never(_)));
}

pub async fn the_largest_limits_are_limits(subject: &dyn LimiterSubject) {
    for burst in [u64::from(u32::MAX), u64::from(u32::MAX) + 2, 1 << 53, u64::MAX] {
        for per_second in [1, 1 << 53, u64::MAX] {
            let (rate, whose) = (Rate { per_second, burst }, format!("{burst}-{per_second}"));
            let key = key(&whose);
            let taken = subject.limiter().take(key.clone(), rate, 1).await;
            assert!(
                matches!(taken, Take::Allowed(quota) if quota.limit == burst && quota.remaining == burst - 1),
                "{taken:?}"
            );
            let all = subject.limiter().take(key, rate, burst).await;
            assert!(per_second > 1 || matches!(all, Take::Wait { .. }), "{all:?}");
        }
    }
}

pub async fn so_many_different_ones_in_a_window(subject: &dyn LimiterSubject) {
    let (limiter, key) = (subject.limiter(), || LimitKey::of("hosts", "a"));
    let window = Window { most: 2, length: Duration::from_mins(10) };
    assert_eq!(limiter.admit(key(), window, &["a", "b", "a"]).await, Ok(()));
    assert_eq!(limiter.admit(key(), window, &["b"]).await, Ok(()), "one that is noted already is none too many");
    assert_eq!(limiter.admit(key(), window, &[]).await, Ok(()));
    let wait = limiter.admit(key(), window, &["a", "c"]).await.expect_err("a third");
    assert!(wait > Duration::from_mins(9) && wait <= Duration::from_mins(10), "{wait:?}");
    assert_eq!(
        limiter.admit(key(), Window { most: 3, ..window }, &["d"]).await,
        Ok(()),
        "what was refused was not noted"
    );
    assert!(limiter.admit(key(), window, &["e"]).await.is_err());
    assert_eq!(limiter.admit(LimitKey::of("hosts", "b"), window, &["e", "f"]).await, Ok(()), "of another key");
    let none = Window { most: 0, ..window };
    assert!(limiter.admit(LimitKey::of("hosts", "c"), none, &["a"]).await.is_err());
}

pub async fn a_window_ends(subject: &dyn LimiterSubject) {
    let (limiter, key) = (subject.limiter(), || LimitKey::of("hosts", "a"));
    let window = Window { most: 1, length: Duration::from_millis(300) };
    assert_eq!(limiter.admit(key(), window, &["a"]).await, Ok(()));
    let wait = limiter.admit(key(), window, &["b"]).await.expect_err("one is enough");
    subject.pass(wait).await;
    assert_eq!(limiter.admit(key(), window, &["b"]).await, Ok(()));
    assert!(limiter.admit(key(), window, &["a"]).await.is_err(), "and another begins");
}

/// Stamps every promise onto a limiter: `$make` is an async function of the same module that makes a subject.
#[macro_export]
macro_rules! limiter_suite {
    ($make:ident) => {
        $crate::limiter_suite!(@ $make:
            a_burst_goes_through_and_no_more, what_was_taken_comes_back_at_the_rate,
            more_than_a_bucket_holds_is_never_allowed, to_look_takes_nothing, keys_have_buckets_of_their_own,
            a_lowered_limit_holds_at_once, the_largest_limits_are_limits, so_many_different_ones_in_a_window,
            a_window_ends);
    };
    (@ $make:ident: $($promise:ident),*) => {
        mod limiter {
            $(
                #[tokio::test]
                async fn $promise() {
                    let subject = super::$make().await;
                    $crate::limiter::$promise(&subject).await;
                }
            )*
        }
    };
}
