//! Who is served when connections, waits and room for bytes are short.

use foreman_api::{HostPolicy, KeyPolicy};
use http_body_util::BodyExt as _;

use crate::harness::{Api, Setting, in_time, until};
use crate::http::{Connection, written};
use crate::matrix::{ADMIN, key, tenant};

const JOB: &str = r#"{"url":"http://127.0.0.1:1/","delay":"1d"}"#;

/// Two tenants, each with a key and a job that does not end.
async fn neighbours(setting: Setting) -> (Api, [Neighbour; 2]) {
    let api = Api::with(Setting { keys: KeyPolicy::asked(ADMIN), hosts: HostPolicy::Any, ..setting }).await;
    let mut neighbours = Vec::new();
    for name in ["one", "two"] {
        tenant(&api, name).await;
        let (key, _) = key(&api, name, &["jobs:read", "jobs:write"]).await;
        let job = api.send_as(&key, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202);
        neighbours.push(Neighbour { key, job: job["id"].as_str().unwrap().to_owned() });
    }
    (api, neighbours.try_into().ok().unwrap())
}

struct Neighbour {
    key: String,
    job: String,
}

impl Neighbour {
    async fn waits(&self, api: &Api) -> Connection {
        let mut client = api.connect().await;
        let path = format!("/api/v1/jobs/{}/wait?timeout=5m", self.job);
        let key = format!("Bearer {}", self.key);
        client.send(&written("GET", &path, &[("authorization", key.as_str())], None)).await;
        client
    }

    async fn asks(&self, api: &Api) -> crate::http::Reply {
        api.send_as(&self.key, None, "GET", &format!("/api/v1/jobs/{}", self.job), None).await
    }
}

#[tokio::test]
async fn one_tenant_that_waits_leaves_places_for_others_and_probes_are_answered_when_there_are_none() {
    let mut setting = Setting::default();
    setting.serve.max_connections = 8;
    setting.tail.max_waiters_per_tenant = 5;
    let (api, [one, two]) = neighbours(setting).await;
    let mut open = Vec::new();
    for count in 1..=5 {
        open.push(one.waits(&api).await);
        until("it waits", || api.waits.count() == count).await;
    }
    let refused = one.waits(&api).await.reply(false).await;
    assert_eq!(refused.header("retry-after"), Some("5"));
    refused.problem(429, "too-many-requests");
    two.asks(&api).await.expect(200);
    for count in 6..=8 {
        open.push(two.waits(&api).await);
        until("it waits", || api.waits.count() == count).await;
    }
    // Every connection is in use.
    for path in ["/healthz", "/readyz"] {
        let reply = api.get(path).await;
        assert_eq!((reply.status, reply.header("connection")), (200, Some("close")), "{path}");
    }
    let refused = two.asks(&api).await;
    assert_eq!((refused.header("retry-after"), refused.header("connection")), (Some("1"), Some("close")));
    refused.problem(503, "overloaded");
    drop(open);
    until("nobody waits", || api.waits.count() == 0).await;
    two.asks(&api).await.expect(200);
}

#[tokio::test]
async fn requests_of_one_tenant_keep_three_quarters_of_the_connections() {
    let mut setting = Setting::default();
    setting.serve.max_connections = 8;
    let (api, [one, two]) = neighbours(setting).await;
    let mut open = Vec::new();
    for count in 1..=6 {
        open.push(one.waits(&api).await);
        until("it waits", || api.waits.count() == count).await;
    }
    one.asks(&api).await.problem(429, "too-many-requests");
    two.asks(&api).await.expect(200);
}

#[tokio::test]
async fn connections_without_a_request_give_their_places_up() {
    let mut setting = Setting::default();
    setting.serve.max_connections = 3;
    let api = Api::with(setting).await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut client = api.connect().await;
        client.request("GET", "/healthz", &[], None).await.expect(200);
        idle.push(client);
    }
    for _ in 0..5 {
        api.get("/api/v1/jobs").await.expect(200);
    }
}

#[tokio::test]
async fn one_connection_too_many_closes_a_few_and_not_all_that_are_idle() {
    let mut setting = Setting::default();
    setting.serve.max_connections = 60;
    let api = Api::with(setting).await;
    let mut idle = Vec::new();
    for _ in 0..60 {
        let mut client = api.connect().await;
        client.request("GET", "/healthz", &[], None).await.expect(200);
        idle.push(client);
    }
    api.get("/api/v1/jobs").await.expect(200);
    let mut open = 0;
    for mut client in idle {
        open += usize::from(client.try_request("GET", "/healthz").await.is_some());
    }
    assert!((30..60).contains(&open), "{open} of 60 are still open");
}

