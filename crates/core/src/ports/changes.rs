//! The change log: what moved, one row per batch, written in the transaction that moved it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
pub trait ChangeLog: Send + Sync {
    /// The end of the log, to start reading from.
    async fn head(&self) -> Result<Position, StoreError>;

    /// What came after `position`, oldest first, at most `limit` rows of the log. Read in this way nothing committed is
    /// ever passed over.
    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError>;
}

/// A place in the log. Opaque: it only compares within one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub i64);

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub moved: Vec<Moved>,
    /// Where to go on.
    pub position: Position,
}

/// One job's move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub id: JobId,
    pub tenant: TenantId,
    pub state: State,
    pub queue: QueueName,
    pub attempt: u32,
    pub at: Timestamp,
}
