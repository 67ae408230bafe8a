//! Webhooks over HTTP: their secrets shown once, their deliveries seen and sent again.

use std::time::Duration;

use foreman_core::ports::WebhookStore as _;
use foreman_core::webhook::Webhook;
use foreman_core::{TenantId, WebhookId};
use serde_json::{Value, json};

use crate::harness::{Api, Setting};
use crate::http::Reply;
use crate::matrix::{key, keyed, tenant};

const JSON: (&str, &str) = ("content-type", "application/json");
const WEBHOOK: &str = r#"{"url":"http://127.0.0.1:1/hook","events":["job.completed","job.dead"]}"#;

async fn made(api: &Api) -> Value {
    api.post_json("/api/v1/webhooks", WEBHOOK).await.expect(201)
}

fn path(webhook: &Value) -> String {
    format!("/api/v1/webhooks/{}", webhook["id"].as_str().unwrap())
}

async fn patch(api: &Api, path: &str, body: &str) -> Reply {
    api.send("PATCH", path, &[JSON], Some(body)).await
}

/// As it is kept.
async fn kept(api: &Api, webhook: &Value) -> Webhook {
    let id: WebhookId = webhook["id"].as_str().unwrap().parse().unwrap();
    api.registry.inner.webhook(&TenantId::default(), id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_webhook_is_made_read_changed_and_deleted() {
    let api = Api::start().await;
    let reply = api.post_json("/api/v1/webhooks", WEBHOOK).await;
    let location = reply.header("location").unwrap().to_owned();
    assert_eq!((reply.header("etag"), reply.header("cache-control")), (Some("\"1\""), Some("no-store")));
    let made = reply.expect(201);
    assert_eq!(location, path(&made));
    assert_eq!((&made["enabled"], &made["disabled"], &made["secrets"]), (&json!(true), &json!(null), &json!(1)));
    assert_eq!(made["events"], json!(["job.completed", "job.dead"]));
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{secret}");

    let read = api.get(&location).await.expect(200);
    assert_eq!(read["secret"], json!(null), "shown once");
    assert_eq!(read["url"], "http://127.0.0.1:1/hook");
    assert!(!format!("{:?}", kept(&api, &made).await).contains(secret), "kept sealed");
    assert_eq!(api.get("/api/v1/webhooks").await.expect(200)["items"], json!([read]));

    let changed = patch(&api, &location, r#"{"events":["job.*"],"description":"billing","enabled":false}"#).await;
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let changed = changed.expect(200);
    assert_eq!((&changed["enabled"], &changed["disabled"]), (&json!(false), &json!("by_owner")));
    assert_eq!((&changed["description"], changed["events"].as_array().unwrap().len()), (&json!("billing"), 4));
    let stale = api.send("PATCH", &location, &[JSON, ("if-match", "\"1\"")], Some("{}")).await;
    assert_eq!(stale.problem(412, "precondition-failed")["version"], 2);
    assert_eq!(patch(&api, &location, r#"{"enabled":true}"#).await.expect(200)["disabled"], json!(null));

    assert_eq!(api.send("DELETE", &location, &[], None).await.status, 204);
    for (method, path) in [
        ("GET", location.clone()),
        ("DELETE", location.clone()),
        ("POST", format!("{location}/test")),
        ("POST", format!("{location}/rotate-secret")),
        ("GET", format!("{location}/deliveries")),
    ] {
        api.send(method, &path, &[], None).await.problem(404, "webhook-not-found");
    }
}

#[tokio::test]
async fn what_is_no_webhook_is_told_so() {
    let limits = foreman_core::limits::Limits {
        egress: foreman_core::egress::Policy::default(),
        ..foreman_core::limits::Limits::default()
    };
    let api = Api::with(Setting { limits, ..Setting::default() }).await;
    for (body, pointers) in [
        (r#"{"url":"https://10.0.0.1/","events":["job.dead"]}"#, vec!["/url"]),
        (r#"{"url":"https://[::1]/","events":["job.dead"]}"#, vec!["/url"]),
        (r#"{"url":"nowhere","events":["job.done"]}"#, vec!["/url", "/events"]),
        (r#"{"url":"https://a.example.com/","events":[]}"#, vec!["/events"]),
        (r#"{"url":"https://a.example.com/","events":["*"],"description":"a\u0000"}"#, vec!["/description"]),
        (r#"{"url":"https://a.example.com/","events":"*"}"#, vec!["/events"]),
    ] {
        let problem = api.post_json("/api/v1/webhooks", body).await.problem(422, "invalid-webhook");
        let found: Vec<&str> =
            problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
        assert_eq!(found, pointers, "{body}");
    }
    api.post_json("/api/v1/webhooks", r#"{"url":"https://a.example.com/"}"#).await.problem(422, "invalid-webhook");
    let unknown = r#"{"url":"https://a.example.com/","events":["*"],"secret":"mine"}"#;
    api.post_json("/api/v1/webhooks", unknown).await.problem(400, "unknown-field");
    for path in ["/api/v1/webhooks/x", "/api/v1/webhooks/x/deliveries", "/api/v1/webhooks?cursor=x"] {
        api.get(path).await.problem(400, "invalid-request");
    }
    assert_eq!(api.get("/api/v1/webhooks").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn without_a_key_for_secrets_there_is_no_webhook() {
    let api = Api::with(Setting { keyring: None, ..Setting::default() }).await;
    let problem = api.post_json("/api/v1/webhooks", WEBHOOK).await.problem(422, "no-secret-key");
    assert!(problem["detail"].as_str().unwrap().contains("FOREMAN_SECRET_KEY"), "{problem}");
}

#[tokio::test]
async fn two_secrets_sign_while_one_takes_over() {
    let api = Api::start().await;
    let made = made(&api).await;
    let path = path(&made);
    let rotated = api.post_json(&format!("{path}/rotate-secret"), r#"{"overlap":"2h"}"#).await.expect(200);
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!((&rotated["secrets"], &rotated["version"]), (&json!(2), &json!(2)));
    api.clock.advance(Duration::from_hours(2));
    assert_eq!(api.get(&path).await.expect(200)["secrets"], 1);
    assert_eq!(
        api.post(&format!("{path}/rotate-secret")).await.expect(200)["secrets"],
        2,
        "a day unless said otherwise"
    );
    let wrong = api.post_json(&format!("{path}/rotate-secret"), r#"{"overlap":"900h"}"#).await;
    assert_eq!(wrong.problem(422, "invalid-webhook")["errors"][0]["pointer"], "/overlap");
}

#[tokio::test]
async fn a_key_that_may_not_read_jobs_sends_a_delivery_again_and_sees_nothing_of_it() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (reader, _) = key(&api, "acme", &["jobs:*"]).await;
    let (writer, _) = key(&api, "acme", &["jobs:write"]).await;
    let made = api.send_as(&reader, None, "POST", "/api/v1/webhooks", Some(WEBHOOK)).await.expect(201);
    let path = path(&made);
    let tried = api.send_as(&reader, None, "POST", &format!("{path}/test"), None).await.expect(202);
    let id = tried["id"].as_str().unwrap();
    let resend = format!("{path}/deliveries/{id}/resend");
    for (key, is_shown) in [(&reader, true), (&writer, false)] {
        api.send_as(&reader, None, "POST", &format!("/api/v1/jobs/{id}/cancel"), None).await.expect(200);
        let again = api.send_as(key, None, "POST", &resend, None).await.expect(200);
        assert_eq!((&again["id"], &again["state"]), (&json!(id), &json!("pending")));
        assert_eq!(again["job"]["payload"].is_object(), is_shown, "{again}");
    }
}

#[tokio::test]
async fn a_delivery_is_seen_and_sent_again() {
    let api = Api::start().await;
    let made = made(&api).await;
    let path = path(&made);
    let tried = api.post(&format!("{path}/test")).await.expect(202);
    assert_eq!((&tried["event"], &tried["state"]), (&json!("webhook.test"), &json!("pending")));
    let id = tried["id"].as_str().unwrap();
    assert_eq!(tried["message_id"], format!("msg_{}", id.replace('-', "")));
    assert_eq!(tried["job"]["payload"]["type"], "webhook.test");
    let own = format!("{path}/deliveries/{id}");
    api.post(&format!("{own}/resend")).await.problem(409, "job-not-final");
    api.post(&format!("/api/v1/jobs/{id}/cancel")).await.expect(200);
    let listed = api.get(&format!("{path}/deliveries")).await.expect(200);
    assert_eq!((&listed["items"][0]["id"], &listed["items"][0]["state"]), (&json!(id), &json!("cancelled")));
    assert_eq!(listed["items"][0]["job"], json!(null), "a row of a list");
    let again = api.post(&format!("{own}/resend")).await.expect(200);
    assert_eq!((&again["state"], &again["message_id"]), (&json!("pending"), &tried["message_id"]));
    api.post(&format!("/api/v1/jobs/{id}/cancel")).await.expect(200);
    assert_eq!(api.send("DELETE", &format!("/api/v1/jobs/{id}"), &[], None).await.status, 204);
    assert_eq!(api.get(&own).await.expect(200)["state"], json!(null), "its job is gone, and that it was sent is known");
    api.post(&format!("{own}/resend")).await.problem(404, "delivery-not-found");

    let other = api.post_json("/api/v1/webhooks", WEBHOOK).await.expect(201);
    let elsewhere = format!("/api/v1/webhooks/{}/deliveries/{id}", other["id"].as_str().unwrap());
    api.get(&elsewhere).await.problem(404, "delivery-not-found");
    api.get(&format!("{path}/deliveries/x")).await.problem(400, "invalid-request");
}

#[tokio::test]
async fn lists_are_walked_page_by_page() {
    let api = Api::start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(made(&api).await["id"].clone());
    }
    let first = api.get("/api/v1/webhooks?limit=2").await.expect(200);
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("/api/v1/webhooks?limit=2&cursor={next}")).await.expect(200);
    let listed: Vec<Value> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|item| item["id"].clone())
        .collect();
    assert_eq!((listed, &second["next"]), (ids.clone(), &json!(null)));
    let path = format!("/api/v1/webhooks/{}", ids[0].as_str().unwrap());
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.insert(0, api.post(&format!("{path}/test")).await.expect(202)["id"].clone());
    }
    let first = api.get(&format!("{path}/deliveries?limit=2")).await.expect(200);
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("{path}/deliveries?limit=2&cursor={next}")).await.expect(200);
    let listed: Vec<Value> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|item| item["id"].clone())
        .collect();
    assert_eq!(listed, sent);
}
