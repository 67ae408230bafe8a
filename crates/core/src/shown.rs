//! What is kept, as the HTTP API shows it: the documents of the protocol, made of what a store answers.

mod audit;
mod live;
mod overview;
mod parked;
mod schedule;
mod statistics;
mod tenant;
mod webhook;

use crate::document::{Asked, AttemptDocument, JobDocument, ListDocument, QueueDocument, WorkerDocument};
use crate::duration::Span;
use crate::outcome::Report;
use crate::ports::{AttemptPage, AttemptRecord, JobSummary, JobView, QueueView, SessionView};
use crate::spec::JobSpec;

impl JobView {
    /// One job, with its attempts or without.
    pub fn document(self, with_attempts: bool) -> JobDocument {
        let work = &self.job.work;
        let (mut attempts, mut attempts_total, mut attempts_next) = (None, None, None);
        if with_attempts {
            let AttemptPage { records, kept } = &self.attempts;
            let dropped = if self.attempts.may_lack_some() { (self.attempt as usize).saturating_sub(*kept) } else { 0 };
            attempts_total = Some((kept + dropped) as u64);
            attempts_next = next_attempts(0, records.len(), *kept);
            attempts = Some(self.attempts.records.into_iter().map(AttemptDocument::from).collect());
        }
        JobDocument {
            id: self.job.id.to_string(),
            state: self.state,
            queue: work.queue.to_string(),
            priority: work.lane,
            attempt: self.attempt,
            max_attempts: work.max_attempts,
            spent: self.spent,
            crashes: self.crashes,
            sequence: self.sequence,
            created_at: self.job.created_at,
            run_at: self.run_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            error: self.error,
            schedule: work.occasion.as_ref().map(|occasion| occasion.schedule.clone()),
            scheduled_for: work.occasion.as_ref().map(|occasion| occasion.nominal),
            asked: Asked::from(JobSpec::from(work.as_ref())),
            attempts,
            attempts_total,
            attempts_next,
            hints: Vec::new(),
        }
    }
}

/// The cursor of the page of attempts after one of `shown` that left out the latest `skip`.
fn next_attempts(skip: usize, shown: usize, kept: usize) -> Option<String> {
    let seen = skip + shown;
    (seen < kept).then(|| seen.to_string())
}

/// A row of a list.
impl From<JobSummary> for JobDocument {
    fn from(summary: JobSummary) -> Self {
        let outline = &summary.outline;
        Self {
            id: summary.id.to_string(),
            state: summary.state,
            queue: outline.queue.to_string(),
            priority: outline.lane,
            attempt: summary.attempt,
            max_attempts: outline.max_attempts,
            spent: summary.spent,
            crashes: summary.crashes,
            sequence: summary.sequence,
            created_at: summary.created_at,
            run_at: summary.run_at,
            started_at: summary.started_at,
            finished_at: summary.finished_at,
            error: summary.error,
            schedule: outline.occasion.as_ref().map(|occasion| occasion.schedule.clone()),
            scheduled_for: outline.occasion.as_ref().map(|occasion| occasion.nominal),
            asked: Asked::from(outline),
            attempts: None,
            attempts_total: None,
            attempts_next: None,
            hints: Vec::new(),
        }
    }
}

impl AttemptPage {
    /// A page of attempts, the latest first, after the latest `skip`.
    pub fn document(self, skip: usize) -> ListDocument<AttemptDocument> {
        let next = next_attempts(skip, self.records.len(), self.kept);
        ListDocument { items: self.records.into_iter().rev().map(AttemptDocument::from).collect(), next }
    }
}

impl From<AttemptRecord> for AttemptDocument {
    fn from(attempt: AttemptRecord) -> Self {
        let Report { error, duration_ms, response, output } = attempt.report;
        Self {
            number: attempt.number,
            started_at: attempt.started_at,
            finished_at: attempt.finished_at,
            outcome: attempt.outcome,
            worker: attempt.worker,
            fence: attempt.fence.map(|fence| fence.0),
            error,
            duration_ms,
            response,
            output,
        }
    }
}

impl From<QueueView> for QueueDocument {
    fn from(view: QueueView) -> Self {
        Self {
            name: view.queue.to_string(),
            paused: view.is_paused,
            scheduled: view.waiting.scheduled,
            pending: view.waiting.pending,
            retrying: view.waiting.retrying,
            running: view.running,
            oldest_age: view.oldest_wait.map(Span),
            rate: view.finished_last_minute as f64 / 60.0,
        }
    }
}

impl From<SessionView> for WorkerDocument {
    fn from(view: SessionView) -> Self {
        Self {
            id: view.id.to_string(),
            worker: view.worker,
            pid: view.pid,
            version: view.version,
            state: view.state,
            slots: view.slots,
            running: view.running,
            queues: view.queues,
            tasks: view.tasks,
            started_at: view.started_at,
            heartbeat_at: view.renewed_at,
        }
    }
}
