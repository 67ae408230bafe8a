//! Reads a request's body: so many bytes, of all bodies together too, and not for ever.
//!
//! hyper watches over the time a request's head takes, and nobody over its body: without the two patiences below, a
//! client that sends one byte a minute holds its connection as long as it likes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use foreman_core::TenantId;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::gate::caller::Caller;
use crate::problem::{Kind, Problem};
use crate::request::buffers::{BufferLoan, Holding, SMALL};
use crate::serve::ConnectionBytes;

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
    /// Bytes of all bodies at once, in this process; one tenant, and one connection, may have half.
    pub in_flight: usize,
    /// Bytes of all answers that their clients have not taken yet; one tenant may have half.
    pub answers_in_flight: usize,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            job_bytes: 1024 * 1024,
            batch_bytes: 8 * 1024 * 1024,
            stall: Duration::from_secs(20),
            whole: Duration::from_mins(1),
            in_flight: 32 * 1024 * 1024,
            answers_in_flight: 32 * 1024 * 1024,
        }
    }
}

impl App {
    /// The body of a request that must be JSON, with the request's headers.
    pub(crate) async fn json(&self, request: Request, limit: usize) -> Result<(HeaderMap, Bytes), Problem> {
        let (parts, body) = request.into_parts();
        expect_json(&parts.headers)?;
        let bytes = self.body(&parts, body, limit).await?;
        Ok((parts.headers, bytes))
    }

    /// Any body, to the last byte. It counts as in memory for as long as the bytes are kept.
    pub(crate) async fn body(&self, parts: &Parts, mut body: Body, limit: usize) -> Result<Bytes, Problem> {
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large(limit));
        }
        let mut room = Room::make(self, parts, announced).await?;
        let end = Instant::now() + self.bodies.whole;
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        loop {
            let patience = end.min(Instant::now() + self.bodies.stall);
            let Ok(frame) = timeout_at(patience, body.frame()).await else {
                return Err(Problem::new(Kind::Timeout, "the body stopped arriving; send it without pauses"));
            };
            let Some(frame) = frame else { break };
            let Ok(frame) = frame else {
                return Err(Problem::invalid_request("the body ended early"));
            };
            let Ok(data) = frame.into_data() else { continue };
            let length = first.len() + rest.len() + data.len();
            if length > limit {
                return Err(too_large(limit));
            }
            room.hold(length)?;
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
        let bytes = if rest.is_empty() { first } else { rest.freeze() };
        Ok(if bytes.len() > SMALL { Holding::bytes(bytes, room) } else { bytes })
    }
}

/// Room for one body, among all that are in memory.
struct Room {
    taken: BufferLoan,
    /// Those of the connection.
    connection: Option<OnConnection>,
    most: usize,
}

impl Room {
    /// For what was announced, if that is not small; whoever sends without saying how much takes as it comes.
    async fn make(app: &App, parts: &Parts, announced: Option<u64>) -> Result<Self, Problem> {
        let account = parts.extensions.get::<Caller>().map_or_else(|| TenantId::new(""), Caller::account);
        let length = announced.and_then(|length| usize::try_from(length).ok()).filter(|length| *length > SMALL);
        let buffers = app.received();
        let connection =
            parts.extensions.get::<ConnectionBytes>().map(|connection| OnConnection::new(connection.clone()));
        let taken = buffers.take(&account, 0, Duration::ZERO).await.ok_or_else(no_room)?;
        let mut room = Self { taken, connection, most: buffers.share() };
        if let Some(length) = length {
            room.grow_connection(length)?;
            room.taken = buffers.take(&account, length, ROOM_PATIENCE).await.ok_or_else(no_room)?;
        }
        Ok(room)
    }

    /// So many bytes are there now.
    fn hold(&mut self, length: usize) -> Result<(), Problem> {
        if length <= SMALL || length <= self.taken.bytes() {
            return Ok(());
        }
        let taken = self.taken.bytes();
        let more = (length - taken).max(STEP.min(self.most.saturating_sub(taken)));
        self.grow_connection(more)?;
        if self.taken.grow(more) { Ok(()) } else { Err(no_room()) }
    }

    fn grow_connection(&mut self, more: usize) -> Result<(), Problem> {
        let has_room = self.connection.as_mut().is_none_or(|connection| connection.grow(more, self.most));
        if has_room { Ok(()) } else { Err(no_room()) }
    }
}

/// How long a body waits for room.
const ROOM_PATIENCE: Duration = Duration::from_secs(5);
/// What a body takes at once whose length was not announced.
const STEP: usize = 64 * 1024;

#[cold]
fn no_room() -> Problem {
    Problem::new(
        Kind::Overloaded,
        "the request bodies in flight, of this tenant or of all tenants, have reached the memory limit; send the \
         request again",
    )
}

/// What a body takes of its connection's share; given back when dropped.
struct OnConnection {
    connection: ConnectionBytes,
    bytes: usize,
}

impl OnConnection {
    fn new(connection: ConnectionBytes) -> Self {
        Self { connection, bytes: 0 }
    }

    fn grow(&mut self, more: usize, most: usize) -> bool {
        let before = self.connection.0.fetch_add(more, Ordering::AcqRel);
        if before + more > most {
            self.connection.0.fetch_sub(more, Ordering::AcqRel);
            return false;
        }
        self.bytes += more;
        true
    }
}

impl Drop for OnConnection {
    fn drop(&mut self) {
        self.connection.0.fetch_sub(self.bytes, Ordering::AcqRel);
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
            "the request has no content type; send it with the header `Content-Type: application/json`",
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
