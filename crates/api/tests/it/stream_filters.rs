//! What each client sees of all that happens: by filter, by scope, by tenant; and how things stand, before what changes.

use std::time::Duration;

use foreman_api::Hub;
use foreman_core::TenantId;
use foreman_core::ports::JobStore as _;
use serde_json::{Value, json};

use crate::faulty::Fault;
use crate::feed::{Feed, STREAM};
use crate::harness::{Api, Setting, id_of, until};
use crate::matrix::{ADMIN, key, keyed, tenant};
use crate::stream::new_job;

const A_WHILE: Duration = Duration::from_millis(100);

fn job(queue: &str, kind: &str, tag: &str) -> String {
    json!({"url": "http://127.0.0.1:1/", "queue": queue, "kind": kind, "tags": [tag, "all"]}).to_string()
}

#[tokio::test]
async fn a_filter_takes_any_of_a_list_and_all_of_the_lists() {
    let api = Api::start().await;
    let first = api.submitted(&job("mail", "send", "blue")).await;
    let cases = [
        ("?queue=mail", vec![0, 2]),
        ("?queue=mail,video", vec![0, 1, 2]),
        ("?kind=send", vec![0, 1]),
        ("?kind=send,cut", vec![0, 1, 2, 3]),
        ("?tag=blue", vec![0, 3]),
        ("?tag=all", vec![0, 1, 2, 3]),
        ("?queue=mail&kind=send", vec![0]),
        ("?queue=mail&tag=red", vec![2]),
        ("?kind=nothing", vec![]),
        (&format!("?job={first}"), vec![4]),
        ("", vec![0, 1, 2, 3]),
    ];
    let mut feeds = Vec::new();
    for (query, expected) in &cases {
        feeds.push((Feed::open(&api, query, &[]).await, *query, expected));
    }
    // And one that reads the same from the log, later.
    let place = Feed::open(&api, "", &[]).await.last_id.unwrap();
    let mut ids = Vec::new();
    for (queue, kind, tag) in
        [("mail", "send", "blue"), ("video", "send", "red"), ("mail", "cut", "red"), ("sound", "cut", "blue")]
    {
        ids.push(api.submitted(&job(queue, kind, tag)).await);
    }
    ids.push(first);
    for queue in ["mail", "video"] {
        api.post(&format!("/api/v1/queues/{queue}/pause")).await.expect(200);
    }
    for (query, expected) in &cases {
        let and = if query.is_empty() { "?" } else { "&" };
        feeds.push((Feed::open(&api, &format!("{query}{and}after={place}"), &[]).await, *query, expected));
    }
    for (feed, query, expected) in &mut feeds {
        let events = feed.within(A_WHILE).await;
        let told: Vec<usize> = events
            .iter()
            .filter(|event| event.name == "job")
            .map(|event| ids.iter().position(|id| event.data["id"] == *id).unwrap())
            .collect();
        let expected: Vec<usize> = expected.iter().copied().filter(|place| *place < 4).collect();
        assert_eq!(told, expected, "{query}");
        let queues: Vec<&Value> =
            events.iter().filter(|event| event.name == "queue").map(|event| &event.data["name"]).collect();
        match *query {
            "" | "?queue=mail,video" => assert_eq!(queues, ["mail", "video"]),
            "?queue=mail" => assert_eq!(queues, ["mail"]),
            _ => assert!(queues.is_empty(), "{query}: {queues:?}"),
        }
    }
    // The one job, when it moves.
    api.store.cancel(&TenantId::default(), &[ids[4].parse().unwrap()]).await.unwrap();
    let (named, ..) = feeds.iter_mut().find(|(_, query, _)| query.starts_with("?job=")).unwrap();
    let told = named.next().await;
    assert_eq!((&told.data["id"], &told.data["state"]), (&json!(ids[4]), &json!("cancelled")));
}

