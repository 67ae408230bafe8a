//! Rate limits of one process, and what a shared limiter falls back to.
//!
//! Each kind of key has a table of its own, bounded, so that a flood of addresses does not push out the buckets of
//! tenants. What is full again is as if it were not there, and goes first; then the older half.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::ports::{LimitKey, Limiter, Window};
use crate::tenant::{Quota, Rate, Take, TokenBucket};
use crate::time::{Clock, Timestamp};

/// So many keys of one kind are remembered.
const MOST_KEYS: usize = 10_000;

pub struct LocalLimiter {
    clock: Arc<dyn Clock>,
    most: usize,
    kinds: Mutex<HashMap<&'static str, LimitTable>>,
    hasher: RandomState,
}

#[derive(Default)]
struct LimitTable {
    buckets: HashMap<String, KeptBucket>,
    windows: HashMap<String, OpenWindow>,
}

struct KeptBucket {
    bucket: TokenBucket,
    rate: Rate,
    used: Timestamp,
}

/// Only a hash of each member is kept, and no more of them than the limit.
struct OpenWindow {
    began: Timestamp,
    length: Duration,
    seen: HashSet<u64>,
}

impl LocalLimiter {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, most: MOST_KEYS, kinds: Mutex::default(), hasher: RandomState::new() }
    }

    /// What a shared bucket was like a moment ago: whoever goes on alone begins from there, and not with a full one.
    pub fn remember(&self, key: &LimitKey<'_>, rate: Rate, quota: Quota) {
        let now = self.clock.now();
        let bucket = TokenBucket::lacking(rate, quota.remaining, now);
        self.kept(key, now, |kept| *kept = KeptBucket { bucket, rate, used: now });
    }

    fn kept<T>(&self, key: &LimitKey<'_>, now: Timestamp, change: impl FnOnce(&mut KeptBucket) -> T) -> T {
        let mut kinds = self.lock();
        let buckets = &mut kinds.entry(key.what).or_default().buckets;
        if let Some(kept) = buckets.get_mut(&*key.whose) {
            return change(kept);
        }
        if buckets.len() >= self.most {
            make_room(buckets, self.most, |kept| !kept.is_full(now), |kept| kept.used);
        }
        let whole = KeptBucket { bucket: TokenBucket::default(), rate: Rate { per_second: 0, burst: 0 }, used: now };
        change(buckets.entry(key.whose.clone().into_owned()).or_insert(whole))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, LimitTable>> {
        // Nothing in here can panic half way through a change.
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptBucket {
    fn is_full(&self, now: Timestamp) -> bool {
        self.bucket.look(self.rate, now).full_in.is_zero()
    }
}

impl OpenWindow {
    /// How long it is still open. One that would begin in the future is of a clock that was wrong.
    fn left(&self, now: Timestamp) -> Duration {
        if now < self.began { Duration::ZERO } else { self.length.saturating_sub(now.since(self.began)) }
    }
}

#[async_trait]
impl Limiter for LocalLimiter {
    async fn take(&self, key: LimitKey<'_>, rate: Rate, count: u64) -> Take {
        let now = self.clock.now();
        self.kept(&key, now, |kept| {
            (kept.rate, kept.used) = (rate, now);
            kept.bucket.take(rate, count, now)
        })
    }

    async fn admit(&self, key: LimitKey<'_>, window: Window, members: &[&str]) -> Result<(), Duration> {
        let now = self.clock.now();
        let mut members: HashSet<u64> = members.iter().map(|member| self.hasher.hash_one(member)).collect();
        let mut kinds = self.lock();
        let windows = &mut kinds.entry(key.what).or_default().windows;
        let whose: Cow<'_, str> = key.whose;
        if windows.get(&*whose).is_some_and(|open| open.left(now).is_zero()) {
            windows.remove(&*whose);
        }
        if let Some(open) = windows.get(&*whose) {
            members.retain(|member| !open.seen.contains(member));
        }
        if members.is_empty() {
            return Ok(());
        }
        let (noted, left) = windows.get(&*whose).map_or((0, window.length), |open| (open.seen.len(), open.left(now)));
        if (noted + members.len()) as u64 > window.most {
            return Err(left);
        }
        if windows.len() >= self.most && !windows.contains_key(&*whose) {
            make_room(windows, self.most, |open| !open.left(now).is_zero(), |open| open.began);
        }
        let fresh = OpenWindow { began: now, length: window.length, seen: HashSet::new() };
        windows.entry(whose.into_owned()).or_insert(fresh).seen.extend(members);
        Ok(())
    }
}

/// First what is over; if that is little, the older half.
fn make_room<V>(
    table: &mut HashMap<String, V>,
    most: usize,
    is_kept: impl Fn(&V) -> bool,
    age: impl Fn(&V) -> Timestamp,
) {
    table.retain(|_, entry| is_kept(entry));
    if table.len() > most / 2 {
        let mut ages: Vec<Timestamp> = table.values().map(&age).collect();
        let (_, middle, _) = ages.select_nth_unstable(most / 2);
        let middle = *middle;
        table.retain(|_, entry| age(entry) > middle);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::memory::ManualClock;

    const RATE: Rate = Rate { per_second: 1, burst: 2 };

    fn limiter(most: usize) -> (Arc<ManualClock>, LocalLimiter) {
        let clock = Arc::new(ManualClock::new());
        let limiter = LocalLimiter { most, ..LocalLimiter::new(clock.clone()) };
        (clock, limiter)
    }

    fn key(whose: &str) -> LimitKey<'_> {
        LimitKey::of("submit", whose)
    }

    #[tokio::test]
    async fn a_thousand_keys_do_not_fill_the_memory_and_the_latest_is_remembered() {
        let (clock, limiter) = limiter(64);
        for number in 0..1_000 {
            let whose = number.to_string();
            assert!(limiter.take(key(&whose), RATE, 2).await.is_allowed());
            assert!(limiter.admit(key(&whose), window(1), &["a"]).await.is_ok());
            clock.advance(Duration::from_micros(1));
            let kinds = limiter.lock();
            assert!(kinds["submit"].buckets.len() <= 64 && kinds["submit"].windows.len() <= 64);
        }
        assert!(!limiter.take(key("999"), RATE, 1).await.is_allowed());
        assert!(limiter.admit(key("999"), window(1), &["b"]).await.is_err());
        clock.advance(Duration::from_mins(2));
        for number in 0..64 {
            limiter.take(key(&format!("later-{number}")), RATE, 1).await;
        }
        assert!(!limiter.lock()["submit"].buckets.contains_key("999"), "what is full again makes room first");
    }

    #[tokio::test]
    async fn who_goes_on_alone_begins_with_what_was_left() {
        let (clock, limiter) = limiter(64);
        limiter.remember(&key("a"), RATE, Quota { limit: 2, remaining: 1, full_in: Duration::from_secs(1) });
        assert!(limiter.take(key("a"), RATE, 1).await.is_allowed());
        assert!(!limiter.take(key("a"), RATE, 1).await.is_allowed());
        clock.advance(Duration::from_secs(1));
        assert!(limiter.take(key("a"), RATE, 1).await.is_allowed());
    }

    #[tokio::test]
    async fn a_clock_that_goes_back_closes_no_window_for_long() {
        let hours = Arc::new(AtomicI64::new(24));
        let clock = Arc::clone(&hours);
        let limiter =
            LocalLimiter::new(Arc::new(move || Timestamp::from_micros(clock.load(Ordering::SeqCst) * 3_600_000_000)));
        assert!(limiter.admit(key("a"), window(1), &["a"]).await.is_ok());
        hours.store(12, Ordering::SeqCst);
        assert!(limiter.admit(key("a"), window(1), &["b"]).await.is_ok());
    }

    fn window(most: u64) -> Window {
        Window { most, length: Duration::from_mins(1) }
    }
}
