//! The stream: what a client is told, when it is closed, and how it goes on.

use std::time::Duration;

use foreman_api::KeyPolicy;
use foreman_core::key::KeyId;
use foreman_core::limits::Limits;
use foreman_core::ports::{ChangeLog as _, JobStore as _, KeyStore as _, Retention, StoreError, Upkeep as _};
use foreman_core::spec::{JobSpec, Validate as _};
use foreman_core::{NewJob, TenantId, Timestamp};
use serde_json::json;

use crate::faulty::Fault;
use crate::feed::{Event, Feed, STREAM, cursor};
use crate::harness::{Api, Setting, in_time, until};
use crate::http::written;
use crate::matrix::{ADMIN, key, keyed, tenant};

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;
const A_WHILE: Duration = Duration::from_millis(100);

fn batch(count: usize) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![JOB; count].join(","))
}

async fn submit(api: &Api, count: usize) -> Vec<String> {
    let answer = api.post_json("/api/v1/jobs/batch", &batch(count)).await.expect(200);
    answer["results"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn ids(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.data["id"].as_str().unwrap().to_owned()).collect()
}

/// Written by somebody else, past every fault of this server's store.
pub fn new_job() -> NewJob {
    let spec: JobSpec = serde_json::from_str(JOB).unwrap();
    spec.validate(&TenantId::default(), &Limits::default(), Timestamp::from_micros(0)).unwrap()
}

fn lively() -> Setting {
    let mut setting = Setting::default();
    setting.tail.streams.heartbeat = Duration::from_millis(40);
    setting
}

#[tokio::test]
async fn a_stream_begins_with_a_heartbeat_and_says_how_to_treat_it() {
    let api = Api::start().await;
    let mut feed = Feed::try_open(&api, STREAM, &[("accept-encoding", "gzip, br")]).await.unwrap_or_else(|_| panic!());
    for (name, value) in
        [("content-type", "text/event-stream"), ("cache-control", "no-store"), ("x-accel-buffering", "no")]
    {
        assert_eq!(feed.head.header(name), Some(value));
    }
    assert_eq!(feed.head.header("content-encoding"), None);
    let first = feed.any().await;
    assert_eq!(first.name, "heartbeat");
    assert!(first.data["at"].is_string() && !first.id.is_empty(), "{first:?}");
    assert!((1_000..=3_000).contains(&feed.retry.expect("how long to wait")));
    assert_eq!(api.streams.counts().open, 1);
    drop(feed);
    until("nobody watches", || api.streams.counts().open == 0).await;
}

#[tokio::test]
async fn every_move_of_a_job_is_told_in_order() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "", &[]).await;
    let id = api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    api.complete_all().await;
    let told: Vec<_> = feed.jobs(3).await.into_iter().map(|event| event.data).collect();
    for (place, (state, attempt)) in [("pending", 0), ("running", 1), ("completed", 1)].into_iter().enumerate() {
        let expected = json!({
            "id": id, "state": state, "queue": "mail", "attempt": attempt, "at": told[place]["at"], "sequence": place + 1,
        });
        assert_eq!(told[place], expected);
    }
    assert_eq!(api.job(&id).await["sequence"], 3);
    assert_eq!(api.streams.counts().events, 4, "three moves and a heartbeat");
}

#[tokio::test]
async fn what_is_no_job_is_told_too() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "", &[]).await;
    api.post("/api/v1/queues/mail/pause").await.expect(200);
    let event = feed.next().await;
    assert_eq!(
        (event.name.as_str(), &event.data["name"], &event.data["paused"]),
        ("queue", &json!("mail"), &json!(true))
    );
    let schedule = r#"{"name":"nightly","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
    let id = api.post_json("/api/v1/schedules", schedule).await.expect(201)["id"].clone();
    let made = feed.next().await;
    assert_eq!((made.name.as_str(), &made.data["id"], &made.data["what"]), ("schedule", &id, &json!("created")));
    assert!(made.data.get("tick").is_none() && made.data.get("job").is_none(), "{made:?}");
    api.post("/api/v1/schedules/nightly/pause").await.expect(200);
    assert_eq!(feed.next().await.data["what"], "paused");
    let run = api.post("/api/v1/schedules/nightly/run").await;
    assert!((200..300).contains(&run.status), "{run:?}");
    let events = [feed.next().await, feed.next().await];
    let tick = events.iter().find(|event| event.name == "schedule").expect("a tick");
    let job = events.iter().find(|event| event.name == "job").expect("a job");
    assert_eq!((&tick.data["what"], &tick.data["job"]), (&json!("tick"), &job.data["id"]));
    assert!(tick.data["tick"].is_string() && tick.data["scheduled_for"].is_string(), "{tick:?}");
    // The harness's own worker goes.
    foreman_core::ports::SessionStore::end(api.store.as_ref(), api.session).await.unwrap();
    let event = feed.next().await;
    assert_eq!(
        (event.name.as_str(), &event.data["worker"], &event.data["state"]),
        ("worker", &json!("test-worker"), &json!("ended"))
    );
}

