//! A row of `schedules` as what it says.

use std::sync::Arc;

use foreman_core::ScheduleId;
use foreman_core::ports::{DueSchedule, ScheduleView, SeenSchedule};
use foreman_core::schedule::{Schedule, ScheduleName};
use tokio_postgres::Row;
use uuid::Uuid;

use super::ticks;
use crate::error::Fault;
use crate::rows::Cells;

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "schedules.id, schedules.tenant, schedules.name, schedules.spec, schedules.work, schedules.version,
       schedules.next_fire_at, schedules.held, schedules.created_at, schedules.paused, schedules.edited_at,
       schedules.edited_by"
    };
}
pub(super) use columns;

/// Where `edited_by` stands among the columns, which is the last of them.
pub(super) const EDITED_BY: usize = 11;

/// From the columns of [`columns`], the first of a row.
pub(super) fn read(row: &Row) -> Result<DueSchedule, Fault> {
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit("schedules", "id", "unknown", error))?;
    let cells = Cells { row, table: "schedules", id: ScheduleId(id) };
    let misfit = |column| move |error: serde_json::Error| Fault::misfit("schedules", column, id, error);
    let schedule = Schedule {
        id: cells.id,
        tenant: cells.tenant(1)?,
        name: ScheduleName::from_stored(cells.get(2, "name")?),
        spec: Arc::new(serde_json::from_str(cells.get(3, "spec")?).map_err(misfit("spec"))?),
        work: Arc::new(serde_json::from_str(cells.get(4, "work")?).map_err(misfit("work"))?),
        created_at: cells.time(8, "created_at")?,
    };
    let seen = SeenSchedule {
        version: cells.get(5, "version")?,
        next: cells.maybe_time(6, "next_fire_at")?,
        held: cells.maybe_time(7, "held")?,
    };
    Ok(DueSchedule { schedule, seen })
}

/// The same with its latest tick.
pub(super) fn view(row: &Row) -> Result<ScheduleView, Fault> {
    let DueSchedule { schedule, seen } = read(row)?;
    let cells = Cells { row, table: "schedules", id: schedule.id };
    Ok(ScheduleView {
        is_paused: cells.get(9, "paused")?,
        created_at: schedule.created_at,
        edited_at: cells.time(10, "edited_at")?,
        last_tick: ticks::read(row, EDITED_BY + 1, schedule.id)?,
        schedule,
        seen,
    })
}
