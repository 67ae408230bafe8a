//! What somebody sees first.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{a_job, jobs};
use foreman_core::ports::{
    DeliveryNote, JobStore as _, SessionInfo, SessionStore as _, StoreError, WebhookStore as _, Went,
};
use foreman_core::webhook::QUEUE;
use foreman_core::{Clock as _, Report, SessionId, TenantId, Verdict};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::faulty::Fault;
use crate::harness::{Api, id_of};
use crate::http::PATIENCE;
use crate::matrix::{ADMIN, key, keyed, tenant};

const PATH: &str = "/api/v1/overview";

/// What is shown is a second old at most: waits until it is so.
async fn until_shown(api: &Api, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let overview = api.get(PATH).await.expect(200);
        if is_it(&overview) {
            return overview;
        }
        assert!(Instant::now() < deadline, "never shown: {what}: {overview}");
        sleep(Duration::from_millis(50)).await;
    }
}

fn attention<'a>(overview: &'a Value, kind: &str) -> Vec<&'a Value> {
    overview["attention"].as_array().unwrap().iter().filter(|item| item["kind"] == kind).collect()
}

#[tokio::test]
async fn a_fresh_server_has_nothing_that_needs_anybody() {
    let api = Api::start().await;
    let overview = api.get(PATH).await.expect(200);
    assert_eq!((&overview["attention"], &overview["oldest_waiting"]), (&json!([]), &json!(null)));
    let states = overview["states"].as_object().unwrap();
    for state in ["scheduled", "pending", "running", "retrying", "completed", "failed", "dead", "cancelled"] {
        assert_eq!(states[state], json!({"count": 0, "estimate": false}), "{state}");
    }
    assert_eq!(states.len(), 8);
    assert_eq!(overview["workers"], json!({"live": 1, "draining": 0, "dead": 0, "slots": 8, "running": 0}));
}

#[tokio::test]
async fn it_tells_how_many_there_are_and_who_waits_longest() {
    let api = Api::start().await;
    for body in [
        r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#,
        r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#,
        r#"{"url":"http://127.0.0.1:1/","queue":"later","delay":"1h"}"#,
    ] {
        api.submitted(body).await;
    }
    assert_eq!(api.claim(1).await.len(), 1);
    api.clock.advance(Duration::from_secs(192));
    let overview = api.get(PATH).await.expect(200);
    for (state, count) in [("pending", 1), ("running", 1), ("scheduled", 1), ("completed", 0)] {
        assert_eq!(overview["states"][state], json!({"count": count, "estimate": false}), "{state}");
    }
    assert_eq!(overview["oldest_waiting"], json!({"queue": "mail", "age": "3m12s"}));
    assert_eq!((&overview["queues"], &overview["workers"]["running"]), (&json!(2), &json!(1)));
}

