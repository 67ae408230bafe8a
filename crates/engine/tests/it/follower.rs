//! Another follower of the change log: this file is all it takes.
//!
//! For every job that completes in the queue `first` it makes one in the queue `second`, as a relay or a chain of jobs would.

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    Begin, ChangeLog, Changes, Effect, FollowerName, Followers, JobFilter, JobQuery, Moved, NewDelivery, PruneKind,
    Retention, Upkeep,
};
use foreman_core::webhook::Event;
use foreman_core::{JobId, State};
use foreman_engine::LoopError;
use foreman_engine::follower::{Bookmark, Follow, Follower, FollowerPace, Notices, Stopped};
use foreman_engine::pruner::{self, Pruner};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep};

use crate::post::{appointed, completed, courier, end_all, patient, us};
use crate::scene::{Scene, job_with, until_async};
use crate::script::{Act, Verb, away};

const NAME: &str = "successor";

/// What one that is new has to say: its name, where it begins, how fast it goes, and what it makes of what it reads.
struct Successor;

#[async_trait]
impl Follow for Successor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&self) -> Begin {
        Begin::Start
    }

    fn pace(&self) -> FollowerPace {
        let (poll, nap) = (Duration::from_secs(5), Duration::from_millis(10));
        FollowerPace { poll, nap, step: 3, call_timeout: Duration::from_secs(10) }
    }

    fn notices(&self) -> Notices {
        Notices { late: "successors start late", lost: "jobs that completed in that time have no successors" }
    }

    async fn read(&mut self, changes: &Changes, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        let successors = changes.moved().filter(|moved| has_successor(moved)).map(successor).collect();
        at.advance(changes.position, Effect::Deliveries(successors)).await
    }
}

fn has_successor(moved: &Moved) -> bool {
    moved.step.state == State::Completed && moved.queue.as_str() == "first"
}

fn successor(moved: &Moved) -> NewDelivery {
    let job = in_queue("second");
    NewDelivery { job, webhook: None, event: Event::JobCompleted, about: Some(moved.id) }
}

fn in_queue(name: &str) -> foreman_core::NewJob {
    job_with("", |work| work.queue = QueueName::from_stored(name))
}

fn start(scene: &Scene) -> Task<Result<(), LoopError>> {
    let follower = Follower::new(Successor, scene.store(), scene.wakeups());
    scene.tasks.spawn(NAME, follower.run(scene.stop.shutdown()))
}

async fn complete_in_first(scene: &Scene, count: usize) {
    let jobs: Vec<_> = (0..count).map(|_| in_queue("first")).collect();
    for some in jobs.chunks(2) {
        scene.submit(some).await;
    }
    assert!(end_all(scene, &completed()).await >= count, "and successors that wait");
}

async fn successors(scene: &Scene) -> Vec<JobId> {
    let filter = JobFilter { queue: Some(QueueName::from_stored("second")), ..JobFilter::default() };
    let page = scene.store.inner.list(&us(), &filter, None, 100_000).await.unwrap();
    page.items.iter().map(|job| job.id).collect()
}

