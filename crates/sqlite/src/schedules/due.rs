//! Which schedules have something to fire, and when the next one will.

use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::ports::{DueSchedule, DueSchedules};
use rusqlite::{CachedStatement, OptionalExtension, Params};

use super::fire::open_jobs;
use super::row::{Written, schedule_columns};
use super::unreadable::Unreadable;
use crate::error::Fault;
use crate::readers::Read;

/// The most overdue first. Without a limit: what cannot be read does not count, and reading ends when there is enough.
const DUE: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules INDEXED BY schedules_due
     WHERE next_fire_at IS NOT NULL AND next_fire_at <= ?1 ORDER BY next_fire_at, id"
);

const NEXT: &str = "SELECT next_fire_at FROM schedules INDEXED BY schedules_due
     WHERE next_fire_at IS NOT NULL AND next_fire_at > ?1 ORDER BY next_fire_at LIMIT 1";

const ANY_HELD: &str =
    "SELECT 1 FROM schedules INDEXED BY schedules_held WHERE held IS NOT NULL AND paused = 0 LIMIT 1";

/// Those with a held tick, by id.
const HELD: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules INDEXED BY schedules_held WHERE held IS NOT NULL AND paused = 0 ORDER BY id"
);

pub(super) fn due(read: &Read<'_>, limit: usize, unreadable: &Unreadable) -> Result<DueSchedules, Fault> {
    let now = read.now.as_micros();
    let next: Option<i64> = read.sql.prepare_cached(NEXT)?.query_row([now], |row| row.get(0)).optional()?;
    let any_held: Option<()> = read.sql.prepare_cached(ANY_HELD)?.query_row([], |_| Ok(())).optional()?;
    let all = |_: &Written| Ok(true);
    let nothing_open = |written: &Written| Ok(open_jobs(read.sql, written.id, 1)?.is_empty());
    Ok(DueSchedules {
        now: read.now,
        due: collect(read.sql.prepare_cached(DUE)?, [now], limit, unreadable, all)?,
        freed: collect(read.sql.prepare_cached(HELD)?, [], limit, unreadable, nothing_open)?,
        next_in: next.map(|next| far_off(next, read.now)),
        is_any_held: any_held.is_some(),
    })
}

fn far_off(next: i64, now: Timestamp) -> Duration {
    Timestamp::from_micros(next).since(now)
}

fn collect(
    mut statement: CachedStatement<'_>,
    parameters: impl Params,
    limit: usize,
    unreadable: &Unreadable,
    is_wanted: impl Fn(&Written) -> Result<bool, Fault>,
) -> Result<Vec<DueSchedule>, Fault> {
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        let Some(written) = unreadable.left_out(row, Written::try_from(row))? else { continue };
        if is_wanted(&written)? {
            let seen = written.seen;
            let schedule = unreadable.left_out(row, written.read())?;
            found.extend(schedule.map(|schedule| DueSchedule { schedule, seen }));
        }
    }
    Ok(found)
}
