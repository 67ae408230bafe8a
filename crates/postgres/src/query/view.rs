//! A job and where it stands, from one row of a join over its possible places.

use foreman_core::ports::{JobView, StoreError};
use foreman_core::{Report, State};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, Counters};
use crate::work;

/// A row for each of the jobs `$1`, in their order. Claims are looked through only for those that are in neither of the other
/// places, and there an array is searched before it is taken apart.
pub(crate) const VIEWS: &str = "SELECT jobs.id, jobs.tenant, jobs.created_at, jobs.work,
       ready.run_at, ready.attempt, ready.spent, ready.crashes,
       held.run_at, held.attempt, held.spent, held.crashes, held.claimed_at,
       outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.started_at, outcomes.state,
       outcomes.finished_at, outcomes.report,
       CASE WHEN outcomes.job IS NULL THEN
           (SELECT attempts.report FROM attempts WHERE attempts.job = jobs.id ORDER BY attempts.place DESC LIMIT 1)
       END,
       ready.run_at <= foreman_now(), ready.moves, held.moves, outcomes.moves
    FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, rank)
    JOIN jobs ON jobs.id = asked.id
    LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN outcomes ON outcomes.job = jobs.id
    LEFT JOIN LATERAL (
        SELECT claims.claimed_at, member.run_at, member.attempt, member.spent, member.crashes, member.moves
        FROM claims
        CROSS JOIN LATERAL unnest(claims.jobs, claims.run_at, claims.attempt, claims.spent, claims.crashes, claims.moves)
             WITH ORDINALITY AS member (job, run_at, attempt, spent, crashes, moves, place)
        WHERE ready.job IS NULL AND outcomes.job IS NULL AND jobs.id = ANY (claims.jobs)
          AND member.job = jobs.id AND get_bit(claims.open, member.place::integer - 1) = 1
    ) AS held ON true
    WHERE $2::text IS NULL OR jobs.tenant = $2
    ORDER BY asked.rank";

/// Reads a row of [`VIEWS`], without its attempts.
pub(super) fn view(row: &Row) -> Result<JobView, Fault> {
    let job = work::job(row)?;
    let id = job.id;
    let blank = JobView {
        run_at: job.created_at,
        job,
        state: State::Running,
        attempt: 0,
        spent: 0,
        crashes: 0,
        sequence: 0,
        started_at: None,
        finished_at: None,
        error: None,
        attempts: Vec::new(),
    };
    let ready = Cells { row, table: "ready", id };
    if let Some(run_at) = ready.maybe_time(4, "run_at")? {
        let counters = Counters::read(&ready, 5, 23)?;
        let state = State::of_waiting(ready.get(22, "run_at")?, counters.attempt);
        return Ok(JobView { state, run_at, error: last_error(row, &blank)?, ..blank }.with(counters));
    }
    let held = Cells { row, table: "claims", id };
    if let Some(run_at) = held.maybe_time(8, "run_at")? {
        let started_at = held.maybe_time(12, "claimed_at")?;
        let error = last_error(row, &blank)?;
        return Ok(JobView { run_at, started_at, error, ..blank }.with(Counters::read(&held, 9, 24)?));
    }
    let outcome = Cells { row, table: "outcomes", id };
    let Some(run_at) = outcome.maybe_time(13, "run_at")? else {
        return Err(StoreError::Damaged(format!("job {id} is in no place")).into());
    };
    Ok(JobView {
        state: outcome.final_state(18)?,
        run_at,
        started_at: outcome.maybe_time(17, "started_at")?,
        finished_at: outcome.maybe_time(19, "finished_at")?,
        error: outcome.report(20)?.error,
        ..blank
    }
    .with(Counters::read(&outcome, 14, 25)?))
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
fn last_error(row: &Row, view: &JobView) -> Result<Option<String>, Fault> {
    let attempts = Cells { row, table: "attempts", id: view.job.id };
    let Some(report) = attempts.get::<Option<&str>>(21, "report")? else { return Ok(None) };
    let report: Report =
        serde_json::from_str(report).map_err(|error| Fault::misfit("attempts", "report", view.job.id, error))?;
    Ok(report.error)
}