async fn is_at_the_end(scene: &Scene) -> bool {
    let position = scene.store.inner.follow(None, &FollowerName::new(NAME), Begin::Start).await.unwrap();
    position == Some(scene.store.inner.head().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_new_follower_writes_its_effect_once_for_everything_it_reads() {
    let scene = Scene::new();
    complete_in_first(&scene, 5).await;
    let follower = start(&scene);
    until_async("what was there is read", async || successors(&scene).await.len() == 5).await;
    complete_in_first(&scene, 7).await;
    scene.submit(&[in_queue("third")]).await;
    end_all(&scene, &completed()).await;
    until_async("all is read", async || is_at_the_end(&scene).await).await;
    assert_eq!(successors(&scene).await.len(), 12);
    scene.stop.drain();
    follower.await.unwrap().unwrap();
    scene.nothing_left().await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn however_often_it_dies_and_is_not_answered_it_writes_once() {
    let scene = Scene::new();
    complete_in_first(&scene, 100).await;
    for n in 0..100 {
        match n % 4 {
            0 => scene.store.next(Verb::Advance, Act::LoseAnswer),
            1 => scene.store.next(Verb::Advance, away()),
            _ => scene.store.next(Verb::Advance, Act::Delay(Duration::from_millis(3))),
        }
    }
    for life in 0..20 {
        let (one, other) = (start(&scene), start(&scene));
        sleep(Duration::from_millis(40 + 7 * life)).await;
        for task in [one, other] {
            task.abort();
            let _ = task.await;
        }
    }
    scene.store.heal();
    let _follower = start(&scene);
    until_async("all is read", async || is_at_the_end(&scene).await).await;
    assert_eq!(successors(&scene).await.len(), 100);
}

/// Its first step is three rows.
#[tokio::test(start_paused = true)]
async fn one_that_is_behind_reads_more_at_a_time() {
    let scene = Scene::new();
    for _ in 0..1_000 {
        scene.submit(&[in_queue("third")]).await;
    }
    let _follower = start(&scene);
    until_async("all is read", async || is_at_the_end(&scene).await).await;
    let looks = scene.store.calls(Verb::Changes);
    assert!(looks <= 20, "{looks} looks at 1,000 rows");
}

#[tokio::test(start_paused = true)]
async fn what_comes_next_is_read_while_the_last_is_written() {
    let scene = Scene::new();
    // Each row has something to write.
    complete_in_first(&scene, 1_000).await;
    let moment = Duration::from_millis(100);
    scene.store.always(Verb::Changes, Act::Delay(moment));
    scene.store.always(Verb::Advance, Act::Delay(moment));
    let (begun, _follower) = (Instant::now(), start(&scene));
    until_async("all is written", async || successors(&scene).await.len() == 1_000).await;
    let (took, looks) = (begun.elapsed(), scene.store.calls(Verb::Changes) as u32);
    assert!(looks >= 15, "{looks} looks");
    assert!(took < moment * (looks + 4), "{took:?} for {looks} looks, and about as many writes");
}

/// It naps for ten milliseconds between two looks: what comes meanwhile is for the next one.
#[tokio::test(start_paused = true)]
async fn under_load_it_looks_once_in_a_nap_however_much_comes() {
    let scene = Scene::new();
    let _follower = start(&scene);
    sleep(Duration::from_secs(1)).await;
    let before = scene.store.calls(Verb::Changes);
    for _ in 0..200 {
        scene.submit(&[in_queue("third")]).await;
        sleep(Duration::from_millis(5)).await;
    }
    let looks = scene.store.calls(Verb::Changes) - before;
    assert!((50..=120).contains(&looks), "{looks} looks in a second");
    until_async("all is read", async || is_at_the_end(&scene).await).await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let follower = start(&scene);
    sleep(Duration::from_secs(3)).await;
    let begun = Instant::now();
    scene.stop.drain();
    follower.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_what_it_holds() {
    let scene = Scene::new();
    scene.store.always(Verb::Advance, Act::Delay(Duration::from_secs(3)));
    complete_in_first(&scene, 1).await;
    let follower = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    follower.await.unwrap().unwrap();
    assert_eq!(successors(&scene).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Verb::Advance, Act::Hang);
    complete_in_first(&scene, 1).await;
    let follower = start(&scene);
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!follower.is_finished());
    scene.stop.abort();
    follower.await.unwrap().unwrap();
    scene.nothing_left().await;
}

/// Whatever follows, the pruner leaves it what it has not read, and says for whom.
#[tokio::test(start_paused = true)]
async fn the_pruner_says_which_follower_holds_the_log_back() {
    let scene = Scene::new();
    appointed(&scene).await;
    complete_in_first(&scene, 1).await;
    let changes = Duration::from_hours(1);
    let retention = Retention { changes, completed: None, ..Retention::default() };
    let pruner =
        Pruner::new(scene.store(), pruner::Config { retention: retention.clone(), ..pruner::Config::default() });
    let progress = pruner.progress();
    let _pruner = scene.tasks.spawn("pruner", pruner.run(scene.stop.shutdown()));
    sleep(Duration::from_mins(50)).await;
    assert_eq!(progress.held_by(), None, "it is not kept for longer than others want it");
    sleep(changes).await;
    assert_eq!(progress.held_by(), Some(FollowerName::COURIER));
    assert_eq!(scene.store.inner.start().await.unwrap().0, 0, "nothing was removed");
    let _courier = scene.tasks.spawn("courier", courier(&scene, patient()).run(scene.stop.shutdown()));
    sleep(Duration::from_mins(5)).await;
    assert_eq!(progress.held_by(), None);
    let step = scene.store.inner.prune_kind(None, PruneKind::Changes, &retention, 10).await.unwrap().unwrap();
    assert_eq!((step.removed, step.held_by), (0, None), "the pruner has removed it");
}
