//! The change log: every move, once, in order, and none missed.

use std::collections::BTreeMap;

use super::Subject;
use super::given::{
    HOUR, SECOND, Scene, a_job, at_once, by_order, completed, dead, failed, ids, interrupted, jobs, retry, taken,
};
use foreman_core::id::JobId;
use foreman_core::outcome::Verdict;
use foreman_core::ports::{Moved, Position};
use foreman_core::state::{State, StateEvent, transition};

fn states(moved: &[Moved]) -> Vec<State> {
    moved.iter().map(|moved| moved.step.state).collect()
}

pub async fn a_job_leaves_one_entry_for_every_move(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let start = scene.head().await;
    let id = scene.submit(a_job().after(HOUR).queued("mail").of("default")).await;
    scene.wait(HOUR + SECOND).await;
    scene.run(session, id, retry(HOUR)).await;
    scene.wait(HOUR + SECOND).await;
    scene.run(session, id, interrupted()).await;
    scene.run(session, id, Verdict::Released).await;
    scene.run(session, id, completed()).await;
    scene.redrive(id).await;
    scene.crash(id).await;
    scene.claim_job(session, id).await;
    scene.cancel(id).await;
    let moved = scene.moved_since(start).await;
    let expected = [
        (State::Scheduled, 0),
        (State::Pending, 0),
        (State::Running, 1),
        (State::Retrying, 1),
        (State::Pending, 1),
        (State::Running, 2),
        (State::Pending, 2),
        (State::Running, 3),
        (State::Pending, 3),
        (State::Running, 4),
        (State::Completed, 4),
        (State::Pending, 4),
        (State::Running, 5),
        (State::Pending, 5),
        (State::Running, 6),
        (State::Cancelled, 6),
    ];
    let seen: Vec<_> = moved.iter().map(|moved| (moved.step.state, moved.step.attempt)).collect();
    assert_eq!(seen, expected);
    assert!(moved.iter().all(|moved| moved.id == id && moved.queue.as_str() == "mail"));
    assert!(moved.is_sorted_by_key(|moved| moved.at));
}

pub async fn every_way_to_end_is_in_the_log(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let soon = scene.now().await.plus(SECOND);
    let mut expected = Vec::new();
    let start = scene.head().await;
    for (verdict, state) in
        [(completed(), State::Completed), (failed("no"), State::Failed), (dead("never"), State::Dead)]
    {
        let id = scene.submit(a_job()).await;
        scene.run(session, id, verdict).await;
        expected.push((id, state));
    }
    let cancelled = scene.submit(a_job()).await;
    scene.cancel(cancelled).await;
    expected.push((cancelled, State::Cancelled));
    let worn_out = scene.submit(a_job().tries(1)).await;
    scene.crash(worn_out).await;
    expected.push((worn_out, State::Dead));
    let expired = scene.submit(a_job().expires(soon.plus(HOUR))).await;
    scene.wait(HOUR * 2).await;
    expected.push((expired, State::Failed));
    let finals: Vec<_> = scene
        .moved_since(start)
        .await
        .into_iter()
        .filter(|moved| moved.step.state.is_final())
        .map(|moved| (moved.id, moved.step.state))
        .collect();
    assert_eq!(finals, expected);
}

pub async fn what_changed_nothing_leaves_no_entry(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.run(session, id, completed()).await;
    let head = scene.head().await;
    scene.settle(proof, completed()).await;
    scene.cancel(id).await;
    scene.claim(session, 5).await;
    scene.promote(10).await;
    scene.beat(session, &[]).await;
    scene.pause("default").await;
    scene.cancel(JobId::fresh()).await;
    assert_eq!(states(&scene.moved_since(head).await), []);
}

pub async fn a_batch_names_each_of_its_jobs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let start = scene.head().await;
    let came = scene.submit_all(&jobs(20, &a_job())).await;
    let held = scene.claim(session, 20).await;
    let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &batch).await;
    let moved = scene.moved_since(start).await;
    for id in came {
        let own: Vec<_> = moved.iter().filter(|moved| moved.id == id).cloned().collect();
        assert_eq!(states(&own), [State::Pending, State::Running, State::Completed]);
    }
    assert_eq!(moved.len(), 60);
}

pub async fn a_reader_at_the_end_sees_nothing_until_something_moves(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    let head = scene.head().await;
    let read = scene.store.changes(head, 10).await.expect("the store answers");
    assert_eq!((read.rows.len(), read.position), (0, head));
    let id = scene.submit(a_job()).await;
    let read = scene.store.changes(head, 10).await.expect("the store answers");
    assert_eq!(read.moved().map(|moved| moved.id).collect::<Vec<_>>(), [id]);
    assert_eq!(read.position, scene.head().await);
}

