use std::net::TcpListener;
use std::time::Duration;

use foreman_client::{Client, Error, Event, Follow, ResetReason, State, Stream, StreamItem};
use tokio::time::timeout;

use crate::sse::{Act, Streams};
use crate::stub::Asked;

const LONG: Duration = Duration::from_secs(20);
const AT: &str = "2026-11-15T09:00:00.000000Z";

fn job(id: &str, state: &str, cursor: &str) -> String {
    format!(
        "event: job\nid: {cursor}\ndata: {{\"id\":\"{id}\",\"state\":\"{state}\",\"queue\":\"mail\",\"attempt\":1,\"at\":\"{AT}\",\"sequence\":1}}\n\n"
    )
}

fn beat(cursor: &str) -> String {
    format!("retry: 20\nevent: heartbeat\nid: {cursor}\ndata: {{\"at\":\"{AT}\"}}\n\n")
}

fn snapshot(cursor: &str) -> String {
    format!("event: snapshot\nid: {cursor}\ndata: {{\"jobs\":1,\"complete\":true,\"at\":\"{AT}\"}}\n\n")
}

fn problem(status: u16) -> String {
    format!(r#"{{"type":"/errors/x","title":"X","status":{status},"detail":"it is so"}}"#)
}

fn document(id: &str, state: &str) -> String {
    serde_json::json!({
        "id": id, "state": state, "queue": "default", "priority": "normal", "attempt": 1, "max_attempts": 8,
        "spent": 1, "crashes": 0, "created_at": AT, "run_at": AT,
        "started_at": null, "finished_at": null, "error": null, "kind": null, "timeout": "30s", "backoff": null,
        "expires_at": null, "idempotency_key": null, "callback_url": null, "correlation_id": null, "tags": [],
    })
    .to_string()
}

fn says(asked: &Asked, header: &str) -> bool {
    asked.headers.iter().any(|line| line == header)
}

/// The next job of the stream, by its name.
async fn next_job(stream: &mut Stream) -> String {
    loop {
        let told = timeout(LONG, stream.next_event()).await.expect("in time").unwrap();
        if let Event::Job(job) = told.event {
            return job.id;
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_goes_on_after_the_last_event() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1") + &job("a", "running", "2") + "event: job\nid: 3\ndata: {\"id\"")],
        vec![Act::Open, Act::Say(beat("2") + &job("b", "completed", "3")), Act::Stall],
    ]);
    let client = Client::new(&streams.url, Some("fm_1")).unwrap().for_tenant("acme").unwrap();
    let mut stream = client.stream(Follow::everything().queue("mail").tag("x y")).await.unwrap();
    assert_eq!(next_job(&mut stream).await, "a");
    assert_eq!(stream.cursor(), Some("2"));
    let broken = stream.next().await.unwrap();
    assert!(matches!(broken, StreamItem::Broken { .. }), "{broken:?}");
    assert_eq!(stream.next().await.unwrap(), StreamItem::Resumed);
    assert_eq!(next_job(&mut stream).await, "b");
    assert_eq!(stream.cursor(), Some("3"));

    let first = streams.next_asked();
    assert_eq!(first.line, "GET /api/v1/stream?queue=mail&tag=x+y HTTP/1.1");
    assert!(says(&first, "authorization: Bearer fm_1") && says(&first, "foreman-tenant: acme"), "{first:?}");
    assert!(!first.headers.iter().any(|line| line.starts_with("last-event-id")), "{first:?}");
    let second = streams.next_asked();
    assert!(says(&second, "last-event-id: 2") && says(&second, "authorization: Bearer fm_1"), "{second:?}");
}

#[tokio::test]
async fn silence_is_taken_for_a_break() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("7")), Act::Stall],
        vec![Act::Open, Act::Say(job("a", "dead", "8")), Act::Stall],
    ]);
    let client = Client::new(&streams.url, None).unwrap();
    let follow = Follow::everything().with_silence(Duration::from_millis(300));
    let mut stream = client.stream(follow).await.unwrap();
    assert!(matches!(stream.next().await.unwrap(), StreamItem::Event(_)));
    let broken = timeout(LONG, stream.next()).await.expect("in time").unwrap();
    let StreamItem::Broken { why, .. } = broken else { panic!("{broken:?}") };
    assert!(why.contains("no data received for 300ms"), "{why}");
    assert_eq!(next_job(&mut stream).await, "a");
    streams.next_asked();
    assert!(says(&streams.next_asked(), "last-event-id: 7"));
}

#[tokio::test]
async fn it_does_not_matter_how_the_network_splits_it() {
    let text = beat("1") + &job("a", "running", "2") + &job("b", "completed", "3").replace('\n', "\r\n");
    for length in [1, 3, 7] {
        let streams = Streams::playing(vec![vec![Act::Open, Act::Split(length, text.clone()), Act::Stall]]);
        let client = Client::new(&streams.url, None).unwrap();
        let mut stream = client.stream(Follow::everything()).await.unwrap();
        assert_eq!((next_job(&mut stream).await, next_job(&mut stream).await), ("a".into(), "b".into()));
    }
}

