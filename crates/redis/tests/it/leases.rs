//! Who tries to lead: the hint spares the keeper of leases, and never decides.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_redis::{HintedLease, RedisUse};
use foreman_runtime::leadership::{self, Leadership, Lease, Term, Unavailable};
use foreman_runtime::{Stop, Tasks};
use redis::AsyncCommands as _;
use tokio::time::{Instant, sleep};

use crate::given::{self, Kept, until};
use crate::server::RedisServer;

const TTL: Duration = Duration::from_secs(2);

/// Its term, its holder, and until when.
type KeptLease = (u64, String, Option<Instant>);

/// Keeps leases as a database does, and counts who asks.
#[derive(Default)]
struct Truth {
    leases: Mutex<HashMap<String, KeptLease>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Lease for Truth {
    async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut leases = self.leases.lock().unwrap();
        let (term, known, until) = leases.entry(name.to_owned()).or_default();
        if known != holder && until.is_some_and(|until| until > Instant::now()) {
            return Ok(None);
        }
        (*term, *known, *until) = (*term + 1, holder.to_owned(), Some(Instant::now() + ttl));
        Ok(Some(Term(*term)))
    }

    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        let mut leases = self.leases.lock().unwrap();
        let (known, _, until) = leases.entry(name.to_owned()).or_default();
        if *known == term.0 {
            *until = Some(Instant::now() + ttl);
        }
        Ok(*known == term.0)
    }

    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable> {
        let mut leases = self.leases.lock().unwrap();
        let (known, _, until) = leases.entry(name.to_owned()).or_default();
        if *known == term.0 {
            (*known, *until) = (*known + 1, None);
        }
        Ok(())
    }
}

#[tokio::test]
async fn only_who_has_the_hint_asks_for_the_lease() {
    let (config, truth) = (given::config(), Arc::new(Truth::default()));
    let (one, two) = (Kept::up(&config).await, Kept::up(&config).await);
    let (a, b) = (HintedLease::new(one.link.clone(), truth.clone()), HintedLease::new(two.link.clone(), truth.clone()));
    let long = Duration::from_mins(1);
    let term = a.acquire("office", "a", long).await.unwrap().expect("nobody leads");
    let asked = truth.asked.load(Ordering::SeqCst);
    for _ in 0..20 {
        assert_eq!(b.acquire("office", "b", long).await.unwrap(), None);
    }
    assert_eq!(truth.asked.load(Ordering::SeqCst), asked, "the hint is another's");
    let until = b.taken_until().expect("it says for how long");
    assert!(until > Instant::now() + long / 2 && until <= Instant::now() + long);
    assert!(b.acquire("another office", "b", long).await.unwrap().is_some(), "offices are apart");
    assert!(a.renew("office", term, long).await.unwrap());
    // Who resigns need not be waited for.
    a.resign("office", term).await.unwrap();
    assert!(b.acquire("office", "b", long).await.unwrap().is_some_and(|next| next > term));
    assert_eq!(a.acquire("office", "a", long).await.unwrap(), None);
}

#[tokio::test]
async fn who_has_the_hint_and_not_the_lease_gives_it_back() {
    let (config, truth) = (given::config(), Arc::new(Truth::default()));
    let kept = Kept::up(&config).await;
    let (a, b) =
        (HintedLease::new(kept.link.clone(), truth.clone()), HintedLease::new(kept.link.clone(), truth.clone()));
    let long = Duration::from_mins(1);
    let term = a.acquire("office", "a", long).await.unwrap().unwrap();
    let mut redis = given::connection(&given::shared()).await;
    let hint = format!("{}leader:office", config.prefix);
    let () = redis.del(&hint).await.unwrap();
    assert_eq!(b.acquire("office", "b", long).await.unwrap(), None, "the hint was free, the lease was not");
    let holder: Option<String> = redis.get(&hint).await.unwrap();
    assert_eq!(holder, None);
    assert!(a.renew("office", term, long).await.unwrap());
    let holder: Option<String> = redis.get(&hint).await.unwrap();
    assert_eq!(holder.as_deref(), Some("a"), "who leads has it again");
    // What somebody else put there keeps nobody from leading for ever.
    let () = redis.set(&hint, "of another installation").await.unwrap();
    a.resign("office", term).await.unwrap();
    let short = Duration::from_millis(300);
    let began = Instant::now();
    until("it asks anyway", async || b.acquire("office", "b", short).await.unwrap().is_some()).await;
    assert!(began.elapsed() >= short * 2, "not before two TTLs: {:?}", began.elapsed());
}

