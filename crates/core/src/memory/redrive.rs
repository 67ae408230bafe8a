//! Giving a final job another life, or none at all.

use super::places::{AttemptRow, Places};
use super::rules::Rule;
use crate::id::{JobId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::ports::{RedriveAnswer, RemoveAnswer};
use crate::state::State;
use crate::storage::Counters;
use crate::time::Timestamp;

impl Places {
    pub fn redrive(&mut self, tenant: &TenantId, id: JobId, now: Timestamp) -> Option<RedriveAnswer> {
        self.owned(tenant, id)?;
        let Some(outcome) = self.outcomes.remove(&id) else {
            return Some(RedriveAnswer::NotFinal(self.state_of(id, now)));
        };
        let record = outcome.attempt.clone().unwrap_or_else(|| AttemptRow {
            fence: None,
            session: None,
            number: 0,
            started_at: None,
            finished_at: outcome.finished_at,
            outcome: AttemptOutcome::of_final(outcome.state).expect("what was in `outcomes` is final"),
            report: outcome.report.clone(),
            is_settled: false,
        });
        self.record_attempt(id, record);
        let counters = Counters { spent: 0, crashes: 0, ..outcome.counters };
        if !self.rules.has(Rule::RedriveRemovesOutcome) {
            self.outcomes.insert(id, outcome);
        }
        let job = self.job(id);
        self.note_use(&job.tenant, &job.work.queue, now);
        // Whoever re-drives a job wants it to run: a start-by of its first life no longer holds.
        self.put_back(id, (now, None), counters, None, now);
        Some(RedriveAnswer::Redriven)
    }

    pub fn remove(&mut self, tenant: &TenantId, id: JobId, now: Timestamp) -> Option<RemoveAnswer> {
        self.owned(tenant, id)?;
        if !self.outcomes.contains_key(&id) {
            return Some(RemoveAnswer::NotFinal(self.state_of(id, now)));
        }
        self.forget(id);
        Some(RemoveAnswer::Removed)
    }

    /// Removes a final job with all that is known of it.
    pub fn forget(&mut self, id: JobId) {
        self.outcomes.remove(&id);
        self.attempts.remove(&id);
        let Some(job) = self.jobs.remove(&id) else { return };
        if let Some(key) = &job.work.idempotency_key {
            let place = (job.tenant.clone(), key.clone());
            // The key may stand for a later job by now.
            if self.keys.get(&place).is_some_and(|row| row.job == id) {
                self.keys.remove(&place);
            }
        }
    }

    pub fn state_of(&self, id: JobId, now: Timestamp) -> State {
        if let Some(outcome) = self.outcomes.get(&id) {
            outcome.state
        } else if let Some(waiting) = self.ready.get(&id) {
            State::of_waiting(waiting.run_at <= now, waiting.counters.attempt)
        } else {
            State::Running
        }
    }
}
