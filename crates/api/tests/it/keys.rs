//! The one key, and what stands before the API while there is no store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use foreman_api::{Gate, HostPolicy, KeyPolicy, LateRouter, Meter, Patience, Readiness, Server, Vitals, probes, serve};
use foreman_core::memory::{self, LocalWakeups, ManualClock};
use foreman_runtime::{Stop, Tasks};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::harness::{Api, Setting, in_time};
use crate::http::{Connection, Reply};

const KEY: &str = "a-key-that-nobody-can-guess";

#[tokio::test]
async fn with_a_key_set_every_route_of_the_api_asks_for_it() {
    let api = Api::with(Setting { keys: KeyPolicy::asked(KEY), hosts: HostPolicy::Any, ..Setting::default() }).await;
    let document = foreman_api::openapi();
    let paths: Vec<&String> = document.paths.paths.keys().filter(|path| path.starts_with("/api/")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    // Whoever signs in has no key yet to show, but in the body.
    for path in paths.into_iter().filter(|path| *path != "/api/v1/session") {
        for method in ["GET", "POST", "DELETE"] {
            let reply = api.send(method, path, &[], None).await;
            assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"foreman\""), "{method} {path}");
            reply.problem(401, "unauthorized");
        }
    }
    for wrong in ["Bearer wrong", "Basic eDp5", &format!("Bearer {KEY}!")] {
        api.send("GET", "/api/v1/jobs", &[("authorization", wrong)], None).await.problem(401, "unauthorized");
    }
    let right = format!("Bearer {KEY}");
    api.send("GET", "/api/v1/jobs", &[("authorization", &right)], None).await.expect(200);
    for open in ["/healthz", "/readyz", "/metrics", "/docs", "/errors/unauthorized", "/api/openapi.json"] {
        assert_eq!(api.get(open).await.status, 200, "{open}");
    }
}

#[tokio::test]
async fn what_is_for_commands_inside_the_process_is_refused_over_a_socket() {
    let api = Api::with(Setting { keys: KeyPolicy::Direct, ..Setting::default() }).await;
    let bearer = format!("Bearer {KEY}");
    for headers in [&[][..], &[("authorization", bearer.as_str())][..]] {
        for path in ["/api/v1/jobs", "/api/v1/tenants", "/api/v1/audit"] {
            api.send("GET", path, headers, None).await.problem(401, "unauthorized");
        }
    }
}

#[derive(Default)]
struct Counted(Mutex<Vec<String>>);

impl Meter for Counted {
    fn request(&self, method: &Method, route: &str, status: StatusCode, _: Duration) {
        self.0.lock().unwrap().push(format!("{method} {route} {}", status.as_u16()));
    }

    fn text(&self) -> String {
        "a_counter_total 7\n# EOF\n".into()
    }
}

/// Serves a router on a port of its own; answers how to ask it.
async fn served(router: axum::Router) -> (impl AsyncFn(&str) -> Reply, Stop) {
    let (stop, tasks) = (Stop::new(), Tasks::new());
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addr = server.local_addr();
    drop(tasks.spawn("serve", server.serve(router, serve::Config::default(), stop.shutdown(), tasks.clone())));
    (async move |path: &str| Connection::open(addr).await.request("GET", path, &[], None).await, stop)
}

#[tokio::test]
async fn a_role_without_an_api_serves_its_probes_and_counts() {
    let counted = Arc::new(Counted::default());
    let readiness = Readiness::new();
    let vitals = Vitals::new("1", readiness.clone(), Some(counted.clone()));
    vitals.set_store(Arc::new(memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()))));
    vitals.set_lead(|| "leads in term 3".into());
    let gate = Gate {
        hosts: HostPolicy::Local,
        keys: KeyPolicy::None,
        patience: Patience::default(),
        meter: Some(counted.clone()),
        readiness: Readiness::new(),
    };
    let (get, _stop) = served(probes(vitals, gate)).await;
    get("/healthz").await.expect(200);
    let ready = get("/readyz").await.expect(200);
    assert_eq!(ready["checks"][2], json!({"name": "leader", "ok": true, "detail": "leads in term 3"}));
    let metrics = get("/metrics").await;
    assert_eq!((metrics.status, metrics.body.as_str()), (200, "a_counter_total 7\n# EOF\n"));
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let detail = get("/api/v1/jobs").await.problem(404, "not-found")["detail"].to_string();
    assert!(detail.contains("the API runs in another role"), "{detail}");
    readiness.set_draining();
    get("/readyz").await.expect(503);
    let seen = counted.0.lock().unwrap().clone();
    assert_eq!(seen[..4], ["GET /healthz 200", "GET /readyz 200", "GET /metrics 200", "GET - 404"]);
}