#[tokio::test]
async fn a_client_that_was_cut_off_in_the_middle_of_a_transaction_goes_on_with_the_next_entry() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "", &[]).await;
    let all = submit(&api, 5).await;
    let first = feed.jobs(2).await;
    drop(feed);
    let last = first[1].id.clone();
    let mut by_header = Feed::open(&api, "", &[("last-event-id", &last)]).await;
    let mut by_query = Feed::open(&api, &format!("?after={last}"), &[]).await;
    // The header wins: the other would begin at the end.
    let end = by_query.jobs(3).await;
    assert_eq!(ids(&first).into_iter().chain(ids(&end)).collect::<Vec<_>>(), all);
    assert_eq!(by_header.jobs(3).await, end);
    let mut by_both = Feed::open(&api, &format!("?after={}", end[2].id), &[("last-event-id", &last)]).await;
    assert_eq!(by_both.jobs(3).await, end);
    // And then it is live, without any of it twice.
    api.complete_all().await;
    for feed in [&mut by_header, &mut by_query, &mut by_both] {
        let told = feed.jobs(10).await;
        assert!(told.iter().take(5).all(|event| event.data["state"] == "running"), "{told:?}");
    }
}

#[tokio::test]
async fn a_cursor_that_cannot_be_resumed_is_told_so_and_the_stream_goes_on() {
    let api = Api::start().await;
    let mut first = Feed::open(&api, "", &[]).await;
    submit(&api, 1).await;
    let old = first.jobs(1).await[0].id.clone();
    for strange in ["nonsense", "1-7fffffffffffffff", "9-1", "1-0-1", "%F0%9F%A6%80"] {
        let mut feed = Feed::open(&api, &format!("?after={strange}"), &[]).await;
        let reset = feed.next().await;
        assert_eq!((reset.name.as_str(), &reset.data["reason"]), ("reset", &json!("unknown")), "{strange}");
        assert!(reset.data["detail"].as_str().unwrap().contains("reload your data"));
        let id = api.submitted(JOB).await;
        assert_eq!(feed.jobs(1).await[0].data["id"], id, "{strange}");
        // The one that has been there all the time is told by the reader: "now" is after this.
        assert_eq!(first.jobs(1).await[0].data["id"], id, "{strange}");
        // The new place is a good one.
        let mut again = Feed::open(&api, &format!("?after={}", reset.id), &[]).await;
        assert_eq!(again.jobs(1).await[0].data["id"], id);
    }
    api.clock.advance(Duration::from_hours(25));
    submit(&api, 1).await;
    first.jobs(1).await;
    api.store.inner.prune(&Retention::default(), 1_000).await.unwrap();
    let mut late = Feed::open(&api, "", &[("last-event-id", &old)]).await;
    let reset = late.next().await;
    assert_eq!((reset.name.as_str(), &reset.data["reason"]), ("reset", &json!("expired")));
    let id = api.submitted(JOB).await;
    assert_eq!(late.jobs(1).await[0].data["id"], id);
    // Who has seen all of it has missed nothing.
    let head = late.last_id.unwrap();
    let mut here = Feed::open(&api, &format!("?after={head}"), &[]).await;
    let id = api.submitted(JOB).await;
    assert_eq!(here.jobs(1).await[0].data["id"], id);
}

#[tokio::test]
async fn heartbeats_move_the_cursor_of_a_client_that_sees_nothing() {
    let api = Api::with(lively()).await;
    let other = "0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11";
    let mut feed = Feed::open(&api, &format!("?job={other}"), &[]).await;
    let before = feed.last_id.clone().unwrap();
    submit(&api, 3).await;
    let place = loop {
        let event = in_time(feed.any()).await;
        assert_eq!(event.name, "heartbeat");
        if event.id != before {
            break event.id;
        }
    };
    // Old rows go, and the cursor of the heartbeat is still good.
    api.clock.advance(Duration::from_hours(25));
    api.store.inner.prune(&Retention::default(), 1_000).await.unwrap();
    let mut again = Feed::open(&api, &format!("?after={place}"), &[]).await;
    let id = api.submitted(JOB).await;
    assert_eq!(again.next().await.data["id"], id);
    let mut too_old = Feed::open(&api, &format!("?after={before}"), &[]).await;
    assert_eq!(too_old.next().await.name, "reset");
}

