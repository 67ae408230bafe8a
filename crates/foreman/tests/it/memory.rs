//! What one key can make a server keep in memory, and how many of its connections.
//!
//! An optimised server has to manage with the 256 MiB that it is given (`deploy/kubernetes/api.yaml`), its code included; this build's
//! code alone is most of that, so of this build what is its own is measured. `make test` runs these tests in the suite `release`
//! only, on an optimised binary (`FOREMAN_RELEASE`).

#![cfg(target_os = "linux")]

use std::time::Duration;

use bytes::Bytes;
use foreman_runtime::Tasks;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::stage::{LONG, Server, Stage, Target};

const MIB: u64 = 1024 * 1024;
/// What a server is given.
const GIVEN: u64 = 256 * MIB;

#[expect(clippy::disallowed_methods, reason = "a test is told which binary it looks at")]
fn is_release() -> bool {
    std::env::var_os("FOREMAN_RELEASE").is_some()
}

/// A line of what the kernel knows of a process, in bytes.
fn measured(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Watches what a server needs, until told to stop.
async fn watched<T>(server: &Server, what: &str, work: impl Future<Output = T>) -> T {
    let mut most = 0;
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(Duration::from_millis(10)) => most = most.max(measured(server, "RssAnon:")),
        }
    };
    eprintln!("{what}: at most {} MiB of its own, {} MiB in all", most / MIB, measured(server, "VmHWM:") / MIB);
    assert!(most < GIVEN - 40 * MIB, "{what}: {} MiB of its own", most / MIB);
    if is_release() {
        assert!(measured(server, "VmHWM:") < GIVEN, "{what}: {} MiB in all", measured(server, "VmHWM:") / MIB);
    }
    done
}

