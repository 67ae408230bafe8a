//! From the text of a claim to its answer.

use foreman_core::ports::{Claim, ClaimAnswer, Held, StoreError};
use foreman_core::storage::{Counters, StoredReport};
use foreman_core::{Fence, JobId, State};
use tracing::error;

use super::RawClaim;
use crate::SqliteStore;
use crate::claim_info;
use crate::error::Fault;
use crate::places::{self, EndRecord};
use crate::write::Write;

/// Reads the jobs of a claim, on the caller's side. One whose work cannot be read is put aside as dead: handed out it could
/// not be run, and left in line it would stop every claim after this one. If that cannot be written right now, the others are
/// answered all the same: the claim is committed, and the worker hands back what is held and was not answered.
pub(in crate::jobs) async fn answer(store: &SqliteStore, taken: RawClaim) -> Result<ClaimAnswer, StoreError> {
    let (fence, written, fragile_waiting, refused) = match taken {
        RawClaim::SessionGone => return Ok(ClaimAnswer::SessionGone),
        RawClaim::Nothing { fragile_waiting, refused, .. } => {
            return Ok(ClaimAnswer::Nothing { fragile_waiting, refused });
        }
        RawClaim::Claimed { fence, jobs, fragile_waiting, refused } => (fence, jobs, fragile_waiting, refused),
    };
    let mut jobs = Vec::with_capacity(written.len());
    let mut job_rows = Vec::with_capacity(written.len());
    for (text, job_row) in written {
        let (id, Counters { attempt, spent, crashes, .. }) = (text.id, job_row.counters);
        job_rows.push(job_row);
        match text.read() {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is marked dead: {fault}");
                let error = format!("what was asked cannot be read: {fault}");
                if let Err(error) = store.write(move |write| put_aside(write, fence, id, &error)).await {
                    error!(job.id = %id, "could not mark job {id} dead: {error}");
                }
            }
        }
    }
    store.parts.claimed.keep(fence, job_rows);
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting, refused });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting, has_more: false, refused }))
}

fn put_aside(write: &Write<'_>, fence: Fence, id: JobId, error: &str) -> Result<(), Fault> {
    let Some(held) = places::held(write, id)?.filter(|held| held.claim == fence) else { return Ok(()) };
    let claim_info = claim_info::of_claim(write, fence)?;
    let report = StoredReport::of_end(error)?;
    places::leave_held(write, id)?;
    places::drop_claim_if_empty(write, fence)?;
    let end = EndRecord { claim_info: Some(&claim_info), is_settled: false, report: &report };
    places::finish(write, &held.job_row, State::Dead, &end)
}
