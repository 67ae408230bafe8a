//! A job and where it stands, from one row of a join over its possible places.

use foreman_core::outline::{self, Outline};
use foreman_core::ports::{JobSummary, JobView, StoreError};
use foreman_core::storage::JobStatus;
use foreman_core::{JobId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Fault;
use crate::rows::{Cells, counters};
use crate::work;

/// Where a job may be.
macro_rules! places {
    () => {
        "ready.run_at, ready.attempt, ready.spent, ready.crashes, ready.moves,
    held.run_at, held.attempt, held.spent, held.crashes, held.moves, claims.claimed_at,
    outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.moves, outcomes.started_at,
    outcomes.state, outcomes.finished_at, outcomes.report"
    };
}

/// The columns of a view. The tables go by their names, `claims` being that of `held`.
pub(super) const VIEW: &str = concat!("jobs.id, jobs.tenant, jobs.created_at, jobs.work, ", places!());

/// The columns of a summary: the work is read only where no outline stands beside it.
pub(super) const SUMMARY: &str = concat!(
    "jobs.id, jobs.tenant, jobs.created_at, CASE WHEN jobs.outline IS NULL THEN jobs.work ELSE jobs.outline END, ",
    places!()
);

/// Joins the places to `jobs`. A job is in one of them; the other two stay empty.
pub(super) const PLACES: &str = "LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN held ON held.job = jobs.id
    LEFT JOIN claims ON claims.number = held.claim
    LEFT JOIN outcomes ON outcomes.job = jobs.id";

/// Reads a row of [`VIEW`], without its attempts.
pub(super) fn view(sql: &Connection, row: &Row<'_>, now: Timestamp) -> Result<JobView, Fault> {
    let job = work::job(row)?;
    Ok(status(sql, row, job.id, now)?.view(job))
}

/// Reads a row of [`SUMMARY`]. Where the work was read, its content is skipped here.
pub(super) fn summary(sql: &Connection, row: &Row<'_>, now: Timestamp) -> Result<JobSummary, Fault> {
    let cells = Cells::of_job(row, "jobs", 0)?;
    let (id, created_at) = (cells.id, cells.time(2, "created_at")?);
    let outline = Outline::read(cells.text(3, "work")?).map_err(|error| Fault::misfit("jobs", "work", id, error))?;
    Ok(status(sql, row, id, now)?.summary(id, outline, created_at))
}

fn status(sql: &Connection, row: &Row<'_>, id: JobId, now: Timestamp) -> Result<JobStatus, Fault> {
    let ready = Cells { row, table: "ready", id };
    if let Some(run_at) = ready.maybe_time(4, "run_at")? {
        return Ok(JobStatus::waiting(run_at, run_at <= now, counters(&ready, 5)?, last_error(sql, id)?));
    }
    let held = Cells { row, table: "held", id };
    if let Some(run_at) = held.maybe_time(9, "run_at")? {
        let started_at = held.maybe_time(14, "claimed_at")?;
        return Ok(JobStatus::running(run_at, started_at, counters(&held, 10)?, last_error(sql, id)?));
    }
    let outcome = Cells { row, table: "outcomes", id };
    let Some(run_at) = outcome.maybe_time(15, "run_at")? else {
        return Err(StoreError::Damaged(format!("job {id} is in no place")).into());
    };
    let error = outline::error_in(outcome.text(23, "report")?)
        .map_err(|error| Fault::misfit("outcomes", "report", id, error))?;
    Ok(JobStatus {
        state: outcome.final_state(21)?,
        run_at,
        started_at: outcome.maybe_time(20, "started_at")?,
        finished_at: outcome.maybe_time(22, "finished_at")?,
        error,
        counters: counters(&outcome, 16)?,
    })
}

/// Why the attempt before did not complete.
fn last_error(sql: &Connection, job: JobId) -> Result<Option<String>, Fault> {
    let error = sql
        .prepare_cached("SELECT report FROM attempts WHERE job = ?1 ORDER BY place DESC LIMIT 1")?
        .query_row([job.0], |row| Ok(outline::error_in(row.get_ref(0)?.as_str()?)))
        .optional()?;
    error.transpose().map(Option::flatten).map_err(|error| Fault::misfit("attempts", "report", job, error))
}
