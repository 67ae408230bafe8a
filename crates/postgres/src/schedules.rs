//! Schedules as they are kept: made, read, changed and removed, each in one transaction of a round trip or two.
//!
//! What two do at once is decided by the schedule's row: whoever changes or fires it compares, under its lock, all that the
//! decision was based on. An edit leaves its id there, so that one whose answer was lost is known when it is sent again. A
//! process that dies half way leaves the row as it was.
//!
//! A row that cannot be read, because a later version has written it, is left out where others are asked for along with it, and
//! said so in the log, once.

pub(crate) mod due;
pub(crate) mod fire;
pub(crate) mod ticks;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use foreman_core::ports::{
    Became, CreateAnswer, DeleteAnswer, DueSchedule, DueSchedules, Edit, EditAnswer, Fired, Firing, Leader, Note,
    Overdue, ScheduleStore, ScheduleView, Seen, Standing, StoreError, TickView, Topic,
};
use foreman_core::schedule::{NewSchedule, Schedule, ScheduleKey, ScheduleName};
use foreman_core::{ScheduleId, TenantId, Timestamp};
use tokio_postgres::Row;
use tracing::error;
use uuid::Uuid;

use crate::error::Fault;
use crate::places::LOOKS;
use crate::rows::{Cells, json};
use crate::value::{Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "schedules.id, schedules.tenant, schedules.name, schedules.spec, schedules.work, schedules.version,
       schedules.next_fire_at, schedules.held, schedules.created_at, schedules.paused, schedules.edited_at,
       schedules.edited_by"
    };
}
pub(crate) use columns;

/// Schedules from `$from`, each with its latest tick: what [`view`] reads.
macro_rules! views {
    ($from:literal, $tail:literal) => {
        concat!(
            "SELECT ",
            $crate::schedules::columns!(),
            ",\n       ",
            $crate::schedules::ticks::columns!(),
            "\n    FROM ",
            $from,
            "
    LEFT JOIN LATERAL (
        SELECT * FROM ticks WHERE ticks.schedule = schedules.id ORDER BY ticks.nominal DESC LIMIT 1
    ) AS tick ON true
    LEFT JOIN jobs ON jobs.id = tick.job
    LEFT JOIN ready ON ready.job = jobs.id
    LEFT JOIN outcomes ON outcomes.job = jobs.id
    ",
            $tail
        )
    };
}

pub(crate) const NOW: &str = "SELECT foreman_now()";
pub(crate) const BY_ID: &str = views!("schedules", "WHERE schedules.tenant = $1::text AND schedules.id = $2::uuid");
pub(crate) const BY_NAME: &str = views!("schedules", "WHERE schedules.tenant = $1::text AND schedules.name = $2::text");
pub(crate) const LIST: &str = views!(
    "(SELECT * FROM schedules WHERE tenant = $1::text AND name > $2::text ORDER BY name LIMIT $3::bigint) AS schedules",
    "ORDER BY schedules.name"
);
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
pub(crate) const STANDING_BY_ID: &str = "SELECT id, name, version, next_fire_at, held, created_at FROM schedules
    WHERE tenant = $1::text AND id = $2::uuid";
pub(crate) const STANDING_BY_NAME: &str = "SELECT id, name, version, next_fire_at, held, created_at FROM schedules
    WHERE tenant = $1::text AND name = $2::text";
pub(crate) const EXISTS: &str = "SELECT 1 FROM schedules WHERE id = $1::uuid AND tenant = $2::text";

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        look!(self, Look, |tx| time(&tx).await)
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        let (spec, work) = (json(&*new.schedule.spec)?, json(&*new.schedule.work)?);
        transact!(self, data, Write, |tx| create(&tx, new, &spec, &work).await)
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        look!(self, Look, |tx| one(&tx, tenant, key).await)
    }

    async fn standing(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<Standing>, StoreError> {
        look!(self, Look, |tx| standing(&tx, tenant, key).await)
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        look!(self, Read, |tx| list(&tx, tenant, after, limit, &self.parts.unreadable).await)
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        look!(self, Look, |tx| due::overdue(&tx, tenant, enough).await)
    }

    async fn edit_schedule(&self, tenant: &TenantId, asked: &Edit) -> Result<EditAnswer, StoreError> {
        let (spec, work) = (json(&*asked.spec)?, json(&*asked.work)?);
        transact!(self, data, Write, |tx| edit(&tx, tenant, asked, &spec, &work).await)
    }

    async fn delete_schedule(&self, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Result<DeleteAnswer, StoreError> {
        transact!(self, data, Write, |tx| delete(&tx, tenant, id, seen).await)
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        look!(self, Read, |tx| due::due(&tx, limit, &self.parts.unreadable).await)
    }

    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        fire::fire(self, leader, firings).await
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        look!(self, Look, |tx| ticks::list(&tx, schedule, before, limit).await)
    }
}

