//! Around every route: who may come in, the request's id, one log line, the body of a problem, and a net under panics.
//!
//! A request reaches a handler only over the access list (`access_list.rs`), by the template that the router matched and
//! never by the text of its path: there is no spelling of a path that leads to a handler past its entry.
//!
//! The line has its own target, `foreman::http`, so that it can be turned down without losing anything else.

pub mod access_list;
pub(crate) mod audit;
pub(crate) mod authenticate;
pub mod caller;
pub(crate) mod commands;
pub(crate) mod host;
pub(crate) mod keys;
pub(crate) mod passes;
pub(crate) mod quotas;
pub(crate) mod session;
pub(crate) mod shares;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use foreman_core::audit::Actor;
use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, HOST, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::app::App;
use crate::gate::audit::{AuditedAct, RequestOrigin};
use crate::gate::authenticate::{Patience, Visitor};
use crate::gate::caller::Caller;
use crate::gate::host::{HostPolicy, host, host_refused, is_sent_by_a_stranger, names_this_machine};
use crate::gate::keys::KeyPolicy;
use crate::problem::{self, Kind, Problem};
use crate::request::buffers;
use crate::request::request_id::{self, RequestId};
use crate::serve::NoPlace;
use crate::serve::health::Readiness;
use crate::serve::meter::Meter;
use access_list::{Lookup, Needs, Takes};

/// Who is let in, and who counts.
#[derive(Clone)]
pub struct Gate {
    pub hosts: HostPolicy,
    pub keys: KeyPolicy,
    /// With those who show wrong keys.
    pub patience: Patience,
    pub meter: Option<Arc<dyn Meter>>,
    /// Told of problems that concern the whole process.
    pub readiness: Readiness,
}

/// The other end of the connection; put among a request's extensions by whoever accepted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub SocketAddr);

impl Peer {
    pub fn address(request: &Request) -> IpAddr {
        request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip())
    }

    /// As it is written down.
    pub fn text(request: &Request) -> Option<String> {
        request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_canonical().to_string())
    }
}

/// The gate as a layer around routes, with the app behind it: none where there are only probes.
#[derive(Clone)]
pub(crate) struct GateLayer {
    pub gate: Gate,
    pub app: Option<App>,
}

/// What the operation requires of a request, by its method and the template of its path.
enum Requirement {
    Open,
    Asks {
        needs: Needs,
        /// What to call it in the audit log.
        action: Option<&'static str>,
        takes: Takes,
    },
    /// The answer is no, and that is for those who have a key.
    NotHere(Problem),
}

/// Who was let in, and what to call it in the audit log.
#[derive(Default)]
struct Admission {
    caller: Option<Caller>,
    action: Option<&'static str>,
}

impl GateLayer {
    fn requirement(&self, request: &Request, route: Option<&MatchedPath>) -> Result<Requirement, Problem> {
        if request.headers().get_all(HOST).iter().nth(1).is_some() {
            // Whoever stands between may have judged by the other.
            return Err(Problem::invalid_request("the header Host is given more than once"));
        }
        if self.gate.hosts == HostPolicy::Local && (!names_this_machine(request) || is_sent_by_a_stranger(request)) {
            return Err(host_refused(request));
        }
        if self.app.is_none() {
            return Ok(Requirement::Open);
        }
        let path = request.uri().path();
        match route.map_or(Lookup::Nothing, |route| access_list::find(request.method(), route.as_str())) {
            Lookup::Operation(operation) if operation.needs == Needs::Nothing => Ok(Requirement::Open),
            Lookup::Operation(operation) => {
                Ok(Requirement::Asks { needs: operation.needs, action: operation.action, takes: operation.takes })
            }
            Lookup::OtherMethods { allow, is_open } => {
                let problem = Problem::method_not_allowed(request.method(), path).with_header(ALLOW, allow);
                if is_open { Err(problem) } else { Ok(Requirement::NotHere(problem)) }
            }
            Lookup::Nothing => {
                if let Some(route) = route {
                    tracing::error!("{} has a handler and is not in the access list", route.as_str());
                }
                let problem = Problem::not_found(path);
                // What the API does not have is nobody's business without a key either.
                let is_api = path == "/api" || path.starts_with("/api/");
                if is_api { Ok(Requirement::NotHere(problem)) } else { Err(problem) }
            }
        }
    }

