//! The shared limiter against the promises of every limiter, and what it does beyond.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::limiter::LimiterSubject;
use foreman_core::Timestamp;
use foreman_core::memory::LocalLimiter;
use foreman_core::ports::{LimitKey, Limiter, Window};
use foreman_core::tenant::Rate;
use foreman_redis::{Config, RedisLimiter, RedisUse};
use futures_util::future::join_all;
use redis::AsyncCommands as _;

use crate::given::{self, Kept};
use crate::server::RedisServer;

struct Shared {
    kept: Kept,
    limiter: RedisLimiter,
}

impl Shared {
    async fn on(config: &Config) -> Self {
        let kept = Kept::up(config).await;
        let clock = Arc::new(|| Timestamp::from_micros(foreman_runtime::clock::now()));
        let limiter = RedisLimiter::new(kept.link.clone(), Arc::new(LocalLimiter::new(clock)));
        Self { kept, limiter }
    }
}

#[async_trait]
impl LimiterSubject for Shared {
    fn limiter(&self) -> &dyn Limiter {
        &self.limiter
    }

    async fn pass(&self, time: Duration) {
        // Redis keeps time in milliseconds, and this machine has a timer of its own.
        tokio::time::sleep(time + Duration::from_millis(5)).await;
    }
}

async fn shared() -> Shared {
    Shared::on(&given::config()).await
}

foreman_conformance::limiter_suite!(shared);

fn key(whose: &str) -> LimitKey<'_> {
    LimitKey::of("submit", whose)
}

const SLOW: Rate = Rate { per_second: 1, burst: 500 };

#[tokio::test]
async fn processes_that_share_a_redis_grant_the_burst_exactly_once() {
    let config = given::config();
    let processes = [Shared::on(&config).await, Shared::on(&config).await, Shared::on(&config).await];
    let asks = (0..900).map(|number| processes[number % 3].limiter.take(key("a"), SLOW, 1));
    let granted = join_all(asks).await.into_iter().filter(|take| take.is_allowed()).count();
    // One a second comes back meanwhile.
    assert!((500..=510).contains(&granted), "{granted}");
    let hosts: Vec<String> = (0..300).map(|number| format!("{number}.example")).collect();
    let window = Window { most: 100, length: Duration::from_mins(1) };
    let noted = join_all(hosts.iter().enumerate().map(|(number, host)| {
        let limiter = &processes[number % 3].limiter;
        async move { limiter.admit(key("a"), window, &[host.as_str()]).await.is_ok() }
    }));
    assert_eq!(noted.await.into_iter().filter(|is_noted| *is_noted).count(), 100);
    assert_eq!(processes.iter().map(|it| it.kept.told.fell_back(RedisUse::Limits)).sum::<usize>(), 0);
}

#[tokio::test]
async fn every_key_goes_when_it_says_nothing_any_more() {
    let config = given::config();
    let it = Shared::on(&config).await;
    let quick = Rate { per_second: 1_000, burst: 100 };
    assert!(it.limiter.take(key("a"), quick, 100).await.is_allowed());
    let window = Window { most: 5, length: Duration::from_millis(200) };
    it.limiter.admit(key("b"), window, &["x"]).await.unwrap();
    let mut redis = given::connection(&given::shared()).await;
    let keys: Vec<String> = redis.keys(format!("{}*:submit:*", config.prefix)).await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in &keys {
        let ttl: i64 = redis.pttl(key).await.unwrap();
        assert!((1..=1_200).contains(&ttl), "{key} stays for {ttl} ms");
    }
    given::until("they are gone", async || {
        let left: Vec<String> = redis.keys(format!("{}*:submit:*", config.prefix)).await.unwrap();
        left.is_empty()
    })
    .await;
}

#[tokio::test]
async fn without_redis_a_process_goes_on_from_what_it_saw_last() {
    let mut server = RedisServer::start(&[]).await;
    let config = given::at(&server.url());
    let (one, other) = (Shared::on(&config).await, Shared::on(&config).await);
    assert!(one.limiter.take(key("a"), SLOW, 300).await.is_allowed());
    assert!(other.limiter.take(key("a"), SLOW, 150).await.is_allowed());
    server.kill();
    one.kept.is_away().await;
    other.kept.is_away().await;
    // What the other took after it is what it does not know of.
    assert!(one.limiter.take(key("a"), SLOW, 200).await.is_allowed());
    assert!(!one.limiter.take(key("a"), SLOW, 100).await.is_allowed());
    assert!(!other.limiter.take(key("a"), SLOW, 100).await.is_allowed(), "fifty were left when it last looked");
    assert!(one.kept.told.fell_back(RedisUse::Limits) >= 2);
    server.start_again().await;
    one.kept.is_up().await;
    assert!(one.limiter.take(key("a"), SLOW, 500).await.is_allowed(), "an empty Redis has full buckets");
    other.kept.is_up().await;
    assert!(!other.limiter.take(key("a"), SLOW, 100).await.is_allowed(), "and they are shared again");
}

#[tokio::test]
async fn a_redis_that_forgets_its_scripts_is_taught_them_again() {
    let server = RedisServer::start(&[]).await;
    let it = Shared::on(&given::at(&server.url())).await;
    let mut redis = given::connection(&server.url()).await;
    for _ in 0..3 {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut redis).await.unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut redis).await.unwrap();
        assert!(it.limiter.take(key("a"), SLOW, 500).await.is_allowed());
        assert!(!it.limiter.take(key("a"), SLOW, 500).await.is_allowed());
    }
    assert_eq!(it.kept.told.fell_back(RedisUse::Limits), 0);
}

#[tokio::test]
async fn what_lies_there_under_our_name_and_is_none_of_ours_does_no_harm() {
    let config = given::config();
    let it = Shared::on(&config).await;
    let mut redis = given::connection(&given::shared()).await;
    let name = format!("{}bucket:submit:{{a}}", config.prefix);
    for text in ["", "sesame", "-5 7", "1e400 2", "99999999999999999999 99999999999999999999"] {
        let () = redis.set(&name, text).await.unwrap();
        it.limiter.take(key("a"), SLOW, 1).await;
        let () = redis.del(&name).await.unwrap();
    }
    let () = redis.lpush(&name, "a list").await.unwrap();
    assert!(it.limiter.take(key("a"), SLOW, 1).await.is_allowed(), "decided alone");
    it.kept.is_up().await;
}

/// What every use of Redis asks for, answered by Redis.
pub async fn uses_everything(kept: &Kept) {
    let clock = Arc::new(|| Timestamp::from_micros(foreman_runtime::clock::now()));
    let limiter = RedisLimiter::new(kept.link.clone(), Arc::new(LocalLimiter::new(clock)));
    assert!(limiter.take(key("a"), SLOW, 300).await.is_allowed());
    assert!(!limiter.take(key("a"), SLOW, 300).await.is_allowed());
    let window = Window { most: 1, length: Duration::from_mins(1) };
    limiter.admit(LimitKey::of("hosts", "a"), window, &["x"]).await.unwrap();
    assert!(limiter.admit(LimitKey::of("hosts", "a"), window, &["y"]).await.is_err());
    assert_eq!(kept.told.fell_back(RedisUse::Limits), 0, "{:?}", kept.link.status());
    crate::wakeups::rings(kept).await;
    crate::leases::leads(kept).await;
}
