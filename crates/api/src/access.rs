//! Around every route: who may come in, the request's id, one log line, the body of a problem, and a net under panics.
//!
//! A request reaches a handler only over the list of ways in (`access/table.rs`), by the template that the router matched and
//! never by the text of its path: there is no spelling of a path that leads to a handler past its entry.
//!
//! The line has its own target, `foreman::http`, so that it can be turned down without losing anything else.

pub mod table;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use foreman_core::audit::Actor;
use http::header::{ALLOW, HOST, ORIGIN};
use tokio::time::Instant;

use crate::app::App;
use crate::audit::{self, Watch};
use crate::buffers;
use crate::caller::Caller;
use crate::doorkeeper::{Patience, Visitor};
use crate::health::Readiness;
use crate::keys::Keys;
use crate::meter::Meter;
use crate::problem::{self, Kind, Problem};
use crate::request_id::{self, RequestId};
use crate::serve::NoPlace;
use table::{Found, Needs, Takes};

/// Who is let in, and who counts.
#[derive(Clone)]
pub struct Gate {
    pub hosts: Hosts,
    pub keys: Keys,
    /// With those who show wrong keys.
    pub patience: Patience,
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

/// The other end of the connection; put among a request's extensions by whoever accepted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub SocketAddr);

impl Peer {
    pub fn address(request: &Request) -> IpAddr {
        request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip())
    }
}

/// The gate, and what is behind it: nothing but probes where there is no store.
#[derive(Clone)]
pub(crate) struct Entrance {
    pub gate: Gate,
    pub app: Option<App>,
}

/// What is to be done with a request, as far as its method and its path tell.
enum Verdict {
    Open,
    Asks {
        needs: Needs,
        /// What to call it in the audit trail.
        action: Option<&'static str>,
        takes: Takes,
    },
    /// The answer is no, and that is for those who have a key.
    NotHere(Problem),
}

/// A request that may go on.
#[derive(Default)]
struct Passed {
    caller: Option<Caller>,
    action: Option<&'static str>,
}

impl Entrance {
    fn judge(&self, request: &Request, route: Option<&MatchedPath>) -> Result<Verdict, Problem> {
        if self.gate.hosts == Hosts::Local && (!names_this_machine(request) || is_sent_by_a_stranger(request)) {
            return Err(host_refused(request));
        }
        if self.app.is_none() {
            return Ok(Verdict::Open);
        }
        let path = request.uri().path();
        match route.map_or(Found::Nothing, |route| table::find(request.method(), route.as_str())) {
            Found::Way(way) if way.needs == Needs::Nothing => Ok(Verdict::Open),
            Found::Way(way) => Ok(Verdict::Asks { needs: way.needs, action: way.action, takes: way.takes }),
            Found::OtherMethods { allow, is_open } => {
                let problem = Problem::method_not_allowed(request.method(), path).with_header(ALLOW, allow);
                if is_open { Err(problem) } else { Ok(Verdict::NotHere(problem)) }
            }
            Found::Nothing => {
                if let Some(route) = route {
                    tracing::error!("{} has a handler and is not listed among the ways in", route.as_str());
                }
                let problem = Problem::not_found(path);
                // What the API does not have is nobody's business without a key either.
                let is_api = path == "/api" || path.starts_with("/api/");
                if is_api { Ok(Verdict::NotHere(problem)) } else { Err(problem) }
            }
        }
    }

    async fn admit(&self, verdict: Verdict, visitor: Visitor<'_>) -> Result<Passed, Problem> {
        let (needs, action, takes, refusal) = match verdict {
            Verdict::Open => return Ok(Passed::default()),
            Verdict::Asks { needs, action, takes } => (needs, action, takes, None),
            Verdict::NotHere(problem) => (Needs::Key, None, Takes::Nothing, Some(problem)),
        };
        let app = self.app.as_ref().ok_or_else(|| Problem::internal("there is nothing behind this gate"))?;
        let caller = app.doorkeeper().admit(&visitor).await?;
        if let Needs::Scope(scope) = needs {
            caller.may(scope)?;
        }
        if takes == Takes::One {
            app.quotas().take_act(app, &caller)?;
        }
        refusal.map_or(Ok(Passed { caller: Some(caller), action }), Err)
    }
}

