//! Reads a request's body: so many bytes, and not for ever.
//!
//! hyper watches over the time a request's head takes, and nobody over its body: without the two patiences below, a
//! client that sends one byte a minute holds its connection as long as it likes.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::problem::{Kind, Problem};

/// How large bodies may be, and how long they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    /// Bytes of a request that carries one job, or none.
    pub job_bytes: usize,
    /// Bytes of a batch.
    pub batch_bytes: usize,
    /// Without a further byte for so long, the request is given up.
    pub stall: Duration,
    /// For the whole of a body.
    pub whole: Duration,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            job_bytes: 1024 * 1024,
            batch_bytes: 8 * 1024 * 1024,
            stall: Duration::from_secs(20),
            whole: Duration::from_mins(1),
        }
    }
}

impl Bodies {
    /// The body of a request that must be JSON, with the request's headers.
    pub(crate) async fn json(&self, request: Request, limit: usize) -> Result<(HeaderMap, Bytes), Problem> {
        let (parts, body) = request.into_parts();
        expect_json(&parts.headers)?;
        let bytes = self.read(&parts.headers, body, limit).await?;
        Ok((parts.headers, bytes))
    }

    /// Any body, to the last byte.
    pub(crate) async fn read(&self, headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes, Problem> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large(limit));
        }
        let end = Instant::now() + self.whole;
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        loop {
            let patience = end.min(Instant::now() + self.stall);
            let Ok(frame) = timeout_at(patience, body.frame()).await else {
                return Err(Problem::new(Kind::Timeout, "the body stopped arriving; send it without pauses"));
            };
            let Some(frame) = frame else { break };
            let Ok(frame) = frame else {
                return Err(Problem::invalid_request("the body broke off before its end"));
            };
            let Ok(data) = frame.into_data() else { continue };
            if first.len() + rest.len() + data.len() > limit {
                return Err(too_large(limit));
            }
            // A body of one frame, which most are, is handed on as it came.
            if first.is_empty() && rest.is_empty() {
                first = data;
            } else {
                if rest.is_empty() {
                    rest.extend_from_slice(&std::mem::take(&mut first));
                }
                rest.extend_from_slice(&data);
            }
        }
        Ok(if rest.is_empty() { first } else { rest.freeze() })
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        Kind::BodyTooLarge,
        format!(
            "the body has more than the {limit} bytes allowed here; keep large data elsewhere and send a reference"
        ),
    )
}

fn expect_json(headers: &HeaderMap) -> Result<(), Problem> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        return Err(Problem::new(
            Kind::UnsupportedMediaType,
            format!("the body is encoded as {encoding:?}; send it without a Content-Encoding"),
        ));
    }
    match headers.get(CONTENT_TYPE) {
        Some(given) if is_json(given) => Ok(()),
        Some(given) => Err(Problem::new(
            Kind::UnsupportedMediaType,
            format!("the body is sent as {given:?}; send it with the header `Content-Type: application/json`"),
        )),
        None => Err(Problem::new(
            Kind::UnsupportedMediaType,
            "the request does not say what its body is; send it with the header `Content-Type: application/json`",
        )),
    }
}

/// `application/json`, or `application/…+json`, whatever parameters follow.
fn is_json(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return true;
    }
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("application/") && essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_by_its_media_type() {
        for (text, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/vnd.foreman+json", true),
            ("application/x-www-form-urlencoded", false),
            ("text/json", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(is_json(&HeaderValue::from_static(text)), expected, "{text}");
        }
    }
}
