//! Giving a final job another life.

use super::Subject;
use super::given::{HOUR, SECOND, Scene, a_job, at_once, completed, dead, failed, ids, interrupted, retry};
use foreman_core::id::{JobId, TenantId};
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobFilter, RedriveAnswer, Settled};
use foreman_core::state::State;

pub async fn every_final_job_can_be_redriven(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for state in State::FINAL {
        let id = scene.job_in(state, a_job().kind("as asked")).await;
        assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven), "{state}");
        let view = scene.view(id).await;
        assert_eq!((view.state, view.spent, view.crashes, view.finished_at), (State::Pending, 0, 0, None));
        assert_eq!(view.job.work.kind.as_deref(), Some("as asked"), "the same job");
        assert_eq!(ids(&scene.claim(session, 10).await), [id]);
        scene.cancel(id).await;
    }
}

pub async fn a_job_that_is_not_final_is_left_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in [State::Scheduled, State::Pending, State::Running, State::Retrying] {
        let id = scene.job_in(state, a_job()).await;
        let counters = scene.counters(id).await;
        assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::NotFinal(state)));
        assert_eq!((scene.state(id).await, scene.counters(id).await), (state, counters));
        scene.cancel(id).await;
    }
    assert_eq!(scene.redrive(JobId::fresh()).await, None);
}

pub async fn the_old_outcome_is_kept_as_an_attempt(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, dead("first life")).await;
    scene.redrive(id).await;
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Dead)]);
    assert_eq!(scene.view(id).await.attempts.records[0].report.error.as_deref(), Some("first life"));
    scene.run(session, id, interrupted()).await;
    scene.run(session, id, completed()).await;
    let expected = [Some(AttemptOutcome::Dead), Some(AttemptOutcome::Interrupted), Some(AttemptOutcome::Completed)];
    assert_eq!(scene.outcomes(id).await, expected);
    let view = scene.view(id).await;
    assert_eq!((view.state, view.error), (State::Completed, None));
}

pub async fn a_job_cancelled_while_it_waited_shows_that_after_a_redrive(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.job_in(State::Cancelled, a_job()).await;
    scene.redrive(id).await;
    scene.cancel(id).await;
    scene.redrive(id).await;
    scene.run(session, id, completed()).await;
    let expected = [Some(AttemptOutcome::Cancelled), Some(AttemptOutcome::Cancelled), Some(AttemptOutcome::Completed)];
    assert_eq!(scene.outcomes(id).await, expected);
}

pub async fn attempts_are_counted_anew_against_the_limit(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().tries(1)).await;
    scene.crash(id).await;
    assert_eq!(scene.state(id).await, State::Dead);
    scene.redrive(id).await;
    let session = scene.session().await;
    let held = scene.claim_next(session).await;
    assert_eq!((held.attempt, held.spent, held.crashes), (2, 1, 0));
}

pub async fn of_many_redrives_at_once_one_counts(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..10 {
        let id = scene.job_in(State::Dead, a_job()).await;
        let answers = at_once((0..6).map(|_| {
            let store = subject.store();
            async move { store.redrive(&TenantId::default(), &[id]).await.expect("the store answers")[0] }
        }))
        .await;
        let won = answers.iter().filter(|answer| **answer == Some(RedriveAnswer::Redriven)).count();
        let late = Some(RedriveAnswer::NotFinal(State::Pending));
        assert_eq!((won, answers.iter().filter(|answer| **answer == late).count()), (1, 5), "{answers:?}");
        assert_eq!(scene.outcomes(id).await.len(), 1, "the old outcome is kept once");
        scene.cancel(id).await;
    }
}

pub async fn many_are_redriven_in_one_call_and_answered_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let final_job = scene.job_in(State::Failed, a_job()).await;
    let waiting = scene.submit(a_job()).await;
    let answers = scene.store.redrive(&TenantId::default(), &[waiting, final_job, JobId::fresh(), final_job]).await;
    let expected = [
        Some(RedriveAnswer::NotFinal(State::Pending)),
        Some(RedriveAnswer::Redriven),
        None,
        Some(RedriveAnswer::NotFinal(State::Pending)),
    ];
    assert_eq!(answers.expect("the store answers"), expected);
}

pub async fn a_settlement_sent_again_after_a_redrive_does_not_end_the_new_life(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let old = scene.run(session, id, completed()).await;
    scene.redrive(id).await;
    assert_eq!(scene.settle(old, completed()).await, Settled::Before);
    assert_eq!(scene.state(id).await, State::Pending);
    let new = scene.claim_job(session, id).await;
    assert_eq!(scene.settle(old, completed()).await, Settled::Before);
    assert_eq!(scene.state(id).await, State::Running);
    scene.end_attempt(new, failed("second life")).await;
    assert_eq!(scene.state(id).await, State::Failed);
}

pub async fn a_zombie_of_the_first_life_is_fenced_in_the_second(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let zombie = scene.claim_job(session, id).await;
    scene.cancel(id).await;
    scene.redrive(id).await;
    assert_eq!(scene.settle(zombie, completed()).await, Settled::Fenced);
    let new = scene.claim_job(session, id).await;
    assert_eq!(scene.settle(zombie, completed()).await, Settled::Fenced);
    scene.end_attempt(new, completed()).await;
}

pub async fn a_redriven_job_leaves_the_list_of_the_dead(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.job_in(State::Dead, a_job()).await;
    let dead = JobFilter { state: Some(State::Dead), ..JobFilter::default() };
    assert_eq!(scene.count(&dead).await, 1);
    scene.redrive(id).await;
    assert_eq!(scene.count(&dead).await, 0);
    assert_eq!(scene.count(&JobFilter { state: Some(State::Pending), ..JobFilter::default() }).await, 1);
}

pub async fn a_redriven_job_no_longer_expires(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR);
    let id = scene.submit(a_job().expires(expires_at)).await;
    scene.wait(HOUR * 2).await;
    assert_eq!(scene.state(id).await, State::Failed);
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    scene.wait(SECOND).await;
    assert_eq!(scene.state(id).await, State::Pending, "whoever re-drives it wants it to run");
    // Neither does it when its new life needs more than one try.
    scene.run(session, id, retry(SECOND)).await;
    scene.wait(HOUR).await;
    scene.run(session, id, interrupted()).await;
    scene.wait(HOUR).await;
    scene.run(session, id, completed()).await;
}
