//! The dashboard as a browser is served it.

use std::io::Read as _;

use foreman_api::{HostPolicy, KeyPolicy};
use serde_json::json;

use crate::harness::{Api, Setting, dashboard};
use crate::http::Reply;

const PAGES: [&str; 13] = [
    "/",
    "/jobs",
    "/jobs/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11",
    "/dead",
    "/schedules",
    "/schedules/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11",
    "/queues",
    "/workers",
    "/webhooks",
    "/webhooks/0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11",
    "/keys",
    "/submit",
    "/sign-in",
];
const SCRIPT: &str = "/assets/app-D0o6KwHs.js";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    font-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

async fn built() -> Api {
    Api::with(Setting { dashboard: dashboard(), ..Setting::default() }).await
}

#[track_caller]
fn is_guarded(reply: &Reply) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name} of {reply:?}");
    }
}

#[tokio::test]
async fn every_page_is_the_one_document_and_asks_again_whether_it_is_new() {
    let api = built().await;
    for path in PAGES {
        let reply = api.get(path).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
        assert!(reply.body.contains("<div id=\"root\">"), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{path}");
        is_guarded(&reply);
    }
    // A path that the dashboard does not know is not there, in a browser as well.
    api.get("/jobs/1/2").await.problem(404, "not-found");
    api.get("/nothing").await.problem(404, "not-found");
}

#[tokio::test]
async fn a_file_is_served_as_what_it_is_and_kept_for_ever_where_its_name_says_what_is_in_it() {
    let api = built().await;
    for (path, media_type, cached) in [
        (SCRIPT, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/assets/style-C_U33Qv9.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/assets/plain.svg", "image/svg+xml", "no-cache"),
        ("/assets/strange", "application/octet-stream", "no-cache"),
    ] {
        let reply = api.get(path).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(media_type)), "{path}");
        assert_eq!(reply.header("cache-control"), Some(cached), "{path}");
        assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path}");
        is_guarded(&reply);
    }
}

#[tokio::test]
async fn what_a_browser_has_already_is_not_sent_again() {
    let api = built().await;
    for path in ["/", SCRIPT, "/assets/strange"] {
        for encoding in ["identity", "gzip"] {
            let accept = ("accept-encoding", encoding);
            let first = api.send("GET", path, &[accept], None).await;
            let tag = first.header("etag").unwrap().to_owned();
            for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
                let again = api.send("GET", path, &[accept, ("if-none-match", &known)], None).await;
                assert_eq!((again.status, again.body.as_str()), (304, ""), "{path} {known}");
                assert_eq!(again.header("etag"), Some(tag.as_str()), "{path}");
                is_guarded(&again);
            }
            let other = api.send("GET", path, &[accept, ("if-none-match", "\"other\"")], None).await;
            assert_eq!((other.status, &other.bytes), (200, &first.bytes), "{path}");
        }
    }
}

#[tokio::test]
async fn a_script_is_sent_small_to_whoever_takes_it_so() {
    let api = built().await;
    let plain = api.get(SCRIPT).await;
    assert_eq!(plain.header("content-encoding"), None);
    let small = api.send("GET", SCRIPT, &[("accept-encoding", "gzip, br")], None).await;
    assert_eq!(small.header("content-encoding"), Some("gzip"));
    assert!(small.bytes.len() < plain.bytes.len() / 4, "{} of {}", small.bytes.len(), plain.bytes.len());
    let mut text = String::new();
    flate2::read::GzDecoder::new(&small.bytes[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.body);
    // Two answers that differ are told apart by whoever keeps them.
    assert_ne!(small.header("etag"), plain.header("etag"));
    // What is tiny, and what is compressed already, is sent as it is.
    for path in ["/assets/style-C_U33Qv9.css", "/assets/font-Dx4kXJAl.woff2"] {
        let reply = api.send("GET", path, &[("accept-encoding", "gzip")], None).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{path}");
    }
}

#[tokio::test]
async fn head_tells_what_get_would() {
    let api = built().await;
    for path in ["/", "/jobs", SCRIPT] {
        let (get, head) = (api.get(path).await, api.send("HEAD", path, &[], None).await);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        for name in ["content-length", "content-type", "etag", "cache-control", "content-security-policy"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            assert!(head.header(name).is_some(), "{name} of {path}");
        }
    }
    for path in ["/", SCRIPT] {
        let reply = api.send("POST", path, &[], None).await;
        assert_eq!(reply.header("allow"), Some("GET,HEAD"), "{path}");
        reply.problem(405, "method-not-allowed");
    }
}

#[tokio::test]
async fn nothing_but_its_files_is_reached_through_it() {
    let api = built().await;
    for path in [
        "/assets/gone-D0o6KwHs.js",
        "/assets/../index.html",
        "/assets/..%2Findex.html",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "/assets/..%2F..%2F..%2FCargo.toml",
        "/assets/..\\..\\Cargo.toml",
        "/assets//etc/passwd",
        "/assets/%2Fetc%2Fpasswd",
        "/assets/app-D0o6KwHs.js%00.css",
        "/assets/./app-D0o6KwHs.js",
        "/assets/",
        "/index.html",
    ] {
        let reply = api.get(path).await;
        assert!(!reply.body.contains("root") && !reply.body.contains("[package]"), "{path}: {reply:?}");
        if reply.status == 404 && path.starts_with("/assets/g") {
            is_guarded(&reply);
        }
        reply.problem(404, "not-found");
    }
}

#[tokio::test]
async fn it_needs_no_key_and_a_strange_host_gets_none_of_it() {
    let setting = Setting {
        keys: KeyPolicy::asked("sesame"),
        hosts: HostPolicy::Any,
        dashboard: dashboard(),
        ..Setting::default()
    };
    let api = Api::with(setting).await;
    for path in PAGES.into_iter().chain([SCRIPT]) {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    // What it shows does.
    api.get("/api/v1/jobs").await.problem(401, "unauthorized");

    let local = built().await;
    for path in ["/", "/jobs", SCRIPT] {
        let reply = local.send("GET", path, &[("host", "evil.example")], None).await;
        reply.problem(421, "host-refused");
    }
}

#[tokio::test]
async fn without_a_build_every_page_says_what_this_is_and_how_to_build_it() {
    let api = Api::start().await;
    for path in PAGES {
        let reply = api.get(path).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
        for words in ["<code>make dashboard</code>", "curl -s http://localhost/api/v1/jobs", "/docs"] {
            assert!(reply.body.contains(words), "{words} is not on {path}: {}", reply.body);
        }
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        is_guarded(&reply);
    }
    is_guarded(&api.get("/assets/app.js").await);
    api.get("/assets/app.js").await.problem(404, "not-found");
}

#[tokio::test]
async fn the_api_beside_it_answers_as_ever() {
    let api = built().await;
    assert_eq!(api.get("/api/v1/jobs").await.expect(200)["items"], json!([]));
    assert_eq!(api.get("/docs").await.status, 200);
    let reply = api.get("/api/openapi.json").await;
    assert!(reply.header("content-type").unwrap().starts_with("application/json"));
}
