//! The request of an attempt: exactly the job's body, its headers, ours, and its signature.

use std::collections::BTreeMap;

use bytes::Bytes;
use foreman_core::signing::{self, MessageId, SigningSecret};
use foreman_core::target::{Body, HttpTarget};
use foreman_core::{JobId, Timestamp};
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use url::{Host, Position, Url};

use super::connect::Authority;
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
pub(in crate::target) enum NotARequest {
    #[error("the URL cannot be requested")]
    Url,
    #[error("{0:?} is not a method")]
    Method(String),
    /// Without its value, which may be a secret.
    #[error("the header {0:?} cannot be sent")]
    Header(String),
}

/// A request, and where it goes.
pub(in crate::target) struct Outgoing {
    pub(super) authority: Authority,
    pub(super) request: HttpRequest,
}

impl Outgoing {
    /// `headers` are the job's own, opened.
    pub(super) fn of_job(
        target: &HttpTarget,
        headers: &BTreeMap<String, String>,
        attempt: &Try,
    ) -> Result<Self, NotARequest> {
        let method =
            Method::from_bytes(target.method.as_bytes()).map_err(|_| NotARequest::Method(target.method.clone()))?;
        let mut outgoing = Self::new(&target.url, method, target.body.as_str())?;
        outgoing.add_headers_of_job(target, headers, attempt)?;
        let request = &mut outgoing.request;
        if target.body.is_none() && matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
            // Of these a server expects a body, and may wait for one that is not said to be empty.
            request.headers_mut().insert(header::CONTENT_LENGTH, 0.into());
        }
        Ok(outgoing)
    }

    /// A message about a job, told by the job `delivery`.
    pub(in crate::target) fn of_message(url: &Url, body: &str, delivery: JobId) -> Result<Self, NotARequest> {
        let mut outgoing = Self::new(url, Method::POST, body)?;
        let headers = outgoing.request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(TRACEPARENT, ascii(&traceparent(delivery)));
        Ok(outgoing)
    }

    /// With what every request has, which a job may replace but for the host.
    fn new(url: &Url, method: Method, body: &str) -> Result<Self, NotARequest> {
        let mut request = Request::new(Full::new(Bytes::copy_from_slice(body.as_bytes())));
        let path = &url[Position::BeforePath..Position::AfterQuery];
        *request.uri_mut() = path.parse::<Uri>().map_err(|_| NotARequest::Url)?;
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.reserve(20);
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        // What is compressed is not inflated, so ask for what can be read.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::HOST, host(url)?);
        Ok(Self { authority: authority(url)?, request })
    }

    /// Defaults that the job may replace, then the job's, then ours that nobody replaces.
    fn add_headers_of_job(
        &mut self,
        target: &HttpTarget,
        given: &BTreeMap<String, String>,
        attempt: &Try,
    ) -> Result<(), NotARequest> {
        let headers = self.request.headers_mut();
        if let Some(content_type) = content_type(&target.body) {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        for (name, value) in given {
            let unfit = || NotARequest::Header(name.clone());
            let mut value = HeaderValue::from_str(value).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| unfit())?, value);
        }
        headers.insert(header::HOST, host(&target.url)?);
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
        Ok(())
    }

    /// Says who sent it, by each of these secrets; without one, nothing is said. `body` is what was put into it.
    pub(in crate::target) fn sign(&mut self, secrets: &[SigningSecret], job: JobId, now: Timestamp, body: &[u8]) {
        let Some((newest, older)) = secrets.split_first() else { return };
        for (name, value) in signing::sign(newest, older, &MessageId::of_job(job), now, body).headers() {
            self.request.headers_mut().insert(HeaderName::from_static(name), ascii(&value));
        }
    }

    /// Its name without a signature: who cannot verify it can still tell that it came before.
    pub(in crate::target) fn name(&mut self, job: JobId) {
        let id = ascii(MessageId::of_job(job).as_str());
        self.request.headers_mut().insert(HeaderName::from_static(signing::ID), id);
    }
}

fn host(url: &Url) -> Result<HeaderValue, NotARequest> {
    HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]).map_err(|_| NotARequest::Url)
}

fn authority(url: &Url) -> Result<Authority, NotARequest> {
    let host = url.host_str().ok_or(NotARequest::Url)?;
    let port = url.port_or_known_default().ok_or(NotARequest::Url)?;
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    };
    Ok(Authority { is_tls: url.scheme() == "https", host: host.into(), literal, port })
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
