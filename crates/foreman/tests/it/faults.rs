//! Full disks, damaged files, and clients that do not wait for their answer.

use std::time::Duration;

use foreman_client::{FilterDocument, JobSpec, State};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::stage::{LONG, Stage, Target, call, state, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_what_it_cannot_keep_and_keeps_what_it_accepted() {
    let (stage, target) = (Stage::new(), Target::willing().await);
    let mut server = stage.start(&["--set", "sqlite.max_pages=200", "--queues", "other"]).await;
    let large = JobSpec { body: Some("x".repeat(50_000)), ..call(&target.url) };
    let mut accepted = Vec::new();
    let refused = loop {
        match server.client.submit(&large).await {
            Ok(job) => accepted.push(job.id),
            Err(error) => break error,
        }
        assert!(accepted.len() < 100, "the file is not bounded");
    };
    assert_eq!(refused.status(), Some(507), "{refused}");
    assert!(!accepted.is_empty());
    assert_eq!(server.get("/healthz").await.0, 200, "it lives on");
    for id in &accepted {
        assert_eq!(server.client.get(id).await.unwrap().state, State::Pending, "and can be read");
    }
    let said = server.foreman(&["submit", "--url", &target.url, "--body", &"x".repeat(50_000), "--wait"]).await;
    assert_eq!(said.code, 5, "the server cannot take it: {said:?}");
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.ended().await;

    let mut server = stage.start(&[]).await;
    let later = server.client.submit(&large).await.expect("there is room again").id;
    for id in accepted.iter().chain([&later]) {
        state(&server.client, id, State::Completed).await;
    }
    target.assert_one_call_per_attempt();
    assert_eq!(server.stop().await, Some(0));
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_called_so_and_the_server_is_not_ready() {
    let stage = Stage::new();
    let mut server = stage.start(&["--queues", "other"]).await;
    let mut ids = Vec::new();
    for n in 0..60 {
        let body = format!("needle-{n:02} {}", "x".repeat(300));
        ids.push(server.client.submit(&JobSpec { body: Some(body), ..call("http://127.0.0.1:9/") }).await.unwrap().id);
    }
    assert_eq!(server.stop().await, Some(0));
    overwrite_the_page_of(&stage.database(), b"needle-03 ");

    // Nothing that the server does by itself reads that page.
    let mut server = stage.start(&["--queues", "other"]).await;
    assert_eq!(server.get("/readyz").await.0, 200);
    let error = server.client.get(&ids[3]).await.unwrap_err();
    assert_eq!(error.status(), Some(500), "{error}");
    assert!(error.to_string().contains("foreman check --deep"), "{error}");
    let (status, ready) = server.get("/readyz").await;
    assert!(status == 503 && ready.contains("damaged"), "{status}: {ready}");
    assert!(server.log().contains("the store is damaged: "), "{}", server.log());
    assert_eq!(server.client.get(&ids[59]).await.unwrap().state, State::Pending, "what is whole can be read");
    assert_eq!(server.get("/readyz").await.0, 503, "and mends nothing");
    server.stop().await;

    let data = stage.data();
    let said = stage.foreman(&["check", "--deep", "--data-dir", data.to_str().unwrap()]).await;
    assert_eq!(said.code, 1, "{said:?}");
}

/// As a disk would that lost a write: the page with this text becomes zeros.
fn overwrite_the_page_of(database: &std::path::Path, text: &[u8]) {
    let mut file = std::fs::read(database).unwrap();
    let page = usize::from(u16::from_be_bytes([file[16], file[17]]));
    let at = file.windows(text.len()).position(|window| window == text).expect("the job is in the file");
    let start = at / page * page;
    file[start..start + page].fill(0);
    std::fs::write(database, file).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_gone_before_the_answer_takes_nothing_back() {
    let stage = Stage::new();
    let mut server = stage.start(&["--queues", "other"]).await;
    let body = r#"{"url":"http://127.0.0.1:9/","tags":["gone"]}"#;
    // Who asks first is waited for while the server looks up whom it serves; who leaves meanwhile was not read.
    server.client.queues().await.unwrap();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let request = format!(
            "POST /api/v1/jobs HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.address(),
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        // Dropped with the answer unread, or still to come.
    }
    let filter = FilterDocument { tag: Some("gone".into()), ..FilterDocument::default() };
    // A request that was dropped before it was read is not a job; one that was read is exactly one.
    let kept = until("some were read", async || {
        let kept = server.client.list(&filter, 100, None).await.unwrap().items.len();
        (kept > 0).then_some(kept)
    })
    .await;
    assert!(kept <= 20);
    assert_eq!(server.stop().await, Some(0), "no task is left behind: {}", server.log());
    assert!(!server.log().contains("still running at exit"));
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_never_ends_does_not_hold_the_server() {
    let stage = Stage::new();
    let mut server = stage.start(&["--set", "limits.header_timeout=500ms", "--set", "limits.body_stall=500ms"]).await;
    let head = format!("POST /api/v1/jobs HTTP/1.1\r\nhost: {}\r\n", server.address());
    let body = format!("{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{");
    for half in [head, body] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // However it is told, the connection ends.
        let _ = timeout(LONG, stream.read_to_end(&mut answer)).await.expect("the server hangs up");
    }
    // One that is still there when the server stops is not waited for beyond the grace.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(b"POST /api/v1/jobs HT").await.unwrap();
    let stopped = timeout(Duration::from_secs(26), server.stop()).await.expect("within the grace");
    assert_eq!(stopped, Some(0), "{}", server.log());
}
