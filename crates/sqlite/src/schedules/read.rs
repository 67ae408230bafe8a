//! Schedules as they are shown, each with its latest tick.

use foreman_core::ports::{ScheduleHead, ScheduleView};
use foreman_core::schedule::{ScheduleKey, ScheduleName};
use foreman_core::{TenantId, Timestamp};
use rusqlite::{Connection, Row};

use super::row::{self, RawSchedule, schedule_columns};
use super::ticks;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::unreadable::Unreadable;

pub(super) fn schedule(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    key: &ScheduleKey,
) -> Result<Option<ScheduleView>, Fault> {
    one(read, tenant, key, |row| view(read.sql, row, read.now))
}

pub(super) fn schedule_head(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    key: &ScheduleKey,
) -> Result<Option<ScheduleHead>, Fault> {
    one(read, tenant, key, |row| Ok(RawSchedule::try_from(row)?.schedule_head()))
}

fn one<T>(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    key: &ScheduleKey,
    make: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    const BY_ID: &str = concat!("SELECT ", schedule_columns!(), " FROM schedules WHERE tenant = ?1 AND id = ?2");
    const BY_NAME: &str = concat!("SELECT ", schedule_columns!(), " FROM schedules WHERE tenant = ?1 AND name = ?2");
    let mut statement = read.sql.prepare_cached(match key {
        ScheduleKey::Id(_) => BY_ID,
        ScheduleKey::Name(_) => BY_NAME,
    })?;
    let mut rows = match key {
        ScheduleKey::Id(id) => statement.query((tenant.as_str(), id.0))?,
        ScheduleKey::Name(name) => statement.query((tenant.as_str(), name.as_str()))?,
    };
    rows.next()?.map(make).transpose()
}

/// Reads on until the page is full: what is left out does not shorten it, for a short page would look like the last.
pub(super) fn schedules(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    after: Option<&ScheduleName>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<ScheduleView>, Fault> {
    let mut statement = read.sql.prepare_cached(concat!(
        "SELECT ",
        schedule_columns!(),
        " FROM schedules WHERE tenant = ?1 AND name > ?2 ORDER BY name"
    ))?;
    // Every name comes after the empty one, which is none.
    let mut rows = statement.query((tenant.as_str(), after.map_or("", ScheduleName::as_str)))?;
    let mut views = Vec::new();
    while views.len() < limit {
        let Some(row) = rows.next()? else { break };
        views.extend(unreadable.left_out(|| row::called(row), view(read.sql, row, read.now))?);
    }
    Ok(views)
}

fn view(sql: &Connection, row: &Row<'_>, now: Timestamp) -> Result<ScheduleView, Fault> {
    let written = RawSchedule::try_from(row)?;
    let last_tick = ticks::latest(sql, written.id, now)?;
    written.view(last_tick)
}
