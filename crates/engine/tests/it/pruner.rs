//! The pruner on the reference store.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{PruneKind, Retention};
use foreman_core::{Report, State, Verdict};
use foreman_engine::pruner::{Config, Error, FAR_BEHIND, Progress, Pruner};
use foreman_runtime::leadership::{self, AlwaysLeader};
use foreman_runtime::{Leadership, Stop, Task};
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Pruning, away};

const KEPT: Duration = Duration::from_hours(1);

fn start(scene: &Scene) -> Task<Result<(), Error>> {
    let retention = Retention { completed: Some(KEPT), ..Retention::default() };
    let pruner = Pruner::new(scene.store(), Config { step: 10, retention, ..Config::default() });
    scene.tasks.spawn("pruner", pruner.run(scene.stop.shutdown()))
}

async fn completed(scene: &Scene, count: usize) {
    let jobs: Vec<_> = (0..count).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    let session = scene.stranger(Duration::from_hours(10)).await;
    let held = scene.claimed_by(session, count).await;
    let settlements: Vec<_> = held.into_iter().map(|held| held.settle(Verdict::Completed(Report::default()))).collect();
    foreman_core::ports::JobStore::settle(&*scene.store.inner, session, &settlements).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_starts_removes_what_outlived_its_retention_and_stops() {
    let scene = Scene::new();
    completed(&scene, 25).await;
    let pruner = start(&scene);
    sleep(KEPT.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(scene.count(State::Completed).await, 25, "kept to the last");
    // One look or two: with a single step each, some would be left.
    sleep(Duration::from_secs(80)).await;
    assert_eq!(scene.count(State::Completed).await, 0, "and all of them gone in one go");
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
    scene.nothing_left().await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let pruner = start(&scene);
    until("it has looked", || scene.store.calls(Pruning::Jobs) > 0).await;
    let begun = Instant::now();
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_the_step_it_is_in() {
    let scene = Scene::new();
    completed(&scene, 25).await;
    sleep(KEPT * 2).await;
    scene.store.always(Pruning::Jobs, Act::Delay(Duration::from_secs(3)));
    let pruner = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
    assert_eq!(scene.count(State::Completed).await, 15, "one step of ten, and no further one");
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Pruning::Jobs, Act::Hang);
    let pruner = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!pruner.is_finished());
    scene.stop.abort();
    pruner.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_survives_an_outage() {
    let scene = Scene::new();
    completed(&scene, 5).await;
    for pruning in [Pruning::Jobs, Pruning::Rest, Pruning::Partitions] {
        scene.store.always(pruning, away());
    }
    let pruner = start(&scene);
    sleep(KEPT * 2).await;
    scene.store.heal();
    sleep(Duration::from_secs(6)).await;
    assert_eq!(scene.count(State::Completed).await, 0);
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
}

/// A pruner, and how far it is behind.
fn watched(scene: &Scene, config: Config) -> (Task<Result<(), Error>>, Progress) {
    let retention = Retention { completed: Some(KEPT), ..Retention::default() };
    let pruner = Pruner::new(scene.store(), Config { step: 10, retention, ..config });
    let progress = pruner.progress();
    (scene.tasks.spawn("pruner", pruner.run(scene.stop.shutdown())), progress)
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_fails_does_not_keep_the_others_from_their_turn() {
    let scene = Scene::new();
    completed(&scene, 25).await;
    scene.store.always(Pruning::Rest, away());
    let (_pruner, progress) = watched(&scene, Config::default());
    sleep(KEPT + Duration::from_secs(80)).await;
    assert_eq!(scene.count(State::Completed).await, 0, "jobs are pruned");
    assert_eq!(progress.behind(PruneKind::Jobs), Duration::ZERO);
    assert!(progress.behind(PruneKind::Changes) >= KEPT, "{:?}", progress.behind(PruneKind::Changes));
    let behind = progress.far_behind();
    assert_eq!(behind.len(), PruneKind::ALL.len() - 2, "all but jobs and partitions: {behind:?}");
    assert!(behind.iter().all(|behind| behind.why.as_ref().is_some_and(|why| why.contains("scripted"))), "{behind:?}");
    scene.store.heal();
    sleep(Duration::from_secs(80)).await;
    assert_eq!(progress.far_behind(), []);
    assert_eq!(progress.behind(PruneKind::Changes), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_fails_is_reported_while_another_has_a_long_backlog() {
    let scene = Scene::new();
    completed(&scene, 200).await;
    sleep(KEPT * 2).await;
    scene.store.always(Pruning::Rest, away());
    scene.store.always(Pruning::Jobs, Act::Delay(Duration::from_secs(10)));
    let config = Config { call_timeout: Duration::from_secs(11), ..Config::default() };
    let (_pruner, progress) = watched(&scene, config);
    sleep(Duration::from_mins(2)).await;
    assert!(scene.count(State::Completed).await > 0, "the backlog lasts");
    assert!(progress.behind(PruneKind::Changes) > Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_partitions() {
    let scene = Scene::new();
    scene.store.always(Pruning::Partitions, Act::Delay(Duration::from_mins(14)));
    let pruner = start(&scene);
    until("it prepares partitions", || scene.store.calls(Pruning::Partitions) > 0).await;
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero(), "{:?}", begun.elapsed());
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_hangs_takes_its_own_time_and_no_more() {
    let scene = Scene::new();
    completed(&scene, 25).await;
    sleep(KEPT * 2).await;
    scene.store.always(Pruning::Rest, Act::Hang);
    scene.store.always(Pruning::Partitions, Act::Hang);
    let (_pruner, progress) = watched(&scene, Config::default());
    // Eleven kinds hang for ten seconds each; creating partitions hangs beside them.
    sleep(Duration::from_secs(115)).await;
    assert_eq!(scene.count(State::Completed).await, 0);
    assert!(progress.behind(PruneKind::Keys) > Duration::ZERO);
    // The first try takes a quarter of an hour.
    sleep(FAR_BEHIND * 2).await;
    let partitions = progress.far_behind().into_iter().find(|behind| behind.kind == PruneKind::Partitions);
    assert!(partitions.is_some_and(|behind| behind.why.is_some_and(|why| why.contains("15m"))));
}

#[tokio::test(start_paused = true)]
async fn a_backlog_that_takes_longer_than_a_turn_gives_way_and_goes_on() {
    let scene = Scene::new();
    completed(&scene, 200).await;
    sleep(KEPT * 2).await;
    scene.store.always(Pruning::Jobs, Act::Delay(Duration::from_secs(10)));
    let config = Config { call_timeout: Duration::from_secs(11), ..Config::default() };
    let (_pruner, progress) = watched(&scene, config);
    // Twenty steps of ten seconds: more than three minutes, in which the others are due twice and more.
    sleep(Duration::from_mins(2)).await;
    let others = scene.store.calls(Pruning::Rest);
    assert!((20..45).contains(&others), "each of ten kinds once a minute: {others}");
    assert!(progress.behind(PruneKind::Jobs) > Duration::from_mins(1), "{:?}", progress.behind(PruneKind::Jobs));
    sleep(Duration::from_secs(100)).await;
    assert_eq!(scene.count(State::Completed).await, 0, "without a pause");
    sleep(Duration::from_secs(80)).await;
    assert_eq!(progress.behind(PruneKind::Jobs), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_led_waits_for_its_turn_and_stops_while_it_waits() {
    let scene = Scene::new();
    completed(&scene, 5).await;
    sleep(KEPT * 2).await;
    let leadership = Leadership::new(Arc::new(AlwaysLeader::default()), "office", leadership::Config::default());
    let retention = Retention { completed: Some(KEPT), ..Retention::default() };
    let config = Config { step: 10, retention, ..Config::default() };
    let pruner = Pruner::new(scene.store(), config.clone()).led_by("office", leadership.lead());
    let pruner = scene.tasks.spawn("pruner", pruner.run(scene.stop.shutdown()));
    sleep(Duration::from_hours(1)).await;
    assert_eq!(scene.store.calls(Pruning::Jobs), 0, "nobody has been elected");

    let reigns = Stop::new();
    let reign = scene.tasks.spawn("leadership", leadership.run(reigns.shutdown()));
    until("it has looked", || scene.store.calls(Pruning::Jobs) > 0).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.count(State::Completed).await, 0);
    reigns.drain();
    reign.await.unwrap();
    sleep(Duration::from_mins(2)).await;
    let calls = scene.store.calls(Pruning::Jobs);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(scene.store.calls(Pruning::Jobs), calls, "it leads no more");
    let begun = Instant::now();
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn one_whose_term_ends_takes_no_further_step() {
    let scene = Scene::new();
    completed(&scene, 35).await;
    sleep(KEPT * 2).await;
    scene.store.always(Pruning::Jobs, Act::Delay(Duration::from_secs(3)));
    let leadership = Leadership::new(Arc::new(AlwaysLeader::default()), "office", leadership::Config::default());
    let retention = Retention { completed: Some(KEPT), ..Retention::default() };
    let pruner = Pruner::new(scene.store(), Config { step: 10, retention, ..Config::default() });
    let pruner = pruner.led_by("office", leadership.lead());
    let pruner = scene.tasks.spawn("pruner", pruner.run(scene.stop.shutdown()));
    let reigns = Stop::new();
    let reign = scene.tasks.spawn("leadership", leadership.run(reigns.shutdown()));
    sleep(Duration::from_secs(4)).await;
    reigns.drain();
    reign.await.unwrap();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(scene.count(State::Completed).await, 15, "the step under way, and no further one");
    scene.stop.drain();
    pruner.await.unwrap().unwrap();
}
