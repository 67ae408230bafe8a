//! Ending a job at once, wherever it is.
//!
//! One writer makes every move, so one look finds the job. A held one is closed in its claim and its outcome written under
//! the claim's number; what its worker reports later finds nothing open and is refused.

use foreman_core::ports::{CancelAnswer, Topic};
use foreman_core::storage::StoredReport;
use foreman_core::{JobId, State, TenantId};

use super::is_owned;
use crate::claim_info;
use crate::error::Fault;
use crate::places::{self, EndRecord, JobPlace};
use crate::write::Write;

pub(super) fn cancel(write: &Write<'_>, tenant: &TenantId, id: JobId) -> Result<Option<CancelAnswer>, Fault> {
    if !is_owned(write, tenant, id)? {
        return Ok(None);
    }
    Ok(Some(match places::find(write, id)? {
        JobPlace::Ready(waiting) => {
            places::leave_ready(write, id)?;
            let end = EndRecord { claim_info: None, is_settled: false, report: &StoredReport::empty() };
            places::finish(write, &waiting.job_row, State::Cancelled, &end)?;
            CancelAnswer::WasWaiting
        }
        JobPlace::Held(held) => {
            let claim_info = claim_info::of_claim(write, held.claim)?;
            places::leave_held(write, id)?;
            places::drop_claim_if_empty(write, held.claim)?;
            let end = EndRecord { claim_info: Some(&claim_info), is_settled: false, report: &StoredReport::empty() };
            places::finish(write, &held.job_row, State::Cancelled, &end)?;
            write.ring(Topic::Cancelled);
            CancelAnswer::WasHeld(claim_info.session)
        }
        JobPlace::Final(state) => CancelAnswer::AlreadyFinal(state),
    }))
}
