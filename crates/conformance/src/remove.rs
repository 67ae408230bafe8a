//! Removing final jobs with all that is known of them.

use super::Subject;
use super::given::{SECOND, Scene, a_job, completed, retry};
use foreman_core::id::{JobId, TenantId};
use foreman_core::ports::{JobFilter, RemoveAnswer};
use foreman_core::state::State;

pub async fn a_final_job_is_removed_with_all_that_is_known_of_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for state in State::FINAL {
        let id = scene.job_in(state, a_job()).await;
        assert_eq!(scene.remove(id).await, Some(RemoveAnswer::Removed));
        assert!(scene.find(id).await.is_none());
        assert_eq!(scene.remove(id).await, None, "it is not there any more");
        assert_eq!(scene.cancel(id).await, None);
        assert_eq!(scene.redrive(id).await, None);
    }
    assert_eq!(scene.count(&JobFilter::default()).await, 0);
    assert_eq!(scene.census().await.jobs, 0);
    assert!(scene.claim(session, 10).await.is_empty());
}

pub async fn a_job_that_is_not_final_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in [State::Scheduled, State::Pending, State::Running, State::Retrying] {
        let id = scene.job_in(state, a_job()).await;
        assert_eq!(scene.remove(id).await, Some(RemoveAnswer::NotFinal(state)));
        assert_eq!(scene.state(id).await, state);
        scene.cancel(id).await;
    }
    assert_eq!(scene.remove(JobId::fresh()).await, None);
}

pub async fn many_are_removed_in_one_call_and_answered_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let gone = scene.job_in(State::Completed, a_job()).await;
    let stays = scene.submit(a_job()).await;
    let answers = scene.store.remove(&TenantId::default(), &[stays, gone, JobId::fresh(), gone]).await;
    let expected = [Some(RemoveAnswer::NotFinal(State::Pending)), Some(RemoveAnswer::Removed), None, None];
    assert_eq!(answers.expect("the store answers"), expected);
}

pub async fn removing_one_leaves_the_others(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let gone = scene.submit(a_job()).await;
    let stays = scene.submit(a_job()).await;
    for id in [gone, stays] {
        scene.run(session, id, retry(SECOND)).await;
        scene.wait(SECOND * 2).await;
        scene.run(session, id, completed()).await;
    }
    scene.remove(gone).await;
    assert_eq!(scene.outcomes(stays).await.len(), 2, "its attempts are its own");
}

pub async fn a_worker_that_reports_on_a_removed_job_harms_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    scene.cancel(id).await;
    scene.remove(id).await;
    assert_ne!(scene.settle(proof, completed()).await, foreman_core::ports::Settled::Now);
    assert!(scene.find(id).await.is_none());
}

pub async fn an_id_submitted_anew_after_its_removal_has_no_past(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let asked = a_job().build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    scene.run(session, asked.id, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    scene.run(session, asked.id, completed()).await;
    scene.remove(asked.id).await;
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let view = scene.view(asked.id).await;
    assert_eq!((view.state, view.attempt, view.spent), (State::Pending, 0, 0));
    assert!(view.attempts.records.is_empty(), "{:?}", view.attempts.records);
}
