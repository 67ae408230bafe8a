//! A browser's sign-in: a key goes in, a cookie comes out.

use axum::response::Response;
use foreman_core::document::{ProblemDocument, WhoamiDocument};
use serde::Deserialize;

use crate::problem::{Kind, Problem};

/// The key that a person signs in with.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignInDocument)]
#[expect(dead_code, reason = "not served yet")]
pub(crate) struct SignIn {
    /// `fm_…`, or the key of the configuration.
    key: String,
}

/// Sign in.
///
/// Swaps a key for the cookie `foreman_session`, which opens to a page of this server what the key opens, for 12 hours. A session that
/// the browser had before is over. Where the server asks for no key it answers who one is, and no cookie is needed.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", operation_id = "sign_in", request_body = SignIn,
    responses(
        (status = 200, description = "Who is signed in now; the cookie stands in `Set-Cookie`", body = WhoamiDocument),
        (status = 401, description = "The key is unknown, expired or revoked", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "The request comes from a page of another server", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "Too many wrong keys came from this address", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn sign_in() -> Result<Response, Problem> {
    Err(Problem::new(Kind::Overloaded, "sessions are not served yet"))
}

/// Sign out.
///
/// The session of the cookie, if there is one, is over on every server of the team, and the cookie is cleared.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", operation_id = "sign_out",
    responses(
        (status = 204, description = "There is no session any more"),
        (status = 403, description = "The request comes from a page of another server", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn sign_out() -> Result<Response, Problem> {
    Err(Problem::new(Kind::Overloaded, "sessions are not served yet"))
}
