//! The verbs that move jobs.

use async_trait::async_trait;

use super::StoreError;
use super::upkeep::Leader;
use crate::id::{ClaimToken, Fence, JobId, SessionId, TenantId};
use crate::job::{Job, NewJob, QueueName};
use crate::lane::LanePlan;
use crate::outcome::Verdict;
use crate::retry::MAX_CRASHES;
use crate::state::State;
use crate::target::Route;
use crate::time::Timestamp;

#[async_trait]
pub trait JobStore: Send + Sync {
    /// Accepts jobs durably, all in one transaction; answers in the order given. Sent again with the same ids it
    /// answers [`Submitted::Accepted`] again and changes nothing. Jobs with the same idempotency key inside one slice
    /// are judged in order, as if they came one after the other.
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError>;

    /// Takes due jobs out of `ready` into one numbered claim, and counts the attempt. Takes nothing unless the session
    /// is live and accepting, and nothing of a tenant that is disabled. Sent again with the same token it answers the same claim, with what is still open in it.
    ///
    /// A claim by ids says of each job that it did not take why not. One of those that still wait loses the mark of its
    /// announcement in the same transaction, and is announced again after a pause that grows ([`pause_after`](super::pause_after)).
    /// A claim sent again says nothing of the other jobs that it named.
    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError>;

    /// Records how attempts ended, each only while its job is still open in that claim of that session. Sent again, it
    /// answers [`Settled::Before`] for what this very attempt had recorded. Answers in the order given.
    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError>;

    /// Ends jobs at once, waiting or held, in the order given; `None` for a job this tenant does not have.
    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError>;

    /// The same by a leader, for a schedule: `None`, and nothing is cancelled, when its term is over. A store that one process has
    /// for itself has no terms.
    async fn cancel_as(
        &self,
        _leader: &Leader,
        tenant: &TenantId,
        ids: &[JobId],
    ) -> Result<Option<Vec<Option<CancelAnswer>>>, StoreError> {
        self.cancel(tenant, ids).await.map(Some)
    }

    /// Returns final jobs to `ready` with their attempts counted anew: same id, the old outcome kept as an attempt.
    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError>;

    /// Removes final jobs with all that is known of them, their idempotency keys included.
    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError>;

    /// Stops a queue's jobs from being claimed; what is running goes on. `false` when it was paused already.
    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError>;

    /// Lets a queue's jobs be claimed again. `false` when it was not paused.
    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError>;
}

/// What became of one submitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// At this moment, by the store's clock: the job's `created_at`, also when it is sent again.
    Accepted(Timestamp),
    /// The idempotency key stands for this job, submitted before with the same content. Nothing was written.
    Duplicate(JobId),
    /// The idempotency key stands for a job with other content. Nothing was written.
    KeyReused(JobId),
}

impl Submitted {
    pub fn is_accepted(&self) -> bool {
        matches!(self, Submitted::Accepted(_))
    }
}

#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub session: SessionId,
    /// Made by the worker for this call; sent again only with the same call.
    pub token: ClaimToken,
    pub wanted: WantedJobs,
    pub queues: Queues,
    /// What this worker can run.
    pub routes: Vec<Route>,
    pub company: Company,
    /// Tenants that are near their limit of running jobs; those not named have room for all.
    pub rooms: Vec<Headroom>,
}

/// At most so many more of a tenant's jobs may be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    pub tenant: TenantId,
    pub jobs: u32,
}

#[derive(Clone, Debug)]
pub enum WantedJobs {
    /// In fair order, lane by lane, at most `limit` in all.
    ///
    /// Lanes are strict over all queues. Between the queues of one lane a store may look at some at a time when very many
    /// have something due (SQLite: more than 256 for one route); it then goes round, and each of them has its turn.
    ByOrder { plan: LanePlan, limit: usize },
    /// The same among those that are not announced to workers through a broker: what a broker carries is left to it.
    Unannounced { plan: LanePlan, limit: usize },
    /// These, as far as they are due, not paused and served: a delivery names its jobs.
    ByIds(Vec<JobId>),
}

impl WantedJobs {
    /// The plan and the limit of a claim that takes what comes first; none where the jobs are named.
    pub fn in_order(&self) -> Option<(&LanePlan, usize)> {
        match self {
            WantedJobs::ByOrder { plan, limit } | WantedJobs::Unannounced { plan, limit } => Some((plan, *limit)),
            WantedJobs::ByIds(_) => None,
        }
    }