    async fn admit(&self, requirement: Requirement, visitor: Visitor<'_>) -> Result<Admission, Problem> {
        let (needs, action, takes, refusal) = match requirement {
            Requirement::Open => return Ok(Admission::default()),
            Requirement::Asks { needs, action, takes } => (needs, action, takes, None),
            Requirement::NotHere(problem) => (Needs::Key, None, Takes::Nothing, Some(problem)),
        };
        let app = self.app.as_ref().ok_or_else(|| Problem::internal("there is nothing behind this gate"))?;
        let caller = app.authenticator().authenticate(&visitor).await?;
        if let Needs::Scope(scope) = needs {
            caller.may(scope)?;
        }
        if takes == Takes::One {
            app.quotas().take_act(app, &caller).await?;
        }
        refusal.map_or(Ok(Admission { caller: Some(caller), action }), Err)
    }
}

pub(crate) async fn around(State(layer): State<GateLayer>, mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    let gate = &layer.gate;
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    // The template, not the path: a log that counts by route needs few names, and ids belong in fields.
    let route = request.extensions().get::<MatchedPath>().cloned();

    let (mut who, peer) = (Who(None), Peer::text(&request));
    let required = if request.extensions().get::<NoPlace>().is_some() {
        Err(Problem::new(
            Kind::Overloaded,
            "this server has reached its limit of connections; connect again in a moment",
        ))
    } else {
        layer.requirement(&request, route.as_ref())
    };
    let admitted = match required {
        // A future that holds the request, whose body only one may have, cannot be sent: what it shows can.
        Ok(requirement) => match visitor(&request, route.as_ref()) {
            Ok(visitor) => layer.admit(requirement, visitor).await,
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    let mut response = match admitted {
        Ok(Admission { caller: Some(caller), action }) => {
            who = Who(Some(caller.actor.clone()));
            let act = action.map(|action| {
                AuditedAct::new(action, &caller, route.as_ref(), request.uri().path(), id.as_str(), peer.clone())
            });
            match &layer.app {
                Some(app) => served(app, caller, act, request, next).await,
                None => audit::unwatched(request, next).await,
            }
        }
        Ok(Admission { caller: None, .. }) => audit::unwatched(request, next).await,
        Err(problem) => {
            if problem.kind == Kind::Unauthorized
                && let (Some(app), Some(object)) = (&layer.app, shown(&request))
            {
                RequestOrigin::of(&request).refused(app, "key.refused", object);
            }
            problem.into_response()
        }
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
    let peer = peer.as_deref().unwrap_or("-");
    match cause {
        Some(cause) if status == 500 => tracing::error!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who, peer, cause },
            "{method} {route} {status}: {cause}"
        ),
        Some(cause) => tracing::warn!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who, peer, cause },
            "{method} {route} {status}: {cause}"
        ),
        // Asked every few seconds by whoever watches. A no is said once, by the probe itself.
        None if is_probe(route) && matches!(status, 200 | 503) => tracing::debug!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms },
            "{method} {route} {status}"
        ),
        None => tracing::info!(
            target: "foreman::http", { request.id = id.as_str(), %method, route, status, duration_ms, %who, peer },
            "{method} {route} {status}"
        ),
    }
    response.headers_mut().insert(request_id::HEADER, id.into_header());
    guard(&mut response);
    response
}

/// Serves a caller who was let in, within its share of what there is.
async fn served(app: &App, caller: Caller, act: Option<AuditedAct>, mut request: Request, next: Next) -> Response {
    let account = caller.account();
    let under_way = match app.shares().begin(&account) {
        Ok(under_way) => under_way,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(caller);
    let is_change = !request.method().is_safe();
    let response = match act {
        Some(act) => audit::watched(app, act, request, next).await,
        None => audit::unwatched(request, next).await,
    };
    buffers::counted(response, is_change, app.answered(), &account, under_way)
}

/// What every answer says to a browser, unless it says otherwise itself: it is what its type says and nothing else, is
/// kept nowhere, and is no part of another site's page.
fn guard(response: &mut Response) {
    let said = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in said {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// What a request that was refused had shown. One that shows nothing has only to be told that a key is asked for.
fn shown(request: &Request) -> Option<String> {
    let given = request.headers().get(AUTHORIZATION)?.as_bytes();
    let key = given.split_at_checked(7).map_or(given, |(_, key)| key.trim_ascii());
    Some(audit::name_of_key(key))
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
    if route.is_some_and(|route| route.as_str() == access_list::STREAM) {
        let query = request.uri().query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let is_key = matches!(&*name, "key" | "api_key" | "token" | "access_token" | "authorization");
            if is_key || value.starts_with("fm_") {
                return Err(Problem::invalid_request(
                    "a key must not be in a URL, because every log on the way records it: rotate this key and send \
                     the new one as `Authorization: Bearer …`, or get a ticket from /api/v1/stream/tickets",
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
