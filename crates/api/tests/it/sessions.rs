//! Signing in: a key for a cookie, and what the cookie is good for.

use std::time::Duration;

use foreman_api::{HostPolicy, KeyPolicy};
use foreman_core::TenantId;
use foreman_core::key::{KeyHash, KeyId};
use foreman_core::ports::{KeyStore as _, NewPass, PassHolder, PassKind, PassStore as _};
use serde_json::json;

use crate::feed::{Feed, STREAM};
use crate::harness::{Api, Setting};
use crate::http::Reply;
use crate::matrix::{ADMIN, key, keyed, tenant};

const SESSION: &str = "/api/v1/session";
const JSON: (&str, &str) = ("content-type", "application/json");
const OURS: (&str, &str) = ("sec-fetch-site", "same-origin");
const HTTPS: (&str, &str) = ("x-forwarded-proto", "https");

async fn sign_in(api: &Api, key: &str, more: &[(&str, &str)]) -> Reply {
    let body = json!({ "key": key }).to_string();
    let headers: Vec<_> = [JSON, OURS].into_iter().chain(more.iter().copied()).collect();
    api.send("POST", SESSION, &headers, Some(&body)).await
}

fn cookie(reply: &Reply) -> String {
    reply.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned()
}

async fn signed_in(api: &Api, key: &str) -> String {
    let reply = sign_in(api, key, &[]).await;
    let cookie = cookie(&reply);
    reply.expect(200);
    cookie
}

async fn get(api: &Api, cookie: &str, path: &str) -> Reply {
    api.send("GET", path, &[("cookie", cookie)], None).await
}

#[tokio::test]
async fn a_key_is_swapped_for_a_cookie_that_opens_what_the_key_opens() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (text, id) = key(&api, "acme", &["jobs:read", "stream:read"]).await;
    let reply = sign_in(&api, &text, &[]).await;
    let set = reply.header("set-cookie").unwrap().to_owned();
    for part in ["foreman_session=fs_", "; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure") && !set.contains(&text), "{set}");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let cookie = cookie(&reply);
    let me = reply.expect(200);
    assert_eq!((&me["tenant"], &me["key"]), (&json!("acme"), &json!(id)));
    assert_eq!(get(&api, &cookie, "/api/v1/whoami").await.expect(200), me);
    get(&api, &cookie, "/api/v1/jobs").await.expect(200);
    get(&api, &cookie, "/api/v1/schedules").await.problem(403, "forbidden");
    let mut feed = Feed::open(&api, "", &[("cookie", &cookie), OURS]).await;
    let job = r#"{"url":"http://127.0.0.1:1/"}"#;
    api.send_as(ADMIN, Some("acme"), "POST", "/api/v1/jobs", Some(job)).await.expect(202);
    assert_eq!(feed.next().await.name, "job");
    // With a key beside it, the key counts.
    let bearer = format!("Bearer {ADMIN}");
    let both = [("cookie", cookie.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(api.send("GET", "/api/v1/whoami", &both, None).await.expect(200)["key"], "bootstrap");
}

#[tokio::test]
async fn over_https_the_cookie_is_secure_and_of_this_host_alone() {
    let api = keyed().await;
    let reply = sign_in(&api, ADMIN, &[HTTPS]).await;
    let set = reply.header("set-cookie").unwrap().to_owned();
    assert!(set.starts_with("__Host-foreman_session=fs_") && set.ends_with("; Secure"), "{set}");
    let cookie = cookie(&reply);
    let with = async |headers: &[(&str, &str)]| api.send("GET", "/api/v1/whoami", headers, None).await.status;
    assert_eq!(with(&[("cookie", &cookie), HTTPS]).await, 200);
    assert_eq!(with(&[("cookie", &cookie)]).await, 401);
    let plain = cookie.replace("__Host-", "");
    assert_eq!(with(&[("cookie", &plain), HTTPS]).await, 401);
}

#[tokio::test]
async fn what_changes_something_must_come_from_a_page_of_this_server() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    let pause = async |headers: &[(&str, &str)]| {
        let headers: Vec<_> = [("cookie", cookie.as_str())].into_iter().chain(headers.iter().copied()).collect();
        api.send("POST", "/api/v1/queues/mail/pause", &headers, None).await
    };
    let host = ("host", "foreman.example:8080");
    for refused in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[host, ("origin", "http://evil.example")],
        &[host, ("origin", "https://foreman.example:8080")],
        &[host, ("origin", "null")],
        &[host, ("origin", "http://foreman.example:8080"), ("sec-fetch-site", "cross-site")],
    ] {
        let problem = pause(refused).await.problem(403, "cross-origin");
        assert!(problem["detail"].as_str().unwrap().contains("Sec-Fetch-Site"), "{problem}");
    }
    let queues = api.send_as(ADMIN, None, "GET", "/api/v1/queues", None).await.expect(200);
    assert!(!queues.to_string().contains("\"paused\":true"), "{queues}");
    for taken in [&[OURS][..], &[host, ("origin", "http://foreman.example:8080")]] {
        pause(taken).await.expect(200);
    }
    // A key is shown on purpose, wherever the page is from.
    let bearer = format!("Bearer {ADMIN}");
    let headers = [("authorization", bearer.as_str()), ("sec-fetch-site", "cross-site")];
    api.send("POST", "/api/v1/queues/mail/resume", &headers, None).await.expect(200);
}

