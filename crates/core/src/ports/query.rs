//! Questions that change nothing.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::census::Census;
use super::sessions::SessionState;
use crate::error_group::ErrorGroup;
use crate::id::{Fence, JobId, SessionId, TenantId};
use crate::job::{Job, QueueName};
use crate::outcome::{AttemptOutcome, Report};
use crate::outline::{Outline, listed_error};
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
pub trait JobQuery: Send + Sync {
    /// Can the store be written and read right now?
    async fn ping(&self) -> Result<(), StoreError>;

    /// One job with its latest attempts: the first page of [`Self::attempts`].
    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError>;

    /// Of these jobs, whosever they are, those that have ended with the only attempt that is kept of them, each as [`Self::get`]
    /// would answer it, in any order. A store may leave out any of them, as it does where much was asked or said: the rest is to
    /// be asked for one by one.
    async fn ended_at_once(&self, _jobs: &[JobId]) -> Result<Vec<JobView>, StoreError> {
        Ok(Vec::new())
    }

    /// A page of a job's attempts, without the latest `skip`: at most [`ATTEMPTS_ON_A_PAGE`], and no further one once
    /// their reports have [`ATTEMPTS_PAGE_BYTES`].
    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError>;

    /// A page of jobs without their content and their attempts, neither of which is read. Newest first: by creation, or, when one
    /// final state is asked for, by the time they reached it. Jobs of internal queues are left out unless
    /// the filter names their queue, here and in counts.
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError>;

    /// How many jobs match.
    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError>;

    /// How many of a tenant's jobs wait (scheduled, pending or retrying), counted no further than `enough`.
    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError>;

    /// How many queues of a tenant have waiting jobs, counted no further than `enough`.
    async fn waiting_queues(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError>;

    /// Those of these queues in which jobs of the tenant wait, each once, in any order.
    async fn waiting_in(&self, tenant: &TenantId, queues: &[QueueName]) -> Result<Vec<QueueName>, StoreError>;

    /// How many jobs of each tenant are held right now, counted from the claims themselves; those with none are left out.
    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError>;

    /// How many slots all sessions that are alive have together: no more jobs than that are held.
    async fn fleet_slots(&self) -> Result<u64, StoreError>;

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError>;

    /// Sessions alive, and those that ended or died within the retention; the living first, then the newest.
    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError>;

    /// How many jobs of a tenant are in each state, counted no further than `enough` each: no look at the whole history. Jobs
    /// of internal queues are not counted.
    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError>;

    /// How many of a tenant's jobs reached this final state at that time or later and are still in it, counted no further than
    /// `enough`. Jobs of internal queues are not counted.
    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<Counted, StoreError>;

    /// The tasks that a tenant's due jobs wait for, those with most jobs first, at most `limit`. Of what waits no more
    /// than `enough` is looked at: with more there are at least so many.
    async fn waiting_tasks(&self, tenant: &TenantId, limit: usize, enough: u64)
    -> Result<Vec<WaitingTask>, StoreError>;

    /// A tenant's jobs that ended in one of these [`State::FAILURES`], by state and error: at most `limit` groups, each
    /// counted no further than `enough`; the largest first. Jobs of internal queues are left out. Where a state has
    /// more groups than a store looks at, those that are frequent among its latest jobs are included for certain.
    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError>;

    /// What a session holds right now, whosever it is; the longest held first, at most `limit`.
    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError>;

    /// What people call these jobs; of whatever tenant. Those that are gone are left out.
    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError>;

    /// Proves that every job is in exactly one place, by looking at all of them.
    async fn census(&self) -> Result<Census, StoreError>;
}

/// A job and where it stands.
#[derive(Clone, Debug)]
pub struct JobView {
    pub job: Job,
    pub state: State,
    pub attempt: u32,
    pub spent: u32,
    pub crashes: u32,
    /// How often it has moved: [`super::Step::sequence`] of its latest move.
    pub sequence: u32,
    /// When it may run, or was allowed to run, next.
    pub run_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Why the latest attempt did not complete; cut like that of a [`JobSummary`].
    pub error: Option<String>,
    pub attempts: AttemptPage,
}

/// A job as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSummary {
    pub id: JobId,
    pub outline: Outline,
    pub created_at: Timestamp,
    pub state: State,
    pub attempt: u32,
    pub spent: u32,
    pub crashes: u32,
    pub sequence: u32,
    pub run_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// At most 1,000 characters of it.
    pub error: Option<String>,
}

