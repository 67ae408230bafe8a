//! The settler on the reference store.

use std::time::Duration;

use foreman_core::ports::{Held, SessionStore, Settled, StoreError};
use foreman_core::{Report, SessionId, State, Verdict};
use foreman_engine::settle::{Config, Error, SettleHandle, Settlements, Settler};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep, timeout};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb};

const LONG: Duration = Duration::from_hours(1);

/// A settler of a fresh session that holds so many jobs.
async fn holding(scene: &Scene, count: usize) -> (Task<Settlements>, SettleHandle, SessionId, Vec<Held>) {
    let jobs: Vec<_> = (0..count).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    let session = scene.stranger(LONG).await;
    let held = if count == 0 { vec![] } else { scene.claimed_by(session, count).await };
    let (settler, handle) = Settler::new(scene.store(), session, Config { max_waiting: 50, ..Config::default() });
    (scene.tasks.spawn("settler", settler.run(scene.stop.shutdown())), handle, session, held)
}

fn completed(held: Held) -> foreman_core::ports::Settlement {
    held.settle(Verdict::Completed(Report::default()))
}

async fn send(handle: &SettleHandle, held: Held) {
    let room = handle.room().await.unwrap();
    handle.send(room, completed(held)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_starts_records_and_stops() {
    let scene = Scene::new();
    let (settler, handle, _, mut held) = holding(&scene, 1).await;
    assert_eq!(handle.settle(completed(held.pop().unwrap())).await.unwrap(), Settled::Now);
    assert_eq!(scene.count(State::Completed).await, 1);
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements { now: 1, ..Settlements::default() });
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let (settler, handle, _, _) = holding(&scene, 0).await;
    let start = Instant::now();
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements::default());
    assert!(start.elapsed().is_zero());
    assert!(matches!(handle.room().await, Err(Error::Over)));
}

#[tokio::test(start_paused = true)]
async fn it_flushes_what_it_holds_while_draining() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 40).await;
    scene.store.always(Verb::Settle, Act::Delay(Duration::from_millis(20)));
    for one in held {
        send(&handle, one).await;
    }
    scene.stop.drain();
    assert_eq!(settler.await.unwrap().now, 40);
    assert_eq!(scene.count(State::Completed).await, 40);
    assert!(scene.store.calls(Verb::Settle) <= 3, "{} writes", scene.store.calls(Verb::Settle));
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline_and_counts_what_it_dropped() {
    let scene = Scene::new();
    let (settler, handle, session, held) = holding(&scene, 3).await;
    scene.store.always(Verb::Settle, Act::Fail(StoreError::Full("no space".into())));
    for one in held {
        send(&handle, one).await;
    }
    scene.stop.drain();
    sleep(Duration::from_secs(5)).await;
    assert!(!settler.is_finished(), "it is sent again until told otherwise");
    scene.stop.abort();
    assert_eq!(settler.await.unwrap(), Settlements { unrecorded: 3, ..Settlements::default() });
    assert_eq!(scene.store.end(session).await.unwrap(), 3, "the session still holds them, to be handed back");
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_zombies_outcome_is_refused_and_counted() {
    let scene = Scene::new();
    let (_settler, handle, session, mut held) = holding(&scene, 2).await;
    sleep(LONG).await;
    scene.lapse(session).await;
    assert_eq!(handle.settle(completed(held.pop().unwrap())).await.unwrap(), Settled::Fenced);
    send(&handle, held.pop().unwrap()).await;
    handle.idle().await;
    assert_eq!(handle.counts(), Settlements { fenced: 2, ..Settlements::default() });
    assert_eq!((scene.count(State::Completed).await, scene.count(State::Pending).await), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn outcomes_wait_for_room_when_the_store_is_slow() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 51).await;
    scene.store.always(Verb::Settle, Act::Hang);
    let mut held = held.into_iter();
    for one in held.by_ref().take(50) {
        send(&handle, one).await;
    }
    assert!(timeout(Duration::from_secs(1), handle.room()).await.is_err(), "the fifty-first waits");
    scene.store.heal();
    send(&handle, held.next().unwrap()).await;
    until("all are recorded", || handle.counts().now == 51).await;
}

#[tokio::test(start_paused = true)]
async fn one_outcome_the_store_refuses_does_not_lose_its_neighbours() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 9).await;
    scene.store.refuse(held[4].job.id);
    for one in held {
        send(&handle, one).await;
    }
    handle.idle().await;
    assert_eq!(handle.counts(), Settlements { now: 8, unrecorded: 1, ..Settlements::default() });
}
