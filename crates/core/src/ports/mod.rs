//! What the rest of Foreman asks of the outside: few ports, their methods the protocol's verbs on batches.
//!
//! A job is in exactly one place: **ready** while it waits, **held** in a claim while an attempt has it, **outcomes**
//! when it is final. Every verb that moves jobs is one transaction of the store, and appends what it moved to the
//! change log in that same transaction. No transaction handle crosses a port.
//!
//! Any write may fail with its outcome unknown. It is resolved by sending the *same* operation again under the same
//! identity (job id, claim token, fence and job id): the store answers "done now", "done by you" or "fenced".

mod announce;
mod audit_log;
mod census;
mod changes;
mod followers;
pub mod intercept;
mod jobs;
mod keys;
mod limiter;
mod output;
mod passes;
mod query;
mod schedules;
mod sessions;
mod statistics;
mod submit;
mod tenants;
mod transport;
mod upkeep;
mod wakeups;
mod webhooks;

pub use announce::{
    AnnounceRequest, AnnounceStore, AnnouncedBatch, BatchNumber, Consumer, LaneCounts, PARKED_BYTES, PARKED_KEPT,
    ParkedMessage, ParkedView, Unannounced, pause_after,
};
pub use audit_log::AuditLog;
pub use census::Census;
pub use changes::{Became, CHANGES_BYTES, ChangeLog, ChangeRow, Changes, Moved, Note, Position, Step};
pub use followers::{Advance, Advanced, BOOKKEEPER, Begin, COURIER, Effect, FollowerName, Followers, UNREAD_KEPT};
pub use jobs::{
    CancelAnswer, Claim, ClaimAnswer, ClaimRequest, Company, Headroom, Held, JobStore, Queues, RedriveAnswer, Refusal,
    RefusedJob, RemoveAnswer, Settled, Settlement, Submitted, WaitsFor, WantedJobs, is_fragile,
};
pub use keys::{AtTheDoor, CreateKeyAnswer, KeyStore, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer};
pub use limiter::{LimitKey, Limiter, Window};
pub use output::{LiveOutput, OutputChunk, OutputLine, OutputStream};
pub use passes::{NewPass, Pass, PassHolder, PassKind, PassStore};
pub use query::{
    ATTEMPTS_KEPT, ATTEMPTS_ON_A_PAGE, ATTEMPTS_PAGE_BYTES, AttemptPage, AttemptRecord, Counted, Cursor,
    FIRST_ATTEMPTS, FailureGroup, FailureGroups, HeldView, JobFilter, JobQuery, JobSummary, JobView, Labels,
    NotACursor, Page, QueueView, SessionView, StateCounts, WaitingCounts, WaitingTask, dropped_attempts,
};
pub use schedules::{
    CreateAnswer, DeleteAnswer, DueSchedule, DueSchedules, Edit, EditAnswer, Fired, Firing, NewTick, OPEN_JOBS_AMONG,
    Overdue, ScheduleChange, ScheduleError, ScheduleHead, ScheduleStore, ScheduleView, Schedules, SeenSchedule,
    TickAct, TickReason, TickState, TickView,
};
pub use sessions::{Heartbeat, OpenJob, Pulse, SessionInfo, SessionState, SessionStore};
pub use statistics::{Bucket, Depth, Range, StatisticsStore};
pub use submit::{Submit, SubmitError};
pub use tenants::{
    CreateTenantAnswer, DeleteTenantAnswer, NewTenant, TenantPage, TenantStore, TenantUpdate, UpdateTenantAnswer,
};
pub use transport::{Announcement, Arrival, Feed, Offer, PublishError, Publisher};
pub use upkeep::{
    DONE_IS_NOTED_EVERY, Due, Leader, PruneKind, PruneStep, Pruned, Retention, USE_IS_NOTED_EVERY, Upkeep,
};
pub use wakeups::{RungTopics, Topic, Wakeups};
pub use webhooks::{
    CreateWebhookAnswer, Delivery, DeliveryNote, Endpoints, NewDelivery, NewWebhook, UpdateWebhookAnswer, WebhookStore,
    WebhookUpdate, Went,
};

/// Why a store did not answer, split by what the caller would do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Try again later: locked, busy, away. Whether a write took place is unknown.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// The store failed inside. The same call may succeed later; or never, where one of its items is what it fails over.
    #[error("the store failed inside: {0}")]
    Internal(String),
    /// Nothing was written. An operator makes room; then the same call works.
    #[error("the store has no space left: {0}")]
    Full(String),
    /// Give up and tell an operator: the data is not what it must be.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The protocol was broken: a bug to hear about, never to swallow.
    #[error("the store reported an error that must not happen: {0}")]
    Broken(String),
    /// The store has been closed; the process is on its way out.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Internal(_) | StoreError::Full(_))
    }
}

/// Everything a store does. One adapter implements the parts; the engine and the API each take what they need.
pub trait Store:
    JobStore + SessionStore + Upkeep + JobQuery + ChangeLog + Followers + ScheduleStore + StatisticsStore
{
}

impl<T: JobStore + SessionStore + Upkeep + JobQuery + ChangeLog + Followers + ScheduleStore + StatisticsStore> Store
    for T
{
}

/// Who is served and by which keys, whom they want told, and who did what.
pub trait Tenancy: TenantStore + KeyStore + PassStore + WebhookStore + AuditLog {}

impl<T: TenantStore + KeyStore + PassStore + WebhookStore + AuditLog> Tenancy for T {}
