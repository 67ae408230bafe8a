//! How much a tenant may ask for.

use std::sync::Arc;
use std::time::Duration;

use foreman_api::{KeyPolicy, Patience};
use foreman_core::memory::{LocalLimiter, ManualClock};
use foreman_core::ports::Limiter;
use foreman_core::tenant::{Limit, TenantLimits};
use foreman_runtime::Stop;
use serde_json::{Value, json};

use crate::harness::{Api, Setting, in_time};
use crate::http::Reply;
use crate::matrix::{ADMIN, key, keyed, keyed_setting, tenant};

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
async fn servers_that_share_a_limiter_share_every_rate() {
    let limiter: Arc<dyn Limiter> = Arc::new(LocalLimiter::new(Arc::new(ManualClock::new())));
    let setting = || {
        let mut tenant_limits = TenantLimits::unlimited();
        (tenant_limits.submit_per_second, tenant_limits.submit_burst) = (Limit::AtMost(2), Limit::AtMost(4));
        tenant_limits.target_hosts_per_minute = Limit::AtMost(2);
        let patience = Patience { attempts: 2, ..Patience::default() };
        let keys = KeyPolicy::asked(ADMIN);
        Setting { tenant_limits, keys, patience, limiter: Some(limiter.clone()), ..keyed_setting() }
    };
    let first = Api::with(setting()).await;
    let second = Api::over(&first, setting()).await;
    let submit = async |api: &Api, host: &str| {
        api.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(&format!(r#"{{"url":"http://{host}.example/"}}"#))).await
    };
    for (api, host, left) in [(&first, "a", "3"), (&second, "b", "2"), (&first, "b", "1")] {
        let reply = submit(api, host).await;
        assert_eq!(reply.header("ratelimit-remaining"), Some(left));
        reply.expect(202);
    }
    let detail = submit(&second, "c").await.problem(429, "too-many-requests")["detail"].to_string();
    assert!(detail.contains("2 different hosts"), "{detail}");
    let refused = submit(&first, "a").await;
    assert_eq!((refused.header("ratelimit-reset"), refused.header("retry-after")), (Some("2"), Some("1")));
    refused.problem(429, "too-many-requests");
    for (api, status) in [(&first, 401), (&second, 401), (&first, 429), (&second, 429)] {
        assert_eq!(api.send_as("no-key-of-this-server", None, "GET", "/api/v1/jobs", None).await.status, status);
    }
}

#[tokio::test]
async fn so_many_may_wait_and_no_more() {
    let api = limited(|limits| limits.queued_jobs = Limit::AtMost(3)).await;
    batch(&api, 2).await.expect(200);
    batch(&api, 2).await.problem(429, "too-many-requests");
    let last = api.submit_text(JOB).await.expect(202);
    let refused = api.submit_text(JOB).await;
    assert!(refused.header("retry-after").is_some());
    assert!(refused.problem(429, "too-many-requests")["detail"].as_str().unwrap().contains("3 waiting jobs"));
    api.post(&format!("/api/v1/jobs/{}/cancel", last["id"].as_str().unwrap())).await.expect(200);
    // Counted anew after a moment.
    in_time(async {
        while api.submit_text(JOB).await.status != 202 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

fn queue_names(most: u64) -> Setting {
    let tenant_limits = TenantLimits { queue_names: Limit::AtMost(most), ..TenantLimits::unlimited() };
    Setting { tenant_limits, ..Setting::default() }
}

async fn submit_to(api: &Api, queue: &str) -> Reply {
    api.submit_text(&json!({"url": "http://127.0.0.1:1/", "queue": queue}).to_string()).await
}

async fn batch_to(api: &Api, queues: &[&str]) -> Reply {
    let jobs: Vec<Value> = queues.iter().map(|queue| json!({"url": "http://127.0.0.1:1/", "queue": queue})).collect();
    api.post_json("/api/v1/jobs/batch", &json!({ "jobs": jobs }).to_string()).await
}

#[tokio::test]
async fn jobs_wait_in_so_many_queues_and_no_more() {
    let api = Api::with(queue_names(2)).await;
    submit_to(&api, "mail").await.expect(202);
    batch_to(&api, &["mail", "video", "mail"]).await.expect(200);
    let refused = submit_to(&api, "third").await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    let problem = refused.problem(429, "too-many-requests");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("limit of 2 queues with waiting jobs (`queue_names`)"), "{detail}");
    assert!(detail.contains("the queue third would be one more"), "{detail}");
    batch_to(&api, &["mail", "third"]).await.problem(429, "too-many-requests");
    let jobs = api.get("/api/v1/jobs").await.expect(200)["items"].as_array().unwrap().len();
    assert_eq!(jobs, 4, "a batch goes in whole or not at all");
    batch_to(&api, &["video", "mail"]).await.expect(200);

    // A process that knows nothing yet.
    let other = Api::over(&api, queue_names(2)).await;
    submit_to(&other, "third").await.problem(429, "too-many-requests");
    // It looks for waiting jobs again as soon as looking takes a small part of the time.
    in_time(async {
        while submit_to(&other, "video").await.status != 202 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    api.complete_all().await;
    in_time(async {
        while submit_to(&other, "third").await.status != 202 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn whatever_makes_a_job_waits_in_a_queue_that_counts() {
    let api = Api::with(Setting::default()).await;
    let job = submit_to(&api, "first").await.expect(202)["id"].as_str().unwrap().to_owned();
    submit_to(&api, "second").await.expect(202);
    api.kill_all().await;
    let schedule = r#"{"name":"s","every":"1h","job":{"url":"http://127.0.0.1:1/","queue":"timed"}}"#;
    api.post_json("/api/v1/schedules", schedule).await.expect(201);

    let limited = Api::over(&api, queue_names(1)).await;
    let refused = limited.post_json("/api/v1/jobs/retry", r#"{"filter":{}}"#).await;
    let problem = refused.problem(429, "too-many-requests");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("1 jobs were retried before this error"), "{detail}");
    assert!(detail.contains("the queue first would be one more"), "{detail}");
    limited.post(&format!("/api/v1/jobs/{job}/retry")).await.problem(429, "too-many-requests");
    limited.post("/api/v1/schedules/s/run").await.problem(429, "too-many-requests");
    submit_to(&limited, "second").await.expect(202);
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

/// A server that asks for keys, and a key of a tenant that may do so much at once and gets one more in a second.
async fn tenant_of(limits: Value) -> (Api, String) {
    let api = keyed().await;
    tenant(&api, "small").await;
    let patch = json!({ "limits": limits }).to_string();
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/small", Some(&patch)).await.expect(200);
    let scopes = ["jobs:read", "jobs:write", "schedules:read", "schedules:write", "stream:read"];
    let (key, _) = key(&api, "small", &scopes).await;
    (api, key)
}

async fn slow(burst: u64) -> (Api, String) {
    tenant_of(json!({ "submit_per_second": 1, "submit_burst": burst })).await
}

#[tokio::test]
async fn whatever_makes_a_job_or_changes_something_takes_of_one_rate() {
    let (api, key) = slow(5).await;
    let own = async |method: &str, path: &str, body: Option<&str>| api.send_as(&key, None, method, path, body).await;
    let (job, done) = (own("POST", "/api/v1/jobs", Some(JOB)).await.expect(202), async || api.complete_all().await);
    let job = job["id"].as_str().unwrap().to_owned();
    done().await;
    let webhook = r#"{"url":"http://127.0.0.1:1/","events":["*"]}"#;
    let webhook = own("POST", "/api/v1/webhooks", Some(webhook)).await.expect(201)["id"].as_str().unwrap().to_owned();
    let schedule = r#"{"name":"s","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
    own("POST", "/api/v1/schedules", Some(schedule)).await.expect(201);
    let test = format!("/api/v1/webhooks/{webhook}/test");
    let delivery = own("POST", &test, None).await.expect(202)["id"].as_str().unwrap().to_owned();
    own("POST", &format!("/api/v1/jobs/{delivery}/cancel"), None).await.expect(200);
    own("POST", "/api/v1/queues/mail/pause", None).await.expect(200);

    let resend = format!("/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend");
    let session = json!({ "key": key }).to_string();
    let spent: [(&str, &str, Option<&str>); 11] = [
        ("POST", "/api/v1/jobs", Some(JOB)),
        ("POST", &format!("/api/v1/jobs/{job}/retry"), None),
        ("POST", &test, None),
        ("POST", &resend, None),
        ("POST", "/api/v1/schedules/s/run", None),
        ("PATCH", "/api/v1/schedules/s", Some(r#"{"every":"2h"}"#)),
        ("POST", "/api/v1/schedules/s/pause", None),
        ("POST", "/api/v1/queues/made-up/pause", None),
        ("POST", "/api/v1/stream/tickets", None),
        ("PATCH", &format!("/api/v1/webhooks/{webhook}"), Some(r#"{"enabled":true}"#)),
        ("POST", "/api/v1/session", Some(&session)),
    ];
    for (method, path, body) in spent {
        let refused = own(method, path, body).await;
        assert_eq!(refused.header("retry-after"), Some("1"), "{method} {path}");
        refused.problem(429, "too-many-requests");
    }
    // An operator changes what a busy tenant has, and the tenant itself can stop what it has begun.
    api.send_as(ADMIN, Some("small"), "POST", "/api/v1/queues/mail/resume", None).await.expect(200);
    own("POST", "/api/v1/jobs/cancel", Some(r#"{"filter":{}}"#)).await.expect(200);
    for (method, path, body) in spent {
        api.clock.advance(Duration::from_secs(1));
        let reply = own(method, path, body).await;
        assert!(reply.status < 300, "{method} {path}: {}", reply.status);
        done().await;
    }
}

#[tokio::test]
async fn a_retry_calls_hosts_and_waits_like_a_submission() {
    let (api, key) = tenant_of(json!({ "target_hosts_per_minute": 2, "queued_jobs": 2 })).await;
    let own = async |path: &str, body: Option<&str>| api.send_as(&key, None, "POST", path, body).await;
    let mut jobs = Vec::new();
    for host in ["a.example", "b.example"] {
        let made = own("/api/v1/jobs", Some(&format!(r#"{{"url":"http://{host}/"}}"#))).await.expect(202);
        jobs.push(made["id"].as_str().unwrap().to_owned());
        api.complete_all().await;
    }
    // Of another minute, by a process that has seen none of it.
    let other = Api::over(&api, keyed_setting()).await;
    let retry = async |job: &str| other.send_as(&key, None, "POST", &format!("/api/v1/jobs/{job}/retry"), None).await;
    let elsewhere = r#"{"url":"http://c.example/"}"#;
    other.send_as(&key, None, "POST", "/api/v1/jobs", Some(elsewhere)).await.expect(202);
    let first = retry(&jobs[0]).await;
    first.expect(200);
    let refused = retry(&jobs[1]).await;
    assert!(refused.problem(429, "too-many-requests")["detail"].as_str().unwrap().contains("2 waiting jobs"));
    other.complete_all().await;
    in_time(async {
        loop {
            let problem = retry(&jobs[1]).await.problem(429, "too-many-requests");
            if problem["detail"].as_str().unwrap().contains("2 different hosts") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let running = retry(&jobs[0]).await;
    running.expect(200);
    retry(&jobs[0]).await.problem(409, "job-not-final");
}

#[tokio::test]
async fn a_bulk_retry_goes_as_fast_as_its_tenant_may_submit() {
    let (api, key) = tenant_of(json!({ "submit_per_second": 20, "submit_burst": 10 })).await;
    let jobs = json!({ "jobs": vec![json!({"url": "http://127.0.0.1:1/"}); 10] }).to_string();
    for _ in 0..3 {
        api.send_as(&key, None, "POST", "/api/v1/jobs/batch", Some(&jobs)).await.expect(200);
        api.clock.advance(Duration::from_secs(10));
    }
    api.kill_all().await;
    let all = r#"{"filter":{}}"#;
    let (clock, stop) = (api.clock.clone(), Stop::new());
    let shutdown = stop.shutdown();
    // The rate goes by the server's clock, which here goes faster than the one the call sleeps by.
    let hurry = api.tasks.spawn("hurry", async move {
        while tokio::time::timeout(Duration::from_millis(5), shutdown.draining()).await.is_err() {
            clock.advance(Duration::from_secs(1));
        }
    });
    let answer = api.send_as(&key, None, "POST", "/api/v1/jobs/retry", Some(all)).await.expect(200);
    assert_eq!((answer["matched"].as_u64(), answer["changed"].as_u64()), (Some(30), Some(30)));
    stop.drain();
    hurry.await.unwrap();
}

#[tokio::test]
async fn a_bulk_retry_that_cannot_go_on_says_how_far_it_came() {
    let (api, key) = slow(100).await;
    let batch = json!({ "jobs": vec![json!({"url": "http://127.0.0.1:1/"}); 90] }).to_string();
    for _ in 0..2 {
        api.send_as(&key, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await.expect(200);
        api.clock.advance(Duration::from_secs(100));
    }
    api.kill_all().await;
    let all = r#"{"filter":{}}"#;
    let refused = api.send_as(&key, None, "POST", "/api/v1/jobs/retry", Some(all)).await;
    assert_eq!(refused.header("retry-after"), Some("80"));
    let problem = refused.problem(429, "too-many-requests");
    assert!(problem["detail"].as_str().unwrap().starts_with("100 jobs were retried"), "{problem}");
    let trail = api.send_as(ADMIN, None, "GET", "/api/v1/audit?tenant=small", None).await.expect(200);
    assert_eq!(trail["items"][0]["action"], "jobs.retry");
    assert!(trail["items"][0]["object"].as_str().unwrap().ends_with("(100 changed)"), "{trail}");
    api.clock.advance(Duration::from_secs(80));
    let rest = api.send_as(&key, None, "POST", "/api/v1/jobs/retry", Some(all)).await.expect(200);
    assert_eq!(rest["changed"], 80);
}

#[tokio::test]
async fn a_bulk_retry_calls_as_many_hosts_in_a_minute_as_any_submission() {
    let (api, key) = tenant_of(json!({ "target_hosts_per_minute": 3 })).await;
    let operator = async |path: &str, body: &str| api.send_as(ADMIN, Some("small"), "POST", path, Some(body)).await;
    for host in ["a", "b", "c"] {
        operator("/api/v1/jobs", &format!(r#"{{"url":"http://{host}.example/"}}"#)).await.expect(202);
    }
    let other = Api::over(&api, keyed_setting()).await;
    for host in ["d", "e"] {
        let job = format!(r#"{{"url":"http://{host}.example/"}}"#);
        other.send_as(&key, None, "POST", "/api/v1/jobs", Some(&job)).await.expect(202);
    }
    api.kill_all().await;
    let refused = api.send_as(&key, None, "POST", "/api/v1/jobs/retry", Some(r#"{"filter":{}}"#)).await;
    let detail = refused.problem(429, "too-many-requests")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("3 different hosts"), "{detail}");
    let third = Api::over(&api, keyed_setting()).await;
    let refused = third.send_as(&key, None, "POST", "/api/v1/jobs/retry", Some(r#"{"filter":{}}"#)).await;
    let detail = refused.problem(429, "too-many-requests")["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("3 jobs were retried"), "{detail}");
}

#[tokio::test]
async fn a_key_signs_in_so_often_and_no_oftener() {
    let (api, key) = tenant_of(json!({ "submit_per_second": "unlimited" })).await;
    let headers = [("content-type", "application/json"), ("sec-fetch-site", "same-origin")];
    let body = json!({ "key": key }).to_string();
    let sign_in = async || api.send("POST", "/api/v1/session", &headers, Some(&body)).await;
    for _ in 0..100 {
        sign_in().await.expect(200);
    }
    sign_in().await.problem(429, "too-many-requests");
    api.clock.advance(Duration::from_secs(1));
    sign_in().await.expect(200);
}

#[tokio::test]
async fn the_default_tenant_may_have_limits_of_its_own_and_created_ones_keep_theirs() {
    let mut tenant_limits = TenantLimits::unlimited();
    tenant_limits.queued_jobs = Limit::AtMost(1);
    let own_limits = Some(TenantLimits::unlimited());
    let api = Api::with(Setting { tenant_limits, own_limits, ..Setting::default() }).await;
    batch(&api, 10).await.expect(200);
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.expect(201);
    let key = r#"{"name":"k","scopes":["jobs:write"]}"#;
    let key = api.post_json("/api/v1/tenants/acme/keys", key).await.expect(201)["key"].as_str().unwrap().to_owned();
    api.send_as(&key, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202);
    api.send_as(&key, None, "POST", "/api/v1/jobs", Some(JOB)).await.problem(429, "too-many-requests");
    for (tenant, limit) in [("default", json!("unlimited")), ("acme", json!(1))] {
        let shown = api.get(&format!("/api/v1/tenants/{tenant}")).await.expect(200);
        assert_eq!(shown["limits_in_force"]["queued_jobs"], limit, "{tenant}: {shown}");
    }
}
