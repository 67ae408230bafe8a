//! Many jobs in one request.

use foreman_core::ports::{JobFilter, JobQuery};
use foreman_core::{JobId, TenantId};
use serde_json::{Value, json};

use crate::harness::{Api, id_of};

async fn results(api: &Api, body: &str) -> Vec<Value> {
    let mut answer = api.post_json("/api/v1/jobs/batch", body).await.expect(200);
    serde_json::from_value(answer["results"].take()).unwrap()
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order_each_with_its_job() {
    let api = Api::start().await;
    let jobs: Vec<Value> =
        (0..1_000).map(|n| json!({"url": "http://127.0.0.1:1/", "payload": n, "queue": "bulk"})).collect();
    let results = results(&api, &json!({"jobs": jobs}).to_string()).await;
    assert_eq!(results.len(), 1_000);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["payload"], n, "{result}");
        assert_eq!(result["state"], "pending");
    }
    assert_eq!(api.job(&id_of(&results[999])).await["payload"], 999);
    assert_eq!(api.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap(), 1_000);
}

#[tokio::test]
async fn a_wrong_job_does_not_stop_the_others() {
    let api = Api::start().await;
    let body = r#"{"jobs":[
        {"url":"http://127.0.0.1:1/first"},
        {"urll":"http://127.0.0.1:1/"},
        {"url":7},
        {},
        "text",
        {"url":"http://127.0.0.1:1/","delay":"soon"},
        {"url":"http://127.0.0.1:1/last"}
    ]}"#;
    let results = results(&api, body).await;
    let summary: Vec<(u64, &str)> = results
        .iter()
        .map(|result| (result["status"].as_u64().unwrap_or(202), result["type"].as_str().unwrap_or("job")))
        .collect();
    assert_eq!(
        summary,
        [
            (202, "job"),
            (400, "/errors/unknown-field"),
            (422, "/errors/invalid-job"),
            (422, "/errors/invalid-job"),
            (422, "/errors/invalid-job"),
            (422, "/errors/invalid-job"),
            (202, "job"),
        ]
    );
    assert_eq!(results[0]["url"], "http://127.0.0.1:1/first");
    assert_eq!(results[6]["url"], "http://127.0.0.1:1/last");
    assert_eq!(results[5]["errors"][0]["pointer"], "/delay");
    assert_eq!(api.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap(), 2);
}

#[tokio::test]
async fn keys_are_judged_inside_a_batch_in_its_order() {
    let api = Api::start().await;
    let body = r#"{"jobs":[
        {"url":"http://127.0.0.1:1/a","idempotency_key":"k"},
        {"url":"http://127.0.0.1:1/a","idempotency_key":"k"},
        {"url":"http://127.0.0.1:1/b","idempotency_key":"k"}
    ]}"#;
    let results = results(&api, body).await;
    assert_eq!(results[0]["id"], results[1]["id"]);
    assert_eq!(results[2]["type"], "/errors/idempotency-key-reused");
    assert!(id_of(&results[0]).parse::<JobId>().is_ok());
}

#[tokio::test]
async fn what_is_not_a_batch_is_refused_as_a_whole() {
    let api = Api::start().await;
    for (body, status, slug, word) in [
        (r#"{"jobs":[]}"#, 400, "empty-batch", "at least one"),
        ("{}", 400, "invalid-request", "jobs"),
        (r#"{"jobs":{"url":"http://a/"}}"#, 400, "invalid-request", "array of jobs"),
        (r#"[{"url":"http://a/"}]"#, 400, "invalid-request", ""),
        (r#"{"jobs":[{"url":"http://a/"}],"atomic":true}"#, 400, "unknown-field", "atomic"),
        (r#"{"jobs":[{"url":"http://a/"}"#, 400, "bad-json", "line 1 column"),
    ] {
        let problem = api.post_json("/api/v1/jobs/batch", body).await.problem(status, slug);
        assert!(problem["detail"].as_str().unwrap().contains(word), "{body}: {problem}");
    }
    let many = json!({"jobs": vec![json!({"url": "http://a/"}); 1_001]}).to_string();
    let problem = api.post_json("/api/v1/jobs/batch", &many).await.problem(413, "batch-too-large");
    assert!(problem["detail"].as_str().unwrap().contains("1001"), "{problem}");
    let commas = format!(r#"{{"jobs":[0{}]}}"#, ",0".repeat(2_000_000));
    let problem = api.post_json("/api/v1/jobs/batch", &commas).await.problem(413, "batch-too-large");
    assert!(problem["detail"].as_str().unwrap().contains("2000001"), "{problem}");
    let huge = format!(r#"{{"jobs":["{}"]}}"#, "x".repeat(8 * 1024 * 1024));
    api.post_json("/api/v1/jobs/batch", &huge).await.problem(413, "body-too-large");
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let body = r#"{"jobs":[{"url":"http://a/"}]}"#;
    api.send("POST", "/api/v1/jobs/batch", &headers, Some(body)).await.problem(400, "invalid-request");
    assert_eq!(api.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap(), 0);
}
