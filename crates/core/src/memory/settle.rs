//! Recording how attempts ended.

use super::places::{AttemptRow, ClaimMember, OutcomeRow, Places};
use super::rules::Rule;
use crate::id::{Fence, JobId, SessionId};
use crate::outcome::{AttemptOutcome, Report, Verdict};
use crate::ports::{Settled, Settlement};
use crate::retry::MAX_CRASHES;
use crate::state::State;
use crate::storage::Counters;
use crate::time::Timestamp;

impl Places {
    pub fn settle(&mut self, session: SessionId, settlement: &Settlement, now: Timestamp) -> Settled {
        let Settlement { fence, job, verdict } = settlement;
        let is_mine = self
            .claims
            .get(fence)
            .is_some_and(|claim| claim.session == session || !self.rules.has(Rule::FenceChecksSession));
        if !is_mine || !self.open(*fence).contains(job) {
            let recorded = self.rules.has(Rule::SettleRemembers) && self.was_recorded(session, *fence, *job);
            return if recorded { Settled::Before } else { Settled::Fenced };
        }
        let member = self.claims[fence].members[job];
        self.close_with(*fence, *job, member, verdict, true, now);
        Settled::Now
    }

    /// This very attempt has left its record: in an outcome, or among the attempts.
    fn was_recorded(&self, session: SessionId, fence: Fence, id: JobId) -> bool {
        let is_this = |attempt: &AttemptRow| {
            attempt.is_settled && attempt.fence == Some(fence) && attempt.session == Some(session)
        };
        self.outcomes.get(&id).and_then(|outcome| outcome.attempt.as_ref()).is_some_and(is_this)
            || self.attempts.get(&id).is_some_and(|attempts| attempts.iter().any(is_this))
    }

    fn close_with(
        &mut self,
        fence: Fence,
        id: JobId,
        member: ClaimMember,
        verdict: &Verdict,
        is_settled: bool,
        now: Timestamp,
    ) {
        let report = verdict.report().cloned().unwrap_or_default();
        let mut attempt = self.attempt_of(fence, id, member, verdict.name(), report, now);
        attempt.is_settled = is_settled;
        let took = now.since(self.claims[&fence].claimed_at);
        self.close(fence, id);
        let mut counters = member.counters;
        if !self.rules.has(Rule::CountedAtClaim) && !verdict.refunds() {
            counters.spent += 1;
        }
        if let Some(state) = verdict.final_state() {
            self.end_with(id, state, member.run_at, counters, attempt, now);
        } else if let Verdict::Retry { delay, .. } = verdict {
            self.record_attempt(id, attempt);
            self.put_back(id, (now.plus(*delay), member.expires_at), counters, Some(took), now);
        } else {
            self.record_attempt(id, attempt);
            self.put_in_front(id, member, self.refund(counters), took, now);
        }
    }

    fn refund(&self, mut counters: Counters) -> Counters {
        if self.rules.has(Rule::CountedAtClaim) {
            counters.spent -= 1;
        }
        if !self.rules.has(Rule::AttemptNeverFalls) {
            counters.attempt -= 1;
        }
        counters
    }

    /// Ends a job under the attempt that held it.
    pub fn end_with(
        &mut self,
        id: JobId,
        state: State,
        run_at: Timestamp,
        counters: Counters,
        attempt: AttemptRow,
        now: Timestamp,
    ) {
        let report = attempt.report.clone();
        self.finish(id, OutcomeRow { state, finished_at: now, run_at, counters, attempt: Some(attempt), report });
    }

    /// The record of an attempt that the store ends; [`Places::settle`] marks one that ended itself.
    pub fn attempt_of(
        &self,
        fence: Fence,
        id: JobId,
        member: ClaimMember,
        outcome: AttemptOutcome,
        report: Report,
        now: Timestamp,
    ) -> AttemptRow {
        debug_assert!(self.claims[&fence].members.contains_key(&id));
        let claim = &self.claims[&fence];
        AttemptRow {
            fence: Some(fence),
            session: Some(claim.session),
            number: member.counters.attempt,
            started_at: Some(claim.claimed_at),
            finished_at: now,
            outcome,
            report,
            is_settled: false,
        }
    }

    /// Hands every open job of a claim back, refunded, to the front of the line.
    pub fn release(&mut self, fence: Fence, now: Timestamp) -> usize {
        let open = self.open(fence);
        for id in &open {
            let member = self.claims[&fence].members[id];
            self.close_with(fence, *id, member, &Verdict::Released, false, now);
        }
        self.claims.remove(&fence);
        open.len()
    }

    /// Returns every open job of a dead session's claim: a lapsed attempt, one crash more, the attempt stays spent.
    pub fn lapse_claim(&mut self, fence: Fence, now: Timestamp) -> usize {
        let open = self.open(fence);
        for id in &open {
            let member = self.claims[&fence].members[id];
            let mut counters = member.counters;
            counters.crashes += 1;
            let error = match self.fate(*id, counters) {
                Some(error) => error,
                None => "the worker died or lost the store".into(),
            };
            let dies = self.fate(*id, counters).is_some();
            let outcome = if dies { AttemptOutcome::Dead } else { AttemptOutcome::Lapsed };
            let attempt = self.attempt_of(fence, *id, member, outcome, Report::error(error), now);
            let took = now.since(self.claims[&fence].claimed_at);
            self.close(fence, *id);
            if dies {
                self.end_with(*id, State::Dead, member.run_at, counters, attempt, now);
            } else {
                self.record_attempt(*id, attempt);
                self.put_in_front(*id, member, counters, took, now);
            }
        }
        self.claims.remove(&fence);
        open.len()
    }

    /// Why a job whose worker just died is given up, if it is.
    fn fate(&self, id: JobId, counters: Counters) -> Option<String> {
        if counters.crashes >= MAX_CRASHES {
            Some(format!("poison: the worker died {} times while it ran this job", counters.crashes))
        } else if counters.spent >= self.job(id).work.max_attempts {
            Some("the worker died or lost the store, and no attempt is left".into())
        } else {
            None
        }
    }
}
