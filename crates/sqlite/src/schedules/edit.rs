//! Making, editing and deleting a schedule.
//!
//! All three can be sent again: a creation is known by the schedule's id, an edit by its own, and what is deleted is gone.
//! An edit and a delete hold only while the schedule is what was seen and nothing of it is due.

use foreman_core::ports::{
    Became, CreateAnswer, DeleteAnswer, Edit, EditAnswer, Note, SeenSchedule, StoreError, TickReason, TickState,
    TickView, Topic,
};
use foreman_core::schedule::{NewSchedule, ScheduleSpec};
use foreman_core::{EditId, ScheduleId, TenantId, Timestamp, Work};
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::row::{self, RawSchedule, schedule_columns};
use super::ticks;
use crate::error::Fault;
use crate::rows::Cells;
use crate::write::Write;

/// A schedule about to be made, as its row wants it.
pub(super) struct ScheduleCreation {
    new: NewSchedule,
    spec: String,
    work: String,
}

/// What came of it. The schedule is read outside the writer.
pub(super) enum ScheduleCreationResult {
    Made(Box<RawSchedule>, Option<TickView>),
    NameTaken(ScheduleId),
}

impl ScheduleCreationResult {
    pub fn answer(self) -> Result<CreateAnswer, StoreError> {
        match self {
            ScheduleCreationResult::Made(written, last_tick) => Ok(CreateAnswer::Created(written.view(last_tick)?)),
            ScheduleCreationResult::NameTaken(id) => Ok(CreateAnswer::NameTaken(id)),
        }
    }
}

impl ScheduleCreation {
    pub fn prepare(new: &NewSchedule) -> Result<Self, StoreError> {
        let (spec, work) = texts(new.schedule.id, &new.schedule.spec, &new.schedule.work)?;
        Ok(Self { new: new.clone(), spec, work })
    }

    pub fn create(&self, write: &Write<'_>) -> Result<ScheduleCreationResult, Fault> {
        let schedule = &self.new.schedule;
        let owner: Option<Uuid> = write
            .prepared("SELECT id FROM schedules WHERE tenant = ?1 AND name = ?2")?
            .query_row((schedule.tenant.as_str(), schedule.name.as_str()), |row| row.get(0))
            .optional()?;
        match owner {
            Some(id) if id != schedule.id.0 => return Ok(ScheduleCreationResult::NameTaken(ScheduleId(id))),
            // Sent again.
            Some(_) => {}
            None => self.insert(write)?,
        }
        let (written, last_tick) = look(write, schedule.id)?;
        Ok(ScheduleCreationResult::Made(written, last_tick))
    }

    fn insert(&self, write: &Write<'_>) -> Result<(), Fault> {
        let NewSchedule { schedule, is_paused, next } = &self.new;
        write
            .prepared(
                "INSERT INTO schedules (id, tenant, name, version, next_fire_at, paused, created_at, edited_at, spec,
                                        work)
                 VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                schedule.id.0,
                schedule.tenant.as_str(),
                schedule.name.as_str(),
                next.map(Timestamp::as_micros),
                is_paused,
                schedule.created_at.as_micros(),
                write.now.as_micros(),
                self.spec,
                self.work,
            ])?;
        tell(write, &schedule.tenant, schedule.id, schedule.name.as_str(), Became::Created);
        write.ring(Topic::Scheduled);
        Ok(())
    }
}

/// An edit, as the row wants it.
pub(super) struct ScheduleEdit {
    tenant: TenantId,
    edit: Edit,
    spec: String,
    work: String,
}

pub(super) enum ScheduleEditResult {
    Edited(Box<RawSchedule>, Option<TickView>),
    Stale,
    Gone,
}

impl ScheduleEditResult {
    pub fn answer(self) -> Result<EditAnswer, StoreError> {
        match self {
            ScheduleEditResult::Edited(written, last_tick) => Ok(EditAnswer::Edited(written.view(last_tick)?)),
            ScheduleEditResult::Stale => Ok(EditAnswer::Stale),
            ScheduleEditResult::Gone => Ok(EditAnswer::Gone),
        }
    }
}

impl ScheduleEdit {
    pub fn prepare(tenant: &TenantId, edit: &Edit) -> Result<Self, StoreError> {
        let (spec, work) = texts(edit.schedule, &edit.spec, &edit.work)?;
        Ok(Self { tenant: tenant.clone(), edit: edit.clone(), spec, work })
    }

