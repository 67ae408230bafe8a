//! Which schedules have something to fire, and when the next one will.

use foreman_core::ports::{Counted, DueSchedule, DueSchedules, Overdue};
use foreman_core::{TenantId, Timestamp};
use rusqlite::{CachedStatement, OptionalExtension, Params, Row};

use super::open::{OPEN, Oldest, open_jobs};
use super::row::{self, RawSchedule, schedule_columns};
use crate::disabled::DisabledTenants;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::unreadable::Unreadable;

/// The most overdue first. Without a limit: what cannot be read does not count, and reading ends when there is enough.
const DUE: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules INDEXED BY schedules_due
     WHERE next_fire_at IS NOT NULL AND next_fire_at <= ?1 ORDER BY next_fire_at, id"
);

const NEXT: &str = "SELECT next_fire_at FROM schedules INDEXED BY schedules_due
     WHERE next_fire_at IS NOT NULL AND next_fire_at > ?1 ORDER BY next_fire_at LIMIT 1";

/// Where `schedule_columns!` has the tenant.
const TENANT: usize = 1;

/// Whose the held ones are.
const ANY_HELD: &str = "SELECT tenant FROM schedules INDEXED BY schedules_held WHERE held IS NOT NULL AND paused = 0";

/// A tenant's, no further than enough. It goes through the due ones of all tenants, which are few unless the scheduler is away.
const OVERDUE: &str = "SELECT count(*), min(next_fire_at) FROM (
         SELECT next_fire_at FROM schedules INDEXED BY schedules_due
         WHERE next_fire_at IS NOT NULL AND next_fire_at <= ?2 AND tenant = ?1 ORDER BY next_fire_at LIMIT ?3)";

/// Those with a held tick, by id.
const HELD: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules INDEXED BY schedules_held WHERE held IS NOT NULL AND paused = 0 ORDER BY id"
);

/// Those of disabled tenants are passed over: as many as have come due since.
pub(super) fn due(
    read: &ReadSnapshot<'_>,
    limit: usize,
    unreadable: &Unreadable,
    disabled: &DisabledTenants,
) -> Result<DueSchedules, Fault> {
    let now = read.now.as_micros();
    let disabled = disabled.look(read.sql)?;
    let next: Option<i64> = read.sql.prepare_cached(NEXT)?.query_row([now], |row| row.get(0)).optional()?;
    let is_enabled = |row: &Row<'_>, place: usize| -> Result<bool, Fault> {
        Ok(disabled.is_empty() || !disabled.contains(&TenantId::new(row.get::<_, String>(place)?)))
    };
    let is_any_held = {
        let mut statement = read.sql.prepare_cached(ANY_HELD)?;
        let (mut rows, mut found) = (statement.query([])?, false);
        while !found {
            let Some(row) = rows.next()? else { break };
            found = is_enabled(row, 0)?;
        }
        found
    };
    let any = |row: &Row<'_>| is_enabled(row, TENANT);
    let (oldest, mut open) = (Oldest::look(read.sql)?, read.sql.prepare_cached(OPEN)?);
    let nothing_open = |row: &Row<'_>| {
        let cells = Cells::of_schedule(row, "schedules", 0)?;
        Ok(is_enabled(row, TENANT)? && open_jobs(&mut open, cells.id, oldest, 1)?.is_empty())
    };
    Ok(DueSchedules {
        now: read.now,
        due: collect(read.sql.prepare_cached(DUE)?, [now], limit, unreadable, any)?,
        freed: collect(read.sql.prepare_cached(HELD)?, [], limit, unreadable, nothing_open)?,
        next_in: next.map(|next| Timestamp::from_micros(next).since(read.now)),
        is_any_held,
    })
}

pub(super) fn overdue(read: &ReadSnapshot<'_>, tenant: &TenantId, enough: u64) -> Result<Overdue, Fault> {
    let one_more = i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1);
    let mut statement = read.sql.prepare_cached(OVERDUE)?;
    let (count, first): (i64, Option<i64>) =
        statement.query_row((tenant.as_str(), read.now.as_micros(), one_more), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Overdue {
        counted: Counted::up_to(count.unsigned_abs(), enough),
        longest: first.map(|first| read.now.since(Timestamp::from_micros(first))),
    })
}

fn collect(
    mut statement: CachedStatement<'_>,
    parameters: impl Params,
    limit: usize,
    unreadable: &Unreadable,
    mut is_wanted: impl FnMut(&Row<'_>) -> Result<bool, Fault>,
) -> Result<Vec<DueSchedule>, Fault> {
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        if is_wanted(row)? {
            found.extend(unreadable.left_out(|| row::called(row), due_schedule(row))?);
        }
    }
    Ok(found)
}

fn due_schedule(row: &Row<'_>) -> Result<DueSchedule, Fault> {
    let written = RawSchedule::try_from(row)?;
    let seen = written.seen;
    Ok(DueSchedule { schedule: written.read()?, seen })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::schedules::bare::Bare;

    #[test]
    fn due_ones_are_found_by_a_search_of_the_index() {
        let bare = Bare::new();
        for (question, expected) in [
            (DUE, "SEARCH schedules USING INDEX schedules_due (next_fire_at>? AND next_fire_at<?)"),
            (NEXT, "SEARCH schedules USING COVERING INDEX schedules_due (next_fire_at>?)"),
            // The index has held ones alone.
            (ANY_HELD, "SCAN schedules USING INDEX schedules_held"),
            (HELD, "SCAN schedules USING INDEX schedules_held"),
        ] {
            assert_eq!(bare.plan(question), [expected], "{question}");
        }
        let overdue = bare.plan(OVERDUE);
        let expected = "SEARCH schedules USING INDEX schedules_due (next_fire_at>? AND next_fire_at<?)";
        assert!(overdue.iter().any(|step| step == expected), "{overdue:?}");
    }

    #[test]
    fn a_look_costs_the_same_however_many_are_not_due() {
        let cost = |others: usize| {
            let mut bare = Bare::new();
            bare.plant(3);
            bare.advance(Duration::from_secs(50));
            bare.plant(others);
            bare.advance(Duration::from_secs(10));
            let (look, steps) = bare.steps(|bare| bare.due(100));
            assert_eq!((look.due.len(), look.is_any_held), (3, false));
            assert_eq!(look.next_in, (others > 0).then_some(Duration::from_secs(50)));
            steps
        };
        let (few, many) = (cost(1), cost(2_000));
        assert!(many <= few + few / 10, "{many} steps among 2000 others, {few} beside one");
    }

    #[test]
    fn one_that_cannot_be_read_keeps_no_other_from_its_turn_and_is_spoken_of_once() {
        let bare = Bare::new();
        bare.plant(5);
        let spoilt = bare.ids()[0];
        bare.advance_to_next();
        bare.sql
            .execute("UPDATE schedules SET spec = json_set(spec, '$.moon', 'full') WHERE id = ?1", [spoilt.0])
            .expect("fits");
        for _ in 0..3 {
            let due = bare.due(4).due;
            assert_eq!(due.len(), 4, "the step is full");
            assert!(due.iter().all(|due| due.schedule.id != spoilt));
        }
        assert_eq!(bare.unreadable.count(), 1);
    }
}
