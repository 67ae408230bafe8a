//! The submitter on the reference store.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{StoreError, Submit, SubmitError, Submitted};
use foreman_core::{NewJob, State};
use foreman_engine::submit::{Config, Error, SubmitHandle, Submitter};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb, away};

fn start(scene: &Scene) -> (Task<Result<(), Error>>, SubmitHandle) {
    let (submitter, handle) = Submitter::new(scene.store(), Config::default());
    (scene.tasks.spawn("submitter", submitter.run(scene.stop.shutdown())), handle)
}

/// Submits one job from a task of its own.
fn caller(scene: &Scene, handle: &SubmitHandle, job: NewJob) -> Task<Result<Vec<Submitted>, SubmitError>> {
    let handle = handle.clone();
    scene.tasks.spawn("caller", async move { handle.submit(vec![job]).await })
}

#[tokio::test(start_paused = true)]
async fn it_starts_accepts_and_stops() {
    let scene = Scene::new();
    let (submitter, handle) = start(&scene);
    let new = job("");
    let start = Instant::now();
    assert!(handle.submit(vec![new.clone()]).await.unwrap().iter().all(Submitted::is_accepted));
    assert!(start.elapsed().is_zero(), "a lone submission is written at once");
    assert_eq!(scene.state(new.id).await, State::Pending);
    handle.close();
    submitter.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let (submitter, handle) = start(&scene);
    let start = Instant::now();
    handle.close();
    submitter.await.unwrap().unwrap();
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_writes_and_answers_everything_accepted_before_it_was_closed() {
    let scene = Scene::new();
    let (submitter, handle) = start(&scene);
    scene.store.always(Verb::Submit, Act::Delay(Duration::from_millis(50)));
    let callers: Vec<_> = (0..100).map(|_| caller(&scene, &handle, job(""))).collect();
    until("all have arrived", || handle.pending() == 100).await;
    handle.close();
    assert!(matches!(handle.submit(vec![job("")]).await, Err(SubmitError::Closed)));
    for caller in callers {
        assert!(caller.await.unwrap().unwrap().iter().all(Submitted::is_accepted));
    }
    submitter.await.unwrap().unwrap();
    assert_eq!(scene.count(State::Pending).await, 100);
    assert!(scene.store.calls(Verb::Submit) <= 3, "{} writes", scene.store.calls(Verb::Submit));
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline_and_tells_everyone() {
    let scene = Scene::new();
    let (submitter, handle) = start(&scene);
    scene.store.always(Verb::Submit, Act::Hang);
    let callers: Vec<_> = (0..3).map(|_| caller(&scene, &handle, job(""))).collect();
    sleep(Duration::from_millis(100)).await;
    scene.stop.drain();
    sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    scene.stop.abort();
    let error = submitter.await.unwrap().unwrap_err();
    assert!(start.elapsed().is_zero());
    assert_eq!(error.unwritten + error.unknown, 3);
    for caller in callers {
        assert!(matches!(caller.await.unwrap(), Err(SubmitError::Store(StoreError::Unavailable(_)))));
    }
    assert!(matches!(handle.submit(vec![job("")]).await, Err(SubmitError::Closed)));
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn draining_alone_does_not_close_intake() {
    let scene = Scene::new();
    let (submitter, handle) = start(&scene);
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(handle.submit(vec![job("")]).await.unwrap().iter().all(Submitted::is_accepted));
    handle.close();
    submitter.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn too_many_waiting_submissions_are_refused_at_once() {
    let scene = Scene::new();
    let config = Config { max_waiting: 5, max_jobs: 5, in_flight: 1, ..Config::default() };
    let (submitter, handle) = Submitter::new(scene.store(), config);
    drop(scene.tasks.spawn("submitter", submitter.run(scene.stop.shutdown())));
    scene.store.always(Verb::Submit, Act::Hang);
    let first = caller(&scene, &handle, job(""));
    until("the first is being written", || scene.store.calls(Verb::Submit) == 1).await;
    let rest: Vec<_> = (0..5).map(|_| caller(&scene, &handle, job(""))).collect();
    until("the rest waits", || handle.pending() == 6).await;
    assert!(matches!(handle.submit(vec![job("")]).await, Err(SubmitError::Overloaded)));
    scene.store.heal();
    assert!(first.await.unwrap().is_ok());
    for caller in rest {
        assert!(caller.await.unwrap().is_ok());
    }
    assert_eq!(scene.count(State::Pending).await, 6, "the refused one is not there");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_has_still_submitted() {
    let scene = Scene::new();
    let (_submitter, handle) = start(&scene);
    scene.store.always(Verb::Submit, Act::Delay(Duration::from_millis(50)));
    let new = job("");
    let gone = tokio::time::timeout(Duration::from_millis(1), handle.submit(vec![new.clone()])).await;
    assert!(gone.is_err());
    until("it is written", || handle.pending() == 0).await;
    assert_eq!(scene.state(new.id).await, State::Pending);
}

#[tokio::test(start_paused = true)]
async fn one_bad_submission_does_not_fail_its_neighbours() {
    let scene = Scene::new();
    let (_submitter, handle) = start(&scene);
    scene.store.next(Verb::Submit, Act::Delay(Duration::from_millis(50)));
    let jobs: Vec<NewJob> = (0..20).map(|_| job("")).collect();
    scene.store.refuse(jobs[7].id);
    let callers: Vec<_> = jobs.iter().map(|new| caller(&scene, &handle, new.clone())).collect();
    for (place, caller) in callers.into_iter().enumerate() {
        let answer = caller.await.unwrap();
        assert_eq!(answer.is_ok(), place != 7, "caller {place}: {answer:?}");
    }
    assert_eq!(scene.count(State::Pending).await, 19);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_told_at_once() {
    let scene = Scene::new();
    let (_submitter, handle) = start(&scene);
    scene.store.next(Verb::Submit, Act::Fail(StoreError::Full("no space".into())));
    let start = Instant::now();
    let answer = handle.submit(vec![job("")]).await;
    assert!(matches!(answer, Err(SubmitError::Store(StoreError::Full(_)))), "{answer:?}");
    assert!(start.elapsed().is_zero());
    assert!(handle.submit(vec![job("")]).await.is_ok(), "and the next is tried");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_told_after_two_seconds() {
    let scene = Scene::new();
    let (_submitter, handle) = start(&scene);
    scene.store.always(Verb::Submit, away());
    let start = Instant::now();
    let answer = handle.submit(vec![job("")]).await;
    assert!(matches!(answer, Err(SubmitError::Store(StoreError::Unavailable(_)))), "{answer:?}");
    let waited = start.elapsed();
    assert!((Duration::from_millis(1_400)..=Duration::from_secs(2)).contains(&waited), "{waited:?}");
    assert!(scene.store.calls(Verb::Submit) >= 4, "it was sent {} times", scene.store.calls(Verb::Submit));
}

#[tokio::test(start_paused = true)]
async fn the_handle_is_the_port_that_the_api_sees() {
    let scene = Scene::new();
    let (_submitter, handle) = start(&scene);
    let port: Arc<dyn Submit> = Arc::new(handle);
    assert!(port.submit(vec![job(""), job("")]).await.unwrap().iter().all(Submitted::is_accepted));
}
