//! What became of a schedule's ticks, and of the jobs that they made.

use foreman_core::ports::{TickReason, TickState, TickView};
use foreman_core::{JobId, ScheduleId, State, Timestamp};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::bound;
use crate::error::Fault;
use crate::rows::Cells;

/// A job is in one of the places, or it was removed and is in none.
const LATEST_FIRST: &str = "SELECT ticks.schedule, ticks.nominal, ticks.state, ticks.reason, ticks.at, ticks.last,
        ticks.count, ticks.job, ready.run_at, ready.attempt, held.attempt, outcomes.state
 FROM ticks LEFT JOIN ready ON ready.job = ticks.job LEFT JOIN held ON held.job = ticks.job
      LEFT JOIN outcomes ON outcomes.job = ticks.job
 WHERE ticks.schedule = ?1 AND ticks.nominal < ?2 ORDER BY ticks.nominal DESC LIMIT ?3";

pub(super) fn latest(sql: &Connection, schedule: ScheduleId, now: Timestamp) -> Result<Option<TickView>, Fault> {
    Ok(ticks(sql, schedule, None, 1, now)?.pop())
}

pub(super) fn ticks(
    sql: &Connection,
    schedule: ScheduleId,
    before: Option<Timestamp>,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<TickView>, Fault> {
    let mut statement = sql.prepare_cached(LATEST_FIRST)?;
    let mut rows = statement.query((schedule.0, before.map_or(i64::MAX, Timestamp::as_micros), bound(limit)))?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        views.push(view(row, now)?);
    }
    Ok(views)
}

fn view(row: &Row<'_>, now: Timestamp) -> Result<TickView, Fault> {
    let cells = Cells::of_schedule(row, "ticks", 0)?;
    let unknown = |column, text: &str| Fault::misfit("ticks", column, cells.id, format!("{text:?} is not known"));
    let state = cells.text(2, "state")?;
    let state = TickState::from_stored(state).ok_or_else(|| unknown("state", state))?;
    let reason: Option<String> = cells.get(3, "reason")?;
    let job: Option<Uuid> = cells.get(7, "job")?;
    Ok(TickView {
        nominal: cells.time(1, "nominal")?,
        state,
        reason: TickReason::from_stored(state, reason.as_deref()).map_err(|text| unknown("reason", text))?,
        at: cells.time(4, "at")?,
        job: job.map(|id| Ok::<_, Fault>((JobId(id), state_of(row, JobId(id), now)?))).transpose()?,
        last: cells.maybe_time(5, "last")?,
        count: cells.get(6, "count")?,
    })
}

/// The state of its job, as it is shown.
fn state_of(row: &Row<'_>, id: JobId, now: Timestamp) -> Result<Option<State>, Fault> {
    let ready = Cells { row, table: "ready", id };
    if let Some(run_at) = ready.maybe_time(8, "run_at")? {
        return Ok(Some(State::of_waiting(run_at <= now, ready.get(9, "attempt")?)));
    }
    let held = Cells { row, table: "held", id };
    if held.get::<Option<i64>>(10, "attempt")?.is_some() {
        return Ok(Some(State::Running));
    }
    let outcome = Cells { row, table: "outcomes", id };
    let is_final = outcome.get::<Option<String>>(11, "state")?.is_some();
    is_final.then(|| outcome.final_state(11)).transpose()
}