#[tokio::test]
async fn another_sites_page_can_neither_watch_nor_sign_in_or_out() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    let body = json!({ "key": ADMIN }).to_string();
    for strange in
        [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site"), ("origin", "http://evil.example")]
    {
        let with = [("cookie", cookie.as_str()), strange];
        api.send("GET", STREAM, &with, None).await.problem(403, "cross-origin");
        api.send("DELETE", SESSION, &with, None).await.problem(403, "cross-origin");
        let reply = api.send("POST", SESSION, &[JSON, strange], Some(&body)).await;
        assert_eq!(reply.header("set-cookie"), None);
        reply.problem(403, "cross-origin");
    }
    api.send("DELETE", SESSION, &[("cookie", &cookie)], None).await.problem(403, "cross-origin");
    get(&api, &cookie, "/api/v1/whoami").await.expect(200);
    assert_eq!(get(&api, &cookie, STREAM).await.status, 200, "an older browser says nothing of itself when it reads");
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (text, id) = key(&api, "acme", &["stream:read"]).await;
    let here = signed_in(&api, &text).await;
    let mut feed = Feed::open(&api, "", &[("cookie", &here)]).await;
    api.send_as(ADMIN, None, "DELETE", &format!("/api/v1/tenants/acme/keys/{id}"), None).await.expect(200);
    get(&api, &here, "/api/v1/whoami").await.problem(401, "unauthorized");
    assert!(feed.rest().await.is_empty());
    assert_eq!(api.send("DELETE", SESSION, &[("cookie", &here), OURS], None).await.status, 204, "one can always leave");
    sign_in(&api, &text, &[]).await.problem(401, "unauthorized");

    // By somebody that this process does not hear of: within seconds.
    let (text, id) = key(&api, "acme", &["stream:read"]).await;
    let there = signed_in(&api, &text).await;
    get(&api, &there, "/api/v1/whoami").await.expect(200);
    let id: KeyId = id.parse().unwrap();
    api.registry.inner.revoke_key(&TenantId::new("acme"), &id).await.unwrap();
    let mut status = 200;
    let start = tokio::time::Instant::now();
    while status == 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "never");
        tokio::time::sleep(Duration::from_millis(50)).await;
        status = get(&api, &there, "/api/v1/whoami").await.status;
    }
    assert_eq!(status, 401);

    let (text, _) = key(&api, "acme", &["stream:read"]).await;
    let disabled = signed_in(&api, &text).await;
    api.send_as(ADMIN, None, "PATCH", "/api/v1/tenants/acme", Some(r#"{"disabled":true}"#)).await.expect(200);
    get(&api, &disabled, "/api/v1/whoami").await.problem(401, "unauthorized");
}

#[tokio::test]
async fn a_session_lasts_half_a_day() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    api.clock.advance(Duration::from_hours(12) - Duration::from_secs(1));
    get(&api, &cookie, "/api/v1/whoami").await.expect(200);
    let mut feed = Feed::open(&api, "", &[("cookie", &cookie)]).await;
    api.clock.advance(Duration::from_secs(1));
    assert!(feed.rest().await.is_empty(), "and so does what it opened");
    get(&api, &cookie, "/api/v1/whoami").await.problem(401, "unauthorized");
}