pub async fn pages_of_any_size_read_the_same_log(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let start = scene.head().await;
    for _ in 0..6 {
        scene.submit_all(&jobs(2, &a_job())).await;
        scene.claim(session, 1).await;
    }
    let whole = scene.store.changes(start, 1_000).await.expect("the store answers").into_moved().collect::<Vec<_>>();
    assert_eq!(whole.len(), 18);
    for size in [1, 2, 5] {
        let (mut position, mut read) = (start, Vec::new());
        loop {
            let page = scene.store.changes(position, size).await.expect("the store answers");
            if page.rows.is_empty() {
                break;
            }
            position = page.position;
            read.extend(page.into_moved());
        }
        assert_eq!(read, whole, "in steps of {size}");
    }
}

pub async fn a_page_that_is_not_full_is_the_last(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    for _ in 0..5 {
        scene.submit(a_job()).await;
    }
    let (mut position, mut rows) = (start, Vec::new());
    loop {
        let page = scene.store.changes(position, 2).await.expect("the store answers");
        rows.push(page.rows.len());
        position = page.position;
        if !page.is_full {
            break;
        }
    }
    assert_eq!((rows, position), (vec![2, 2, 1], scene.head().await));
    let page = scene.store.changes(position, 2).await.expect("the store answers");
    assert_eq!((page.rows.len(), page.is_full), (0, false));
}

pub async fn the_log_can_be_read_from_the_beginning(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    let moved = scene.moved_since(Position::default()).await;
    assert_eq!(moved.iter().map(|moved| (moved.id, moved.step.state)).collect::<Vec<_>>(), [(id, State::Pending)]);
}

/// Writers write while a reader follows: it must see every move of every job, each after the one before.
pub async fn a_reader_that_follows_misses_nothing(subject: &dyn Subject) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 15;
    let scene = Scene::of(subject);
    let start = scene.head().await;
    let mut sessions = Vec::new();
    for _ in 0..WRITERS {
        sessions.push(scene.session().await);
    }
    let writers = at_once(sessions.into_iter().map(|session| {
        let store = subject.store();
        async move {
            for _ in 0..ROUNDS {
                store.submit(&jobs(3, &a_job())).await.expect("the store answers");
                let held = taken(store.claim(&by_order(session, 3)).await.expect("the store answers"));
                let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
                store.settle(session, &batch).await.expect("the store answers");
                tokio::task::yield_now().await;
            }
            // A claim passes by what others are taking, so it may take fewer than its writer brought. Whoever is last finds the rest.
            loop {
                let held = taken(store.claim(&by_order(session, 3)).await.expect("the store answers"));
                if held.is_empty() {
                    break;
                }
                let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
                store.settle(session, &batch).await.expect("the store answers");
            }
        }
    }));
    let store = subject.store();
    let reader = async move {
        let (mut position, mut read) = (start, Vec::new());
        // Each job moves three times.
        while read.len() < WRITERS * ROUNDS * 3 * 3 {
            let page = store.changes(position, 2).await.expect("the store answers");
            position = page.position;
            read.extend(page.into_moved());
            tokio::task::yield_now().await;
        }
        read
    };
    let in_time = tokio::time::timeout(super::given::MINUTE, async { tokio::join!(writers, reader) });
    let (_, read) = in_time.await.expect("the reader sees all moves within a minute");
    let mut lives: BTreeMap<JobId, Vec<State>> = BTreeMap::new();
    for moved in read {
        lives.entry(moved.id).or_default().push(moved.step.state);
    }
    for (id, life) in lives {
        assert_eq!(life, [State::Pending, State::Running, State::Completed], "{id}");
    }
}

pub async fn every_move_is_one_that_the_states_allow(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    for state in State::ALL {
        let id = scene.job_in(state, a_job()).await;
        scene.redrive(id).await;
        scene.wait(HOUR * 2).await;
        scene.cancel(id).await;
    }
    let mut last: BTreeMap<JobId, State> = BTreeMap::new();
    for moved in scene.moved_since(start).await {
        let allowed = match last.insert(moved.id, moved.step.state) {
            None => matches!(moved.step.state, State::Scheduled | State::Pending),
            Some(from) => StateEvent::ALL.into_iter().any(|event| transition(from, event) == Some(moved.step.state)),
        };
        assert!(allowed, "{moved:?}");
    }
    let session = scene.session().await;
    assert_eq!(ids(&scene.claim(session, 10).await), []);
}
