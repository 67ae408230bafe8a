//! One job: read, cancel, run again, delete, and what it prints.

use foreman_core::{JobId, Report, Verdict};
use serde_json::json;

use crate::harness::Api;
use crate::matrix::{key, keyed, tenant};

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;
const UNKNOWN: &str = "0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11";

#[tokio::test]
async fn a_job_is_read_with_all_its_attempts() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let held = api.claim(1).await;
    let running = api.job(&id).await;
    assert_eq!(running["state"], "running");
    assert_eq!(running["attempts"][0]["outcome"], json!(null));
    assert_eq!(running["attempts"][0]["worker"], "test-worker");
    drop(held);

    let other = api.submitted(JOB).await;
    api.run_all(|| Verdict::Failed(Report::error("answered 404"))).await;
    let failed = api.job(&other).await;
    assert_eq!((&failed["state"], &failed["error"]), (&json!("failed"), &json!("answered 404")));
    let attempt = &failed["attempts"][0];
    for (field, value) in [("number", json!(1)), ("outcome", json!("failed")), ("error", json!("answered 404"))] {
        assert_eq!(attempt[field], value, "{attempt}");
    }
}

#[tokio::test]
async fn a_waiting_or_running_job_is_cancelled_at_once_and_only_once() {
    let api = Api::start().await;
    let waiting = api.submitted(r#"{"url":"http://127.0.0.1:1/","delay":"1h"}"#).await;
    let running = api.submitted(JOB).await;
    assert_eq!(api.claim(1).await.len(), 1);
    for id in [waiting, running] {
        let cancelled = api.post(&format!("/api/v1/jobs/{id}/cancel")).await.expect(200);
        assert_eq!((&cancelled["id"], &cancelled["state"]), (&json!(id), &json!("cancelled")));
        let problem = api.post(&format!("/api/v1/jobs/{id}/cancel")).await.problem(409, "job-final");
        assert_eq!(problem["state"], "cancelled");
    }
}

#[tokio::test]
async fn a_finished_job_cannot_be_cancelled_and_its_state_is_told() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    api.complete_all().await;
    let problem = api.post(&format!("/api/v1/jobs/{id}/cancel")).await.problem(409, "job-final");
    assert_eq!(problem["state"], "completed");
}

#[tokio::test]
async fn a_dead_job_runs_again_under_its_id_with_its_attempts_kept() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let problem = api.post(&format!("/api/v1/jobs/{id}/retry")).await.problem(409, "job-not-final");
    assert_eq!(problem["state"], "pending");
    api.kill_all().await;
    let again = api.post(&format!("/api/v1/jobs/{id}/retry")).await.expect(200);
    assert_eq!((&again["id"], &again["state"], &again["spent"]), (&json!(id), &json!("pending"), &json!(0)));
    assert_eq!(again["attempts"].as_array().unwrap().len(), 1);
    api.complete_all().await;
    assert_eq!(api.job(&id).await["attempt"], 2);
}

#[tokio::test]
async fn only_a_job_that_has_ended_is_deleted_and_then_it_is_gone() {
    let api = Api::start().await;
    let id = api.submitted(JOB).await;
    let path = format!("/api/v1/jobs/{id}");
    api.send("DELETE", &path, &[], None).await.problem(409, "job-not-final");
    api.complete_all().await;
    let reply = api.send("DELETE", &path, &[], None).await;
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    api.get(&path).await.problem(404, "job-not-found");
    api.send("DELETE", &path, &[], None).await.problem(404, "job-not-found");
}

#[tokio::test]
async fn an_unknown_id_is_not_found_whatever_is_asked_of_it() {
    let api = Api::start().await;
    for (method, verb) in
        [("GET", ""), ("GET", "/wait"), ("GET", "/output"), ("POST", "/cancel"), ("POST", "/retry"), ("DELETE", "")]
    {
        let reply = api.send(method, &format!("/api/v1/jobs/{UNKNOWN}{verb}"), &[], None).await;
        assert!(reply.problem(404, "job-not-found")["detail"].as_str().unwrap().contains(UNKNOWN));
    }
}