#[tokio::test]
async fn what_a_job_is_called_is_asked_for_only_when_somebody_filters_by_it_and_a_job_that_is_gone_matches_nothing() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "?kind=send", &[]).await;
    let place = feed.last_id.clone().unwrap();
    let gone = api.submitted(&job("a", "send", "x")).await;
    assert_eq!(feed.next().await.data["id"], gone);
    api.store.cancel(&TenantId::default(), &[gone.parse().unwrap()]).await.unwrap();
    api.store.remove(&TenantId::default(), &[gone.parse().unwrap()]).await.unwrap();
    let kept = api.submitted(&job("a", "send", "x")).await;
    // Another server, which has not heard of the job before.
    let other = Api::over(&api, Setting::default()).await;
    let mut late = Feed::open(&other, &format!("?kind=send&after={place}"), &[]).await;
    assert_eq!(late.next().await.data["id"], kept);
}

#[tokio::test]
async fn while_labels_cannot_be_asked_for_nothing_is_passed_over() {
    let api = Api::start().await;
    let mut feed = Feed::open(&api, "?kind=send", &[]).await;
    let place = feed.last_id.clone().unwrap();
    // The reader's own look succeeds, and the question for labels does not.
    api.store.fail_labels(true);
    let id = api.submitted(&job("a", "send", "x")).await;
    let mut late = Feed::open(&api, &format!("?kind=send&after={place}"), &[]).await;
    until("it was asked for", || api.store.faults_met() > 1).await;
    api.store.fail_labels(false);
    assert_eq!(feed.next().await.data["id"], id);
    assert_eq!(late.next().await.data["id"], id);
}

#[tokio::test]
async fn two_tenants_never_see_each_other() {
    let api = keyed().await;
    let mut tenants = Vec::new();
    for name in ["mine", "theirs"] {
        tenant(&api, name).await;
        let (text, _) = key(&api, name, &["stream:read", "schedules:*", "jobs:*"]).await;
        tenants.push((name, text));
    }
    let place = Feed::open_as(&api, ADMIN, "").await.last_id.unwrap();
    let mut feeds = Vec::new();
    for (name, text) in &tenants {
        for query in ["", "?queue=shared", "?tag=all"] {
            feeds.push((*name, Feed::open_as(&api, text, query).await));
        }
    }
    let mut own: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, text) in &tenants {
        let post = async |path: &str, body: Option<&str>| api.send_as(text, None, "POST", path, body).await;
        let batch = format!(r#"{{"jobs":[{0},{0}]}}"#, job("shared", "send", "x"));
        let answer = post("/api/v1/jobs/batch", Some(&batch)).await.expect(200);
        let mut ids: Vec<String> = answer["results"].as_array().unwrap().iter().map(id_of).collect();
        let schedule = format!(r#"{{"name":"of-{name}","every":"1h","job":{{"url":"http://127.0.0.1:1/"}}}}"#);
        ids.push(id_of(&post("/api/v1/schedules", Some(&schedule)).await.expect(201)));
        post("/api/v1/queues/shared/pause", None).await.expect(200);
        own.push((name, ids));
    }
    // One transaction that moves jobs of both.
    api.complete_all().await;
    for (name, text) in &tenants {
        feeds.push((*name, Feed::open_as(&api, text, &format!("?after={place}")).await));
    }
    for (name, feed) in &mut feeds {
        let events = feed.within(A_WHILE * 2).await;
        let (_, ids) = own.iter().find(|(owner, _)| owner == name).unwrap();
        assert!(events.iter().any(|event| event.name == "job"), "{name}");
        for event in &events {
            match event.name.as_str() {
                "job" | "schedule" => assert!(ids.iter().any(|id| event.data["id"] == **id), "{name}: {event:?}"),
                "queue" => assert_eq!(event.data["name"], "shared"),
                other => panic!("{name} is told of a {other}"),
            }
        }
        let queues = events.iter().filter(|event| event.name == "queue").count();
        assert!(queues <= 1, "{name} is told of the other's queue: {events:?}");
    }
}

#[tokio::test]
async fn schedules_are_for_those_who_may_read_them_and_workers_for_operators() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (plain, _) = key(&api, "acme", &["stream:read"]).await;
    let (reader, _) = key(&api, "acme", &["stream:read", "schedules:read"]).await;
    let mut feeds = [
        (Feed::open_as(&api, &plain, "").await, vec!["queue"]),
        (Feed::open_as(&api, &reader, "").await, vec!["schedule", "queue"]),
        (Feed::open_as(&api, ADMIN, "?tenant=acme").await, vec!["schedule", "queue", "worker"]),
        (Feed::open_as(&api, ADMIN, "").await, vec!["worker"]),
    ];
    let schedule = r#"{"name":"nightly","every":"1h","job":{"url":"http://127.0.0.1:1/"}}"#;
    api.send_as(ADMIN, Some("acme"), "POST", "/api/v1/schedules", Some(schedule)).await.expect(201);
    api.send_as(ADMIN, Some("acme"), "POST", "/api/v1/queues/mail/pause", None).await.expect(200);
    foreman_core::ports::SessionStore::drain(api.store.as_ref(), api.session).await.unwrap();
    for (feed, expected) in &mut feeds {
        let told: Vec<String> = feed.within(A_WHILE).await.into_iter().map(|event| event.name).collect();
        assert_eq!(told, *expected);
    }
}

