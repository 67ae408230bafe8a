//! The change log: what moved and what else happened, one row per transaction, written in the transaction that did it.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use super::schedules::TickState;
use super::sessions::SessionState;
use crate::id::{JobId, ScheduleId, SessionId, TenantId};
use crate::job::QueueName;
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
pub trait ChangeLog: Send + Sync {
    /// The end of the log, to start reading from.
    async fn head(&self) -> Result<Position, StoreError>;

    /// The last place there is. [`Self::head`] may fall behind it for a moment, where a row that is on its way could still come
    /// before others; this never falls, and no place that was ever told lies beyond it.
    async fn last(&self) -> Result<Position, StoreError> {
        self.head().await
    }

    /// Nothing after this place has been pruned: whoever stood here or later can read on. One who stood before it may have
    /// missed something.
    async fn start(&self) -> Result<Position, StoreError>;

    /// What came after `position`, oldest first, at most `limit` rows of the log, and no further row once those before it have
    /// [`CHANGES_BYTES`]: a row has as much to say as one write moved jobs. (What is in memory already is not bounded in bytes.)
    /// Read in this way nothing committed is ever passed over.
    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError>;
}

/// How much text of the log is read at once, give or take one row; about fifty bytes tell of a job.
pub const CHANGES_BYTES: usize = 1024 * 1024;

/// A place in the log. Opaque: it only compares within one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub i64);

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub rows: Vec<ChangeRow>,
    /// Where to go on.
    pub position: Position,
    /// As much as is read at once: there may be more right behind it. Otherwise this was the end of the log.
    pub is_full: bool,
}

impl Changes {
    /// The moves of all rows, in order.
    pub fn moved(&self) -> impl Iterator<Item = &Moved> {
        self.rows.iter().flat_map(|row| &row.moved)
    }

    pub fn into_moved(self) -> impl Iterator<Item = Moved> {
        self.rows.into_iter().flat_map(|row| row.moved)
    }
}

/// What one transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    pub position: Position,
    pub at: Timestamp,
    pub moved: Vec<Moved>,
    pub notes: Vec<Note>,
}

/// One job's move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub id: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub at: Timestamp,
    pub step: Step,
}

/// Where a move led, and which move of its job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub state: State,
    pub attempt: u32,
    /// Counts the moves of a job, from 1. 0: written by a version that did not count.
    pub sequence: u32,
    /// Of a move to running: how long the job had waited since it was due. Of a move that ends an attempt: how long that
    /// ran.
    pub took: Option<Duration>,
}

/// Something else that whoever watches wants to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// A schedule's tick was decided about.
    Tick {
        tenant: TenantId,
        schedule: ScheduleId,
        name: String,
        nominal: Timestamp,
        state: TickState,
        job: Option<JobId>,
    },
    /// A schedule was made, changed or removed.
    Schedule { tenant: TenantId, schedule: ScheduleId, name: String, became: Became },
    /// A worker came, drains, went or died.
    Worker { session: SessionId, worker: String, state: SessionState },
    /// A queue was paused or resumed.
    Queue { tenant: TenantId, queue: QueueName, is_paused: bool },
    /// A later version's.
    #[serde(other)]
    Unknown,
}

impl Note {
    /// Whose it is; `None` when it is the operator's.
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Note::Tick { tenant, .. } | Note::Schedule { tenant, .. } | Note::Queue { tenant, .. } => Some(tenant),
            Note::Worker { .. } | Note::Unknown => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Became {
    Created,
    Updated,
    Paused,
    Resumed,
    Deleted,
}

impl Became {
    /// What an edit made of a schedule.
    pub fn by_edit(was_paused: bool, is_paused: bool) -> Self {
        match (was_paused, is_paused) {
            (false, true) => Became::Paused,
            (true, false) => Became::Resumed,
            _ => Became::Updated,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Became::Created => "created",
            Became::Updated => "updated",
            Became::Paused => "paused",
            Became::Resumed => "resumed",
            Became::Deleted => "deleted",
        }
    }
}
