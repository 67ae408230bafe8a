//! Recording how attempts ended.
//!
//! An attempt is recorded only while its job is still open in that claim of that session. Where it is not, its own earlier
//! record, with the mark that the attempt itself made it, tells a settlement sent again from a zombie's.

use std::collections::HashMap;

use foreman_core::ports::{Settled, Settlement, StoreError};
use foreman_core::storage::{Counters, StoredReport};
use foreman_core::{Fence, JobId, SessionId, Verdict};
use rusqlite::OptionalExtension;

use super::claimed::ClaimedRows;
use crate::claim_info;
use crate::error::Fault;
use crate::order::KeyAssignments;
use crate::places::{self, EndRecord};
use crate::rows::{ClaimInfo, JobRow};
use crate::write::Write;

/// A settlement with its report as it is kept.
pub(super) struct PreparedSettlement {
    fence: Fence,
    job: JobId,
    verdict: Verdict,
    report: StoredReport,
    /// What was taken under that claim, if this process still knows.
    claimed: Option<JobRow>,
}

pub(super) fn prepare(
    settlements: &[Settlement],
    claimed: &ClaimedRows,
) -> Result<Vec<PreparedSettlement>, StoreError> {
    let reports =
        settlements.iter().map(|one| StoredReport::of(one.job, &one.verdict)).collect::<Result<Vec<_>, _>>()?;
    let claimed = claimed.take(settlements.iter().map(|one| (one.fence, one.job)));
    let prepare = |((settlement, report), claimed): ((&Settlement, _), _)| {
        let Settlement { fence, job, verdict } = settlement;
        PreparedSettlement { fence: *fence, job: *job, verdict: verdict.clone(), report, claimed }
    };
    Ok(settlements.iter().zip(reports).zip(claimed).map(prepare).collect())
}

pub(super) fn settle(
    write: &Write<'_>,
    session: SessionId,
    settlements: Vec<PreparedSettlement>,
) -> Result<Vec<Settled>, Fault> {
    let mut settling = Settling { write, order: KeyAssignments::new(write.sql), session, claim_infos: HashMap::new() };
    let answers = settlements.into_iter().map(|one| settling.settle(one)).collect::<Result<_, _>>()?;
    settling.order.keep(write)?;
    for claim in settling.claim_infos.keys() {
        places::drop_claim_if_empty(write, *claim)?;
    }
    Ok(answers)
}

struct Settling<'w, 'c> {
    write: &'w Write<'c>,
    order: KeyAssignments<'c>,
    session: SessionId,
    /// The claims named so far, `None` where the session has no such claim.
    claim_infos: HashMap<Fence, Option<ClaimInfo>>,
}

impl Settling<'_, '_> {
    fn settle(&mut self, settlement: PreparedSettlement) -> Result<Settled, Fault> {
        let PreparedSettlement { fence, job, verdict, report, claimed } = settlement;
        self.learn(fence)?;
        let Some(Some(claim_info)) = self.claim_infos.get(&fence) else { return self.refused(fence, job) };
        let Some(job_row) = self.leave(fence, job, claimed)? else { return self.refused(fence, job) };
        let end = EndRecord { claim_info: Some(claim_info), is_settled: true, report: &report };
        close(self.write, &mut self.order, job_row, &verdict, &end)?;
        Ok(Settled::Now)
    }

    /// Takes the job out of its claim, if it is open there.
    fn leave(&self, fence: Fence, job: JobId, claimed: Option<JobRow>) -> Result<Option<JobRow>, Fault> {
        let job_row = match claimed {
            Some(job_row) => job_row,
            None => match places::held(self.write, job)?.filter(|held| held.claim == fence) {
                Some(held) => held.job_row,
                None => return Ok(None),
            },
        };
        Ok(places::leave_claim(self.write, job, fence)?.then_some(job_row))
    }

    fn learn(&mut self, fence: Fence) -> Result<(), Fault> {
        if !self.claim_infos.contains_key(&fence) {
            let claim_info =
                claim_info::find(self.write, fence)?.filter(|claim_info| claim_info.session == self.session);
            self.claim_infos.insert(fence, claim_info);
        }
        Ok(())
    }

    /// Has this very attempt left its record before?
    fn refused(&self, fence: Fence, job: JobId) -> Result<Settled, Fault> {
        let recorded = self
            .write
            .prepared(
                "SELECT 1 FROM outcomes WHERE job = ?1 AND claim = ?2 AND session = ?3 AND settled = 1
                 UNION ALL
                 SELECT 1 FROM attempts WHERE job = ?1 AND claim = ?2 AND session = ?3 AND settled = 1",
            )?
            .query_row((job.0, fence.0, self.session.0), |_| Ok(()))
            .optional()?;
        Ok(if recorded.is_some() { Settled::Before } else { Settled::Fenced })
    }
}

/// Takes a job that has just left `held` to where the verdict sends it.
pub(crate) fn close(
    write: &Write<'_>,
    order: &mut KeyAssignments<'_>,
    mut job_row: JobRow,
    verdict: &Verdict,
    end: &EndRecord<'_>,
) -> Result<(), Fault> {
    if let Some(state) = verdict.final_state() {
        return places::finish(write, &job_row, state, end);
    }
    places::record_attempt(write, &job_row, verdict.name(), end)?;
    if let Verdict::Retry { delay, .. } = verdict {
        job_row.run_at = write.now.plus(*delay);
        places::put_back(write, order, &job_row, end.took(write.now))
    } else {
        let Counters { spent, .. } = &mut job_row.counters;
        *spent = spent.saturating_sub(1);
        places::put_in_front(write, order, &job_row, end.took(write.now))
    }
}