#[tokio::test]
async fn without_redis_every_contender_asks_for_the_lease() {
    let mut server = RedisServer::start(&[]).await;
    let (config, truth) = (given::at(&server.url()), Arc::new(Truth::default()));
    let kept = Kept::up(&config).await;
    let (a, b) =
        (HintedLease::new(kept.link.clone(), truth.clone()), HintedLease::new(kept.link.clone(), truth.clone()));
    let term = a.acquire("office", "a", TTL).await.unwrap().unwrap();
    server.kill();
    kept.is_away().await;
    assert!(a.renew("office", term, TTL).await.unwrap());
    let asked = truth.asked.load(Ordering::SeqCst);
    assert_eq!(b.acquire("office", "b", TTL).await.unwrap(), None);
    assert_eq!(truth.asked.load(Ordering::SeqCst), asked + 1);
    a.resign("office", term).await.unwrap();
    assert!(b.acquire("office", "b", TTL).await.unwrap().is_some());
    assert!(kept.told.fell_back(RedisUse::Leadership) > 0);
}

/// Contenders for seconds, while Redis is flushed and stands still: terms only rise, one leads at a time, and somebody leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_often_redis_forgets_there_is_one_leader_at_a_time() {
    let server = RedisServer::start(&[]).await;
    let (config, truth) = (given::at(&server.url()), Arc::new(Truth::default()));
    let (tasks, stop) = (Tasks::new(), Stop::new());
    let mut leads = Vec::new();
    let mut links = Vec::new();
    for _ in 0..3 {
        let kept = Kept::up(&config).await;
        let lease = Arc::new(HintedLease::new(kept.link.clone(), truth.clone()));
        let leadership = Leadership::new(lease, "office", leadership::Config::with_ttl(TTL));
        leads.push(leadership.lead());
        links.push(kept);
        drop(tasks.spawn("contender", leadership.run(stop.shutdown())));
    }
    let mut redis = given::connection(&server.url()).await;
    let (began, mut flushed, mut led) = (Instant::now(), Instant::now(), 0);
    let mut highest = Term(0);
    while began.elapsed() < Duration::from_secs(4) {
        if flushed.elapsed() > Duration::from_millis(300) {
            let () = redis::cmd("FLUSHALL").query_async(&mut redis).await.unwrap();
            flushed = Instant::now();
        }
        let terms: Vec<Term> = leads.iter().filter_map(foreman_runtime::Lead::term).collect();
        assert!(terms.len() <= 1, "{terms:?}");
        if let [term] = terms[..] {
            assert!(term >= highest, "{term} after {highest}");
            (highest, led) = (term, led + 1);
        }
        sleep(Duration::from_millis(10)).await;
    }
    assert!(led > 100, "somebody leads nearly all the time: {led} looks");
    assert_eq!(highest, Term(1), "and nobody is overthrown by a flush");
    stop.drain();
}

/// The hint is taken, kept and given back by Redis.
pub async fn leads(kept: &Kept) {
    let lease = HintedLease::new(kept.link.clone(), Arc::new(Truth::default()));
    let term = lease.acquire("office", "a", TTL).await.unwrap().unwrap();
    assert!(lease.renew("office", term, TTL).await.unwrap());
    lease.resign("office", term).await.unwrap();
    assert_eq!(kept.told.fell_back(RedisUse::Leadership), 0, "{:?}", kept.link.status());
}
