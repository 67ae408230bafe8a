//! The promoter on the reference store.

use std::time::Duration;

use foreman_core::{NewJob, Start, State};
use foreman_engine::promoter::{Config, Error, Promoter};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb, away};

fn start(scene: &Scene) -> Task<Result<(), Error>> {
    // A poll so rare that only wake-ups and due times can explain what is on time.
    let config = Config { poll: Duration::from_hours(1), step: 10, ..Config::default() };
    let promoter = Promoter::new(scene.store(), scene.wakeups(), config);
    scene.tasks.spawn("promoter", promoter.run(scene.stop.shutdown()))
}

fn later(seconds: u64) -> NewJob {
    NewJob { start: Start::After(Duration::from_secs(seconds)), ..job("") }
}

#[tokio::test(start_paused = true)]
async fn it_starts_promotes_on_time_and_stops() {
    let scene = Scene::new();
    let promoter = start(&scene);
    // Only what was promoted can be claimed.
    let _worker = scene.worker();
    let (far, near) = (later(100), later(5));
    let begun = Instant::now();
    scene.submit(std::slice::from_ref(&far)).await;
    sleep(Duration::from_secs(1)).await;
    // It sleeps until the far one is due; the near one must wake it.
    scene.submit(std::slice::from_ref(&near)).await;
    scene.until_state(near.id, State::Completed).await;
    assert_eq!(begun.elapsed().as_secs(), 6);
    assert_eq!(scene.state(far.id).await, State::Scheduled);
    scene.until_state(far.id, State::Completed).await;
    assert_eq!(begun.elapsed().as_secs(), 100);
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let promoter = start(&scene);
    until("it has looked", || scene.store.calls(Verb::Promote) > 0).await;
    let begun = Instant::now();
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_the_step_it_is_in() {
    let scene = Scene::new();
    scene.submit(&(0..15).map(|_| later(1)).collect::<Vec<_>>()).await;
    sleep(Duration::from_secs(2)).await;
    scene.store.always(Verb::Promote, Act::Delay(Duration::from_secs(3)));
    let promoter = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
    let session = scene.stranger(Duration::from_hours(1)).await;
    assert_eq!(scene.claimed_by(session, 100).await.len(), 10, "one step of ten, and no further one");
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Verb::Promote, Act::Hang);
    let promoter = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!promoter.is_finished());
    scene.stop.abort();
    promoter.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_promoted_step_by_step_without_waiting() {
    let scene = Scene::new();
    let promoter = start(&scene);
    scene.submit(&(0..95).map(|_| later(5)).collect::<Vec<_>>()).await;
    sleep(Duration::from_millis(5_100)).await;
    let session = scene.stranger(Duration::from_hours(1)).await;
    assert_eq!(scene.claimed_by(session, 100).await.len(), 95);
    assert!(scene.store.calls(Verb::Promote) >= 10, "in steps");
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_survives_an_outage() {
    let scene = Scene::new();
    let promoter = start(&scene);
    scene.store.always(Verb::Promote, away());
    let new = later(5);
    scene.submit(std::slice::from_ref(&new)).await;
    sleep(Duration::from_mins(2)).await;
    let calls = scene.store.calls(Verb::Promote);
    assert!((10..100).contains(&calls), "asked {calls} times in two minutes");
    scene.store.heal();
    let begun = Instant::now();
    let _worker = scene.worker();
    scene.until_state(new.id, State::Completed).await;
    assert!(begun.elapsed() <= Duration::from_secs(5), "{:?}", begun.elapsed());
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_expired_while_it_waited_fails() {
    let scene = Scene::new();
    let promoter = start(&scene);
    let born = scene.view(scene.submitted("").await).await.job.created_at;
    let stale = crate::scene::job_with("", |work| work.expires_at = Some(born.plus(Duration::from_secs(30))));
    scene.submit(std::slice::from_ref(&stale)).await;
    let begun = Instant::now();
    scene.until_state(stale.id, State::Failed).await;
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(scene.view(stale.id).await.error.as_deref(), Some("expired"));
    scene.stop.drain();
    promoter.await.unwrap().unwrap();
}
