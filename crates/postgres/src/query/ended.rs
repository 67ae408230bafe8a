//! Jobs that have ended with the only attempt that is kept of them, many at a time: what the courier tells of.
//!
//! They are in one place and have one record, so one row says it all: a thousand of them are read by one statement, where each by
//! itself ([`super::get`]) takes two.

use foreman_core::JobId;
use foreman_core::outline::listed_error;
use foreman_core::ports::{AttemptPage, AttemptRecord, JobView};
use foreman_core::storage::JobStatus;
use foreman_core::{Fence, Report};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::{Cells, counters};
use crate::work;
use crate::write::Transaction;

/// Of the jobs `$1`, but for those of which more than `$2` bytes would have to be read. The size of a text is known without reading
/// it. One that is run again has its ending among its attempts, and is in another place.
///
/// Planned anew each time, which takes longer than the reading (2.1 and 1.4 ms for 500): the planner asks for each id in which week
/// it lies. With bounds beside the ids, and the ids kept from it, planning took 0.8 ms; but then one run in six took 100 µs more
/// for each job, as a plan does that takes the stretch between the bounds for one row and joins each row with each.
pub(crate) const ENDED: &str = "SELECT jobs.id, jobs.tenant, jobs.created_at, jobs.work,
           outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.moves, outcomes.claim,
           outcomes.worker, outcomes.started_at, outcomes.finished_at, outcomes.state, outcomes.report
    FROM outcomes JOIN jobs ON jobs.id = outcomes.job AND jobs.id = ANY ($1::uuid[])
    WHERE outcomes.job = ANY ($1) AND octet_length(jobs.work) + octet_length(outcomes.report) <= $2::bigint
      AND NOT EXISTS (SELECT FROM attempts WHERE attempts.job = outcomes.job)";
/// Many of them are read at the same time.
const SMALL: i64 = 8 * 1024;

pub(super) async fn ended_at_once(tx: &Transaction, jobs: &[JobId]) -> Result<Vec<JobView>, Fault> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    tx.rows_by_id(ENDED, &[&ids, &SMALL]).await?.iter().map(read).collect()
}

/// A row of [`ENDED`].
fn read(row: &Row) -> Result<JobView, Fault> {
    let job = work::job(row)?;
    let cells = Cells { row, table: "outcomes", id: job.id };
    let (started_at, finished_at) = (cells.maybe_time(11, "started_at")?, cells.maybe_time(12, "finished_at")?);
    let fence = cells.get::<Option<i64>>(9, "claim")?.map(Fence);
    let counters = counters(&cells, 5, 8)?;
    let report: Report = cells.report(14)?;
    let status = JobStatus {
        state: cells.final_state(13)?,
        run_at: cells.time(4, "run_at")?,
        started_at,
        finished_at,
        error: listed_error(report.error.as_deref()),
        counters,
    };
    let record = AttemptRecord {
        // One that ended while it waited was no try.
        number: if fence.is_some() { counters.attempt } else { 0 },
        fence,
        worker: cells.get(10, "worker")?,
        started_at,
        finished_at,
        outcome: Some(cells.outcome(13)?),
        report,
    };
    Ok(JobView { attempts: AttemptPage { records: vec![record], kept: 1 }, ..status.view(job) })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ENDED];
