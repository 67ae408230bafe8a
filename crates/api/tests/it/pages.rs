//! Health, the reference, and what stands beside the API.

use foreman_core::ports::StoreError;
use serde_json::{Value, json};

use crate::faulty::Fault;
use crate::harness::{Api, Setting, until};

#[tokio::test]
async fn a_process_that_answers_is_alive() {
    let api = Api::start().await;
    assert_eq!(api.get("/healthz").await.expect(200), json!({"status": "alive", "version": "0.0.0-test"}));
    let head = api.send("HEAD", "/healthz", &[], None).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn it_is_ready_while_the_store_answers_and_it_is_not_stopping() {
    let api = Api::start().await;
    assert_eq!(
        api.get("/readyz").await.expect(200),
        json!({"ready": true, "checks": [{"name": "intake", "ok": true}, {"name": "store", "ok": true}]})
    );
    for fault in [Fault::Error(StoreError::Unavailable("secret".into())), Fault::Hang] {
        api.store.set(Some(fault));
        let answer = api.get("/readyz").await.expect(503);
        assert_eq!((&answer["ready"], &answer["checks"][1]["ok"]), (&json!(false), &json!(false)));
        assert!(answer["checks"][1]["detail"].as_str().unwrap().contains("store"), "{answer}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    api.store.set(None);
    api.readiness.set_draining();
    let answer = api.get("/readyz").await.expect(503);
    assert!(answer["checks"][0]["detail"].as_str().unwrap().contains("stopping"), "{answer}");
    api.get("/healthz").await.expect(200);
    api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
}

#[tokio::test]
async fn once_damage_was_met_it_is_told_and_the_server_is_not_ready_until_it_is_started_anew() {
    let damaged = || Some(Fault::Error(StoreError::Damaged("secret: page 7".into())));
    // Met by a request, by a job of a batch, by the check itself, and by what follows the changes.
    for place in ["request", "batch", "check", "tail"] {
        let api = Api::start().await;
        let id = api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
        api.get("/readyz").await.expect(200);
        match place {
            "request" => {
                api.store.set(damaged());
                let problem = api.get(&format!("/api/v1/jobs/{id}")).await.problem(500, "store-damaged");
                assert!(!problem.to_string().contains("secret"), "{problem}");
            }
            "batch" => {
                let batch = r#"{"jobs":[{"url":"http://127.0.0.1:1/","idempotency_key":"k"}]}"#;
                api.post_json("/api/v1/jobs/batch", batch).await.expect(200);
                api.store.set_after(1, damaged());
                let answer = api.post_json("/api/v1/jobs/batch", batch).await.expect(200);
                assert_eq!(answer["results"][0]["type"], "/errors/store-damaged");
            }
            "check" => {
                api.store.set(damaged());
                api.get("/readyz").await.expect(503);
            }
            _ => {
                api.store.set(damaged());
                let _waiter = api.waits.register(&foreman_core::TenantId::default(), id.parse().unwrap()).unwrap();
                until("the tail has met it", || api.store.faults_met() > 0).await;
            }
        }
        api.store.set(None);
        let answer = api.get("/readyz").await.expect(503);
        assert_eq!(answer["ready"], false, "{place}");
        let detail = answer["checks"][1]["detail"].as_str().unwrap();
        assert!(detail.contains("damaged") && detail.contains("foreman check --deep"), "{place}: {detail}");
        assert!(!detail.contains("secret"), "{place}: {detail}");
        api.get("/healthz").await.expect(200);
    }
}

#[tokio::test]
async fn what_is_a_bug_of_ours_is_not_called_damage() {
    let api = Api::start().await;
    api.store.set(Some(Fault::Error(StoreError::Broken("secret".into()))));
    api.get("/api/v1/jobs").await.problem(500, "internal");
    api.store.set(None);
    api.get("/readyz").await.expect(200);
}

#[tokio::test]
async fn the_checked_in_document_is_the_one_the_code_makes() {
    let path = "../../docs/openapi.json";
    let made = foreman_api::openapi().to_pretty_json().unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, not a setting of the program")]
    if std::env::var_os("FOREMAN_BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(
        kept == made,
        "docs/openapi.json is out of date: run FOREMAN_BLESS=1 cargo test -p foreman-api, or foreman openapi"
    );
}

#[tokio::test]
async fn the_document_lists_every_route_and_every_shape_it_names() {
    let api = Api::start().await;
    let document = api.get("/api/openapi.json").await.expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    for (path, method) in [
        ("/api/v1/jobs", "post"),
        ("/api/v1/jobs", "get"),
        ("/api/v1/jobs/batch", "post"),
        ("/api/v1/jobs/retry", "post"),
        ("/api/v1/jobs/cancel", "post"),
        ("/api/v1/jobs/delete", "post"),
        ("/api/v1/jobs/{id}", "get"),
        ("/api/v1/jobs/{id}", "delete"),
        ("/api/v1/jobs/{id}/wait", "get"),
        ("/api/v1/jobs/{id}/output", "get"),
        ("/api/v1/jobs/{id}/cancel", "post"),
        ("/api/v1/jobs/{id}/retry", "post"),
        ("/api/v1/dead", "get"),
        ("/api/v1/queues", "get"),
        ("/api/v1/queues/{queue}/pause", "post"),
        ("/api/v1/queues/{queue}/resume", "post"),
        ("/api/v1/workers", "get"),
        ("/api/v1/workers/{worker}/jobs", "get"),
        ("/api/v1/dead/groups", "get"),
        ("/api/v1/errors/groups", "get"),
        ("/api/v1/overview", "get"),
        ("/api/v1/statistics", "get"),
        ("/api/v1/statistics/queues", "get"),
        ("/healthz", "get"),
        ("/readyz", "get"),
    ] {
        let operation = &document["paths"][path][method];
        assert!(operation["operationId"].is_string(), "{method} {path}");
        assert!(operation["summary"].is_string(), "{method} {path}");
        assert!(
            operation["responses"]["500"].is_object() && operation["responses"]["default"].is_null(),
            "{method} {path}"
        );
    }
    let mut names = Vec::new();
    references(&document, &mut names);
    assert!(names.len() > 10);
    for name in names {
        assert!(document.pointer(&name).is_some_and(Value::is_object), "{name} is named and not described");
    }
}

fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                names.push(reference.trim_start_matches('#').to_owned());
            }
            map.values().for_each(|value| references(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

#[tokio::test]
async fn the_pages_load_nothing_from_elsewhere() {
    let api = Api::start().await;
    for (path, media_type) in
        [("/docs", "text/html"), ("/docs/app.js", "text/javascript"), ("/docs/style.css", "text/css")]
    {
        let reply = api.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("content-type").unwrap().starts_with(media_type), "{path}");
        assert!(reply.header("content-security-policy").unwrap().contains("default-src 'self'"), "{path}");
        for elsewhere in ["src=\"http", "href=\"http", "@import", "url(http", "<script>"] {
            assert!(!reply.body.contains(elsewhere), "{path} has {elsewhere}");
        }
    }
}

#[tokio::test]
async fn dev_has_targets_to_try_and_nothing_else_has() {
    let api = Api::start().await;
    let headers = [("foreman-job-id", "7"), ("authorization", "secret"), ("content-type", "application/json")];
    let echo = api.send("PATCH", "/dev/echo", &headers, Some(r#"{"n":1}"#)).await.expect(200);
    assert_eq!((&echo["method"], &echo["body"]), (&json!("PATCH"), &json!(r#"{"n":1}"#)));
    assert_eq!(echo["headers"]["foreman-job-id"], "7");
    assert!(echo["headers"].get("authorization").is_none());
    assert_eq!(api.get("/dev/status/503").await.expect(503)["status"], 503);
    api.get("/dev/status/99").await.problem(400, "invalid-request");
    assert_eq!(api.get("/dev/wait/20ms").await.expect(200)["waited_ms"], 20);
    api.get("/dev/wait/1h").await.problem(400, "invalid-request");
    for (attempt, status) in [("1", 503), ("2", 503), ("3", 200)] {
        api.send("POST", "/dev/flaky/2", &[("foreman-attempt", attempt)], None).await.expect(status);
    }
    let other = Api::with(Setting { dev: false, ..Setting::default() }).await;
    other.get("/dev/echo").await.problem(404, "not-found");
}
