//! A worker that takes the jobs a broker names, and what happens when the broker, the store or the worker fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Announcement, StoreError};
use foreman_core::target::Route;
use foreman_core::tenant::TenantLimits;
use foreman_core::{JobId, Lane, NewJob, State, TenantId};
use foreman_engine::target::Targets;
use foreman_engine::worker::Config;
use tokio::time::{Instant, sleep};

use crate::broker::Fleet;
use crate::rooms::{at_most, jobs_of, running, tenant, tenants};
use crate::scene::{job, job_with, until, until_async};
use crate::script::{Act, Verb, away};

fn jobs(count: usize, payload: &str) -> Vec<NewJob> {
    (0..count).map(|_| job(payload)).collect()
}

/// Each of them, once.
fn ran_once(fleet: &Fleet, jobs: &[NewJob]) {
    let started = fleet.scene.player.started();
    let unique: BTreeSet<JobId> = started.iter().copied().collect();
    assert_eq!(unique.len(), started.len(), "some ran twice");
    assert!(jobs.iter().all(|job| unique.contains(&job.id)), "some did not run");
}

async fn all_completed(fleet: &Fleet, count: usize) {
    until_async("all are completed", async || fleet.scene.count(State::Completed).await == count).await;
}

/// The claims since somebody asked.
fn claims(fleet: &Fleet) -> usize {
    fleet.scene.store.calls(Verb::Claim)
}

#[tokio::test(start_paused = true)]
async fn jobs_travel_through_the_broker() {
    let fleet = Fleet::new();
    let readings = fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(30)).await;
    let (all, begun) = (jobs(500, "sleep 5"), Instant::now());
    fleet.scene.submit(&all).await;
    all_completed(&fleet, 500).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    ran_once(&fleet, &all);
    let settled = fleet.broker.settled().len();
    assert!(settled > 450, "{settled} of 500 came through the broker");
    assert_eq!(readings.get().reannounced, 0);
    fleet.scene.drained(worker).await;
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.is_clean().await;
}

