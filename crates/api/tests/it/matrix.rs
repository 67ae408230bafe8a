//! Every operation × every caller that may not use it × every id that is not theirs.
//!
//! The matrix is made from the access list, and the list is held against the OpenAPI document: a route without an entry
//! fails here, and so does one whose path has an id that nobody made an example of.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foreman_api::gate::access_list::{Needs, OPERATIONS, Operation};
use foreman_api::{HostPolicy, KeyPolicy, Patience};
use foreman_core::TenantId;
use foreman_core::key::{ApiKey, Scope, Scopes};
use foreman_core::ports::{CreateKeyAnswer, KeyStore as _, NewKey};
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, Setting, dashboard};
use crate::http::Reply;

pub const ADMIN: &str = "the key of the configuration";
const WEBHOOK: &str = r#"{"url":"http://127.0.0.1:1/","events":["*"]}"#;
const JOB: &str = r#"{"url":"http://127.0.0.1:1/","queue":"mail"}"#;

/// A server that asks for keys, with a tenant that owns one of everything and a tenant that is curious.
struct House {
    api: Api,
    /// What stands in place of each name in a path: things of the tenant `victim`.
    ids: BTreeMap<&'static str, Vec<String>>,
}

pub async fn keyed() -> Api {
    Api::with(keyed_setting()).await
}

pub fn keyed_setting() -> Setting {
    let patience = Patience { attempts: u32::MAX, within: Duration::from_mins(1) };
    let keys = KeyPolicy::asked(ADMIN);
    Setting { keys, hosts: HostPolicy::Any, patience, dashboard: dashboard(), ..Setting::default() }
}

pub async fn tenant(api: &Api, id: &str) {
    let body = json!({ "id": id }).to_string();
    api.send_as(ADMIN, None, "POST", "/api/v1/tenants", Some(&body)).await.expect(201);
}

/// The key, and its id.
pub async fn key(api: &Api, tenant: &str, scopes: &[&str]) -> (String, String) {
    let body = json!({ "name": "a key", "scopes": scopes }).to_string();
    let path = format!("/api/v1/tenants/{tenant}/keys");
    let made = api.send_as(ADMIN, None, "POST", &path, Some(&body)).await.expect(201);
    (made["key"].as_str().unwrap().to_owned(), made["id"].as_str().unwrap().to_owned())
}

impl House {
    async fn build() -> Self {
        let api = keyed().await;
        tenant(&api, "victim").await;
        tenant(&api, "curious").await;
        let own = async |method: &str, path: &str, body: Option<&str>| {
            api.send_as(ADMIN, Some("victim"), method, path, body).await
        };
        let ended = own("POST", "/api/v1/jobs", Some(JOB)).await.expect(202)["id"].as_str().unwrap().to_owned();
        api.complete_all().await;
        let waiting = own("POST", "/api/v1/jobs", Some(JOB)).await.expect(202)["id"].as_str().unwrap().to_owned();
        let schedule = r#"{"name":"nightly","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
        let schedule = own("POST", "/api/v1/schedules", Some(schedule)).await.expect(201)["id"].to_string();
        own("POST", "/api/v1/queues/mail/pause", None).await.expect(200);
        own("POST", "/api/v1/tenants/victim/signing-secret", None).await.expect(201);
        let webhook =
            own("POST", "/api/v1/webhooks", Some(WEBHOOK)).await.expect(201)["id"].as_str().unwrap().to_owned();
        let tried = own("POST", &format!("/api/v1/webhooks/{webhook}/test"), None).await.expect(202);
        let delivery = tried["id"].as_str().unwrap().to_owned();
        let (_, key) = key(&api, "victim", &["jobs:read"]).await;
        let ids = BTreeMap::from([
            ("id", vec![ended, waiting]),
            ("queue", vec!["mail".to_owned()]),
            ("schedule", vec![schedule.trim_matches('"').to_owned(), "nightly".to_owned()]),
            ("tenant", vec!["victim".to_owned()]),
            ("key", vec![key]),
            ("webhook", vec![webhook]),
            ("delivery", vec![delivery]),
            ("worker", vec![api.session.to_string()]),
        ]);
        Self { api, ids }
    }

