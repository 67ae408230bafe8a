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

/// Of the jobs `$1`, which lie between `$3` and `$4`, but for those of which more than `$2` bytes would have to be read. The size of
/// a text is known without reading it. One that is run again has its ending among its attempts, and is in another place.
///
/// Planned anew each time, for these bounds. The ids are kept from the planner, which would ask for each of them in which week it
/// lies: 2.1 ms for 500, where with bounds alone it takes 0.8 and the reading 1.5.
pub(crate) const ENDED: &str = "SELECT jobs.id, jobs.tenant, jobs.created_at, jobs.work,
           outcomes.run_at, outcomes.attempt, outcomes.spent, outcomes.crashes, outcomes.moves, outcomes.claim,
           outcomes.worker, outcomes.started_at, outcomes.finished_at, outcomes.state, outcomes.report
    FROM outcomes JOIN jobs ON jobs.id = outcomes.job AND jobs.id >= $3::uuid AND jobs.id <= $4::uuid
    WHERE outcomes.job = ANY ((SELECT $1::uuid[])::uuid[]) AND outcomes.job >= $3 AND outcomes.job <= $4
      AND octet_length(jobs.work) + octet_length(outcomes.report) <= $2::bigint
      AND NOT EXISTS (SELECT FROM attempts WHERE attempts.job = outcomes.job)";
/// Many of them are read at the same time.
const SMALL: i64 = 8 * 1024;
/// Ids of one statement are of one week, in milliseconds: it is planned for two partitions at most, and locks no more.
const WEEK: u128 = 7 * 24 * 3_600_000;

pub(super) async fn ended_at_once(tx: &Transaction, jobs: &[JobId]) -> Result<Vec<JobView>, Fault> {
    let mut ids: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    ids.sort_unstable();
    let mut views = Vec::with_capacity(ids.len());
    for week in weeks(&ids) {
        let (Some(first), Some(last)) = (week.first(), week.last()) else { continue };
        for row in tx.rows_by_id(ENDED, &[&week.to_vec(), &SMALL, first, last]).await? {
            views.push(read(&row)?);
        }
    }
    Ok(views)
}

/// Ids in order, cut where a week is over. They begin with the milliseconds of their time.
fn weeks(mut ids: &[Uuid]) -> impl Iterator<Item = &[Uuid]> {
    let millis = |id: &Uuid| id.as_u128() >> 80;
    std::iter::from_fn(move || {
        let until = millis(ids.first()?) + WEEK;
        let (week, rest) = ids.split_at(ids.partition_point(|id| millis(id) < until));
        ids = rest;
        Some(week)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_asked_for_week_by_week() {
        let id = |days: u128, n: u128| Uuid::from_u128((days * 24 * 3_600_000) << 80 | n);
        let ids = [id(20_000, 1), id(20_000, 2), id(20_006, 0), id(20_007, 0), id(20_013, 9), id(30_000, 0)];
        let lengths: Vec<usize> = weeks(&ids).map(<[Uuid]>::len).collect();
        assert_eq!(lengths, [3, 2, 1]);
        assert_eq!(weeks(&ids).flatten().copied().collect::<Vec<_>>(), ids);
        assert_eq!(weeks(&[]).count(), 0);
    }
}