pub(crate) async fn around(State(entrance): State<Entrance>, mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    let gate = &entrance.gate;
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    // The template, not the path: a log that counts by route needs few names, and ids belong in fields.
    let route = request.extensions().get::<MatchedPath>().cloned();

    let mut who = Who(None);
    let judged = if request.extensions().get::<NoPlace>().is_some() {
        Err(Problem::new(
            Kind::Overloaded,
            "as many connections are open as this server serves; connect again in a moment",
        ))
    } else {
        entrance.judge(&request, route.as_ref())
    };
    let passed = match judged {
        // A future that holds the request, whose body only one may have, cannot be sent: what it shows can.
        Ok(verdict) => match visitor(&request, route.as_ref()) {
            Ok(visitor) => entrance.admit(verdict, visitor).await,
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    let mut response = match passed {
        Ok(Passed { caller: Some(caller), action }) => {
            who = Who(Some(caller.actor.clone()));
            let watch = action.map(|action| {
                let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_canonical().to_string());
                Watch::new(action, &caller, route.as_ref(), request.uri().path(), id.as_str(), peer)
            });
            match &entrance.app {
                Some(app) => served(app, caller, watch, request, next).await,
                None => audit::unwatched(request, next).await,
            }
        }
        Ok(Passed { caller: None, .. }) => audit::unwatched(request, next).await,
        Err(problem) => problem.into_response(),
    };

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
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who, cause },
            "{method} {route} {status}: {cause}"
        ),
        Some(cause) => tracing::warn!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who, cause },
            "{method} {route} {status}: {cause}"
        ),
        // Asked every few seconds by whoever watches. A no is said once, by the probe itself.
        None if is_probe(route) && matches!(status, 200 | 503) => tracing::debug!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms },
            "{method} {route} {status}"
        ),
        None => tracing::info!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who },
            "{method} {route} {status}"
        ),
    }
    response.headers_mut().insert(request_id::HEADER, id.into_header());
    response
}

/// Serves whoever was let in, within the tenant's share of what there is.
async fn served(app: &App, caller: Caller, watch: Option<Watch>, mut request: Request, next: Next) -> Response {
    let tenant = caller.tenant.clone();
    let under_way = match app.shares().begin(&tenant) {
        Ok(under_way) => under_way,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(caller);
    let response = match watch {
        Some(watch) => audit::watched(app, watch, request, next).await,
        None => audit::unwatched(request, next).await,
    };
    buffers::counted(response, app.answered(), &tenant, under_way)
}

/// What a request shows of itself. Only the stream, which browsers open where they can send no header, takes anything of it from
/// the query; and that is never a key, which would stand in every log on the way.
fn visitor<'r>(request: &'r Request, route: Option<&MatchedPath>) -> Result<Visitor<'r>, Problem> {
    let mut visitor = Visitor {
        headers: request.headers(),
        host: host(request),
        peer: Peer::address(request),
        is_safe: request.method().is_safe(),
        ticket: None,
        tenant: None,
    };
    if route.is_some_and(|route| route.as_str() == table::STREAM) {
        let query = request.uri().query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let is_key = matches!(&*name, "key" | "api_key" | "token" | "access_token" | "authorization");
            if is_key || value.starts_with("fm_") {
                return Err(Problem::invalid_request(
                    "a key never stands in a URL, where every log on the way keeps it: replace it, and send the new one as \
                     `Authorization: Bearer …`, or get a ticket from /api/v1/stream/tickets",
                ));
            }
            match &*name {
                "ticket" => visitor.ticket = Some(value.into_owned()),
                "tenant" => visitor.tenant = Some(value.into_owned()),
                _ => {}
            }
        }
    }
    Ok(visitor)
}

/// Who asked, for the log: a key's id, never the key.
struct Who(Option<Actor>);

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(actor) => actor.fmt(f),
            None => f.write_str("-"),
        }
    }
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
