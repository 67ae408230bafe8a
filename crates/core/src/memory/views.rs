//! One job as it stands, and the proof that all of them stand somewhere.

use std::collections::HashMap;

use super::places::{AttemptRow, ClaimMember, Places};
use crate::id::{JobId, TenantId};
use crate::outcome::{AttemptOutcome, Report};
use crate::outline::listed_error;
use crate::ports::{AttemptPage, AttemptRecord, Census, JobView, dropped_attempts};
use crate::state::State;
use crate::storage::{Counters, JobStatus};
use crate::time::Timestamp;

const MAX_VIOLATIONS: usize = 100;

impl Places {
    pub fn get(&self, tenant: &TenantId, id: JobId, now: Timestamp) -> Option<JobView> {
        self.owned(tenant, id)?;
        let mut view = self.view(id, now);
        view.attempts = self.attempt_page(id, 0);
        Some(view)
    }

    /// A job that has ended with the only attempt that is kept of it.
    pub fn ended_at_once(&self, id: JobId, now: Timestamp) -> Option<JobView> {
        self.outcomes.get(&id)?;
        let attempts = self.attempt_page(id, 0);
        (attempts.kept == 1).then(|| JobView { attempts, ..self.view(id, now) })
    }

    pub fn attempts_of(&self, tenant: &TenantId, id: JobId, skip: usize) -> Option<AttemptPage> {
        self.owned(tenant, id)?;
        Some(self.attempt_page(id, skip))
    }

    fn attempt_page(&self, id: JobId, skip: usize) -> AttemptPage {
        AttemptPage::of(self.records(id).into_iter(), skip)
    }

    /// Records one more, and drops what is too many.
    pub fn record_attempt(&mut self, id: JobId, row: AttemptRow) {
        let rows = self.attempts.entry(id).or_default();
        rows.push(row);
        rows.drain(dropped_attempts(rows.len()));
    }

    pub fn view(&self, id: JobId, now: Timestamp) -> JobView {
        let job = self.job(id);
        let last_error = || {
            listed_error(
                self.attempts.get(&id).and_then(|rows| rows.last()).and_then(|row| row.report.error.as_deref()),
            )
        };
        let status = if let Some(outcome) = self.outcomes.get(&id) {
            JobStatus {
                state: outcome.state,
                run_at: outcome.run_at,
                started_at: outcome.attempt.as_ref().and_then(|attempt| attempt.started_at),
                finished_at: Some(outcome.finished_at),
                error: listed_error(outcome.report.error.as_deref()),
                counters: outcome.counters,
            }
        } else if let Some(waiting) = self.ready.get(&id) {
            JobStatus::waiting(waiting.run_at, waiting.run_at <= now, waiting.counters, last_error())
        } else if let Some(claim) = self.holder(id).map(|fence| &self.claims[&fence]) {
            let ClaimMember { run_at, counters, .. } = claim.members[&id];
            JobStatus::running(run_at, Some(claim.claimed_at), counters, last_error())
        } else {
            JobStatus::running(job.created_at, None, Counters::default(), None)
        };
        status.view(job)
    }

    fn records(&self, id: JobId) -> Vec<AttemptRecord> {
        let mut records: Vec<AttemptRecord> =
            self.attempts.get(&id).into_iter().flatten().map(|row| self.record(row)).collect();
        if let Some(outcome) = self.outcomes.get(&id) {
            records.push(match &outcome.attempt {
                Some(row) => self.record(row),
                None => AttemptRecord {
                    number: 0,
                    fence: None,
                    worker: None,
                    started_at: None,
                    finished_at: Some(outcome.finished_at),
                    outcome: AttemptOutcome::of_final(outcome.state),
                    report: outcome.report.clone(),
                },
            });
        }
        if let Some(fence) = self.holder(id) {
            let claim = &self.claims[&fence];
            records.push(AttemptRecord {
                number: claim.members[&id].counters.attempt,
                fence: Some(fence),
                worker: self.sessions.get(&claim.session).map(|row| row.info.worker.clone()),
                started_at: Some(claim.claimed_at),
                finished_at: None,
                outcome: None,
                report: Report::default(),
            });
        }
        records
    }

    fn record(&self, row: &AttemptRow) -> AttemptRecord {
        AttemptRecord {
            number: row.number,
            fence: row.fence,
            worker: row.session.and_then(|id| self.sessions.get(&id)).map(|session| session.info.worker.clone()),
            started_at: row.started_at,
            finished_at: Some(row.finished_at),
            outcome: Some(row.outcome),
            report: row.report.clone(),
        }
    }

    pub fn census(&self) -> Census {
        let mut held: HashMap<JobId, usize> = HashMap::new();
        for claim in self.claims.values() {
            for id in &claim.open {
                *held.entry(*id).or_default() += 1;
            }
        }
        let mut violations = Vec::new();
        for id in self.jobs.keys() {
            let places = usize::from(self.ready.contains_key(id))
                + held.get(id).copied().unwrap_or_default()
                + usize::from(self.outcomes.contains_key(id));
            if places != 1 {
                violations.push(format!("job {id} is in {places} places"));
            }
        }
        for (fence, claim) in &self.claims {
            if claim.open.is_empty() {
                violations.push(format!("claim {fence} holds nothing but still exists"));
            }
            if !self.sessions.get(&claim.session).is_some_and(|row| row.state.is_alive()) {
                violations.push(format!("claim {fence} belongs to session {}, which is not alive", claim.session));
            }
        }
        for (id, rows) in &self.attempts {
            let fences: Vec<_> = rows.iter().filter_map(|row| row.fence).collect();
            let distinct: std::collections::BTreeSet<_> = fences.iter().collect();
            if distinct.len() != fences.len() {
                violations.push(format!("job {id} has two ends recorded for one attempt"));
            }
        }
        for (id, outcome) in &self.outcomes {
            if !outcome.state.is_final() {
                violations.push(format!("job {id} has the outcome {}, which is not final", outcome.state));
            }
        }
        violations.truncate(MAX_VIOLATIONS);
        Census {
            jobs: self.jobs.len() as u64,
            ready: self.ready.len() as u64,
            held: held.values().sum::<usize>() as u64,
            outcomes: self.outcomes.len() as u64,
            violations,
        }
    }

    /// The state, for lists that only filter by it.
    pub fn is_in(&self, id: JobId, state: State, now: Timestamp) -> bool {
        self.state_of(id, now) == state
    }
}
