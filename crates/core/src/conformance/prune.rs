//! Removing what has outlived its retention, and nothing else.

use std::time::Duration;

use super::Subject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job, completed, jobs};
use crate::id::JobId;
use crate::ports::{Heartbeat, JobFilter, Pruned, Retention};
use crate::state::State;

/// Keeps everything for ever.
fn for_ever() -> Retention {
    let long = DAY * 100_000;
    Retention { completed: None, failed: None, cancelled: None, dead: None, changes: long, sessions: long }
}

/// One job in every state.
async fn one_of_each(scene: &Scene<'_>) -> Vec<(State, JobId)> {
    let mut all = Vec::new();
    for state in State::ALL {
        all.push((state, scene.job_in(state, a_job()).await));
    }
    all
}

async fn left(scene: &Scene<'_>, all: &[(State, JobId)]) -> Vec<State> {
    let mut left = Vec::new();
    for (state, id) in all {
        if scene.find(*id).await.is_some() {
            left.push(*state);
        }
    }
    left
}

pub async fn each_final_state_has_its_own_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let keep = Some(HOUR);
    for (state, retention) in [
        (State::Completed, Retention { completed: keep, ..for_ever() }),
        (State::Failed, Retention { failed: keep, ..for_ever() }),
        (State::Cancelled, Retention { cancelled: keep, ..for_ever() }),
        (State::Dead, Retention { dead: keep, ..for_ever() }),
    ] {
        let all = one_of_each(&scene).await;
        assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 0, "none is old enough");
        scene.advance(HOUR + SECOND).await;
        assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 1, "{state}");
        let expected: Vec<State> = State::ALL.into_iter().filter(|other| *other != state).collect();
        assert_eq!(left(&scene, &all).await, expected);
        for (_, id) in all {
            scene.cancel(id).await;
            scene.remove(id).await;
        }
    }
}

pub async fn dead_jobs_are_kept_unless_someone_says_otherwise(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let all = one_of_each(&scene).await;
    scene.advance(DAY * 8).await;
    scene.prune(&Retention::default(), PLENTY).await;
    assert!(!left(&scene, &all).await.contains(&State::Completed), "seven days");
    assert!(left(&scene, &all).await.contains(&State::Failed), "thirty days");
    scene.advance(DAY * 400).await;
    scene.prune(&Retention::default(), PLENTY).await;
    assert_eq!(
        left(&scene, &all).await,
        [State::Scheduled, State::Pending, State::Running, State::Retrying, State::Dead]
    );
}

pub async fn a_job_that_is_not_final_is_never_pruned(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let all = one_of_each(&scene).await;
    scene.advance(DAY * 1_000).await;
    let now = Some(Duration::ZERO);
    let nothing = Retention { completed: now, failed: now, cancelled: now, dead: now, ..for_ever() };
    assert_eq!(scene.prune(&nothing, PLENTY).await.jobs, 4);
    assert_eq!(left(&scene, &all).await, [State::Scheduled, State::Pending, State::Running, State::Retrying]);
    let session = scene.session().await;
    scene.wait(SECOND).await;
    assert_eq!(scene.claim(session, 10).await.len(), 3, "what waited can still run");
}

pub async fn retention_counts_from_the_end_not_from_the_beginning(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.advance(DAY).await;
    scene.run(session, id, completed()).await;
    let retention = Retention { completed: Some(HOUR), ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 0);
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 1);
}

pub async fn at_most_so_many_are_pruned_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job())).await;
    for held in scene.claim(session, 5).await {
        scene.complete(session, held).await;
    }
    scene.advance(HOUR).await;
    let retention = Retention { completed: Some(SECOND), ..for_ever() };
    let mut pruned = Vec::new();
    for _ in 0..4 {
        let step = scene.prune(&retention, 2).await;
        assert_eq!(step.was_busy(2), step.jobs == 2);
        pruned.push(step.jobs);
    }
    assert_eq!(pruned, [2, 2, 1, 0]);
    assert_eq!(scene.count(&JobFilter::default()).await, 0);
}

pub async fn an_old_store_with_nothing_to_prune_is_left_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    one_of_each(&scene).await;
    scene.advance(DAY * 1_000).await;
    assert_eq!(scene.prune(&for_ever(), PLENTY).await, Pruned::default());
}

pub async fn old_changes_are_pruned_and_the_log_goes_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    scene.submit(a_job()).await;
    scene.submit(a_job()).await;
    let retention = Retention { changes: DAY, ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.changes, 0);
    scene.advance(DAY + SECOND).await;
    let head = scene.head().await;
    assert!(scene.prune(&retention, PLENTY).await.changes >= 2);
    assert_eq!(scene.head().await, head, "positions are not taken back");
    let late = scene.submit(a_job()).await;
    let moved = scene.moved_since(start).await;
    assert_eq!(moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), [late]);
    assert_eq!(scene.moved_since(head).await.len(), 1, "a reader at the end misses nothing");
}

pub async fn old_sessions_are_pruned_and_living_ones_kept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let living = scene.session().await;
    let ended = scene.session().await;
    scene.end(ended).await;
    let lapsed = scene.mortal().await;
    scene.lapse(lapsed).await;
    let retention = Retention { sessions: DAY, ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.sessions, 0);
    scene.advance(DAY + SECOND).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.sessions, 2);
    let seen: Vec<_> = scene.store.sessions().await.expect("the store answers").iter().map(|view| view.id).collect();
    assert_eq!(seen, [living]);
    assert_eq!(scene.heartbeat(living, &[]).await, Heartbeat::Renewed { held: Vec::new() });
    assert_eq!(scene.heartbeat(ended, &[]).await, Heartbeat::Gone, "over for ever, known or not");
}

pub async fn pruning_a_session_keeps_the_record_of_its_attempts(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.run(session, id, completed()).await;
    scene.end(session).await;
    scene.advance(DAY * 2).await;
    assert_eq!(scene.prune(&Retention { sessions: DAY, ..for_ever() }, PLENTY).await.sessions, 1);
    let attempts = scene.view(id).await.attempts;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].number, attempts[0].fence), (1, Some(proof.fence)));
}

pub async fn a_pruned_job_leaves_no_key_behind(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.job_in(State::Completed, a_job().keyed("k", 1)).await;
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.prune(&Retention { completed: Some(HOUR), ..for_ever() }, PLENTY).await.jobs, 1);
    // The key would stand for a job that nobody can read.
    scene.submit(a_job().keyed("k", 2)).await;
}
