//! What somebody wants to see first: how many, how old, who works, and what needs them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::duration::Span;
use crate::state::State;
use crate::time::Timestamp;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OverviewDocument {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Jobs by state.
    pub states: BTreeMap<String, CountDocument>,
    /// How many queues there are.
    pub queues: u64,
    /// The queue whose oldest due job has waited longest.
    pub oldest_waiting: Option<OldestWaitingDocument>,
    /// Only for operators, because workers serve all tenants.
    pub workers: Option<WorkersDocument>,
    pub attention: Vec<AttentionDocument>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountDocument {
    pub count: u64,
    /// There are at least this many: counting stops early in a long history.
    pub estimate: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OldestWaitingDocument {
    pub queue: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "3m12s"))]
    pub age: Span,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkersDocument {
    pub live: u64,
    pub draining: u64,
    /// Workers that lapsed recently.
    pub dead: u64,
    /// The slots of all live workers.
    pub slots: u64,
    pub running: u64,
}

/// Something that needs attention.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttentionDocument {
    pub kind: AttentionKind,
    pub count: u64,
    pub estimate: bool,
    /// The queue, worker or webhook it is about, if any.
    pub subject: Option<String>,
    /// A sentence.
    pub detail: String,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttentionKind {
    DeadJobs,
    /// In the last hour.
    FailedJobs,
    PausedQueue,
    LapsedWorker,
    LateSchedules,
    DisabledWebhook,
    /// Jobs wait for a task that no connected worker has a handler for.
    NoWorker,
}

/// The errors of failed and dead jobs, the most frequent first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureGroupsDocument {
    pub items: Vec<FailureGroupDocument>,
    /// Always `null`: there is one page.
    pub next: Option<String>,
    /// `false`: there are more groups than these. With more than a few thousand groups, only those that are frequent
    /// among the latest jobs are counted.
    pub complete: bool,
}

/// Jobs that failed or died with the same error, apart from numbers and ids in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureGroupDocument {
    /// `failed` or `dead`: all jobs of a group ended in the same state.
    #[serde(default = "dead")]
    pub state: State,
    /// The value for `error_group` of a filter. `null`: these jobs ended before errors were grouped, and can only be
    /// filtered by their state.
    pub group: Option<String>,
    /// The error of the latest job.
    pub error: Option<String>,
    pub count: u64,
    /// There are at least this many.
    pub estimate: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub first_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_at: Timestamp,
    /// The kind of the latest job.
    pub kind: Option<String>,
    pub queue: String,
    /// The latest job of the group.
    pub job: String,
}

/// What a server says that knows groups of dead jobs only.
fn dead() -> State {
    State::Dead
}

/// A job that a worker is running.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeldDocument {
    pub id: String,
    pub tenant: String,
    pub queue: String,
    pub kind: Option<String>,
    pub attempt: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Timestamp,
}