async fn time(tx: &Transaction) -> Result<Timestamp, Fault> {
    let row = tx.row(NOW, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
    Ok(row.try_get::<_, Time>(0)?.0)
}

async fn create(tx: &Transaction, new: &NewSchedule, spec: &str, work: &str) -> Result<CreateAnswer, Fault> {
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

async fn one(tx: &Transaction, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, Fault> {
    let row = match key {
        ScheduleKey::Id(id) => tx.row(BY_ID, &[&tenant.as_str(), &id.0]).await?,
        ScheduleKey::Name(name) => tx.row(BY_NAME, &[&tenant.as_str(), &name.as_str()]).await?,
    };
    row.as_ref().map(view).transpose()
}

async fn standing(tx: &Transaction, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<Standing>, Fault> {
    let row = match key {
        ScheduleKey::Id(id) => tx.row(STANDING_BY_ID, &[&tenant.as_str(), &id.0]).await?,
        ScheduleKey::Name(name) => tx.row(STANDING_BY_NAME, &[&tenant.as_str(), &name.as_str()]).await?,
    };
    let Some(row) = &row else { return Ok(None) };
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit("schedules", "id", "unknown", error))?;
    let cells = Cells { row, table: "schedules", id: ScheduleId(id) };
    let seen = Seen {
        version: cells.get(2, "version")?,
        next: cells.maybe_time(3, "next_fire_at")?,
        held: cells.maybe_time(4, "held")?,
    };
    let (name, created_at) = (ScheduleName::from_stored(cells.get(1, "name")?), cells.time(5, "created_at")?);
    Ok(Some(Standing { id: cells.id, name, seen, created_at }))
}

async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    after: Option<&ScheduleName>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<ScheduleView>, Fault> {
    let mut views = Vec::new();
    // No name is empty.
    let mut after = after.map_or("", ScheduleName::as_str).to_owned();
    while views.len() < limit {
        let room = limit - views.len();
        let rows = tx.rows(LIST, &[&tenant.as_str(), &after.as_str(), &bound(room)]).await?;
        views.extend(rows.iter().filter_map(|row| unreadable.pass_by(row, view(row))));
        match rows.last() {
            Some(last) if rows.len() == room => after = last.try_get(2)?,
            _ => break,
        }
    }
    Ok(views)
}

async fn edit(tx: &Transaction, tenant: &TenantId, edit: &Edit, spec: &str, work: &str) -> Result<EditAnswer, Fault> {
    let Seen { version, next, held } = edit.seen;
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

async fn delete(tx: &Transaction, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Result<DeleteAnswer, Fault> {
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

/// Where `edited_by` stands among the columns, which is the last of them.
const EDITED_BY: usize = 11;

/// From the columns of [`columns`], the first of a row.
pub(crate) fn read(row: &Row) -> Result<DueSchedule, Fault> {
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
    let seen = Seen {
        version: cells.get(5, "version")?,
        next: cells.maybe_time(6, "next_fire_at")?,
        held: cells.maybe_time(7, "held")?,
    };
    Ok(DueSchedule { schedule, seen })
}

/// The same with its latest tick.
fn view(row: &Row) -> Result<ScheduleView, Fault> {
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

/// Schedules that could not be read, so that each is told of once.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<HashSet<Uuid>>);

/// So many are remembered; more are not told of.
const MOST_TOLD: usize = 1_000;

impl Unreadable {
    /// What was read, if it could be.
    pub fn pass_by<T>(&self, row: &Row, read: Result<T, Fault>) -> Option<T> {
        let fault = match read {
            Ok(value) => return Some(value),
            Err(fault) => fault,
        };
        let id: Uuid = row.try_get(0).unwrap_or_default();
        let mut told = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(id) {
            error!(schedule.id = %id, "schedule {id} does not fire, because it cannot be read: {fault}");
        }
        None
    }
}

/// For the test that prepares every statement: those of this file and of each file below it.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    &[BY_ID, BY_NAME, CREATE, DELETE, EDIT, STANDING_BY_ID, STANDING_BY_NAME, EXISTS, LIST, LOCK, NOW],
    due::STATEMENTS,
    fire::STATEMENTS,
    ticks::STATEMENTS,
];