#[tokio::test]
async fn while_the_store_is_away_streams_stay_open_and_afterwards_nothing_is_missing() {
    let api = Api::with(lively()).await;
    let mut feed = Feed::open(&api, "", &[]).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    // The store is away for this server, and others go on writing to it.
    let jobs: Vec<_> = (0..3).map(|_| new_job()).collect();
    api.store.inner.submit(&jobs).await.unwrap();
    until("the reader has met it", || api.store.faults_met() > 0).await;
    for _ in 0..5 {
        assert_eq!(feed.any().await.name, "heartbeat");
    }
    // A client that comes now with a cursor, which only the store can judge, is told to come back.
    let path = format!("{STREAM}?after={}", feed.last_id.clone().unwrap());
    api.get(&path).await.problem(503, "store-unavailable");
    api.store.inner.submit(&[new_job()]).await.unwrap();
    api.store.set(None);
    let told = feed.jobs(4).await;
    assert_eq!(ids(&told)[..3], jobs.iter().map(|job| job.id.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_is_asked_again() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "", &[]).await;
    api.store.set(Some(Fault::Hang));
    let job = new_job();
    api.store.inner.submit(std::slice::from_ref(&job)).await.unwrap();
    until("it was asked", || api.store.faults_met() > 0).await;
    api.store.set(None);
    assert_eq!(feed.next().await.data["id"], job.id.to_string());
}

#[tokio::test]
async fn whoever_watches_is_sent_away_when_the_log_was_pruned_past_the_reader() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "", &[]).await;
    let place = feed.last_id.clone().unwrap();
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    api.store.inner.submit(&[new_job()]).await.unwrap();
    until("the reader has met it", || api.store.faults_met() > 0).await;
    api.clock.advance(Duration::from_hours(25));
    api.store.inner.prune(&Retention::default(), 1_000).await.unwrap();
    api.store.set(None);
    assert!(feed.rest().await.is_empty());
    let mut again = Feed::open(&api, "", &[("last-event-id", &place)]).await;
    assert_eq!(again.next().await.data["reason"], "expired");
    let id = api.submitted(JOB).await;
    assert_eq!(again.next().await.data["id"], id);
}

#[tokio::test]
async fn a_slow_client_is_closed_and_the_others_are_not() {
    let mut setting = Setting::default();
    setting.tail.streams.write_timeout = Duration::from_millis(300);
    setting.tail.streams.queue_bytes = 64 * 1024;
    let api = Api::with(setting).await;
    let mut quick = Feed::open(&api, "", &[]).await;
    let mut slow = Vec::new();
    let mut all = 0;
    while api.streams.counts().slow == 0 {
        // The first; or the one before took nothing for so long that it was closed before its mailbox was full.
        if api.streams.counts().open == 1 {
            let mut another = api.connect().await;
            another.send(&written("GET", STREAM, &[], None)).await;
            until("it is open", || api.streams.counts().open == 2).await;
            slow.push(another);
        }
        submit(&api, 500).await;
        all += 500;
        // At its own pace, and never held up.
        quick.jobs(500).await;
        assert!(all < 1_000_000, "it takes all of it");
    }
    until("it is gone", || api.streams.counts().open == 1).await;
    submit(&api, 1).await;
    quick.jobs(1).await;
    assert_eq!(api.streams.counts().slow, 1);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_closed_even_if_its_mailbox_has_room() {
    let mut setting = lively();
    setting.tail.streams.write_timeout = Duration::from_millis(300);
    setting.tail.streams.queue_bytes = usize::MAX;
    setting.tail.streams.queue_pieces = usize::MAX;
    let api = Api::with(setting).await;
    let mut slow = api.connect().await;
    slow.send(&written("GET", STREAM, &[], None)).await;
    until("it is open", || api.streams.counts().open == 1).await;
    let feeding = async {
        while api.streams.counts().open == 1 {
            submit(&api, 500).await;
        }
    };
    in_time(feeding).await;
    assert_eq!(api.streams.counts().slow, 0);
}

#[tokio::test]
async fn a_quiet_stream_outlives_every_patience_of_its_connection() {
    let mut setting = lively();
    setting.tail.streams.heartbeat = Duration::from_secs(1);
    setting.serve.idle_timeout = A_WHILE;
    setting.serve.header_timeout = A_WHILE;
    setting.serve.write_timeout = A_WHILE;
    let api = Api::with(setting).await;
    let mut feed = Feed::open(&api, "", &[]).await;
    assert_eq!(feed.any().await.name, "heartbeat");
    let id = api.submitted(JOB).await;
    assert_eq!(feed.next().await.data["id"], id);
}

#[tokio::test]
async fn a_stream_ends_when_its_key_does() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let open = async |name: &str| {
        let (text, id) = key(&api, name, &["stream:read", "jobs:read"]).await;
        (Feed::open_as(&api, &text, "").await, id)
    };
    let (mut revoked, id) = open("acme").await;
    api.send_as(ADMIN, None, "DELETE", &format!("/api/v1/tenants/acme/keys/{id}"), None).await.expect(200);
    assert!(revoked.rest().await.is_empty());
    // By somebody that this process does not hear of.
    let (mut elsewhere, id) = open("acme").await;
    let id: KeyId = id.parse().unwrap();
    api.registry.inner.revoke_key(&TenantId::new("acme"), &id).await.unwrap();
    assert!(elsewhere.rest().await.is_empty());
    let (mut disabled, _) = open("acme").await;
    let (mut other, _) = open("default").await;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(r#"{"disabled":true}"#)).await.expect(200);
    assert!(disabled.rest().await.is_empty());
    let id = api.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202)["id"].clone();
    assert_eq!(other.next().await.data["id"], id, "and nobody else's");
    let expiring = r#"{"scopes":["stream:read"],"expires_in":"1m"}"#;
    let made = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/default/keys", Some(expiring)).await.expect(201);
    let mut expiring = Feed::open_as(&api, made["key"].as_str().unwrap(), "").await;
    api.clock.advance(Duration::from_mins(2));
    assert!(expiring.rest().await.is_empty());
}

