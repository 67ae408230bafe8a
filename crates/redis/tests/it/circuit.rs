//! A Redis that is slow, hangs, refuses or is gone: nobody waits for it for long, and it is found again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::memory::LocalLimiter;
use foreman_core::ports::{LimitKey, Limiter};
use foreman_core::tenant::Rate;
use foreman_redis::{Config, RedisLimiter, RedisUse};
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::given::{self, Kept, until};
use crate::proxy::{Pass, Proxy};
use crate::server::RedisServer;

const RATE: Rate = Rate { per_second: 1, burst: 1_000_000 };

fn limiter(kept: &Kept) -> RedisLimiter {
    let clock = Arc::new(|| Timestamp::from_micros(foreman_runtime::clock::now()));
    RedisLimiter::new(kept.link.clone(), Arc::new(LocalLimiter::new(clock)))
}

async fn take(limiter: &RedisLimiter) -> bool {
    limiter.take(LimitKey::of("submit", "a"), RATE, 1).await.is_allowed()
}

/// As a server has it, on a machine that is slow.
fn impatient(url: &str) -> Config {
    Config { call_timeout: Duration::from_millis(200), ..given::at(url) }
}

#[tokio::test]
async fn requests_do_not_queue_behind_a_redis_that_answers_late_or_never() {
    let server = RedisServer::start(&[]).await;
    let proxy = Proxy::before(server.address()).await;
    let kept = Kept::up(&impatient(&format!("redis://{}", proxy.address))).await;
    let limiter = limiter(&kept);
    assert!(take(&limiter).await);
    for how in [Pass::Late(Duration::from_secs(5)), Pass::Never] {
        proxy.pass(how);
        let began = Instant::now();
        // Far more than may wait at once.
        for _ in 0..50 {
            assert!(join_all((0..100).map(|_| take(&limiter))).await.into_iter().all(|is_allowed| is_allowed));
        }
        // One limit for all of the first, and nothing for the others: to wait for each would take minutes.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        kept.is_away().await;
        assert!(kept.link.status().why.is_some());
        let fell_back = kept.told.fell_back(RedisUse::Limits);
        assert!(fell_back >= 5_000, "{fell_back}");
        proxy.pass(Pass::AtOnce);
        kept.is_up().await;
        let answered = kept.told.answered(RedisUse::Limits);
        until("it is asked again", async || take(&limiter).await && kept.told.answered(RedisUse::Limits) > answered)
            .await;
    }
    assert!(proxy.connections.load(Ordering::SeqCst) >= 3, "a connection that hung is not used again");
}

#[tokio::test]
async fn one_late_answer_is_no_reason_to_go_on_alone() {
    let server = RedisServer::start(&[]).await;
    let proxy = Proxy::before(server.address()).await;
    let kept = Kept::up(&impatient(&format!("redis://{}", proxy.address))).await;
    let limiter = limiter(&kept);
    proxy.pass(Pass::Late(Duration::from_millis(400)));
    assert!(take(&limiter).await);
    proxy.pass(Pass::AtOnce);
    assert!(kept.told.fell_back(RedisUse::Limits) >= 1);
    until("it is asked again", async || take(&limiter).await && kept.told.answered(RedisUse::Limits) > 0).await;
}

#[tokio::test]
async fn a_redis_that_comes_late_goes_away_and_comes_back_is_used_while_it_is_there() {
    let port = crate::server::free_port();
    let kept = Kept::start(&given::at(&format!("redis://127.0.0.1:{port}")));
    let limiter = limiter(&kept);
    assert!(take(&limiter).await, "nobody waits for it at the start");
    let mut server = RedisServer::start_at(port, &[]).await;
    for _ in 0..3 {
        kept.is_up().await;
        let answered = kept.told.answered(RedisUse::Limits);
        until("it is asked", async || take(&limiter).await && kept.told.answered(RedisUse::Limits) > answered).await;
        server.kill();
        // Without a request, too: the keeper asks when nobody else does.
        kept.is_away().await;
        assert!(take(&limiter).await);
        server.start_again().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_written_is_as_good_as_none() {
    let full = RedisServer::start(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await;
    let primary = RedisServer::start(&[]).await;
    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &primary.port.to_string()]).await;
    for server in [&full, &replica] {
        let kept = Kept::start(&given::at(&server.url()));
        until("it says why", async || {
            let why = kept.link.status().why.unwrap_or_default().to_lowercase();
            why.contains("oom") || why.contains("readonly") || why.contains("read only")
        })
        .await;
        assert!(!kept.link.status().is_up && take(&limiter(&kept)).await);
    }
    // A replica that becomes the primary is one.
    let kept = Kept::start(&given::at(&replica.url()));
    let mut redis = given::connection(&replica.url()).await;
    let () = redis::cmd("REPLICAOF").arg("NO").arg("ONE").query_async(&mut redis).await.unwrap();
    kept.is_up().await;
    // And one that becomes a replica is none any more.
    let () = redis::cmd("REPLICAOF").arg("127.0.0.1").arg(primary.port).query_async(&mut redis).await.unwrap();
    kept.is_away().await;
}
