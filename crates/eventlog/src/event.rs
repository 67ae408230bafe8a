//! What is in the log: events, the streams they belong to, and the version that an append expects.

use std::fmt;

use serde_json::Value;
use uuid::Uuid;

use crate::Cursor;

/// What events belong to and are ordered within: an order, an account. Type and id are yours; the tenant is part of the
/// identity, and empty where there are no tenants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    pub tenant: String,
    pub stream_type: String,
    pub id: String,
}

impl Stream {
    pub fn new(stream_type: impl Into<String>, id: impl Into<String>) -> Self {
        Self { tenant: String::new(), stream_type: stream_type.into(), id: id.into() }
    }

    /// The stream of the same name that belongs to this tenant.
    #[must_use]
    pub fn of_tenant(self, tenant: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), ..self }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.tenant.is_empty() {
            write!(f, "{}:", self.tenant)?;
        }
        write!(f, "{}/{}", self.stream_type, self.id)
    }
}

/// Which version the stream must have for an append to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it has.
    Any,
    /// The stream has no events yet.
    NoStream,
    /// The last event has exactly this version. `Exact(0)` is `NoStream`.
    Exact(i64),
}

impl Expected {
    pub(crate) fn as_number(self) -> i64 {
        match self {
            Self::Any => -1,
            Self::NoStream => 0,
            Self::Exact(version) => version,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any version"),
            Self::NoStream | Self::Exact(0) => f.write_str("no stream"),
            Self::Exact(version) => write!(f, "version {version}"),
        }
    }
}

/// An event that is to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// Unique in the log. Made at random unless you set it.
    pub id: Uuid,
    pub event_type: String,
    /// Of the payload's shape, for readers that know several.
    pub event_version: i32,
    pub payload: Vec<u8>,
    pub metadata: Option<Value>,
    pub trace_id: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
}

impl NewEvent {
    pub fn new(event_type: impl Into<String>, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            id: Uuid::now_v7(),
            event_type: event_type.into(),
            event_version: 1,
            payload: payload.into(),
            metadata: None,
            trace_id: None,
            correlation_id: None,
            causation_id: None,
        }
    }

    /// With a payload of JSON.
    pub fn json(event_type: impl Into<String>, payload: &Value) -> Self {
        Self::new(event_type, payload.to_string())
    }

    #[must_use]
    pub fn id(self, id: Uuid) -> Self {
        Self { id, ..self }
    }

    #[must_use]
    pub fn version(self, event_version: i32) -> Self {
        Self { event_version, ..self }
    }

    #[must_use]
    pub fn metadata(self, metadata: Value) -> Self {
        Self { metadata: Some(metadata), ..self }
    }

    #[must_use]
    pub fn trace_id(self, id: impl Into<String>) -> Self {
        Self { trace_id: Some(id.into()), ..self }
    }

    #[must_use]
    pub fn correlation_id(self, id: impl Into<String>) -> Self {
        Self { correlation_id: Some(id.into()), ..self }
    }

    #[must_use]
    pub fn causation_id(self, id: impl Into<String>) -> Self {
        Self { causation_id: Some(id.into()), ..self }
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it is in the log. To continue after it, give this back; to ignore repetitions, keep the greatest.
    pub cursor: Cursor,
    pub stream: Stream,
    /// Of the stream: 1, 2, 3 without gaps.
    pub version: i64,
    pub id: Uuid,
    pub event_type: String,
    pub event_version: i32,
    pub payload: Vec<u8>,
    pub metadata: Option<Value>,
    pub trace_id: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
    /// Microseconds since 1970, by the clock of the database.
    pub created_at: i64,
}

impl Event {
    pub fn position(&self) -> i64 {
        self.cursor.position()
    }

    /// The payload as JSON.
    pub fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.payload)
    }
}

/// What an append has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The version of the first event; the others follow without gaps.
    pub first_version: i64,
    /// Of each event, rising. Known before the commit; a reader sees them after it.
    pub positions: Vec<i64>,
}

impl Appended {
    /// The version of the stream after the append.
    pub fn last_version(&self) -> i64 {
        self.first_version + self.positions.len() as i64 - 1
    }
}
