//! Tickets: what opens the stream where no header can be sent.

use std::time::Duration;

use crate::feed::{Feed, STREAM};
use crate::harness::Api;
use crate::matrix::{ADMIN, key, keyed, tenant};
use crate::probes::Log;

const TICKETS: &str = "/api/v1/stream/tickets";

async fn ticket(api: &Api, key: &str, tenant: Option<&str>) -> String {
    let made = api.send_as(key, tenant, "POST", TICKETS, None).await;
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.expect(201);
    assert!(made["expires_at"].is_string(), "{made}");
    made["ticket"].as_str().unwrap().to_owned()
}

fn path(ticket: &str) -> String {
    format!("{STREAM}?ticket={ticket}")
}

#[tokio::test]
async fn a_ticket_opens_the_stream_once() {
    let api = keyed().await;
    let text = ticket(&api, ADMIN, None).await;
    let mut feed = Feed::open(&api, &format!("?ticket={text}"), &[]).await;
    let job = r#"{"url":"http://127.0.0.1:1/"}"#;
    let id = api.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(job)).await.expect(202)["id"].clone();
    assert_eq!(feed.next().await.data["id"], id);
    let reply = api.get(&path(&text)).await;
    assert!(!reply.body.contains(&text));
    reply.problem(401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_show_a_ticket_at_the_same_time_one_is_let_in() {
    let api = keyed().await;
    for _ in 0..10 {
        let text = path(&ticket(&api, ADMIN, None).await);
        let replies = futures_util::future::join_all((0..8).map(|_| api.get(&text))).await;
        let mut statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 401, 401, 401, 401, 401, 401, 401]);
    }
}

#[tokio::test]
async fn a_ticket_is_good_for_half_a_minute_and_worth_what_its_key_is() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (text, id) = key(&api, "acme", &["stream:read"]).await;
    let late = ticket(&api, &text, None).await;
    api.clock.advance(Duration::from_secs(30));
    api.get(&path(&late)).await.problem(401, "unauthorized");
    let early = ticket(&api, &text, None).await;
    api.clock.advance(Duration::from_secs(29));
    assert_eq!(api.get(&path(&early)).await.status, 200);

    let orphaned = ticket(&api, &text, None).await;
    api.send_as(ADMIN, None, "DELETE", &format!("/api/v1/tenants/acme/keys/{id}"), None).await.expect(200);
    api.get(&path(&orphaned)).await.problem(401, "unauthorized");
    // Without the scope there is none.
    let (other, _) = key(&api, "acme", &["jobs:read"]).await;
    api.send_as(&other, None, "POST", TICKETS, None).await.problem(403, "forbidden");
}

#[tokio::test]
async fn a_ticket_is_of_the_tenant_that_it_was_asked_for() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let text = ticket(&api, ADMIN, Some("acme")).await;
    let mut feed = Feed::open(&api, &format!("?ticket={text}"), &[]).await;
    let job = r#"{"url":"http://127.0.0.1:1/"}"#;
    api.send_as(ADMIN, None, "POST", "/api/v1/jobs", Some(job)).await.expect(202);
    let id = api.send_as(ADMIN, Some("acme"), "POST", "/api/v1/jobs", Some(job)).await.expect(202)["id"].clone();
    assert_eq!(feed.next().await.data["id"], id);
    // An operator's too: whoever gets the ticket gets no other tenant.
    for named in ["default", "acme"] {
        let text = ticket(&api, ADMIN, Some("acme")).await;
        let answer = api.get(&format!("/api/v1/stream?ticket={text}&tenant={named}&job=nonsense")).await;
        if named == "acme" {
            answer.problem(400, "invalid-request")
        } else {
            answer.problem(403, "forbidden")
        };
    }
}

#[tokio::test]
async fn a_stream_that_a_ticket_opened_ends_when_its_key_does() {
    let api = keyed().await;
    let (text, id) = key(&api, "default", &["stream:read"]).await;
    let shown = ticket(&api, &text, None).await;
    let mut feed = Feed::open(&api, &format!("?ticket={shown}"), &[]).await;
    api.send_as(ADMIN, None, "DELETE", &format!("/api/v1/tenants/default/keys/{id}"), None).await.expect(200);
    assert!(feed.rest().await.is_empty());
}

#[tokio::test]
async fn a_ticket_is_good_for_nothing_but_the_stream() {
    let api = keyed().await;
    let text = ticket(&api, ADMIN, None).await;
    api.get(&format!("/api/v1/jobs?ticket={text}")).await.problem(401, "unauthorized");
    api.send_as(&text, None, "GET", "/api/v1/jobs", None).await.problem(401, "unauthorized");
    let cookie = format!("foreman_session={text}");
    api.send("GET", "/api/v1/jobs", &[("cookie", &cookie)], None).await.problem(401, "unauthorized");
    // With a key beside it, nobody knows which is meant, and it stays what it was.
    api.send_as(ADMIN, None, "GET", &path(&text), None).await.problem(401, "unauthorized");
    assert_eq!(api.get(&path(&text)).await.status, 200);
    for wrong in ["", "nonsense", "ft_short"] {
        api.get(&path(wrong)).await.problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn wrong_tickets_are_counted_like_wrong_keys() {
    let setting = crate::harness::Setting { keys: foreman_api::KeyPolicy::asked(ADMIN), ..Default::default() };
    let api = Api::with(setting).await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(api.get(&path("ft_wrong")).await.status);
    }
    assert!(statuses[..10].iter().all(|status| *status == 401), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[tokio::test]
async fn a_key_in_the_url_is_refused_and_not_repeated() {
    let api = keyed().await;
    let (text, _) = key(&api, "default", &["stream:read"]).await;
    for query in [
        format!("key={text}"),
        format!("api_key={text}"),
        format!("token={text}"),
        format!("access_token={text}"),
        format!("ticket={text}"),
        "key=whatever".to_owned(),
        format!("after={text}"),
    ] {
        let reply = api.get(&format!("{STREAM}?{query}")).await;
        assert!(!reply.body.contains(&text), "{reply:?}");
        let problem = reply.problem(400, "invalid-request");
        assert!(problem["detail"].as_str().unwrap().contains("a key must not be in a URL"), "{problem}");
    }
}

#[tokio::test]
async fn where_no_key_is_asked_for_a_ticket_works_all_the_same() {
    let api = Api::start().await;
    let made = api.post(TICKETS).await.expect(201);
    let text = made["ticket"].as_str().unwrap();
    assert_eq!(api.get(&path(text)).await.status, 200);
    api.get(&path(text)).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn neither_a_ticket_nor_a_key_in_a_url_is_logged() {
    Log::start();
    let api = keyed().await;
    let (text, _) = key(&api, "default", &["stream:read"]).await;
    let shown = ticket(&api, &text, None).await;
    assert_eq!(api.get(&path(&shown)).await.status, 200);
    api.get(&path(&shown)).await.problem(401, "unauthorized");
    api.get(&format!("{STREAM}?key={text}")).await.problem(400, "invalid-request");
    let lines = Log::lines();
    assert_eq!(lines.iter().filter(|line| line.contains("GET /api/v1/stream ")).count(), 3, "{lines:?}");
    let secret = |line: &&String| line.contains(&shown) || line.contains(&text) || line.contains("ft_");
    assert_eq!(lines.iter().find(secret), None);
}
