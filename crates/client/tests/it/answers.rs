use std::net::TcpListener;
use std::time::Duration;

use foreman_client::{BatchItem, Client, Error, FilterDocument, JobSpec, State};

use crate::stub::Stub;

fn job(state: &str) -> String {
    serde_json::json!({
        "id": "0197", "state": state, "queue": "default", "priority": "normal", "attempt": 1, "max_attempts": 8,
        "spent": 1, "crashes": 0, "created_at": "2026-11-15T09:00:00Z", "run_at": "2026-11-15T09:00:00Z",
        "started_at": null, "finished_at": null, "error": null, "kind": null, "timeout": "30s", "backoff": null,
        "expires_at": null, "idempotency_key": null, "callback_url": null, "correlation_id": null, "tags": [],
    })
    .to_string()
}

fn problem(status: u16) -> String {
    format!(r#"{{"type":"/errors/x","title":"X","status":{status},"detail":"it is so"}}"#)
}

#[tokio::test]
async fn a_job_is_sent_as_it_was_written_with_the_key() {
    let stub = Stub::answering([(202, job("pending"))]);
    let client = Client::new(&stub.url, Some("sk-1")).unwrap();
    let spec = JobSpec { url: Some("http://127.0.0.1/".into()), ..JobSpec::default() };
    assert_eq!(client.submit(&spec).await.unwrap().state, State::Pending);
    let asked = stub.next_asked();
    assert_eq!(asked.line, "POST /api/v1/jobs HTTP/1.1");
    assert_eq!(asked.body, r#"{"url":"http://127.0.0.1/"}"#);
    assert!(asked.headers.iter().any(|header| header == "authorization: Bearer sk-1"), "{asked:?}");
}

#[tokio::test]
async fn a_filter_becomes_a_query() {
    let stub =
        Stub::answering([(200, r#"{"items":[],"next":"c2"}"#.into()), (200, r#"{"items":[],"next":null}"#.into())]);
    let client = Client::new(&stub.url, None).unwrap();
    let filter = FilterDocument {
        state: Some(State::Dead),
        tag: Some("a b&c".into()),
        created_after: Some("2026-11-15T09:00:00Z".parse().unwrap()),
        ..FilterDocument::default()
    };
    let mut pages = client.pages(filter);
    assert!(pages.next().await.unwrap().is_some());
    assert!(pages.next().await.unwrap().is_some());
    assert!(pages.next().await.unwrap().is_none());
    let first = stub.next_asked().line;
    assert!(
        first.contains("state=dead&tag=a+b%26c&created_after=2026-11-15T09%3A00%3A00.000000Z&limit=500"),
        "{first}"
    );
    assert!(stub.next_asked().line.contains("cursor=c2"));
}

#[tokio::test]
async fn each_result_of_a_batch_is_a_job_or_a_problem() {
    let stub = Stub::answering([(200, format!(r#"{{"results":[{},{}]}}"#, job("pending"), problem(422)))]);
    let results = Client::new(&stub.url, None).unwrap().submit_batch(Vec::new()).await.unwrap();
    assert_eq!(results[0].job().unwrap().id, "0197");
    assert!(matches!(&results[1], BatchItem::Problem(problem) if problem.status == 422));
}

#[tokio::test]
async fn errors_are_told_apart_by_what_one_would_do() {
    let stub = Stub::answering([(409, problem(409)), (502, "<html>".into()), (200, "{}".into())]);
    let client = Client::new(&stub.url, None).unwrap();
    assert_eq!(client.cancel("0197").await.unwrap_err().status(), Some(409));
    assert!(matches!(client.get("0197").await.unwrap_err(), Error::BadAnswer { .. }));
    assert!(matches!(client.get("0197").await.unwrap_err(), Error::BadAnswer { .. }));

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = Client::new(&format!("http://{free}"), None).unwrap().get("0197").await.unwrap_err();
    assert!(error.is_away(), "{error}");
    assert!(error.to_string().contains(&free.to_string()) && error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn waiting_goes_on_until_the_job_is_final() {
    let stub = Stub::answering([(200, job("running")), (503, problem(503)), (200, job("completed"))]);
    let client = Client::new(&stub.url, None).unwrap();
    let done = client.wait("0197", None).await.unwrap();
    assert_eq!(done.state, State::Completed);
    assert_eq!(stub.next_asked().line, "GET /api/v1/jobs/0197/wait?timeout=25s HTTP/1.1");
}

#[tokio::test]
async fn waiting_ends_at_the_deadline_with_the_job_as_it_is() {
    let stub = Stub::answering(std::iter::repeat_n((200, job("running")), 10));
    let client = Client::new(&stub.url, None).unwrap();
    let seen = client.wait("0197", Some(Duration::from_millis(300))).await.unwrap();
    assert_eq!(seen.state, State::Running);
}

#[tokio::test]
async fn waiting_for_a_server_that_was_never_there_is_not_patient() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::new(&format!("http://{free}"), None).unwrap();
    let asked = tokio::time::Instant::now();
    assert!(client.wait("0197", None).await.unwrap_err().is_away());
    assert!(asked.elapsed() < Duration::from_secs(20), "patience is for restarts");
}
