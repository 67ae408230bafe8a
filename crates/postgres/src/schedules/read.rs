//! Schedules as they are shown, each with its latest tick.

use foreman_core::ports::{ScheduleHead, ScheduleView, SeenSchedule, StoreError};
use foreman_core::schedule::{ScheduleKey, ScheduleName};
use foreman_core::{ScheduleId, TenantId, Timestamp};
use uuid::Uuid;

use super::row::view;
use crate::error::Fault;
use crate::rows::Cells;
use crate::unreadable::Unreadable;
use crate::value::{Time, bound};
use crate::write::Transaction;

/// Schedules from `$from`, each with its latest tick: what [`view`] reads.
macro_rules! views {
    ($from:literal, $tail:literal) => {
        concat!(
            "SELECT ",
            $crate::schedules::row::columns!(),
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
pub(crate) const STANDING_BY_ID: &str = "SELECT id, name, version, next_fire_at, held, created_at FROM schedules
    WHERE tenant = $1::text AND id = $2::uuid";
pub(crate) const STANDING_BY_NAME: &str = "SELECT id, name, version, next_fire_at, held, created_at FROM schedules
    WHERE tenant = $1::text AND name = $2::text";

pub(super) async fn time(tx: &Transaction) -> Result<Timestamp, Fault> {
    let row = tx.row(NOW, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
    Ok(row.try_get::<_, Time>(0)?.0)
}

pub(super) async fn one(tx: &Transaction, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, Fault> {
    let row = match key {
        ScheduleKey::Id(id) => tx.row(BY_ID, &[&tenant.as_str(), &id.0]).await?,
        ScheduleKey::Name(name) => tx.row(BY_NAME, &[&tenant.as_str(), &name.as_str()]).await?,
    };
    row.as_ref().map(view).transpose()
}

pub(super) async fn schedule_head(
    tx: &Transaction,
    tenant: &TenantId,
    key: &ScheduleKey,
) -> Result<Option<ScheduleHead>, Fault> {
    let row = match key {
        ScheduleKey::Id(id) => tx.row(STANDING_BY_ID, &[&tenant.as_str(), &id.0]).await?,
        ScheduleKey::Name(name) => tx.row(STANDING_BY_NAME, &[&tenant.as_str(), &name.as_str()]).await?,
    };
    let Some(row) = &row else { return Ok(None) };
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit("schedules", "id", "unknown", error))?;
    let cells = Cells { row, table: "schedules", id: ScheduleId(id) };
    let seen = SeenSchedule {
        version: cells.get(2, "version")?,
        next: cells.maybe_time(3, "next_fire_at")?,
        held: cells.maybe_time(4, "held")?,
    };
    let (name, created_at) = (ScheduleName::from_stored(cells.get(1, "name")?), cells.time(5, "created_at")?);
    Ok(Some(ScheduleHead { id: cells.id, name, seen, created_at }))
}

pub(super) async fn list(
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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[BY_ID, BY_NAME, STANDING_BY_ID, STANDING_BY_NAME, LIST, NOW];
