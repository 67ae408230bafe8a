//! Targets that do not behave.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_engine::target::http::{Config, HttpRunner};
use foreman_engine::target::{Runner, TryEnding};
use foreman_runtime::Tasks;
use serde_json::json;

use crate::given::{AGAIN, attempt, error_of, in_time, start, until};
use crate::gzip;
use crate::server::Server;

async fn call(url: &str) -> TryEnding {
    in_time(HttpRunner::new(Config::default()).run(&attempt(&json!({"url": url, "payload": 1})))).await
}

#[tokio::test]
async fn nobody_listening_is_worth_another_try() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let ending = call(&format!("http://{address}/path?token=secret")).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with(&format!("cannot connect to {address}: Connection refused")), "{ending:?}");
    assert!(!error_of(&ending).contains("secret"));
    assert_eq!(ending.report.response, None);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_said_so() {
    let ending = call("http://nowhere.invalid:8080/?token=secret").await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with("cannot resolve nowhere.invalid: "), "{ending:?}");
    assert!(!error_of(&ending).contains("secret"));
}

#[tokio::test]
async fn a_target_that_never_answers_is_left_when_the_try_is_stopped() {
    let server = Server::start(|mut peer| async move { peer.until_closed().await }).await;
    let attempt = attempt(&json!({"url": server.url(), "payload": 1}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(HttpRunner::new(Config::default())), attempt);
    until("it is connected", || server.seen.connections() == 1).await;
    assert!(!running.is_finished());
    stop.cancel();
    assert_eq!(in_time(running).await.unwrap().ended, AttemptEnd::Interrupted);
}

#[tokio::test]
async fn what_a_dripping_target_has_said_is_kept_when_the_try_is_stopped() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
        while peer.send(b"drip ").await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let attempt = attempt(&json!({"url": server.url(), "payload": 1}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(HttpRunner::new(Config::default())), attempt);
    until("something was said", || server.seen.bytes_sent.load(Ordering::SeqCst) > 100).await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(ending.ended, AttemptEnd::Interrupted);
    assert!(error_of(&ending).contains("was answering 200 OK"), "{ending:?}");
    let response = ending.report.response.unwrap();
    assert!(response.status == 200 && response.body.starts_with("drip drip"), "{response:?}");
}

#[tokio::test]
async fn a_target_that_closes_at_once_is_worth_another_try() {
    let server = Server::start(|peer| async move { drop(peer) }).await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).contains(&server.address.to_string()), "{ending:?}");
    assert_eq!(server.seen.connections(), 1, "it is not tried again behind the attempt's back");
}

#[tokio::test]
async fn a_target_that_closes_in_the_middle_of_the_head_is_worth_another_try() {
    let server = Server::answering_once(b"HTTP/1.1 200 OK\r\ncontent-le".as_slice()).await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), format!("{} closed the connection before it answered", server.address));
    assert_eq!((server.seen.requests(), server.seen.connections()), (1, 1));
}

#[tokio::test]
async fn a_yes_that_breaks_off_is_not_a_yes() {
    for head in ["content-length: 100", "transfer-encoding: chunked"] {
        let server = Server::answering_once(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello")).await;
        let ending = call(&server.url()).await;
        assert_eq!(ending.ended, AGAIN, "{head}");
        assert!(error_of(&ending).contains("answered 200 OK, but the response broke off after"), "{ending:?}");
        let response = ending.report.response.unwrap();
        assert!(response.status == 200 && response.body.contains("hello"), "{response:?}");
        assert_eq!(server.seen.requests(), 1);
    }
}

#[tokio::test]
async fn a_no_that_breaks_off_is_still_a_no() {
    let server = Server::answering_once(b"HTTP/1.1 404 Not Found\r\ncontent-length: 100\r\n\r\nno".as_slice()).await;
    assert_eq!(call(&server.url()).await.ended, AttemptEnd::Failed);
}

#[tokio::test]
async fn of_ten_gigabytes_little_is_read() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n").await;
        while peer.send(&[b'x'; 16 * 1024]).await {}
    })
    .await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    let response = ending.report.response.unwrap();
    assert_eq!((response.body.len(), response.truncated), (4_096, true));
    // What the two socket buffers swallow is sent, but not read.
    let sent = server.seen.bytes_sent.load(Ordering::SeqCst);
    assert!(sent < 32 * 1024 * 1024, "the target could send {sent} bytes");
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_too() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.send(b"HTTP/1.1 500 Oops\r\n\r\n").await;
        while peer.send(&[b'x'; 16 * 1024]).await {}
    })
    .await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(ending.report.response.unwrap().truncated);
}

#[tokio::test]
async fn what_is_compressed_is_not_inflated() {
    // Twenty bytes that say they are gzip; inflated or not, what is kept is what came.
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n".to_vec();
    answer.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', b'c', 0, 0, 0, 0, 0, 0, 0]);
    let server = Server::answering_once(answer).await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    let response = ending.report.response.unwrap();
    assert!(response.body.contains("abc") && response.body.chars().count() == 20, "{response:?}");
    assert!(response.headers.contains(&("content-encoding".into(), "gzip".into())));
}

#[tokio::test]
async fn a_bomb_is_kept_as_the_little_that_came() {
    let bomb = gzip::zeros(10 * 1024 * 1024);
    assert!(bomb.len() < 80 * 1024, "it is small on the wire: {}", bomb.len());
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", bomb.len());
    let mut answer = answer.into_bytes();
    answer.extend(&bomb);
    let server = Server::answering_once(answer).await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    let response = ending.report.response.unwrap();
    assert!(response.truncated && response.body.len() <= 4_096, "{} bytes are kept", response.body.len());
    // NUL, too, is shown as a sign that stands for what is no text.
    let came = String::from_utf8_lossy(&bomb).replace('\0', "\u{fffd}");
    assert!(!response.body.is_empty() && came.starts_with(&response.body), "{:?}", response.body);
    assert_eq!(server.seen.last().header("accept-encoding"), Some("identity"), "it was not asked for");
}

#[tokio::test]
async fn garbage_is_not_an_answer() {
    for garbage in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\0\0\0\0\0\0\0\0",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ] {
        let server = Server::answering_once(garbage).await;
        let ending = call(&server.url()).await;
        assert_eq!(ending.ended, AGAIN, "{garbage:?}");
        assert!(
            error_of(&ending).starts_with(&format!("{} did not answer with valid HTTP/1.1: ", server.address)),
            "{ending:?}"
        );
        assert_eq!(server.seen.requests(), 1);
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_given_up() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.send(b"HTTP/1.1 200 OK\r\n").await;
        while peer.send(format!("x-filler: {}\r\n", "y".repeat(4_000)).as_bytes()).await {}
    })
    .await;
    let ending = call(&server.url()).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).contains("too large"), "{ending:?}");
}

#[tokio::test]
async fn a_connection_that_is_never_completed_times_out_and_says_at_what() {
    // A listener whose queue is full answers nothing to a further connection.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let connecting = tokio::net::TcpStream::connect(address);
        if let Ok(stream) = tokio::time::timeout(Duration::from_millis(100), connecting).await {
            waiting.push(stream.unwrap());
        }
    }
    assert!(waiting.len() < 8, "the queue is full");
    let runner = HttpRunner::new(Config { connect_timeout: Duration::from_millis(200), ..Config::default() });
    let ending = in_time(runner.run(&attempt(&json!({"url": format!("http://{address}/")})))).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), format!("cannot connect to {address}: no answer within 200ms"));
}
