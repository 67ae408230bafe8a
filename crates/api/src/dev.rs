//! Targets to try jobs on, served only by `foreman dev`.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::any;
use foreman_core::duration::Span;
use http::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::request::json;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/dev/echo", any(echo))
        .route("/dev/status/{code}", any(status))
        .route("/dev/wait/{duration}", any(wait))
        .route("/dev/flaky/{attempts}", any(flaky))
}

#[derive(Serialize)]
struct Echo {
    method: String,
    /// Those that say something about the job.
    headers: BTreeMap<String, String>,
    body: String,
}

/// Says back what it was sent.
async fn echo(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let body = app.body(&parts, body, app.bodies.job_bytes).await?;
    let headers = parts
        .headers
        .iter()
        .filter(|(name, _)| is_of_interest(name.as_str()))
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let echo = Echo { method: parts.method.to_string(), headers, body: String::from_utf8_lossy(&body).into_owned() };
    Ok(json::answer(StatusCode::OK, &echo))
}

/// Never credentials: what is echoed is kept with the attempt and shown.
fn is_of_interest(name: &str) -> bool {
    ["content-type", "content-length", "idempotency-key", "traceparent", "user-agent", "host"].contains(&name)
        || name.starts_with("foreman-")
        || name.starts_with("webhook-")
}

#[derive(Serialize)]
struct Answered {
    status: u16,
}

/// Answers with the status in its path, to see what each one does to a job.
async fn status(Path(code): Path<String>) -> Result<Response, Problem> {
    let refuse = || Problem::invalid_request(format!("{code:?} is not a status between 200 and 599"));
    let status = code.parse().ok().filter(|code| (200..=599).contains(code)).ok_or_else(refuse)?;
    let status = StatusCode::from_u16(status).map_err(|_| refuse())?;
    Ok(json::answer(status, &Answered { status: status.as_u16() }))
}

/// Nothing that is tried out takes longer.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Serialize)]
struct Waited {
    #[serde(rename = "waited_ms")]
    millis: u64,
}

/// Answers after the time in its path, to see jobs run.
async fn wait(Path(text): Path<String>) -> Result<Response, Problem> {
    let refuse = || Problem::invalid_request(format!("{text:?} is not a duration of at most 20s, such as 250ms"));
    let Span(duration) = text.parse().ok().filter(|span: &Span| span.0 <= LONGEST).ok_or_else(refuse)?;
    tokio::time::sleep(duration).await;
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Ok(json::answer(StatusCode::OK, &Waited { millis }))
}

/// Refuses so many attempts of a job, and takes the next: to see it retried.
async fn flaky(Path(text): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let refuse = || Problem::invalid_request(format!("{text:?} is not a number of attempts"));
    let refused: u32 = text.parse().map_err(|_| refuse())?;
    let attempt = headers.get("foreman-attempt").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(1);
    let status = if attempt > refused { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(json::answer(status, &Answered { status: status.as_u16() }))
}
