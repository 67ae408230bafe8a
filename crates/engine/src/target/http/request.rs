//! The request of an attempt: exactly the job's body, its headers, and ours.

use bytes::Bytes;
use foreman_core::JobId;
use foreman_core::target::{Body, HttpTarget};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use url::{Host, Position};

use super::connect::Place;
use crate::target::Try;

pub(super) type HttpRequest = Request<Full<Bytes>>;

const USER_AGENT: &str = concat!("foreman/", env!("CARGO_PKG_VERSION"));
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const JOB_ID: HeaderName = HeaderName::from_static("foreman-job-id");
const ATTEMPT: HeaderName = HeaderName::from_static("foreman-attempt");
const FENCE: HeaderName = HeaderName::from_static("foreman-fence");
const SCHEDULE: HeaderName = HeaderName::from_static("foreman-schedule");
const SCHEDULED_FOR: HeaderName = HeaderName::from_static("foreman-scheduled-for");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A job that cannot be put into a request; it was let in by mistake, and trying again would not help.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotARequest {
    #[error("the URL cannot be requested")]
    Url,
    #[error("{0:?} is not a method")]
    Method(String),
    /// Without its value, which may be a secret.
    #[error("the header {0:?} cannot be sent")]
    Header(String),
}

pub(super) fn build(target: &HttpTarget, attempt: &Try) -> Result<(Place, HttpRequest), NotARequest> {
    let place = place(target)?;
    let path = &target.url[Position::BeforePath..Position::AfterQuery];
    let mut request = Request::new(Full::new(Bytes::copy_from_slice(target.body.as_str().as_bytes())));
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| NotARequest::Url)?;
    *request.method_mut() =
        Method::from_bytes(target.method.as_bytes()).map_err(|_| NotARequest::Method(target.method.clone()))?;
    *request.headers_mut() = headers(target, attempt)?;
    if target.body.is_none() && matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
        // Of these a server expects a body, and may wait for one that is not said to be empty.
        request.headers_mut().insert(header::CONTENT_LENGTH, 0.into());
    }
    Ok((place, request))
}

fn place(target: &HttpTarget) -> Result<Place, NotARequest> {
    let host = target.url.host_str().ok_or(NotARequest::Url)?;
    let port = target.url.port_or_known_default().ok_or(NotARequest::Url)?;
    let literal = match target.url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    };
    Ok(Place { is_tls: target.url.scheme() == "https", host: host.into(), literal, port })
}

/// Defaults that the job may replace, then the job's, then ours that nobody replaces.
fn headers(target: &HttpTarget, attempt: &Try) -> Result<HeaderMap, NotARequest> {
    let mut headers = HeaderMap::with_capacity(14 + target.headers.len());
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    // What is compressed is not inflated, so ask for what can be read.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(content_type) = content_type(&target.body) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    for (name, value) in &target.headers {
        let unfit = || NotARequest::Header(name.clone());
        let value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| unfit())?, value);
    }
    let host = &target.url[Position::BeforeHost..Position::AfterPort];
    headers.insert(header::HOST, HeaderValue::from_str(host).map_err(|_| NotARequest::Url)?);
    let id = ascii(&attempt.job.id.to_string());
    // The same for every attempt: it is how a target knows a job that it has seen before.
    headers.insert(IDEMPOTENCY_KEY, id.clone());
    headers.insert(JOB_ID, id);
    headers.insert(ATTEMPT, attempt.attempt.into());
    headers.insert(FENCE, attempt.fence.0.into());
    if let Some(occasion) = &attempt.job.work.occasion {
        // The time the tick belongs to, however late it starts: what a report is about, and the same at every attempt.
        for (name, value) in [(SCHEDULE, &occasion.schedule), (SCHEDULED_FOR, &occasion.nominal.to_string())] {
            let value = HeaderValue::from_str(value).map_err(|_| NotARequest::Header(name.to_string()))?;
            headers.insert(name, value);
        }
    }
    headers.insert(TRACEPARENT, ascii(&traceparent(attempt.job.id)));
    Ok(headers)
}

fn content_type(body: &Body) -> Option<&'static str> {
    match body {
        Body::None => None,
        Body::Json(_) => Some("application/json"),
        Body::Text(_) => Some("text/plain; charset=utf-8"),
    }
}

/// The attempts of a job share a trace, named after it; each is a span of its own. Marked as sampled: the usual samplers
/// do as their caller did, and would otherwise never trace a target's work.
fn traceparent(job: JobId) -> String {
    let span = rand::random::<u64>().max(1);
    format!("00-{}-{span:016x}-01", job.0.simple())
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("ids, numbers and times are ASCII")
}
