//! A row of `schedules`, as text and as what it says.

use std::sync::Arc;

use foreman_core::ports::{ScheduleHead, ScheduleView, SeenSchedule, TickView};
use foreman_core::schedule::{Schedule, ScheduleName};
use foreman_core::{ScheduleId, TenantId, Timestamp};
use rusqlite::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;

/// The columns of [`RawSchedule`], in its order of reading.
macro_rules! schedule_columns {
    () => {
        "id, tenant, name, version, next_fire_at, held, paused, created_at, edited_at, spec, work"
    };
}
pub(super) use schedule_columns;

/// A schedule whose spec and work are still text: read outside the writer.
pub(super) struct RawSchedule {
    pub id: ScheduleId,
    pub seen: SeenSchedule,
    tenant: TenantId,
    name: ScheduleName,
    is_paused: bool,
    created_at: Timestamp,
    edited_at: Timestamp,
    spec: String,
    work: String,
}

impl TryFrom<&Row<'_>> for RawSchedule {
    type Error = Fault;

    fn try_from(row: &Row<'_>) -> Result<Self, Fault> {
        let cells = Cells::of_schedule(row, "schedules", 0)?;
        Ok(Self {
            id: cells.id,
            tenant: cells.tenant(1)?,
            name: ScheduleName::from_stored(cells.text(2, "name")?),
            seen: seen(&cells, 3)?,
            is_paused: cells.get(6, "paused")?,
            created_at: cells.time(7, "created_at")?,
            edited_at: cells.time(8, "edited_at")?,
            spec: cells.get(9, "spec")?,
            work: cells.get(10, "work")?,
        })
    }
}

/// What to call a row of [`schedule_columns`] that cannot be read, and its version.
pub(super) fn called(row: &Row<'_>) -> (String, i64) {
    let id: Uuid = row.get(0).unwrap_or_default();
    let name: String = row.get(2).unwrap_or_default();
    (format!("schedule {name} ({id})"), row.get(3).unwrap_or_default())
}

/// From the columns `version, next_fire_at, held`, the first of which stands at `first`.
pub(super) fn seen(cells: &Cells<'_, ScheduleId>, first: usize) -> Result<SeenSchedule, Fault> {
    Ok(SeenSchedule {
        version: cells.get(first, "version")?,
        next: cells.maybe_time(first + 1, "next_fire_at")?,
        held: cells.maybe_time(first + 2, "held")?,
    })
}

impl RawSchedule {
    pub fn schedule_head(self) -> ScheduleHead {
        ScheduleHead { id: self.id, name: self.name, seen: self.seen, created_at: self.created_at }
    }

    pub fn read(self) -> Result<Schedule, Fault> {
        let misfit = |column, error| Fault::misfit("schedules", column, self.id, error);
        Ok(Schedule {
            id: self.id,
            tenant: self.tenant,
            name: self.name,
            spec: Arc::new(serde_json::from_str(&self.spec).map_err(|error| misfit("spec", error))?),
            work: Arc::new(serde_json::from_str(&self.work).map_err(|error| misfit("work", error))?),
            created_at: self.created_at,
        })
    }

    pub fn view(self, last_tick: Option<TickView>) -> Result<ScheduleView, Fault> {
        let Self { seen, is_paused, created_at, edited_at, .. } = self;
        Ok(ScheduleView { schedule: self.read()?, seen, is_paused, created_at, edited_at, last_tick })
    }
}
