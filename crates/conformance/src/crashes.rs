//! Crashes and poison: a job that takes its worker down, and the neighbours it may not take along.

use super::Subject;
use super::given::{Scene, a_job, alone, by_ids, by_order, completed, ids, interrupted, jobs, sorted};
use foreman_core::id::JobId;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{ClaimAnswer, ClaimRequest, RedriveAnswer};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::state::State;

/// A job whose next crash would be its last.
async fn a_fragile_job(scene: &Scene<'_>) -> JobId {
    let id = scene.submit(a_job()).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(id).await;
    }
    assert_eq!(scene.view(id).await.crashes, MAX_CRASHES - 1);
    id
}

pub async fn three_crashes_make_a_job_dead_by_poison(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    for crashes in 1..MAX_CRASHES {
        scene.crash(id).await;
        assert_eq!((scene.state(id).await, scene.view(id).await.crashes), (State::Pending, crashes));
    }
    scene.crash(id).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.crashes), (State::Dead, MAX_CRASHES));
    let error = view.error.expect("it says why");
    assert!(error.starts_with("poison"), "{error}");
    assert!(view.finished_at.is_some());
    let session = scene.session().await;
    assert!(scene.take(alone(by_order(session, 10))).await.is_empty(), "nobody is to run it again");
}

pub async fn a_dead_session_crashes_only_what_it_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    let (dying, other) = (scene.mortal().await, scene.session().await);
    scene.claim_job(dying, came[0]).await;
    let settled = scene.claim_job(dying, came[1]).await;
    scene.end_attempt(settled, completed()).await;
    let elsewhere = scene.claim_job(other, came[2]).await;
    assert_eq!(scene.lapse(dying).await, 1);
    assert_eq!(scene.counters(came[0]).await, (1, 1, 1));
    assert_eq!(scene.counters(came[1]).await, (1, 1, 0), "it had ended");
    assert_eq!(scene.state(came[1]).await, State::Completed);
    assert_eq!(scene.counters(came[2]).await, (1, 1, 0), "another session has it");
    scene.end_attempt(elsewhere, completed()).await;
    assert_eq!(scene.counters(came[3]).await, (0, 0, 0), "it was never claimed");
}

pub async fn a_job_whose_attempts_run_out_by_lapses_is_dead(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().tries(2)).await;
    scene.crash(id).await;
    assert_eq!(scene.state(id).await, State::Pending);
    scene.crash(id).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.spent, view.crashes), (State::Dead, 2, 2));
    let error = view.error.expect("it says why");
    assert!(!error.starts_with("poison"), "two crashes are no poison: {error}");
}

pub async fn a_fragile_job_is_passed_over_in_company(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let fragile = a_fragile_job(&scene).await;
    let session = scene.session().await;
    for request in [by_order(session, 10), by_ids(session, &[fragile])] {
        let answer = scene.ask(&request).await;
        assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: true, .. }), "{answer:?}");
    }
    assert_eq!(scene.state(fragile).await, State::Pending);
}

pub async fn a_claim_in_company_tells_that_a_fragile_job_waits(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let fragile = a_fragile_job(&scene).await;
    let others = scene.submit_all(&jobs(3, &a_job())).await;
    let session = scene.session().await;
    let ClaimAnswer::Claimed(claim) = scene.ask(&by_order(session, 10)).await else { panic!("others were due") };
    assert_eq!(sorted(ids(&claim.jobs)), sorted(others));
    assert!(claim.fragile_waiting, "{fragile} waits until the session is empty");
}

pub async fn a_fragile_job_is_claimed_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let fragile = a_fragile_job(&scene).await;
    scene.submit_all(&jobs(3, &a_job())).await;
    let session = scene.session().await;
    let mut seen = false;
    for _ in 0..4 {
        let held = scene.take(alone(by_order(session, 2))).await;
        if ids(&held).contains(&fragile) {
            assert_eq!(held.len(), 1, "nothing beside it");
            assert!(held[0].is_fragile());
            seen = true;
        }
        for held in held {
            scene.complete(session, held).await;
        }
    }
    assert!(seen, "a session with nothing else to do takes it");
    assert_eq!(scene.state(fragile).await, State::Completed);
}

pub async fn a_fragile_job_is_claimed_alone_by_id_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let fragile = a_fragile_job(&scene).await;
    let other = scene.submit(a_job()).await;
    let session = scene.session().await;
    let held = scene.take(alone(by_ids(session, &[other, fragile]))).await;
    if ids(&held).contains(&fragile) {
        assert_eq!(held.len(), 1, "nothing beside it");
    }
    let in_company = scene.take(by_ids(session, &[fragile])).await;
    assert!(in_company.is_empty());
}

pub async fn two_fragile_jobs_are_claimed_one_at_a_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (one, two) = (a_fragile_job(&scene).await, a_fragile_job(&scene).await);
    let session = scene.session().await;
    let first = scene.take(alone(by_order(session, 5))).await;
    assert_eq!(first.len(), 1);
    let other_session = scene.session().await;
    let second = scene.take(alone(by_order(other_session, 5))).await;
    assert_eq!(sorted([ids(&first), ids(&second)].concat()), sorted([one, two]));
}

pub async fn a_fragile_job_the_worker_cannot_run_is_not_waited_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    a_fragile_job(&scene).await;
    let session = scene.session().await;
    let request = ClaimRequest { routes: vec![foreman_core::target::Route::command()], ..by_order(session, 5) };
    let answer = scene.ask(&request).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    scene.pause("default").await;
    let answer = scene.ask(&by_order(session, 5)).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
}

pub async fn being_handed_back_is_no_crash(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    let session = scene.session().await;
    for _ in 0..4 {
        scene.run(session, id, interrupted()).await;
    }
    scene.claim_job(session, id).await;
    assert_eq!(scene.end(session).await, 1);
    assert_eq!(scene.counters(id).await, (5, 0, 0));
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn a_redrive_forgives_crashes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = a_fragile_job(&scene).await;
    scene.crash(id).await;
    assert_eq!(scene.state(id).await, State::Dead);
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    assert_eq!(scene.counters(id).await, (MAX_CRASHES, 0, 0));
    let session = scene.session().await;
    let held = scene.claim(session, 10).await;
    assert_eq!(ids(&held), [id], "it need not run alone");
}

pub async fn poison_takes_no_neighbours_along(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let innocents = scene.submit_all(&jobs(10, &a_job())).await;
    let poison = scene.submit(a_job()).await;
    let more = scene.submit_all(&jobs(10, &a_job())).await;
    // Whoever starts the poison dies with everything it holds; whoever does not, finishes.
    for _ in 0..60 {
        let session = scene.mortal().await;
        let held = scene.take(alone(by_order(session, 8))).await;
        if held.is_empty() {
            break;
        }
        if ids(&held).contains(&poison) {
            scene.lapse(session).await;
        } else {
            for held in held {
                scene.complete(session, held).await;
            }
        }
    }
    assert_eq!(scene.state(poison).await, State::Dead);
    assert_eq!(scene.outcomes(poison).await.last(), Some(&Some(AttemptOutcome::Dead)));
    for id in innocents.into_iter().chain(more) {
        assert_eq!(scene.state(id).await, State::Completed);
    }
}
