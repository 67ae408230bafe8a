//! Clients that are slow, silent, gone, or too many.

use std::time::Duration;

use bytes::Bytes;
use foreman_api::serve::{BindError, Server};
use foreman_runtime::Tasks;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::harness::{Api, Setting, in_time, until};
use crate::http::{Connection, written};

const SHORT: Duration = Duration::from_millis(150);
/// Where a busy machine must not be taken for a slow client.
const LONG: Duration = Duration::from_secs(2);

fn impatient() -> Setting {
    let mut setting = Setting::default();
    setting.serve.header_timeout = SHORT;
    setting
}

fn connections(api: &Api) -> usize {
    api.tasks.alive().iter().filter(|(name, _)| *name == "connection").map(|(_, count)| count).sum()
}

#[tokio::test]
async fn a_request_whose_head_does_not_arrive_is_closed() {
    let api = Api::with(impatient()).await;
    // Nothing, the beginning of what could be HTTP/2, half a line, half a head.
    for sent in ["", "P", "PRI * HTT", "GET /heal", "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: "] {
        let mut client = api.connect().await;
        let start = Instant::now();
        client.send(sent).await;
        assert_eq!(client.closed().await, "", "after {sent:?}");
        assert!(start.elapsed() >= SHORT, "not before its time, after {sent:?}");
    }
    until("every connection has ended", || connections(&api) == 0).await;
}

#[tokio::test]
async fn a_head_that_drips_is_closed_all_the_same() {
    let api = Api::with(impatient()).await;
    let mut client = api.connect().await;
    let start = Instant::now();
    let dripping = async {
        for _ in 0..1_000 {
            client.try_send("x").await;
            tokio::time::sleep(SHORT / 10).await;
            if connections(&api) == 0 {
                return;
            }
        }
        panic!("a byte at a time kept it open");
    };
    until("it is served", || connections(&api) == 1).await;
    in_time(dripping).await;
    assert!(start.elapsed() >= SHORT);
}

#[tokio::test]
async fn a_later_head_that_stops_half_way_is_closed_before_an_idle_connection_would_be() {
    let mut setting = impatient();
    setting.serve.idle_timeout = Duration::from_hours(1);
    let api = Api::with(setting).await;
    let mut client = api.connect().await;
    client.request("GET", "/healthz", &[], None).await.expect(200);
    client.send("GET /healthz HTTP/1.1\r\nhost:").await;
    client.closed().await;
}

#[tokio::test]
async fn an_idle_connection_lives_longer_than_a_slow_head_and_then_is_closed() {
    let mut setting = impatient();
    setting.serve.idle_timeout = LONG;
    let api = Api::with(setting).await;
    let mut client = api.connect().await;
    client.request("GET", "/healthz", &[], None).await.expect(200);
    tokio::time::sleep(SHORT * 2).await;
    client.request("GET", "/healthz", &[], None).await.expect(200);
    let start = Instant::now();
    assert_eq!(client.closed().await, "");
    assert!(start.elapsed() >= LONG / 2, "it was given its idle time");
}

