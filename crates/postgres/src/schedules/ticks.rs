//! What became of a schedule's ticks, and how long that is remembered.
//!
//! Written only under the lock of the schedule's row, by whoever fires or deletes it. Any number may prune at once: rows that
//! another is working on are skipped.

use foreman_core::ports::{TickReason, TickState, TickView};
use foreman_core::{JobId, ScheduleId, State, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::{Time, bound};
use crate::write::Transaction;

/// What [`read`] reads of a tick and of where its job stands. A job that neither waits nor is final is held: in one statement
/// all places are seen at one moment.
macro_rules! columns {
    () => {
        "tick.nominal, tick.state, tick.reason, tick.at, tick.job, tick.last, tick.count,
       jobs.id IS NOT NULL, ready.run_at <= foreman_now(), ready.attempt, outcomes.state"
    };
}
pub(crate) use columns;

pub(crate) const LATEST: &str = concat!(
    "SELECT ",
    columns!(),
    "
    FROM (
        SELECT * FROM ticks
        WHERE ticks.schedule = $1::uuid AND ticks.nominal < coalesce($2::timestamptz, 'infinity')
        ORDER BY ticks.nominal DESC LIMIT $3::bigint
    ) AS tick
    LEFT JOIN jobs ON jobs.id = tick.job
    LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN outcomes ON outcomes.job = jobs.id
    ORDER BY tick.nominal DESC"
);

pub(crate) const CUT_TICKS: &str = include_str!("../sql/cut_ticks.sql");

pub(super) async fn list(
    tx: &Transaction,
    schedule: ScheduleId,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<TickView>, Fault> {
    let rows = tx.rows(LATEST, &[&schedule.0, &before.map(Time), &bound(limit)]).await?;
    rows.iter().filter_map(|row| read(row, 0, schedule).transpose()).collect()
}

/// From [`columns`], of which `first` is the first; nothing where the row has no tick.
pub(super) fn read(row: &Row, first: usize, schedule: ScheduleId) -> Result<Option<TickView>, Fault> {
    let cells = Cells { row, table: "ticks", id: schedule };
    let misfit = |column: &str, text: &str| Fault::misfit("ticks", column, schedule, format!("{text:?} is not known"));
    let Some(nominal) = cells.maybe_time(first, "nominal")? else { return Ok(None) };
    let state: &str = cells.get(first + 1, "state")?;
    let state = TickState::from_stored(state).ok_or_else(|| misfit("state", state))?;
    let reason: Option<&str> = cells.get(first + 2, "reason")?;
    let job: Option<Uuid> = cells.get(first + 4, "job")?;
    let job = match job {
        Some(id) => Some((JobId(id), job_state(row, first + 7, JobId(id))?)),
        None => None,
    };
    let count: Option<i32> = cells.get(first + 6, "count")?;
    Ok(Some(TickView {
        nominal,
        state,
        reason: TickReason::from_stored(state, reason).map_err(|text| misfit("reason", text))?,
        at: cells.time(first + 3, "at")?,
        job,
        last: cells.maybe_time(first + 5, "last")?,
        count: count.map(|count| u32::try_from(count).unwrap_or_default()),
    }))
}

/// Nothing when the job has been removed.
fn job_state(row: &Row, first: usize, job: JobId) -> Result<Option<State>, Fault> {
    let cells = Cells { row, table: "ready", id: job };
    if !cells.get::<bool>(first, "id")? {
        return Ok(None);
    }
    if let Some(is_due) = cells.get::<Option<bool>>(first + 1, "run_at")? {
        return Ok(Some(State::of_waiting(is_due, cells.count(first + 2, "attempt")?)));
    }
    let outcome = Cells { row, table: "outcomes", id: job };
    let is_final = outcome.get::<Option<&str>>(first + 3, "state")?.is_some();
    Ok(Some(if is_final { outcome.final_state(first + 3)? } else { State::Running }))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CUT_TICKS, LATEST];
