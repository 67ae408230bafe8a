//! How many jobs are in each state, counted no further than enough.

use super::Subject;
use super::given::{HOUR, MINUTE, Scene, a_job, completed, jobs, tenant};
use crate::id::TenantId;
use crate::ports::{Counted, StateCounts};
use crate::state::State;

const ENOUGH: u64 = 1_000;

async fn states(scene: &Scene<'_>, of: &str, enough: u64) -> StateCounts {
    scene.store.states(&tenant(of), enough).await.expect("the store answers")
}

fn exactly(count: u64) -> Counted {
    Counted { count, is_estimate: false }
}

pub async fn an_empty_store_has_none_in_any_state(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(states(&scene, "default", ENOUGH).await, StateCounts::default());
}

pub async fn each_job_is_counted_in_its_state(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (more, state) in State::ALL.into_iter().enumerate() {
        for _ in 0..=more {
            scene.job_in(state, a_job().of("acme")).await;
        }
    }
    let counts = states(&scene, "acme", ENOUGH).await;
    for (more, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(counts.get(state), exactly(more as u64 + 1), "{state}");
    }
    assert_eq!(states(&scene, TenantId::default().as_str(), ENOUGH).await, StateCounts::default(), "another's");
}

pub async fn a_state_is_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        for _ in 0..3 {
            scene.job_in(state, a_job()).await;
        }
    }
    for (enough, expected) in [
        (2, Counted { count: 2, is_estimate: true }),
        (3, exactly(3)),
        (4, exactly(3)),
        (0, Counted { count: 0, is_estimate: true }),
    ] {
        let counts = states(&scene, "default", enough).await;
        for state in State::ALL {
            assert_eq!(counts.get(state), expected, "{state}, {enough} are enough");
        }
    }
}

pub async fn another_tenants_crowd_does_not_fill_the_count(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(20, &a_job().of("crowd"))).await;
    scene.submit_all(&jobs(20, &a_job().of("crowd").after(HOUR))).await;
    for state in State::ALL {
        scene.job_in(state, a_job().of("acme")).await;
    }
    let counts = states(&scene, "acme", 2).await;
    for state in State::ALL {
        assert_eq!(counts.get(state), exactly(1), "{state}");
    }
}

pub async fn a_job_is_counted_where_it_is_now(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().after(MINUTE)).await;
    let is_in = async |state: State| {
        let counts = states(&scene, "default", ENOUGH).await;
        for other in State::ALL {
            assert_eq!(counts.get(other), exactly(u64::from(other == state)), "it is {state}; {other}");
        }
    };
    is_in(State::Scheduled).await;
    scene.advance(MINUTE).await;
    is_in(State::Pending).await;
    scene.promote(10).await;
    is_in(State::Pending).await;
    let proof = scene.claim_job(session, id).await;
    is_in(State::Running).await;
    scene.end_attempt(proof, super::given::retry(MINUTE)).await;
    is_in(State::Retrying).await;
    scene.wait(MINUTE).await;
    is_in(State::Pending).await;
    scene.run(session, id, completed()).await;
    is_in(State::Completed).await;
    scene.redrive(id).await;
    is_in(State::Pending).await;
    scene.cancel(id).await;
    is_in(State::Cancelled).await;
}
