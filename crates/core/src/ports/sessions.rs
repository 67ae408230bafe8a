//! Liveness is per session, not per job: one row per worker, renewed every few seconds, keeps all its claims.

use std::time::Duration;

use async_trait::async_trait;
pub use foreman_protocol::session::SessionState;

use super::StoreError;
use crate::id::{ClaimToken, Fence, JobId, SessionId};
use crate::target::Route;

#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Registers a session, live and accepting. Sent again with the same id it changes nothing.
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError>;

    /// Renews the session and tells what it still holds. `given_up` names claim calls whose answer the worker no longer
    /// waits for: a claim made by one of them is released, its attempts refunded. One that cannot be released costs the
    /// session nothing. The worker names them with every heartbeat, for such a call may still commit later.
    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError>;

    /// What the session still holds, without renewing it.
    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError>;

    /// From now on the session claims nothing; what it holds it keeps. `false` when it is not live.
    async fn drain(&self, session: SessionId) -> Result<bool, StoreError>;

    /// Ends a session for ever, in time or not. What it still holds is handed back at once, refunded. Answers how many jobs
    /// that were.
    async fn end(&self, session: SessionId) -> Result<usize, StoreError>;

    /// The pulse of every session that is not ended or dead, for the sweeper to watch.
    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError>;

    /// Lapses a session that has not been renewed since `pulse` was read and whose time is over: locks it, looks again,
    /// marks it dead for ever and only then returns its jobs, each with a lapsed attempt and one crash more. A job at
    /// its last crash becomes dead with error `poison`. `None` when the session was renewed or had ended meanwhile.
    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError>;
}

#[derive(Clone, Debug)]
pub struct SessionInfo {
    pub id: SessionId,
    /// The worker's name: what people recognise, such as `host-1`.
    pub worker: String,
    pub pid: u32,
    pub version: String,
    pub slots: u32,
    /// Empty: all queues.
    pub queues: Vec<String>,
    /// The tasks that it has handlers for.
    pub tasks: Vec<String>,
    /// The routes whose jobs it takes from a broker; none when it only asks the store.
    pub consumes: Option<Vec<Route>>,
    /// Without a renewal for so long the session may be lapsed.
    pub ttl: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    Renewed {
        held: Vec<OpenJob>,
    },
    /// No row was renewed: the session lapsed or ended. Stop its work and register anew.
    Gone,
}

/// A job still open in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenJob {
    pub fence: Fence,
    pub job: JobId,
}

/// One reading of a session's heart. `beats` rises with every renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pulse {
    pub session: SessionId,
    pub beats: i64,
    /// By the store's clock, its time is over.
    pub is_overdue: bool,
    pub ttl: Duration,
}