#[tokio::test]
async fn a_server_that_is_away_or_overloaded_for_a_while_is_waited_for() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1"))],
        vec![],
        vec![Act::Refuse(503, "", problem(503))],
        vec![Act::Refuse(429, "retry-after: 0\r\n", problem(429))],
        vec![Act::Refuse(502, "", "<html>".into())],
        vec![Act::Open, Act::Say(job("a", "completed", "2")), Act::Stall],
    ]);
    let mut stream = Client::new(&streams.url, None).unwrap().stream(Follow::everything()).await.unwrap();
    assert_eq!(next_job(&mut stream).await, "a");
    for _ in 0..5 {
        streams.next_asked();
    }
    assert!(says(&streams.next_asked(), "last-event-id: 1"));
}

#[tokio::test]
async fn a_refusal_that_stays_one_ends_it() {
    for status in [400, 401, 403, 404] {
        let streams = Streams::playing(vec![
            vec![Act::Open, Act::Say(beat("1"))],
            vec![Act::Refuse(status, "", problem(status))],
            vec![Act::Open, Act::Stall],
        ]);
        let mut stream = Client::new(&streams.url, None).unwrap().stream(Follow::everything()).await.unwrap();
        let ended = loop {
            match timeout(LONG, stream.next()).await.expect("in time") {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(ended.status(), Some(status));
        streams.next_asked();
        streams.next_asked();
        assert!(!streams.was_asked_again(), "{status}");
    }
}

#[tokio::test]
async fn whoever_is_not_there_at_the_first_call_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::new(&url, None).unwrap().stream(Follow::everything()).await.unwrap_err();
    assert!(error.is_away(), "{error}");
}

#[tokio::test]
async fn patience_has_an_end_where_one_is_asked_for() {
    let streams = Streams::playing(vec![vec![Act::Open, Act::Say(beat("1"))]]);
    let follow = Follow::everything().with_patience(Duration::from_millis(300));
    let mut stream = Client::new(&streams.url, None).unwrap().stream(follow).await.unwrap();
    let ended = timeout(LONG, async {
        loop {
            if let Err(error) = stream.next().await {
                return error;
            }
        }
    });
    assert!(ended.await.expect("in time").is_away());
}

#[tokio::test]
async fn what_is_no_stream_is_refused() {
    let streams = Streams::playing(vec![vec![Act::Refuse(200, "", "{}".into())]]);
    let error = Client::new(&streams.url, None).unwrap().stream(Follow::everything()).await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer { .. }), "{error}");
}

#[tokio::test]
async fn an_event_without_end_is_refused() {
    let streams =
        Streams::playing(vec![vec![Act::Open, Act::Say(format!("data: {}", "x".repeat(3_000_000))), Act::Stall]]);
    let mut stream = Client::new(&streams.url, None).unwrap().stream(Follow::everything()).await.unwrap();
    let error = timeout(LONG, stream.next()).await.expect("in time").unwrap_err();
    assert!(error.to_string().contains("longer than 1024 KiB"), "{error}");
}

#[tokio::test]
async fn a_snapshot_that_was_cut_is_resumed_where_the_server_says() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("5-s") + &job("a", "running", "5-s"))],
        vec![Act::Open, Act::Say(job("a", "running", "6-s") + &job("b", "dead", "6-s") + &snapshot("6"))],
        vec![Act::Open, Act::Say(job("a", "completed", "7")), Act::Stall],
    ]);
    let follow = Follow::everything().with_snapshot();
    let mut stream = Client::new(&streams.url, None).unwrap().stream(follow).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 4 {
        seen.push(next_job(&mut stream).await);
    }
    assert_eq!(seen, ["a", "a", "b", "a"]);
    let first = streams.next_asked();
    assert!(first.line.contains("snapshot=true"), "{first:?}");
    assert!(!first.headers.iter().any(|line| line.starts_with("last-event-id")), "{first:?}");
    for id in ["5-s", "6"] {
        let asked = streams.next_asked();
        assert!(asked.line.contains("snapshot=true") && says(&asked, &format!("last-event-id: {id}")), "{asked:?}");
    }
}

#[tokio::test]
async fn a_reset_reaches_the_caller_and_the_stream_goes_on_behind_it() {
    let reset =
        format!("event: reset\nid: 90\ndata: {{\"reason\":\"expired\",\"detail\":\"read again\",\"at\":\"{AT}\"}}\n\n");
    let streams = Streams::playing(vec![vec![Act::Open, Act::Say(reset)], vec![Act::Open, Act::Stall]]);
    let follow = Follow::everything().after("3");
    let mut stream = Client::new(&streams.url, None).unwrap().stream(follow).await.unwrap();
    let told = stream.next_event().await.unwrap();
    let Event::Reset(reset) = told.event else { panic!("{told:?}") };
    assert_eq!((reset.reason, reset.detail.as_str()), (ResetReason::Expired, "read again"));
    assert!(says(&streams.next_asked(), "last-event-id: 3"));
    while stream.next().await.unwrap() != StreamItem::Resumed {}
    assert!(says(&streams.next_asked(), "last-event-id: 90"));
}