    /// Every path that the template stands for here.
    fn paths(&self, template: &str) -> Vec<String> {
        let mut paths = vec![String::new()];
        for part in template.split('/').skip(1) {
            let choices = match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => self.ids.get(name).unwrap_or_else(|| panic!("what is a {{{name}}}? give the matrix one")),
                None => &vec![part.to_owned()],
            };
            let longer = |path: String| choices.iter().map(move |choice| format!("{path}/{choice}"));
            paths = paths.into_iter().flat_map(longer).collect();
        }
        paths
    }

    async fn send(&self, operation: &Operation, path: &str, key: Option<&str>, tenant: Option<&str>) -> Reply {
        let method = operation.method.clone().unwrap_or(Method::GET);
        let body = body(operation);
        let bearer = key.map(|key| format!("Bearer {key}"));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        headers.extend(tenant.map(|tenant| ("foreman-tenant", tenant)));
        headers.extend(body.as_ref().map(|_| ("content-type", "application/json")));
        self.api.send(method.as_str(), path, &headers, body.as_deref()).await
    }

    /// Everything that the victim owns, as the operator sees it.
    async fn belongings(&self) -> Value {
        let mut all = Vec::new();
        for path in [
            "/api/v1/jobs",
            "/api/v1/queues",
            "/api/v1/schedules",
            "/api/v1/schedules/nightly/ticks",
            "/api/v1/tenants/victim",
            "/api/v1/tenants/victim/keys",
            "/api/v1/webhooks",
            &format!("/api/v1/webhooks/{}/deliveries", self.ids["webhook"][0]),
        ] {
            all.push(self.api.send_as(ADMIN, Some("victim"), "GET", path, None).await.expect(200));
        }
        for id in &self.ids["id"] {
            let path = format!("/api/v1/jobs/{id}");
            all.push(self.api.send_as(ADMIN, Some("victim"), "GET", &path, None).await.expect(200));
        }
        Value::Array(all)
    }
}