/// However long its slots are full, so long as it takes to work off what waits.
#[tokio::test(start_paused = true)]
async fn a_worker_that_is_never_idle_takes_its_work_from_the_broker() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    let all = jobs(2_000, "sleep 100");
    fleet.scene.submit(&all).await;
    all_completed(&fleet, 2_000).await;
    ran_once(&fleet, &all);
    let settled = fleet.broker.settled().len();
    assert!(settled > 1_800, "{settled} of 2,000 came through the broker");
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_feed_is_empty_hardly_asks_the_store() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    let other = fleet.worker(8);
    sleep(Duration::from_mins(2)).await;
    let (before, asked) = (claims(&fleet), fleet.scene.store.calls(Verb::Consumers));
    sleep(Duration::from_mins(1)).await;
    let (looks, asked) = (claims(&fleet) - before, fleet.scene.store.calls(Verb::Consumers) - asked);
    assert!(looks <= 2 * 6, "{looks} claims of two idle workers in a minute");
    assert!(asked <= 3 * 65, "{asked} looks at who is there, by two workers and a relay");
    fleet.scene.stop.drain();
    worker.await.unwrap().unwrap();
    fleet.scene.drained(other).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_is_lost_takes_its_jobs_once() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    fleet.scene.store.next(Verb::Claim, Act::LoseAnswer);
    let all = jobs(5, "");
    fleet.scene.submit(&all).await;
    all_completed(&fleet, 5).await;
    ran_once(&fleet, &all);
    assert_eq!((fleet.broker.settled().len(), fleet.broker.out()), (5, 0));
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_claim_that_was_given_up_are_offered_again() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    // Given up after three sendings: nothing was taken.
    for _ in 0..3 {
        fleet.scene.store.next(Verb::Claim, away());
    }
    let all = jobs(5, "");
    fleet.scene.submit(&all).await;
    all_completed(&fleet, 5).await;
    ran_once(&fleet, &all);
    assert_eq!(fleet.broker.out(), 0);
    // Given up, and taken after all: the heartbeat has it released, and it is announced again.
    for _ in 0..3 {
        fleet.scene.store.next(Verb::Claim, Act::LoseAnswer);
    }
    let more = jobs(5, "");
    fleet.scene.submit(&more).await;
    all_completed(&fleet, 10).await;
    ran_once(&fleet, &more);
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_loses_its_session_takes_what_was_offered_under_the_next() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    // The claim hangs until its session is long gone.
    fleet.scene.store.always(Verb::Claim, Act::Hang);
    fleet.scene.store.always(Verb::Heartbeat, away());
    let all = jobs(5, "");
    fleet.scene.submit(&all).await;
    until("they are offered", || fleet.broker.out() == 5).await;
    sleep(Duration::from_secs(30)).await;
    fleet.scene.store.heal();
    all_completed(&fleet, 5).await;
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_drains_leaves_its_feed_before_its_last_job_ends() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    fleet.scene.submit(&jobs(1, "sleep 10000")).await;
    until("it runs", || fleet.scene.player.started().len() == 1).await;
    assert_eq!(fleet.broker.left(), 0);
    fleet.scene.stop.drain();
    until("it has left", || fleet.broker.left() == 1).await;
    assert_eq!(fleet.scene.count(State::Completed).await, 0);
    assert_eq!(fleet.scene.drained(worker).await.finished, 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_offered_goes_back_when_the_worker_drains() {
    let fleet = Fleet::new();
    let limits = TenantLimits::default();
    let small = tenant(&fleet.scene, "small", at_most(1)).await;
    let targets = Targets::default().with(Arc::clone(&fleet.scene.player) as _);
    let tenants = tenants(&fleet.scene, limits);
    let worker = fleet.worker_of(Config { slots: 8, ..Config::default() }, targets, |it| it.limited_by(tenants));
    sleep(Duration::from_secs(1)).await;
    let all = jobs_of(&small, 3, "gate");
    fleet.scene.submit(&all).await;
    // Nothing relays: these arrive although only one of them may run.
    for job in &all {
        fleet.broker.send(&announcement(job));
    }
    until("one runs, and the others are kept", || fleet.scene.player.running() == 1 && fleet.broker.out() == 2).await;
    fleet.scene.player.gate.add_permits(1);
    fleet.scene.stop.drain();
    worker.await.unwrap().unwrap();
    assert_eq!((fleet.broker.out(), fleet.broker.waiting()), (0, 2), "somebody else gets them");
    fleet.scene.nothing_left().await;
}

fn announcement(job: &NewJob) -> Announcement {
    Announcement {
        job: job.id,
        attempt: 0,
        lane: job.work.lane,
        tenant: job.tenant.clone(),
        queue: job.work.queue.clone(),
        route: job.work.target.route(),
        correlation_id: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_for_an_unknown_job_and_one_that_comes_twice_are_refused_and_forgotten() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    fleet.broker.send(&announcement(&job("")));
    let known = job("");
    fleet.scene.submit(std::slice::from_ref(&known)).await;
    for _ in 0..3 {
        fleet.broker.send(&announcement(&known));
    }
    all_completed(&fleet, 1).await;
    until("all are settled", || fleet.broker.waiting() + fleet.broker.out() == 0).await;
    assert_eq!(fleet.scene.player.started(), [known.id]);
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_high_job_starts_ahead_of_ten_thousand_low_ones() {
    let fleet = Fleet::new();
    fleet.relay();
    let low: Vec<_> = (0..10_000).map(|_| job_with("sleep 20", |work| work.lane = Lane::Low)).collect();
    fleet.scene.submit(&low).await;
    let worker = fleet.worker(8);
    until("some have run", || fleet.scene.player.started().len() >= 100).await;
    let high = job_with("sleep 20", |work| work.lane = Lane::High);
    let before = fleet.scene.player.started().len();
    fleet.scene.submit(std::slice::from_ref(&high)).await;
    until("it runs", || fleet.scene.player.started().contains(&high.id)).await;
    let place = fleet.scene.player.started().iter().position(|id| *id == high.id).unwrap();
    assert!(place - before <= 16, "{} low jobs started ahead of it", place - before);
    fleet.scene.stop.abort();
    let _ = worker.await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_must_run_alone_runs_alone() {
    let fleet = Fleet::new();
    let fragile = fleet.scene.submitted("sleep 500").await;
    fleet.scene.crash(2).await;
    let all = jobs(50, "sleep 50");
    fleet.scene.submit(&all).await;
    fleet.relay();
    let worker = fleet.worker(8);
    all_completed(&fleet, 51).await;
    assert_eq!(fleet.scene.player.beside(fragile), BTreeSet::new());
    assert!(!fleet.broker.sent().contains(&fragile), "it is announced to nobody");
    assert!(fleet.scene.player.most_at_once() > 1, "the others ran side by side");
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_only_one_worker_can_run_starts_at_once_and_is_not_announced() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    // Two others, which run something else.
    for _ in 0..2 {
        fleet.consumer(8, &[Route::http()]).await;
    }
    sleep(Duration::from_secs(20)).await;
    for _ in 0..5 {
        sleep(Duration::from_millis(4_321)).await;
        let begun = Instant::now();
        let id = fleet.scene.submitted("").await;
        fleet.scene.until_state(id, State::Completed).await;
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    assert_eq!(fleet.broker.sent(), []);
    fleet.scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_only_one_worker_serves_is_not_announced_and_starts_at_once() {
    let fleet = Fleet::new();
    fleet.relay();
    let targets = || Targets::default().with(Arc::clone(&fleet.scene.player) as _);
    let queues = vec!["mail".parse().unwrap()];
    let few = fleet.worker_of(Config { slots: 4, queues, ..Config::default() }, targets(), |it| it);
    let all = fleet.worker(4);
    sleep(Duration::from_secs(20)).await;
    let mail = job_with("", |work| work.queue = "mail".parse().unwrap());
    let other = job("");
    let begun = Instant::now();
    fleet.scene.submit(&[mail.clone(), other.clone()]).await;
    all_completed(&fleet, 2).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(!fleet.broker.sent().contains(&other.id), "only what every worker serves is announced");
    fleet.scene.stop.drain();
    few.await.unwrap().unwrap();
    fleet.scene.drained(all).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_relay_jobs_are_claimed_by_order() {
    let fleet = Fleet::new();
    let worker = fleet.worker(8);
    sleep(Duration::from_mins(1)).await;
    let (all, begun) = (jobs(400, "sleep 10"), Instant::now());
    fleet.scene.submit(&all).await;
    all_completed(&fleet, 400).await;
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    ran_once(&fleet, &all);
    fleet.scene.drained(worker).await;
}

/// The first job after a long rest waits until the feed is taken for broken, those after it for nothing.
#[tokio::test(start_paused = true)]
async fn without_a_relay_an_idle_worker_soon_takes_what_is_submitted() {
    let fleet = Fleet::new();
    let worker = fleet.worker(8);
    sleep(Duration::from_mins(2)).await;
    for (number, within) in
        [(1, Duration::from_secs(4)), (2, Duration::from_millis(200)), (3, Duration::from_millis(200))]
    {
        let begun = Instant::now();
        fleet.scene.submit(&jobs(1, "sleep 1")).await;
        all_completed(&fleet, number).await;
        assert!(begun.elapsed() < within, "job {number} took {:?}", begun.elapsed());
        sleep(Duration::from_secs(7)).await;
    }
    fleet.scene.drained(worker).await;
}

/// Another worker has them and is busy, for as long as its jobs take; they are announced to nobody else.
#[tokio::test(start_paused = true)]
async fn what_lies_with_a_busy_worker_is_taken_by_an_idle_one_whose_own_work_trickles_in() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(30)).await;
    fleet.broker.set_leaking(true);
    let hidden = jobs(5, "sleep 1");
    fleet.scene.submit(&hidden).await;
    until("they are announced", || fleet.broker.sent().len() == 5).await;
    fleet.broker.set_leaking(false);
    let begun = Instant::now();
    while !hidden.iter().all(|job| fleet.scene.player.started().contains(&job.id)) {
        assert!(begun.elapsed() < Duration::from_secs(40), "they still wait");
        fleet.scene.submit(&jobs(1, "sleep 1")).await;
        sleep(Duration::from_secs(1)).await;
    }
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_loses_everything_loses_no_job() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(4);
    let all = jobs(300, "sleep 20");
    fleet.scene.submit(&all).await;
    for _ in 0..5 {
        sleep(Duration::from_millis(150)).await;
        fleet.broker.wipe();
    }
    all_completed(&fleet, 300).await;
    ran_once(&fleet, &all);
    fleet.scene.drained(worker).await;
    fleet.scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_at_its_limit_holds_up_nobody() {
    let fleet = Fleet::new();
    let small = tenant(&fleet.scene, "small", at_most(2)).await;
    let tenants = tenants(&fleet.scene, TenantLimits::default());
    fleet.scene.submit(&jobs_of(&small, 40, "sleep 100")).await;
    let others = jobs_of(&TenantId::default(), 6, "sleep 100");
    fleet.scene.submit(&others).await;
    fleet.relay();
    let targets = Targets::default().with(Arc::clone(&fleet.scene.player) as _);
    let worker = fleet.worker_of(Config { slots: 8, ..Config::default() }, targets, |it| it.limited_by(tenants));
    let (begun, mut most) = (Instant::now(), 0);
    while fleet.scene.count(State::Completed).await + usize::try_from(done_of(&fleet, &small).await).unwrap() < 46 {
        most = most.max(running(&fleet.scene, &small).await);
        assert!(begun.elapsed() < Duration::from_mins(2), "{} have started", fleet.scene.player.started().len());
        sleep(Duration::from_millis(3)).await;
    }
    assert_eq!(most, 2, "never more");
    let started = fleet.scene.player.started();
    let last = others.iter().map(|job| started.iter().position(|id| *id == job.id).unwrap()).max().unwrap();
    assert!(last < 16, "others did not wait for it: {last}");
    fleet.scene.drained(worker).await;
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.is_clean().await;
}

async fn done_of(fleet: &Fleet, tenant: &TenantId) -> u64 {
    use foreman_core::ports::JobQuery as _;
    let filter = foreman_core::ports::JobFilter { state: Some(State::Completed), ..Default::default() };
    fleet.scene.store.inner.count(tenant, &filter).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_not_asked_in_a_loop() {
    let fleet = Fleet::new();
    fleet.relay();
    let worker = fleet.worker(8);
    sleep(Duration::from_secs(1)).await;
    let all = jobs(5, "");
    fleet.scene.store.always(Verb::Claim, Act::Fail(StoreError::Full("scripted".into())));
    fleet.scene.submit(&all).await;
    sleep(Duration::from_secs(30)).await;
    assert!(claims(&fleet) < 100, "{} claims in half a minute", claims(&fleet));
    fleet.scene.store.heal();
    all_completed(&fleet, 5).await;
    ran_once(&fleet, &all);
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn workers_that_come_and_go_leave_nothing_behind() {
    let fleet = Fleet::new();
    fleet.relay();
    let steady = fleet.worker(4);
    let all = jobs(600, "sleep 30");
    fleet.scene.submit(&all).await;
    for _ in 0..8 {
        let stop = foreman_runtime::Stop::new();
        let guest = fleet.guest(4, &stop);
        sleep(Duration::from_millis(400)).await;
        stop.drain();
        guest.await.unwrap().unwrap();
    }
    all_completed(&fleet, 600).await;
    ran_once(&fleet, &all);
    fleet.scene.drained(steady).await;
    assert_eq!(fleet.broker.out(), 0);
    fleet.scene.is_clean().await;
}