#[tokio::test]
async fn a_body_for_which_there_is_no_room_is_refused_and_small_ones_are_taken() {
    let mut setting = Setting::default();
    setting.bodies.batch_bytes = 100_000;
    setting.bodies.job_bytes = 100_000;
    setting.bodies.in_flight = 200_000;
    let (api, [one, two]) = neighbours(setting).await;
    let key = format!("Bearer {}", one.key);
    let headers = [("authorization", key.as_str()), ("content-type", "application/json"), ("content-length", "90000")];
    let mut slow = api.connect().await;
    // All of its body but the last byte.
    slow.send(&format!("{}{}", written("POST", "/api/v1/jobs", &headers, None), " ".repeat(89_999))).await;
    let large = format!(r#"{{"url":"http://127.0.0.1:1/","body":"{}"}}"#, "x".repeat(50_000));
    let send = |key: &str, body: &str| {
        let (api, key, body) = (&api, key.to_owned(), body.to_owned());
        async move { api.send_as(&key, None, "POST", "/api/v1/jobs", Some(&body)).await }
    };
    let refused = send(&one.key, &large).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.problem(503, "overloaded");
    send(&one.key, JOB).await.expect(202);
    send(&two.key, &large).await.expect(202);
    drop(slow);
    in_time(async { while send(&one.key, &large).await.status != 202 {} }).await;
}

#[tokio::test]
async fn a_tenant_that_takes_every_share_does_not_keep_the_operator_out() {
    let mut setting = Setting { keys: KeyPolicy::asked(ADMIN), hosts: HostPolicy::Any, ..Setting::default() };
    setting.serve.max_connections = 8;
    let api = Api::with(setting).await;
    // The operator's own tenant, where the operator acts unless it names another.
    let (key, _) = key(&api, "default", &["jobs:read", "jobs:write"]).await;
    let job = api.send_as(&key, None, "POST", "/api/v1/jobs", Some(JOB)).await.expect(202);
    let one = Neighbour { key, job: job["id"].as_str().unwrap().to_owned() };
    let mut open = Vec::new();
    for count in 1..=6 {
        open.push(one.waits(&api).await);
        until("it waits", || api.waits.count() == count).await;
    }
    one.asks(&api).await.problem(429, "too-many-requests");
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/default", Some(r#"{"disabled":true}"#)).await.expect(200);
}

#[tokio::test]
async fn answers_that_nobody_takes_are_bounded_for_each_tenant() {
    let mut setting = Setting::default();
    setting.bodies.batch_bytes = 300_000;
    setting.bodies.job_bytes = 300_000;
    setting.bodies.answers_in_flight = 1_200_000;
    setting.limits.payload_bytes = 280_000;
    let (api, [one, two]) = neighbours(setting).await;
    let large = format!(r#"{{"url":"http://127.0.0.1:1/","delay":"1d","body":"{}"}}"#, "x".repeat(270_000));
    let job = api.send_as(&one.key, None, "POST", "/api/v1/jobs", Some(&large)).await.expect(202);
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let http2 = |key: &str| {
        let request =
            http::Request::get(format!("http://localhost{path}")).header("authorization", format!("Bearer {key}"));
        request.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap()
    };
    let tasks = foreman_runtime::Tasks::new();
    // A window that has no room for an answer: each stays with the server.
    let mut sender = crate::transport::http2(&api, &tasks, 1_000).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let response = in_time(sender.send_request(http2(&one.key))).await.unwrap();
        assert_eq!(response.status(), 200);
        kept.push(response);
    }
    let refused = in_time(sender.send_request(http2(&one.key))).await.unwrap();
    assert_eq!(refused.status(), 503);
    drop(refused.into_body().collect());
    // A change is made and answered in short; a batch, whose answer would be large, is refused before anything is accepted.
    let cancelled = api.send_as(&one.key, None, "POST", &format!("{path}/cancel"), None).await.expect(200);
    assert_eq!((&cancelled["state"], cancelled.get("body")), (&"cancelled".into(), None));
    let count = async || {
        let list = api.send_as(&one.key, None, "GET", "/api/v1/jobs", None).await.expect(200);
        list["items"].as_array().unwrap().len()
    };
    let before = count().await;
    let batch = format!(r#"{{"jobs":[{large}]}}"#);
    let refused = api.send_as(&one.key, None, "POST", "/api/v1/jobs/batch", Some(&batch)).await;
    refused.problem(503, "overloaded");
    assert_eq!(count().await, before, "nothing was accepted");
    two.asks(&api).await.expect(200);
    api.send_as(&one.key, None, "GET", "/api/v1/jobs", None).await.expect(200);
    drop((kept, sender));
    in_time(async { while api.send_as(&one.key, None, "GET", &path, None).await.status != 200 {} }).await;
}
