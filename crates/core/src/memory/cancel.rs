//! Ending a job at once, wherever it is.

use super::places::{OutcomeRow, Places};
use super::rules::Rule;
use crate::id::{JobId, TenantId};
use crate::outcome::{AttemptOutcome, Report};
use crate::ports::{CancelAnswer, Topic};
use crate::state::State;
use crate::time::Timestamp;

impl Places {
    pub fn cancel(&mut self, tenant: &TenantId, id: JobId, now: Timestamp) -> Option<CancelAnswer> {
        self.owned(tenant, id)?;
        if let Some(waiting) = self.take(id) {
            self.finish(
                id,
                OutcomeRow {
                    state: State::Cancelled,
                    finished_at: now,
                    run_at: waiting.run_at,
                    counters: waiting.counters,
                    attempt: None,
                    report: Report::default(),
                },
            );
            return Some(CancelAnswer::WasWaiting);
        }
        if let Some(fence) = self.holder(id) {
            let session = self.claims[&fence].session;
            if self.rules.has(Rule::CancelSettles) {
                let member = self.claims[&fence].members[&id];
                let attempt = self.attempt_of(fence, id, member, AttemptOutcome::Cancelled, Report::default(), now);
                self.close(fence, id);
                self.end_with(id, State::Cancelled, member.run_at, member.counters, attempt, now);
            }
            self.rung.push(Topic::Cancelled);
            return Some(CancelAnswer::WasHeld(session));
        }
        self.outcomes.get(&id).map(|outcome| CancelAnswer::AlreadyFinal(outcome.state))
    }
}
