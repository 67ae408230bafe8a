//! Ending a job at once, wherever it is.

use super::Subject;
use super::given::{
    HOUR, SECOND, Scene, TTL, a_job, at_once, by_order, completed, ids, interrupted, jobs, open, retry, taken,
};
use foreman_core::id::{JobId, TenantId};
use foreman_core::outcome::Verdict;
use foreman_core::ports::{CancelAnswer, Settled};
use foreman_core::state::State;

pub async fn a_waiting_job_is_cancelled_at_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for state in [State::Scheduled, State::Pending, State::Retrying] {
        let id = scene.job_in(state, a_job()).await;
        assert_eq!(scene.cancel(id).await, Some(CancelAnswer::WasWaiting), "{state}");
        let view = scene.view(id).await;
        assert_eq!(view.state, State::Cancelled);
        assert!(view.finished_at.is_some());
    }
    scene.wait(HOUR * 2).await;
    assert!(scene.claim(session, 10).await.is_empty(), "a cancelled job is never claimed");
}

pub async fn a_held_job_is_cancelled_at_once_and_its_holder_named(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.claim_job(session, id).await;
    assert_eq!(scene.cancel(id).await, Some(CancelAnswer::WasHeld(session)));
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt), (State::Cancelled, 1));
    assert!(view.finished_at.is_some());
    assert_eq!(scene.held(session).await, [], "the worker learns it by what it no longer holds");
}

pub async fn what_the_worker_reports_after_a_cancel_is_refused(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for verdict in [completed(), retry(SECOND), interrupted(), Verdict::Released] {
        let id = scene.submit(a_job()).await;
        let proof = scene.claim_job(session, id).await;
        scene.cancel(id).await;
        assert_eq!(scene.settle(proof, verdict.clone()).await, Settled::Fenced, "{verdict:?}");
        assert_eq!(scene.state(id).await, State::Cancelled);
    }
}

pub async fn a_final_job_is_not_cancelled(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::FINAL {
        let id = scene.job_in(state, a_job()).await;
        let head = scene.head().await;
        assert_eq!(scene.cancel(id).await, Some(CancelAnswer::AlreadyFinal(state)));
        assert_eq!(scene.state(id).await, state);
        assert_eq!(scene.head().await, head, "nothing moved");
    }
}

pub async fn a_job_nobody_submitted_is_not_found(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(scene.cancel(JobId::fresh()).await, None);
}

pub async fn many_are_cancelled_in_one_call_and_answered_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let finished = scene.job_in(State::Completed, a_job()).await;
    let session = scene.session().await;
    let running = scene.submit(a_job()).await;
    scene.claim_job(session, running).await;
    let waiting = scene.submit(a_job()).await;
    let unknown = JobId::fresh();
    let answers = scene.store.cancel(&TenantId::default(), &[running, unknown, finished, waiting, waiting]).await;
    let expected = [
        Some(CancelAnswer::WasHeld(session)),
        None,
        Some(CancelAnswer::AlreadyFinal(State::Completed)),
        Some(CancelAnswer::WasWaiting),
        Some(CancelAnswer::AlreadyFinal(State::Cancelled)),
    ];
    assert_eq!(answers.expect("the store answers"), expected);
}

pub async fn cancelling_one_leaves_its_neighbours_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(3, &a_job())).await;
    let mut held = scene.claim(session, 3).await;
    let cancelled = held.remove(1);
    scene.cancel(cancelled.job.id).await;
    assert_eq!(scene.beat(session, &[]).await, super::given::sorted(held.iter().map(open)));
    for held in held {
        scene.complete(session, held).await;
    }
}

pub async fn a_cancelled_job_does_not_come_back_with_its_session(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let (ending, dying) = (scene.session().await, scene.mortal().await);
    scene.claim_job(ending, came[0]).await;
    scene.claim_job(dying, came[1]).await;
    scene.cancel(came[0]).await;
    scene.cancel(came[1]).await;
    assert_eq!(scene.end(ending).await, 0);
    assert_eq!(scene.lapse(dying).await, 0);
    for id in came {
        assert_eq!(scene.state(id).await, State::Cancelled);
        assert_eq!(scene.view(id).await.crashes, 0);
    }
}