#[tokio::test]
async fn a_drain_ends_every_stream_at_once_and_none_is_opened_after_it() {
    let api = Api::start().await;
    let mut feeds = [Feed::open(&api, "", &[]).await, Feed::open(&api, "?queue=a", &[]).await];
    let mut waiting = api.connect().await;
    waiting.request("GET", "/healthz", &[], None).await.expect(200);
    api.stop.drain();
    for feed in &mut feeds {
        feed.retry = None;
        assert!(feed.rest().await.is_empty());
        assert!((1_000..=5_000).contains(&feed.retry.expect("how long to wait")), "they do not all come back at once");
    }
    in_time(api.served).await.unwrap();
    assert_eq!(api.streams.counts().open, 0);
}

#[tokio::test]
async fn one_who_comes_while_the_reader_is_gone_is_told_to_come_back() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    api.store.set(Some(Fault::Panic));
    let _waiter = api.waits.register(&foreman_core::TenantId::default(), id.parse().unwrap()).unwrap();
    until("the reader is gone", || api.tasks.alive().iter().all(|(name, _)| *name != "tail")).await;
    api.store.set(None);
    api.get(STREAM).await.problem(503, "stopping");
}

#[tokio::test]
async fn a_tenant_and_a_server_have_so_many_streams_and_no_more() {
    let mut setting = Setting { keys: KeyPolicy::asked(ADMIN), ..Setting::default() };
    setting.tail.streams.per_tenant = 2;
    setting.tail.streams.per_process = 3;
    let api = Api::with(setting).await;
    tenant(&api, "acme").await;
    let (acme, _) = key(&api, "acme", &["stream:read"]).await;
    let first = Feed::open_as(&api, ADMIN, "").await;
    let _second = Feed::open_as(&api, ADMIN, "").await;
    let reply = api.send_as(ADMIN, None, "GET", STREAM, None).await;
    assert_eq!(reply.header("retry-after"), Some("5"));
    reply.problem(429, "too-many-streams");
    let _third = Feed::open_as(&api, &acme, "").await;
    api.send_as(&acme, None, "GET", STREAM, None).await.problem(503, "overloaded");
    drop(first);
    until("there is room", || api.streams.counts().open == 2).await;
    Feed::open_as(&api, ADMIN, "").await;
}

#[tokio::test]
async fn while_nobody_watches_nothing_is_read() {
    let api = Api::start().await;
    let feed = Feed::open(&api, "", &[]).await;
    drop(feed);
    until("nobody watches", || api.streams.counts().open == 0).await;
    // The next look finds that nobody does; the one after that would meet the fault.
    submit(&api, 1).await;
    until("the reader rests", || !api.streams.is_reading()).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    api.store.inner.submit(&[new_job()]).await.unwrap();
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(api.store.faults_met(), 0);
    api.store.set(None);
    // What happened meanwhile is in the log all the same.
    let head = api.store.inner.head().await.unwrap();
    let mut feed = Feed::open(&api, &format!("?after={}", cursor(head.0 - 1)), &[]).await;
    feed.jobs(1).await;
}

#[tokio::test]
async fn who_comes_after_an_outage_that_nobody_watched_begins_at_the_end() {
    let api = Api::start().await;
    let feed = Feed::open(&api, "", &[]).await;
    until("it reads", || api.streams.is_reading()).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    api.store.inner.submit(&[new_job()]).await.unwrap();
    until("the reader has met it", || api.store.faults_met() > 0).await;
    drop(feed);
    until("the reader rests", || !api.streams.is_reading()).await;
    api.store.set(None);
    let mut feed = Feed::open(&api, "", &[]).await;
    let id = api.submitted(JOB).await;
    assert_eq!(feed.next().await.data["id"], id);
}
