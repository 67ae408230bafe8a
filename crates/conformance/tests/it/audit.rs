//! The full look at a store finds what is wrong: it is only worth something if it can.

use foreman_conformance::Subject as _;
use foreman_conformance::given::{Scene, a_job, by_order, completed, jobs, retry};
use foreman_core::memory::Rule;
use foreman_core::ports::ClaimAnswer;
use std::time::Duration;

use crate::subject::memory;

#[tokio::test]
async fn a_job_in_two_places_is_named() {
    let subject = memory().await.without(Rule::RedriveRemovesOutcome);
    let scene = Scene::of(&subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, completed()).await;
    scene.redrive(id).await;
    let audit = subject.store().census().await.expect("the store answers");
    assert!(!audit.is_clean());
    assert!(audit.violations.iter().any(|violation| violation.contains(&id.to_string())), "{audit:?}");
}

#[tokio::test]
async fn a_claim_of_the_dead_is_named() {
    let subject = memory().await.without(Rule::SessionChecked);
    let scene = Scene::of(&subject);
    let session = scene.mortal().await;
    scene.submit(a_job()).await;
    scene.lapse(session).await;
    assert!(matches!(scene.ask(&by_order(session, 1)).await, ClaimAnswer::Claimed(_)));
    let audit = subject.store().census().await.expect("the store answers");
    assert!(audit.violations.iter().any(|violation| violation.contains(&session.to_string())), "{audit:?}");
}

#[tokio::test]
async fn two_ends_of_one_attempt_are_named() {
    let subject = memory().await.without(Rule::OpenJobs);
    let scene = Scene::of(&subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(2, &a_job())).await;
    let held = scene.claim(session, 2).await.into_iter().next().expect("two were claimed");
    let again = held.settle(retry(Duration::from_hours(1)));
    scene.settle_all(session, std::slice::from_ref(&again)).await;
    scene.settle_all(session, std::slice::from_ref(&again)).await;
    let audit = subject.store().census().await.expect("the store answers");
    assert!(audit.violations.iter().any(|violation| violation.contains(&again.job.to_string())), "{audit:?}");
}
