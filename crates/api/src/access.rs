//! Around every route: who may come in, the request's id, one log line, the body of a problem, and a net under panics.
//!
//! The line has its own target, `foreman::http`, so that it can be turned down without losing anything else.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use foreman_runtime::tasks::panic_message;
use futures_util::FutureExt;
use http::header::{HOST, ORIGIN};
use tokio::time::Instant;

use crate::health::Readiness;
use crate::keys::Keys;
use crate::meter::Meter;
use crate::problem::{self, Kind, Problem};
use crate::request_id::{self, RequestId};

/// Who is let in, and who counts.
#[derive(Clone)]
pub struct Gate {
    pub hosts: Hosts,
    pub keys: Keys,
    pub meter: Option<Arc<dyn Meter>>,
    /// Told of problems that concern the whole process.
    pub readiness: Readiness,
}

/// Which `Host` a request may name.
///
/// A server without keys on loopback is reached by every page in the user's browser once an attacker's name resolves to
/// 127.0.0.1: the page is then of the same origin, and no CORS rule stands in its way. What gives it away is the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    Any,
    /// `localhost` and addresses, which nobody can make resolve to somewhere else.
    Local,
}

impl Gate {
    fn admit(&self, request: &Request) -> Result<(), Problem> {
        if self.hosts == Hosts::Local && (!names_this_machine(request) || is_sent_by_a_stranger(request)) {
            return Err(host_refused(request));
        }
        self.keys.admit(request.uri().path(), request.headers())
    }
}

pub(crate) async fn around(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    // The template, not the path: a log that counts by route needs few names, and ids belong in fields.
    let route = request.extensions().get::<MatchedPath>().cloned();

    let answer = match gate.admit(&request) {
        Ok(()) => AssertUnwindSafe(next.run(request)).catch_unwind().await,
        Err(problem) => Ok(problem.into_response()),
    };
    let mut response = answer.unwrap_or_else(|panic| {
        Problem::internal(format!("the handler panicked: {}", panic_message(panic.as_ref()))).into_response()
    });

    let written = problem::write(&mut response, id.as_str());
    if let Some(written) = &written {
        gate.readiness.heed(written.kind);
    }
    let cause = written.and_then(|written| written.cause);
    let status = response.status();
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let took = start.elapsed();
    if let Some(meter) = &gate.meter {
        meter.request(&method, route, status, took);
    }
    let (status, duration_ms) = (status.as_u16(), took.as_secs_f64() * 1_000.0);
    match cause {
        Some(cause) if status == 500 => tracing::error!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, cause },
            "{method} {route} {status}: {cause}"
        ),
        Some(cause) => tracing::warn!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, cause },
            "{method} {route} {status}: {cause}"
        ),
        // Asked every few seconds by whoever watches. A no is said once, by the probe itself.
        None if is_probe(route) && matches!(status, 200 | 503) => tracing::debug!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms },
            "{method} {route} {status}"
        ),
        None => tracing::info!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms },
            "{method} {route} {status}"
        ),
    }
    response.headers_mut().insert(request_id::HEADER, id.into_header());
    response
}

fn is_probe(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

/// An address, or a name that browsers themselves keep on this machine. A request without a name came from no browser.
fn names_this_machine(request: &Request) -> bool {
    host(request).is_none_or(|host| {
        let name = without_port(host);
        name.parse::<IpAddr>().is_ok() || is_localhost(name)
    })
}

/// A browser lets any page send a POST without a body to any address, and says in `Origin` whose page it was. What the
/// page may only read it never gets to see.
fn is_sent_by_a_stranger(request: &Request) -> bool {
    let is_strange = |page: &str| {
        let name = without_port(page);
        let is_here = name.parse().map_or_else(|_| is_localhost(name), |address: IpAddr| address.is_loopback());
        !is_here && Some(page) != host(request)
    };
    !request.method().is_safe() && origin(request).is_some_and(|origin| is_strange(page_host(origin)))
}

fn is_localhost(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

fn origin(request: &Request) -> Option<&str> {
    request.headers().get(ORIGIN).map(|value| value.to_str().unwrap_or("?"))
}

/// Without its scheme; a page that hides where it came from says `null`, which is no name of this machine.
fn page_host(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// The name the server was asked by.
pub(crate) fn host(request: &Request) -> Option<&str> {
    let in_header = request.headers().get(HOST).map(|value| value.to_str().unwrap_or("?"));
    in_header.or_else(|| request.uri().authority().map(http::uri::Authority::as_str))
}

fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn host_refused(request: &Request) -> Problem {
    let detail = if names_this_machine(request) {
        let page = origin(request).unwrap_or_default();
        format!("this server listens on loopback only and was called by a page of {page:?}; use a page of this machine")
    } else {
        let name = host(request).unwrap_or_default();
        format!("this server listens on loopback only and was asked for as {name:?}; use localhost or an address")
    };
    Problem::new(Kind::HostRefused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_cannot_be_pointed_elsewhere_are_this_machine() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("a.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("192.168.1.4", true),
            ("evil.example", false),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let request = Request::builder().header(HOST, host).body(axum::body::Body::empty()).expect("a request");
            assert_eq!(names_this_machine(&request), expected, "{host}");
        }
    }
}