/// A connection on which something was asked.
async fn asked(server: &Server, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        server.address(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A refusal may come, and the connection be closed, before everything is sent.
    let _ = stream.write_all(body.as_bytes()).await;
    stream
}

async fn answered(mut stream: TcpStream) -> (u16, String) {
    let mut read = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    let whole = async {
        loop {
            let text = String::from_utf8_lossy(&read);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if body.len() >= length.parse::<usize>().unwrap() {
                    break (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned());
                }
            }
            let length = stream.read(&mut piece).await.unwrap();
            assert!(length > 0, "closed after {:?}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&piece[..length]);
        }
    };
    timeout(LONG, whole).await.expect("an answer")
}

/// Asks until there is room: whoever is refused with a 503 is told to send it again.
async fn call(server: &Server, method: &str, path: &str, body: &str) -> (u16, Value) {
    let end = Instant::now() + LONG;
    loop {
        let (status, answer) = answered(asked(server, method, path, body).await).await;
        if status != 503 || Instant::now() > end {
            return (status, serde_json::from_str(&answer).unwrap());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Jobs that stay where they are, each with so much payload.
async fn large_jobs(server: &Server, count: usize, bytes: usize) {
    let job = json!({"url": "http://127.0.0.1:1/", "delay": "1d", "payload": "x".repeat(bytes)});
    let at_once = 7 * 1024 * 1024 / bytes;
    for some in vec![&job; count].chunks(at_once) {
        let (status, answer) = call(server, "POST", "/api/v1/jobs/batch", &json!({"jobs": some}).to_string()).await;
        assert_eq!(status, 200, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_mistakes_costs_no_more_than_another() {
    let stage = Stage::new();
    send_mistakes(&stage.start(&[]).await).await;
}

async fn send_mistakes(server: &Server) {
    let fields: Vec<String> = (0..1_000).map(|n| format!("\"{n:03}\":0")).collect();
    let jobs = vec![format!("{{{}}}", fields.join(",")); 950];
    let body = &format!("{{\"jobs\":[{}]}}", jobs.join(","));
    watched(server, "mistakes", async {
        let answers: Vec<_> =
            (0..4).map(|_| async { answered(asked(server, "POST", "/api/v1/jobs/batch", body).await).await }).collect();
        for (status, answer) in futures_util::future::join_all(answers).await {
            assert!(matches!(status, 200 | 503), "{status}");
            assert!(answer.len() < 3 * 1024 * 1024, "{} bytes for {}", answer.len(), body.len());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_snapshots_of_large_jobs_fit_into_memory() {
    let stage = Stage::new();
    list_large_jobs(&stage.start(&[]).await).await;
}

async fn list_large_jobs(server: &Server) {
    large_jobs(server, 500, 250 * 1024).await;
    watched(server, "lists and snapshots", async {
        // Nobody reads what is answered here.
        let mut open = Vec::new();
        for _ in 0..16 {
            open.push(asked(server, "GET", "/api/v1/jobs?limit=500", "").await);
        }
        for _ in 0..8 {
            open.push(asked(server, "GET", "/api/v1/stream?snapshot=true", "").await);
        }
        let (status, list) = call(server, "GET", "/api/v1/jobs?limit=500", "").await;
        assert_eq!((status, list["items"].as_array().map(Vec::len)), (200, Some(500)));
        assert!(list["items"][0].get("payload").is_none());
        let id = list["items"][0]["id"].as_str().unwrap();
        let (status, job) = call(server, "GET", &format!("/api/v1/jobs/{id}"), "").await;
        assert_eq!(status, 200, "{job}");
        assert_eq!(job["payload"].as_str().map(str::len), Some(250 * 1024), "the job itself has it");
        let filter = json!({"filter": {}}).to_string();
        assert_eq!(call(server, "POST", "/api/v1/jobs/cancel", &filter).await.1["changed"], 500);
        drop(open);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_very_many_attempts_is_answered_page_by_page() {
    let stage = Stage::new();
    read_many_attempts(&stage.start(&[]).await).await;
}

async fn read_many_attempts(server: &Server) {
    let target = Target::answering(|_| (500, Duration::ZERO)).await;
    let job = json!({"url": target.url, "max_attempts": 300, "backoff": {"base": "1ms", "factor": 1, "cap": "1ms"}});
    let (status, made) = call(server, "POST", "/api/v1/jobs", &job.to_string()).await;
    assert_eq!(status, 202, "{made}");
    let path = &format!("/api/v1/jobs/{}", made["id"].as_str().unwrap());
    let end = Instant::now() + 4 * LONG;
    watched(server, "attempts", async {
        let job = loop {
            let (_, job) = call(server, "GET", &format!("{path}/wait?timeout=30s"), "").await;
            if job["state"] == "dead" {
                break job;
            }
            assert!(Instant::now() < end, "{job}");
        };
        assert_eq!((&job["attempts_total"], &job["attempt"]), (&json!(300), &json!(300)));
        let shown = job["attempts"].as_array().unwrap();
        assert_eq!((shown.len(), &shown[24]["number"]), (25, &json!(300)));
        let (mut numbers, mut next) = (Vec::new(), Value::Null);
        loop {
            let cursor = next.as_str().map(|next| format!("?cursor={next}")).unwrap_or_default();
            let (status, page) = call(server, "GET", &format!("{path}/attempts{cursor}"), "").await;
            assert_eq!(status, 200, "{page}");
            numbers.extend(page["items"].as_array().unwrap().iter().map(|one| one["number"].as_u64().unwrap()));
            next = page["next"].clone();
            if next.is_null() {
                break;
            }
        }
        assert_eq!(numbers, (1..=20).chain(121..=300).rev().collect::<Vec<u64>>());
    })
    .await;
}

#[derive(Clone)]
struct Named(Tasks);

impl<F> hyper::rt::Executor<F> for Named
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn("client", future));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_very_many_requests_at_once_fit_into_memory() {
    let stage = Stage::new();
    send_many_bodies(&stage.start(&[]).await).await;
}

async fn send_many_bodies(server: &Server) {
    let tasks = Tasks::new();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let builder = hyper::client::conn::http2::Builder::new(Named(tasks.clone()));
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    drop(tasks.spawn("client", connection));
    // The largest that is taken, and such as needs most room when it is taken apart.
    let payload = format!("[{}]", vec!["[]"; 80_000].join(","));
    let job = format!(r#"{{"url":"http://127.0.0.1:1/","delay":"1d","payload":{payload}}}"#);
    let body = Bytes::from(format!("{{\"jobs\":[{}]}}", vec![job; 32].join(",")));
    assert!(body.len() > 7 * 1024 * 1024 && body.len() < 8 * 1024 * 1024, "{}", body.len());
    let answers = watched(server, "bodies", async {
        let calls = (0..128).map(|_| {
            let (mut sender, body) = (sender.clone(), body.clone());
            let uri = format!("{}/api/v1/jobs/batch", server.url);
            async move {
                let request =
                    http::Request::post(uri).header("content-type", "application/json").body(Full::new(body)).unwrap();
                let response = timeout(LONG, sender.send_request(request)).await.expect("an answer").unwrap();
                let status = response.status().as_u16();
                let _ = response.into_body().collect().await;
                status
            }
        });
        futures_util::future::join_all(calls).await
    })
    .await;
    assert!(answers.contains(&200), "{answers:?}");
    assert!(answers.iter().all(|status| matches!(status, 200 | 503)), "{answers:?}");
    assert_eq!(call(server, "GET", "/api/v1/jobs?limit=1", "").await.0, 200, "and it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_answered_while_one_key_waits_on_every_connection() {
    let stage = Stage::new();
    wait_on_every_connection(&stage.start(&[]).await).await;
}

async fn wait_on_every_connection(server: &Server) {
    let job = json!({"url": "http://127.0.0.1:1/", "delay": "1d"});
    let (status, made) = call(server, "POST", "/api/v1/jobs", &job.to_string()).await;
    assert_eq!(status, 202, "{made}");
    let path = &format!("/api/v1/jobs/{}/wait?timeout=5m", made["id"].as_str().unwrap());
    let mut open = Vec::new();
    for _ in 0..1_030 {
        open.push(asked(server, "GET", path, "").await);
    }
    for probe in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.get(probe).await.0, 200, "{probe}");
    }
    // Most of them were refused, and their connections serve others.
    assert_eq!(server.get("/api/v1/jobs").await.0, 200);
}

/// What one of them leaves behind must not be too much for the next.
#[tokio::test(flavor = "multi_thread")]
async fn one_server_is_sent_all_of_it_and_goes_on() {
    let stage = Stage::new();
    let server = &stage.start(&[]).await;
    list_large_jobs(server).await;
    send_mistakes(server).await;
    read_many_attempts(server).await;
    send_many_bodies(server).await;
    watched(server, "connections", wait_on_every_connection(server)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_needs_less_than_forty_mebibytes() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    assert_eq!(server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await.code, 0);
    // Of a build that is not optimised, most is code.
    let (own, all) = (measured(&server, "RssAnon:"), measured(&server, "VmRSS:"));
    eprintln!("idle: {} KiB of its own, {} KiB in all", own / 1024, all / 1024);
    assert!(own < 18 * MIB, "{own} bytes of its own");
    assert!(!is_release() || all < 40 * MIB, "{all} bytes in all");
}
