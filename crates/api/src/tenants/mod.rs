//! Tenants and their keys over HTTP, for who runs this server.
//!
//! A version is an `ETag`, as with schedules. Each write runs to its end, whether or not its client waits, and this process
//! forgets at once what it knew of what was changed; the others hear of it within seconds.

pub(crate) mod change;
pub(crate) mod keys;
pub(crate) mod look;
pub(crate) mod signing;
pub(crate) mod whoami;

use std::time::Duration;

use axum::extract::Request;
use bytes::Bytes;
use foreman_core::duration::{self, Span};
use http::header::CONTENT_TYPE;

use crate::app::App;
use crate::problem::{Kind, Problem};

/// What an old secret or key may go on for.
const LONGEST_OVERLAP: Duration = Duration::from_hours(720);

/// The body of a request that may have none.
pub(crate) async fn body_if_any(app: &App, request: Request) -> Result<Bytes, Problem> {
    if request.headers().contains_key(CONTENT_TYPE) {
        return Ok(app.json(request, app.bodies.job_bytes).await?.1);
    }
    let (parts, body) = request.into_parts();
    let body = app.body(&parts, body, app.bodies.job_bytes).await?;
    if body.is_empty() {
        return Ok(Bytes::from_static(b"{}"));
    }
    Err(Problem::new(
        Kind::UnsupportedMediaType,
        "the request has no content type; send it with the header `Content-Type: application/json`",
    ))
}

pub(crate) fn overlap(kind: Kind, pointer: &str, given: Option<Span>, usual: Duration) -> Result<Duration, Problem> {
    let overlap = given.map_or(usual, |span| span.0);
    if overlap <= LONGEST_OVERLAP {
        return Ok(overlap);
    }
    let most = duration::format(LONGEST_OVERLAP);
    Err(Problem::mistake(kind, pointer, format!("is longer than the limit of {most}")))
}