#[tokio::test]
async fn a_long_poll_outlives_every_patience_of_its_connection_and_the_next_request_is_served_on_it() {
    let mut setting = impatient();
    setting.serve.idle_timeout = LONG;
    setting.serve.write_timeout = LONG;
    let api = Api::with(setting).await;
    let id = api.submitted(r#"{"url":"http://127.0.0.1:1/"}"#).await;
    let mut client = api.connect().await;
    let path = format!("/api/v1/jobs/{id}/wait?timeout=3s");
    assert_eq!(client.request("GET", &path, &[], None).await.expect(200)["state"], "pending");
    client.request("GET", "/healthz", &[], None).await.expect(200);
}

#[tokio::test]
async fn a_body_that_stops_or_drips_is_answered_with_408_and_closed() {
    let mut setting = Setting::default();
    setting.bodies.stall = LONG;
    setting.bodies.whole = LONG + LONG / 2;
    let api = Api::with(setting).await;
    let head = "POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
    let mut stops = api.connect().await;
    stops.send(head).await;
    stops.send("{\"url\"").await;
    let reply = stops.reply(false).await;
    assert_eq!(reply.header("connection"), Some("close"));
    reply.problem(408, "timeout");
    stops.closed().await;

    // Each byte comes in time, but there is an end to that too.
    let mut drips = api.connect().await;
    drips.send(head).await;
    let start = Instant::now();
    let reply = loop {
        drips.try_send(" ").await;
        if let Ok(reply) = tokio::time::timeout(SHORT / 5, drips.reply(false)).await {
            break reply;
        }
    };
    reply.problem(408, "timeout");
    assert!(start.elapsed() >= LONG, "the whole was given its time: {:?}", start.elapsed());
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answers_is_given_up() {
    let mut setting = Setting::default();
    setting.serve.write_timeout = SHORT;
    let api = Api::with(setting).await;
    let mut client = api.connect().await;
    client.request("GET", "/healthz", &[], None).await.expect(200);
    assert_eq!(connections(&api), 1);
    // Pipelined requests for the largest page there is, and never a read: the kernel's buffers fill up.
    let requests = written("GET", "/api/openapi.json", &[], None).repeat(2_000);
    client.try_send(&requests).await;
    until("it was given up", || connections(&api) == 0).await;
    drop(client);
}

#[tokio::test]
async fn a_client_that_takes_a_large_answer_slowly_gets_all_of_it() {
    let mut setting = impatient();
    setting.serve.idle_timeout = SHORT;
    setting.limits.payload_bytes = 16 << 20;
    setting.bodies.job_bytes = 16 << 20;
    let api = Api::with(setting).await;
    // Far more than the kernel buffers, so that most of it is still to be sent when the handler is long done.
    let payload = "x".repeat(15_000_000);
    let id = api.submitted(&format!(r#"{{"url":"http://127.0.0.1:1/","payload":"{payload}"}}"#)).await;
    let mut client = api.connect().await;
    client.send(&written("GET", &format!("/api/v1/jobs/{id}"), &[], None)).await;
    for _ in 0..4 {
        tokio::time::sleep(SHORT * 2).await;
        client.read_some(2 << 20).await;
    }
    let job = client.reply(false).await.expect(200);
    assert_eq!(job["payload"].as_str().map(str::len), Some(15_000_000));
    // And then it is idle like any other.
    assert_eq!(client.closed().await, "");
}

#[tokio::test]
async fn a_request_that_is_no_http_or_has_too_large_a_head_is_refused() {
    let api = Api::start().await;
    let mut client = api.connect().await;
    client.send("hello\r\n\r\n").await;
    assert!(client.closed().await.starts_with("HTTP/1.1 400 "), "no HTTP");
    let mut client = api.connect().await;
    client.try_send(&format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(256 * 1024))).await;
    let answer = client.closed().await;
    assert!(answer.starts_with("HTTP/1.1 431 ") || answer.is_empty(), "{answer}");
    api.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn requests_follow_each_other_on_one_connection() {
    let api = Api::start().await;
    let mut client = api.connect().await;
    for n in 0..50 {
        let body = format!(r#"{{"url":"http://127.0.0.1:1/","payload":{n}}}"#);
        let reply = client.request("POST", "/api/v1/jobs", &[("content-type", "application/json")], Some(&body)).await;
        assert_eq!(reply.expect(202)["payload"], n);
    }
    // Pipelined: all sent before any is read.
    let requests: String =
        (0..10).map(|n| written("GET", "/healthz", &[("x-request-id", &format!("r{n}"))], None)).collect();
    client.send(&requests).await;
    for n in 0..10 {
        assert_eq!(client.reply(false).await.header("x-request-id"), Some(format!("r{n}").as_str()));
    }
}

/// An HTTP/2 client that has room for this many bytes of answers at a time.
pub async fn http2(api: &Api, tasks: &Tasks, window: u32) -> SendRequest<Empty<Bytes>> {
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

    let stream = tokio::net::TcpStream::connect(api.addr).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(Named(tasks.clone()));
    builder.initial_stream_window_size(window).initial_connection_window_size(window);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    drop(tasks.spawn("client", connection));
    sender
}

async fn get_by_http2(sender: &mut SendRequest<Empty<Bytes>>, path: &str) -> http::Response<Incoming> {
    let request = http::Request::get(format!("http://localhost{path}")).body(Empty::new()).unwrap();
    let response = in_time(sender.send_request(request)).await.unwrap();
    assert_eq!(response.status(), 200);
    response
}

#[tokio::test]
async fn http2_is_spoken_too() {
    let (api, tasks) = (Api::with(impatient()).await, Tasks::new());
    let mut sender = http2(&api, &tasks, 64 * 1024).await;
    for _ in 0..2 {
        let response = get_by_http2(&mut sender, "/healthz").await;
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("alive"));
        // Longer than a head may take: between requests of HTTP/2 none is arriving.
        tokio::time::sleep(SHORT * 2).await;
    }
}

#[tokio::test]
async fn an_answer_that_waits_for_the_window_of_http2_is_not_idle_and_afterwards_the_connection_is() {
    let mut setting = Setting::default();
    setting.serve.idle_timeout = SHORT;
    setting.serve.write_timeout = LONG;
    let (api, tasks) = (Api::with(setting).await, Tasks::new());
    let payload = "x".repeat(200_000);
    let id = api.submitted(&format!(r#"{{"url":"http://127.0.0.1:1/","payload":"{payload}"}}"#)).await;
    until("only the client below is connected", || connections(&api) == 0).await;
    let mut sender = http2(&api, &tasks, 20_000).await;
    let mut body = get_by_http2(&mut sender, &format!("/api/v1/jobs/{id}")).await.into_body();
    let (mut taken, mut pauses) = (Vec::new(), 0);
    while let Some(frame) = in_time(body.frame()).await {
        taken.extend(frame.unwrap().into_data().unwrap());
        if pauses < 5 && taken.len() > pauses * 20_000 {
            pauses += 1;
            tokio::time::sleep(SHORT * 3).await;
        }
    }
    let job: serde_json::Value = serde_json::from_slice(&taken).unwrap();
    assert_eq!(job["payload"].as_str().map(str::len), Some(200_000));
    assert_eq!(connections(&api), 1);
    until("it is closed as idle", || connections(&api) == 0).await;
}

#[tokio::test]
async fn a_client_of_http2_that_takes_nothing_of_its_answer_is_given_up() {
    let mut setting = Setting::default();
    setting.serve.idle_timeout = SHORT;
    setting.serve.write_timeout = SHORT * 2;
    let (api, tasks) = (Api::with(setting).await, Tasks::new());
    let mut sender = http2(&api, &tasks, 1_000).await;
    let start = Instant::now();
    let answer = get_by_http2(&mut sender, "/api/openapi.json").await;
    // It answers pings all the while.
    until("it was given up", || connections(&api) == 0).await;
    assert!(start.elapsed() >= SHORT * 2, "it was given its time: {:?}", start.elapsed());
    drop(answer);
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_flag_that_helps() {
    let api = Api::start().await;
    let Err(error) = Server::bind(api.addr).await else { panic!("two listen on one port") };
    assert!(matches!(error, BindError::Taken { .. }));
    let text = error.to_string();
    assert!(text.contains(&api.addr.port().to_string()) && text.contains("--listen"), "{text}");
}

#[tokio::test]
async fn a_crowd_of_half_sent_requests_does_not_keep_others_out_for_longer_than_its_patience() {
    let mut setting = impatient();
    setting.serve.max_connections = 50;
    let api = Api::with(setting).await;
    let mut crowd = Vec::new();
    for _ in 0..200 {
        let mut client = Connection::open(api.addr).await;
        client.send("POST /api/v1/jobs HTTP/1.1\r\nhost: local").await;
        crowd.push(client);
    }
    api.get("/healthz").await.expect(200);
}
