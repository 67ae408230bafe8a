//! Which schedules are due, and which of those that hold a tick may let it go.
//!
//! One moment, in one round trip: both are found by their index, the most overdue first. What cannot be read is passed by, and
//! as many are looked at behind it. Those of disabled tenants are passed over: as many as have come due since.

use std::time::Duration;

use foreman_core::ports::{Counted, DueSchedule, DueSchedules, OPEN_JOBS_AMONG, Overdue, StoreError};
use foreman_core::{ScheduleId, TenantId, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::row::{columns, read};
use crate::error::Fault;
use crate::rows::number;
use crate::unreadable::Unreadable;
use crate::value::{Arg, Interval, Time, bound, one_more};
use crate::write::Transaction;

/// After a time and an id.
pub(crate) const DUE: &str = concat!(
    "SELECT ",
    columns!(),
    "
    FROM schedules
    WHERE schedules.next_fire_at <= foreman_now()
      AND (schedules.next_fire_at, schedules.id) > ($2::timestamptz, $3::uuid)
      AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = schedules.tenant) IS NOT TRUE
    ORDER BY schedules.next_fire_at, schedules.id LIMIT $1::bigint"
);
/// After an id. What is not free yet is mostly found out by its latest job.
pub(crate) const FREED: &str = concat!(
    "SELECT ",
    columns!(),
    "
    FROM schedules
    WHERE schedules.held IS NOT NULL AND NOT schedules.paused AND schedules.id > $2::uuid
      AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = schedules.tenant) IS NOT TRUE
      AND NOT EXISTS (
          SELECT FROM (
              SELECT ticks.job FROM ticks WHERE ticks.schedule = schedules.id AND ticks.open
              ORDER BY ticks.nominal DESC LIMIT $3::bigint
          ) AS fired
          WHERE EXISTS (SELECT FROM jobs WHERE jobs.id = fired.job)
            AND NOT EXISTS (SELECT FROM outcomes WHERE outcomes.job = fired.job)
      )
    ORDER BY schedules.id LIMIT $1::bigint"
);
/// When the next that is not due will be, what time it is, and whether a tick is held that could be let go.
pub(crate) const NEXT: &str = "SELECT
        (SELECT next_fire_at FROM schedules WHERE next_fire_at > foreman_now() ORDER BY next_fire_at LIMIT 1),
        foreman_now(),
        EXISTS (SELECT FROM schedules WHERE held IS NOT NULL AND NOT paused
                AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = schedules.tenant) IS NOT TRUE)";

/// A tenant's ticks that nobody has decided about yet, the longest due first. Of other tenants' as many are passed over as are
/// due: none, while the scheduler does its work. IS TRUE keeps the planner from walking over all of the tenant's schedules.
pub(crate) const OVERDUE: &str = "SELECT count(*), foreman_now() - min(next_fire_at) FROM (
        SELECT next_fire_at FROM schedules WHERE next_fire_at <= foreman_now() AND (tenant = $1::text) IS TRUE
        ORDER BY next_fire_at LIMIT $2::bigint
    ) AS due";

pub(super) async fn overdue(tx: &Transaction, tenant: &TenantId, enough: u64) -> Result<Overdue, Fault> {
    let row = tx.row(OVERDUE, &[&tenant.as_str(), &one_more(enough)]).await?;
    let Some(row) = row else { return Ok(Overdue::default()) };
    let longest: Option<Interval> = row.try_get(1)?;
    Ok(Overdue { counted: Counted::up_to(number(&row, 0)?, enough), longest: longest.map(|span| span.0) })
}

pub(super) async fn due(tx: &Transaction, limit: usize, unreadable: &Unreadable) -> Result<DueSchedules, Fault> {
    let among = bound(OPEN_JOBS_AMONG);
    let (mut due, mut freed) = (DueSearch::new(limit), DueSearch::new(limit));
    loop {
        let (due_room, freed_room) = (bound(due.room()), bound(freed.room()));
        let ((due_after, due_id), (_, freed_id)) = (due.after, freed.after);
        let due_args: [&dyn Arg; 3] = [&due_room, &Time(due_after), &due_id.0];
        let freed_args: [&dyn Arg; 3] = [&freed_room, &freed_id.0, &among];
        let answers = tx.all(&[(DUE, &due_args), (FREED, &freed_args), (NEXT, &[])]).await?;
        due.add(&answers[0], unreadable)?;
        freed.add(&answers[1], unreadable)?;
        if !due.is_over || !freed.is_over {
            continue;
        }
        let row = answers[2].first().ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
        let (next, now) = (row.try_get::<_, Option<Time>>(0)?, row.try_get::<_, Time>(1)?.0);
        let next_in: Option<Duration> = next.map(|next| next.0.since(now));
        let is_any_held = row.try_get(2)?;
        return Ok(DueSchedules { now, due: due.schedules, freed: freed.schedules, next_in, is_any_held });
    }
}

/// What was found so far of one kind, and where to go on.
struct DueSearch {
    schedules: Vec<DueSchedule>,
    limit: usize,
    after: (Timestamp, ScheduleId),
    is_over: bool,
}

impl DueSearch {
    fn new(limit: usize) -> Self {
        let after = (Timestamp::from_micros(i64::MIN), ScheduleId(Uuid::nil()));
        Self { schedules: Vec::new(), limit, after, is_over: limit == 0 }
    }

    /// How many are still wanted.
    fn room(&self) -> usize {
        if self.is_over { 0 } else { self.limit - self.schedules.len() }
    }

    fn add(&mut self, rows: &[Row], unreadable: &Unreadable) -> Result<(), Fault> {
        let is_last = rows.len() < self.room();
        if let Some(last) = rows.last() {
            let next: Option<Time> = last.try_get(6)?;
            self.after = (next.map_or(self.after.0, |next| next.0), ScheduleId(last.try_get(0)?));
        }
        self.schedules.extend(rows.iter().filter_map(|row| unreadable.pass_by(row, read(row))));
        self.is_over |= is_last || self.schedules.len() >= self.limit;
        Ok(())
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[DUE, FREED, NEXT, OVERDUE];
