//! One job with its latest attempts, and pages of those before.

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{ATTEMPTS_ON_A_PAGE, ATTEMPTS_PAGE_BYTES, AttemptPage, AttemptRecord, JobView};
use foreman_core::{Fence, JobId, Report, TenantId};
use tokio_postgres::Row;

use super::view::{self, VIEWS};
use crate::error::Fault;
use crate::rows::Cells;
use crate::value::bound;
use crate::write::Transaction;

/// What was put aside, then how it ended, then what is under way, of which a job has at most one; numbered from the latest. Of those
/// after the first `$2`, at most `$3`, and none once the reports before it have `$4` bytes. The size of a text is known without
/// reading it.
pub(crate) const RECORDS: &str = "SELECT job, number, claim, worker, started_at, finished_at, outcome, report, kept
    FROM (
      SELECT *, sum(size) OVER (ORDER BY nth) - size AS bytes_before
      FROM (
       SELECT *, coalesce(octet_length(report), 0) AS size, count(*) OVER () AS kept,
              row_number() OVER (ORDER BY source DESC, place DESC) AS nth
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
      ) AS numbered
      WHERE nth > $2::bigint
    ) AS page
    WHERE nth <= $2 + $3::bigint AND (nth = $2 + 1 OR bytes_before < $4::bigint)
    ORDER BY nth DESC";
/// Whether the job is the tenant's.
pub(crate) const THEIRS: &str = "SELECT 1 FROM jobs WHERE id = $1::uuid AND tenant = $2::text";

pub(super) async fn get(tx: &Transaction, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, Fault> {
    let asked = vec![id.0];
    let wanted = AttemptPageRequest::after(0);
    let answers = tx
        .by_id(&[(VIEWS, &[&asked, &tenant.as_str()]), (RECORDS, &[&id.0, &wanted.skip, &wanted.most, &wanted.bytes])])
        .await?;
    let Some(row) = answers[0].first() else { return Ok(None) };
    let mut view = view::view(row)?;
    view.attempts = page(&answers[1])?;
    Ok(Some(view))
}

pub(super) async fn attempts(
    tx: &Transaction,
    tenant: &TenantId,
    id: JobId,
    skip: usize,
) -> Result<Option<AttemptPage>, Fault> {
    let wanted = AttemptPageRequest::after(skip);
    let answers = tx
        .by_id(&[(THEIRS, &[&id.0, &tenant.as_str()]), (RECORDS, &[&id.0, &wanted.skip, &wanted.most, &wanted.bytes])])
        .await?;
    if answers[0].is_empty() { Ok(None) } else { page(&answers[1]).map(Some) }
}

/// Which page of attempts.
struct AttemptPageRequest {
    skip: i64,
    most: i64,
    bytes: i64,
}

impl AttemptPageRequest {
    fn after(skip: usize) -> Self {
        Self { skip: bound(skip), most: bound(ATTEMPTS_ON_A_PAGE), bytes: bound(ATTEMPTS_PAGE_BYTES) }
    }
}

fn page(rows: &[Row]) -> Result<AttemptPage, Fault> {
    let kept: i64 = rows.first().map(|row| row.try_get(8)).transpose()?.unwrap_or_default();
    let records = rows.iter().map(record).collect::<Result<_, _>>()?;
    Ok(AttemptPage { records, kept: usize::try_from(kept).unwrap_or_default() })
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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[RECORDS, THEIRS];