#[tokio::test]
async fn signing_out_ends_the_session_and_clears_the_cookie() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    let mut feed = Feed::open(&api, "", &[("cookie", &cookie)]).await;
    for _ in 0..2 {
        let reply = api.send("DELETE", SESSION, &[("cookie", &cookie), OURS], None).await;
        assert_eq!(reply.status, 204);
        let set = reply.header("set-cookie").unwrap();
        assert!(set.starts_with("foreman_session=;") && set.contains("Max-Age=0"), "{set}");
        get(&api, &cookie, "/api/v1/whoami").await.problem(401, "unauthorized");
    }
    assert!(feed.rest().await.is_empty());
    assert_eq!(api.send("DELETE", SESSION, &[], None).await.status, 204, "whoever has none has none");
}

#[tokio::test]
async fn signing_in_again_ends_the_session_before() {
    let api = keyed().await;
    let first = signed_in(&api, ADMIN).await;
    let reply = sign_in(&api, ADMIN, &[("cookie", &first)]).await;
    let second = cookie(&reply);
    assert_ne!(first, second);
    get(&api, &first, "/api/v1/whoami").await.problem(401, "unauthorized");
    get(&api, &second, "/api/v1/whoami").await.expect(200);
    // One that somebody put there before is not taken over.
    let planted = format!("foreman_session=fs_{}", "A".repeat(43));
    let reply = sign_in(&api, ADMIN, &[("cookie", &planted)]).await;
    assert_ne!(cookie(&reply), planted);
    get(&api, &planted, "/api/v1/whoami").await.problem(401, "unauthorized");
}

