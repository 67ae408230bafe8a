//! The sweeper on the reference store.

use std::time::Duration;

use foreman_core::State;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{SessionStore, StoreError};
use foreman_engine::sweeper::{Config, Error, Sweeper};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, until};
use crate::script::{Act, Verb, away};

const TTL: Duration = Duration::from_secs(15);

fn start(scene: &Scene) -> Task<Result<(), Error>> {
    let sweeper = Sweeper::new(scene.store(), Config::default());
    scene.tasks.spawn("sweeper", sweeper.run(scene.stop.shutdown()))
}

#[tokio::test(start_paused = true)]
async fn it_starts_returns_a_dead_workers_jobs_within_twenty_seconds_and_stops() {
    let scene = Scene::new();
    let sweeper = start(&scene);
    let id = scene.submitted("").await;
    let dead = scene.stranger(TTL).await;
    scene.claimed_by(dead, 1).await;
    let begun = Instant::now();
    scene.until_state(id, State::Pending).await;
    let took = begun.elapsed();
    assert!((15..20).contains(&took.as_secs()), "{took:?}");
    let view = scene.view(id).await;
    assert_eq!((view.crashes, view.attempts.records[0].outcome), (1, Some(AttemptOutcome::Lapsed)));
    scene.stop.drain();
    sweeper.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let sweeper = start(&scene);
    until("it has looked", || scene.store.calls(Verb::Pulses) > 0).await;
    let begun = Instant::now();
    scene.stop.drain();
    sweeper.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_the_lapse_it_is_in() {
    let scene = Scene::new();
    let id = scene.submitted("").await;
    let dead = scene.stranger(TTL).await;
    scene.claimed_by(dead, 1).await;
    scene.store.always(Verb::Lapse, Act::Delay(Duration::from_secs(2)));
    let sweeper = start(&scene);
    until("it lapses the session", || scene.store.calls(Verb::Lapse) > 0).await;
    scene.stop.drain();
    sweeper.await.unwrap().unwrap();
    assert_eq!(scene.state(id).await, State::Pending);
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Verb::Pulses, Act::Hang);
    let sweeper = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!sweeper.is_finished());
    scene.stop.abort();
    sweeper.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_living_session_is_left_alone() {
    let scene = Scene::new();
    let _sweeper = start(&scene);
    let id = scene.submitted("gate").await;
    let _worker = scene.worker();
    until("it runs", || scene.player.running() == 1).await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!((scene.view(id).await.crashes, scene.store.calls(Verb::Lapse)), (0, 0));
}

/// The store is out for everyone, longer than the TTL. Then it answers again.
async fn nobody_is_lapsed_after(outage: Act, lasts: Duration) {
    let scene = Scene::new();
    let sweeper = start(&scene);
    let id = scene.submitted("").await;
    let session = scene.stranger(TTL).await;
    scene.claimed_by(session, 1).await;
    sleep(Duration::from_secs(10)).await;
    scene.store.always(Verb::Pulses, outage);
    sleep(lasts).await;
    scene.store.heal();
    let healed = Instant::now();
    // The worker needs a while to come back as well, but comes before its TTL is over.
    sleep(Duration::from_secs(14)).await;
    assert_eq!(scene.state(id).await, State::Running, "lapsed {:?} after the store came back", healed.elapsed());
    scene.store.heartbeat(session, &[]).await.unwrap();
    sleep(Duration::from_secs(14)).await;
    assert_eq!(scene.state(id).await, State::Running, "it had been renewed");
    // Now it is dead for good.
    scene.until_state(id, State::Pending).await;
    scene.stop.drain();
    sweeper.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_nobody_is_lapsed_before_a_full_ttl_of_watching() {
    nobody_is_lapsed_after(away(), Duration::from_mins(3)).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_hang_nobody_is_lapsed_before_a_full_ttl_of_watching() {
    nobody_is_lapsed_after(Act::Hang, Duration::from_mins(3)).await;
}

#[tokio::test(start_paused = true)]
async fn a_single_failed_read_delays_a_lapse_and_prevents_none() {
    let scene = Scene::new();
    let _sweeper = start(&scene);
    let id = scene.submitted("").await;
    let dead = scene.stranger(TTL).await;
    scene.claimed_by(dead, 1).await;
    sleep(Duration::from_secs(8)).await;
    scene.store.next(Verb::Pulses, away());
    let begun = Instant::now();
    scene.until_state(id, State::Pending).await;
    assert!((15..22).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

/// Somebody may have a row of the first one locked, for as long as he likes.
async fn one_that_cannot_be_lapsed_keeps_no_other(why: StoreError) {
    let scene = Scene::new();
    let sweeper = start(&scene);
    let mut jobs = Vec::new();
    for _ in 0..2 {
        jobs.push(scene.submitted("").await);
        let dead = scene.stranger(TTL).await;
        scene.claimed_by(dead, 1).await;
    }
    // The first that is tried cannot be lapsed; the other can; whoever is tried after that cannot.
    scene.store.next(Verb::Lapse, Act::Fail(why.clone()));
    scene.store.next(Verb::Lapse, Act::Delay(Duration::ZERO));
    scene.store.always(Verb::Lapse, Act::Fail(why));
    sleep(Duration::from_secs(20)).await;
    let (one, other) = (scene.state(jobs[0]).await, scene.state(jobs[1]).await);
    assert_ne!(one, other, "the one that could be lapsed was");
    scene.store.heal();
    let healed = Instant::now();
    for job in jobs {
        scene.until_state(job, State::Pending).await;
    }
    assert!(healed.elapsed() < Duration::from_secs(6), "it is not watched anew: {:?}", healed.elapsed());
    scene.stop.drain();
    sweeper.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_lapsed_now_does_not_keep_the_others() {
    one_that_cannot_be_lapsed_keeps_no_other(StoreError::Unavailable("canceling statement due to lock timeout".into()))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_read_does_not_keep_the_others() {
    one_that_cannot_be_lapsed_keeps_no_other(StoreError::Damaged("table claims, column lane".into())).await;
}
