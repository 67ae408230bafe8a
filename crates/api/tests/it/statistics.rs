//! Numbers over time.

use std::time::Duration;

use foreman_core::ports::{
    Advance, Begin, ChangeLog as _, Effect, FollowerName, Followers as _, Position, StatisticsStore as _,
};
use foreman_core::statistics::{Ledger, Slot};
use foreman_core::{Clock as _, Timestamp};
use serde_json::{Value, json};

use crate::harness::Api;
use crate::matrix::{key, keyed, tenant};

/// What the bookkeeper would have written by now.
pub async fn booked(api: &Api) {
    // Whoever asks asks later.
    api.clock.advance(Duration::from_secs(1));
    let follower = FollowerName::BOOKKEEPER;
    let from = api.store.inner.follow(None, &follower, Begin::Start).await.unwrap().unwrap();
    let changes = api.store.inner.changes(from, 100_000).await.unwrap();
    let mut ledger = Ledger::default();
    changes.moved().for_each(|moved| ledger.count(moved));
    ledger.sample(&api.store.inner.depths().await.unwrap(), api.clock.now());
    let advance = Advance { follower, from, to: changes.position, effect: Effect::Counts(ledger.entries()) };
    api.store.inner.advance(None, &advance).await.unwrap();
    assert_ne!(changes.position, Position(0));
}

fn numbers(item: &Value, names: &[&str]) -> Vec<u64> {
    names.iter().map(|name| item[name].as_u64().unwrap_or_else(|| panic!("{name} of {item}"))).collect()
}

#[tokio::test]
async fn what_happened_is_told_minute_by_minute_and_hour_by_hour() {
    let api = Api::start().await;
    let start = Slot::Minute.of(api.clock.now());
    for _ in 0..3 {
        api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    }
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"other"}"#).await;
    api.clock.advance(Duration::from_mins(2));
    api.complete_all().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    booked(&api).await;

    let answer = api.get("/api/v1/statistics").await.expect(200);
    assert_eq!(answer["step"], "minute");
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "nothing happened between: {answer}");
    assert_eq!(items[0]["at"], start.to_string());
    assert_eq!(numbers(&items[0], &["submitted", "started", "completed"]), [4, 0, 0]);
    assert_eq!((&items[0]["wait"], &items[0]["waiting"]), (&json!(null), &json!(null)));
    assert_eq!(numbers(&items[1], &["submitted", "started", "completed", "failed", "dead"]), [1, 4, 4, 0, 0]);
    assert_eq!(numbers(&items[1], &["cancelled", "retried", "waiting", "running"]), [0, 0, 1, 0]);
    assert_eq!((&items[1]["wait"]["count"], &items[1]["wait"]["max_ms"]), (&json!(4), &json!(120_000.0)));

    let mail = api.get("/api/v1/statistics?queue=mail&step=hour").await.expect(200);
    let total: u64 = mail["items"].as_array().unwrap().iter().map(|item| item["submitted"].as_u64().unwrap()).sum();
    assert_eq!((mail["step"].as_str(), total), (Some("hour"), 4));
    assert_eq!(api.get("/api/v1/statistics?queue=nobody").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_time_is_asked_for_from_the_bucket_it_begins_in() {
    let api = Api::start().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    booked(&api).await;
    let minute = Slot::Minute.of(api.clock.now());
    let ask = async |from: Timestamp, to: Timestamp| {
        let path = format!("/api/v1/statistics?from={from}&to={to}");
        api.get(&path.replace('+', "%2B")).await.expect(200)
    };
    let within = ask(minute.plus(Duration::from_secs(59)), minute.plus(Duration::from_mins(1))).await;
    assert_eq!((within["items"].as_array().unwrap().len(), &within["from"]), (1, &json!(minute.to_string())));
    let before = ask(minute.minus(Duration::from_mins(5)), minute).await;
    assert_eq!(before["items"], json!([]), "what begins at `to` is not before it");
}

#[tokio::test]
async fn a_time_of_which_no_minutes_are_kept_is_answered_by_the_hour() {
    let api = Api::start().await;
    let to = Slot::Hour.of(api.clock.now());
    let from = to.minus(Duration::from_hours(24 * 3));
    let answer = api.get(&format!("/api/v1/statistics?step=minute&from={from}&to={to}")).await.expect(200);
    assert_eq!((&answer["step"], &answer["from"]), (&json!("hour"), &json!(from.to_string())));
}

#[tokio::test]
async fn queues_are_told_apart_the_busiest_first() {
    let api = Api::start().await;
    for (queue, count) in [("one", 1), ("three", 3), ("two", 2)] {
        for _ in 0..count {
            api.submitted(&format!(r#"{{"url":"http://127.0.0.1:1/","queue":"{queue}"}}"#)).await;
        }
    }
    api.complete_all().await;
    booked(&api).await;
    let answer = api.get("/api/v1/statistics/queues").await.expect(200);
    let told: Vec<(&str, u64)> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["queue"].as_str().unwrap(), item["completed"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, [("three", 3), ("two", 2), ("one", 1)]);
    assert_eq!(answer["next"], json!(null));
    assert_eq!(api.get("/api/v1/statistics/queues?to=2020-01-01T00:00:00Z").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_what_can() {
    let api = Api::start().await;
    for (query, says) in [
        ("step=day", "`day` is not one of `minute`, `hour`"),
        ("from=yesterday", "yesterday"),
        ("queue=a%20b", "queue"),
        ("colour=red", "unknown parameter"),
        ("step=minute&step=hour", "given twice"),
        ("from=2025-01-02T00:00:00Z&to=2025-01-01T00:00:00Z", "from must be before to"),
        ("from=2025-01-01T00:00:00Z&to=2025-01-01T00:00:00Z", "from must be before to"),
        ("from=9999-01-01T00:00:00Z", "from must be before to"),
        ("step=hour&from=2020-01-01T00:00:00Z&to=2025-01-03T00:00:00Z", "buckets of an hour"),
        ("from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z", "the limit of 1500"),
    ] {
        let problem = api.get(&format!("/api/v1/statistics?{query}")).await.problem(400, "invalid-request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{query}: {detail}");
        if !query.contains("queue") {
            api.get(&format!("/api/v1/statistics/queues?{query}")).await.problem(400, "invalid-request");
        }
    }
    api.get("/api/v1/statistics/queues?queue=mail").await.problem(400, "invalid-request");
}

#[tokio::test]
async fn a_tenant_sees_its_own_numbers_and_nobody_elses() {
    let api = keyed().await;
    tenant(&api, "ours").await;
    tenant(&api, "theirs").await;
    let (ours, _) = key(&api, "ours", &["jobs:*"]).await;
    let (theirs, _) = key(&api, "theirs", &["jobs:*"]).await;
    let job = r#"{"url":"http://127.0.0.1:1/","queue":"secret-queue"}"#;
    api.send_as(&theirs, None, "POST", "/api/v1/jobs", Some(job)).await.expect(202);
    booked(&api).await;
    for path in ["/api/v1/statistics", "/api/v1/statistics?queue=secret-queue", "/api/v1/statistics/queues"] {
        let mine = api.send_as(&ours, None, "GET", path, None).await.expect(200);
        assert_eq!(mine["items"], json!([]), "{path}");
        let own = api.send_as(&theirs, None, "GET", path, None).await.expect(200);
        assert_eq!(own["items"][0]["submitted"], 1, "{path}");
        api.send_as(&ours, Some("theirs"), "GET", path, None).await.problem(403, "forbidden");
    }
}
