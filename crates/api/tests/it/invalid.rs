//! Bad input: each mistake gets a problem that names it, and nothing is accepted.

use std::time::Duration;

use foreman_core::ports::{JobFilter, JobQuery};
use foreman_core::{Clock, TenantId};

use crate::harness::Api;

/// A body, and what its problem must say: status, slug, pointer of its first error (if it has any), a word of the detail.
const BODIES: &[(&str, u16, &str, Option<&str>, &str)] = &[
    ("{\n \"url\": \"http://a/\",,\n}", 400, "bad-json", None, "line 2 column 21"),
    ("{\"url\": \"http://a/\"", 400, "bad-json", None, "line 1 column 19"),
    ("", 400, "bad-json", None, "line 1 column 1"),
    ("'{}'", 400, "bad-json", None, "line 1 column 1"),
    (r#"{"url":"http://a/","dealy":"5m"}"#, 400, "unknown-field", Some("/dealy"), "`delay`"),
    (
        r#"{"url":"http://a/","command":"true"}"#,
        422,
        "invalid-job",
        Some(""),
        "exactly one of `url`, `command` and `task`",
    ),
    (r#"{"payload":1}"#, 422, "invalid-job", Some(""), "exactly one of `url`, `command` and `task`"),
    (r#"{"command":""}"#, 422, "invalid-job", Some("/command"), "empty"),
    (r#"{"command":[]}"#, 422, "invalid-job", Some("/command"), "empty"),
    (r#"{"url":"http://a/","delay":"soon"}"#, 422, "invalid-job", Some("/delay"), "not a duration"),
    (r#"{"url":"http://a/","timeout":5}"#, 422, "invalid-job", Some("/timeout"), "must be a string"),
    (r#"{"url":"http://a/","delay":"400d"}"#, 422, "invalid-job", Some("/delay"), "a year"),
    (r#"{"url":"ftp://a/"}"#, 422, "invalid-job", Some("/url"), "http"),
    (r#"{"url":"http://a/","run_at":"tomorrow"}"#, 422, "invalid-job", Some("/run_at"), "RFC 3339"),
    (r#"{"url":"http://a/","queue":"a b"}"#, 422, "invalid-job", Some("/queue"), "queue name"),
    (r#"{"url":"http://a/","idempotency_key":""}"#, 422, "invalid-job", Some("/idempotency_key"), "characters"),
    (r#"["http://a/"]"#, 422, "invalid-job", Some(""), "object"),
    ("null", 422, "invalid-job", Some(""), "a job is a JSON object"),
    (r#"{"url":"http://a/","backoff":["1s"]}"#, 422, "invalid-job", Some("/backoff"), "must be a JSON object"),
    (r#"{"command":"true","exit_codes":[[0],[1]]}"#, 422, "invalid-job", Some("/exit_codes"), "must be a JSON object"),
];

#[tokio::test]
async fn every_mistake_is_named_and_nothing_is_accepted() {
    let api = Api::start().await;
    for (body, status, slug, pointer, word) in BODIES {
        let problem = api.submit_text(body).await.problem(*status, slug);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{body}: {detail}");
        assert_eq!(problem["errors"][0]["pointer"].as_str(), *pointer, "{body}: {problem}");
    }
    assert_eq!(api.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap(), 0);
}

#[tokio::test]
async fn all_mistakes_of_a_job_come_at_once() {
    let api = Api::start().await;
    let body = r#"{"url":"nonsense","queue":"a b","max_attempts":0}"#;
    let problem = api.submit_text(body).await.problem(422, "invalid-job");
    let pointers: Vec<&str> =
        problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    for pointer in ["/url", "/queue", "/max_attempts"] {
        assert!(pointers.contains(&pointer), "{pointers:?}");
    }
}

#[tokio::test]
async fn a_time_more_than_a_year_ahead_is_refused() {
    let api = Api::start().await;
    let far = api.clock.now().plus(Duration::from_hours(24 * 400));
    let body = format!(r#"{{"url":"http://a/","run_at":"{far}"}}"#);
    let problem = api.submit_text(&body).await.problem(422, "invalid-job");
    assert_eq!(problem["errors"][0]["pointer"], "/run_at");
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_refused_with_the_limit() {
    let api = Api::start().await;
    let job = |bytes: usize| format!(r#"{{"url":"http://a/","payload":"{}"}}"#, "x".repeat(bytes - 2));
    let problem = api.submit_text(&job(256 * 1024 + 1)).await.problem(422, "invalid-job");
    assert_eq!(problem["errors"][0]["pointer"], "/payload");
    assert!(problem["detail"].as_str().unwrap().contains("262144"), "{problem}");
    api.submit_text(&job(256 * 1024)).await.expect(202);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let api = Api::start().await;
    let body = format!(r#"{{"url":"http://a/","payload":"{}"}}"#, "x".repeat(1024 * 1024));
    let problem = api.submit_text(&body).await.problem(413, "body-too-large");
    assert!(problem["detail"].as_str().unwrap().contains("1048576"), "{problem}");

    // Only the head is sent: the answer comes all the same.
    let mut client = api.connect().await;
    client.send("POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9000000\r\n\r\n").await;
    client.reply(false).await.problem(413, "body-too-large");

    // Without a length, it is counted.
    let mut client = api.connect().await;
    client.send("POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        client.try_send(&chunk).await;
    }
    client.reply(false).await.problem(413, "body-too-large");
}

#[tokio::test]
async fn a_body_in_pieces_is_put_together() {
    let api = Api::start().await;
    let mut client = api.connect().await;
    client.send("POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for piece in [r#"{"url":"#, r#""http://127.0.0.1:1/","#, r#""payload":"#, "[1,2]", "}"] {
        client.send(&format!("{:x}\r\n{piece}\r\n", piece.len())).await;
        tokio::task::yield_now().await;
    }
    client.send("0\r\n\r\n").await;
    assert_eq!(client.reply(false).await.expect(202)["payload"], serde_json::json!([1, 2]));
}

#[tokio::test]
async fn a_body_that_does_not_say_it_is_json_is_refused_with_the_header_to_add() {
    let api = Api::start().await;
    let body = r#"{"url":"http://a/"}"#;
    for headers in [
        vec![],
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![("content-type", "text/plain")],
        vec![("content-type", "application/json"), ("content-encoding", "gzip")],
    ] {
        let problem =
            api.send("POST", "/api/v1/jobs", &headers, Some(body)).await.problem(415, "unsupported-media-type");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("Content-Type: application/json") || detail.contains("Content-Encoding"), "{detail}");
    }
    api.send("POST", "/api/v1/jobs", &[("content-type", "application/json; charset=utf-8")], Some(body))
        .await
        .expect(202);
}

#[tokio::test]
async fn what_stands_in_the_path_or_the_query_is_judged_too() {
    let api = Api::start().await;
    for (path, word) in [
        ("/api/v1/jobs/nonsense", "nonsense"),
        ("/api/v1/jobs?stat=dead", "unknown parameter `stat`"),
        ("/api/v1/jobs?state=gone", "gone"),
        ("/api/v1/jobs?limit=501", "500"),
        ("/api/v1/jobs?limit=0", "between 1 and 500"),
        ("/api/v1/jobs?limit=many", "limit"),
        ("/api/v1/jobs?cursor=nonsense", "cursor"),
        ("/api/v1/jobs?queue=a%20b", "queue name"),
        ("/api/v1/jobs?created_after=yesterday", "RFC 3339"),
        ("/api/v1/jobs?state=dead&state=failed", "twice"),
        ("/api/v1/dead?state=dead", "unknown parameter `state`"),
        ("/api/v1/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11/wait?timeout=6m", "5m"),
        ("/api/v1/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11/wait?timeout=soon", "not a duration"),
        ("/api/v1/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11/output?after=-1", "after"),
    ] {
        let problem = api.get(path).await.problem(400, "invalid-request");
        assert!(problem["detail"].as_str().unwrap().contains(word), "{path}: {problem}");
    }
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once_in_the_words_of_whoever_sent_it() {
    let api = Api::start().await;
    let job = r#"{"url":"ftp://a","queue":"a b","max_attempts":"abc","delay":"soon","priority":"urgent","tags":"a"}"#;
    let problem = api.submit_text(job).await.problem(422, "invalid-job");
    let told: std::collections::BTreeMap<&str, &str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mistake| (mistake["pointer"].as_str().unwrap(), mistake["detail"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told.keys().copied().collect::<Vec<_>>(),
        ["/delay", "/max_attempts", "/priority", "/queue", "/tags", "/url"]
    );
    assert_eq!(told["/max_attempts"], "must be a whole number between 1 and 1000");
    assert_eq!(told["/priority"], "`urgent` is not one of `high`, `normal`, `low`");
    assert_eq!(told["/tags"], "must be an array");
    let only = api.submit_text(r#"{"url":"http://a/","max_attempts":"abc"}"#).await.problem(422, "invalid-job");
    assert_eq!(only["detail"], "/max_attempts: must be a whole number between 1 and 1000");
    for (query, words) in [
        ("state=bogus", "in the query: state: `bogus` is not one of `scheduled`, `pending`,"),
        ("limit=abc", "in the query: limit: must be a whole number"),
        ("limit=abc&state=bogus&oops=1", "limit: must be a whole number; state: `bogus` is not one of"),
        ("limit=abc&state=bogus&oops=1", "unknown parameter `oops`"),
        ("limit=1&limit=2", "limit"),
    ] {
        let problem = api.get(&format!("/api/v1/jobs?{query}")).await.problem(400, "invalid-request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{query}: {detail}");
        assert!(!detail.contains("variant") && !detail.contains("digit"), "{query}: {detail}");
    }
}

#[tokio::test]
async fn a_batch_of_nothing_but_mistakes_is_answered_by_less_than_it_sent() {
    let api = Api::start().await;
    let fields: Vec<String> = (0..1_000).map(|n| format!("\"{n:03}\":0")).collect();
    let jobs = vec![format!("{{{}}}", fields.join(",")); 200];
    let body = format!("{{\"jobs\":[{}]}}", jobs.join(","));
    let reply = api.send("POST", "/api/v1/jobs/batch", &[("content-type", "application/json")], Some(&body)).await;
    let length = reply.body.len();
    let results = reply.expect(200);
    assert_eq!(results["results"][199]["errors"].as_array().map(Vec::len), Some(20));
    assert!(length < body.len() / 3, "{length} bytes for {}", body.len());
}
