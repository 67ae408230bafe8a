//! A job and where it stands, from one row of a join over its possible places.

use foreman_core::JobId;
use foreman_core::outline::{self, Outline};
use foreman_core::ports::{JobSummary, JobView, StoreError};
use foreman_core::storage::JobStatus;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, counters};
use crate::work;
use crate::write::Transaction;

/// A row for each of the jobs `$1`, in their order. Claims are looked through only for those that are in neither of the other
/// places, and there an array is searched before it is taken apart. Of reports no more is read than where their error stands.
macro_rules! views {
    ($work:literal) => {
        concat!(
            "SELECT jobs.id, jobs.tenant, jobs.created_at, ",
            $work,
            ",
       ready.run_at, ready.attempt, ready.spent, ready.crashes,
       held.run_at, held.attempt, held.spent, held.crashes, held.claimed_at,
       outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.started_at, outcomes.state,
       outcomes.finished_at, left(outcomes.report, 8192),
       CASE WHEN outcomes.job IS NULL THEN
           (SELECT left(attempts.report, 8192) FROM attempts WHERE attempts.job = jobs.id
            ORDER BY attempts.place DESC LIMIT 1)
       END,
       ready.run_at <= foreman_now(), ready.moves, held.moves, outcomes.moves
    FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, rank)
    JOIN jobs ON jobs.id = asked.id AND jobs.id = ANY ($1)
    LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN outcomes ON outcomes.job = jobs.id AND outcomes.job = ANY ($1)
    LEFT JOIN LATERAL (
        SELECT claims.claimed_at, member.run_at, member.attempt, member.spent, member.crashes, member.moves
        FROM claims
        CROSS JOIN LATERAL unnest(claims.jobs, claims.run_at, claims.attempt, claims.spent, claims.crashes, claims.moves)
             WITH ORDINALITY AS member (job, run_at, attempt, spent, crashes, moves, place)
        WHERE ready.job IS NULL AND outcomes.job IS NULL AND jobs.id = ANY (claims.jobs)
          AND member.job = jobs.id AND get_bit(claims.open, member.place::integer - 1) = 1
    ) AS held ON true
    WHERE $2::text IS NULL OR jobs.tenant = $2
    ORDER BY asked.rank"
        )
    };
}

/// With all that was asked.
pub(crate) const VIEWS: &str = views!("jobs.work");

/// With what lists show of it. The size of a text is known without reading it; large work without an outline, which was written by
/// a binary of an earlier version, is left out here and read by itself ([`WORK`]), so that there is one at a time in memory.
pub(crate) const SUMMARIES: &str =
    views!("CASE WHEN jobs.outline IS NULL AND octet_length(jobs.work) <= 4096 THEN jobs.work ELSE jobs.outline END");
pub(crate) const WORK: &str = "SELECT jobs.work FROM jobs WHERE jobs.id = $1::uuid";

/// Reads a row of [`VIEWS`], without its attempts.
pub(super) fn view(row: &Row) -> Result<JobView, Fault> {
    let job = work::job(row)?;
    Ok(status(row, job.id)?.view(job))
}

/// Reads a row of [`SUMMARIES`].
pub(super) async fn summary(tx: &Transaction, row: &Row) -> Result<JobSummary, Fault> {
    let cells = Cells::of_job(row, "jobs", 0)?;
    let (id, created_at) = (cells.id, cells.time(2, "created_at")?);
    let outline = match cells.get::<Option<&str>>(3, "outline")? {
        Some(json) => outlined(id, json)?,
        None => match tx.rows_by_id(WORK, &[&id.0]).await?.into_iter().next() {
            Some(row) => outlined(id, Cells { row: &row, table: "jobs", id }.get(0, "work")?)?,
            None => return Err(Fault::misfit("jobs", "work", id, "gone between two looks of one transaction")),
        },
    };
    Ok(status(row, id)?.summary(id, outline, created_at))
}

fn outlined(id: JobId, json: &str) -> Result<Outline, Fault> {
    Outline::read(json).map_err(|error| Fault::misfit("jobs", "outline", id, error))
}

fn status(row: &Row, id: JobId) -> Result<JobStatus, Fault> {
    let ready = Cells { row, table: "ready", id };
    if let Some(run_at) = ready.maybe_time(4, "run_at")? {
        let (is_due, error) = (ready.get(22, "run_at")?, error(row, "attempts", id, 21)?);
        return Ok(JobStatus::waiting(run_at, is_due, counters(&ready, 5, 23)?, error));
    }
    let held = Cells { row, table: "claims", id };
    if let Some(run_at) = held.maybe_time(8, "run_at")? {
        let (started_at, error) = (held.maybe_time(12, "claimed_at")?, error(row, "attempts", id, 21)?);
        return Ok(JobStatus::running(run_at, started_at, counters(&held, 9, 24)?, error));
    }
    let outcome = Cells { row, table: "outcomes", id };
    let Some(run_at) = outcome.maybe_time(13, "run_at")? else {
        return Err(StoreError::Damaged(format!("job {id} is in no place")).into());
    };
    Ok(JobStatus {
        state: outcome.final_state(18)?,
        run_at,
        started_at: outcome.maybe_time(17, "started_at")?,
        finished_at: outcome.maybe_time(19, "finished_at")?,
        error: error(row, "outcomes", id, 20)?,
        counters: counters(&outcome, 14, 25)?,
    })
}

/// Why the latest attempt did not complete: from the beginning of its report.
fn error(row: &Row, table: &'static str, id: JobId, place: usize) -> Result<Option<String>, Fault> {
    let cells = Cells { row, table, id };
    let Some(report) = cells.get::<Option<&str>>(place, "report")? else { return Ok(None) };
    outline::error_in(report).map_err(|error| Fault::misfit(table, "report", id, error))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[SUMMARIES, VIEWS, WORK];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_in_the_statements_are_those_of_the_core() {
        assert!(SUMMARIES.contains(&format!("octet_length(jobs.work) <= {} ", outline::LARGE)));
        assert_eq!(SUMMARIES.matches(&format!("report, {})", outline::REPORT_HEAD)).count(), 2);
    }
}
