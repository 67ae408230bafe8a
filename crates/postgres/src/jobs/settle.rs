//! Recording how attempts ended.
//!
//! An attempt is recorded only while its job's bit is set in that claim of that session, read under the claim's lock
//! (`sql/leave/settle.sql`). Where it is not, its own earlier record, with the mark that the attempt itself made it, tells a
//! settlement sent again from a zombie's: that is asked in a following statement, which sees whatever the lock was held for.

use std::collections::{HashMap, HashSet};

use foreman_core::ports::{Settled, Settlement, StoreError};
use foreman_core::storage::StoredReport;
use foreman_core::{Fence, JobId, SessionId, State, Verdict};
use uuid::Uuid;

use crate::error::Fault;
use crate::places::{self, SETTLE, SETTLE_FINAL};
use crate::value::{Arg, Interval};
use crate::write::Transaction;

/// Which of these attempts have left their own record before.
pub(crate) const RECORDED: &str = "SELECT asked.claim, asked.job
    FROM unnest($2::bigint[], $3::uuid[]) AS asked (claim, job)
    WHERE EXISTS (SELECT FROM outcomes WHERE outcomes.job = asked.job AND outcomes.job = ANY ($3) AND outcomes.claim = asked.claim
                  AND outcomes.session = $1::uuid AND outcomes.settled)
       OR EXISTS (SELECT FROM attempts WHERE attempts.job = asked.job AND attempts.claim = asked.claim
                  AND attempts.session = $1 AND attempts.settled)";

/// Settlements as their statement wants them, each attempt once.
#[derive(Default)]
pub(crate) struct SettlementBatch {
    /// Every settlement, in the order given.
    asked: Vec<(Fence, JobId)>,
    claims: Vec<i64>,
    jobs: Vec<Uuid>,
    states: Vec<Option<&'static str>>,
    outcomes: Vec<&'static str>,
    delays: Vec<Option<Interval>>,
    refunds: Vec<bool>,
    reports: Vec<String>,
    /// Of the errors that jobs ended with; empty while there is none, which spares the statement a column.
    error_groups: Vec<Option<String>>,
}

impl SettlementBatch {
    pub fn new(settlements: &[Settlement]) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        let mut seen = HashSet::new();
        for settlement in settlements {
            let attempt = (settlement.fence, settlement.job);
            batch.asked.push(attempt);
            if seen.insert(attempt) {
                batch.push(settlement)?;
            }
        }
        Ok(batch)
    }

    /// Where each job ended, if all of them did.
    fn final_states(&self) -> Option<Vec<&'static str>> {
        if self.claims.is_empty() || self.refunds.contains(&true) {
            return None;
        }
        self.states.iter().copied().collect()
    }

    fn push(&mut self, settlement: &Settlement) -> Result<(), StoreError> {
        let Settlement { fence, job, verdict } = settlement;
        let StoredReport { json, group } = StoredReport::of(*job, verdict)?;
        self.claims.push(fence.0);
        self.jobs.push(job.0);
        self.states.push(verdict.final_state().map(State::as_str));
        self.outcomes.push(verdict.name().as_str());
        self.delays.push(match verdict {
            Verdict::Retry { delay, .. } => Some(Interval(*delay)),
            _ => None,
        });
        self.refunds.push(verdict.refunds());
        self.reports.push(json);
        if let Some(group) = group {
            self.error_groups.resize(self.jobs.len(), None);
            self.error_groups[self.jobs.len() - 1] = Some(group.into());
        }
        Ok(())
    }
}

/// The same where every attempt ended its job and none is given back: nothing returns to the line.
async fn record_final(
    tx: &Transaction,
    session: SessionId,
    batch: &SettlementBatch,
    states: &Vec<&'static str>,
) -> Result<Vec<(Fence, JobId)>, Fault> {
    let mut numbers = batch.claims.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let args: [&dyn Arg; 7] =
        [&session.0, &batch.claims, &batch.jobs, states, &batch.reports, &numbers, &batch.error_groups];
    let ended = places::finish(tx, SETTLE_FINAL, &args).await?;
    ended
        .iter()
        .map(|one| match batch.claims.get(one.place) {
            Some(claim) => Ok((Fence(*claim), one.job)),
            None => Err(StoreError::Broken("a settlement was answered that was not asked for".into()).into()),
        })
        .collect()
}

pub(super) async fn settle(
    tx: &Transaction,
    session: SessionId,
    batch: &SettlementBatch,
) -> Result<Vec<Settled>, Fault> {
    let now = match batch.final_states() {
        Some(states) => record_final(tx, session, batch, &states).await?,
        None => record(tx, session, batch, true).await?,
    };
    let mut answers: HashMap<(Fence, JobId), Settled> = now.into_iter().map(|one| (one, Settled::Now)).collect();
    let attempts = || batch.asked.iter().filter(|attempt| !answers.contains_key(*attempt));
    let claims: Vec<i64> = attempts().map(|(claim, _)| claim.0).collect();
    let jobs: Vec<Uuid> = attempts().map(|(_, job)| job.0).collect();
    if !claims.is_empty() {
        for row in tx.rows_by_id(RECORDED, &[&session.0, &claims, &jobs]).await? {
            answers.insert((Fence(row.try_get(0)?), JobId(row.try_get(1)?)), Settled::Before);
        }
    }
    Ok(batch.asked.iter().map(|attempt| answer(&mut answers, *attempt)).collect())
}

/// An attempt named twice was recorded by its first mention.
fn answer(answers: &mut HashMap<(Fence, JobId), Settled>, attempt: (Fence, JobId)) -> Settled {
    match answers.get(&attempt) {
        Some(Settled::Now) => {
            answers.insert(attempt, Settled::Before);
            Settled::Now
        }
        Some(before) => *before,
        None => Settled::Fenced,
    }
}

/// Closes what is still open, and says what that was.
pub(crate) async fn record(
    tx: &Transaction,
    session: SessionId,
    batch: &SettlementBatch,
    by_the_attempts: bool,
) -> Result<Vec<(Fence, JobId)>, Fault> {
    if batch.claims.is_empty() {
        return Ok(Vec::new());
    }
    let args: [&dyn Arg; 10] = [
        &session.0,
        &batch.claims,
        &batch.jobs,
        &batch.states,
        &batch.outcomes,
        &batch.delays,
        &batch.refunds,
        &batch.reports,
        &by_the_attempts,
        &batch.error_groups,
    ];
    let closed = places::leave(tx, SETTLE, &args).await?;
    Ok(closed.into_iter().map(|closed| (closed.claim, closed.job)).collect())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[RECORDED];
