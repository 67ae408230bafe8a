//! Stopping: intake closes, what is in flight is answered, nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::SubmitError;
use tokio::net::TcpStream;

use crate::harness::{ALL, Api, in_time, until};
use crate::http::{PATIENCE, written};

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_drain_answers_the_long_polls_with_what_is_known() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let path = format!("/api/v1/jobs/{id}/wait?timeout=5m");
    let mut waiting = api.connect().await;
    waiting.send(&written("GET", &path, &[], None)).await;
    until("somebody waits", || api.waits.count() == 1).await;
    api.stop.drain();
    assert_eq!(waiting.reply(false).await.expect(200)["state"], "pending");
    in_time(api.served).await.unwrap();
}

#[tokio::test]
async fn a_drain_closes_what_is_idle_at_once_and_answers_what_is_in_flight() {
    let api = Api::start().await;
    let mut idle = api.connect().await;
    idle.request("GET", "/healthz", &[], None).await.expect(200);
    let mut silent = api.connect().await;
    let gate = Arc::clone(&api.submit.gate).acquire_many_owned(ALL).await.unwrap();
    let mut busy = api.connect().await;
    busy.send(&written("POST", "/api/v1/jobs", &[JSON], Some(JOB))).await;
    until("the submitter has the job", || api.submit.taken() == 1).await;

    api.stop.drain();
    assert_eq!(idle.closed().await, "");
    assert_eq!(silent.closed().await, "");
    assert!(!api.served.is_finished(), "one request is still in flight");
    assert!(TcpStream::connect(api.addr).await.is_err(), "nobody else is let in");
    drop(gate);
    busy.reply(false).await.expect(202);
    assert_eq!(busy.closed().await, "", "and then it is closed");
    in_time(api.served).await.unwrap();
    api.tasks.wait(PATIENCE).await.expect("nothing is left behind");
}

#[tokio::test]
async fn an_abort_drops_what_is_in_flight() {
    let api = Api::start().await;
    let _gate = Arc::clone(&api.submit.gate).acquire_many_owned(ALL).await.unwrap();
    let mut busy = api.connect().await;
    busy.send(&written("POST", "/api/v1/jobs", &[JSON], Some(JOB))).await;
    until("the submitter has the job", || api.submit.taken() == 1).await;
    api.stop.abort();
    assert_eq!(busy.closed().await, "");
    in_time(api.served).await.unwrap();
    until("every connection has ended", || api.tasks.alive().iter().all(|(name, _)| *name != "connection")).await;
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let api = Api::start().await;
    api.stop.drain();
    in_time(api.served).await.unwrap();
    in_time(api.tasks.wait(Duration::from_secs(10))).await.expect("nothing is left behind");
}

#[tokio::test]
async fn a_submission_after_intake_has_closed_is_told_to_come_back() {
    let api = Api::start().await;
    api.submit.set_refusal(Some(SubmitError::Closed));
    let reply = api.submit_text(JOB).await;
    assert_eq!(reply.header("retry-after"), Some("5"));
    assert_eq!(reply.header("connection"), Some("close"));
    reply.problem(503, "stopping");
}
