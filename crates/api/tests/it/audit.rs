//! Who did what to which object: written down once it is done, whoever still waits for the answer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::ports::{AuditLog as _, StoreError, TenantStore as _};
use serde_json::{Value, json};

use crate::faulty::Fault;
use crate::harness::{Api, in_time, until};
use crate::http::written;
use crate::matrix::{ADMIN, key, keyed, tenant};

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;

async fn trail(api: &Api) -> Vec<Value> {
    api.send_as(ADMIN, None, "GET", "/api/v1/audit", None).await.expect(200)["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_change_has_its_entry_and_what_is_read_or_submitted_has_none() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (acme, id) = key(&api, "acme", &["jobs:*", "schedules:*"]).await;
    let begun = trail(&api).await.len();
    let job = api.send_as(&acme, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202)["id"].to_string();
    let job = job.trim_matches('"');
    let batch = format!(r#"{{"jobs":[{JOB}]}}"#);
    api.send_as(&acme, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await.expect(200);
    for path in ["/api/v1/jobs", "/api/v1/queues", "/api/v1/schedules", "/api/v1/whoami"] {
        api.send_as(&acme, None, "GET", path, None).await.expect(200);
    }
    assert_eq!(trail(&api).await.len(), begun);

    let schedule = r#"{"name":"nightly","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
    for (method, path, body, action, object) in [
        ("POST", format!("/api/v1/jobs/{job}/cancel"), None, "job.cancel", format!("job/{job}")),
        ("POST", format!("/api/v1/jobs/{job}/retry"), None, "job.retry", format!("job/{job}")),
        ("POST", "/api/v1/queues/mail/pause".into(), None, "queue.pause", "queue/mail".into()),
        ("POST", "/api/v1/queues/mail/resume".into(), None, "queue.resume", "queue/mail".into()),
        (
            "POST",
            "/api/v1/jobs/cancel".into(),
            Some(r#"{"filter":{"queue":"default"}}"#),
            "jobs.cancel",
            r#"jobs {"queue":"default"} (2 changed)"#.into(),
        ),
        ("DELETE", format!("/api/v1/jobs/{job}"), None, "job.delete", format!("job/{job}")),
        ("POST", "/api/v1/schedules".into(), Some(schedule), "schedule.create", "schedule/nightly".into()),
        ("POST", "/api/v1/schedules/nightly/pause".into(), None, "schedule.pause", "schedule/nightly".into()),
        (
            "PATCH",
            "/api/v1/schedules/nightly".into(),
            Some(r#"{"every":"2h"}"#),
            "schedule.update",
            "schedule/nightly".into(),
        ),
        ("DELETE", "/api/v1/schedules/nightly".into(), None, "schedule.delete", "schedule/nightly".into()),
    ] {
        let reply = api.send_as(&acme, None, method, &path, body).await;
        assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
        let request = reply.header("x-request-id").unwrap().to_owned();
        let entry = trail(&api).await[0].clone();
        assert_eq!((&entry["action"], &entry["object"]), (&json!(action), &json!(object)));
        assert_eq!((&entry["tenant"], &entry["actor"]), (&json!("acme"), &json!(id)), "{action}");
        assert_eq!((&entry["status"], &entry["request"]), (&json!(reply.status), &json!(request)), "{action}");
        assert_eq!(entry["peer"], "127.0.0.1");
    }
}

#[tokio::test]
async fn what_is_done_to_tenants_and_keys_stands_under_their_tenant() {
    let api = keyed().await;
    let body = r#"{"id":"acme"}"#;
    api.send_as(ADMIN, None, "POST", "/api/v1/tenants", Some(body)).await.expect(201);
    let (text, id) = key(&api, "acme", &["jobs:read"]).await;
    let path = format!("/api/v1/tenants/acme/keys/{id}");
    let new = api.send_as(ADMIN, None, "POST", &format!("{path}/rotate"), None).await.expect(201);
    let (new_id, new_text) = (new["id"].as_str().unwrap(), new["key"].as_str().unwrap());
    api.send_as(ADMIN, None, "DELETE", &path, None).await.expect(200);
    let secret = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/acme/signing-secret", None).await.expect(201);
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(r#"{"disabled":true}"#)).await.expect(200);
    api.send_as(ADMIN, None, "DELETE", "/api/v1/tenants/acme", None).await;

    let page = api.send_as(ADMIN, None, "GET", "/api/v1/audit?tenant=acme", None).await;
    for hidden in [&text[16..], &new_text[16..], &secret["secret"].as_str().unwrap()[6..], ADMIN] {
        assert!(!page.body.contains(hidden), "{page:?}");
    }
    let entries = page.expect(200)["items"].as_array().unwrap().clone();
    let told: Vec<(String, String)> = entries
        .iter()
        .rev()
        .map(|entry| (entry["action"].as_str().unwrap().to_owned(), entry["object"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ("tenant.create", "tenant/acme".to_owned()),
        ("key.create", format!("key/{id} (jobs:read)")),
        ("key.rotate", format!("key/{id} replaced by key/{new_id}")),
        ("key.revoke", format!("key/{id}")),
        ("signing-secret.rotate", "signing-secret of tenant/acme".to_owned()),
        ("tenant.update", "tenant/acme".to_owned()),
        ("tenant.delete", "tenant/acme".to_owned()),
    ]
    .map(|(action, object)| (action.to_owned(), object));
    assert_eq!(told, expected);
    assert!(entries.iter().all(|entry| entry["actor"] == "bootstrap"));
}

#[tokio::test]
async fn what_was_refused_is_no_act_and_what_failed_may_be_one() {
    let api = keyed().await;
    let (reader, _) = key(&api, "default", &["jobs:read"]).await;
    let begun = trail(&api).await.len();
    let none = "0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11";
    api.send_as(ADMIN, None, "POST", &format!("/api/v1/jobs/{none}/cancel"), None).await.problem(404, "job-not-found");
    api.send_as(&reader, None, "POST", "/api/v1/queues/mail/pause", None).await.problem(403, "forbidden");
    api.post("/api/v1/queues/mail/pause").await.problem(401, "unauthorized");
    assert_eq!(trail(&api).await.len(), begun);
    for (fault, status) in [(Fault::Error(StoreError::Unavailable("away".into())), 503), (Fault::Panic, 500)] {
        api.store.set(Some(fault));
        let reply = api.send_as(ADMIN, None, "POST", "/api/v1/queues/mail/pause", None).await;
        assert_eq!(reply.status, status);
        api.store.set(None);
        let entry = trail(&api).await[0].clone();
        assert_eq!((&entry["action"], &entry["status"]), (&json!("queue.pause"), &json!(status)));
    }
}

#[tokio::test]
async fn an_act_is_done_and_written_down_though_its_client_has_left() {
    let api = keyed().await;
    let closed = api.registry.gate.acquire_many(1_000).await.unwrap();
    let before = api.registry.changes.load(Ordering::SeqCst);
    let bearer = format!("Bearer {ADMIN}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let mut client = api.connect().await;
    client.send(&written("PATCH", "/api/v1/tenants/default", &headers, Some(r#"{"weight":7}"#))).await;
    until("the change has begun", || api.registry.changes.load(Ordering::SeqCst) > before).await;
    drop(client);
    // Until the server has noticed: its connection is gone.
    until("nobody is connected", || api.tasks.alive().iter().all(|(name, _)| *name != "connection")).await;
    drop(closed);
    let entry = in_time(async {
        loop {
            if let Some(entry) = api.registry.inner.audit_log(None, None, 1).await.unwrap().pop() {
                return entry;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!((entry.act.action.as_str(), entry.act.status), ("tenant.update", 200));
    let changed = api.registry.inner.tenant(&TenantId::default()).await.unwrap().unwrap();
    assert_eq!(changed.settings.weight.get(), 7);
}

#[tokio::test]
async fn an_act_that_cannot_be_written_down_is_done_all_the_same() {
    let api = keyed().await;
    api.registry.set_trail(Some(StoreError::Unavailable("away".into())));
    api.send_as(ADMIN, None, "POST", "/api/v1/queues/mail/pause", None).await.expect(200);
    api.registry.set_trail(None);
    assert!(trail(&api).await.is_empty());
}

/// Until an entry is there: refusals are written beside the answer.
async fn until_listed(api: &Api, action: &str) -> Value {
    in_time(async {
        loop {
            if let Some(entry) = trail(api).await.into_iter().find(|entry| entry["action"] == action) {
                break entry;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await
}

#[tokio::test]
async fn who_shows_a_wrong_key_is_written_down_and_the_key_is_not() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (revoked, id) = key(&api, "acme", &["jobs:*"]).await;
    api.send_as(ADMIN, None, "DELETE", &format!("/api/v1/tenants/acme/keys/{id}"), None).await.expect(200);
    api.send_as(&revoked, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
    let refused = until_listed(&api, "key.refused").await;
    assert_eq!((refused["object"].as_str(), refused["status"].as_u64()), (Some(&*format!("key/{id}")), Some(401)));
    assert_eq!((&refused["actor"], &refused["peer"]), (&json!("nobody"), &json!("127.0.0.1")));

    let body = json!({ "key": "a guess at the key" }).to_string();
    let headers = [("content-type", "application/json"), ("sec-fetch-site", "same-origin")];
    api.send("POST", "/api/v1/session", &headers, Some(&body)).await.problem(401, "unauthorized");
    let refused = until_listed(&api, "session.refused").await;
    assert_eq!(refused["object"], "not a key of this server");
    assert!(!json!(trail(&api).await).to_string().contains("guess"));
}

#[tokio::test]
async fn who_had_a_program_run_is_written_down() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let commands = r#"{"commands":["/bin/true"]}"#;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(commands)).await.expect(200);
    let (acme, id) = key(&api, "acme", &["jobs:*", "exec:command"]).await;
    let begun = trail(&api).await.len();
    let command = r#"{"command":["/bin/true"],"idempotency_key":"once"}"#;
    let job = api.send_as(&acme, None, "POST", "/api/v1/jobs", Some(command)).await.expect(202);
    api.send_as(&acme, None, "POST", "/api/v1/jobs", Some(command)).await.expect(200);
    let batch = format!(r#"{{"jobs":[{JOB},{{"command":["/bin/true"]}},{{"command":["/bin/true"]}}]}}"#);
    let answers = api.send_as(&acme, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await.expect(200);
    let found = trail(&api).await;
    assert_eq!(found.len(), begun + 2, "once for each request that made one");
    let second = answers["results"][1]["id"].as_str().unwrap();
    assert_eq!(found[0]["object"], json!(format!("2 jobs, the first is job/{second}")));
    assert_eq!(found[1]["object"], json!(format!("job/{}", job["id"].as_str().unwrap())));
    for entry in &found[..2] {
        assert_eq!((&entry["action"], &entry["actor"]), (&json!("command.submit"), &json!(id)));
        assert_eq!((&entry["tenant"], &entry["peer"]), (&json!("acme"), &json!("127.0.0.1")));
    }
}

#[tokio::test]
async fn one_key_does_not_fill_the_audit_log() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (acme, _) = key(&api, "acme", &["jobs:*"]).await;
    let bearer = format!("Bearer {acme}");
    let mut connection = api.connect().await;
    for number in 0..2_100 {
        let path = format!("/api/v1/queues/made-up-{number}/pause");
        connection.request("POST", &path, &[("authorization", &bearer)], None).await.expect(200);
    }
    let mut entries: Vec<Value> = Vec::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        let path = format!("/api/v1/audit?tenant=acme&limit=500{cursor}");
        let page = api.send_as(ADMIN, None, "GET", &path, None).await.expect(200);
        entries.extend(page["items"].as_array().unwrap().iter().filter(|it| it["action"] == "queue.pause").cloned());
        next = page["next"].as_str().map(|cursor| format!("&cursor={cursor}"));
    }
    assert_eq!(entries.len(), 1_001);
    let last = entries[0]["object"].as_str().unwrap();
    assert_eq!(last, "queue/made-up-1999 (number 2000 this hour; those in between are not listed)");
}
