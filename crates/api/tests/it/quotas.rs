//! How much a tenant may ask for.

use std::time::Duration;

use foreman_core::tenant::{Limit, TenantLimits};
use serde_json::{Value, json};

use crate::harness::{Api, Setting, in_time};
use crate::http::Reply;

const JOB: &str = r#"{"url":"http://127.0.0.1:1/"}"#;

async fn limited(limit: impl FnOnce(&mut TenantLimits)) -> Api {
    let mut tenant_limits = TenantLimits::unlimited();
    limit(&mut tenant_limits);
    Api::with(Setting { tenant_limits, ..Setting::default() }).await
}

async fn batch(api: &Api, count: usize) -> Reply {
    let job: Value = serde_json::from_str(JOB).unwrap();
    api.post_json("/api/v1/jobs/batch", &json!({ "jobs": vec![job; count] }).to_string()).await
}

#[tokio::test]
async fn a_burst_goes_through_and_then_the_rate() {
    let api = limited(|limits| {
        limits.submit_per_second = Limit::AtMost(2);
        limits.submit_burst = Limit::AtMost(4);
    })
    .await;
    let first = api.submit_text(JOB).await;
    let told = |reply: &Reply, name: &str| reply.header(name).map(str::to_owned);
    assert_eq!(told(&first, "ratelimit-limit").as_deref(), Some("4"));
    assert_eq!(told(&first, "ratelimit-remaining").as_deref(), Some("3"));
    first.expect(202);
    assert_eq!(batch(&api, 3).await.header("ratelimit-remaining"), Some("0"));
    let refused = api.submit_text(JOB).await;
    assert_eq!(
        (told(&refused, "retry-after").as_deref(), told(&refused, "ratelimit-reset").as_deref()),
        (Some("1"), Some("2"))
    );
    refused.problem(429, "too-many-requests");
    assert_eq!(api.get("/api/v1/jobs").await.expect(200)["items"].as_array().unwrap().len(), 4, "nothing was accepted");
    api.clock.advance(Duration::from_millis(500));
    api.submit_text(JOB).await.expect(202);

    api.clock.advance(Duration::from_mins(1));
    let too_large = batch(&api, 5).await;
    assert_eq!(too_large.header("ratelimit-remaining"), Some("4"));
    let problem = too_large.problem(429, "too-many-requests");
    assert!(problem["detail"].as_str().unwrap().contains("send fewer at a time"), "{problem}");
    batch(&api, 4).await.expect(200);
}