pub async fn of_a_cancel_and_a_settlement_at_once_exactly_one_wins(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for _ in 0..40 {
        let id = scene.submit(a_job()).await;
        let proof = scene.claim_job(session, id).await;
        let (worker, user) = (subject.store(), subject.store());
        let (settled, cancelled) = tokio::join!(
            at_once([async move {
                worker.settle(session, &[proof.with(completed())]).await.expect("the store answers")[0]
            }]),
            at_once([async move { user.cancel(&TenantId::default(), &[id]).await.expect("the store answers")[0] }]),
        );
        let state = scene.state(id).await;
        match (settled[0], cancelled[0]) {
            (Settled::Now, Some(CancelAnswer::AlreadyFinal(State::Completed))) => assert_eq!(state, State::Completed),
            (Settled::Fenced, Some(CancelAnswer::WasHeld(holder))) => {
                assert_eq!((state, holder), (State::Cancelled, session));
            }
            both => panic!("both won, or none: {both:?}, and the job is {state}"),
        }
        assert_eq!(scene.outcomes(id).await.len(), 1);
    }
}

pub async fn of_many_cancels_at_once_one_ends_the_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..10 {
        let id = scene.submit(a_job()).await;
        let answers = at_once((0..6).map(|_| {
            let store = subject.store();
            async move { store.cancel(&TenantId::default(), &[id]).await.expect("the store answers")[0] }
        }))
        .await;
        let won = answers.iter().filter(|answer| **answer == Some(CancelAnswer::WasWaiting)).count();
        let late = Some(CancelAnswer::AlreadyFinal(State::Cancelled));
        assert_eq!((won, answers.iter().filter(|answer| **answer == late).count()), (1, 5), "{answers:?}");
    }
}

/// Two workers pass the jobs back and forth while they are cancelled one by one: a job on its way from one place to
/// another is never nowhere.
pub async fn a_job_on_the_move_is_found(subject: &dyn Subject) {
    const JOBS: usize = 60;
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(JOBS, &a_job())).await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(scene.session().await);
    }
    let mut movers = Vec::new();
    for session in sessions {
        let store = subject.store();
        movers.push(tokio_task(async move {
            loop {
                let held = taken(store.claim(&by_order(session, 5)).await.expect("the store answers"));
                if held.is_empty() && store.census().await.expect("the store answers").outcomes == JOBS as u64 {
                    return;
                }
                let back: Vec<_> = held.into_iter().map(|held| held.settle(interrupted())).collect();
                store.settle(session, &back).await.expect("the store answers");
                tokio::task::yield_now().await;
            }
        }));
    }
    for id in &came {
        let answer = scene.cancel(*id).await;
        let found = matches!(answer, Some(CancelAnswer::WasWaiting | CancelAnswer::WasHeld(_)));
        assert!(found, "{id} exists and is not final, yet cancel says {answer:?}");
        tokio::task::yield_now().await;
    }
    for mover in movers {
        mover.await.expect("a mover ends when all are cancelled");
    }
    for id in came {
        assert_eq!(scene.state(id).await, State::Cancelled);
    }
}

#[expect(clippy::disallowed_methods, reason = "the test awaits the task itself")]
fn tokio_task(work: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    tokio::spawn(work)
}

pub async fn of_a_cancel_and_a_lapse_at_once_the_job_ends_cancelled(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..20 {
        let session = scene.mortal().await;
        let id = scene.submit(a_job()).await;
        scene.claim_job(session, id).await;
        scene.advance(TTL + SECOND).await;
        let pulse = scene.pulse(session).await.expect("it lives");
        let (sweeper, user) = (subject.store(), subject.store());
        let (lapsed, cancelled) = tokio::join!(
            at_once([async move { sweeper.lapse(pulse).await.expect("the store answers") }]),
            at_once([async move { user.cancel(&TenantId::default(), &[id]).await.expect("the store answers")[0] }]),
        );
        match (lapsed[0], cancelled[0]) {
            (Some(0), Some(CancelAnswer::WasHeld(_))) | (Some(1), Some(CancelAnswer::WasWaiting)) => {}
            both => panic!("{both:?}"),
        }
        assert_eq!(scene.state(id).await, State::Cancelled);
    }
}

pub async fn of_a_cancel_and_a_claim_at_once_nothing_cancelled_runs_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for _ in 0..20 {
        let id = scene.submit(a_job()).await;
        let (worker, user) = (subject.store(), subject.store());
        let (held, cancelled) = tokio::join!(
            at_once([
                async move { ids(&taken(worker.claim(&by_order(session, 1)).await.expect("the store answers"))) }
            ]),
            at_once([async move { user.cancel(&TenantId::default(), &[id]).await.expect("the store answers")[0] }]),
        );
        let expected = if held[0].is_empty() { CancelAnswer::WasWaiting } else { CancelAnswer::WasHeld(session) };
        assert_eq!(cancelled[0], Some(expected));
        assert_eq!(scene.state(id).await, State::Cancelled);
        assert_eq!(scene.held(session).await, []);
    }
}
