//! Queues and workers.

use std::time::Duration;

use serde_json::json;

use crate::harness::Api;

#[tokio::test]
async fn queues_tell_how_deep_they_are_and_how_long_the_oldest_waits() {
    let api = Api::start().await;
    for body in [
        r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#,
        r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#,
        r#"{"url":"http://127.0.0.1:1/","queue":"mail","delay":"1h"}"#,
    ] {
        api.submitted(body).await;
    }
    assert_eq!(api.claim(1).await.len(), 1);
    api.clock.advance(Duration::from_secs(90));
    let list = api.get("/api/v1/queues").await.expect(200);
    assert_eq!(list["next"], json!(null));
    let mail = list["items"].as_array().unwrap().iter().find(|queue| queue["name"] == "mail").unwrap();
    for (field, value) in [
        ("paused", json!(false)),
        ("pending", json!(1)),
        ("scheduled", json!(1)),
        ("running", json!(1)),
        ("oldest_age", json!("1m30s")),
    ] {
        assert_eq!(mail[field], value, "{field} of {mail}");
    }
    assert!(mail["rate"].is_number());
}

#[tokio::test]
async fn a_paused_queue_is_not_served_until_it_is_resumed() {
    let api = Api::start().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#).await;
    let answer = api.post("/api/v1/queues/mail/pause").await.expect(200);
    assert_eq!(answer, json!({"name": "mail", "paused": true, "changed": true}));
    assert_eq!(api.post("/api/v1/queues/mail/pause").await.expect(200)["changed"], false);
    assert!(api.claim(1).await.is_empty());
    assert_eq!(api.get("/api/v1/queues").await.expect(200)["items"][0]["paused"], true);
    let answer = api.post("/api/v1/queues/mail/resume").await.expect(200);
    assert_eq!(answer, json!({"name": "mail", "paused": false, "changed": true}));
    assert_eq!(api.claim(1).await.len(), 1);
    api.post("/api/v1/queues/a%20b/pause").await.problem(400, "invalid-request");
}

#[tokio::test]
async fn workers_are_listed_with_what_they_run() {
    let api = Api::start().await;
    api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    assert_eq!(api.claim(1).await.len(), 1);
    let list = api.get("/api/v1/workers").await.expect(200);
    let worker = &list["items"][0];
    for (field, value) in [
        ("worker", json!("test-worker")),
        ("state", json!("live")),
        ("slots", json!(8)),
        ("running", json!(1)),
        ("pid", json!(7)),
    ] {
        assert_eq!(worker[field], value, "{field} of {worker}");
    }
}