#[tokio::test]
async fn so_many_may_wait_and_no_more() {
    let api = limited(|limits| limits.queued_jobs = Limit::AtMost(3)).await;
    batch(&api, 2).await.expect(200);
    batch(&api, 2).await.problem(429, "too-many-requests");
    let last = api.submit_text(JOB).await.expect(202);
    let refused = api.submit_text(JOB).await;
    assert!(refused.header("retry-after").is_some());
    assert!(refused.problem(429, "too-many-requests")["detail"].as_str().unwrap().contains("3 jobs waiting"));
    api.post(&format!("/api/v1/jobs/{}/cancel", last["id"].as_str().unwrap())).await.expect(200);
    // Counted anew after a moment.
    in_time(async {
        while api.submit_text(JOB).await.status != 202 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn so_many_hosts_may_be_called() {
    let api = limited(|limits| limits.target_hosts_per_minute = Limit::AtMost(2)).await;
    let to = |host: &str| format!(r#"{{"url":"http://{host}/"}}"#);
    for host in ["a.example", "b.example", "a.example", "A.EXAMPLE"] {
        api.submit_text(&to(host)).await.expect(202);
    }
    let refused = api.submit_text(&to("c.example")).await;
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    refused.problem(429, "too-many-requests");
    api.submit_text(&to("b.example")).await.expect(202);
    api.submit_text(r#"{"task":"mail.send"}"#).await.expect(202);
}

#[tokio::test]
async fn a_tenant_has_so_many_schedules() {
    let api = limited(|limits| limits.schedules = Limit::AtMost(1)).await;
    let named = |name: &str| format!(r#"{{"name":"{name}","every":"1h","job":{{"url":"http://127.0.0.1:1/"}}}}"#);
    api.post_json("/api/v1/schedules", &named("a")).await.expect(201);
    api.post_json("/api/v1/schedules", &named("b")).await.problem(429, "too-many-requests");
    let json = [("content-type", "application/json")];
    api.send("PUT", "/api/v1/schedules/b", &json, Some(&named("b"))).await.problem(429, "too-many-requests");
    api.send("PUT", "/api/v1/schedules/a", &json, Some(&named("a"))).await.expect(200);
}

#[tokio::test]
async fn a_job_carries_so_much() {
    let api = limited(|limits| limits.payload_bytes = Limit::AtMost(10)).await;
    api.submit_text(r#"{"url":"http://127.0.0.1:1/","payload":"12345678"}"#).await.expect(202);
    for (body, pointer) in [
        (r#"{"url":"http://127.0.0.1:1/","payload":"123456789"}"#, "/payload"),
        (r#"{"url":"http://127.0.0.1:1/","body":"12345678901"}"#, "/body"),
    ] {
        let problem = api.submit_text(body).await.problem(422, "invalid-job");
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
}

#[tokio::test]
async fn callbacks_schedules_and_webhooks_call_hosts_too() {
    let api = limited(|limits| limits.target_hosts_per_minute = Limit::AtMost(2)).await;
    let json = [("content-type", "application/json")];
    let with_callback = |host: &str| format!(r#"{{"url":"http://a.example/","callback_url":"http://{host}/"}}"#);
    api.submit_text(&with_callback("b.example")).await.expect(202);
    api.submit_text(&with_callback("c.example")).await.problem(429, "too-many-requests");
    api.submit_text(r#"{"task":"mail.send","callback_url":"http://c.example/"}"#)
        .await
        .problem(429, "too-many-requests");

    let schedule = |host: &str| format!(r#"{{"name":"s","every":"1h","job":{{"url":"http://{host}/"}}}}"#);
    api.post_json("/api/v1/schedules", &schedule("c.example")).await.problem(429, "too-many-requests");
    api.post_json("/api/v1/schedules", &schedule("a.example")).await.expect(201);
    for patch in [r#"{"job":{"url":"http://c.example/"}}"#, r#"{"job":{"callback_url":"http://c.example/"}}"#] {
        let refused = api.send("PATCH", "/api/v1/schedules/s", &json, Some(patch)).await;
        refused.problem(429, "too-many-requests");
    }

    let webhook = |host: &str| format!(r#"{{"url":"http://{host}/","events":["*"]}}"#);
    api.post_json("/api/v1/webhooks", &webhook("c.example")).await.problem(429, "too-many-requests");
    let made = api.post_json("/api/v1/webhooks", &webhook("b.example")).await.expect(201);
    let path = format!("/api/v1/webhooks/{}", made["id"].as_str().unwrap());
    let refused = api.send("PATCH", &path, &json, Some(r#"{"url":"http://c.example/"}"#)).await;
    refused.problem(429, "too-many-requests");
    api.send("PATCH", &path, &json, Some(r#"{"enabled":false}"#)).await.expect(200);
}

#[tokio::test]
async fn a_schedule_run_by_hand_is_a_submission() {
    let api = limited(|limits| limits.queued_jobs = Limit::AtMost(1)).await;
    let schedule = r#"{"name":"s","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
    api.post_json("/api/v1/schedules", schedule).await.expect(201);
    api.post("/api/v1/schedules/s/run").await.expect(202);
    api.post("/api/v1/schedules/s/run").await.problem(429, "too-many-requests");

    let api = limited(|limits| {
        limits.submit_per_second = Limit::AtMost(1);
        limits.submit_burst = Limit::AtMost(1);
    })
    .await;
    api.post_json("/api/v1/schedules", schedule).await.expect(201);
    let first = api.post("/api/v1/schedules/s/run").await;
    assert_eq!(first.header("ratelimit-remaining"), Some("0"));
    first.expect(202);
    api.post("/api/v1/schedules/s/run").await.problem(429, "too-many-requests");
    api.post("/api/v1/schedules/none/run").await.problem(404, "schedule-not-found");
}

#[tokio::test]
async fn the_job_of_a_schedule_carries_no_more_than_another() {
    let api = limited(|limits| limits.payload_bytes = Limit::AtMost(10)).await;
    let json = [("content-type", "application/json")];
    let schedule = |job: &str| format!(r#"{{"name":"s","every":"1h","job":{{"url":"http://127.0.0.1:1/",{job}}}}}"#);
    api.post_json("/api/v1/schedules", &schedule(r#""payload":"12345678""#)).await.expect(201);
    for (job, pointer) in [(r#""payload":"123456789""#, "/job/payload"), (r#""body":"12345678901""#, "/job/body")] {
        let replaced = api.send("PUT", "/api/v1/schedules/s", &json, Some(&schedule(job))).await;
        assert_eq!(replaced.problem(422, "invalid-schedule")["errors"][0]["pointer"], pointer);
        let patch = format!(r#"{{"job":{{{job}}}}}"#);
        let patched = api.send("PATCH", "/api/v1/schedules/s", &json, Some(&patch)).await;
        assert_eq!(patched.problem(422, "invalid-schedule")["errors"][0]["pointer"], pointer);
    }
}