impl From<JobView> for JobSummary {
    fn from(view: JobView) -> Self {
        let JobView { job, state, attempt, spent, crashes, sequence, run_at, started_at, finished_at, error, .. } =
            view;
        let (id, outline, created_at) = (job.id, Outline::from(job.work.as_ref()), job.created_at);
        let error = listed_error(error.as_deref());
        Self {
            id,
            outline,
            created_at,
            state,
            attempt,
            spent,
            crashes,
            sequence,
            run_at,
            started_at,
            finished_at,
            error,
        }
    }
}

/// Attempts, in the order in which they happened; the one under way comes last, without an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptPage {
    pub records: Vec<AttemptRecord>,
    /// How many are kept of the job, on this page and others.
    pub kept: usize,
}

impl AttemptPage {
    /// The page of `all` attempts, in their order, that a store answers.
    pub fn of(all: impl DoubleEndedIterator<Item = AttemptRecord> + ExactSizeIterator, skip: usize) -> Self {
        let kept = all.len();
        let mut latest = all.rev().skip(skip).take(ATTEMPTS_ON_A_PAGE);
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < ATTEMPTS_PAGE_BYTES
            && let Some(record) = latest.next()
        {
            bytes += record.report.size();
            records.push(record);
        }
        records.reverse();
        Self { records, kept }
    }

    /// Some between the first and the latest may have been dropped.
    pub fn may_lack_some(&self) -> bool {
        self.kept + 1 >= ATTEMPTS_KEPT
    }
}

/// Which of a job's `count` attempts, apart from the last that ended or runs, are dropped.
pub fn dropped_attempts(count: usize) -> std::ops::Range<usize> {
    let first = FIRST_ATTEMPTS.min(count);
    first..first + count.saturating_sub(ATTEMPTS_KEPT - 1)
}

pub const ATTEMPTS_ON_A_PAGE: usize = 25;
pub const ATTEMPTS_PAGE_BYTES: usize = 1024 * 1024;
/// Of a job's attempts, the first [`FIRST_ATTEMPTS`] are kept and as many of the latest as make this many. Those in between are
/// dropped when a further one is recorded; the job's `attempt` goes on counting them.
pub const ATTEMPTS_KEPT: usize = 200;
pub const FIRST_ATTEMPTS: usize = 20;

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
    /// Final jobs that ended with an error of this group.
    pub error_group: Option<ErrorGroup>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
}

impl JobFilter {
    /// Whether no job of an internal queue matches. Foreman's own jobs, the deliveries of webhooks, are listed, counted and
    /// changed in bulk only where their queue is named.
    pub fn leaves_out_internal(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| !queue.is_internal())
    }

    /// Whether a job of this queue may match.
    pub fn takes_queue(&self, queue: &QueueName) -> bool {
        match &self.queue {
            Some(named) => named == queue,
            None => !queue.is_internal(),
        }
    }
}

/// Where a page ended, in its own order: the sort time (0 when the order is by id alone) and the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub at: Timestamp,
    pub id: JobId,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: use `next` of the previous page, unchanged")]
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

impl WaitingCounts {
    pub fn total(&self) -> u64 {
        self.scheduled + self.pending + self.retrying
    }
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
    /// The tasks that it has handlers for; `None`: it is of a version that did not say.
    pub tasks: Option<Vec<String>>,
    pub running: u64,
    pub started_at: Timestamp,
    pub renewed_at: Timestamp,
}

impl SessionView {
    /// Whether it would take a job with this task in this queue; true where that is not known.
    pub fn may_run(&self, task: &str, queue: &str) -> bool {
        self.state == SessionState::Live
            && self.tasks.as_ref().is_none_or(|tasks| tasks.iter().any(|each| each == task))
            && (self.queues.is_empty() || self.queues.iter().any(|each| each == queue))
    }
}

/// Due jobs of one queue that wait for a worker with a handler for their task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTask {
    pub task: String,
    pub queue: QueueName,
    pub counted: Counted,
}

