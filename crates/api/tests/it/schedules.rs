//! Schedules over HTTP: every route, every status, and who wins when two change one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreman_core::ports::{NewTick, ScheduleError, ScheduleStore, StoreError, TickAct};
use foreman_core::{Clock, TenantId};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::faulty::Fault;
use crate::harness::{Api, Setting, id_of};
use crate::http::Reply;

const PATH: &str = "/api/v1/schedules";
const JSON: (&str, &str) = ("content-type", "application/json");
const DAILY: &str =
    r#"{"name":"daily","cron":"0 9 * * *","timezone":"Europe/Berlin","job":{"url":"http://127.0.0.1:1/"}}"#;

impl Api {
    async fn create(&self, body: &str) -> Reply {
        self.post_json(PATH, body).await
    }

    async fn put(&self, name: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send("PUT", &format!("{PATH}/{name}"), &[&[JSON], headers].concat(), Some(body)).await
    }

    async fn patch(&self, name: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send("PATCH", &format!("{PATH}/{name}"), &[&[JSON], headers].concat(), Some(body)).await
    }

    async fn delete(&self, name: &str, headers: &[(&str, &str)]) -> Reply {
        self.send("DELETE", &format!("{PATH}/{name}"), headers, None).await
    }

    async fn schedule(&self, name: &str) -> Value {
        self.get(&format!("{PATH}/{name}")).await.expect(200)
    }
}

fn named(name: &str) -> String {
    DAILY.replace("\"daily\"", &format!("{name:?}"))
}

/// As it stands in the header, with a part of the schedule's id.
fn tag(schedule: &Value, version: i64) -> String {
    let id = schedule["id"].as_str().unwrap().replace('-', "");
    format!("\"{version}-{}\"", &id[16..])
}

