//! One job with all its attempts, in the order in which they happened.

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{AttemptRecord, JobView};
use foreman_core::{Fence, JobId, Report, TenantId};
use rusqlite::{Connection, Row};

use super::view::{self, COLUMNS, PLACES};
use crate::error::Fault;
use crate::readers::Read;
use crate::rows::Cells;

pub(super) fn get(read: &Read<'_>, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM jobs {PLACES} WHERE jobs.id = ?1 AND jobs.tenant = ?2");
    let mut statement = read.sql.prepare_cached(&sql)?;
    let mut rows = statement.query((id.0, tenant.as_str()))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut view = view::view(read.sql, row, read.now)?;
    view.attempts = records(read.sql, id)?;
    Ok(Some(view))
}

/// What was put aside, then how it ended, then what is under way: a job has at most one of the last two.
fn records(sql: &Connection, id: JobId) -> Result<Vec<AttemptRecord>, Fault> {
    const SOURCES: [(&str, &str); 3] = [
        (
            "attempts",
            "SELECT job, number, claim, worker, started_at, finished_at, outcome, report
             FROM attempts WHERE job = ?1 ORDER BY place",
        ),
        (
            "outcomes",
            "SELECT job, CASE WHEN claim IS NULL THEN 0 ELSE attempt END, claim, worker, started_at, finished_at,
                    state, report
             FROM outcomes WHERE job = ?1",
        ),
        (
            "held",
            "SELECT held.job, held.attempt, held.claim, sessions.worker, claims.claimed_at, NULL, NULL, NULL
             FROM held JOIN claims ON claims.number = held.claim LEFT JOIN sessions ON sessions.id = claims.session
             WHERE held.job = ?1",
        ),
    ];
    let mut records = Vec::new();
    for (table, source) in SOURCES {
        let mut statement = sql.prepare_cached(source)?;
        let mut rows = statement.query([id.0])?;
        while let Some(row) = rows.next()? {
            records.push(record(table, row)?);
        }
    }
    Ok(records)
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