#[tokio::test]
async fn wrong_keys_are_refused_and_counted() {
    let api = Api::with(Setting { keys: KeyPolicy::asked(ADMIN), hosts: HostPolicy::Any, ..Setting::default() }).await;
    for _ in 0..10 {
        let reply = sign_in(&api, "fm_wrong", &[]).await;
        assert_eq!(reply.header("set-cookie"), None);
        assert!(!reply.body.contains("fm_wrong"), "{reply:?}");
        reply.problem(401, "unauthorized");
    }
    sign_in(&api, "fm_wrong", &[]).await.problem(429, "too-many-requests");
    sign_in(&api, ADMIN, &[]).await.expect(200);
    for (body, status, slug) in [
        ("{", 400, "bad-json"),
        ("{}", 400, "invalid-request"),
        (r#"{"key":7}"#, 400, "invalid-request"),
        (r#"{"key":"a","tenant":"b"}"#, 400, "unknown-field"),
        (&format!(r#"{{"key":"{}"}}"#, "a".repeat(4_096)), 413, "body-too-large"),
    ] {
        api.send("POST", SESSION, &[JSON, OURS], Some(body)).await.problem(status, slug);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    api.send("POST", SESSION, &[form, OURS], Some("key=a")).await.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn where_no_key_is_asked_for_nobody_signs_in_and_a_tenants_key_can_be_tried_out() {
    let api = Api::start().await;
    let reply = sign_in(&api, "whatever", &[]).await;
    assert_eq!(reply.header("set-cookie"), None);
    assert_eq!(reply.expect(200)["key"], json!(null));
    // A cookie that is over hinders nobody.
    let old = format!("foreman_session=fs_{}", "A".repeat(43));
    assert_eq!(get(&api, &old, "/api/v1/whoami").await.expect(200)["key"], json!(null));
    api.post_json("/api/v1/tenants", r#"{"id":"acme"}"#).await.expect(201);
    let made = api.post_json("/api/v1/tenants/acme/keys", r#"{"scopes":["jobs:read"]}"#).await.expect(201);
    let cookie = signed_in(&api, made["key"].as_str().unwrap()).await;
    assert_eq!(get(&api, &cookie, "/api/v1/whoami").await.expect(200)["tenant"], "acme");
    sign_in(&api, "fm_wrong", &[]).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn the_audit_trail_names_the_key_behind_a_session() {
    let api = keyed().await;
    let (text, id) = key(&api, "default", &["jobs:*"]).await;
    let cookie = signed_in(&api, &text).await;
    let headers = [("cookie", cookie.as_str()), OURS, ("x-request-id", "click-1")];
    api.send("POST", "/api/v1/queues/mail/pause", &headers, None).await.expect(200);
    assert_eq!(api.send("DELETE", SESSION, &headers, None).await.status, 204);
    let trail = api.send_as(ADMIN, None, "GET", "/api/v1/audit", None).await.expect(200);
    let acts: Vec<(String, String)> = trail["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap().to_owned(), entry["actor"].as_str().unwrap().to_owned()))
        .collect();
    for action in ["session.create", "queue.pause", "session.delete"] {
        assert!(acts.contains(&(action.to_owned(), id.clone())), "{action}: {acts:?}");
    }
    assert!(!trail.to_string().contains("fs_") && !trail.to_string().contains(&text), "{trail}");
}

#[tokio::test]
async fn a_session_is_looked_up_once_in_a_while_and_not_for_every_request() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    get(&api, &cookie, "/api/v1/whoami").await.expect(200);
    let before = api.registry.passes_asked();
    for _ in 0..20 {
        get(&api, &cookie, "/api/v1/whoami").await.expect(200);
    }
    assert!(api.registry.passes_asked() <= before + 1, "{} times", api.registry.passes_asked() - before);
}

#[tokio::test]
async fn any_server_of_a_team_knows_a_session_and_a_new_configured_key_ends_those_of_the_old_one() {
    let api = keyed().await;
    let (text, _) = key(&api, "default", &["jobs:read"]).await;
    let (admin, holder) = (signed_in(&api, ADMIN).await, signed_in(&api, &text).await);
    let ticket = api.send_as(ADMIN, None, "POST", "/api/v1/stream/tickets", None).await.expect(201);
    let path = format!("{STREAM}?ticket={}", ticket["ticket"].as_str().unwrap());
    let same =
        Api::over(&api, Setting { keys: KeyPolicy::asked(ADMIN), hosts: HostPolicy::Any, ..Setting::default() }).await;
    for cookie in [&admin, &holder] {
        get(&same, cookie, "/api/v1/whoami").await.expect(200);
    }
    for keys in [KeyPolicy::asked("another key of the configuration"), KeyPolicy::None] {
        let other = Api::over(&api, Setting { keys, hosts: HostPolicy::Any, ..Setting::default() }).await;
        get(&other, &admin, "/api/v1/whoami").await.problem(401, "unauthorized");
        get(&other, &holder, "/api/v1/whoami").await.expect(200);
        get(&other, "", &path).await.problem(401, "unauthorized");
    }
    // Signed out at one of them, it is over at the other.
    assert_eq!(same.send("DELETE", SESSION, &[("cookie", &holder), OURS], None).await.status, 204);
    get(
        &Api::over(&api, Setting { keys: KeyPolicy::asked(ADMIN), ..Setting::default() }).await,
        &holder,
        "/api/v1/whoami",
    )
    .await
    .problem(401, "unauthorized");
}

#[tokio::test]
async fn nothing_that_is_kept_lets_a_reader_guess_the_configured_key() {
    let api = keyed().await;
    let cookie = signed_in(&api, ADMIN).await;
    let text = cookie.split_once('=').unwrap().1;
    let pass = api.registry.pass(&KeyHash::of(text.as_bytes())).await.unwrap().expect("a session");
    assert!(matches!(&pass.holder, PassHolder::Bootstrap(kept) if *kept != KeyHash::of(ADMIN.as_bytes())), "{pass:?}");
    get(&api, &cookie, "/api/v1/tenants").await.expect(200);

    // As the version before wrote it down.
    let text = format!("fs_{}", "a".repeat(43));
    let old = NewPass {
        hash: KeyHash::of(text.as_bytes()),
        kind: PassKind::Session,
        holder: PassHolder::Bootstrap(KeyHash::of(ADMIN.as_bytes())),
        tenant: TenantId::default(),
        keep: Duration::from_hours(1),
    };
    api.registry.issue_pass(&old).await.unwrap();
    get(&api, &format!("foreman_session={text}"), "/api/v1/tenants").await.expect(200);
}