#[tokio::test]
async fn before_there_is_a_store_whoever_asks_is_told_to_come_back() {
    let vitals = Vitals::new("1", Readiness::new(), None);
    let gate = Gate {
        hosts: HostPolicy::Local,
        keys: KeyPolicy::None,
        patience: Patience::default(),
        meter: None,
        readiness: Readiness::new(),
    };
    let late_router = LateRouter::new(vitals.clone(), gate.clone());
    let (get, _stop) = served(late_router.router()).await;
    get("/healthz").await.expect(200);
    vitals.set_waiting("the database does not answer");
    let ready = get("/readyz").await.expect(503);
    assert_eq!(ready["checks"][1]["detail"], "the database does not answer");
    let reply = get("/api/v1/jobs").await;
    assert_eq!(reply.header("retry-after"), Some("2"));
    reply.problem(503, "store-unavailable");

    vitals.set_store(Arc::new(memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()))));
    late_router.open(probes(vitals, gate));
    get("/readyz").await.expect(200);
    get("/api/v1/jobs").await.problem(404, "not-found");
}

#[tokio::test]
async fn guesses_at_the_configured_key_are_slowed_down_too() {
    let patience = Patience { attempts: 3, within: Duration::from_mins(10) };
    let mut was_slowed_down = false;
    // A machine that stands still for a second in between lets the right one in at once.
    for _ in 0..20 {
        let setting = Setting { keys: KeyPolicy::asked(KEY), hosts: HostPolicy::Any, patience, ..Setting::default() };
        let api = Api::with(setting).await;
        let show = async |key: &str| {
            let bearer = format!("Bearer {key}");
            api.send("GET", "/api/v1/jobs", &[("authorization", &bearer)], None).await.status
        };
        for _ in 0..3 {
            assert_eq!(show("a-key-that-somebody-guesses").await, 401);
        }
        for _ in 0..10 {
            assert_eq!(show("a-key-that-somebody-guesses").await, 429);
        }
        was_slowed_down |= show(KEY).await == 429;
        // The operator comes in as one of a few in a second, and from then on whatever a stranger behind the same address does.
        in_time(async {
            while show(KEY).await != 200 {
                api.clock.advance(Duration::from_millis(50));
            }
        })
        .await;
        for _ in 0..20 {
            assert_eq!(show("a-key-that-somebody-guesses").await, 429);
            assert_eq!(show(KEY).await, 200);
        }
        if was_slowed_down {
            break;
        }
    }
    assert!(was_slowed_down, "a right guess is let in however many wrong ones come before it");
}

#[tokio::test]
async fn every_answer_tells_a_browser_what_not_to_do_with_it() {
    let api = Api::with(Setting { keys: KeyPolicy::asked(KEY), hosts: HostPolicy::Any, ..Setting::default() }).await;
    let bearer = format!("Bearer {KEY}");
    let with_key = [("authorization", bearer.as_str())];
    for (path, headers) in [
        ("/api/v1/jobs", &with_key[..]),
        ("/api/v1/jobs", &[]),
        ("/api/v1/nothing", &with_key),
        ("/healthz", &[]),
        ("/nothing", &[]),
    ] {
        let reply = api.send("GET", path, headers, None).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn a_request_for_two_hosts_is_for_none() {
    let api = Api::start().await;
    let reply = api.send("GET", "/api/v1/jobs", &[("host", "localhost"), ("host", "evil.example")], None).await;
    assert!(reply.problem(400, "invalid-request")["detail"].as_str().unwrap().contains("Host"));
}

#[tokio::test]
async fn without_keys_a_page_of_another_site_changes_nothing() {
    let api = Api::start().await;
    for site in ["cross-site", "same-site"] {
        let headers = [("sec-fetch-site", site)];
        api.send("POST", "/api/v1/queues/mail/pause", &headers, None).await.problem(421, "host-refused");
        api.send("GET", "/api/v1/queues", &headers, None).await.expect(200);
    }
    for site in ["same-origin", "none"] {
        api.send("POST", "/api/v1/queues/mail/pause", &[("sec-fetch-site", site)], None).await.expect(200);
    }
}

#[tokio::test]
async fn a_request_from_inside_the_process_needs_no_key_and_is_recorded_as_direct() {
    let api = Api::with(Setting { keys: KeyPolicy::Direct, ..Setting::default() }).await;
    let ask = async |method: &str, path: &str, body: &'static str| {
        let request = http::Request::builder().method(method).uri(path).header("host", "127.0.0.1");
        let request = request.header("content-type", "application/json").body(Body::from(body)).unwrap();
        let response = api.inside.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    let (status, who) = ask("GET", "/api/v1/whoami", "").await;
    assert_eq!((status, &who["key"], &who["tenant"]), (200, &json!("direct"), &json!("default")), "{who}");
    assert_eq!(ask("POST", "/api/v1/tenants", r#"{"id": "acme"}"#).await.0, 201);
    assert_eq!(ask("POST", "/api/v1/tenants/acme/keys", r#"{"scopes": ["admin"]}"#).await.0, 201);
    let (_, log) = ask("GET", "/api/v1/audit?tenant=acme", "").await;
    let acts: Vec<_> = log["items"].as_array().unwrap().iter().map(|act| (&act["action"], &act["actor"])).collect();
    assert_eq!(acts, [(&json!("key.create"), &json!("direct")), (&json!("tenant.create"), &json!("direct"))]);
}
