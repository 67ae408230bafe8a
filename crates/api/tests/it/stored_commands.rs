//! A stored command is started by nobody who could not have submitted it: every operation that runs work again, now, or at another time.
//!
//! The matrix names every operation that changes something, and says whether it can start stored work. A new operation that is in neither
//! list fails here.

use std::collections::BTreeSet;

use foreman_api::gate::access_list::OPERATIONS;
use foreman_api::{CommandPolicy, HostPolicy, KeyPolicy, Patience};
use serde_json::{Value, json};

use crate::harness::{Api, Setting, id_of};
use crate::http::Reply;
use crate::matrix::{ADMIN, key, keyed, tenant};

/// Ways that start stored work, each with the bodies that do so. `{job}` and `{schedule}` are what is stored.
const STARTING: &[(&str, &str, &[Option<&str>])] = &[
    ("POST", "/api/v1/jobs/{id}/retry", &[None]),
    ("POST", "/api/v1/schedules/{schedule}/run", &[None]),
    ("POST", "/api/v1/schedules/{schedule}/resume", &[None]),
    (
        "PATCH",
        "/api/v1/schedules/{schedule}",
        &[
            Some(r#"{"every":"2s"}"#),
            Some(r#"{"every":null,"cron":"* * * * * *"}"#),
            Some(r#"{"every":null,"at":"2999-01-01T00:00:00Z"}"#),
            Some(r#"{"jitter":"1s"}"#),
            Some(r#"{"overlap":"allow"}"#),
            Some(r#"{"missed":"all"}"#),
            Some(r#"{"paused":false}"#),
            Some(r#"{"job":{"queue":"mail"}}"#),
            Some(r#"{"job":{"env":{"A":"b"}}}"#),
            Some(r#"{"job":{"cwd":"/tmp"}}"#),
        ],
    ),
];

/// The one that starts many: commands are skipped instead.
const BULK: (&str, &str) = ("POST", "/api/v1/jobs/retry");

/// Ways that change something and start no stored work: they submit what they carry (which is judged by itself), stop or remove work, or
/// are about something else. Resuming a queue starts only jobs that were submitted to wait in it.
const NOT_STARTING: &[(&str, &str)] = &[
    ("POST", "/api/v1/jobs"),
    ("POST", "/api/v1/jobs/batch"),
    ("POST", "/api/v1/jobs/cancel"),
    ("POST", "/api/v1/jobs/delete"),
    ("DELETE", "/api/v1/jobs/{id}"),
    ("POST", "/api/v1/jobs/{id}/cancel"),
    ("POST", "/api/v1/queues/{queue}/pause"),
    ("POST", "/api/v1/queues/{queue}/resume"),
    ("POST", "/api/v1/schedules"),
    ("POST", "/api/v1/schedules/preview"),
    ("PUT", "/api/v1/schedules/{schedule}"),
    ("DELETE", "/api/v1/schedules/{schedule}"),
    ("POST", "/api/v1/schedules/{schedule}/pause"),
    ("POST", "/api/v1/webhooks"),
    ("PATCH", "/api/v1/webhooks/{webhook}"),
    ("DELETE", "/api/v1/webhooks/{webhook}"),
    ("POST", "/api/v1/webhooks/{webhook}/rotate-secret"),
    ("POST", "/api/v1/webhooks/{webhook}/test"),
    ("POST", "/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend"),
    ("POST", "/api/v1/stream/tickets"),
    ("POST", "/api/v1/session"),
    ("DELETE", "/api/v1/session"),
    ("POST", "/api/v1/tenants"),
    ("PATCH", "/api/v1/tenants/{tenant}"),
    ("DELETE", "/api/v1/tenants/{tenant}"),
    ("POST", "/api/v1/tenants/{tenant}/signing-secret"),
    ("DELETE", "/api/v1/tenants/{tenant}/signing-secret"),
    ("POST", "/api/v1/tenants/{tenant}/keys"),
    ("DELETE", "/api/v1/tenants/{tenant}/keys/{key}"),
    ("POST", "/api/v1/tenants/{tenant}/keys/{key}/rotate"),
];

#[test]
fn every_way_that_changes_something_is_known_to_start_stored_work_or_not_to() {
    let known: BTreeSet<(&str, &str)> = STARTING
        .iter()
        .map(|(method, path, _)| (*method, *path))
        .chain([BULK])
        .chain(NOT_STARTING.iter().copied())
        .collect();
    let changing: BTreeSet<(&str, &str)> = OPERATIONS
        .iter()
        .filter(|operation| operation.path.starts_with("/api/v1"))
        .filter_map(|operation| operation.method.as_ref().map(|method| (method.as_str(), operation.path)))
        .filter(|(method, _)| *method != "GET")
        .collect();
    assert_eq!(known, changing);
}

/// A tenant with one ended job and one paused schedule of this kind of work.
struct Stored {
    api: Api,
    job: String,
}

impl Stored {
    async fn make(work: Value) -> Self {
        let api = keyed().await;
        tenant(&api, "acme").await;
        let list = r#"{"commands":["/bin/true"]}"#;
        api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(list)).await.expect(200);
        let mut job = work.clone();
        job["max_attempts"] = json!(1);
        let own = async |path: &str, body: Value| {
            api.send_as(ADMIN, Some("acme"), "POST", path, Some(&body.to_string())).await
        };
        let job = id_of(&own("/api/v1/jobs", job).await.expect(202));
        api.complete_all().await;
        let schedule = json!({"name": "nightly", "every": "1h", "paused": true, "job": work});
        own("/api/v1/schedules", schedule).await.expect(201);
        Self { api, job }
    }

    fn path(&self, template: &str) -> String {
        template.replace("{id}", &self.job).replace("{schedule}", "nightly")
    }

    async fn belongings(&self) -> Value {
        let get = async |path: &str| self.api.send_as(ADMIN, Some("acme"), "GET", path, None).await.expect(200);
        json!([get("/api/v1/jobs").await, get("/api/v1/schedules").await])
    }

    async fn retry_all(&self, key: &str) -> Reply {
        let body = r#"{"filter":{"state":"completed"}}"#;
        self.api.send_as(key, None, BULK.0, BULK.1, Some(body)).await
    }
}

#[tokio::test]
async fn a_stored_command_is_not_started_without_its_scope() {
    let stored = Stored::make(json!({"command": ["/bin/true"]})).await;
    let (writer, _) = key(&stored.api, "acme", &["jobs:*", "schedules:*"]).await;
    let before = stored.belongings().await;
    for (method, template, bodies) in STARTING {
        for body in *bodies {
            let reply = stored.api.send_as(&writer, None, method, &stored.path(template), *body).await;
            let problem = reply.problem(403, "forbidden");
            assert_eq!(problem["scope"], "exec:command", "{method} {template} {body:?}");
        }
    }
    let answer = stored.retry_all(&writer).await.expect(200);
    assert_eq!((&answer["matched"], &answer["changed"], &answer["skipped"]), (&json!(1), &json!(0), &json!(1)));
    assert_eq!(stored.belongings().await, before, "nothing has changed");
    // It may still be stopped and removed.
    stored.api.send_as(&writer, None, "POST", "/api/v1/schedules/nightly/pause", None).await.expect(200);
    let reply = stored.api.send_as(&writer, None, "DELETE", "/api/v1/schedules/nightly", None).await;
    assert_eq!(reply.status, 204, "{reply:?}");
}

#[tokio::test]
async fn whoever_could_have_submitted_a_command_starts_it_again() {
    for (method, template, bodies) in STARTING {
        for body in *bodies {
            let stored = Stored::make(json!({"command": ["/bin/true"]})).await;
            let (runner, _) = key(&stored.api, "acme", &["jobs:*", "schedules:*", "exec:command"]).await;
            // A variable is another lock, which has a test of its own.
            if body.is_some_and(|body| body.contains("env")) {
                continue;
            }
            let reply = stored.api.send_as(&runner, None, method, &stored.path(template), *body).await;
            assert!((200..300).contains(&reply.status), "{method} {template} {body:?}: {reply:?}");
        }
    }
    let stored = Stored::make(json!({"command": ["/bin/true"]})).await;
    let (runner, _) = key(&stored.api, "acme", &["jobs:*", "exec:command"]).await;
    let answer = stored.retry_all(&runner).await.expect(200);
    assert_eq!((&answer["matched"], &answer["changed"], &answer["skipped"]), (&json!(1), &json!(1), &json!(0)));
}

#[tokio::test]
async fn what_is_no_command_is_started_by_whoever_may_write() {
    let work = json!({"url": "http://127.0.0.1:1/"});
    for (method, template, bodies) in STARTING {
        for body in *bodies {
            if body.is_some_and(|body| body.contains("env") || body.contains("cwd")) {
                continue;
            }
            let stored = Stored::make(work.clone()).await;
            let (writer, _) = key(&stored.api, "acme", &["jobs:*", "schedules:*"]).await;
            let reply = stored.api.send_as(&writer, None, method, &stored.path(template), *body).await;
            assert!((200..300).contains(&reply.status), "{method} {template} {body:?}: {reply:?}");
        }
    }
    let stored = Stored::make(work).await;
    let (writer, _) = key(&stored.api, "acme", &["jobs:*"]).await;
    let answer = stored.retry_all(&writer).await.expect(200);
    assert_eq!((&answer["matched"], &answer["changed"], &answer["skipped"]), (&json!(1), &json!(1), &json!(0)));
}

#[tokio::test]
async fn a_server_that_runs_no_commands_starts_none_that_is_stored() {
    let stored = Stored::make(json!({"command": ["/bin/true"]})).await;
    let patience = Patience { attempts: u32::MAX, ..Patience::default() };
    let shut = Setting {
        keys: KeyPolicy::asked(ADMIN),
        hosts: HostPolicy::Any,
        patience,
        commands: CommandPolicy::Refused,
        ..Setting::default()
    };
    let shut = Api::over(&stored.api, shut).await;
    for (method, template, bodies) in STARTING {
        let body = bodies[0];
        let reply = shut.send_as(ADMIN, Some("acme"), method, &stored.path(template), body).await;
        reply.problem(403, "commands-disabled");
    }
}
