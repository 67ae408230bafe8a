//! Rates that hold over all processes together.
//!
//! Buckets and windows lie in Redis, by its clock; a script takes from them in one step, so any number of processes may ask
//! at once. The bucket is the one of `foreman_core::tenant::bucket`, bit for bit: the script moves the state, and the answer is
//! computed from it as it is for a bucket of this process.
//!
//! While Redis does not answer, each process counts for itself and begins where the shared bucket was when it last saw it.
//! A flushed Redis has full buckets: limits are then granted anew, which never rejects what should be let in.
//!
//! A bucket that is full again has no key. Limits beyond 2^32 at once limit nothing in practice, and are
//! more than the script can count exactly: those each process keeps alone.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::memory::LocalLimiter;
use foreman_core::ports::{LimitKey, Limiter, Window};
use foreman_core::tenant::{Rate, Take, TokenBucket};
use foreman_core::time::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::link::{Away, RedisLink, RedisUse};
use crate::script::Lua;

static BUCKET: LazyLock<Lua> = LazyLock::new(|| Lua::new(include_str!("lua/bucket.lua")));
static WINDOW: LazyLock<Lua> = LazyLock::new(|| Lua::new(include_str!("lua/window.lua")));

/// The largest burst that is shared.
const LARGEST_BURST: u64 = 1 << 32;
/// Whatever is faster fills the largest bucket in a microsecond too.
const FASTEST: u64 = 1 << 52;
const PARTS: u64 = 1_000_000;

/// Asks Redis, and counts alone where it must.
pub struct RedisLimiter {
    link: RedisLink,
    alone: Arc<LocalLimiter>,
}

impl RedisLimiter {
    pub fn new(link: RedisLink, alone: Arc<LocalLimiter>) -> Self {
        Self { link, alone }
    }

    fn name(&self, kind: &str, key: &LimitKey<'_>) -> String {
        // In braces: in a cluster the key lies where whom it is about does.
        self.link.key(&format!("{kind}:{}:{{{}}}", key.what, key.whose))
    }

    async fn take_shared(&self, key: &LimitKey<'_>, rate: Rate, count: u64) -> Option<Take> {
        let args = [rate.per_second.min(FASTEST), rate.burst * PARTS, count.min(rate.burst + 1) * PARTS];
        let name = self.name("bucket", key);
        let told: Result<(u64, i64, i64), Away> = self.link.run(RedisUse::Limits, &BUCKET, &name, &args).await;
        let (missing, at, now) = told.ok()?;
        let mut bucket = TokenBucket::kept(missing.into(), Timestamp::from_micros(at));
        Some(bucket.take(rate, count, Timestamp::from_micros(now)))
    }

    async fn admit_shared(&self, key: &LimitKey<'_>, window: Window, members: &[&str]) -> Option<Result<(), Duration>> {
        let length = u64::try_from(window.length.as_millis()).unwrap_or(u64::MAX).clamp(1, FASTEST);
        let mut args: Vec<Vec<u8>> =
            vec![window.most.min(FASTEST).to_string().into_bytes(), length.to_string().into_bytes()];
        // What is kept of a member has one length, and tells nobody who reads Redis what it is.
        args.extend(members.iter().map(|member| Sha256::digest(member)[..16].to_vec()));
        let name = self.name("window", key);
        let left: u64 = self.link.run(RedisUse::Limits, &WINDOW, &name, &args).await.ok()?;
        Some(if left == 0 { Ok(()) } else { Err(Duration::from_millis(left)) })
    }
}

#[async_trait]
impl Limiter for RedisLimiter {
    async fn take(&self, key: LimitKey<'_>, rate: Rate, count: u64) -> Take {
        if rate.burst > LARGEST_BURST {
            return self.alone.take(key, rate, count).await;
        }
        let Some(take) = self.take_shared(&key, rate, count).await else {
            return self.alone.take(key, rate, count).await;
        };
        self.alone.remember(&key, rate, take.quota());
        take
    }

    async fn admit(&self, key: LimitKey<'_>, window: Window, members: &[&str]) -> Result<(), Duration> {
        if members.is_empty() {
            return Ok(());
        }
        match self.admit_shared(&key, window, members).await {
            Some(Err(wait)) => Err(wait),
            Some(Ok(())) => {
                // Noted here as well, for the time when Redis does not answer. What this process says to it counts for nothing.
                let _ = self.alone.admit(key, window, members).await;
                Ok(())
            }
            None => self.alone.admit(key, window, members).await,
        }
    }
}
