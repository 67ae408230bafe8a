//! The locks on commands, and secrets that are sealed before they are written.

use foreman_api::{CommandPolicy, HostPolicy, KeyPolicy, Patience};
use foreman_core::ports::JobQuery as _;
use foreman_core::{Target, TenantId};
use serde_json::{Value, json};

use crate::harness::{Api, Setting};
use crate::matrix::{ADMIN, key, keyed, tenant};

const JSON: (&str, &str) = ("content-type", "application/json");

fn job(command: &Value) -> String {
    json!({ "command": command }).to_string()
}

fn schedule(name: &str, job: &Value) -> String {
    json!({ "name": name, "every": "1h", "job": job }).to_string()
}

#[tokio::test]
async fn a_command_needs_its_scope_wherever_it_is_sent() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(r#"{"commands":["/bin/true"]}"#)).await.expect(200);
    let (writer, _) = key(&api, "acme", &["jobs:*", "schedules:*"]).await;
    let (runner, _) = key(&api, "acme", &["jobs:*", "schedules:*", "exec:command"]).await;
    let command = json!(["/bin/true"]);
    let refused = |problem: Value| assert_eq!(problem["scope"], "exec:command", "{problem}");

    refused(api.send_as(&writer, None, "POST", "/api/v1/jobs", Some(&job(&command))).await.problem(403, "forbidden"));
    api.send_as(&runner, None, "POST", "/api/v1/jobs", Some(&job(&command))).await.expect(202);

    let batch = json!({"jobs": [{"url": "http://127.0.0.1:1/"}, {"command": command}]}).to_string();
    let answer = api.send_as(&writer, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await.expect(200);
    assert_eq!(answer["results"][0]["state"], "pending");
    assert_eq!(answer["results"][1]["type"], "/errors/forbidden");
    refused(answer["results"][1].clone());
    let answer = api.send_as(&runner, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await.expect(200);
    assert_eq!(answer["results"][1]["state"], "pending");

    let spec = schedule("nightly", &json!({"command": command}));
    for (method, path) in [("POST", "/api/v1/schedules"), ("PUT", "/api/v1/schedules/nightly")] {
        refused(api.send_as(&writer, None, method, path, Some(&spec)).await.problem(403, "forbidden"));
    }
    api.send_as(&runner, None, "POST", "/api/v1/schedules", Some(&spec)).await.expect(201);
    let path = "/api/v1/schedules/nightly";
    for patch in [
        json!({"job": {"command": command}}),
        json!({"job": {"env": {"LD_PRELOAD": "/tmp/x"}}}),
        json!({"job": {"cwd": "/tmp"}}),
    ] {
        refused(api.send_as(&writer, None, "PATCH", path, Some(&patch.to_string())).await.problem(403, "forbidden"));
    }
    api.send_as(&runner, None, "PATCH", path, Some(r#"{"job":{"cwd":"/tmp"}}"#)).await.expect(200);

    // One that calls is changed by whoever may write.
    let spec = schedule("calls", &json!({"url": "http://127.0.0.1:1/"}));
    api.send_as(&writer, None, "POST", "/api/v1/schedules", Some(&spec)).await.expect(201);
    let path = "/api/v1/schedules/calls";
    api.send_as(&writer, None, "PATCH", path, Some(r#"{"job":{"queue":"mail"}}"#)).await.expect(200);
    let bearer = format!("Bearer {writer}");
    let stale = [JSON, ("authorization", bearer.as_str()), ("if-match", "\"1\"")];
    let problem = api.send("PATCH", path, &stale, Some(r#"{"job":{"queue":"post"}}"#)).await;
    assert_eq!(problem.problem(412, "precondition-failed")["version"], 2);
    let now = [JSON, ("authorization", bearer.as_str()), ("if-match", "\"2\"")];
    api.send("PATCH", path, &now, Some(r#"{"job":{"queue":"post"}}"#)).await.expect(200);
}

#[tokio::test]
async fn a_tenant_runs_only_what_is_on_its_list() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (runner, _) = key(&api, "acme", &["jobs:*", "schedules:*", "exec:command"]).await;
    let post = async |command: &Value| api.send_as(&runner, None, "POST", "/api/v1/jobs", Some(&job(command))).await;
    let problem = post(&json!(["/bin/true"])).await.problem(422, "invalid-job");
    assert_eq!(problem["errors"][0]["pointer"], "/command");
    assert!(problem["detail"].as_str().unwrap().contains("may run nothing"), "{problem}");
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(r#"{"commands":["/bin/true"]}"#)).await.expect(200);
    post(&json!(["/bin/true", "--help"])).await.expect(202);
    for other in [json!(["/bin/false"]), json!(["true"]), json!("true"), json!(["/bin/../bin/true"])] {
        let problem = post(&other).await.problem(422, "invalid-job");
        assert!(problem["detail"].as_str().unwrap().contains("/bin/true"), "it says what may be run: {problem}");
    }
    for (method, path, body) in [
        ("POST", "/api/v1/schedules", schedule("a", &json!({"command": "true"}))),
        ("PUT", "/api/v1/schedules/a", schedule("a", &json!({"command": "true"}))),
        ("PATCH", "/api/v1/schedules/a", json!({"job": {"command": "true"}}).to_string()),
    ] {
        let problem = api.send_as(&runner, None, method, path, Some(&body)).await.problem(422, "invalid-schedule");
        assert_eq!(problem["errors"][0]["pointer"], "/job/command", "{method}");
    }
    // Nor what a variable makes of it.
    for name in ["LD_PRELOAD", "BASH_ENV", "PATH", "TAR_OPTIONS", "TOKEN"] {
        let job = json!({"command": ["/bin/true"], "env": {name: "$(id)"}});
        let problem = api.send_as(&runner, None, "POST", "/api/v1/jobs", Some(&job.to_string())).await;
        assert_eq!(problem.problem(422, "invalid-job")["errors"][0]["pointer"], format!("/env/{name}"));
        let problem = api.send_as(&runner, None, "POST", "/api/v1/schedules", Some(&schedule("b", &job))).await;
        assert_eq!(problem.problem(422, "invalid-schedule")["errors"][0]["pointer"], format!("/job/env/{name}"));
    }
    let list = r#"{"variables":["TOKEN","REPORT_*"]}"#;
    let told = api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(list)).await.expect(200);
    assert_eq!((&told["variables"], &told["commands"]), (&json!(["REPORT_*", "TOKEN"]), &json!(["/bin/true"])));
    for wrong in [r#"{"variables":["A B"]}"#, r#"{"variables":["*A"]}"#] {
        api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(wrong)).await.problem(422, "invalid-tenant");
    }
    let harmless = schedule("b", &json!({"command": ["/bin/true"], "env": {"TOKEN": "x"}}));
    api.send_as(&runner, None, "POST", "/api/v1/schedules", Some(&harmless)).await.expect(201);
    let patch = json!({"job": {"env": {"BASH_ENV": "$(id)"}}}).to_string();
    let problem = api.send_as(&runner, None, "PATCH", "/api/v1/schedules/b", Some(&patch)).await;
    assert_eq!(problem.problem(422, "invalid-schedule")["errors"][0]["pointer"], "/job/env/BASH_ENV");
    // The operator's own lock comes first.
    let patience = Patience::default();
    let shut = Setting {
        keys: KeyPolicy::asked(ADMIN),
        hosts: HostPolicy::Any,
        patience,
        commands: CommandPolicy::Refused,
        ..Setting::default()
    };
    let shut = Api::with(shut).await;
    shut.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(&job(&json!("true"))))
        .await
        .problem(403, "commands-disabled");
}

#[tokio::test]
async fn a_server_without_keys_runs_what_it_is_given() {
    let api = Api::start().await;
    for command in [json!("true"), json!(["true"]), json!(["/bin/true"])] {
        api.submit_text(&job(&command)).await.expect(202);
    }
}

#[tokio::test]
async fn what_may_be_secret_is_sealed_before_it_is_written_and_shown_to_nobody() {
    let api = Api::start().await;
    let call = r#"{"url":"http://127.0.0.1:1/","headers":{"Authorization":"Bearer hush"},"idempotency_key":"k"}"#;
    let run = r#"{"command":"true","env":{"TOKEN":"hush"}}"#;
    for (body, field, name) in [(call, "headers", "authorization"), (run, "env", "TOKEN")] {
        let made = api.submit_text(body).await;
        assert!(!made.body.contains("hush"), "{made:?}");
        let made = made.expect(202);
        assert_eq!(made[field][name], "***", "{made}");
        let id = made["id"].as_str().unwrap();
        assert_eq!(api.job(id).await[field][name], "***");
        let view = api.store.inner.get(&TenantId::default(), id.parse().unwrap()).await.unwrap().unwrap();
        assert!(view.job.work.target.is_safe_to_keep());
        let kept = serde_json::to_string(&*view.job.work).unwrap();
        assert!(kept.contains("fmsec1") && !kept.contains("hush"), "{kept}");
    }
    // Sealed anew each time, and still the same job.
    assert_eq!(api.submit_text(call).await.header("idempotency-replayed"), Some("true"));
    api.submit_text(&call.replace("hush", "other")).await.problem(422, "idempotency-key-reused");
    let batch = api.post_json("/api/v1/jobs/batch", &format!(r#"{{"jobs":[{run}]}}"#)).await;
    assert!(batch.status == 200 && !batch.body.contains("hush"), "{batch:?}");
    for held in api.claim(10).await {
        let safe = match &held.job.work.target {
            Target::Http(http) => http.headers.is_safe_to_keep(),
            target => target.is_safe_to_keep(),
        };
        assert!(safe);
    }
}

#[tokio::test]
async fn a_server_that_cannot_seal_takes_nothing_that_may_be_secret() {
    let api = Api::with(Setting { keyring: None, ..Setting::default() }).await;
    for (body, pointer) in [
        (r#"{"url":"http://127.0.0.1:1/","headers":{"x-a":"b"}}"#, "/headers"),
        (r#"{"command":"true","env":{"A":"b"}}"#, "/env"),
    ] {
        let problem = api.submit_text(body).await.problem(422, "invalid-job");
        assert_eq!(problem["errors"][0]["pointer"], pointer);
        assert!(problem["detail"].as_str().unwrap().contains("FOREMAN_SECRET_KEY"), "{problem}");
        let batch = api.post_json("/api/v1/jobs/batch", &format!(r#"{{"jobs":[{body}]}}"#)).await.expect(200);
        assert_eq!(batch["results"][0]["errors"][0]["pointer"], pointer);
    }
    api.submit_text(r#"{"url":"http://127.0.0.1:1/","headers":{}}"#).await.expect(202);
    api.submit_text(r#"{"command":"true"}"#).await.expect(202);
}
