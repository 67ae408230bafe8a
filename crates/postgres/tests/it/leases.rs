//! Who leads: one at a time, under terms that only rise.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::a_job;
use foreman_conformance::statistics::{Stretch, position};
use foreman_core::memory::ManualClock;
use foreman_core::ports::{Advanced, ChangeLog, Followers, JobStore, Leader};
use foreman_postgres::Config;
use foreman_postgres::leases::PgLeases;
use foreman_runtime::leadership::{self, Leadership, Lease, Term};
use foreman_runtime::{Stop, Tasks};
use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use crate::given::{Database, Team};

const TTL: Duration = Duration::from_secs(15);
const OFFICE: &str = "scheduler";

fn leases(database: &Database, clock: Option<&Arc<ManualClock>>) -> PgLeases {
    let mut config = Config::at(database.url());
    if let Some(clock) = clock {
        config.clock = Some(clock.clone());
    }
    PgLeases::new(&config).unwrap()
}

#[tokio::test]
async fn a_lease_is_one_holders_until_it_runs_out() {
    let (database, clock) = (Database::ready().await, Arc::new(ManualClock::new()));
    let leases = leases(&database, Some(&clock));
    let first = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    assert_eq!(leases.acquire(OFFICE, "b", TTL).await.unwrap(), None);
    assert!(leases.acquire("another", "b", TTL).await.unwrap().is_some(), "offices are apart");
    clock.advance(TTL / 2);
    assert!(leases.renew(OFFICE, first, TTL).await.unwrap());
    clock.advance(TTL.checked_sub(Duration::from_secs(1)).unwrap());
    assert_eq!(leases.acquire(OFFICE, "b", TTL).await.unwrap(), None, "the renewal counts from when it was made");
    clock.advance(Duration::from_secs(1));
    let second = leases.acquire(OFFICE, "b", TTL).await.unwrap().unwrap();
    assert!(second > first);
    assert!(!leases.renew(OFFICE, first, TTL).await.unwrap(), "the first term is over for ever");
}

#[tokio::test]
async fn a_lease_that_ran_out_and_that_nobody_took_is_renewed() {
    let (database, clock) = (Database::ready().await, Arc::new(ManualClock::new()));
    let leases = leases(&database, Some(&clock));
    let term = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    clock.advance(TTL * 3);
    assert!(leases.renew(OFFICE, term, TTL).await.unwrap());
    assert_eq!(leases.acquire(OFFICE, "b", TTL).await.unwrap(), None);
}

#[tokio::test]
async fn a_holder_whose_answer_was_lost_is_granted_a_new_term_at_once() {
    let database = Database::ready().await;
    let leases = leases(&database, None);
    let lost = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    let again = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    assert!(again > lost);
    assert!(!leases.renew(OFFICE, lost, TTL).await.unwrap());
}

#[tokio::test]
async fn who_resigns_need_not_be_waited_for_and_its_term_is_over() {
    let database = Database::ready().await;
    let leases = leases(&database, None);
    let term = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    leases.resign(OFFICE, term).await.unwrap();
    assert!(!leases.renew(OFFICE, term, TTL).await.unwrap());
    let next = leases.acquire(OFFICE, "b", TTL).await.unwrap().unwrap();
    assert!(next > term);
    leases.resign(OFFICE, term).await.unwrap();
    assert!(leases.renew(OFFICE, next, TTL).await.unwrap(), "an old resignation ends nobody else's term");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_ask_at_once_one_is_granted() {
    let (database, clock) = (Database::ready().await, Arc::new(ManualClock::new()));
    let mut terms = HashSet::new();
    for _ in 0..5 {
        let contenders: Vec<PgLeases> = (0..8).map(|_| leases(&database, Some(&clock))).collect();
        let asked = contenders
            .iter()
            .enumerate()
            .map(|(n, leases)| async move { leases.acquire(OFFICE, &format!("holder-{n}"), TTL).await.unwrap() });
        let granted: Vec<Term> = join_all(asked).await.into_iter().flatten().collect();
        assert_eq!(granted.len(), 1, "{granted:?}");
        assert!(terms.insert(granted[0]), "a term is never given twice");
        clock.advance(TTL * 2);
    }
}

#[tokio::test]
async fn a_leader_whose_term_is_over_books_nothing() {
    let team = Team::new().await;
    let leases = leases(&team.database, Some(&team.clock));
    let term = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    let leader = Leader { office: OFFICE.into(), term: term.0 };
    team.store.submit(&[a_job().build()]).await.unwrap();
    let (from, to) = (position(&team.store).await, team.store.head().await.unwrap());
    let stretch = Stretch { from, to, entries: Vec::new() };
    leases.resign(OFFICE, term).await.unwrap();
    let next = leases.acquire(OFFICE, "b", TTL).await.unwrap().unwrap();
    assert_eq!(team.store.advance(Some(&leader), &stretch.advance()).await.unwrap(), None);
    assert_eq!(position(&team.store).await, from);
    let next = Leader { office: OFFICE.into(), term: next.0 };
    assert_eq!(team.store.advance(Some(&next), &stretch.advance()).await.unwrap(), Some(Advanced::Done));
    assert_eq!(team.store.advance(Some(&next), &stretch.advance()).await.unwrap(), Some(Advanced::Overtaken));
    team.clock.advance(TTL * 2);
    assert_eq!(team.store.advance(Some(&next), &stretch.advance()).await.unwrap(), None, "its time is over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_leader_stops_another_leads_before_its_lease_runs_out() {
    let database = Database::ready().await;
    let tasks = Tasks::new();
    let contender = || {
        let config = leadership::Config::with_ttl(TTL);
        let leadership = Leadership::new(Arc::new(leases(&database, None)), OFFICE, config);
        let (lead, stop) = (leadership.lead(), Stop::new());
        (lead, stop.clone(), tasks.spawn("a contender", leadership.run(stop.shutdown())))
    };
    let (first, stop_first, running) = contender();
    let term = timeout(TTL, first.elected()).await.unwrap();
    let (second, stop_second, other) = contender();
    let stopped_at = Instant::now();
    stop_first.drain();
    let next = timeout(TTL, second.elected()).await.unwrap();
    assert!(next > term);
    assert!(stopped_at.elapsed() < TTL, "it was not waited for: {:?}", stopped_at.elapsed());
    stop_second.drain();
    running.await.unwrap();
    other.await.unwrap();
}
