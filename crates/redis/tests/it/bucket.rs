//! The bucket in Lua and the one in Rust: the same state after the same take, whatever the numbers.

use foreman_core::Timestamp;
use foreman_core::tenant::{Rate, TokenBucket};
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::given;

const LUA: &str = include_str!("../../src/lua/bucket.lua");
const PARTS: u64 = 1_000_000;
const LARGEST: u64 = 1 << 32;
const FASTEST: u64 = 1 << 52;

/// A bucket as it may lie there: how much is missing, and by how many microseconds its time lies before ours.
#[derive(Clone, Copy, Debug)]
struct Before {
    missing: u64,
    ago: i64,
}

async fn compare(redis: &mut MultiplexedConnection, key: &str, before: Option<Before>, rate: Rate, count: u64) {
    let (secs, micros): (i64, i64) = redis::cmd("TIME").query_async(redis).await.unwrap();
    match before {
        Some(Before { missing, ago }) => {
            let at = (secs * 1_000_000 + micros - ago).max(0);
            let () = redis.set(key, format!("{missing} {at}")).await.unwrap();
        }
        None => {
            let () = redis.del(key).await.unwrap();
        }
    }
    let (missing, at, now): (u64, i64, i64) = redis::Script::new(LUA)
        .key(key)
        .arg(rate.per_second.min(FASTEST))
        .arg(rate.burst * PARTS)
        .arg(count.min(rate.burst + 1) * PARTS)
        .invoke_async(redis)
        .await
        .unwrap();
    let told = format!("{before:?} {rate:?} {count}: {missing} {at} {now}");
    assert_eq!(missing, before.map_or(0, |before| before.missing), "{told}");
    let mut bucket = TokenBucket::kept(missing.into(), Timestamp::from_micros(at));
    let take = bucket.take(rate, count, Timestamp::from_micros(now));
    let kept: Option<String> = redis.get(key).await.unwrap();
    if count == 0 {
        assert_eq!(kept, before.map(|_| format!("{missing} {at}")), "to look changes nothing: {told}");
        return;
    }
    let (missing, at) = bucket.parts();
    let expected = (missing > 0).then(|| format!("{missing} {}", at.as_micros()));
    assert_eq!(kept, expected, "{take:?}: {told}");
    let ttl: i64 = redis.pttl(key).await.unwrap();
    if kept.is_some() && rate.per_second > 0 {
        let full_in = i64::try_from(take.quota().full_in.as_millis()).unwrap();
        assert!(ttl > full_in && ttl <= full_in + 1_002, "gone when it is full again: {ttl} for {take:?}: {told}");
    }
}

/// Small numbers, and those at the edges of what can be counted exactly.
fn number(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![0..20_u64, 0..10_000_u64, 0..=most, (most - 3)..=most]
}

fn befores() -> impl Strategy<Value = Option<Before>> {
    let ago = prop_oneof![-10_i64..10, -10_000_000_i64..10_000_000, -5_000_000_000_000_000_i64..1_700_000_000_000_000];
    let before = (number(LARGEST * PARTS), ago).prop_map(|(missing, ago)| Before { missing, ago });
    prop_oneof![1 => Just(None), 9 => before.prop_map(Some)]
}

fn rates() -> impl Strategy<Value = Rate> {
    let per_second = prop_oneof![number(5_000), number(FASTEST), Just(u64::MAX)];
    (per_second, number(LARGEST)).prop_map(|(per_second, burst)| Rate { per_second, burst })
}

#[test]
fn the_bucket_in_lua_is_the_one_in_rust() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = given::config();
    let key = format!("{}bucket", config.prefix);
    let redis = runtime.block_on(given::connection(&given::shared()));
    #[expect(clippy::disallowed_methods, reason = "how long to go on is the runner's to say")]
    let cases = if std::env::var("FOREMAN_TORTURE").is_ok() { 100_000 } else { 3_000 };
    let mut runner = TestRunner::new(Cases { cases, failure_persistence: None, ..Cases::default() });
    let asks = (befores(), rates(), prop_oneof![number(LARGEST), Just(u64::MAX)]);
    let result = runner.run(&asks, |(before, rate, count)| {
        let mut redis = redis.clone();
        runtime.block_on(compare(&mut redis, &key, before, rate, count));
        Ok(())
    });
    result.unwrap();
}

/// A history and not a single take: what is kept is taken of again.
#[tokio::test]
async fn a_history_of_takes_is_answered_alike() {
    let mut redis = given::connection(&given::shared()).await;
    let key = format!("{}history", given::config().prefix);
    let script = redis::Script::new(LUA);
    let (rate, mut bucket) = (Rate { per_second: 700, burst: 90 }, TokenBucket::default());
    let mut granted = 0;
    for number in 0..400_u64 {
        let count = 1 + number * 7 % 23;
        let (missing, at, now): (u64, i64, i64) = script
            .key(&key)
            .arg(rate.per_second)
            .arg(rate.burst * PARTS)
            .arg(count * PARTS)
            .invoke_async(&mut redis)
            .await
            .unwrap();
        let now = Timestamp::from_micros(now);
        let mut shared = TokenBucket::kept(missing.into(), Timestamp::from_micros(at));
        let (there, here) = (shared.take(rate, count, now), bucket.take(rate, count, now));
        assert_eq!(there, here, "take {number} of {count}");
        granted += u64::from(there.is_allowed());
    }
    assert!(granted > 0 && granted < 400, "{granted} of 400: some are refused and some are not");
}
