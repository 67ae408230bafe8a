//! The proof that every job is in exactly one place.

use super::Subject;
use super::given::{HOUR, SECOND};
use super::given::{Scene, a_job, completed, failed, interrupted, jobs, retry};
use foreman_core::ports::Census;
use foreman_core::state::State;

pub async fn an_empty_store_is_clean(subject: &dyn Subject) {
    assert_eq!(Scene::of(subject).census().await, Census::default());
}

pub async fn every_job_is_counted_in_its_place(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        scene.job_in(state, a_job()).await;
        scene.job_in(state, a_job().of("other")).await;
    }
    let audit = scene.census().await;
    assert_eq!((audit.jobs, audit.ready, audit.held, audit.outcomes), (16, 6, 2, 8));
}

pub async fn a_claim_partly_settled_is_clean(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(6, &a_job())).await;
    let mut held = scene.claim(session, 6).await;
    for verdict in [completed(), failed("no"), retry(HOUR), interrupted()] {
        let one = held.pop().expect("six were claimed");
        scene.settle_all(session, &[one.settle(verdict)]).await;
        scene.census().await;
    }
    let cancelled = held.pop().expect("six were claimed");
    scene.cancel(cancelled.job.id).await;
    let audit = scene.census().await;
    assert_eq!((audit.jobs, audit.ready, audit.held, audit.outcomes), (6, 2, 1, 3));
}

pub async fn a_busy_store_is_clean_at_every_moment(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(scene.session().await);
    }
    let workers = super::given::at_once(sessions.into_iter().map(|session| {
        let store = subject.store();
        async move {
            for round in 0..15 {
                store.submit(&jobs(2, &a_job())).await.expect("the store answers");
                let request = super::given::by_order(session, 3);
                let held = super::given::taken(store.claim(&request).await.expect("the store answers"));
                let verdict = if round % 3 == 0 { retry(SECOND) } else { completed() };
                let batch: Vec<_> = held.into_iter().map(|held| held.settle(verdict.clone())).collect();
                store.settle(session, &batch).await.expect("the store answers");
                tokio::task::yield_now().await;
            }
        }
    }));
    let auditor = async {
        for _ in 0..25 {
            scene.census().await;
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(workers, auditor);
    assert_eq!(scene.census().await.jobs, 90);
}

/// Follows every promise: whatever happened, every job is in exactly one place.
pub async fn a_clean_end(subject: &dyn Subject) {
    Scene::of(subject).census().await;
}
