//! A job and where it stands, from one row of a join over its possible places.

use foreman_core::ports::{JobView, StoreError};
use foreman_core::{Report, State, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Fault;
use crate::rows::{Cells, Counters};
use crate::work;

/// The columns of a view. The tables go by their names, `claims` being that of `held`.
pub(super) const COLUMNS: &str = "jobs.id, jobs.tenant, jobs.created_at, jobs.work,
    ready.run_at, ready.attempt, ready.spent, ready.crashes, ready.moves,
    held.run_at, held.attempt, held.spent, held.crashes, held.moves, claims.claimed_at,
    outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.moves, outcomes.started_at,
    outcomes.state, outcomes.finished_at, outcomes.report";

/// Joins the places to `jobs`. A job is in one of them; the other two stay empty.
pub(super) const PLACES: &str = "LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN held ON held.job = jobs.id
    LEFT JOIN claims ON claims.number = held.claim
    LEFT JOIN outcomes ON outcomes.job = jobs.id";

/// Reads a row of [`COLUMNS`], without its attempts.
pub(super) fn view(sql: &Connection, row: &Row<'_>, now: Timestamp) -> Result<JobView, Fault> {
    let job = work::job(row)?;
    let blank = JobView {
        job,
        state: State::Running,
        attempt: 0,
        spent: 0,
        crashes: 0,
        sequence: 0,
        run_at: now,
        started_at: None,
        finished_at: None,
        error: None,
        attempts: Vec::new(),
    };
    let id = blank.job.id;
    let ready = Cells { row, table: "ready", id };
    if let Some(run_at) = ready.maybe_time(4, "run_at")? {
        let counters = Counters::read(&ready, 5)?;
        let state = State::of_waiting(run_at <= now, counters.attempt);
        let error = last_error(sql, &blank)?;
        return Ok(JobView { state, run_at, error, ..blank }.with(counters));
    }
    let held = Cells { row, table: "held", id };
    if let Some(run_at) = held.maybe_time(9, "run_at")? {
        let started_at = held.maybe_time(14, "claimed_at")?;
        let error = last_error(sql, &blank)?;
        return Ok(JobView { run_at, started_at, error, ..blank }.with(Counters::read(&held, 10)?));
    }
    let outcome = Cells { row, table: "outcomes", id };
    let Some(run_at) = outcome.maybe_time(15, "run_at")? else {
        return Err(StoreError::Damaged(format!("job {id} is in no place")).into());
    };
    Ok(JobView {
        state: outcome.final_state(21)?,
        run_at,
        started_at: outcome.maybe_time(20, "started_at")?,
        finished_at: outcome.maybe_time(22, "finished_at")?,
        error: outcome.report(23)?.error,
        ..blank
    }
    .with(Counters::read(&outcome, 16)?))
}

trait With {
    fn with(self, counters: Counters) -> Self;
}

impl With for JobView {
    fn with(self, Counters { attempt, spent, crashes, moves }: Counters) -> Self {
        Self { attempt, spent, crashes, sequence: moves, ..self }
    }
}

/// Why the attempt before did not complete.
fn last_error(sql: &Connection, view: &JobView) -> Result<Option<String>, Fault> {
    let report: Option<String> = sql
        .prepare_cached("SELECT report FROM attempts WHERE job = ?1 ORDER BY place DESC LIMIT 1")?
        .query_row([view.job.id.0], |row| row.get(0))
        .optional()?;
    let Some(report) = report else { return Ok(None) };
    let report: Report =
        serde_json::from_str(&report).map_err(|error| Fault::misfit("attempts", "report", view.job.id, error))?;
    Ok(report.error)
}
