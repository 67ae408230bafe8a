//! One job with all its attempts, in the order in which they happened.

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{AttemptRecord, JobView};
use foreman_core::{Fence, JobId, Report, TenantId};
use tokio_postgres::Row;

use super::view::{self, VIEWS};
use crate::error::Fault;
use crate::rows::Cells;
use crate::write::Transaction;

/// What was put aside, then how it ended, then what is under way: a job has at most one of the last two.
pub(crate) const RECORDS: &str = "SELECT job, number, claim, worker, started_at, finished_at, outcome, report
    FROM (
        SELECT 1 AS source, place, job, number, claim, worker, started_at, finished_at, outcome, report
        FROM attempts WHERE job = $1::uuid
        UNION ALL
        SELECT 2, 0, job, CASE WHEN claim IS NULL THEN 0 ELSE attempt END, claim, worker, started_at, finished_at, state,
               report
        FROM outcomes WHERE job = $1
        UNION ALL
        SELECT 3, 0, member.job, member.attempt, claims.number, sessions.worker, claims.claimed_at, NULL, NULL, NULL
        FROM claims
        CROSS JOIN LATERAL unnest(claims.jobs, claims.attempt) WITH ORDINALITY AS member (job, attempt, place)
        LEFT JOIN sessions ON sessions.id = claims.session
        WHERE $1 = ANY (claims.jobs) AND member.job = $1 AND get_bit(claims.open, member.place::integer - 1) = 1
    ) AS records
    ORDER BY source, place";

pub(super) async fn get(tx: &Transaction, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, Fault> {
    let asked = vec![id.0];
    let answers = tx.all(&[(VIEWS, &[&asked, &tenant.as_str()]), (RECORDS, &[&id.0])]).await?;
    let Some(row) = answers[0].first() else { return Ok(None) };
    let mut view = view::view(row)?;
    view.attempts = answers[1].iter().map(record).collect::<Result<_, _>>()?;
    Ok(Some(view))
}

fn record(row: &Row) -> Result<AttemptRecord, Fault> {
    let cells = Cells::of_job(row, "attempts", 0)?;
    let finished_at = cells.maybe_time(5, "finished_at")?;
    let (outcome, report): (Option<AttemptOutcome>, Report) = match finished_at {
        Some(_) => (Some(cells.outcome(6)?), cells.report(7)?),
        None => (None, Report::default()),
    };
    Ok(AttemptRecord {
        number: cells.count(1, "number")?,
        fence: cells.get::<Option<i64>>(2, "claim")?.map(Fence),
        worker: cells.get(3, "worker")?,
        started_at: cells.maybe_time(4, "started_at")?,
        finished_at,
        outcome,
        report,
    })
}
