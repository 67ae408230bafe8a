//! A browser's sign-in: a key goes in, a cookie comes out.
//!
//! The page never keeps the key, and no script can read the cookie (`HttpOnly`). The session behind it lives in the store by
//! its hash, so any process of a team knows it and a restart loses none; it is worth what its key is worth at that moment. Sign
//! in again and the session before is over. Where two processes are asked to end the same session, both say that it is over.

mod cookie;
mod origin;

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::audit::Actor;
use foreman_core::document::{ProblemDocument, WhoamiDocument};
use foreman_core::ports::PassKind;
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;

use crate::app::App;
use crate::gate::audit::{self, RequestOrigin};
use crate::gate::passes::PassText;
use crate::gate::{Peer, host};
use crate::openapi::responses::OtherOrigin;
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::tenants::whoami;
pub(crate) use cookie::shown;
pub(crate) use origin::{is_of_a_stranger, is_of_this_page};

/// A body with a key in it is small.
const LARGEST: usize = 4 * 1024;

/// The key to sign in with.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignInDocument)]
pub(crate) struct SignIn {
    /// `fm_…`, or the configured admin key.
    key: String,
}

/// Sign in.
///
/// Exchanges a key for the cookie `foreman_session`, which gives pages of this server the access of that key for 12
/// hours. An earlier session of the same browser ends. If the server requires no key, the response only says who you
/// are, and no cookie is needed.
///
/// A request with the cookie and without `Authorization` acts as the signed-in user. A request that changes something
/// must come from a page of this server: `Sec-Fetch-Site: same-origin`, or an `Origin` with the scheme and host that
/// the browser requested.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", operation_id = "sign_in", request_body = SignIn,
    responses(
        (status = 200, description = "Signed in; the cookie is in `Set-Cookie`", body = WhoamiDocument),
        (status = 401, description = "The key is unknown, expired or revoked",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, response = OtherOrigin),
        (status = 429, description = "Too many wrong keys came from this address",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn sign_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let visit = SessionVisit::of(&request)?;
    let (headers, body) = app.json(request, LARGEST).await?;
    let SignIn { key } = json::parse(&body, Kind::InvalidRequest)?;
    let authenticator = app.authenticator();
    let caller = match authenticator.key_holder(key.as_bytes(), visit.peer).await {
        Err(problem) if problem.kind == Kind::Unauthorized => {
            visit.from.refused(&app, "session.refused", audit::name_of_key(key.as_bytes()));
            return Err(problem);
        }
        caller => caller?,
    };
    let mut answer = json::answer(StatusCode::OK, &whoami::document(&caller));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if caller.actor != Actor::Nobody {
        app.quotas().take_sign_in(&app, &caller).await?;
        let text = PassText::fresh(PassKind::Session);
        authenticator.issue(&text, &caller).await?;
        // The one before, which somebody may have put there, is worth nothing from now on.
        if let Some(before) = shown(&headers) {
            authenticator.end(&before).await?;
        }
        answer.headers_mut().insert(SET_COOKIE, cookie::set(&text, &headers));
        let act = visit.from.act(&caller, "session.create", "session".into(), StatusCode::OK);
        audit::record(&app, &act).await;
    }
    Ok(answer)
}

/// Sign out.
///
/// Ends the session of the cookie, if there is one, on every server of the team, and clears the cookie.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", operation_id = "sign_out",
    responses(
        (status = 204, description = "Signed out"),
        (status = 403, response = OtherOrigin),
    ))]
pub(crate) async fn sign_out(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let visit = SessionVisit::of(&request)?;
    let headers = request.headers();
    if let Some(text) = shown(headers) {
        if !is_of_this_page(headers, visit.host.as_deref()) {
            return Err(cross_origin());
        }
        let authenticator = app.authenticator();
        // For the audit log alone: a session whose key is gone is ended all the same.
        let holder = authenticator.session_holder(&text).await;
        authenticator.end(&text).await?;
        if let Ok(Some(caller)) = holder {
            let act = visit.from.act(&caller, "session.delete", "session".into(), StatusCode::NO_CONTENT);
            audit::record(&app, &act).await;
        }
    }
    let mut answer = Response::default();
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(SET_COOKIE, cookie::cleared(request.headers()));
    Ok(answer)
}

/// Where a request came from.
struct SessionVisit {
    host: Option<String>,
    peer: std::net::IpAddr,
    from: RequestOrigin,
}

impl SessionVisit {
    /// A page of somebody else's that signs its visitor in makes them work under another's name.
    fn of(request: &Request) -> Result<Self, Problem> {
        let host = host::host(request).map(ToOwned::to_owned);
        if is_of_a_stranger(request.headers(), host.as_deref()) {
            return Err(cross_origin());
        }
        Ok(Self { host, peer: Peer::address(request), from: RequestOrigin::of(request) })
    }
}

/// What is done with a session, but not by a page of this server.
pub(crate) fn cross_origin() -> Problem {
    Problem::new(
        Kind::CrossOrigin,
        "the request uses a session but was not sent by a page of this server: it has neither `Sec-Fetch-Site: \
         same-origin` nor an `Origin` with this scheme and host; programs should send a key as `Authorization: Bearer \
         …`",
    )
}

/// A request that a browser sends with a session of ours.
pub(crate) fn expect_own_page(headers: &HeaderMap, host: Option<&str>, is_safe: bool) -> Result<(), Problem> {
    let is_fine = if is_safe { !is_of_a_stranger(headers, host) } else { is_of_this_page(headers, host) };
    if is_fine { Ok(()) } else { Err(cross_origin()) }
}