#[tokio::test]
async fn many_jobs_are_waited_for_over_one_stream_and_a_break() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1") + &job("a", "completed", "1") + &job("b", "running", "1") + &snapshot("1"))],
        vec![Act::Refuse(200, "", document("a", "completed"))],
        vec![Act::Open, Act::Say(beat("1") + &job("b", "dead", "2")), Act::Stall],
        vec![Act::Refuse(200, "", document("b", "dead"))],
    ]);
    let client = Client::new(&streams.url, None).unwrap();
    let jobs = timeout(LONG, client.wait_for(&["b", "a"], None)).await.expect("in time").unwrap();
    let states: Vec<_> = jobs.iter().map(|job| (job.id.as_str(), job.state)).collect();
    assert_eq!(states, [("b", State::Dead), ("a", State::Completed)]);
    assert!(streams.next_asked().line.contains("/stream?job=a%2Cb&snapshot=true "));
    assert!(streams.next_asked().line.contains("/jobs/a "));
    assert!(says(&streams.next_asked(), "last-event-id: 1"));
}

#[tokio::test]
async fn a_job_that_the_server_does_not_know_is_said_so() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1") + &snapshot("1")), Act::Stall],
        vec![Act::Refuse(404, "", problem(404))],
    ]);
    let client = Client::new(&streams.url, None).unwrap();
    let error = timeout(LONG, client.wait_for(&["x"], None)).await.expect("in time").unwrap_err();
    assert_eq!(error.status(), Some(404));
}

#[tokio::test]
async fn a_reset_makes_whoever_waits_look_again() {
    let reset =
        format!("event: reset\nid: 9\ndata: {{\"reason\":\"expired\",\"detail\":\"read again\",\"at\":\"{AT}\"}}\n\n");
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1") + &job("a", "running", "1") + &snapshot("1"))],
        vec![Act::Open, Act::Say(reset), Act::Stall],
        vec![Act::Refuse(200, "", document("a", "completed"))],
    ]);
    let client = Client::new(&streams.url, None).unwrap();
    let jobs = timeout(LONG, client.wait_for(&["a"], None)).await.expect("in time").unwrap();
    assert_eq!(jobs[0].state, State::Completed);
}

#[tokio::test]
async fn without_a_stream_jobs_are_waited_for_by_long_polls() {
    for status in [404, 403, 429] {
        let streams = Streams::playing(vec![
            vec![Act::Refuse(status, "", problem(status))],
            vec![Act::Refuse(200, "", document("a", "completed"))],
            vec![Act::Refuse(200, "", document("b", "failed"))],
        ]);
        let client = Client::new(&streams.url, None).unwrap();
        let jobs = timeout(LONG, client.wait_for(&["a", "b"], None)).await.expect("in time").unwrap();
        assert_eq!((jobs[0].state, jobs[1].state), (State::Completed, State::Failed));
        streams.next_asked();
        assert!(streams.next_asked().line.contains("/jobs/a/wait?"), "{status}");
    }
}

#[tokio::test]
async fn a_stream_that_something_holds_back_is_not_waited_for_for_ever() {
    let streams =
        Streams::playing(vec![vec![Act::Open, Act::Stall], vec![Act::Refuse(200, "", document("a", "completed"))]]);
    let client = Client::new(&streams.url, None).unwrap();
    let jobs = timeout(LONG, client.wait_for(&["a"], None)).await.expect("in time").unwrap();
    assert_eq!(jobs[0].state, State::Completed);
}

#[tokio::test]
async fn waiting_for_many_gives_up_in_time_and_says_how_they_stand() {
    let streams = Streams::playing(vec![
        vec![Act::Open, Act::Say(beat("1") + &job("a", "running", "1") + &snapshot("1")), Act::Stall],
        vec![Act::Refuse(200, "", document("a", "running"))],
    ]);
    let client = Client::new(&streams.url, None).unwrap();
    let waited = client.wait_for(&["a"], Some(Duration::from_millis(200)));
    assert_eq!(timeout(LONG, waited).await.expect("in time").unwrap()[0].state, State::Running);
}

#[tokio::test]
async fn so_many_that_no_address_holds_them_are_looked_at_one_by_one_and_then_followed() {
    let ids: Vec<String> = (0..101).map(|number| format!("j{number:03}")).collect();
    let mut scripts = vec![vec![
        Act::Open,
        Act::Say(beat("1")),
        // What it tells while the client looks is not lost.
        Act::Say(job("j000", "completed", "2")),
        Act::Stall,
    ]];
    scripts.extend(ids.iter().map(|id| {
        let state = if id == "j000" { "running" } else { "completed" };
        vec![Act::Refuse(200, "", document(id, state))]
    }));
    scripts.push(vec![Act::Refuse(200, "", document("j000", "completed"))]);
    let streams = Streams::playing(scripts);
    let client = Client::new(&streams.url, None).unwrap();
    let jobs = timeout(LONG, client.wait_for(&ids, None)).await.expect("in time").unwrap();
    assert!(jobs.iter().all(|job| job.state == State::Completed));
    assert_eq!(jobs.len(), 101);
    assert!(streams.next_asked().line.ends_with("/stream HTTP/1.1"));
}