/// What a client who means it would send.
fn body(operation: &Operation) -> Option<String> {
    let is = |method: &Method, path: &str| operation.method.as_ref() == Some(method) && operation.path == path;
    if is(&Method::POST, "/api/v1/jobs") {
        return Some(JOB.into());
    }
    if is(&Method::POST, "/api/v1/jobs/batch") {
        return Some(format!(r#"{{"jobs":[{JOB}]}}"#));
    }
    if matches!(operation.path, "/api/v1/jobs/retry" | "/api/v1/jobs/cancel" | "/api/v1/jobs/delete") {
        return Some(r#"{"filter":{}}"#.into());
    }
    if operation.path == "/api/v1/schedules/preview" {
        return Some(r#"{"every":"1h"}"#.into());
    }
    if is(&Method::POST, "/api/v1/schedules") || is(&Method::PUT, "/api/v1/schedules/{schedule}") {
        return Some(r#"{"name":"nightly","every":"2h","job":{"url":"http://127.0.0.1:1/theirs"}}"#.into());
    }
    if is(&Method::PATCH, "/api/v1/schedules/{schedule}") {
        return Some(r#"{"every":"3h"}"#.into());
    }
    if is(&Method::POST, "/api/v1/tenants") {
        return Some(r#"{"id":"mine"}"#.into());
    }
    if is(&Method::PATCH, "/api/v1/tenants/{tenant}") {
        return Some(r#"{"weight":7}"#.into());
    }
    if is(&Method::POST, "/api/v1/webhooks") {
        return Some(WEBHOOK.into());
    }
    if is(&Method::PATCH, "/api/v1/webhooks/{webhook}") {
        return Some(r#"{"enabled":false}"#.into());
    }
    if is(&Method::POST, "/api/v1/session") {
        return Some(json!({ "key": ADMIN }).to_string());
    }
    if is(&Method::POST, "/api/v1/tenants/{tenant}/keys") {
        return Some(r#"{"scopes":["jobs:read"]}"#.into());
    }
    None
}

/// The operations that require a key.
fn guarded() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| operation.needs != Needs::Nothing)
}

#[test]
fn the_list_of_ways_in_and_the_document_say_the_same() {
    let document = serde_json::to_value(foreman_api::openapi()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|name| *name != "parameters") {
            documented.insert((path.clone(), method.to_uppercase()));
        }
    }
    // Pages and what `dev` has to try things on are no part of the API.
    let is_page = |path: &str| !path.starts_with("/api/v1") && !["/healthz", "/readyz", "/metrics"].contains(&path);
    let listed: BTreeSet<(String, String)> = OPERATIONS
        .iter()
        .filter(|operation| !is_page(operation.path))
        .map(|operation| (operation.path.to_owned(), operation.method.as_ref().unwrap().to_string()))
        .collect();
    assert_eq!(documented, listed, "every route needs its entry in gate/access_list.rs, and every entry its route");

    for operation in guarded() {
        let method = operation.method.as_ref().unwrap().as_str().to_lowercase();
        let described = &document["paths"][operation.path][method];
        assert_eq!(described["security"], json!([{"key": []}]), "{operation:?}");
        if let Needs::Scope(scope) = operation.needs {
            let text = described["description"].as_str().unwrap();
            assert!(text.contains(&format!("`{scope}`")), "{operation:?}: {text}");
        }
        for status in ["401", "403", "404", "429"] {
            assert!(described["responses"][status].is_object(), "{operation:?} {status}");
        }
    }
    assert_eq!(document["components"]["securitySchemes"]["key"]["scheme"], "bearer");
    assert_eq!(document["paths"]["/healthz"]["get"]["security"], json!([]));
}

#[tokio::test]
async fn every_way_in_leads_somewhere() {
    let house = House::build().await;
    for operation in OPERATIONS {
        let path = [("{name}", "internal"), ("{code}", "200"), ("{id}", "1"), ("{*path}", "app-D0o6KwHs.js")]
            .into_iter()
            .fold(operation.path.to_owned(), |path, (name, value)| path.replace(name, value));
        for path in if operation.needs == Needs::Nothing { vec![path] } else { house.paths(operation.path) } {
            // In the curious tenant nothing of the victim's is there: what is answered is about a job, not about the path.
            let reply = house.send(operation, &path, Some(ADMIN), Some("curious")).await;
            assert_ne!(reply.status, 405, "{operation:?}");
            assert!(!reply.body.contains("/errors/not-found"), "{operation:?}: {}", reply.body);
            assert!(reply.status < 500, "{operation:?}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn nobody_comes_in_without_a_key_that_is_known_and_live() {
    let house = House::build().await;
    let api = &house.api;
    let all = ["jobs:*", "schedules:*", "stream:read", "workers", "exec:command", "admin"];
    let (good, good_id) = key(api, "victim", &all).await;
    let (revoked, revoked_id) = key(api, "victim", &all).await;
    let path = format!("/api/v1/tenants/victim/keys/{revoked_id}");
    api.send_as(ADMIN, None, "DELETE", &path, None).await.expect(200);
    let body = r#"{"scopes":["admin"],"expires_in":"1s"}"#;
    let expiring = api.send_as(ADMIN, None, "POST", "/api/v1/tenants/victim/keys", Some(body)).await.expect(201);
    let expired = expiring["key"].as_str().unwrap().to_owned();
    tenant(api, "shut").await;
    let (of_a_disabled_tenant, _) = key(api, "shut", &all).await;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/shut", Some(r#"{"disabled":true}"#)).await.expect(200);
    api.clock.advance(Duration::from_secs(1));

    let unknown = ApiKey::fresh().text().reveal().to_owned();
    // A key that is whole, with an id that is known: only the secret behind it is another.
    let (shown, kept) = (ApiKey::fresh(), ApiKey::fresh());
    let new = NewKey {
        id: shown.id().clone(),
        tenant: TenantId::new("victim"),
        name: String::new(),
        hash: kept.hash(),
        scopes: Scopes::ALL,
        expires_at: None,
    };
    assert!(matches!(api.registry.inner.create_key(&new).await.unwrap(), CreateKeyAnswer::Created(_)));
    let wrong_secret = shown.text().reveal().to_owned();
    let (whole, last) = good.split_at(good.len() - 1);
    let mistyped = format!("{whole}{}", if last == "x" { 'y' } else { 'x' });
    let wrong: [(&str, Option<&str>); 11] = [
        ("no key", None),
        ("an empty one", Some("")),
        ("no key of ours", Some("sesame")),
        ("unknown", Some(&unknown)),
        ("wrong secret", Some(&wrong_secret)),
        ("mistyped", Some(&mistyped)),
        ("cut short", Some(&good[..30])),
        ("the id alone", Some(&good_id)),
        ("revoked", Some(&revoked)),
        ("expired", Some(&expired)),
        ("of a disabled tenant", Some(&of_a_disabled_tenant)),
    ];
    let before = house.belongings().await;
    for operation in guarded() {
        for path in house.paths(operation.path) {
            for (which, key) in wrong {
                let reply = house.send(operation, &path, key, None).await;
                assert_eq!(
                    reply.header("www-authenticate"),
                    Some("Bearer realm=\"foreman\""),
                    "{which}: {operation:?}"
                );
                let problem = reply.problem(401, "unauthorized");
                let detail = problem["detail"].as_str().unwrap();
                assert!(!detail.contains("sesame"), "{detail}");
                if let Some(word) = ["revoked", "expired", "disabled"].iter().find(|word| which.contains(**word)) {
                    assert!(detail.contains(word), "{which}: {detail}");
                }
                // One who names a tenant gets no further.
                house.send(operation, &path, key, Some("victim")).await.problem(401, "unauthorized");
            }
        }
    }
    assert_eq!(house.belongings().await, before);
    api.send_as(&good, None, "GET", "/api/v1/whoami", None).await.expect(200);
}

#[tokio::test]
async fn a_key_is_good_for_its_scopes_and_for_nothing_else() {
    let house = House::build().await;
    let mut keys = Vec::new();
    for scope in Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin) {
        keys.push((scope, key(&house.api, "victim", &[scope.as_str()]).await.0));
    }
    let before = house.belongings().await;
    for operation in guarded() {
        for path in house.paths(operation.path) {
            for (scope, key) in &keys {
                match operation.needs {
                    Needs::Scope(needed) if needed != *scope => {
                        let reply = house.send(operation, &path, Some(key), None).await;
                        let problem = reply.problem(403, "forbidden");
                        assert_eq!(problem["scope"], needed.as_str(), "{operation:?} with {scope}");
                    }
                    Needs::Key => {
                        assert_eq!(house.send(operation, &path, Some(key), None).await.status, 200, "{operation:?}");
                    }
                    // What they are good for is walked by the next test.
                    Needs::Scope(_) | Needs::Nothing => {}
                }
            }
        }
    }
    let after = house.belongings().await;
    // Keys have been used; nothing else has changed.
    assert_eq!(without_uses(after), without_uses(before));
}

fn without_uses(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("last_used_at");
            map.values_mut().for_each(|value| *value = without_uses(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| *value = without_uses(value.take())),
        _ => {}
    }
    value
}

#[tokio::test]
async fn what_is_another_tenants_is_not_there() {
    let house = House::build().await;
    // Everything but what makes an operator.
    let all = ["jobs:*", "schedules:*", "stream:read", "workers", "exec:command"];
    let (curious, _) = key(&house.api, "curious", &all).await;
    let before = house.belongings().await;
    let marks: Vec<&String> = house.ids["id"]
        .iter()
        .chain(&house.ids["webhook"])
        .chain(&house.ids["key"])
        .chain(&house.ids["schedule"][..1])
        .collect();
    for operation in guarded() {
        for path in house.paths(operation.path) {
            let named = house.send(operation, &path, Some(&curious), Some("victim")).await;
            assert_eq!(named.problem(403, "forbidden")["scope"], "admin", "{operation:?}");
            let reply = house.send(operation, &path, Some(&curious), None).await;
            let asks_for_an_operator = operation.needs == Needs::Scope(Scope::Admin);
            // A schedule's or a queue's *name* means one's own: what is done there is done at home.
            let by_id = path.split('/').any(|part| marks.iter().any(|mark| *mark == part));
            match reply.status {
                403 => assert!(asks_for_an_operator, "{operation:?}: {reply:?}"),
                404 => assert!(by_id || path.contains("nightly"), "{operation:?}: {reply:?}"),
                status => {
                    assert!((200..300).contains(&status) && !by_id, "{operation:?} {path}: {reply:?}");
                    assert!(!marks.iter().any(|mark| reply.body.contains(*mark)), "{operation:?}: {reply:?}");
                    assert!(!reply.body.contains("victim"), "{operation:?}: {reply:?}");
                }
            }
            assert_eq!(house.belongings().await, before, "{operation:?} {path}");
        }
    }
}

#[tokio::test]
async fn an_operator_works_for_the_tenant_that_is_named() {
    let house = House::build().await;
    let (operator, _) = key(&house.api, "curious", &["admin"]).await;
    for (key, home) in [(ADMIN, "default"), (operator.as_str(), "curious")] {
        let me = house.api.send_as(key, None, "GET", "/api/v1/whoami", None).await.expect(200);
        assert_eq!(me["tenant"], home);
        let me = house.api.send_as(key, Some("victim"), "GET", "/api/v1/whoami", None).await.expect(200);
        assert_eq!(me["tenant"], "victim");
        let jobs = house.api.send_as(key, Some("victim"), "GET", "/api/v1/jobs", None).await.expect(200);
        assert_eq!(jobs["items"].as_array().unwrap().len(), 2);
        // A delivery is a job too, for those who name its queue.
        let path = "/api/v1/jobs?queue=foreman.webhooks";
        let deliveries = house.api.send_as(key, Some("victim"), "GET", path, None).await.expect(200);
        assert_eq!(deliveries["items"].as_array().unwrap().len(), 1);
        assert!(house.api.send_as(key, None, "GET", "/api/v1/jobs", None).await.expect(200)["items"] == json!([]));
        for nobody in ["nobody", "", "Victim", "victim,curious", "../victim", "*"] {
            let reply = house.api.send_as(key, Some(nobody), "GET", "/api/v1/jobs", None).await;
            reply.problem(404, "tenant-not-found");
        }
    }
    let bearer = format!("Bearer {ADMIN}");
    let twice = [("authorization", bearer.as_str()), ("foreman-tenant", "victim"), ("foreman-tenant", "curious")];
    house.api.send("GET", "/api/v1/jobs", &twice, None).await.problem(400, "invalid-request");
    // A key may name its own tenant.
    let (own, _) = key(&house.api, "victim", &["jobs:read"]).await;
    house.api.send_as(&own, Some("victim"), "GET", "/api/v1/jobs", None).await.expect(200);
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_past_the_gate() {
    let api = keyed().await;
    for path in [
        "/api/v1/jobs",
        "/api/v1/jobs/",
        "/api/v1/jobs?",
        "/api/v1/jobs?x=/docs",
        "/api/v1/jobs;a=b",
        "/api/v1/jobs%20",
        "/api/v1/jobs%2f",
        "/api/v1/jobs%00",
        "/api/v1/jobs/.",
        "/api/v1/jobs/..",
        "/api/v1/%6aobs",
        "/api/v1/%6Aobs",
        "/api/v1//jobs",
        "/api//v1/jobs",
        "//api/v1/jobs",
        "///api/v1/jobs",
        "/./api/v1/jobs",
        "/api/./v1/jobs",
        "/docs/../api/v1/jobs",
        "/docs/..%2fapi/v1/jobs",
        "/errors/..%2f..%2fapi%2fv1%2fjobs",
        "/healthz/../api/v1/jobs",
        "/healthz/api/v1/jobs",
        "/api/openapi.json/../v1/jobs",
        "/api/openapi.json/v1/jobs",
        "/%61pi/v1/jobs",
        "/%2fapi/v1/jobs",
        "/%2e/api/v1/jobs",
        "/API/v1/jobs",
        "/Api/V1/Jobs",
        "/api/v1/JOBS",
        "/api\\v1\\jobs",
        "/api/v1/jobs#/docs",
        "http://localhost/api/v1/jobs",
        "http://localhost//api/v1/jobs",
        "http://user:pass@localhost/api/v1/jobs",
        "/dev/echo/../../api/v1/jobs",
        "/dev/status/../../api/v1/jobs",
    ] {
        for method in ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PURGE", "get"] {
            let body = (method != "HEAD").then_some(JOB);
            let tricks = [
                ("content-type", "application/json"),
                ("x-http-method-override", "GET"),
                ("x-original-url", "/healthz"),
                ("x-rewrite-url", "/healthz"),
                ("x-forwarded-for", "127.0.0.1"),
                ("x-forwarded-host", "localhost"),
                ("forwarded", "for=127.0.0.1;host=localhost"),
            ];
            let reply = api.send(method, path, &tricks, body).await;
            assert!(matches!(reply.status, 400 | 401 | 404 | 405), "{method} {path}: {reply:?}");
        }
    }
    assert_eq!(api.submit.taken(), 0);
}

#[tokio::test]
async fn what_no_route_takes_is_told_only_to_those_with_a_key() {
    let api = keyed().await;
    let (reader, _) = key(&api, "default", &["jobs:read"]).await;
    for method in ["OPTIONS", "PUT", "TRACE", "PURGE", "CONNECT"] {
        api.send(method, "/api/v1/jobs", &[], None).await.problem(401, "unauthorized");
        let reply = api.send_as(&reader, None, method, "/api/v1/jobs", None).await;
        assert_eq!(reply.header("allow"), Some("GET,POST,HEAD"), "{method}");
        reply.problem(405, "method-not-allowed");
    }
    api.get("/api/v1/nothing").await.problem(401, "unauthorized");
    api.get("/api").await.problem(401, "unauthorized");
    api.send_as(&reader, None, "GET", "/api/v1/nothing", None).await.problem(404, "not-found");
    api.get("/nothing").await.problem(404, "not-found");
    // A head needs what its body needs.
    assert_eq!(api.send("HEAD", "/api/v1/jobs", &[], None).await.status, 401);
    assert_eq!(api.send_as(&reader, None, "HEAD", "/api/v1/jobs", None).await.status, 200);
    let (writer, _) = key(&api, "default", &["jobs:write"]).await;
    assert_eq!(api.send_as(&writer, None, "HEAD", "/api/v1/jobs", None).await.status, 403);
    let two = [("authorization", "Bearer a"), ("authorization", "Bearer b")];
    api.send("GET", "/api/v1/jobs", &two, None).await.problem(401, "unauthorized");
}
