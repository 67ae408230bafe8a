//! Waiting for a job to end.

use std::time::Duration;

use foreman_core::ports::{JobStore, StoreError};
use foreman_core::{Report, Verdict};
use tokio::time::Instant;

use crate::faulty::Fault;
use crate::harness::{Api, Setting, in_time, until};
use crate::http::written;

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;

#[tokio::test]
async fn a_wait_ends_when_the_job_does() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let path = format!("/api/v1/jobs/{id}/wait?timeout=5m");
    let ending = async {
        until("somebody waits", || api.waits.count() == 1).await;
        api.complete_all().await;
    };
    let (reply, ()) = tokio::join!(api.get(&path), ending);
    let document = reply.expect(200);
    assert_eq!(document["state"], "completed");
    assert_eq!(document["attempts"][0]["outcome"], "completed");
    until("nobody waits any more", || api.waits.count() == 0).await;
}

#[tokio::test]
async fn many_waits_for_many_jobs_each_end_with_their_own() {
    let api = Api::start().await;
    for round in 0..5 {
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(api.submitted(JOB).await);
        }
        let waits = ids.iter().flat_map(|id| [id, id]).map(|id| {
            let path = format!("/api/v1/jobs/{id}/wait?timeout=5m");
            let api = &api;
            async move { (id, api.get(&path).await.expect(200)) }
        });
        // The jobs end while the waits are still arriving: some look before, some after.
        let (answers, ()) = tokio::join!(futures_util::future::join_all(waits), async {
            until("some wait", || api.waits.count() >= round * 8).await;
            api.complete_all().await;
        });
        for (id, document) in answers {
            assert_eq!((document["id"].as_str(), document["state"].as_str()), (Some(id.as_str()), Some("completed")));
        }
    }
}

#[tokio::test]
async fn a_wait_for_a_job_that_has_ended_answers_at_once() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    api.complete_all().await;
    let document = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=5m")).await.expect(200);
    assert_eq!(document["state"], "completed");
}

#[tokio::test]
async fn at_the_timeout_the_job_is_answered_as_it_is() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let start = Instant::now();
    let document = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=50ms")).await.expect(200);
    assert_eq!(document["state"], "pending");
    assert!(start.elapsed() >= Duration::from_millis(50), "it waited as long as it was asked to");
    let now = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=0s")).await.expect(200);
    assert_eq!(now["state"], "pending");
}

#[tokio::test]
async fn a_wait_whose_client_leaves_is_forgotten() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let mut client = api.connect().await;
    client.send(&written("GET", &format!("/api/v1/jobs/{id}/wait?timeout=5m"), &[], None)).await;
    until("somebody waits", || api.waits.count() == 1).await;
    drop(client);
    until("nobody waits any more", || api.waits.count() == 0).await;
}

#[tokio::test]
async fn waits_beyond_the_limit_are_refused() {
    let mut setting = Setting::default();
    setting.tail.max_waiters = 1;
    let api = Api::with(setting).await;
    let id = api.submitted(JOB).await;
    let path = format!("/api/v1/jobs/{id}/wait?timeout=5m");
    let mut first = api.connect().await;
    first.send(&written("GET", &path, &[], None)).await;
    until("somebody waits", || api.waits.count() == 1).await;
    let refused = api.get(&path).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.problem(503, "overloaded");
    api.complete_all().await;
    assert_eq!(first.reply(false).await.expect(200)["state"], "completed");
}

#[tokio::test]
async fn a_store_that_was_away_for_a_while_costs_no_wait_its_answer() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let mut client = api.connect().await;
    client.send(&written("GET", &format!("/api/v1/jobs/{id}/wait?timeout=5m"), &[], None)).await;
    until("somebody waits", || api.waits.count() == 1).await;
    let held = api.claim(1).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    // The job ends, the bell rings, and the one who follows the log cannot read it.
    let done: Vec<_> = held.into_iter().map(|held| held.settle(Verdict::Completed(Report::default()))).collect();
    api.store.inner.settle(api.session, &done).await.unwrap();
    until("the fault was met", || api.store.faults_met() > 0).await;
    api.store.set(None);
    assert_eq!(client.reply(false).await.expect(200)["state"], "completed");
}

#[tokio::test]
async fn a_store_that_is_away_when_the_first_wait_begins_costs_it_nothing_either() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    // Nobody waited before: the one who follows the log begins now, and cannot find its end.
    let waiter =
        api.waits.register(&foreman_core::TenantId::default(), id.parse().expect("an id")).expect("there is room");
    until("the fault was met", || api.store.faults_met() > 0).await;
    api.store.set(None);
    in_time(waiter.woken()).await;
}
