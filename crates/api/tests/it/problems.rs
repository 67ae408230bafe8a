//! Every problem that is documented can be met, and each is what its page says.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_api::problem::Kind;
use foreman_api::{CommandPolicy, HostPolicy, KeyPolicy};
use foreman_core::ports::{ScheduleError, StoreError, SubmitError};

use crate::faulty::Fault;
use crate::harness::{Api, Setting};
use crate::http::Reply;

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;
const SCHEDULE: &str = r#"{"name":"taken","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
const JSON: (&str, &str) = ("content-type", "application/json");

/// One way to meet each kind. The match is complete: a new kind without a way does not compile.
const WEBHOOK: &str = r#"{"url":"http://127.0.0.1:1/","events":["*"]}"#;

async fn made_webhook(api: &Api) -> String {
    api.post_json("/api/v1/webhooks", WEBHOOK).await.expect(201)["id"].as_str().unwrap().to_owned()
}

async fn meet(kind: Kind, api: &Api) -> Reply {
    let refusal = |error: SubmitError| async {
        api.submit.set_refusal(Some(error));
        let reply = api.submit_text(JOB).await;
        api.submit.set_refusal(None);
        reply
    };
    match kind {
        Kind::BadJson => api.submit_text("{").await,
        Kind::UnknownField => api.submit_text(r#"{"uri":"http://a/"}"#).await,
        Kind::InvalidJob => api.submit_text("{}").await,
        Kind::InvalidRequest => api.get("/api/v1/jobs?limit=0").await,
        Kind::EmptyBatch => api.post_json("/api/v1/jobs/batch", r#"{"jobs":[]}"#).await,
        Kind::BatchTooLarge => {
            api.post_json("/api/v1/jobs/batch", &format!(r#"{{"jobs":[0{}]}}"#, ",0".repeat(1_000))).await
        }
        Kind::BodyTooLarge => api.submit_text(&" ".repeat(1024 * 1024 + 1)).await,
        Kind::UnsupportedMediaType => api.send("POST", "/api/v1/jobs", &[], Some(JOB)).await,
        Kind::IdempotencyKeyReused => {
            let key = [JSON, ("idempotency-key", "k")];
            api.send("POST", "/api/v1/jobs", &key, Some(JOB)).await.expect(202);
            api.send("POST", "/api/v1/jobs", &key, Some(r#"{"url":"http://127.0.0.1:1/other"}"#)).await
        }
        Kind::CommandsDisabled => api.submit_text(r#"{"command":"true"}"#).await,
        Kind::JobNotFound => api.get("/api/v1/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11").await,
        Kind::NoLiveOutput => {
            let id = api.submitted(JOB).await;
            api.get(&format!("/api/v1/jobs/{id}/output")).await
        }
        Kind::JobFinal => {
            let id = api.submitted(JOB).await;
            api.complete_all().await;
            api.post(&format!("/api/v1/jobs/{id}/cancel")).await
        }
        Kind::JobNotFinal => {
            let id = api.submitted(JOB).await;
            api.post(&format!("/api/v1/jobs/{id}/retry")).await
        }
        Kind::InvalidSchedule => api.post_json("/api/v1/schedules", r#"{"name":"a","job":{}}"#).await,
        Kind::ScheduleNotFound => api.get("/api/v1/schedules/none").await,
        Kind::NameTaken => {
            api.post_json("/api/v1/schedules", SCHEDULE).await.expect(201);
            api.post_json("/api/v1/schedules", SCHEDULE).await
        }
        Kind::PreconditionFailed => {
            api.send("PUT", "/api/v1/schedules/taken", &[JSON, ("if-match", "\"9\"")], Some(SCHEDULE)).await
        }
        Kind::ScheduleBusy => {
            api.clerk.set_refusal(Some(ScheduleError::Busy));
            let reply = api.post("/api/v1/schedules/taken/pause").await;
            api.clerk.set_refusal(None);
            reply
        }
        Kind::ScheduleUnreadable => {
            api.clerk.set_refusal(Some(ScheduleError::Unreadable("secret: moon".into())));
            let reply = api.post("/api/v1/schedules/taken/pause").await;
            api.clerk.set_refusal(None);
            reply
        }
        Kind::InvalidWebhook => api.post_json("/api/v1/webhooks", r#"{"url":"http://127.0.0.1:1/","events":[]}"#).await,
        Kind::WorkerNotFound => api.get("/api/v1/workers/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11/jobs").await,
        Kind::WebhookNotFound => api.get("/api/v1/webhooks/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11").await,
        Kind::DeliveryNotFound => {
            let id = made_webhook(api).await;
            api.get(&format!("/api/v1/webhooks/{id}/deliveries/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11")).await
        }
        Kind::WebhookDisabled => {
            let path = format!("/api/v1/webhooks/{}", made_webhook(api).await);
            api.send("PATCH", &path, &[JSON], Some(r#"{"enabled":false}"#)).await.expect(200);
            api.post(&format!("{path}/test")).await
        }
        Kind::TooManyWebhooks => {
            let api = Api::start().await;
            for _ in 0..50 {
                made_webhook(&api).await;
            }
            api.post_json("/api/v1/webhooks", WEBHOOK).await
        }
        Kind::NotFound => api.get("/api/v1/nothing").await,
        Kind::MethodNotAllowed => api.send("PUT", "/api/v1/jobs", &[], None).await,
        Kind::HostRefused => api.send("GET", "/api/v1/jobs", &[("host", "evil.example:8080")], None).await,
        Kind::Unauthorized => {
            let keys = KeyPolicy::asked("a key that nobody shows");
            Api::with(Setting { keys, ..Setting::default() }).await.get("/api/v1/jobs").await
        }
        Kind::Forbidden => {
            let keyed = keyed().await;
            let key = made_key(&keyed, "default", "jobs:read").await;
            keyed.send_as(&key, None, "POST", "/api/v1/queues/a/pause", None).await
        }
        Kind::CrossOrigin => {
            let strange = [JSON, ("sec-fetch-site", "cross-site")];
            let asked = Setting { keys: KeyPolicy::asked(ADMIN), hosts: HostPolicy::Any, ..Setting::default() };
            Api::with(asked).await.send("POST", "/api/v1/session", &strange, Some(r#"{"key":"fm_x"}"#)).await
        }
        Kind::TooManyStreams => {
            let mut setting = Setting::default();
            setting.tail.streams.per_tenant = 0;
            Api::with(setting).await.get("/api/v1/stream").await
        }
        Kind::TooManyRequests => {
            let keyed = keyed().await;
            for _ in 0..10 {
                keyed.send_as("fm_wrong", None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
            }
            keyed.send_as("fm_wrong", None, "GET", "/api/v1/jobs", None).await
        }
        Kind::TenantNotFound => api.get("/api/v1/tenants/nobody").await,
        Kind::InvalidTenant => api.post_json("/api/v1/tenants", r#"{"id":"acme","weight":0}"#).await,
        Kind::TenantInUse => api.send("DELETE", "/api/v1/tenants/default", &[], None).await,
        Kind::KeyNotFound => api.get("/api/v1/tenants/default/keys/0123456789ab").await,
        Kind::InvalidKey => api.post_json("/api/v1/tenants/default/keys", r#"{"scopes":[]}"#).await,
        Kind::KeyNotLive => {
            let made = api.post_json("/api/v1/tenants/default/keys", r#"{"scopes":["admin"]}"#).await.expect(201);
            let path = format!("/api/v1/tenants/default/keys/{}", made["id"].as_str().unwrap());
            api.send("DELETE", &path, &[], None).await.expect(200);
            api.post(&format!("{path}/rotate")).await
        }
        Kind::NoSecretKey => {
            let without = Api::with(Setting { keyring: None, ..Setting::default() }).await;
            without.post("/api/v1/tenants/default/signing-secret").await
        }
        Kind::Overloaded => refusal(SubmitError::Overloaded).await,
        Kind::StoreUnavailable => refusal(SubmitError::Store(StoreError::Unavailable("secret: locked".into()))).await,
        Kind::StoreFull => refusal(SubmitError::Store(StoreError::Full("secret: /var/lib".into()))).await,
        Kind::StoreDamaged => refusal(SubmitError::Store(StoreError::Damaged("secret: page 7".into()))).await,
        Kind::Stopping => refusal(SubmitError::Closed).await,
        Kind::Timeout => {
            let mut client = api.connect().await;
            let head = "POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
            client.send(&format!("{head}content-length: 100\r\n\r\n{{")).await;
            client.reply(false).await
        }
        Kind::Internal => refusal(SubmitError::Store(StoreError::Broken("secret: twice".into()))).await,
    }
}

async fn keyed() -> Api {
    Api::with(Setting { keys: KeyPolicy::asked(ADMIN), ..Setting::default() }).await
}

const ADMIN: &str = "the key of the configuration";

async fn made_key(api: &Api, tenant: &str, scopes: &str) -> String {
    let scopes: Vec<&str> = scopes.split(',').collect();
    let body = serde_json::json!({ "scopes": scopes }).to_string();
    let made = api.send_as(ADMIN, None, "POST", &format!("/api/v1/tenants/{tenant}/keys"), Some(&body)).await;
    made.expect(201)["key"].as_str().unwrap().to_owned()
}

async fn api() -> Api {
    let mut setting = Setting { commands: CommandPolicy::Refused, hosts: HostPolicy::Local, ..Setting::default() };
    setting.bodies.stall = Duration::from_millis(100);
    Api::with(setting).await
}

#[tokio::test]
async fn every_problem_can_be_met_and_is_as_documented() {
    let api = api().await;
    for kind in Kind::ALL {
        let reply = meet(kind, &api).await;
        let retry_after = reply.header("retry-after").map(|secs| secs.parse::<u32>().unwrap());
        if kind == Kind::TooManyRequests {
            assert!((1..=60).contains(&retry_after.expect("how long to wait")), "{retry_after:?}");
        } else {
            assert_eq!(retry_after, kind.retry_after_secs(), "{kind:?}");
        }
        let request_id = reply.header("x-request-id").expect("an id").to_owned();
        let problem = reply.problem(kind.status().as_u16(), kind.slug());
        assert_eq!(problem["title"], kind.title());
        assert_eq!(problem["instance"], request_id);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        assert!(!problem.to_string().contains("secret:"), "what a store says of itself is for the log: {problem}");
        assert_eq!(kind.path(), format!("/errors/{}", kind.slug()));
    }
}

#[tokio::test]
async fn the_page_of_every_problem_is_served_and_shows_its_document() {
    let api = api().await;
    for kind in Kind::ALL {
        let reply = api.get(kind.path()).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/markdown; charset=utf-8")));
        let page = reply.body;
        assert!(page.starts_with(&format!("# {}\n", kind.title())), "{page}");
        let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        let example: BTreeMap<String, serde_json::Value> = serde_json::from_str(example).unwrap();
        assert_eq!(example["type"], kind.path());
        assert_eq!(example["title"], kind.title());
        assert_eq!(example["status"], kind.status().as_u16());
        assert!(page.contains("## How to fix it\n"), "{page}");
        let html = api.send("GET", kind.path(), &[("accept", "text/html,*/*")], None).await;
        assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(html.body.contains(&format!("<h1>{}</h1>", kind.title())), "{}", html.body);
    }
    api.get("/errors/no-such-problem").await.problem(404, "not-found");
}

#[tokio::test]
async fn there_is_a_page_for_every_problem_and_a_problem_for_every_page() {
    let folder = "../../docs/errors";
    let mut pages: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    let mut kinds: Vec<String> = Kind::ALL.iter().map(|kind| kind.slug().to_owned()).collect();
    pages.sort();
    kinds.sort();
    assert_eq!(pages, kinds);
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_next_request_is_served() {
    let api = api().await;
    let mut client = api.connect().await;
    api.store.set(Some(Fault::Panic));
    client.request("GET", "/api/v1/workers", &[], None).await.problem(500, "internal");
    // Also where the work was carried on beside the request.
    client.request("POST", "/api/v1/queues/a/pause", &[], None).await.problem(500, "internal");
    api.store.set(None);
    client.request("GET", "/api/v1/workers", &[], None).await.expect(200);
}

#[tokio::test]
async fn a_store_that_fails_is_a_problem_on_every_route() {
    let api = api().await;
    let id = api.submitted(JOB).await;
    api.store.set(Some(Fault::Error(StoreError::Unavailable("away".into()))));
    for (method, path) in [
        ("GET", "/api/v1/jobs".to_owned()),
        ("GET", "/api/v1/dead".to_owned()),
        ("GET", "/api/v1/queues".to_owned()),
        ("GET", "/api/v1/workers".to_owned()),
        ("GET", format!("/api/v1/jobs/{id}")),
        ("GET", format!("/api/v1/jobs/{id}/wait")),
        ("GET", format!("/api/v1/jobs/{id}/output")),
        ("POST", format!("/api/v1/jobs/{id}/cancel")),
        ("POST", format!("/api/v1/jobs/{id}/retry")),
        ("DELETE", format!("/api/v1/jobs/{id}")),
        ("POST", "/api/v1/queues/a/pause".to_owned()),
        ("POST", "/api/v1/queues/a/resume".to_owned()),
    ] {
        api.send(method, &path, &[], None).await.problem(503, "store-unavailable");
    }
    for verb in ["retry", "cancel", "delete"] {
        let path = format!("/api/v1/jobs/{verb}");
        api.post_json(&path, r#"{"filter":{}}"#).await.problem(503, "store-unavailable");
        api.post_json(&path, r#"{"filter":{},"dry_run":true}"#).await.problem(503, "store-unavailable");
    }
    api.submit_text(JOB).await.problem(503, "store-unavailable");
}

#[tokio::test]
async fn a_method_that_is_not_taken_is_told_which_are() {
    let api = api().await;
    let reply = api.send("PUT", "/api/v1/jobs", &[], None).await;
    let allow = reply.header("allow").expect("Allow").to_owned();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
    reply.problem(405, "method-not-allowed");
    let reply = api.get("/api/v1/jobs/batch").await;
    assert_eq!(reply.header("allow"), Some("POST"));
    reply.problem(405, "method-not-allowed");
}

#[tokio::test]
async fn a_request_keeps_its_id_and_gets_one_if_it_has_none() {
    let api = api().await;
    let given = api.send("GET", "/healthz", &[("x-request-id", "build-42")], None).await;
    assert_eq!(given.header("x-request-id"), Some("build-42"));
    let in_problem = api.send("GET", "/nothing", &[("x-request-id", "build-43")], None).await;
    assert_eq!(in_problem.header("x-request-id"), Some("build-43"));
    assert_eq!(in_problem.problem(404, "not-found")["instance"], "build-43");
    let bad = api.send("GET", "/healthz", &[("x-request-id", "two words")], None).await;
    assert_eq!(bad.header("x-request-id").map(str::len), Some(32));
}

#[tokio::test]
async fn a_page_elsewhere_cannot_reach_a_local_server_by_a_name_of_its_own() {
    let local = api().await;
    local.send("POST", "/api/v1/jobs", &[JSON, ("host", "evil.example")], Some(JOB)).await.problem(421, "host-refused");
    for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "app.localhost"] {
        local.send("GET", "/healthz", &[("host", host)], None).await.expect(200);
    }
    let open = Api::with(Setting { hosts: HostPolicy::Any, ..Setting::default() }).await;
    open.send("GET", "/healthz", &[("host", "foreman.example")], None).await.expect(200);
}

#[tokio::test]
async fn a_page_from_elsewhere_changes_nothing_here() {
    let api = Api::start().await;
    // What a page may send without asking first: a POST without a body, or a form.
    let form = ("content-type", "application/x-www-form-urlencoded");
    for origin in ["http://evil.example", "https://localhost.evil.example:8080", "http://203.0.113.5", "null"] {
        for path in ["/api/v1/queues/mail/pause", "/api/v1/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11/cancel"] {
            let refused = api.send("POST", path, &[("origin", origin), form], None).await;
            refused.problem(421, "host-refused");
        }
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]:8080"] {
        api.send("POST", "/api/v1/queues/mail/pause", &[("origin", origin)], None).await.expect(200);
    }
    api.send("GET", "/api/v1/queues", &[("origin", "http://evil.example")], None).await.expect(200);
}
