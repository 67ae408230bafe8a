//! What the stream says: the data of its events.

use serde::{Deserialize, Serialize};

use crate::schedule::TickState;
use crate::session::SessionState;
use crate::state::State;
use crate::time::Timestamp;

/// `event: job`. A job changed its state. Changes in between may be merged, which `sequence` shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobEvent {
    pub id: String,
    pub state: State,
    pub queue: String,
    pub attempt: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Counts the job's changes, from 1.
    pub sequence: u32,
}

/// `event: schedule`. A schedule ticked, or was created, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScheduleEvent {
    pub id: String,
    pub name: String,
    pub what: ScheduleWhat,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The result of the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<TickState>,
    /// The nominal time of the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub scheduled_for: Option<Timestamp>,
    /// The job that the tick created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ScheduleWhat {
    Tick,
    Created,
    Updated,
    Paused,
    Resumed,
    Deleted,
}

/// `event: worker`. A worker started, is draining, stopped or died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerEvent {
    /// The session.
    pub id: String,
    pub worker: String,
    pub state: SessionState,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

/// `event: queue`. A queue was paused or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueEvent {
    pub name: String,
    pub paused: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

/// `event: snapshot`. The current state has been sent; changes follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotEvent {
    /// How many jobs were sent.
    pub jobs: u64,
    /// `false`: there are older jobs that were not sent.
    pub complete: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

/// `event: heartbeat`. The connection is alive, and nothing has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatEvent {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

/// `event: reset`. The stream cannot resume from the requested cursor and continues from now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResetEvent {
    pub reason: ResetReason,
    /// What to do.
    pub detail: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ResetReason {
    /// What came after it is no longer kept.
    Expired,
    /// It is not a place in this server's log.
    Unknown,
}

/// Opens the stream once, as a URL parameter, for clients that cannot send headers.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TicketDocument {
    pub ticket: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for TicketDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TicketDocument").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