fn pointers(problem: &Value) -> Vec<&str> {
    problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_schedule_is_made_and_read_as_it_was_written() {
    let api = Api::start().await;
    let reply = api.create(DAILY).await;
    assert_eq!(reply.header("location"), Some("/api/v1/schedules/daily"));
    let etag = reply.header("etag").map(str::to_owned);
    let made = reply.expect(201);
    assert_eq!(etag, Some(tag(&made, 1)));
    for (field, value) in [("name", "daily"), ("state", "active"), ("cron", "0 9 * * *"), ("timezone", "Europe/Berlin")]
    {
        assert_eq!(made[field], value, "{field} of {made}");
    }
    assert_eq!((&made["version"], &made["held_for"], &made["last_tick"]), (&json!(1), &Value::Null, &Value::Null));
    assert_eq!(made["job"], json!({"url": "http://127.0.0.1:1/"}), "what was left out stays out");
    assert_eq!(made.get("overlap"), None);
    assert!(made["description"].as_str().unwrap().contains("09:00"), "{made}");
    assert!(made["next_fire_at"].as_str().unwrap() > made["created_at"].as_str().unwrap());

    let read = api.get(&format!("{PATH}/daily")).await;
    assert_eq!((read.header("etag"), read.header("cache-control")), (etag.as_deref(), Some("no-store")));
    assert_eq!(read.expect(200), made);
    let id = made["id"].as_str().unwrap();
    assert_eq!(api.schedule(id).await, made, "by its id too");
}

#[tokio::test]
async fn a_version_that_the_client_has_is_not_sent_again() {
    let api = Api::start().await;
    let made = api.create(DAILY).await.expect(201);
    let tag = |version| tag(&made, version);
    for (given, status) in [(tag(1), 304), (format!("W/{}", tag(1)), 304), (tag(2), 200), ("\"1\"".into(), 200)] {
        let mut connection = api.connect().await;
        let reply = connection.request("GET", &format!("{PATH}/daily"), &[("if-none-match", &given)], None).await;
        assert_eq!((reply.status, reply.header("etag")), (status, Some(tag(1).as_str())), "{given}");
    }
}

#[tokio::test]
async fn every_mistake_in_a_schedule_is_told_at_once_with_its_place() {
    let api = Api::start().await;
    let body = r#"{"name":"a b","cron":"61 * * * *","timezone":"Europe/Berlin","missed_max":0,
        "job":{"url":"nowhere","queue":"a b","delay":"5s"}}"#;
    let problem = api.create(body).await.problem(422, "invalid-schedule");
    let mut found = pointers(&problem);
    found.sort_unstable();
    assert_eq!(found, ["/cron", "/job/delay", "/job/queue", "/job/url", "/missed_max", "/name"], "{problem}");
    for (body, slug, status, pointer) in [
        ("{", "bad-json", 400, None),
        (r#"{"name":"a","cron":"@daily","job":{"url":"http://a/"},"corn":"x"}"#, "unknown-field", 400, Some("/corn")),
        (r#"{"name":"a","cron":"@daily","job":{"urll":"http://a/"}}"#, "unknown-field", 400, Some("/job/urll")),
        (r#"{"name":"a","cron":"@daily"}"#, "invalid-schedule", 422, Some("")),
        (r#"{"name":"a","cron":7,"job":{"url":"http://a/"}}"#, "invalid-schedule", 422, Some("/cron")),
        (r#"{"name":"a","cron":"@daily","job":[]}"#, "invalid-schedule", 422, Some("/job")),
        (r#"{"name":"a","every":"soon","job":{"url":"http://a/"}}"#, "invalid-schedule", 422, Some("/every")),
        (r#"{"name":"a","job":{"url":"http://a/"}}"#, "invalid-schedule", 422, Some("")),
        (r#"{"name":"a","cron":"0 0 30 2 *","job":{"url":"http://a/"}}"#, "invalid-schedule", 422, Some("/cron")),
        (
            r#"{"name":"a","cron":"@daily","timezone":"Mars/Phobos","job":{"url":"http://a/"}}"#,
            "invalid-schedule",
            422,
            Some("/timezone"),
        ),
        (r#"{"name":"preview","cron":"@daily","job":{"url":"http://a/"}}"#, "invalid-schedule", 422, Some("/name")),
        ("[]", "invalid-schedule", 422, Some("")),
    ] {
        let problem = api.create(body).await.problem(status, slug);
        if let Some(pointer) = pointer {
            assert_eq!(pointers(&problem), [pointer], "{body}: {problem}");
        }
    }
    assert_eq!(api.get(PATH).await.expect(200)["items"], json!([]), "nothing was made");
    api.send("POST", PATH, &[], Some(DAILY)).await.problem(415, "unsupported-media-type");
    api.create(&" ".repeat(1024 * 1024 + 1)).await.problem(413, "body-too-large");
}

#[tokio::test]
async fn a_name_is_taken_until_its_schedule_is_deleted() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    let problem = api.create(DAILY).await.problem(409, "name-taken");
    assert!(problem["detail"].as_str().unwrap().contains("daily"), "{problem}");
    assert_eq!(api.delete("daily", &[]).await.status, 204);
    api.get(&format!("{PATH}/daily")).await.problem(404, "schedule-not-found");
    api.create(DAILY).await.expect(201);
}

#[tokio::test]
async fn an_odd_name_in_the_path_is_told_and_never_a_fault() {
    let api = Api::start().await;
    for odd in ["a%2Fb", "%20", "a%00b", "%C3%A4", "%FF", "..%2F", &"n".repeat(129), "a%22b"] {
        for path in ["", "/preview", "/ticks"] {
            let reply = api.get(&format!("{PATH}/{odd}{path}")).await;
            assert!(matches!(reply.status, 400 | 404), "{odd}{path}: {reply:?}");
            assert!(!reply.json()["detail"].as_str().unwrap().is_empty());
        }
    }
    api.create(&named("a.b_c-1")).await.expect(201);
    assert_eq!(api.schedule("a%2Eb%5Fc-1").await["name"], "a.b_c-1", "names are decoded");
    api.get(&format!("{PATH}/preview")).await.problem(405, "method-not-allowed");
}

#[tokio::test]
async fn schedules_are_listed_page_by_page_in_the_order_of_their_names() {
    let api = Api::start().await;
    for name in ["c", "a", "e", "b", "d"] {
        api.create(&named(name)).await.expect(201);
    }
    let mut names = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = api.get(&format!("{PATH}{query}")).await.expect(200);
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        query = format!("?limit=2&cursor={next}");
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    assert_eq!(api.get(&format!("{PATH}?limit=5")).await.expect(200)["next"], Value::Null, "nothing follows");
    assert_eq!(api.get(&format!("{PATH}?after=d")).await.expect(200)["items"].as_array().unwrap().len(), 1);
    for wrong in ["?limit=0", "?limit=501", "?limit=x", "?cursor=a/b", "?page=2"] {
        api.get(&format!("{PATH}{wrong}")).await.problem(400, "invalid-request");
    }
}

#[tokio::test]
async fn a_put_makes_what_is_not_there_and_replaces_what_is() {
    let api = Api::start().await;
    let reply = api.put("daily", &[], DAILY).await;
    assert_eq!(reply.header("location"), Some("/api/v1/schedules/daily"));
    let etag = reply.header("etag").map(str::to_owned);
    let made = reply.expect(201);
    assert_eq!(etag, Some(tag(&made, 1)));
    let other = r#"{"name":"daily","every":"1h","job":{"url":"http://127.0.0.1:1/"},"overlap":"skip"}"#;
    let reply = api.put("daily", &[], other).await;
    assert_eq!((reply.header("location"), reply.header("etag")), (None, Some(tag(&made, 2).as_str())));
    let replaced = reply.expect(200);
    assert_eq!(
        (&replaced["id"], &replaced["every"], &replaced["overlap"]),
        (&made["id"], &json!("1h"), &json!("skip"))
    );
    assert_eq!((replaced.get("cron"), replaced.get("timezone")), (None, None), "what is not given is gone");

    let problem = api.put("daily", &[], &named("other")).await.problem(422, "invalid-schedule");
    assert_eq!(pointers(&problem), ["/name"]);
    let id = made["id"].as_str().unwrap();
    let problem = api.put(id, &[], &named("other")).await.problem(422, "invalid-schedule");
    assert_eq!(pointers(&problem), ["/name"], "by its id neither");
    api.put(id, &[], DAILY).await.expect(200);
    let nobody = "0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11";
    api.put(nobody, &[], DAILY).await.problem(404, "schedule-not-found");
}

#[tokio::test]
async fn a_condition_that_does_not_hold_changes_nothing() {
    let api = Api::start().await;
    for any in ["\"1\"", "*"] {
        api.put("daily", &[("if-match", any)], DAILY).await.problem(412, "precondition-failed");
    }
    api.get(&format!("{PATH}/daily")).await.problem(404, "schedule-not-found");
    api.put("daily", &[("if-none-match", "*")], DAILY).await.expect(201);
    api.put("daily", &[("if-none-match", "*")], DAILY).await.problem(412, "precondition-failed");
    api.put("daily", &[("if-match", "*")], DAILY).await.expect(200);

    let old = [("if-match", "\"1\"")];
    for reply in [
        api.put("daily", &old, DAILY).await,
        api.patch("daily", &old, r#"{"jitter":"1s"}"#).await,
        api.delete("daily", &old).await,
        api.send("POST", &format!("{PATH}/daily/pause"), &old, None).await,
        api.send("POST", &format!("{PATH}/daily/resume"), &old, None).await,
    ] {
        let problem = reply.problem(412, "precondition-failed");
        assert_eq!(problem["version"], 2);
        assert!(problem["detail"].as_str().unwrap().contains("version 2"), "{problem}");
    }
    for malformed in ["2", "\"two\"", "W/\"2\"", "\"2\", \"3\"", "\"\""] {
        api.put("daily", &[("if-match", malformed)], DAILY).await.problem(400, "invalid-request");
        api.delete("daily", &[("if-match", malformed)]).await.problem(400, "invalid-request");
    }
    api.put("daily", &[("if-match", "\"2\""), ("if-match", "\"2\"")], DAILY).await.problem(400, "invalid-request");
    assert_eq!(api.schedule("daily").await["version"], 2);
    assert_eq!(api.delete("daily", &[("if-match", "\"2\"")]).await.status, 204);
}

#[tokio::test]
async fn the_tag_of_a_deleted_schedule_does_not_fit_the_next_one_of_its_name() {
    let api = Api::start().await;
    let gone = api.create(DAILY).await.expect(201);
    let old = tag(&gone, 1);
    let old = [("if-match", old.as_str())];
    assert_eq!(api.delete("daily", &old).await.status, 204);
    for _ in 0..2 {
        api.put("daily", &old, DAILY).await.problem(412, "precondition-failed");
        api.patch("daily", &old, r#"{"jitter":"1s"}"#).await.problem(404, "schedule-not-found");
        api.delete("daily", &old).await.problem(404, "schedule-not-found");
    }
    let made = api.create(DAILY).await.expect(201);
    assert_eq!(made["version"], gone["version"]);
    for reply in [
        api.put("daily", &old, DAILY).await,
        api.patch("daily", &old, r#"{"jitter":"1s"}"#).await,
        api.delete("daily", &old).await,
        api.send("POST", &format!("{PATH}/daily/pause"), &old, None).await,
    ] {
        let problem = reply.problem(412, "precondition-failed");
        assert_eq!(problem["version"], 1);
        assert!(problem["detail"].as_str().unwrap().contains("created since"), "{problem}");
    }
    assert_eq!(api.schedule("daily").await, made, "nothing was changed");
    let new = tag(&made, 1);
    api.patch("daily", &[("if-match", &new)], r#"{"jitter":"1s"}"#).await.expect(200);
    api.patch("daily", &[("if-match", "\"2\"")], r#"{"jitter":"2s"}"#).await.expect(200);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_does_not_take_the_server_out_of_service() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    api.store.spoil_schedules(true);
    for path in ["", "/preview", "/ticks"] {
        let problem = api.get(&format!("{PATH}/daily{path}")).await.problem(501, "schedule-unreadable");
        assert!(!problem.to_string().contains("secret"), "{problem}");
        api.get(&format!("{PATH}/none{path}")).await.problem(404, "schedule-not-found");
    }
    api.get("/readyz").await.expect(200);
    api.store.spoil_schedules(false);
    api.schedule("daily").await;
    // One whose place in the file cannot be read either is damage.
    api.store.set(Some(Fault::Error(StoreError::Damaged("secret: page 7".into()))));
    api.get(&format!("{PATH}/daily")).await.problem(500, "store-damaged");
}

#[tokio::test]
async fn of_many_who_change_the_same_version_one_wins() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    for version in 1..=20 {
        let tag = format!("\"{version}\"");
        let condition = [("if-match", tag.as_str())];
        let bodies: Vec<String> = (0..5).map(|one| format!(r#"{{"jitter":"{}s"}}"#, version * 10 + one)).collect();
        let replies = join_all(bodies.iter().map(|body| api.patch("daily", &condition, body))).await;
        let won: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(won.len(), 1, "{replies:?}");
        assert!(replies.iter().all(|reply| matches!(reply.status, 200 | 412)), "{replies:?}");
        let read = api.schedule("daily").await;
        assert_eq!((&read["version"], &read["jitter"]), (&json!(version + 1), &won[0].json()["jitter"]));
    }
}

#[tokio::test]
async fn without_a_condition_every_change_takes_place() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    let (a, b, c) = tokio::join!(
        api.patch("daily", &[], r#"{"jitter":"1s"}"#),
        api.patch("daily", &[], r#"{"overlap":"skip"}"#),
        api.patch("daily", &[], r#"{"job":{"queue":"reports"}}"#),
    );
    for reply in [a, b, c] {
        reply.expect(200);
    }
    let read = api.schedule("daily").await;
    assert_eq!((&read["version"], &read["jitter"], &read["overlap"]), (&json!(4), &json!("1s"), &json!("skip")));
    assert_eq!(read["job"], json!({"url": "http://127.0.0.1:1/", "queue": "reports"}));
    let race = named("race");
    let racers = tokio::join!(api.put("race", &[], &race), api.put("race", &[], &race), api.put("race", &[], &race),);
    let mut statuses = [racers.0.status, racers.1.status, racers.2.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 201], "one makes it, the others replace it");
}

#[tokio::test]
async fn a_patch_replaces_what_it_gives_and_removes_what_it_nulls() {
    let api = Api::start().await;
    let body = r#"{"name":"daily","cron":"0 9 * * *","timezone":"Europe/Berlin","jitter":"30s",
        "job":{"url":"http://127.0.0.1:1/","queue":"mail","payload":{"n":1.0}}}"#;
    api.create(body).await.expect(201);
    let patch = r#"{"cron":null,"timezone":null,"every":"90s","jitter":null,"job":{"queue":null,"priority":"high"}}"#;
    let media = ("content-type", "application/merge-patch+json");
    let path = format!("{PATH}/daily");
    let patched = api.send("PATCH", &path, &[media], Some(patch)).await.expect(200);
    assert_eq!((patched.get("cron"), patched.get("timezone"), patched.get("jitter")), (None, None, None));
    assert_eq!(patched["every"], "1m30s".parse::<foreman_core::duration::Span>().unwrap().to_string());
    assert_eq!(patched["job"], json!({"url": "http://127.0.0.1:1/", "payload": {"n": 1.0}, "priority": "high"}));

    for (patch, status, slug, pointer) in [
        (r#"{"name":"other"}"#, 422, "invalid-schedule", "/name"),
        (r#"{"cron":"0 9 * * *"}"#, 422, "invalid-schedule", ""),
        (r#"{"corn":"x"}"#, 400, "unknown-field", "/corn"),
        (r#"{"job":{"urll":"x"}}"#, 400, "unknown-field", "/job/urll"),
        (r#"{"job":{"url":null}}"#, 422, "invalid-schedule", "/job"),
        (r#"{"missed":"never"}"#, 422, "invalid-schedule", "/missed"),
        (r#"{"job":7}"#, 422, "invalid-schedule", "/job"),
        (r#"{"name":null}"#, 422, "invalid-schedule", "/name"),
        (r#"{"job":null}"#, 422, "invalid-schedule", "/job"),
    ] {
        let problem = api.patch("daily", &[], patch).await.problem(status, slug);
        assert_eq!(pointers(&problem), [pointer], "{patch}: {problem}");
    }
    for patch in ["[]", "7"] {
        api.patch("daily", &[], patch).await.problem(422, "invalid-schedule");
    }
    api.patch("daily", &[], "{").await.problem(400, "bad-json");
    api.patch("none", &[], r#"{"jitter":"1s"}"#).await.problem(404, "schedule-not-found");
    assert_eq!(api.schedule("daily").await["version"], 2, "what is refused changes nothing");
}

#[tokio::test]
async fn a_schedule_is_paused_and_resumed() {
    let api = Api::start().await;
    let made = api.create(DAILY).await.expect(201);
    let reply = api.post(&format!("{PATH}/daily/pause")).await;
    assert_eq!(reply.header("etag"), Some(tag(&made, 2).as_str()));
    let paused = reply.expect(200);
    assert_eq!((&paused["state"], &paused["next_fire_at"]), (&json!("paused"), &Value::Null));
    let resumed = api.post(&format!("{PATH}/daily/resume")).await.expect(200);
    assert_eq!(resumed["state"], "active");
    assert_ne!(resumed["next_fire_at"], Value::Null);
    for verb in ["pause", "resume", "run"] {
        api.post(&format!("{PATH}/none/{verb}")).await.problem(404, "schedule-not-found");
    }
    let made = api.create(r#"{"name":"later","every":"1h","paused":true,"job":{"url":"http://127.0.0.1:1/"}}"#).await;
    assert_eq!(made.expect(201)["state"], "paused");
}

#[tokio::test]
async fn a_run_by_hand_answers_its_job_and_is_in_the_history() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    let reply = api.post(&format!("{PATH}/daily/run")).await;
    let location = reply.header("location").unwrap().to_owned();
    let job = reply.expect(202);
    assert_eq!(location, format!("/api/v1/jobs/{}", id_of(&job)));
    assert_eq!((&job["schedule"], &job["state"]), (&json!("daily"), &json!("pending")));
    assert_eq!(job["scheduled_for"], api.clock.now().to_string());
    api.complete_all().await;
    let ticks = api.get(&format!("{PATH}/daily/ticks")).await.expect(200);
    let expected = json!({
        "nominal": api.clock.now().to_string(), "state": "fired", "reason": "by_hand",
        "at": api.clock.now().to_string(), "job": id_of(&job), "job_state": "completed", "last": null, "count": 1,
    });
    assert_eq!(ticks, json!({"items": [expected], "next": null}));
    assert_eq!(api.schedule("daily").await["last_tick"], expected);
}

#[tokio::test]
async fn the_history_is_told_page_by_page_the_latest_first() {
    let api = Api::start().await;
    api.create(r#"{"name":"often","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#).await.expect(201);
    let view = api.store.schedule(&TenantId::default(), &"often".parse().unwrap()).await.unwrap().unwrap();
    let base = api.clock.now();
    let at = |n: u64| base.plus(Duration::from_secs(n));
    let mut ticks: Vec<NewTick> =
        (0..4).map(|n| NewTick { nominal: at(n), act: TickAct::Fire(view.schedule.job_now(at(n))) }).collect();
    ticks.push(NewTick { nominal: at(10), act: TickAct::Miss { last: at(20), count: Some(7) } });
    api.clerk.fire(&view, ticks).await;
    let mut seen = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = api.get(&format!("{PATH}/often/ticks{query}")).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().iter().map(|tick| tick["nominal"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        query = format!("?limit=2&after={next}");
    }
    let expected: Vec<String> = [10, 3, 2, 1, 0].map(|n| at(n).to_string()).to_vec();
    assert_eq!(seen, expected);
    let missed = &api.get(&format!("{PATH}/often/ticks?limit=1")).await.expect(200)["items"][0];
    assert_eq!(
        (&missed["state"], &missed["reason"], &missed["count"]),
        (&json!("skipped"), &json!("missed"), &json!(7))
    );
    assert_eq!((&missed["last"], &missed["job"]), (&json!(at(20).to_string()), &Value::Null));
    api.get(&format!("{PATH}/often/ticks?cursor=yesterday")).await.problem(400, "invalid-request");
    api.get(&format!("{PATH}/none/ticks")).await.problem(404, "schedule-not-found");
}

#[tokio::test]
async fn one_that_has_fired_for_the_last_time_is_finished() {
    let api = Api::start().await;
    let at = api.clock.now().plus(Duration::from_mins(5));
    let body = format!(r#"{{"name":"once","at":"{at}","job":{{"url":"http://127.0.0.1:1/"}}}}"#);
    let made = api.create(&body).await.expect(201);
    assert_eq!((&made["state"], &made["next_fire_at"]), (&json!("active"), &json!(at.to_string())));
    let view = api.store.schedule(&TenantId::default(), &"once".parse().unwrap()).await.unwrap().unwrap();
    let act = TickAct::Fire(view.schedule.job_now(at));
    api.clerk.fire_and_go_on(&view, vec![NewTick { nominal: at, act }], None).await;
    let fired = api.schedule("once").await;
    assert_eq!((&fired["state"], &fired["next_fire_at"]), (&json!("finished"), &Value::Null));
    assert_eq!((&fired["version"], &fired["last_tick"]["nominal"]), (&json!(1), &json!(at.to_string())));
}

#[tokio::test]
async fn a_preview_explains_what_the_clocks_do_to_it() {
    let api = Api::start().await;
    let body = r#"{"cron":"30 2 * * *","timezone":"Europe/Berlin"}"#;
    let query = "?n=2&from=2026-03-28T12:00:00Z";
    let shown = api.post_json(&format!("{PATH}/preview{query}"), body).await.expect(200);
    let items = json!([
        {"at": "2026-03-29T01:00:00.000000Z", "local": "2026-03-29T03:00:00+02:00",
         "note": "02:30 does not exist on 2026-03-29: moved to 03:00"},
        {"at": "2026-03-30T00:30:00.000000Z", "local": "2026-03-30T02:30:00+02:00", "note": null},
    ]);
    assert_eq!(shown["items"], items);
    assert!(shown["description"].as_str().unwrap().contains("02:30"), "{shown}");
    assert_eq!(api.get(PATH).await.expect(200)["items"], json!([]), "nothing was saved");

    let saved =
        r#"{"name":"night","cron":"30 2 * * *","timezone":"Europe/Berlin","job":{"url":"http://127.0.0.1:1/"}}"#;
    api.create(saved).await.expect(201);
    assert_eq!(api.get(&format!("{PATH}/night/preview{query}")).await.expect(200)["items"], items);
    let usual = api.get(&format!("{PATH}/night/preview")).await.expect(200);
    assert_eq!(usual["items"].as_array().unwrap().len(), 20);
    assert_eq!(usual["items"][0]["at"], api.schedule("night").await["next_fire_at"]);
    let many = api.get(&format!("{PATH}/night/preview?n=1000")).await.expect(200);
    assert_eq!(many["items"].as_array().unwrap().len(), 1_000);

    for wrong in ["n=0", "n=1001", "n=-1", "from=tomorrow", "m=3"] {
        api.get(&format!("{PATH}/night/preview?{wrong}")).await.problem(400, "invalid-request");
        api.post_json(&format!("{PATH}/preview?{wrong}"), body).await.problem(400, "invalid-request");
    }
    for (body, pointer) in [
        (r#"{"timezone":"Europe/Berlin"}"#, ""),
        (r#"{"cron":"61 * * * *"}"#, "/cron"),
        (r#"{"cron":"@daily","name":"a b"}"#, "/name"),
        (r#"{"cron":"@daily","job":{}}"#, "/job"),
    ] {
        let problem = api.post_json(&format!("{PATH}/preview"), body).await.problem(422, "invalid-schedule");
        assert_eq!(pointers(&problem), [pointer], "{body}: {problem}");
    }
    api.get(&format!("{PATH}/none/preview")).await.problem(404, "schedule-not-found");
}

#[tokio::test]
async fn a_schedule_of_commands_is_refused_where_commands_are_not_allowed() {
    let api = Api::with(Setting { commands: foreman_api::CommandPolicy::Refused, ..Setting::default() }).await;
    let body = r#"{"name":"daily","cron":"@daily","job":{"command":"true"}}"#;
    api.create(body).await.problem(403, "commands-disabled");
    api.put("daily", &[], body).await.problem(403, "commands-disabled");
    api.create(DAILY).await.expect(201);
    let patch = r#"{"job":{"url":null,"command":"true"}}"#;
    api.patch("daily", &[], patch).await.problem(403, "commands-disabled");
}

#[tokio::test]
async fn a_store_that_is_away_is_told_with_when_to_come_back() {
    let api = Api::start().await;
    api.create(DAILY).await.expect(201);
    api.store.set(Some(Fault::Error(StoreError::Unavailable("locked".into()))));
    for reply in [
        api.get(PATH).await,
        api.get(&format!("{PATH}/daily")).await,
        api.get(&format!("{PATH}/daily/ticks")).await,
        api.get(&format!("{PATH}/daily/preview")).await,
        api.create(DAILY).await,
        api.put("daily", &[], DAILY).await,
        api.patch("daily", &[], "{}").await,
        api.delete("daily", &[]).await,
        api.post(&format!("{PATH}/daily/pause")).await,
        api.post(&format!("{PATH}/daily/run")).await,
    ] {
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
        reply.problem(503, "store-unavailable");
    }
    api.store.set(None);
    api.clerk.set_refusal(Some(ScheduleError::Busy));
    let reply = api.patch("daily", &[], "{}").await;
    assert_eq!(reply.header("retry-after"), Some("1"));
    reply.problem(503, "schedule-busy");
}

#[tokio::test]
async fn every_route_is_in_the_reference() {
    let api = Api::start().await;
    let document = api.get("/api/openapi.json").await.expect(200);
    for (path, methods) in [
        ("", &["get", "post"][..]),
        ("/preview", &["post"]),
        ("/{schedule}", &["get", "put", "patch", "delete"]),
        ("/{schedule}/pause", &["post"]),
        ("/{schedule}/resume", &["post"]),
        ("/{schedule}/run", &["post"]),
        ("/{schedule}/preview", &["get"]),
        ("/{schedule}/ticks", &["get"]),
    ] {
        let item = &document["paths"][format!("{PATH}{path}")];
        let mut found: Vec<&String> = item.as_object().unwrap().keys().collect();
        found.sort();
        let mut methods = methods.to_vec();
        methods.sort_unstable();
        assert_eq!(found, methods, "{path}");
    }
}

#[tokio::test]
async fn a_process_that_fires_too_late_is_not_ready_and_says_why() {
    let api = Api::start().await;
    let ready = api.get("/readyz").await.expect(200);
    assert!(!ready.to_string().contains("schedules"), "who fires none is not asked: {ready}");
    let is_late = Arc::new(AtomicBool::new(false));
    let late = is_late.clone();
    let judge = move || if late.load(Ordering::SeqCst) { Err("a tick is 90s late".to_owned()) } else { Ok(()) };
    api.vitals.set_punctuality(judge);
    let ready = api.get("/readyz").await.expect(200);
    assert!(ready["checks"].as_array().unwrap().contains(&json!({"name": "schedules", "ok": true})), "{ready}");
    is_late.store(true, Ordering::SeqCst);
    let ready = api.get("/readyz").await.expect(503);
    let check = json!({"name": "schedules", "ok": false, "detail": "a tick is 90s late"});
    assert!(ready["checks"].as_array().unwrap().contains(&check), "{ready}");
}

#[tokio::test]
async fn a_process_whose_pruning_is_behind_or_whose_outcomes_are_refused_is_ready_and_says_so() {
    let api = Api::start().await;
    let is_behind = Arc::new(AtomicBool::new(false));
    let behind = is_behind.clone();
    api.vitals.set_pruning(move || behind.load(Ordering::SeqCst).then(|| "behind: jobs for 2h".to_owned()));
    let ready = api.get("/readyz").await.expect(200);
    assert!(ready["checks"].as_array().unwrap().contains(&json!({"name": "pruning", "ok": true})), "{ready}");
    api.vitals.set_outcomes(|| Some("3 outcomes are refused".to_owned()));
    is_behind.store(true, Ordering::SeqCst);
    let ready = api.get("/readyz").await.expect(200);
    for (name, detail) in [("pruning", "behind: jobs for 2h"), ("outcomes", "3 outcomes are refused")] {
        let check = json!({"name": name, "ok": true, "detail": detail});
        assert!(ready["checks"].as_array().unwrap().contains(&check), "{ready}");
    }
}
