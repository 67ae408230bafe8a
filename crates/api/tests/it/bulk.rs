//! One verb on many jobs.

use std::time::Duration;

use foreman_core::{Report, State, Verdict};
use serde_json::{Value, json};

use crate::harness::Api;

async fn submit(api: &Api, count: usize, queue: &str) {
    let jobs = vec![json!({"url": "http://127.0.0.1:1/", "queue": queue}); count];
    api.post_json("/api/v1/jobs/batch", &json!({"jobs": jobs}).to_string()).await.expect(200);
}

async fn bulk(api: &Api, verb: &str, body: Value) -> (u64, u64) {
    let answer = api.post_json(&format!("/api/v1/jobs/{verb}"), &body.to_string()).await.expect(200);
    (answer["matched"].as_u64().unwrap(), answer["changed"].as_u64().unwrap())
}

async fn count(api: &Api, query: &str) -> usize {
    api.get(&format!("/api/v1/jobs?limit=500&{query}")).await.expect(200)["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_dry_run_counts_and_changes_nothing() {
    let api = Api::start().await;
    submit(&api, 30, "a").await;
    submit(&api, 12, "b").await;
    assert_eq!(bulk(&api, "cancel", json!({"filter": {"queue": "a"}, "dry_run": true})).await, (30, 0));
    assert_eq!(count(&api, "state=pending").await, 42);
    api.kill_all().await;
    assert_eq!(bulk(&api, "retry", json!({"filter": {"queue": "b"}, "dry_run": true})).await, (12, 0));
    assert_eq!(bulk(&api, "delete", json!({"filter": {}, "dry_run": true})).await, (42, 0));
    assert_eq!(count(&api, "state=dead").await, 42);
}

#[tokio::test]
async fn more_than_one_step_is_walked_to_the_end() {
    let api = Api::start().await;
    submit(&api, 1_000, "a").await;
    submit(&api, 201, "a").await;
    submit(&api, 5, "b").await;
    api.kill_all().await;
    assert_eq!(bulk(&api, "retry", json!({"filter": {"queue": "a"}})).await, (1_201, 1_201));
    assert_eq!(count(&api, "state=dead").await, 5);
    api.complete_all().await;
    assert_eq!(bulk(&api, "delete", json!({"filter": {"state": "completed"}})).await, (1_201, 1_201));
    assert_eq!(count(&api, "").await, 5);
}

#[tokio::test]
async fn cancel_takes_every_state_before_the_end_and_leaves_the_ended() {
    let api = Api::start().await;
    submit(&api, 3, "done").await;
    api.complete_all().await;
    submit(&api, 4, "retrying").await;
    api.run_all(|| Verdict::Retry { delay: Duration::from_hours(1), report: Report::error("again") }).await;
    submit(&api, 2, "running").await;
    assert_eq!(api.claim(10).await.len(), 2);
    submit(&api, 5, "pending").await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","delay":"1h"}"#).await;
    assert_eq!(bulk(&api, "cancel", json!({"filter": {}})).await, (12, 12));
    assert_eq!((count(&api, "state=cancelled").await, count(&api, "state=completed").await), (12, 3));
}

#[tokio::test]
async fn a_job_that_changes_its_state_while_all_are_cancelled_is_not_missed() {
    for others in [0, 3] {
        let api = Api::start().await;
        submit(&api, 1, "moving").await;
        let held = api.claim(1).await;
        if others > 0 {
            submit(&api, others, "waiting").await;
        }
        // When the running are listed, the retrying have been already.
        let again = || Verdict::Retry { delay: Duration::from_hours(1), report: Report::error("again") };
        let settlements = held.into_iter().map(|held| held.settle(again())).collect();
        api.store.settle_before_listing(State::Running, api.session, settlements);
        let expected = others as u64 + 1;
        assert_eq!(bulk(&api, "cancel", json!({"filter": {}})).await, (expected, expected));
        assert_eq!(count(&api, "state=cancelled").await as u64, expected);
    }
}

#[tokio::test]
async fn retry_without_a_state_means_the_dead() {
    let api = Api::start().await;
    submit(&api, 2, "a").await;
    api.complete_all().await;
    submit(&api, 3, "a").await;
    api.kill_all().await;
    assert_eq!(bulk(&api, "retry", json!({"filter": {}})).await, (3, 3));
    assert_eq!((count(&api, "state=pending").await, count(&api, "state=completed").await), (3, 2));
    assert_eq!(bulk(&api, "retry", json!({"filter": {"state": "completed"}})).await, (2, 2));
}

#[tokio::test]
async fn a_filter_that_cannot_be_meant_is_refused() {
    let api = Api::start().await;
    for (verb, body, slug, word) in [
        ("retry", r#"{"filter":{"state":"pending"}}"#, "invalid-request", "completed, failed, dead, cancelled"),
        ("delete", r#"{"filter":{"state":"running"}}"#, "invalid-request", "running"),
        ("cancel", r#"{"filter":{"state":"dead"}}"#, "invalid-request", "scheduled"),
        ("cancel", r#"{"filter":{"stat":"dead"}}"#, "unknown-field", "`state`"),
        ("cancel", r#"{"filter":["dead"]}"#, "invalid-request", "/filter: must be a JSON object"),
        ("cancel", "[{}]", "invalid-request", "a JSON object is expected"),
        ("cancel", r#"{"dry_run":true}"#, "invalid-request", "filter"),
        ("cancel", r#"{"filter":{"queue":"a b"}}"#, "invalid-request", "queue name"),
        ("cancel", r#"{"filter":{},"dryrun":true}"#, "unknown-field", "`dry_run`"),
    ] {
        let problem = api.post_json(&format!("/api/v1/jobs/{verb}"), body).await.problem(400, slug);
        assert!(problem["detail"].as_str().unwrap().contains(word), "{body}: {problem}");
    }
}