/// A number that may have been counted only so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub count: u64,
    /// There are at least so many.
    pub is_estimate: bool,
}

impl Counted {
    /// What was counted with at most `enough + 1` rows looked at.
    pub fn up_to(count: u64, enough: u64) -> Self {
        Self { count: count.min(enough), is_estimate: count > enough }
    }
}

/// One for each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts([Counted; State::ALL.len()]);

impl StateCounts {
    pub fn get(&self, state: State) -> Counted {
        State::ALL.iter().zip(self.0).find(|(each, _)| **each == state).map(|(_, counted)| counted).unwrap_or_default()
    }

    pub fn set(&mut self, state: State, counted: Counted) {
        if let Some(place) = State::ALL.iter().position(|each| *each == state) {
            self.0[place] = counted;
        }
    }
}

/// The errors that jobs failed or died of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureGroups {
    pub groups: Vec<FailureGroup>,
    /// No group was left out: there were no more than `limit`, and the store looked at every one.
    pub is_complete: bool,
}

impl FailureGroups {
    /// The largest of these, and of two that are as large the later. `saw_all`: there are no others.
    pub fn largest(mut groups: Vec<FailureGroup>, limit: usize, saw_all: bool) -> Self {
        let is_complete = saw_all && groups.len() <= limit;
        groups.sort_by_key(|group| std::cmp::Reverse((group.counted.count, group.last_at)));
        groups.truncate(limit);
        Self { groups, is_complete }
    }
}

/// Jobs that ended in the same state with the same error, but for its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// One of [`State::FAILURES`].
    pub state: State,
    /// `None`: they ended before errors were grouped.
    pub group: Option<ErrorGroup>,
    pub counted: Counted,
    /// When the first and the last of them ended.
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// The last of them, and what it said.
    pub sample: JobId,
    pub error: Option<String>,
    pub queue: QueueName,
    pub kind: Option<String>,
}

/// A job as it is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldView {
    pub job: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub kind: Option<String>,
    pub attempt: u32,
    pub started_at: Timestamp,
}

/// What never changes about a job and people filter by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub job: JobId,
    pub kind: Option<String>,
    pub tags: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_internal_queues_match_only_where_their_queue_is_named() {
        let queue = |name: &str| name.parse::<QueueName>().expect("a queue's name");
        let open = JobFilter::default();
        let named = |name| JobFilter { queue: Some(queue(name)), ..JobFilter::default() };
        for name in ["default", "foreman", "foreman-2", "my.foreman.webhooks", "Foreman.x"] {
            assert!(open.takes_queue(&queue(name)) && !queue(name).is_internal(), "{name}");
        }
        for name in ["foreman.webhooks", "foreman.x"] {
            assert!(!open.takes_queue(&queue(name)), "{name}");
            assert!(named(name).takes_queue(&queue(name)) && !named("default").takes_queue(&queue(name)), "{name}");
        }
    }

    #[test]
    fn a_session_runs_the_tasks_it_knows_in_the_queues_it_serves() {
        let session = SessionView {
            id: SessionId::fresh(),
            worker: "w".into(),
            pid: 1,
            version: "0".into(),
            state: SessionState::Live,
            slots: 1,
            queues: vec!["mail".into()],
            tasks: Some(vec!["send".into()]),
            running: 0,
            started_at: Timestamp::default(),
            renewed_at: Timestamp::default(),
        };
        assert!(session.may_run("send", "mail"));
        assert!(!session.may_run("other", "mail") && !session.may_run("send", "video"));
        assert!(SessionView { queues: Vec::new(), ..session.clone() }.may_run("send", "video"), "none named: all");
        assert!(SessionView { tasks: None, ..session.clone() }.may_run("other", "mail"), "not known");
        assert!(!SessionView { state: SessionState::Draining, ..session }.may_run("send", "mail"));
    }

    #[test]
    fn a_cursor_survives_text_and_nothing_else_is_one() {
        let cursor = Cursor { at: Timestamp::from_micros(1_763_200_000_123_456), id: JobId::fresh() };
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        for text in ["", "-", "12", "zz-00", "1-nonsense", "1-2-3"] {
            assert_eq!(Cursor::decode(text), Err(NotACursor), "{text}");
        }
    }
}