    pub fn is_in_order(&self) -> bool {
        self.in_order().is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queues {
    All,
    Named(Vec<QueueName>),
}

/// Does anything else run in the session that asks?
///
/// A job whose next crash would be its last is claimed alone, with nothing beside it, so that poison takes no
/// neighbours along (simulated: 39 of 199 innocent jobs died without this rule, none with it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Other attempts are running: fragile jobs are passed over.
    Others,
    /// Nothing is running: a fragile job may be taken, and then it is the only one in its claim.
    Nobody,
}

#[derive(Debug)]
pub enum ClaimAnswer {
    Claimed(Claim),
    /// Nothing to take. `fragile_waiting`: a job that must run alone is due and was passed over for the company.
    Nothing {
        fragile_waiting: bool,
        /// As in [`Claim::refused`].
        refused: Vec<RefusedJob>,
    },
    /// The session is not live and accepting: register anew.
    SessionGone,
}

/// A batch of jobs held by a session under one number.
#[derive(Debug)]
pub struct Claim {
    pub fence: Fence,
    pub jobs: Vec<Held>,
    /// A job that must run alone is due and was passed over for the company.
    pub fragile_waiting: bool,
    /// Although less was taken than was asked for, there may be more: not everything was looked at.
    pub has_more: bool,
    /// Of a claim by ids: each job that was named and not taken, once, by ascending id.
    pub refused: Vec<RefusedJob>,
}

/// A job that a claim named and did not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedJob {
    pub job: JobId,
    pub why: Refusal,
}

/// Why a claim did not take a job that it named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is final, or there is no such job.
    Gone,
    /// An attempt holds it.
    Held,
    /// It waits, and for this. Of several reasons the first in the order of [`WaitsFor`].
    Waits(WaitsFor),
}

/// What keeps a waiting job from being claimed by the one who named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitsFor {
    /// It is not due until then.
    Time(Timestamp),
    /// Its `expires_at` has passed: upkeep is about to end it.
    Expiry,
    /// A worker that serves its queue and its route: this one does not.
    OtherWorker,
    /// Its tenant, which is disabled.
    Tenant,
    /// Its queue, which is paused.
    Queue,
    /// Room: its tenant has as many jobs running as it may.
    Room,
    /// A session in which nothing else runs: its next crash would be its last.
    Solitude,
    /// The end of another job that was named too, must run alone, and was taken.
    Neighbour,
}

impl Refusal {
    /// As metrics and logs name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Refusal::Gone => "gone",
            Refusal::Held => "held",
            Refusal::Waits(WaitsFor::Time(_)) => "not_due",
            Refusal::Waits(WaitsFor::Expiry) => "expired",
            Refusal::Waits(WaitsFor::OtherWorker) => "not_served",
            Refusal::Waits(WaitsFor::Tenant) => "tenant_disabled",
            Refusal::Waits(WaitsFor::Queue) => "queue_paused",
            Refusal::Waits(WaitsFor::Room) => "tenant_limit",
            Refusal::Waits(WaitsFor::Solitude) => "must_run_alone",
            Refusal::Waits(WaitsFor::Neighbour) => "other_runs_alone",
        }
    }
}

/// Proof that a session holds a job, taken out of a claim. Settling consumes it; a lapsed one is refused.
#[derive(Debug)]
pub struct Held {
    pub job: Job,
    pub fence: Fence,
    /// The number of this try, from 1; it rises at every claim and never falls.
    pub attempt: u32,
    /// Tries that count against `max_attempts`, this one included.
    pub spent: u32,
    pub crashes: u32,
}

impl Held {
    pub fn settle(self, verdict: Verdict) -> Settlement {
        Settlement { fence: self.fence, job: self.job.id, verdict }
    }

    /// Its next crash would be its last.
    pub fn is_fragile(&self) -> bool {
        is_fragile(self.crashes)
    }
}

/// Whether a job with so many crashes must run alone.
pub fn is_fragile(crashes: u32) -> bool {
    crashes + 1 >= MAX_CRASHES
}

/// How one attempt ended. Cloned only to be sent again under the same identity.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub fence: Fence,
    pub job: JobId,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Now,
    /// This very attempt had been recorded already: the answer to an earlier sending was lost.
    Before,
    /// The attempt no longer held the job: it lapsed, was cancelled, or never was this session's. Nothing was written.
    Fenced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It waited and is cancelled.
    WasWaiting,
    /// It was held; it is cancelled, and the worker is to be told.
    WasHeld(SessionId),
    AlreadyFinal(State),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedriveAnswer {
    Redriven,
    NotFinal(State),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveAnswer {
    Removed,
    NotFinal(State),
}
