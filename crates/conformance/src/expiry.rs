//! Start by: a job that has not started in time fails with error `expired`.

use super::Subject;
use super::given::{HOUR, MINUTE, PLENTY, SECOND, Scene, a_job, alone, by_ids, by_order, completed, retry};
use foreman_core::outcome::AttemptOutcome;
use foreman_core::state::State;

pub async fn a_job_that_did_not_start_in_time_fails_as_expired(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.promote(PLENTY).await.expired, 1);
    let view = scene.view(id).await;
    assert_eq!((view.state, view.error.as_deref()), (State::Failed, Some("expired")));
    assert_eq!((view.attempt, view.started_at), (0, None));
    assert!(view.finished_at.is_some());
    let seen: Vec<_> = view.attempts.records.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    assert_eq!(seen, [(0, Some(AttemptOutcome::Failed))]);
    assert_eq!(scene.promote(PLENTY).await.expired, 0, "it expires once");
}

pub async fn a_job_is_not_expired_before_its_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    scene.advance(HOUR.checked_sub(SECOND).expect("more than a second")).await;
    assert_eq!(scene.promote(PLENTY).await.expired, 0);
    let session = scene.session().await;
    scene.claim_job(session, id).await;
}

pub async fn an_expired_job_is_not_claimed_even_before_anyone_noticed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    scene.advance(HOUR + SECOND).await;
    for request in [by_order(session, 5), by_ids(session, &[id]), alone(by_order(session, 5))] {
        assert!(scene.take(request).await.is_empty(), "no attempt starts after it");
    }
}

pub async fn a_running_job_does_not_expire(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    let proof = scene.claim_job(session, id).await;
    scene.wait(HOUR * 2).await;
    assert_eq!(scene.state(id).await, State::Running);
    scene.end_attempt(proof, completed()).await;
    scene.wait(HOUR).await;
    assert_eq!(scene.state(id).await, State::Completed);
}

pub async fn a_retry_expires_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    scene.run(session, id, retry(HOUR * 5)).await;
    scene.wait(HOUR + SECOND).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.error.as_deref(), view.attempt), (State::Failed, Some("expired"), 1));
    assert_eq!(view.attempts.records.first().and_then(|attempt| attempt.outcome), Some(AttemptOutcome::Retry));
}

pub async fn a_scheduled_job_that_is_due_and_expired_does_not_run(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().after(MINUTE).expires(expires_at)).await;
    scene.wait(HOUR * 2).await;
    assert_eq!(scene.state(id).await, State::Failed);
    assert!(scene.claim(session, 5).await.is_empty());
}

pub async fn at_most_so_many_expire_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let expires_at = scene.now().await.plus(HOUR);
    scene.submit_all(&super::given::jobs(5, &a_job().expires(expires_at))).await;
    scene.advance(HOUR * 2).await;
    let mut expired = Vec::new();
    for _ in 0..4 {
        expired.push(scene.promote(2).await.expired);
    }
    assert_eq!(expired, [2, 2, 1, 0]);
}
