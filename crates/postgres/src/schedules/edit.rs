//! Making, editing and deleting a schedule.
//!
//! All three can be sent again: a creation is known by the schedule's id, an edit by its own, which it leaves in the row, and what
//! is deleted is gone. An edit and a delete hold only while the schedule is what was seen and nothing of it is due.

use foreman_core::ports::{
    Became, CreateAnswer, DeleteAnswer, Edit, EditAnswer, Note, SeenSchedule, StoreError, Topic,
};
use foreman_core::schedule::{NewSchedule, Schedule};
use foreman_core::{ScheduleId, TenantId};
use uuid::Uuid;

use super::read::{BY_ID, BY_NAME};
use super::row::{EDITED_BY, view};
use crate::error::Fault;
use crate::places::LOOKS;
use crate::value::Time;
use crate::write::Transaction;

pub(crate) const CREATE: &str = "INSERT INTO schedules
        (id, tenant, name, spec, work, version, next_fire_at, held, paused, created_at, edited_at, edited_by)
    VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::text, 1, $6::timestamptz, NULL, $7::boolean, $8::timestamptz,
            foreman_now(), NULL)
    ON CONFLICT DO NOTHING RETURNING 1";
/// What an edit finds: it is told apart from what was there.
pub(crate) const LOCK: &str = "SELECT name, paused FROM schedules WHERE id = $1::uuid AND tenant = $2::text FOR UPDATE";
/// After [`LOCK`]: whoever waited there for somebody else's change or firing compares with what that one has left.
pub(crate) const EDIT: &str = "UPDATE schedules
    SET spec = $6::text, work = $7::text, paused = $8::boolean, next_fire_at = $9::timestamptz, version = version + 1,
        edited_at = foreman_now(), edited_by = $10::uuid
    WHERE id = $1::uuid AND tenant = $2::text AND version = $3::bigint
      AND next_fire_at IS NOT DISTINCT FROM $4::timestamptz AND held IS NOT DISTINCT FROM $5::timestamptz
      AND (next_fire_at IS NULL OR next_fire_at > foreman_now())
      AND edited_by IS DISTINCT FROM $10
    RETURNING 1";
pub(crate) const DELETE: &str = "WITH gone AS (
        DELETE FROM schedules
        WHERE id = $1::uuid AND tenant = $2::text AND version = $3::bigint
          AND next_fire_at IS NOT DISTINCT FROM $4::timestamptz AND held IS NOT DISTINCT FROM $5::timestamptz
          AND (next_fire_at IS NULL OR next_fire_at > foreman_now())
        RETURNING id, held, name
    ),
    let_go AS (
        UPDATE ticks SET state = 'skipped', reason = 'deleted', at = foreman_now()
        FROM gone WHERE ticks.schedule = gone.id AND ticks.nominal = gone.held AND ticks.state = 'held'
    )
    SELECT name FROM gone";
pub(crate) const EXISTS: &str = "SELECT 1 FROM schedules WHERE id = $1::uuid AND tenant = $2::text";

pub(super) async fn create(tx: &Transaction, new: &NewSchedule, spec: &str, work: &str) -> Result<CreateAnswer, Fault> {
    let Schedule { id, tenant, name, created_at, .. } = &new.schedule;
    let (tenant, name) = (tenant.as_str(), name.as_str());
    let (next, created_at) = (new.next.map(Time), Time(*created_at));
    for _ in 0..LOOKS {
        let answers = tx
            .all(&[
                (CREATE, &[&id.0, &tenant, &name, &spec, &work, &next, &new.is_paused, &created_at]),
                (BY_NAME, &[&tenant, &name]),
            ])
            .await?;
        if !answers[0].is_empty() {
            tx.ring(Topic::Scheduled);
            tell(tx, &new.schedule.tenant, *id, name, Became::Created);
        }
        // Whoever had the name may have been deleted since: then it is free.
        let Some(row) = answers[1].first() else { continue };
        let holder = ScheduleId(row.try_get(0)?);
        return if holder == *id { view(row).map(CreateAnswer::Created) } else { Ok(CreateAnswer::NameTaken(holder)) };
    }
    Err(StoreError::Broken(format!("schedule {id} was not created, although its name is free")).into())
}

/// Whoever watches learns what became of a schedule.
fn tell(tx: &Transaction, tenant: &TenantId, schedule: ScheduleId, name: &str, became: Became) {
    tx.tell(Note::Schedule { tenant: tenant.clone(), schedule, name: name.to_owned(), became });
}

pub(super) async fn edit(
    tx: &Transaction,
    tenant: &TenantId,
    edit: &Edit,
    spec: &str,
    work: &str,
) -> Result<EditAnswer, Fault> {
    let SeenSchedule { version, next, held } = edit.seen;
    let (id, owner, next, held) = (edit.schedule.0, tenant.as_str(), next.map(Time), held.map(Time));
    let (new_next, edit_id) = (edit.next.map(Time), edit.id.0);
    let answers = tx
        .all(&[
            (LOCK, &[&id, &owner]),
            (EDIT, &[&id, &owner, &version, &next, &held, &spec, &work, &edit.is_paused, &new_next, &edit_id]),
            (BY_ID, &[&owner, &id]),
        ])
        .await?;
    if let (Some(was), false) = (answers[0].first(), answers[1].is_empty()) {
        tx.ring(Topic::Scheduled);
        let became = Became::by_edit(was.try_get(1)?, edit.is_paused);
        tell(tx, tenant, edit.schedule, was.try_get(0)?, became);
    }
    let Some(row) = answers[2].first() else { return Ok(EditAnswer::Gone) };
    let last_edit: Option<Uuid> = row.try_get(EDITED_BY)?;
    if last_edit == Some(edit_id) { view(row).map(EditAnswer::Edited) } else { Ok(EditAnswer::Stale) }
}

pub(super) async fn delete(
    tx: &Transaction,
    tenant: &TenantId,
    id: ScheduleId,
    seen: SeenSchedule,
) -> Result<DeleteAnswer, Fault> {
    let (owner, next, held) = (tenant.as_str(), seen.next.map(Time), seen.held.map(Time));
    let answers =
        tx.all(&[(DELETE, &[&id.0, &owner, &seen.version, &next, &held]), (EXISTS, &[&id.0, &owner])]).await?;
    if let Some(gone) = answers[0].first() {
        tell(tx, tenant, id, gone.try_get(0)?, Became::Deleted);
    }
    Ok(match (answers[0].is_empty(), answers[1].is_empty()) {
        (false, _) => DeleteAnswer::Deleted,
        (true, false) => DeleteAnswer::Stale,
        (true, true) => DeleteAnswer::Gone,
    })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CREATE, DELETE, EDIT, EXISTS, LOCK];