#[tokio::test]
async fn more_than_a_thousand_are_at_least_a_thousand() {
    let api = Api::start().await;
    let jobs: Vec<String> = (0..500).map(|_| r#"{"url":"http://127.0.0.1:1/"}"#.to_owned()).collect();
    let batch = format!(r#"{{"jobs":[{}]}}"#, jobs.join(","));
    for _ in 0..2 {
        assert!(api.post_json("/api/v1/jobs/batch", &batch).await.status < 300);
    }
    let full = until_shown(&api, "a thousand", |overview| overview["states"]["pending"]["count"] == 1_000).await;
    assert_eq!(full["states"]["pending"]["estimate"], false);
    api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    let over = until_shown(&api, "more", |overview| overview["states"]["pending"]["estimate"] == true).await;
    assert_eq!(over["states"]["pending"]["count"], 1_000);
    api.kill_all().await;
    let dead = until_shown(&api, "the dead", |overview| !attention(overview, "dead-jobs").is_empty()).await;
    let item = attention(&dead, "dead-jobs")[0];
    assert_eq!((&item["count"], &item["estimate"]), (&json!(1_000), &json!(true)));
    assert!(item["detail"].as_str().unwrap().starts_with("At least 1000 jobs are dead"), "{item}");
}

#[tokio::test]
async fn what_needs_a_person_is_told_in_a_sentence() {
    let api = Api::start().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    api.kill_all().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    api.post("/api/v1/queues/mail/pause").await.expect(200);
    let schedule = r#"{"name":"nightly","every":"1m","job":{"url":"http://127.0.0.1:1/"}}"#;
    api.post_json("/api/v1/schedules", schedule).await.expect(201);
    // A worker that is there no more.
    let lost = SessionInfo {
        id: SessionId::fresh(),
        worker: "lost-worker".into(),
        pid: 8,
        version: "0".into(),
        slots: 4,
        queues: Vec::new(),
        tasks: Vec::new(),
        consumes: None,
        ttl: Duration::from_secs(10),
    };
    api.store.register(&lost).await.unwrap();
    api.clock.advance(Duration::from_secs(11));
    let pulses = api.store.pulses().await.unwrap();
    let pulse = pulses.into_iter().find(|pulse| pulse.session == lost.id).unwrap();
    api.store.lapse(pulse).await.unwrap().expect("lapsed");
    // Nobody fires here.
    api.clock.advance(Duration::from_secs(60 + 45));

    let overview = api.get(PATH).await.expect(200);
    for (kind, count, subject, words) in [
        ("dead-jobs", 1, json!(null), "1 job is dead"),
        ("paused-queue", 1, json!("mail"), "The queue mail is paused; it has one waiting job."),
        ("lapsed-worker", 1, json!("lost-worker"), "The worker lost-worker stopped responding"),
        ("late-schedules", 1, json!(null), "A schedule is "),
    ] {
        let items = attention(&overview, kind);
        assert_eq!(items.len(), 1, "{kind} in {overview}");
        assert_eq!((&items[0]["count"], &items[0]["subject"]), (&json!(count), &subject), "{kind}");
        assert!(items[0]["detail"].as_str().unwrap().starts_with(words), "{}", items[0]["detail"]);
    }
    assert!(attention(&overview, "lapsed-worker")[0]["since"].is_string());
    assert_eq!(overview["workers"], json!({"live": 1, "draining": 0, "dead": 1, "slots": 8, "running": 0}));

    // An hour later the worker is history; the rest is as it was.
    api.clock.advance(Duration::from_hours(1));
    let later = until_shown(&api, "an hour later", |overview| overview["workers"]["dead"] == 0).await;
    assert!(attention(&later, "lapsed-worker").is_empty());
    assert_eq!(attention(&later, "dead-jobs").len(), 1);
}

#[tokio::test]
async fn a_webhook_that_was_disabled_is_told_and_one_that_its_owner_disabled_is_not() {
    let api = Api::start().await;
    let body = r#"{"url":"https://hooks.example/in?token=hush","events":["*"]}"#;
    let own = id_of(&api.post_json("/api/v1/webhooks", body).await.expect(201));
    let gone = id_of(&api.post_json("/api/v1/webhooks", body).await.expect(201));
    let patch = [("content-type", "application/json")];
    api.send("PATCH", &format!("/api/v1/webhooks/{own}"), &patch, Some(r#"{"enabled":false}"#)).await.expect(200);
    assert!(attention(&api.get(PATH).await.expect(200), "disabled-webhook").is_empty());
    let note = DeliveryNote {
        tenant: TenantId::default(),
        webhook: gone.parse().unwrap(),
        at: api.clock.now(),
        went: Went::Gone,
    };
    api.registry.inner.note_deliveries(&[note]).await.unwrap();
    let shown = until_shown(&api, "gone", |overview| !attention(overview, "disabled-webhook").is_empty()).await;
    let items = attention(&shown, "disabled-webhook");
    assert_eq!((items.len(), &items[0]["subject"]), (1, &json!(gone)));
    let detail = items[0]["detail"].as_str().unwrap();
    assert!(detail.contains("hooks.example answered 410") && !detail.contains("hush"), "{detail}");
}

#[tokio::test]
async fn a_tenant_sees_its_own_and_no_workers_and_only_what_its_scopes_are_for() {
    let api = keyed().await;
    tenant(&api, "ours").await;
    tenant(&api, "theirs").await;
    let (reader, _) = key(&api, "ours", &["jobs:read"]).await;
    let (planner, _) = key(&api, "ours", &["jobs:read", "schedules:read"]).await;
    let theirs = async |method: &str, path: &str, body: Option<&str>| {
        api.send_as(ADMIN, Some("theirs"), method, path, body).await
    };
    theirs("POST", "/api/v1/jobs", Some(r#"{"url":"http://127.0.0.1:1/","queue":"secret"}"#)).await.expect(202);
    theirs("POST", "/api/v1/queues/secret/pause", None).await.expect(200);
    let schedule = r#"{"name":"mine","every":"1m","job":{"url":"http://127.0.0.1:1/"}}"#;
    api.send_as(&planner, None, "POST", "/api/v1/schedules", Some(schedule)).await.problem(403, "forbidden");
    api.send_as(ADMIN, Some("ours"), "POST", "/api/v1/schedules", Some(schedule)).await.expect(201);
    api.clock.advance(Duration::from_mins(5));

    let read = api.send_as(&reader, None, "GET", PATH, None).await.expect(200);
    assert_eq!((&read["queues"], &read["workers"], &read["attention"]), (&json!(0), &json!(null), &json!([])));
    assert_eq!(read["states"]["pending"]["count"], 0);
    let planned = api.send_as(&planner, None, "GET", PATH, None).await.expect(200);
    assert_eq!(attention(&planned, "late-schedules").len(), 1);
    let operator = api.send_as(ADMIN, Some("theirs"), "GET", PATH, None).await.expect(200);
    assert_eq!((&operator["states"]["pending"]["count"], &operator["workers"]["live"]), (&json!(1), &json!(1)));
    assert_eq!(attention(&operator, "paused-queue").len(), 1);
    api.send_as(&reader, Some("theirs"), "GET", PATH, None).await.problem(403, "forbidden");
}

#[tokio::test]
async fn a_hundred_dashboards_cost_as_much_as_one() {
    let api = Arc::new(Api::start().await);
    let began = Instant::now();
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let api = Arc::clone(&api);
            let tasks = api.tasks.clone();
            tasks.spawn("dashboard", async move { api.get(PATH).await.status })
        })
        .collect();
    for one in asking {
        assert_eq!(one.await.unwrap(), 200);
    }
    // One look a second, however long this machine took.
    let looks = api.store.looks() as u64;
    assert!((1..=1 + began.elapsed().as_secs()).contains(&looks), "{looks} looks in {:?}", began.elapsed());
}

#[tokio::test]
async fn a_store_that_is_away_is_said_and_not_remembered() {
    let api = Api::start().await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    api.get(PATH).await.problem(503, "store-unavailable");
    api.store.set(None);
    api.get(PATH).await.expect(200);
}

#[tokio::test]
async fn dead_jobs_are_grouped_by_what_they_died_of() {
    let api = Api::start().await;
    for n in 0..5 {
        api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail","kind":"welcome"}"#).await;
        api.run_all(|| Verdict::Dead(Report::error(format!("timed out after {n} s")))).await;
        api.clock.advance(Duration::from_secs(1));
    }
    let last = api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"other"}"#).await;
    api.run_all(|| Verdict::Dead(Report::error("no such host"))).await;

    let groups = api.get("/api/v1/dead/groups").await.expect(200);
    let items = groups["items"].as_array().unwrap();
    assert_eq!((items.len(), &groups["next"], &groups["complete"]), (2, &json!(null), &json!(true)), "{groups}");
    let (many, one) = (&items[0], &items[1]);
    assert_eq!((&many["count"], &many["estimate"], &many["queue"]), (&json!(5), &json!(false), &json!("mail")));
    assert_eq!((&many["error"], &many["kind"]), (&json!("timed out after 4 s"), &json!("welcome")));
    assert!(many["first_at"].as_str().unwrap() < many["last_at"].as_str().unwrap());
    assert_eq!((&one["count"], &one["job"], &one["kind"]), (&json!(1), &json!(last), &json!(null)));

    // The group leads to its jobs, in every list and in bulk calls.
    let group = many["group"].as_str().unwrap();
    assert_eq!(group.len(), 16);
    for path in ["/api/v1/dead", "/api/v1/jobs"] {
        let list = api.get(&format!("{path}?error_group={group}")).await.expect(200);
        assert_eq!(list["items"].as_array().unwrap().len(), 5, "{path}");
        api.get(&format!("{path}?error_group=nonsense")).await.problem(400, "invalid-request");
    }
    let body = format!(r#"{{"filter":{{"error_group":"{group}"}}}}"#);
    let retried = api.post_json("/api/v1/jobs/retry", &body).await.expect(200);
    assert_eq!(retried, json!({"matched": 5, "changed": 5, "skipped": 0}));
    let left = api.get("/api/v1/dead/groups").await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn failed_jobs_are_grouped_and_need_attention_as_dead_ones_do() {
    let api = Api::start().await;
    let mut failed = Vec::new();
    for n in 0..3 {
        failed.push(api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await);
        api.run_all(|| Verdict::Failed(Report::error(format!("404 Not Found, request {n}")))).await;
    }
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    api.run_all(|| Verdict::Dead(Report::error("404 Not Found, request 9"))).await;

    let both = api.get("/api/v1/errors/groups").await.expect(200);
    let told = |groups: &Value| {
        let items = groups["items"].as_array().unwrap().iter();
        items.map(|item| (item["state"].clone(), item["count"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(told(&both), [(json!("failed"), json!(3)), (json!("dead"), json!(1))], "{both}");
    for (state, count) in [("failed", 3), ("dead", 1)] {
        let one = api.get(&format!("/api/v1/errors/groups?state={state}")).await.expect(200);
        assert_eq!(told(&one), [(json!(state), json!(count))]);
    }
    assert_eq!(told(&api.get("/api/v1/dead/groups").await.expect(200)), [(json!("dead"), json!(1))]);
    let problem = api.get("/api/v1/errors/groups?state=completed").await.problem(400, "invalid-request");
    assert!(problem["detail"].as_str().unwrap().contains("use failed or dead"), "{problem}");

    let overview = api.get(PATH).await.expect(200);
    let item = attention(&overview, "failed-jobs")[0];
    assert_eq!(item["count"], 3);
    assert_eq!(item["detail"], "3 jobs failed in the last hour.");

    // The group leads to its jobs: named with its state to those, without to whatever ended so.
    let group = both["items"][0]["group"].as_str().unwrap();
    let filter = format!(r#"{{"filter":{{"error_group":"{group}"}},"dry_run":true}}"#);
    assert_eq!(api.post_json("/api/v1/jobs/retry", &filter).await.expect(200)["matched"], 4);
    let filter = format!(r#"{{"filter":{{"error_group":"{group}","state":"failed"}}}}"#);
    let retried = api.post_json("/api/v1/jobs/retry", &filter).await.expect(200);
    assert_eq!((&retried["matched"], &retried["changed"]), (&json!(3), &json!(3)));
    until_shown(&api, "nothing failed any more", |overview| attention(overview, "failed-jobs").is_empty()).await;

    api.run_all(|| Verdict::Failed(Report::error("404 Not Found"))).await;
    api.clock.advance(Duration::from_secs(3_601));
    until_shown(&api, "it is history after an hour, and the jobs are there", |overview| {
        overview["states"]["failed"]["count"] == 3 && attention(overview, "failed-jobs").is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_task_that_no_connected_worker_runs_is_accepted_with_a_hint() {
    let api = Api::start().await;
    let accepted = api.post_json("/api/v1/jobs", r#"{"task":"mail.send","queue":"mail"}"#).await.expect(202);
    let hint = json!({
        "kind": "no-worker",
        "detail": "No connected worker runs the task \"mail.send\" in the queue mail. The job waits until one \
                   connects.",
    });
    assert_eq!(accepted["hints"], json!([hint]), "{accepted}");
    let path = format!("/api/v1/jobs/{}", accepted["id"].as_str().unwrap());
    assert_eq!(api.get(&path).await.expect(200)["hints"], json!([hint]));
    let batch = r#"{"jobs":[{"task":"mail.send","queue":"mail"},{"url":"http://127.0.0.1:1/"}]}"#;
    let results = api.post_json("/api/v1/jobs/batch", batch).await.expect(200)["results"].clone();
    assert_eq!((&results[0]["hints"], &results[1]["hints"]), (&json!([hint]), &json!(null)));
    let shown = until_shown(&api, "it waits", |overview| !attention(overview, "no-worker").is_empty()).await;
    let item = attention(&shown, "no-worker")[0];
    assert_eq!((&item["subject"], &item["count"]), (&json!("mail.send"), &json!(2)));
    assert_eq!(item["detail"], "2 jobs wait for the task \"mail.send\", which no connected worker runs.");

    // A worker for it comes.
    let info = SessionInfo {
        id: SessionId::fresh(),
        worker: "mailer".into(),
        pid: 9,
        version: "0".into(),
        slots: 1,
        queues: Vec::new(),
        tasks: vec!["mail.send".into()],
        consumes: None,
        ttl: Duration::from_hours(1),
    };
    api.store.register(&info).await.unwrap();
    until_shown(&api, "it has a worker", |overview| attention(overview, "no-worker").is_empty()).await;
    assert_eq!(api.get(&path).await.expect(200)["hints"], json!(null));
    let accepted = api.post_json("/api/v1/jobs", r#"{"task":"mail.send"}"#).await.expect(202);
    assert_eq!(accepted["hints"], json!(null));
}

#[tokio::test]
async fn deliveries_of_webhooks_are_not_the_users_jobs() {
    let api = Api::start().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    let deliveries = jobs(3, &a_job().queued(QUEUE));
    api.store.submit(&deliveries).await.unwrap();
    let matched = async |filter: &str| {
        let body = format!(r#"{{"filter":{filter},"dry_run":true}}"#);
        let verb = if filter.contains("completed") { "retry" } else { "cancel" };
        api.post_json(&format!("/api/v1/jobs/{verb}"), &body).await.expect(200)["matched"].clone()
    };
    assert_eq!(matched("{}").await, 1, "nobody who cancels everything means the messages that are on their way");
    assert_eq!(matched(r#"{"queue":"foreman.webhooks"}"#).await, 3);
    let overview = api.get(PATH).await.expect(200);
    assert_eq!((&overview["states"]["pending"]["count"], &overview["queues"]), (&json!(1), &json!(1)));
    assert_eq!(overview["oldest_waiting"]["queue"], "mail");
    let listed = async |path: &str| api.get(path).await.expect(200)["items"].as_array().unwrap().len();
    for (path, count) in [
        ("/api/v1/jobs", 1),
        ("/api/v1/jobs?state=pending", 1),
        ("/api/v1/jobs?kind=foreman.webhook", 0),
        ("/api/v1/jobs?queue=foreman.webhooks", 3),
        ("/api/v1/queues", 1),
        ("/api/v1/queues?queue=foreman.webhooks", 1),
        ("/api/v1/queues?queue=mail", 1),
        ("/api/v1/queues?queue=none", 0),
    ] {
        assert_eq!(listed(path).await, count, "{path}");
    }
    api.get("/api/v1/queues?queue=a%20b").await.problem(400, "invalid-request");
    // What ran to its end as well.
    api.run_all(|| Verdict::Completed(Report::default())).await;
    assert_eq!(matched(r#"{"state":"completed"}"#).await, 1, "old messages are not sent again by accident");
    assert_eq!(matched(r#"{"state":"completed","queue":"foreman.webhooks"}"#).await, 3);
    // Users cannot put jobs of their own there.
    let refused = api.post_json("/api/v1/jobs", r#"{"url":"http://127.0.0.1:1/","queue":"foreman.mine"}"#).await;
    refused.problem(422, "invalid-job");
}

#[tokio::test]
async fn what_a_worker_runs_is_listed_the_longest_first() {
    let api = Api::start().await;
    let path = format!("/api/v1/workers/{}/jobs", api.session);
    assert_eq!(api.get(&path).await.expect(200), json!({"items": [], "next": null}));
    let first = api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail","kind":"welcome"}"#).await;
    assert_eq!(api.claim(1).await.len(), 1);
    api.clock.advance(Duration::from_secs(1));
    let second = api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    assert_eq!(api.claim(1).await.len(), 1);
    let list = api.get(&path).await.expect(200);
    let ids: Vec<&str> = list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [first.as_str(), second.as_str()]);
    for (field, value) in
        [("tenant", json!("default")), ("queue", json!("mail")), ("kind", json!("welcome")), ("attempt", json!(1))]
    {
        assert_eq!(list["items"][0][field], value, "{field}");
    }
    assert!(list["items"][0]["started_at"].is_string());
    api.store.drain(api.session).await.unwrap();
    assert_eq!(api.get(&path).await.expect(200)["items"].as_array().unwrap().len(), 2);

    api.get("/api/v1/workers/test-worker/jobs").await.problem(400, "invalid-request");
    let unknown = format!("/api/v1/workers/{}/jobs", SessionId::fresh());
    api.get(&unknown).await.problem(404, "worker-not-found");
}
