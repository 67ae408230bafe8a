//! What the dispatcher takes, in which order, and in whose company.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_core::{JobId, Lane, State};
use foreman_engine::worker::Config;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, job_with, until};
use crate::script::{Act, Verb};

#[tokio::test(start_paused = true)]
async fn it_never_holds_more_than_it_can_start() {
    let scene = Scene::new();
    let jobs: Vec<_> = (0..20).map(|_| job("gate")).collect();
    scene.submit(&jobs).await;
    let worker = scene.worker_with(Config { slots: 3, ..Config::default() });
    until("the slots are taken", || scene.player.running() == 3).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!((scene.count(State::Running).await, scene.count(State::Pending).await), (3, 17));
    scene.player.gate.add_permits(20);
    until("all have run", || scene.player.started().len() == 20 && scene.player.running() == 0).await;
    assert_eq!(scene.player.most_at_once(), 3);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_under_load_claims_by_the_batch() {
    let scene = Scene::new();
    let jobs: Vec<_> = (0..1_000).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    let worker = scene.worker();
    until("all have run", || scene.player.started().len() == 1_000).await;
    let claims = scene.store.calls(Verb::Claim);
    assert!(claims <= 1_000 / 16 + 2, "{claims} claims for 1,000 jobs in 32 slots");
    scene.drained(worker).await;
    assert_eq!(scene.count(State::Completed).await, 1_000);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn slots_that_are_freed_one_by_one_are_filled_together() {
    let scene = Scene::new();
    // Each takes 20 ms more or less, so that a slot is free every other millisecond.
    let jobs: Vec<_> = (0..400).map(|n| job(&format!("sleep {}", 15 + n * 7 % 11))).collect();
    scene.submit(&jobs).await;
    scene.store.always(Verb::Claim, Act::Delay(Duration::from_millis(4)));
    let worker = scene.worker_with(Config { slots: 40, ..Config::default() });
    until("all have run", || scene.player.started().len() == 400 && scene.player.running() == 0).await;
    let claims = scene.store.calls(Verb::Claim);
    assert!(claims <= 400 / 8, "{claims} claims for 400 jobs in 40 slots");
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_free_does_not_wait_for_slow_neighbours() {
    let scene = Scene::new();
    let slow: Vec<_> = (0..7).map(|_| job("gate")).collect();
    scene.submit(&slow).await;
    let worker = scene.worker_with(Config { slots: 8, ..Config::default() });
    until("the slow ones run", || scene.player.running() == 7).await;
    let start = Instant::now();
    let quick: Vec<_> = (0..100).map(|_| job("sleep 10")).collect();
    scene.submit(&quick).await;
    until("all have begun", || scene.player.started().len() == 107).await;
    let took = start.elapsed();
    assert!(took <= Duration::from_millis(100 * 12), "one slot had 100 jobs of 10 ms to do, and took {took:?}");
    scene.player.gate.add_permits(7);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_asks_once_per_wake_up() {
    let scene = Scene::new();
    let worker = scene.worker();
    sleep(Duration::from_millis(10)).await;
    let before = scene.store.calls(Verb::Claim);
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    assert!(scene.store.calls(Verb::Claim) - before <= 2);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn only_the_named_queues_are_served() {
    let scene = Scene::new();
    let mail = job_with("", |work| work.queue = "mail".parse().unwrap());
    scene.submit(std::slice::from_ref(&mail)).await;
    let other = scene.submitted("").await;
    let queues = vec!["mail".parse().unwrap()];
    let worker = scene.worker_with(Config { queues, ..Config::default() });
    scene.until_state(mail.id, State::Completed).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(scene.state(other).await, State::Pending);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_high_does_not_starve_the_lower_lanes() {
    let scene = Scene::new();
    let in_lane = |lane: Lane| move |work: &mut foreman_core::Work| work.lane = lane;
    let high: Vec<_> = (0..640).map(|_| job_with("", in_lane(Lane::High))).collect();
    let normal: Vec<_> = (0..20).map(|_| job_with("", in_lane(Lane::Normal))).collect();
    let low: Vec<_> = (0..20).map(|_| job_with("", in_lane(Lane::Low))).collect();
    for jobs in [&high, &normal, &low] {
        scene.submit(jobs).await;
    }
    let worker = scene.worker_with(Config { slots: 4, ..Config::default() });
    until("all have run", || scene.player.started().len() == 680).await;
    let started = scene.player.started();
    let place = |id: JobId| started.iter().position(|started| *started == id).unwrap();
    for (lane, jobs) in [("normal", &normal), ("low", &low)] {
        let early = jobs.iter().filter(|job| place(job.id) < 320).count();
        // One pick in 16 of 320; give or take a claim.
        assert!((18..=20).contains(&early), "{early} of the {lane} lane ran among the first 320");
    }
    let first_half_high = high.iter().filter(|job| place(job.id) < 320).count();
    assert!(first_half_high >= 280, "priority still means something: {first_half_high}");
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_crashed_its_worker_twice_runs_alone() {
    let scene = Scene::new();
    let fragile = scene.submitted("sleep 500").await;
    scene.crash(2).await;
    assert_eq!(scene.view(fragile).await.crashes, 2);
    let others: Vec<_> = (0..50).map(|n| job(&format!("sleep {}", 50 + n))).collect();
    scene.submit(&others).await;
    let worker = scene.worker_with(Config { slots: 8, ..Config::default() });
    until("all have run", || scene.player.started().len() == 51 && scene.player.running() == 0).await;
    assert_eq!(scene.player.beside(fragile), BTreeSet::new());
    assert!(scene.player.most_at_once() > 1, "the others ran side by side");
    scene.drained(worker).await;
    assert_eq!(scene.count(State::Completed).await, 51);
}

#[tokio::test(start_paused = true)]
async fn a_fragile_job_waits_until_what_runs_has_ended() {
    let scene = Scene::new();
    let long = scene.submitted("sleep 4000").await;
    let worker = scene.worker();
    until("the long one runs", || scene.player.running() == 1).await;
    let fragile = scene.submitted("sleep 100").await;
    // Taken twice by workers that died; the second time behind this worker's back.
    scene.store.always(Verb::Claim, Act::Fail(foreman_core::ports::StoreError::Full("hold on".into())));
    if scene.state(fragile).await == State::Pending {
        scene.crash(2).await;
    }
    scene.store.heal();
    let start = Instant::now();
    scene.until_state(fragile, State::Completed).await;
    assert_eq!(scene.player.beside(fragile), BTreeSet::new());
    assert_eq!(scene.state(long).await, State::Completed);
    assert!(start.elapsed() < Duration::from_secs(6), "it was not left waiting: {:?}", start.elapsed());
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_never_idle_makes_room_for_a_fragile_job() {
    let scene = Scene::new();
    let fragile = scene.submitted("sleep 100").await;
    scene.crash(2).await;
    // Two slots that are never free at the same time: one job ends while the other is half way.
    let first = job("sleep 1000");
    scene.submit(std::slice::from_ref(&first)).await;
    let fill: Vec<_> = (0..2_000).map(|n| job(&format!("sleep {}", 1_500 + n % 7))).collect();
    // Somebody else holds the fragile one until the worker is busy.
    let thief = scene.stranger(Duration::from_hours(1)).await;
    let stolen = scene.claimed_by(thief, 1).await;
    assert_eq!(stolen[0].job.id, fragile);
    scene.submit(&fill).await;
    let worker = scene.worker_with(Config { slots: 2, ..Config::default() });
    until("it is busy", || scene.player.running() == 2).await;
    scene.store.inner_end(thief).await;
    let start = Instant::now();
    scene.until_state(fragile, State::Completed).await;
    assert_eq!(scene.player.beside(fragile), BTreeSet::new());
    let waited = start.elapsed();
    assert!((29..45).contains(&waited.as_secs()), "{waited:?}");
    scene.stop.abort();
    scene.drained(worker).await;
}
