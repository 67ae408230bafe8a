//! Giving a final job another life: same id, attempts counted anew, the old outcome kept as an attempt.
//!
//! The delete of the outcome is the compare-and-set: a second re-drive finds none and is told where the job is.

use foreman_core::ports::RedriveAnswer;
use foreman_core::storage::Counters;
use foreman_core::{JobId, TenantId};

use super::submit::note_use;
use super::{is_owned, state_in};
use crate::error::Fault;
use crate::order::KeyAssignments;
use crate::places::{self, JobPlace};
use crate::rows::{Cells, JobRow, counters};
use crate::work;
use crate::write::Write;

pub(super) fn redrive(
    write: &Write<'_>,
    tenant: &TenantId,
    ids: &[JobId],
) -> Result<Vec<Option<RedriveAnswer>>, Fault> {
    let mut order = KeyAssignments::new(write.sql);
    let answers = ids.iter().map(|id| redrive_one(write, &mut order, tenant, *id)).collect::<Result<_, _>>()?;
    order.keep(write)?;
    Ok(answers)
}

fn redrive_one(
    write: &Write<'_>,
    order: &mut KeyAssignments<'_>,
    tenant: &TenantId,
    id: JobId,
) -> Result<Option<RedriveAnswer>, Fault> {
    if !is_owned(write, tenant, id)? {
        return Ok(None);
    }
    let place = places::find(write, id)?;
    if !matches!(place, JobPlace::Final(_)) {
        return Ok(Some(RedriveAnswer::NotFinal(state_in(write, &place))));
    }
    let job_row = job_row_of(write, id)?;
    keep_outcome(write, id)?;
    places::drop_attempts(write, id, job_row.counters.moves)?;
    // The queue may be gone: a final job does not keep it.
    note_use(write, &job_row.tenant, &job_row.queue)?;
    places::put_back(write, order, &job_row, None)?;
    Ok(Some(RedriveAnswer::Redriven))
}

/// The job as it would stand in `ready`, its counters as they were at the end.
fn job_row_of(write: &Write<'_>, id: JobId) -> Result<JobRow, Fault> {
    let mut statement = write.prepared(
        "SELECT jobs.id, jobs.tenant, jobs.created_at, jobs.work, outcomes.attempt,
                outcomes.spent, outcomes.crashes, outcomes.moves
         FROM outcomes JOIN jobs ON jobs.id = outcomes.job WHERE outcomes.job = ?1",
    )?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Err(Fault::misfit("outcomes", "job", id, "gone between two looks of one transaction"));
    };
    let job = work::job(row)?;
    let cells = Cells::of_job(row, "outcomes", 0)?;
    Ok(JobRow {
        job: id,
        queue: job.work.queue.clone(),
        route: job.work.target.route(),
        lane: job.work.lane,
        kind: job.work.kind.clone(),
        tenant: job.tenant,
        run_at: write.now,
        // Whoever re-drives a job wants it to run: a start-by of its first life no longer holds.
        expires_at: None,
        counters: Counters { spent: 0, crashes: 0, ..counters(&cells, 4)? },
    })
}

fn keep_outcome(write: &Write<'_>, id: JobId) -> Result<(), Fault> {
    write
        .prepared(
            "INSERT INTO attempts (job, claim, number, settled, session, worker, started_at, finished_at, outcome,
                                   report)
             SELECT job, claim, CASE WHEN claim IS NULL THEN 0 ELSE attempt END, settled, session, worker, started_at,
                    finished_at, state, report
             FROM outcomes WHERE job = ?1",
        )?
        .execute([id.0])?;
    write.prepared("DELETE FROM outcomes WHERE job = ?1")?.execute([id.0])?;
    Ok(())
}