#[tokio::test]
async fn what_a_running_command_prints_is_read_line_by_line() {
    let api = Api::start().await;
    let id = api.submitted(r#"{"command":"seq 3"}"#).await;
    let path = format!("/api/v1/jobs/{id}/output");
    let problem = api.get(&path).await.problem(404, "no-live-output");
    assert_eq!(problem["state"], "pending");
    let job: JobId = id.parse().unwrap();
    *api.output.0.lock().unwrap() = Some((job, vec!["1".into(), "2".into(), "3".into()]));
    let chunk = api.get(&path).await.expect(200);
    assert_eq!(chunk["lines"].as_array().unwrap().len(), 3);
    assert_eq!(chunk["lines"][0], json!({"stream": "stdout", "text": "1"}));
    let rest = api.get(&format!("{path}?after=2")).await.expect(200);
    assert_eq!((rest["lines"].as_array().unwrap().len(), &rest["next_line"]), (1, &json!(3)));
}

#[tokio::test]
async fn a_key_that_may_not_read_jobs_is_told_where_they_stand_and_nothing_of_their_content() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (reader, _) = key(&api, "acme", &["jobs:*", "schedules:*"]).await;
    let (writer, _) = key(&api, "acme", &["jobs:write", "schedules:write"]).await;
    let job = r#"{"url":"http://127.0.0.1:1/?hush","payload":{"ssn":"hush"},"tags":["hush"],"idempotency_key":"once"}"#;
    let made = api.send_as(&reader, None, "POST", "/api/v1/jobs", Some(job)).await.expect(202);
    let id = made["id"].as_str().unwrap().to_owned();
    api.run_all(|| Verdict::Dead(Report::error("hush"))).await;
    let schedule = r#"{"name":"s","every":"1h","job":{"url":"http://127.0.0.1:1/?hush","payload":"hush"}}"#;
    api.send_as(&reader, None, "POST", "/api/v1/schedules", Some(schedule)).await.expect(201);
    let (retry, cancel) = (format!("/api/v1/jobs/{id}/retry"), format!("/api/v1/jobs/{id}/cancel"));
    let batch = format!(r#"{{"jobs":[{job}]}}"#);
    let asked: [(&str, Option<&str>, u16); 5] = [
        ("/api/v1/jobs", Some(job), 200),
        ("/api/v1/jobs/batch", Some(&batch), 200),
        (&retry, None, 200),
        (&cancel, None, 200),
        ("/api/v1/schedules/s/run", None, 202),
    ];
    for (path, body, status) in asked {
        let answer = api.send_as(&writer, None, "POST", path, body).await.expect(status);
        assert!(!answer.to_string().contains("hush"), "{path}: {answer}");
        let one = answer["results"].get(0).unwrap_or(&answer);
        assert!(one["id"].is_string() && one["state"].is_string(), "{path}: {answer}");
    }
    for (method, path, body) in [
        ("POST", "/api/v1/schedules/s/pause", None),
        ("POST", "/api/v1/schedules/s/resume", None),
        ("PATCH", "/api/v1/schedules/s", Some(r#"{"every":"2h"}"#)),
        ("PUT", "/api/v1/schedules/s", Some(schedule)),
        ("PUT", "/api/v1/schedules/t", Some(&*schedule.replace("\"s\"", "\"t\""))),
    ] {
        let reply = api.send_as(&writer, None, method, path, body).await;
        assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
        assert!(!reply.body.contains("hush"), "{method} {path}: {}", reply.body);
    }
    let paused = api.send_as(&reader, None, "POST", "/api/v1/schedules/s/pause", None).await.expect(200);
    assert_eq!(paused["job"]["payload"], "hush");
    let shown = api.send_as(&reader, None, "POST", &retry, None).await.expect(200);
    assert_eq!((&shown["payload"]["ssn"], shown["attempts"].is_array()), (&"hush".into(), true));
    api.send_as(&writer, None, "GET", &format!("/api/v1/jobs/{id}"), None).await.problem(403, "forbidden");
}
