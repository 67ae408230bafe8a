//! Tenants, their keys and their signing secrets over HTTP.

use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_api::{KeyPolicy, Patience};
use foreman_core::TenantId;
use foreman_core::key::ApiKey;
use foreman_core::ports::{KeyStore as _, StoreError, TenantStore as _};
use foreman_core::sealed::{Keyring, MasterKey, SealedFor};
use foreman_core::tenant::SIGNING_PLACE;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Api, Setting, in_time, until};
use crate::http::{Connection, Reply, written};
use crate::matrix::{ADMIN, key, keyed, tenant};

const JSON: (&str, &str) = ("content-type", "application/json");
const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;

async fn patch(api: &Api, tenant: &str, body: &str) -> Reply {
    api.send("PATCH", &format!("/api/v1/tenants/{tenant}"), &[JSON], Some(body)).await
}

#[tokio::test]
async fn a_tenant_is_made_read_changed_and_deleted() {
    let api = Api::start().await;
    let body =
        r#"{"id":"acme","limits":{"schedules":7,"queued_jobs":"unlimited"},"commands":["/bin/true"],"weight":5}"#;
    let made = api.post_json("/api/v1/tenants", body).await;
    assert_eq!((made.header("location"), made.header("etag")), (Some("/api/v1/tenants/acme"), Some("\"1\"")));
    let made = made.expect(201);
    assert_eq!(made["limits"], json!({"schedules": 7, "queued_jobs": "unlimited"}));
    assert_eq!((&made["limits_in_force"]["schedules"], &made["commands"]), (&json!(7), &json!(["/bin/true"])));
    assert_eq!((&made["weight"], &made["disabled"], &made["signs"]), (&json!(5), &json!(false), &json!(false)));
    let read = api.get("/api/v1/tenants/acme").await;
    assert_eq!(read.header("etag"), Some("\"1\""));
    assert_eq!(read.expect(200), made);
    let unchanged = api.send("GET", "/api/v1/tenants/acme", &[("if-none-match", "\"1\"")], None).await;
    assert_eq!(unchanged.status, 304);
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.problem(409, "name-taken");

    let changed =
        patch(&api, "acme", r#"{"limits":{"queued_jobs":null,"running_jobs":3},"disabled":true}"#).await.expect(200);
    assert_eq!(changed["limits"], json!({"schedules": 7, "running_jobs": 3}));
    assert_eq!((&changed["disabled"], &changed["weight"], &changed["version"]), (&json!(true), &json!(5), &json!(2)));
    let same = patch(&api, "acme", r#"{"disabled":true}"#).await.expect(200);
    assert_eq!(same["version"], 2, "what changes nothing is no change");
    for (tag, status) in [("\"1\"", 412), ("\"2\"", 200), ("*", 200), ("\"2-9fbfe8da7817a116\"", 412)] {
        let reply = api.send("PATCH", "/api/v1/tenants/acme", &[JSON, ("if-match", tag)], Some("{}")).await;
        assert_eq!(reply.status, status, "{tag}: {reply:?}");
    }
    let stale =
        api.send("PATCH", "/api/v1/tenants/acme", &[JSON, ("if-match", "\"1\"")], Some(r#"{"weight":9}"#)).await;
    assert_eq!(stale.problem(412, "precondition-failed")["version"], 2);

    let stale = api.send("DELETE", "/api/v1/tenants/acme", &[("if-match", "\"1\"")], None).await;
    stale.problem(412, "precondition-failed");
    assert_eq!(api.send("DELETE", "/api/v1/tenants/acme", &[("if-match", "\"2\"")], None).await.status, 204);
    for (method, path) in [
        ("GET", "/api/v1/tenants/acme"),
        ("DELETE", "/api/v1/tenants/acme"),
        ("GET", "/api/v1/tenants/acme/keys"),
        ("POST", "/api/v1/tenants/acme/signing-secret"),
        ("DELETE", "/api/v1/tenants/acme/signing-secret"),
        ("DELETE", "/api/v1/tenants/acme/keys/0123456789ab"),
        ("POST", "/api/v1/tenants/acme/keys/0123456789ab/rotate"),
    ] {
        api.send(method, path, &[], None).await.problem(404, "tenant-not-found");
    }
    patch(&api, "acme", "{}").await.problem(404, "tenant-not-found");
    api.post_json("/api/v1/tenants/acme/keys", r#"{"scopes":["admin"]}"#).await.problem(404, "tenant-not-found");
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.problem(409, "name-taken");
}

#[tokio::test]
async fn a_tenant_that_owns_something_is_not_deleted() {
    let api = Api::start().await;
    let refused = |reply: Reply, word: &str| {
        let problem = reply.problem(409, "tenant-in-use");
        assert!(problem["detail"].as_str().unwrap().contains(word), "{problem}");
    };
    refused(api.send("DELETE", "/api/v1/tenants/default", &[], None).await, "cannot be deleted");
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.expect(201);
    let acme = ("foreman-tenant", "acme");
    let id = api.send("POST", "/api/v1/jobs", &[JSON, acme], Some(JOB)).await.expect(202)["id"].to_string();
    refused(api.send("DELETE", "/api/v1/tenants/acme", &[], None).await, "not disabled");
    patch(&api, "acme", r#"{"disabled":true}"#).await.expect(200);
    refused(api.send("DELETE", "/api/v1/tenants/acme", &[], None).await, "Foreman-Tenant: acme");
    let path = format!("/api/v1/jobs/{}", id.trim_matches('"'));
    api.send("POST", &format!("{path}/cancel"), &[acme], None).await.expect(200);
    assert_eq!(api.send("DELETE", &path, &[acme], None).await.status, 204);
    assert_eq!(api.send("DELETE", "/api/v1/tenants/acme", &[], None).await.status, 204);
}

#[tokio::test]
async fn what_is_no_tenant_and_no_key_is_told_so() {
    let api = Api::start().await;
    for (body, pointer) in [
        (r#"{"id":"Acme"}"#, "/id"),
        (r#"{"id":""}"#, "/id"),
        (r#"{"id":"acme","weight":0}"#, "/weight"),
        (r#"{"id":"acme","limits":{"schedules":-1}}"#, "/limits/schedules"),
        (r#"{"id":"acme","limits":[]}"#, "/limits"),
        (r#"{"id":"acme","commands":["true"]}"#, "/commands"),
    ] {
        let problem = api.post_json("/api/v1/tenants", body).await.problem(422, "invalid-tenant");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem}");
    }
    api.post_json("/api/v1/tenants", r#"{"id":"acme","limits":{"job":1}}"#).await.problem(400, "unknown-field");
    let many: Vec<String> = (0..1_001).map(|number| format!("/bin/{number}")).collect();
    let body = json!({"commands": many}).to_string();
    assert_eq!(patch(&api, "default", &body).await.problem(422, "invalid-tenant")["errors"][0]["pointer"], "/commands");
    for (body, pointer) in [
        (r#"{"scopes":[]}"#.to_owned(), "/scopes"),
        (r#"{"scopes":["jobs"]}"#.to_owned(), "/scopes"),
        (r#"{"scopes":["admin"],"expires_in":"0s"}"#.to_owned(), "/expires_in"),
        (r#"{"scopes":["admin"],"expires_in":"876001h"}"#.to_owned(), "/expires_in"),
        (r#"{"scopes":["admin"],"expires_at":"2001-01-01T00:00:00Z"}"#.to_owned(), "/expires_at"),
        (r#"{"scopes":["admin"],"expires_at":"2101-01-01T00:00:00Z","expires_in":"1h"}"#.to_owned(), "/expires_in"),
        (json!({"scopes": ["admin"], "name": "n".repeat(101)}).to_string(), "/name"),
        (json!({"scopes": ["admin"], "name": "a\nb"}).to_string(), "/name"),
    ] {
        let problem = api.post_json("/api/v1/tenants/default/keys", &body).await.problem(422, "invalid-key");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem}");
    }
    for path in ["/api/v1/tenants/Acme", "/api/v1/tenants/default/keys/x", "/api/v1/tenants/a%20b/keys"] {
        api.get(path).await.problem(400, "invalid-request");
    }
    api.get("/api/v1/tenants?limit=0").await.problem(400, "invalid-request");
    api.get("/api/v1/tenants/default/keys?cursor=x").await.problem(400, "invalid-request");
    let path = "/api/v1/tenants/default/signing-secret";
    let problem = api.post_json(path, r#"{"overlap":"721h"}"#).await.problem(422, "invalid-tenant");
    assert_eq!(problem["errors"][0]["pointer"], "/overlap");
    api.send("POST", path, &[], Some("{}")).await.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn lists_are_walked_page_by_page() {
    let api = Api::start().await;
    for id in ["a", "b", "c"] {
        api.post_json("/api/v1/tenants", &json!({ "id": id }).to_string()).await.expect(201);
    }
    assert_eq!(walk(&api, "/api/v1/tenants?limit=2", "id").await, ["a", "b", "c", "default"]);
    let mut made = Vec::new();
    for _ in 0..5 {
        let key = api.post_json("/api/v1/tenants/a/keys", r#"{"scopes":["jobs:read"]}"#).await.expect(201);
        made.push(key["id"].as_str().unwrap().to_owned());
    }
    made.sort();
    assert_eq!(walk(&api, "/api/v1/tenants/a/keys?limit=2", "id").await, made);
    let trail = walk(&api, "/api/v1/audit?limit=2", "action").await;
    assert_eq!(trail.len(), 8);
    assert_eq!(walk(&api, "/api/v1/audit?limit=3&tenant=a", "action").await.len(), 6);
    assert!(walk(&api, "/api/v1/audit?limit=3&tenant=nobody", "action").await.is_empty());
}

async fn walk(api: &Api, path: &str, field: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page = api.get(&next).await.expect(200);
        found.extend(page["items"].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()));
        match &page["next"] {
            Value::String(cursor) => next = format!("{path}&cursor={cursor}"),
            _ => return found,
        }
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_kept_as_a_hash() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let body = r#"{"name":"ci","scopes":["jobs:*"],"expires_in":"1h"}"#;
    let made = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/acme/keys", Some(body)).await;
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.expect(201);
    let (text, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert!(text.starts_with(&format!("fm_{id}_")) && text.parse::<ApiKey>().is_ok());
    assert_eq!((&made["scopes"], &made["state"]), (&json!(["jobs:read", "jobs:write"]), &json!("live")));
    let path = format!("/api/v1/tenants/acme/keys/{id}");
    let shown = api.send_as(ADMIN, None, "GET", &path, None).await.expect(200);
    assert!(shown.get("key").is_none() && shown["expires_at"] == made["expires_at"], "{shown}");
    for place in [path.as_str(), "/api/v1/tenants/acme/keys", "/api/v1/audit", "/api/v1/tenants/acme"] {
        let reply = api.send_as(ADMIN, None, "GET", place, None).await;
        assert!(!reply.body.contains(&text[16..]), "{place} shows the key");
    }
    let me = api.send_as(text, None, "GET", "/api/v1/whoami", None).await.expect(200);
    assert_eq!((&me["tenant"], &me["key"]), (&json!("acme"), &json!(id)));
    assert_eq!((&me["scopes"], &me["expires_at"]), (&made["scopes"], &made["expires_at"]));
    let me = api.send_as(ADMIN, None, "GET", "/api/v1/whoami", None).await.expect(200);
    assert_eq!((&me["key"], &me["scopes"].as_array().unwrap().len()), (&json!("bootstrap"), &8));
    // Another tenant's key is not there.
    let elsewhere = format!("/api/v1/tenants/default/keys/{id}");
    for (method, path) in
        [("GET", elsewhere.clone()), ("DELETE", elsewhere.clone()), ("POST", format!("{elsewhere}/rotate"))]
    {
        api.send_as(ADMIN, None, method, &path, None).await.problem(404, "key-not-found");
    }
    api.send_as(text, None, "GET", "/api/v1/jobs", None).await.expect(200);

    for _ in 0..2 {
        let revoked = api.send_as(ADMIN, None, "DELETE", &path, None).await.expect(200);
        assert_eq!(revoked["state"], "revoked");
    }
    api.send_as(text, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn a_key_is_replaced_while_the_old_one_goes_on_for_a_while() {
    let api = keyed().await;
    let (old, id) = key(&api, "default", &["jobs:read"]).await;
    let path = format!("/api/v1/tenants/default/keys/{id}/rotate");
    let long = api.send_as(ADMIN, None, "POST", &path, Some(r#"{"grace":"721h"}"#)).await;
    assert_eq!(long.problem(422, "invalid-key")["errors"][0]["pointer"], "/grace");
    let made = api.send_as(ADMIN, None, "POST", &path, Some(r#"{"grace":"1h"}"#)).await.expect(201);
    let new = made["key"].as_str().unwrap();
    assert_eq!((&made["replaces"]["id"], &made["scopes"]), (&json!(id), &json!(["jobs:read"])));
    assert_eq!(made["replaces"]["replaced_by"], made["id"]);
    for key in [new, &old] {
        api.send_as(key, None, "GET", "/api/v1/jobs", None).await.expect(200);
    }
    let again = api.send_as(ADMIN, None, "POST", &path, None).await.problem(409, "key-not-live");
    assert!(again["detail"].as_str().unwrap().contains(made["id"].as_str().unwrap()), "{again}");
    api.clock.advance(Duration::from_hours(1));
    // What was learnt of a key is used for some seconds, and its expiry is part of it: by the store's clock it is over at once.
    let gone = || async { api.send_as(&old, None, "GET", "/api/v1/jobs", None).await.status == 401 };
    in_time(async { while !gone().await {} }).await;
    api.send_as(new, None, "GET", "/api/v1/jobs", None).await.expect(200);

    // Without a word about it, a new key lives as long as the old one was to live.
    let body = r#"{"scopes":["jobs:read"],"expires_in":"10h"}"#;
    let first = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/default/keys", Some(body)).await.expect(201);
    api.clock.advance(Duration::from_hours(4));
    let path = format!("/api/v1/tenants/default/keys/{}/rotate", first["id"].as_str().unwrap());
    let second = api.send_as(ADMIN, None, "POST", &path, Some(r#"{"grace":"0s"}"#)).await.expect(201);
    let span = |key: &Value| -> Duration {
        let time = |field: &str| key[field].as_str().unwrap().parse::<foreman_core::Timestamp>().unwrap();
        time("expires_at").since(time("created_at"))
    };
    assert_eq!((span(&second), &second["replaces"]["state"]), (Duration::from_hours(10), &json!("expired")));
    // What stands for never stays where it is.
    let body = r#"{"scopes":["jobs:read"],"expires_at":"9999-12-31T23:59:59Z"}"#;
    let first = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/default/keys", Some(body)).await.expect(201);
    let path = format!("/api/v1/tenants/default/keys/{}/rotate", first["id"].as_str().unwrap());
    let second = api.send_as(ADMIN, None, "POST", &path, None).await.expect(201);
    assert_eq!(second["expires_at"], first["expires_at"]);
}

#[tokio::test]
async fn a_key_revoked_elsewhere_opens_nothing_within_seconds_and_ends_what_is_open() {
    let api = keyed().await;
    let id = api.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202)["id"].to_string();
    let wait = format!("/api/v1/jobs/{}/wait?timeout=5m", id.trim_matches('"'));
    let (reader, key_id) = key(&api, "default", &["jobs:read"]).await;
    let bearer = format!("Bearer {reader}");
    let mut open = api.connect().await;
    open.send(&written("GET", &wait, &[("authorization", &bearer)], None)).await;
    until("it waits", || api.waits.count() == 1).await;

    // By another process: this one never hears of it.
    let revoked = api.registry.inner.revoke_key(&TenantId::default(), &key_id.parse().unwrap()).await.unwrap();
    assert!(format!("{revoked:?}").contains("Revoked"));
    open.reply(false).await.problem(401, "unauthorized");
    api.send_as(&reader, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
    assert_eq!(api.waits.count(), 0);
}

#[tokio::test]
async fn a_disabled_tenant_is_shut_out_and_the_key_of_the_configuration_never_is() {
    let api = keyed().await;
    let (operator, _) = key(&api, "default", &["admin"]).await;
    let disable = r#"{"disabled":true}"#;
    api.send_as(&operator, None, "PATCH", "/api/v1/tenants/default", Some(disable)).await.expect(200);
    let problem = api.send_as(&operator, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
    assert!(problem["detail"].as_str().unwrap().contains("disabled"), "{problem}");
    let enable = r#"{"disabled":false}"#;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/default", Some(enable)).await.expect(200);
    api.send_as(&operator, None, "GET", "/api/v1/jobs", None).await.expect(200);
    // An operator may still look after a tenant that is shut.
    tenant(&api, "acme").await;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(disable)).await.expect(200);
    api.send_as(&operator, Some("acme"), "GET", "/api/v1/jobs", None).await.expect(200);
}

#[tokio::test]
async fn the_store_is_asked_once_for_many_requests_and_told_once_of_many_uses() {
    let api = keyed().await;
    let (reader, id) = key(&api, "default", &["jobs:read"]).await;
    let before = api.registry.looked_up();
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(api.connect().await);
    }
    let bearer = format!("Bearer {reader}");
    let text = written("GET", "/api/v1/whoami", &[("authorization", &bearer)], None);
    for client in &mut clients {
        client.send(&text).await;
    }
    for client in &mut clients {
        client.reply(false).await.expect(200);
    }
    // One question, or two where the machine stood still for seconds in between.
    assert!(api.registry.looked_up() - before <= 2, "{}", api.registry.looked_up() - before);
    until("its use is noted", || api.registry.noted.load(Ordering::SeqCst) == 1).await;
    let path = format!("/api/v1/tenants/default/keys/{id}");
    let shown = async || api.send_as(ADMIN, None, "GET", &path, None).await.expect(200)["last_used_at"].clone();
    in_time(async { while shown().await.is_null() {} }).await;
    api.send_as(&reader, None, "GET", "/api/v1/whoami", None).await.expect(200);
    assert_eq!(api.registry.noted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn while_the_store_is_away_nobody_is_taken_for_a_stranger() {
    let api = keyed().await;
    let (reader, _) = key(&api, "default", &["jobs:read"]).await;
    api.registry.set(Some(StoreError::Unavailable("secret: locked".into())));
    let reply = api.send_as(&reader, None, "GET", "/api/v1/whoami", None).await;
    assert_eq!(reply.header("retry-after"), Some("2"));
    assert!(!reply.problem(503, "store-unavailable").to_string().contains("secret:"));
    // What cannot be a key needs no store to say so.
    api.send_as("fm_x", None, "GET", "/api/v1/whoami", None).await.problem(401, "unauthorized");
    api.registry.set(None);
    api.send_as(&reader, None, "GET", "/api/v1/whoami", None).await.expect(200);
}

#[tokio::test]
async fn who_shows_wrong_keys_is_told_to_wait_and_who_is_known_is_let_in() {
    let patience = Patience { attempts: 3, within: Duration::from_mins(10) };
    let api = Api::with(Setting { keys: KeyPolicy::asked(ADMIN), patience, ..Setting::default() }).await;
    let (known, _) = key(&api, "default", &["jobs:read"]).await;
    let (unknown_yet, _) = key(&api, "default", &["jobs:read"]).await;
    api.send_as(&known, None, "GET", "/api/v1/jobs", None).await.expect(200);
    // To show none at all is no attempt.
    for _ in 0..5 {
        api.get("/api/v1/jobs").await.problem(401, "unauthorized");
    }
    for wrong in ["sesame", ApiKey::fresh().text().reveal(), "fm_0123456789ab_"] {
        api.send_as(wrong, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
    }
    let asked = api.registry.looked_up();
    for wrong in ["sesame", "fm_0123456789ab_"] {
        let reply = api.send_as(wrong, None, "GET", "/api/v1/jobs", None).await;
        let secs: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=600).contains(&secs), "{secs}");
        reply.problem(429, "too-many-requests");
    }
    assert_eq!(api.registry.looked_up(), asked, "the store is left alone");
    // A server that has just started knows nobody: a stranger does not lock out who comes from the same address.
    api.send_as(&unknown_yet, None, "GET", "/api/v1/jobs", None).await.expect(200);
    let (asked, began) = (api.registry.looked_up(), Instant::now());
    for _ in 0..100 {
        let reply = api.send_as(ApiKey::fresh().text().reveal(), None, "GET", "/api/v1/jobs", None).await;
        assert!(matches!(reply.status, 401 | 429), "{}", reply.status);
    }
    let (looked_up, secs) = (api.registry.looked_up() - asked, began.elapsed().as_secs());
    assert!(looked_up as u64 <= 5 * (secs + 2), "a few in a second, not {looked_up} in {secs} s");
    api.send_as(&known, None, "GET", "/api/v1/jobs", None).await.expect(200);
    api.send_as(ADMIN, None, "GET", "/api/v1/jobs", None).await.expect(200);
}

#[tokio::test]
async fn a_server_without_keys_takes_a_key_at_its_word() {
    let api = Api::start().await;
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.expect(201);
    let made = api.post_json("/api/v1/tenants/acme/keys", r#"{"scopes":["jobs:read"]}"#).await.expect(201);
    let acme = made["key"].as_str().unwrap();
    assert_eq!(api.send_as(acme, None, "GET", "/api/v1/whoami", None).await.expect(200)["tenant"], "acme");
    api.send_as(acme, None, "POST", "/api/v1/jobs", Some(JOB)).await.problem(403, "forbidden");
    let unknown = ApiKey::fresh().text().reveal().to_owned();
    api.send_as(&unknown, None, "GET", "/api/v1/whoami", None).await.problem(401, "unauthorized");
    for other in ["whatever", "a key of another program"] {
        let me = api.send_as(other, None, "GET", "/api/v1/whoami", None).await.expect(200);
        assert_eq!((&me["tenant"], &me["key"]), (&json!("default"), &Value::Null));
    }
}

#[tokio::test]
async fn a_signing_secret_is_shown_once_kept_sealed_and_overlaps_with_the_next() {
    let ring = std::sync::Arc::new(Keyring::new(MasterKey::fresh()));
    let api = Api::with(Setting { keyring: Some(ring.clone()), ..Setting::default() }).await;
    let path = "/api/v1/tenants/default/signing-secret";
    let in_force = async || {
        let tenant = TenantId::default();
        let kept = api.registry.inner.tenant(&tenant).await.unwrap().unwrap().settings.signing;
        let place = SealedFor { tenant: &tenant, name: SIGNING_PLACE };
        let open = kept.open(&ring, place, foreman_core::Clock::now(&*api.clock)).unwrap();
        open.iter().map(|secret| secret.text().reveal().to_owned()).collect::<Vec<_>>()
    };
    assert!(in_force().await.is_empty());
    let first = api.post(path).await;
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let first = first.expect(201)["secret"].as_str().unwrap().to_owned();
    assert!(first.starts_with("whsec_"));
    assert_eq!(in_force().await, std::slice::from_ref(&first));
    let shown = api.get("/api/v1/tenants/default").await;
    assert!(!shown.body.contains("whsec_") && !shown.body.contains("fmsec1"), "{shown:?}");
    assert_eq!(shown.expect(200)["signs"], true);
    let second = api.post_json(path, r#"{"overlap":"1h"}"#).await.expect(201)["secret"].as_str().unwrap().to_owned();
    assert_eq!(in_force().await, [second.clone(), first]);
    api.clock.advance(Duration::from_hours(1));
    assert_eq!(in_force().await, [second]);
    for _ in 0..2 {
        assert_eq!(api.send("DELETE", path, &[], None).await.status, 204);
    }
    assert!(in_force().await.is_empty());
    assert_eq!(api.get("/api/v1/tenants/default").await.expect(200)["signs"], false);
}

#[tokio::test]
async fn of_two_who_change_a_tenant_at_once_neither_is_lost() {
    let api = Api::start().await;
    let changes = ["weight", "schedules", "running_jobs", "queued_jobs"];
    let bodies = changes.map(|name| match name {
        "weight" => json!({"weight": 9}),
        limit => json!({"limits": {limit: 9}}),
    });
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(Connection::open(api.addr).await);
    }
    for (client, body) in clients.iter_mut().zip(&bodies) {
        client.send(&written("PATCH", "/api/v1/tenants/default", &[JSON], Some(&body.to_string()))).await;
    }
    for client in &mut clients {
        client.reply(false).await.expect(200);
    }
    let after = api.get("/api/v1/tenants/default").await.expect(200);
    assert_eq!(after["limits"], json!({"schedules": 9, "running_jobs": 9, "queued_jobs": 9}));
    assert_eq!((&after["weight"], &after["version"]), (&json!(9), &json!(5)));
}
