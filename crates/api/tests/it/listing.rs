//! Lists and their pages.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_core::Clock;
use serde_json::Value;

use crate::harness::{Api, id_of};

async fn submit_many(api: &Api, count: usize, queue: &str) {
    for n in 0..count {
        api.submitted(&format!(r#"{{"url":"http://127.0.0.1:1/","kind":"{n}","queue":"{queue}"}}"#)).await;
        api.clock.advance(Duration::from_millis(1));
    }
}

async fn items(api: &Api, query: &str) -> Vec<Value> {
    api.get(&format!("/api/v1/jobs?{query}")).await.expect(200)["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn pages_walk_over_everything_once_newest_first() {
    let api = Api::start().await;
    submit_many(&api, 25, "a").await;
    let mut seen = Vec::new();
    let mut path = "/api/v1/jobs?limit=7".to_owned();
    let mut pages = 0;
    loop {
        let page = api.get(&path).await.expect(200);
        pages += 1;
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|job| job["kind"].as_str().unwrap().parse::<u64>().unwrap()),
        );
        // What arrives during the walk is not met by it.
        submit_many(&api, 1, "b").await;
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/jobs?limit=7&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(pages, 4);
    assert_eq!(seen, (0..25).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn payloads_are_listed_where_they_are_asked_for_and_no_more_than_a_mebibyte_of_them() {
    let api = Api::start().await;
    for n in 0..8 {
        let text = "x".repeat(200_000);
        api.submitted(&format!(r#"{{"url":"http://127.0.0.1:1/","kind":"{n}","payload":"{text}"}}"#)).await;
        api.clock.advance(Duration::from_millis(1));
    }
    assert!(items(&api, "limit=8").await.iter().all(|job| job.get("payload").is_none()));
    let (mut path, mut kinds, mut pages) = ("/api/v1/jobs?fields=payload".to_owned(), Vec::new(), 0);
    loop {
        let reply = api.get(&path).await;
        assert!(reply.body.len() < 1_300_000, "{} bytes", reply.body.len());
        let page = reply.expect(200);
        pages += 1;
        for job in page["items"].as_array().unwrap() {
            assert_eq!(job["payload"].as_str().unwrap().len(), 200_000);
            kinds.push(job["kind"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/jobs?fields=payload&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((pages, kinds.join("").as_str()), (2, "76543210"));
    for wrong in ["fields=payload&limit=101", "fields=secrets"] {
        api.get(&format!("/api/v1/jobs?{wrong}")).await.problem(400, "invalid-request");
    }
}

#[tokio::test]
async fn a_list_holds_fifty_unless_asked_and_never_shows_attempts() {
    let api = Api::start().await;
    submit_many(&api, 51, "a").await;
    let page = api.get("/api/v1/jobs").await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 50);
    assert!(page["next"].is_string());
    assert!(page["items"][0].get("attempts").is_none());
    let all = api.get("/api/v1/jobs?limit=500").await.expect(200);
    assert_eq!((all["items"].as_array().unwrap().len(), &all["next"]), (51, &Value::Null));
}

#[tokio::test]
async fn every_filter_keeps_what_it_says() {
    let api = Api::start().await;
    let plain = api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    api.clock.advance(Duration::from_secs(10));
    let between = api.clock.now();
    api.clock.advance(Duration::from_secs(10));
    let marked = api
        .submitted(r#"{"url":"http://127.0.0.1:1/","queue":"mail","kind":"welcome","tags":["eu","x y"],"correlation_id":"c-1","delay":"1h"}"#)
        .await;
    for (query, expected) in [
        ("queue=mail".to_owned(), &marked),
        ("queue=default".to_owned(), &plain),
        ("kind=welcome".to_owned(), &marked),
        ("tag=eu".to_owned(), &marked),
        ("tag=x%20y".to_owned(), &marked),
        ("correlation_id=c-1".to_owned(), &marked),
        ("state=scheduled".to_owned(), &marked),
        ("state=pending".to_owned(), &plain),
        (format!("created_after={between}"), &marked),
        (format!("created_before={between}"), &plain),
        ("state=scheduled&queue=mail&kind=welcome&tag=eu".to_owned(), &marked),
    ] {
        let ids: Vec<String> = items(&api, &query).await.iter().map(id_of).collect();
        assert_eq!(ids, std::slice::from_ref(expected), "{query}");
    }
    assert!(items(&api, "state=dead").await.is_empty());
    assert!(items(&api, "queue=mail&state=pending").await.is_empty());
}

#[tokio::test]
async fn the_dead_are_listed_latest_death_first() {
    let api = Api::start().await;
    let alive = api.submitted(r#"{"url":"http://127.0.0.1:1/","delay":"1h"}"#).await;
    let mut dead = Vec::new();
    for _ in 0..5 {
        dead.push(api.submitted(r#"{"url":"http://127.0.0.1:1/","queue":"a"}"#).await);
        api.kill_all().await;
        api.clock.advance(Duration::from_secs(1));
    }
    let page = api.get("/api/v1/dead").await.expect(200);
    let ids: Vec<String> = page["items"].as_array().unwrap().iter().map(id_of).collect();
    assert_eq!(ids, dead.iter().rev().cloned().collect::<Vec<_>>());
    assert!(!ids.contains(&alive));
    let first = api.get("/api/v1/dead?limit=2&queue=a").await.expect(200);
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("/api/v1/dead?limit=3&cursor={next}")).await.expect(200);
    let walked: BTreeSet<String> =
        [first, second].iter().flat_map(|page| page["items"].as_array().unwrap().iter().map(id_of)).collect();
    assert_eq!(walked, dead.into_iter().collect());
}
