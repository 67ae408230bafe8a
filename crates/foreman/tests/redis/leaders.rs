//! Who leads, with a hint in Redis and the lease in Postgres: whatever happens to the hint, one term at a time can write.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{FollowerName, Followers as _, Leader};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::{Config, PostgresStore};
use foreman_redis::{HintedLease, RedisLink, RedisObserver, RedisUse};
use foreman_runtime::leadership::{Lease as _, Term};
use foreman_runtime::{Stop, Tasks};
use tokio::time::{Instant, sleep};

use crate::server::RedisServer;
use crate::stage::{Database, Fault, Fleet, Pace, Plan, Role, beside, until};

const OFFICE: &str = "scheduler";
const TTL: Duration = Duration::from_millis(600);

struct Unobserved;

impl RedisObserver for Unobserved {
    fn answered(&self, _what: RedisUse, _took: Duration) {}
    fn fell_back(&self, _what: RedisUse) {}
}

/// A process that contends: its own links to Redis and Postgres.
async fn contender(database: &Database, redis: &RedisServer, stop: &Stop) -> HintedLease {
    let (keeper, link) = RedisLink::new(&foreman_redis::Config::at(&*redis.url), Arc::new(Unobserved)).unwrap();
    drop(Tasks::new().spawn("keeper", keeper.run(stop.shutdown())));
    until("Redis answers", async || link.status().is_up.then_some(())).await;
    HintedLease::new(link, Arc::new(PgLeases::new(&Config::at(&*database.url)).unwrap()))
}

/// Whether a leader of this term can write.
async fn can_write(store: &PostgresStore, term: Term) -> bool {
    let leader = Leader { office: OFFICE.into(), term: term.0 };
    store.dismiss(Some(&leader), &FollowerName::new("nobody")).await.unwrap().is_some()
}

/// Three that contend and hardly ever renew, while Redis forgets everything several times per TTL: of all the terms that were
/// ever granted only the last can write.
#[tokio::test(flavor = "multi_thread")]
async fn of_all_who_were_ever_elected_only_the_last_can_write() {
    let _turn = beside().await;
    let (database, redis, stop) = (Database::fresh().await, RedisServer::start().await, Stop::new());
    let store = PostgresStore::open(Config::at(&*database.url), Arc::new(LocalWakeups::new())).await.unwrap();
    let mut contenders = Vec::new();
    for _ in 0..3 {
        contenders.push(contender(&database, &redis, &stop).await);
    }
    let (mut granted, began): (Vec<Term>, _) = (Vec::new(), Instant::now());
    let lasts = Duration::from_secs(if crate::stage::torture() { 60 } else { 5 });
    while began.elapsed() < lasts {
        redis.flush().await;
        for (number, contender) in contenders.iter().enumerate() {
            // Who was granted the lease goes on as a process that stood still: it neither renews nor asks again.
            let holder = format!("{number}-{}", granted.len());
            if let Some(term) = contender.acquire(OFFICE, &holder, TTL).await.unwrap() {
                assert!(granted.iter().all(|before| *before < term), "{term} after {granted:?}");
                granted.push(term);
                assert!(can_write(&store, term).await, "a leader that was elected this moment");
            }
        }
        for before in granted.iter().rev().skip(1).take(3) {
            assert!(!can_write(&store, *before).await, "{before} of {granted:?}");
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert!(granted.len() >= 3, "{granted:?}: so little was tried");
    stop.abort();
    store.close();
}

/// Where the one stands that says it leads; `None` when nobody or more than one does.
async fn leader(fleet: &Fleet, frozen: Option<usize>) -> Option<usize> {
    let mut leading = Vec::new();
    for place in fleet.places(Role::Scheduler).into_iter().filter(|place| Some(*place) != frozen) {
        if fleet.processes[place].metric("foreman_leader").await? > 0.5 {
            leading.push(place);
        }
    }
    (leading.len() == 1).then(|| leading[0])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stands_still_is_replaced_though_redis_forgets_everything() {
    let _turn = beside().await;
    let (database, redis) = (Database::fresh().await, RedisServer::start().await);
    let mut fleet = Fleet::new(&database, Pace::Quick, &[("REDIS_URL", &redis.url)]);
    fleet.start_plan(Plan { api: 0, worker: 0, scheduler: 3 }, &[]).await;
    let first = until("somebody leads", async || leader(&fleet, None).await).await;
    fleet.freeze(first);
    let next = until("somebody else leads", async || {
        redis.flush().await;
        sleep(Duration::from_millis(200)).await;
        leader(&fleet, Some(first)).await
    })
    .await;
    assert_ne!(next, first);
    fleet.thaw(first);
    // It finds out by its own clock, before it does anything.
    until("it says that it does not lead", async || {
        (fleet.processes[first].metric("foreman_leader").await? < 0.5).then_some(())
    })
    .await;
    // Who stops need not be waited for: the hint is given back with the lease.
    let stopped = Instant::now();
    fleet.stop(next).await;
    until("a third leads", async || leader(&fleet, Some(next)).await).await;
    println!("a leader that stopped was replaced after {:?}", stopped.elapsed());
    fleet.faults.assert_at_least(&[(Fault::Frozen(Role::Scheduler), 1), (Fault::Stopped(Role::Scheduler), 1)]);
}
