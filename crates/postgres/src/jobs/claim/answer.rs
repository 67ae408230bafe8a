//! The jobs of a claim, read and handed out.

use foreman_core::ports::{Claim, ClaimAnswer, Held, Settlement, StoreError};
use foreman_core::storage::Counters;
use foreman_core::{Job, Report, SessionId, Verdict};
use tracing::error;

use super::taken::{RawClaim, TakenJob};
use crate::error::Fault;
use crate::jobs::known_claims::ClaimedJob;
use crate::jobs::settle::{self, SettlementBatch};
use crate::{PostgresStore, transact, work};

/// Reads the jobs of a claim. One whose work cannot be read is put aside as dead: handed out it could not be run, and left in
/// line it would stop every claim after this one. If that cannot be written right now, the others are answered all the same:
/// the claim is committed, and the worker hands back what is held and was not answered.
pub(super) async fn answer(
    store: &PostgresStore,
    session: SessionId,
    taken: RawClaim,
) -> Result<ClaimAnswer, StoreError> {
    let (claim, taken, fragile_waiting, has_more, refused) = match taken {
        RawClaim::SessionGone => return Ok(ClaimAnswer::SessionGone),
        RawClaim::Nothing { fragile_waiting, refused } => {
            return Ok(ClaimAnswer::Nothing { fragile_waiting, refused });
        }
        RawClaim::Claimed { claim, jobs, fragile_waiting, has_more, refused } => {
            (claim, jobs, fragile_waiting, has_more, refused)
        }
    };
    let fence = claim.fence;
    let mut jobs = Vec::with_capacity(taken.len());
    for one in taken {
        let member = &claim.jobs[one.place];
        let (id, Counters { attempt, spent, crashes, .. }) = (member.id, member.counters);
        match job(member, one) {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is marked dead: {fault}");
                let report = Report::error(format!("what was asked cannot be read: {fault}"));
                let end = Settlement { fence, job: id, verdict: Verdict::Dead(report) };
                let (batch, parts) = (SettlementBatch::by_the_store(&end)?, &store.parts);
                let aside = transact!(store, data, Write, |tx| settle::record(&tx, session, &batch, parts).await);
                if let Err(error) = aside {
                    error!(job.id = %id, "could not mark job {id} dead: {error}");
                }
            }
        }
    }
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting, refused });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting, has_more, refused }))
}

fn job(member: &ClaimedJob, taken: TakenJob) -> Result<Job, Fault> {
    match taken.asked {
        Some((created_at, text)) => work::read(member.id, member.tenant.clone(), created_at, &text),
        None => Err(Fault::misfit("jobs", "id", member.id, "is in a place but not among the jobs")),
    }
}
