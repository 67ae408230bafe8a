//! Removing a final job with all that is known of it.

use foreman_core::ports::RemoveAnswer;
use foreman_core::{JobId, TenantId};

use super::{is_owned, state_in};
use crate::error::Fault;
use crate::places::{self, JobPlace};
use crate::write::Write;

pub(super) fn remove(write: &Write<'_>, tenant: &TenantId, id: JobId) -> Result<Option<RemoveAnswer>, Fault> {
    if !is_owned(write, tenant, id)? {
        return Ok(None);
    }
    let place = places::find(write, id)?;
    if !matches!(place, JobPlace::Final(_)) {
        return Ok(Some(RemoveAnswer::NotFinal(state_in(write, &place))));
    }
    forget(write, id)?;
    Ok(Some(RemoveAnswer::Removed))
}

/// Everything of one final job. The pages it leaves are used again by what comes next; the file does not shrink.
pub(crate) fn forget(write: &Write<'_>, id: JobId) -> Result<(), Fault> {
    const STATEMENTS: [&str; 5] = [
        "DELETE FROM outcomes WHERE job = ?1",
        "DELETE FROM attempts WHERE job = ?1",
        "DELETE FROM job_tags WHERE job = ?1",
        // Only while the key still stands for this job: it may have been taken over since.
        "DELETE FROM idempotency WHERE job = ?1",
        "DELETE FROM jobs WHERE id = ?1",
    ];
    for statement in STATEMENTS {
        write.prepared(statement)?.execute([id.0])?;
    }
    Ok(())
}
