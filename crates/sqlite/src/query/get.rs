//! One job with its latest attempts, and pages of those before.

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{ATTEMPTS_ON_A_PAGE, ATTEMPTS_PAGE_BYTES, AttemptPage, AttemptRecord, JobView};
use foreman_core::{Fence, JobId, Report, TenantId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::view::{self, PLACES, VIEW};
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;

pub(super) fn get(read: &ReadSnapshot<'_>, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, Fault> {
    let sql = format!("SELECT {VIEW} FROM jobs {PLACES} WHERE jobs.id = ?1 AND jobs.tenant = ?2");
    let mut statement = read.sql.prepare_cached(&sql)?;
    let mut rows = statement.query((id.0, tenant.as_str()))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut view = view::view(read.sql, row, read.now)?;
    view.attempts = page(read.sql, id, 0)?;
    Ok(Some(view))
}

pub(super) fn attempts(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    id: JobId,
    skip: usize,
) -> Result<Option<AttemptPage>, Fault> {
    let is_theirs = read
        .sql
        .prepare_cached("SELECT 1 FROM jobs WHERE id = ?1 AND tenant = ?2")?
        .query_row((id.0, tenant.as_str()), |_| Ok(()))
        .optional()?;
    is_theirs.map(|()| page(read.sql, id, skip)).transpose()
}

/// What is under way or how it ended, of which a job has at most one, then what was put aside: the latest first.
const SOURCES: [(&str, &str); 3] = [
    (
        "held",
        "SELECT held.job, held.attempt, held.claim, sessions.worker, claims.claimed_at, NULL, NULL, NULL
         FROM held JOIN claims ON claims.number = held.claim LEFT JOIN sessions ON sessions.id = claims.session
         WHERE held.job = ?1",
    ),
    (
        "outcomes",
        "SELECT job, CASE WHEN claim IS NULL THEN 0 ELSE attempt END, claim, worker, started_at, finished_at,
                state, report
         FROM outcomes WHERE job = ?1",
    ),
    (
        "attempts",
        "SELECT job, number, claim, worker, started_at, finished_at, outcome, report
         FROM attempts WHERE job = ?1 ORDER BY place DESC",
    ),
];

const KEPT: &str = "SELECT (SELECT count(*) FROM held WHERE job = ?1) + (SELECT count(*) FROM outcomes WHERE job = ?1)
                         + (SELECT count(*) FROM attempts WHERE job = ?1)";

fn page(sql: &Connection, id: JobId, skip: usize) -> Result<AttemptPage, Fault> {
    let kept: i64 = sql.prepare_cached(KEPT)?.query_row([id.0], |row| row.get(0))?;
    let (mut records, mut bytes, mut to_skip) = (Vec::new(), 0, skip);
    for (table, source) in SOURCES {
        let mut statement = sql.prepare_cached(source)?;
        let mut rows = statement.query([id.0])?;
        while records.len() < ATTEMPTS_ON_A_PAGE
            && bytes < ATTEMPTS_PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            if to_skip > 0 {
                to_skip -= 1;
                continue;
            }
            bytes += row.get_ref(7)?.as_str_or_null().ok().flatten().map_or(0, str::len);
            records.push(record(table, row)?);
        }
    }
    records.reverse();
    Ok(AttemptPage { records, kept: usize::try_from(kept).unwrap_or_default() })
}

fn record(table: &'static str, row: &Row<'_>) -> Result<AttemptRecord, Fault> {
    let cells = Cells::of_job(row, table, 0)?;
    let finished_at = cells.maybe_time(5, "finished_at")?;
    let (outcome, report): (Option<AttemptOutcome>, Report) = match finished_at {
        Some(_) => (Some(cells.outcome(6)?), cells.report(7)?),
        None => (None, Report::default()),
    };
    Ok(AttemptRecord {
        number: cells.get(1, "number")?,
        fence: cells.get::<Option<i64>>(2, "claim")?.map(Fence),
        worker: cells.get(3, "worker")?,
        started_at: cells.maybe_time(4, "started_at")?,
        finished_at,
        outcome,
        report,
    })
}