    pub fn edit(&self, write: &Write<'_>) -> Result<ScheduleEditResult, Fault> {
        let edit = &self.edit;
        let Some(head) = head(write, &self.tenant, edit.schedule)? else { return Ok(ScheduleEditResult::Gone) };
        // Otherwise it was sent again, and whatever happened since stays as it is.
        if head.edited_by != Some(edit.id) {
            if !head.may_change(edit.seen, write.now) {
                return Ok(ScheduleEditResult::Stale);
            }
            self.update(write)?;
            let became = Became::by_edit(head.is_paused, edit.is_paused);
            tell(write, &self.tenant, edit.schedule, &head.name, became);
        }
        let (written, last_tick) = look(write, edit.schedule)?;
        Ok(ScheduleEditResult::Edited(written, last_tick))
    }

    fn update(&self, write: &Write<'_>) -> Result<(), Fault> {
        let edit = &self.edit;
        write
            .prepared(
                "UPDATE schedules SET version = version + 1, next_fire_at = ?2, paused = ?3, edited_at = ?4,
                                      edited_by = ?5, spec = ?6, work = ?7
                 WHERE id = ?1",
            )?
            .execute(params![
                edit.schedule.0,
                edit.next.map(Timestamp::as_micros),
                edit.is_paused,
                write.now.as_micros(),
                edit.id.0,
                self.spec,
                self.work,
            ])?;
        write.ring(Topic::Scheduled);
        Ok(())
    }
}

pub(super) fn delete(
    write: &Write<'_>,
    tenant: &TenantId,
    id: ScheduleId,
    seen: SeenSchedule,
) -> Result<DeleteAnswer, Fault> {
    let Some(head) = head(write, tenant, id)? else { return Ok(DeleteAnswer::Gone) };
    if !head.may_change(seen, write.now) {
        return Ok(DeleteAnswer::Stale);
    }
    if let Some(held) = seen.held {
        write
            .prepared("UPDATE ticks SET state = ?3, reason = ?4, at = ?5 WHERE schedule = ?1 AND nominal = ?2")?
            .execute((
                id.0,
                held.as_micros(),
                TickState::Skipped.as_str(),
                TickReason::Deleted.as_str(),
                write.now.as_micros(),
            ))?;
    }
    write.prepared("DELETE FROM schedules WHERE id = ?1")?.execute([id.0])?;
    tell(write, tenant, id, &head.name, Became::Deleted);
    Ok(DeleteAnswer::Deleted)
}

fn tell(write: &Write<'_>, tenant: &TenantId, schedule: ScheduleId, name: &str, became: Became) {
    write.tell(Note::Schedule { tenant: tenant.clone(), schedule, name: name.to_owned(), became });
}

fn texts(id: ScheduleId, spec: &ScheduleSpec, work: &Work) -> Result<(String, String), StoreError> {
    let broken = |error| StoreError::Broken(format!("schedule {id} cannot be written down: {error}"));
    Ok((serde_json::to_string(spec).map_err(broken)?, serde_json::to_string(work).map_err(broken)?))
}

/// What a change is judged by.
struct StoredHead {
    seen: SeenSchedule,
    edited_by: Option<EditId>,
    is_paused: bool,
    name: String,
}

impl StoredHead {
    /// It is what was seen, and nothing of it is due.
    fn may_change(&self, seen: SeenSchedule, now: Timestamp) -> bool {
        self.seen == seen && self.seen.next.is_none_or(|next| next > now)
    }
}

fn head(write: &Write<'_>, tenant: &TenantId, id: ScheduleId) -> Result<Option<StoredHead>, Fault> {
    let mut statement = write.prepared(
        "SELECT version, next_fire_at, held, edited_by, paused, name FROM schedules WHERE id = ?1 AND tenant = ?2",
    )?;
    let mut rows = statement.query((id.0, tenant.as_str()))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells { row, table: "schedules", id };
    let edited_by: Option<Uuid> = cells.get(3, "edited_by")?;
    Ok(Some(StoredHead {
        seen: row::seen(&cells, 0)?,
        edited_by: edited_by.map(EditId),
        is_paused: cells.get(4, "paused")?,
        name: cells.get(5, "name")?,
    }))
}

/// A schedule that is there, with its latest tick.
fn look(write: &Write<'_>, id: ScheduleId) -> Result<(Box<RawSchedule>, Option<TickView>), Fault> {
    let mut statement = write.prepared(concat!("SELECT ", schedule_columns!(), " FROM schedules WHERE id = ?1"))?;
    let mut rows = statement.query([id.0])?;
    match rows.next()? {
        Some(row) => Ok((Box::new(RawSchedule::try_from(row)?), ticks::latest(write.sql, id, write.now)?)),
        None => Err(Fault::misfit("schedules", "id", id, "gone between two looks of one transaction")),
    }
}
