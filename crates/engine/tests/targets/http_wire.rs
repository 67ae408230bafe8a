//! What a target is sent, and what is kept of its answer.

use std::time::Duration;

use foreman_core::outcome::{AttemptEnd, HttpReport};
use foreman_engine::target::http::{Config, HttpRunner};
use foreman_engine::target::{Runner, TryEnding};
use serde_json::json;

use crate::given::{AGAIN, attempt, attempt_of, attempt_of_a_tick, error_of, in_time, job_from};
use crate::server::Server;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn runner() -> HttpRunner {
    HttpRunner::new(Config::default())
}

async fn call(server: &Server) -> TryEnding {
    in_time(runner().run(&attempt(&json!({"url": server.url(), "payload": 1})))).await
}

fn response(ending: &TryEnding) -> &HttpReport {
    ending.report.response.as_ref().expect("it answered")
}

#[tokio::test]
async fn a_payload_is_sent_to_the_letter_without_an_envelope() {
    let server = Server::answering(OK).await;
    let payload = r#"{ "b": 1.0,  "a":123456789012345678901234567890, "e":1e400, "ü":"\u00fc" }"#;
    let job = job_from(&format!(r#"{{"url":"{}in/box?a=b%20c&d","payload":{payload}}}"#, server.url()));
    let ending = in_time(runner().run(&attempt_of(job))).await;

    assert_eq!(ending.ended, AttemptEnd::Completed);
    assert_eq!(ending.report.error, None);
    assert_eq!((response(&ending).status, response(&ending).body.as_str()), (200, "ok"));
    let received = server.seen.last();
    assert_eq!(received.line, "POST /in/box?a=b%20c&d HTTP/1.1");
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("content-length"), Some(payload.len().to_string().as_str()));
    assert_eq!(String::from_utf8(received.body).unwrap(), payload);
}

#[tokio::test]
async fn a_body_is_sent_as_the_text_it_is() {
    let server = Server::answering(OK).await;
    let text = "line one\r\n\tlïne two \u{1f980}\n";
    let spec = json!({"url": server.url(), "method": "PUT", "body": text});
    assert_eq!(in_time(runner().run(&attempt(&spec))).await.ended, AttemptEnd::Completed);
    let received = server.seen.last();
    assert_eq!(received.line, "PUT / HTTP/1.1");
    assert_eq!(received.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(received.body, text.as_bytes());
}

#[tokio::test]
async fn the_request_of_a_tick_says_its_schedule_and_the_time_it_belongs_to() {
    let server = Server::answering(OK).await;
    let spec = json!({"url": server.url()});
    in_time(runner().run(&attempt(&spec))).await;
    let received = server.seen.last();
    assert_eq!(received.header("foreman-schedule").or(received.header("foreman-scheduled-for")), None, "submitted");
    in_time(runner().run(&attempt_of_a_tick(&spec))).await;
    let received = server.seen.last();
    assert_eq!(received.header("foreman-schedule"), Some("reports.daily-9"));
    assert_eq!(received.header("foreman-scheduled-for"), Some("2026-11-15T09:00:00.000000Z"));
}

#[tokio::test]
async fn every_request_says_which_job_and_attempt_it_is() {
    let server = Server::answering(OK).await;
    let runner = runner();
    let attempt = attempt(&json!({"url": server.url(), "payload": {}, "idempotency_key": "the client's own"}));
    in_time(runner.run(&attempt)).await;
    in_time(runner.run(&attempt)).await;

    let received = server.seen.received.lock().unwrap().clone();
    let id = attempt.job.id.to_string();
    for request in &received {
        assert_eq!(request.header("host"), Some(server.address.to_string().as_str()));
        assert_eq!(request.header("idempotency-key"), Some(id.as_str()), "stable over the attempts");
        assert_eq!(request.header("foreman-job-id"), Some(id.as_str()));
        assert_eq!(request.header("foreman-attempt"), Some("3"));
        assert_eq!(request.header("foreman-fence"), Some("42"));
        assert_eq!(request.header("user-agent"), Some(concat!("foreman/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        assert_eq!(request.header("cookie"), None);
    }
    let traces: Vec<Vec<&str>> =
        received.iter().map(|request| request.header("traceparent").unwrap().split('-').collect()).collect();
    for trace in &traces {
        assert_eq!((trace[0], trace[1], trace[3]), ("00", attempt.job.id.0.simple().to_string().as_str(), "01"));
        assert!(trace[2].len() == 16 && trace[2].bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace:?}");
        assert_ne!(trace[2], "0000000000000000");
    }
    assert_ne!(traces[0][2], traces[1][2], "each attempt is a span of its own");
}

#[tokio::test]
async fn the_jobs_own_headers_are_sent_and_replace_the_defaults() {
    let server = Server::answering(OK).await;
    let headers =
        json!({"Content-Type": "application/cloudevents+json", "Authorization": "Bearer s3cret", "User-Agent": "mine"});
    let spec = json!({"url": server.url(), "payload": {}, "headers": headers});
    in_time(runner().run(&attempt(&spec))).await;
    let received = server.seen.last();
    assert_eq!(received.header("content-type"), Some("application/cloudevents+json"));
    assert_eq!(received.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(received.header("user-agent"), Some("mine"));
}

#[tokio::test]
async fn a_request_without_a_body_sends_none() {
    let server = Server::answering(b"HTTP/1.1 204 No Content\r\n\r\n").await;
    for method in ["GET", "DELETE"] {
        let ending = in_time(runner().run(&attempt(&json!({"url": server.url(), "method": method})))).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
        let received = server.seen.last();
        assert_eq!(received.line, format!("{method} / HTTP/1.1"));
        assert!(matches!(received.header("content-length"), None | Some("0")), "{received:?}");
        assert_eq!(received.header("content-type"), None);
        assert!(received.body.is_empty());
    }
    let ending = in_time(runner().run(&attempt(&json!({"url": server.url()})))).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    assert_eq!(server.seen.last().header("content-length"), Some("0"), "an empty POST says so");
}

#[tokio::test]
async fn the_answer_to_head_has_no_body_whatever_its_length_says() {
    let server = Server::answering(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
    let runner = runner();
    let attempt = attempt(&json!({"url": server.url(), "method": "HEAD"}));
    for _ in 0..2 {
        let ending = in_time(runner.run(&attempt)).await;
        assert_eq!(ending.ended, AttemptEnd::Completed);
        assert_eq!((response(&ending).body.as_str(), response(&ending).truncated), ("", false));
    }
    assert_eq!((server.seen.requests(), server.seen.connections()), (2, 1));
}

#[tokio::test]
async fn the_status_decides_and_the_error_says_it() {
    for (status, ended) in [
        ("200 OK", AttemptEnd::Completed),
        ("202 Accepted", AttemptEnd::Completed),
        ("400 Bad Request", AttemptEnd::Failed),
        ("404 Not Found", AttemptEnd::Failed),
        ("410 Gone", AttemptEnd::Failed),
        ("408 Request Timeout", AGAIN),
        ("425 Too Early", AGAIN),
        ("429 Too Many Requests", AGAIN),
        ("500 Internal Server Error", AGAIN),
        ("503 Service Unavailable", AGAIN),
        ("599 Whatever", AGAIN),
        ("600 Beyond", AttemptEnd::Failed),
        ("304 Not Modified", AttemptEnd::Failed),
    ] {
        let server = Server::answering_once(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")).await;
        let ending = call(&server).await;
        assert_eq!(ending.ended, ended, "{status}");
        assert_eq!(response(&ending).status.to_string(), status[..3]);
        match ended {
            AttemptEnd::Completed => assert_eq!(ending.report.error, None),
            _ => assert!(error_of(&ending).contains(&format!("{} answered {}", server.address, &status[..3]))),
        }
        assert_eq!(server.seen.requests(), 1, "{status} is asked once");
    }
}

#[tokio::test]
async fn a_redirect_is_recorded_and_not_followed() {
    let elsewhere = Server::answering(OK).await;
    for status in [301, 302, 303, 307, 308] {
        let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url());
        let server = Server::answering_once(answer).await;
        let ending = call(&server).await;
        assert_eq!(ending.ended, AttemptEnd::Failed);
        assert!(error_of(&ending).contains("redirects are not followed"), "{ending:?}");
        assert!(response(&ending).headers.contains(&("location".into(), elsewhere.url())));
        assert_eq!(server.seen.requests(), 1);
    }
    assert_eq!(elsewhere.seen.connections(), 0);
}

#[tokio::test]
async fn a_target_may_ask_for_a_pause_in_seconds_or_until_a_date() {
    let date = "date: Sun, 15 Nov 2026 09:00:00 GMT\r\n";
    let day = Duration::from_hours(24);
    for (status, header, after) in [
        (429, "retry-after: 120\r\n".to_owned(), Some(Duration::from_mins(2))),
        (503, format!("retry-after: Sun, 15 Nov 2026 09:05:00 GMT\r\n{date}"), Some(Duration::from_mins(5))),
        (503, format!("retry-after: Sun, 15 Nov 1996 09:05:00 GMT\r\n{date}"), Some(Duration::ZERO)),
        (503, "retry-after: 99999999999999999999999\r\n".to_owned(), Some(day)),
        (503, "retry-after: Thu, 31 Dec 9998 23:59:59 GMT\r\n".to_owned(), Some(day)),
        (503, "retry-after: -5\r\n".to_owned(), None),
        (503, "retry-after: tomorrow\r\n".to_owned(), None),
        (503, String::new(), None),
    ] {
        let answer = format!("HTTP/1.1 {status} Later\r\n{header}content-length: 0\r\n\r\n");
        let server = Server::answering_once(answer).await;
        assert_eq!(call(&server).await.ended, AttemptEnd::Again { after }, "{header}");
    }
}

#[tokio::test]
async fn the_first_four_kib_are_kept_and_never_half_a_character() {
    let text = format!("{}ää", "x".repeat(4_095));
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    let server = Server::answering_once(answer).await;
    let ending = call(&server).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    assert_eq!(response(&ending).body, "x".repeat(4_095));
    assert!(response(&ending).truncated);
}

#[tokio::test]
async fn an_answer_in_chunks_is_read_like_any_other() {
    let answer =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\ntrailer: x\r\n\r\n";
    let server = Server::answering(answer).await;
    let ending = call(&server).await;
    assert_eq!((response(&ending).body.as_str(), response(&ending).truncated), ("hello, world", false));
}

#[tokio::test]
async fn what_is_no_text_is_made_readable() {
    let server = Server::answering_once(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\xffa\0b".as_slice()).await;
    assert_eq!(response(&call(&server).await).body, "\u{fffd}a\u{fffd}b");
}

#[tokio::test]
async fn of_the_headers_only_a_list_is_kept_and_no_cookie() {
    let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: session=secret\r\nX-Request-ID: r-1\r\nServer: test\r\n\
                  Authorization: no\r\nContent-Type: text/plain\r\ncontent-length: 0\r\n\r\n";
    let server = Server::answering_once(answer).await;
    let ending = call(&server).await;
    let names: Vec<&str> = response(&ending).headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-type", "content-length", "server", "x-request-id"]);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n\
                   HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let server = Server::answering_once(answer.as_slice()).await;
    let ending = call(&server).await;
    assert_eq!((ending.ended, response(&ending).status), (AttemptEnd::Completed, 200));
}

#[tokio::test]
async fn an_answer_that_wants_another_protocol_is_a_failure() {
    let answer = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
    let server = Server::answering(answer).await;
    let ending = call(&server).await;
    assert_ne!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    assert_eq!(server.seen.requests(), 1);
}

#[tokio::test]
async fn an_address_of_version_six_is_called_too() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
    let address = listener.local_addr().unwrap();
    drop(listener);
    let ending = in_time(runner().run(&attempt(&json!({"url": format!("http://{address}/")})))).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with(&format!("cannot connect to [::1]:{}: ", address.port())), "{ending:?}");
}

#[tokio::test]
async fn a_runner_refuses_what_is_not_its_own() {
    let ending = in_time(runner().run(&attempt(&json!({"command": ["true"]})))).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert_eq!(error_of(&ending), "the http runner was given a job for command");
}
