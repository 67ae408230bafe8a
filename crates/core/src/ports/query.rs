//! Questions that change nothing.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::audit::Audit;
use super::sessions::SessionState;
use crate::id::{Fence, JobId, SessionId, TenantId};
use crate::job::{Job, QueueName};
use crate::outcome::{AttemptOutcome, Report};
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
pub trait JobQuery: Send + Sync {
    /// Can the store be written and read right now?
    async fn ping(&self) -> Result<(), StoreError>;

    /// One job with all its attempts.
    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError>;

    /// A page of jobs without their attempts. Newest first: by creation, or, when one final state is asked for, by the
    /// time they reached it.
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobView>, StoreError>;

    /// How many jobs match.
    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError>;

    /// How many of a tenant's jobs wait (scheduled, pending or retrying), counted no further than `enough`.
    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError>;

    /// How many jobs of each tenant are held right now, counted from the claims themselves; those with none are left out.
    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError>;

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError>;

    /// Sessions alive, and those that ended or died within the retention; the living first, then the newest.
    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError>;

    /// Proves that every job is in exactly one place, by looking at all of them.
    async fn audit(&self) -> Result<Audit, StoreError>;
}

/// A job and where it stands.
#[derive(Clone, Debug)]
pub struct JobView {
    pub job: Job,
    pub state: State,
    pub attempt: u32,
    pub spent: u32,
    pub crashes: u32,
    /// When it may run, or was allowed to run, next.
    pub run_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub error: Option<String>,
    /// Filled when one job is read; the attempt under way comes last, without an outcome.
    pub attempts: Vec<AttemptRecord>,
}

/// One try.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    /// 0 when the job ended without a try, cancelled or expired while it waited.
    pub number: u32,
    pub fence: Option<Fence>,
    /// The name of the worker that ran it.
    pub worker: Option<String>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// `None` while it runs.
    pub outcome: Option<AttemptOutcome>,
    pub report: Report,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub state: Option<State>,
    pub queue: Option<QueueName>,
    pub kind: Option<String>,
    pub tag: Option<String>,
    pub correlation_id: Option<String>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
}

/// Where a page ended, in its own order: the sort time (0 when the order is by id alone) and the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub at: Timestamp,
    pub id: JobId,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: take it from `next` of the page before, unchanged")]
pub struct NotACursor;

impl Cursor {
    pub fn encode(&self) -> String {
        format!("{:x}-{}", self.at.as_micros(), self.id.0.simple())
    }

    pub fn decode(text: &str) -> Result<Self, NotACursor> {
        let (at, id) = text.split_once('-').ok_or(NotACursor)?;
        let at = i64::from_str_radix(at, 16).map_err(|_| NotACursor)?;
        let id = id.parse().map_err(|_| NotACursor)?;
        Ok(Self { at: Timestamp::from_micros(at), id })
    }
}

#[derive(Clone, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// `None` when this was the last page.
    pub next: Option<Cursor>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QueueView {
    pub queue: QueueName,
    pub is_paused: bool,
    pub waiting: WaitingCounts,
    pub running: u64,
    /// How long the oldest due job has been waiting.
    pub oldest_wait: Option<Duration>,
    /// Jobs that reached a final state within the last minute.
    pub finished_last_minute: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingCounts {
    pub scheduled: u64,
    pub pending: u64,
    pub retrying: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    pub id: SessionId,
    pub worker: String,
    pub pid: u32,
    pub version: String,
    pub state: SessionState,
    pub slots: u32,
    pub queues: Vec<String>,
    pub running: u64,
    pub started_at: Timestamp,
    pub renewed_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_text_and_nothing_else_is_one() {
        let cursor = Cursor { at: Timestamp::from_micros(1_763_200_000_123_456), id: JobId::fresh() };
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        for text in ["", "-", "12", "zz-00", "1-nonsense", "1-2-3"] {
            assert_eq!(Cursor::decode(text), Err(NotACursor), "{text}");
        }
    }
}