#[tokio::test]
async fn only_an_operator_names_a_tenant() {
    let api = keyed().await;
    tenant(&api, "acme").await;
    let (own, _) = key(&api, "acme", &["stream:read"]).await;
    let send = async |key: &str, tenant: Option<&str>, query: &str| {
        api.send_as(key, tenant, "GET", &format!("{STREAM}{query}"), None).await
    };
    assert_eq!(send(&own, None, "?tenant=default").await.problem(403, "forbidden")["scope"], "admin");
    assert_eq!(send(&own, None, "?tenant=acme").await.status, 200);
    send(ADMIN, None, "?tenant=nobody").await.problem(404, "tenant-not-found");
    send(ADMIN, Some("acme"), "?tenant=default").await.problem(400, "invalid-request");
    assert_eq!(send(ADMIN, Some("acme"), "?tenant=acme").await.status, 200);
    // Elsewhere it is no parameter.
    api.send_as(ADMIN, None, "GET", "/api/v1/jobs?tenant=acme", None).await.problem(400, "invalid-request");
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_told_where() {
    let api = Api::start().await;
    let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    for (query, part) in [
        ("job=nonsense", "job"),
        ("job=", "job"),
        ("queue=a%20b", "queue"),
        (&format!("queue={}", many(21)), "queue"),
        (&format!("tag={}", many(21)), "tag"),
        (&format!("kind={}", many(21)), "kind"),
        ("snapshot=perhaps", "query"),
        ("colour=red", "colour"),
        ("job=a&job=b", "job"),
    ] {
        let problem = api.get(&format!("{STREAM}?{query}")).await.problem(400, "invalid-request");
        assert!(problem["detail"].as_str().unwrap().contains(part), "{query}: {problem}");
    }
    assert_eq!(api.streams.counts().open, 0, "none of them was opened");
}

#[tokio::test]
async fn a_snapshot_tells_how_things_stand_and_then_what_changes() {
    let api = Api::start().await;
    let ended = api.submitted(&job("mail", "send", "blue")).await;
    api.complete_all().await;
    let waiting = api.submitted(&job("mail", "cut", "red")).await;
    let mut feed = Feed::open(&api, "?snapshot=true", &[]).await;
    let told = feed.jobs(2).await;
    let of = |id: &str| told.iter().find(|event| event.data["id"] == id).unwrap().data.clone();
    assert_eq!((&of(&ended)["state"], &of(&ended)["sequence"]), (&json!("completed"), &json!(3)));
    assert_eq!((&of(&waiting)["state"], &of(&waiting)["sequence"]), (&json!("pending"), &json!(1)));
    let end = feed.next().await;
    assert_eq!((end.name.as_str(), &end.data["jobs"], &end.data["complete"]), ("snapshot", &json!(2), &json!(true)));
    api.complete_all().await;
    let states: Vec<Value> = feed.jobs(2).await.into_iter().map(|event| event.data["state"].clone()).collect();
    assert_eq!(states, ["running", "completed"]);

    // A list of several queues has none of Foreman's own.
    let mut feed = Feed::open(&api, "?snapshot=true&queue=mail,foreman.webhooks", &[]).await;
    feed.jobs(2).await;
    assert_eq!(feed.next().await.data["complete"], json!(false));

    for (query, jobs) in [
        ("kind=send", 1),
        ("kind=send,cut", 2),
        ("tag=blue,red&queue=mail", 2),
        ("queue=other", 0),
        (&format!("job={ended}"), 1),
        (&format!("job={ended},0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11"), 1),
        (&format!("job={ended}&kind=cut"), 0),
    ] {
        let mut feed = Feed::open(&api, &format!("?snapshot=true&{query}"), &[]).await;
        feed.jobs(jobs).await;
        let end = feed.next().await;
        assert_eq!((end.name.as_str(), &end.data["jobs"]), ("snapshot", &json!(jobs)), "{query}");
    }
}

#[tokio::test]
async fn a_snapshot_that_was_cut_off_is_told_again_and_one_that_was_not_is_not() {
    let api = Api::start().await;
    api.submitted(&job("a", "b", "c")).await;
    let mut feed = Feed::open(&api, "?snapshot=true", &[]).await;
    let started = feed.last_id.clone().unwrap();
    let half_way = feed.next().await;
    let whole = feed.next().await;
    assert_eq!((half_way.name.as_str(), whole.name.as_str()), ("job", "snapshot"));
    let meanwhile = api.submitted(&job("a", "b", "c")).await;
    for place in [&started, &half_way.id] {
        let mut again = Feed::open(&api, "?snapshot=true", &[("last-event-id", place)]).await;
        let told = again.jobs(2).await;
        assert!(told.iter().any(|event| event.data["id"] == meanwhile), "{told:?}");
        assert_eq!(again.next().await.name, "snapshot");
        // What happened since then is in the log, and may be told again.
        assert_eq!(again.next().await.data["id"], meanwhile);
    }
    let mut on = Feed::open(&api, "?snapshot=true", &[("last-event-id", &whole.id)]).await;
    assert_eq!(on.next().await.data["id"], meanwhile);
    assert!(on.within(A_WHILE).await.is_empty());
    // One whose place is lost begins anew.
    let mut lost = Feed::open(&api, "?snapshot=true&after=nonsense", &[]).await;
    assert_eq!(lost.next().await.name, "reset");
    lost.jobs(2).await;
    assert_eq!(lost.next().await.name, "snapshot");
}

#[tokio::test]
async fn a_snapshot_of_very_many_says_that_there_are_more() {
    let api = Api::start().await;
    let jobs: Vec<_> = (0..1_001).map(|_| new_job()).collect();
    api.store.inner.submit(&jobs).await.unwrap();
    let mut feed = Feed::open(&api, "?snapshot=true", &[]).await;
    let told = feed.jobs(1_000).await;
    let end = feed.next().await;
    assert_eq!((&end.data["jobs"], &end.data["complete"]), (&json!(1_000), &json!(false)));
    let oldest = jobs[0].id.to_string();
    assert!(told.iter().all(|event| event.data["id"] != oldest), "the newest come");
}

#[tokio::test]
async fn a_snapshot_waits_for_a_store_that_is_away() {
    let mut setting = Setting::default();
    setting.tail.streams.heartbeat = Duration::from_millis(40);
    let api = Api::with(setting).await;
    api.submitted(&job("a", "b", "c")).await;
    let warm = Feed::open(&api, "", &[]).await;
    until("somebody reads", || Hub::is_reading(&api.streams)).await;
    api.store.set(Some(Fault::Hang));
    let mut feed = Feed::open(&api, "?snapshot=true", &[]).await;
    for _ in 0..3 {
        assert_eq!(feed.any().await.name, "heartbeat");
    }
    api.store.set(None);
    feed.jobs(1).await;
    assert_eq!(feed.next().await.name, "snapshot");
    drop(warm);
}
