//! The states: for every pair of state and event a store does exactly what [`transition`] says.

use super::Subject;
use super::given::{HOUR, Proof, Scene, a_job, alone, by_ids, completed, dead, failed, ids, interrupted, retry};
use foreman_core::id::{Fence, JobId, SessionId};
use foreman_core::outcome::Verdict;
use foreman_core::ports::{CancelAnswer, RedriveAnswer, Settled};
use foreman_core::state::{State, StateEvent, transition};

/// A job driven into a state, with the best proof there is that somebody holds it.
struct Driven {
    id: JobId,
    proof: Proof,
}

/// What has to wait does so for an hour; after two hours the job may no longer start.
async fn drive(scene: &Scene<'_>, session: SessionId, state: State) -> Driven {
    let expires_at = scene.now().await.plus(HOUR * 2);
    let ask = a_job().expires(expires_at);
    let ask = if state == State::Scheduled { ask.after(HOUR) } else { ask };
    let id = scene.submit(ask).await;
    // Where nobody ever held it, a number that was never given out has to do.
    let nobody = Proof { session, fence: Fence(i64::MAX), job: id };
    let proof = match state {
        State::Scheduled | State::Pending => nobody,
        State::Running => scene.claim_job(session, id).await,
        State::Retrying => scene.run(session, id, retry(HOUR)).await,
        State::Completed => scene.run(session, id, completed()).await,
        State::Failed => scene.run(session, id, failed("no")).await,
        State::Dead => scene.run(session, id, dead("never")).await,
        State::Cancelled => {
            let proof = scene.claim_job(session, id).await;
            scene.cancel(id).await;
            proof
        }
    };
    assert_eq!(scene.state(id).await, state, "driven there");
    Driven { id, proof }
}

/// Tries the verb that stands for an event; answers whether the store says that it took place.
async fn attempt(scene: &Scene<'_>, job: &Driven, event: StateEvent) -> bool {
    let settle = async |verdict: Verdict| scene.settle(job.proof, verdict).await == Settled::Now;
    match event {
        StateEvent::FellDue => {
            let head = scene.head().await;
            scene.wait(HOUR + HOUR / 2).await;
            scene.moved_since(head).await.iter().any(|moved| moved.id == job.id)
        }
        StateEvent::Claimed => {
            let session = scene.session().await;
            ids(&scene.take(alone(by_ids(session, &[job.id]))).await).contains(&job.id)
        }
        StateEvent::Completed => settle(completed()).await,
        StateEvent::Failed => settle(failed("no")).await,
        StateEvent::GaveUp => settle(dead("never")).await,
        StateEvent::RetryPlanned => settle(retry(HOUR)).await,
        StateEvent::Returned => settle(interrupted()).await,
        StateEvent::Cancelled => {
            matches!(scene.cancel(job.id).await, Some(CancelAnswer::WasWaiting | CancelAnswer::WasHeld(_)))
        }
        StateEvent::Expired => {
            let head = scene.head().await;
            scene.wait(HOUR * 3).await;
            scene.moved_since(head).await.iter().any(|moved| moved.id == job.id && moved.step.state == State::Failed)
        }
        StateEvent::Redriven => scene.redrive(job.id).await == Some(RedriveAnswer::Redriven),
    }
}

async fn follows_the_table(subject: &dyn Subject, event: StateEvent) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for state in State::ALL {
        let job = drive(&scene, session, state).await;
        let happened = attempt(&scene, &job, event).await;
        let expected = transition(state, event);
        assert_eq!(happened, expected.is_some(), "{event:?} of a job that is {state}");
        assert_eq!(scene.state(job.id).await, expected.unwrap_or(state), "{event:?} of a job that was {state}");
        scene.census().await;
    }
}

pub async fn falling_due_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::FellDue).await;
}

pub async fn claiming_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Claimed).await;
}

pub async fn completing_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Completed).await;
}

pub async fn failing_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Failed).await;
}

pub async fn giving_up_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::GaveUp).await;
}

pub async fn planning_a_retry_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::RetryPlanned).await;
}

pub async fn returning_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Returned).await;
}

pub async fn cancelling_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Cancelled).await;
}

pub async fn expiring_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Expired).await;
}

pub async fn redriving_follows_the_table(subject: &dyn Subject) {
    follows_the_table(subject, StateEvent::Redriven).await;
}
