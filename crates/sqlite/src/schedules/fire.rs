//! Firing: the ticks, their jobs and the schedule's next tick, in one transaction.
//!
//! A schedule that is not what was seen changes nothing, and holds up no other of the call. A tick is written once: its key
//! says whether it is there already, and with it its job is.

use foreman_core::ports::{
    Fired, Firing, NewTick, Note, OPEN_JOBS_AMONG, SeenSchedule, StoreError, TickAct, TickReason, TickState,
};
use foreman_core::schedule::{Decided, Decision, Overlap, decide};
use foreman_core::storage::NewJobRow;
use foreman_core::{JobId, ScheduleId, TenantId, Timestamp};
use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::open::{OPEN, Oldest, open_jobs};
use super::row;
use crate::error::Fault;
use crate::jobs::submit::Submission;
use crate::rows::Cells;
use crate::write::{BorrowedStatement, Write};

/// A firing, its jobs as their rows want them.
pub(super) struct PreparedFiring {
    schedule: ScheduleId,
    seen: SeenSchedule,
    overlap: Overlap,
    release: Option<NewJobRow>,
    ticks: Vec<(Timestamp, PreparedAct)>,
    next: Option<Timestamp>,
}

enum PreparedAct {
    Fire(NewJobRow),
    FireByHand(NewJobRow),
    Miss { last: Timestamp, count: Option<u32> },
    Refuse,
}

pub(super) fn prepare(firings: &[Firing]) -> Result<Vec<PreparedFiring>, StoreError> {
    firings.iter().map(prepare_one).collect()
}

fn prepare_one(firing: &Firing) -> Result<PreparedFiring, StoreError> {
    Ok(PreparedFiring {
        schedule: firing.schedule,
        seen: firing.seen,
        overlap: firing.overlap,
        release: firing.release.as_ref().map(NewJobRow::of).transpose()?,
        ticks: firing.ticks.iter().map(prepare_tick).collect::<Result<_, _>>()?,
        next: firing.next,
    })
}

fn prepare_tick(tick: &NewTick) -> Result<(Timestamp, PreparedAct), StoreError> {
    let act = match &tick.act {
        TickAct::Fire(job) => PreparedAct::Fire(NewJobRow::of(job)?),
        TickAct::FireByHand(job) => PreparedAct::FireByHand(NewJobRow::of(job)?),
        TickAct::Miss { last, count } => PreparedAct::Miss { last: *last, count: *count },
        TickAct::Refuse => PreparedAct::Refuse,
    };
    Ok((tick.nominal, act))
}

pub(super) fn fire(write: &Write<'_>, firings: &[PreparedFiring]) -> Result<Vec<Fired>, Fault> {
    let mut volley = Volley { write, submission: Submission::new(write), oldest: Oldest::look(write.sql)? };
    let fired = firings.iter().map(|firing| volley.fire(firing)).collect::<Result<_, _>>()?;
    volley.submission.keep()?;
    Ok(fired)
}

/// All that is fired in one transaction.
struct Volley<'w, 'c> {
    write: &'w Write<'c>,
    submission: Submission<'w, 'c>,
    /// Of those that were there before: no schedule is fired twice, so what is submitted here is in nobody's way.
    oldest: Oldest,
}

impl Volley<'_, '_> {
    fn fire(&mut self, firing: &PreparedFiring) -> Result<Fired, Fault> {
        let Some(whose) = self.as_seen(firing)? else { return Ok(Fired::Stale) };
        let due = self.ticks_to_decide(firing)?;
        let open = self.open_jobs(firing, due.len())?;
        let mut held = firing.seen.held;
        let release = firing.release.as_ref().filter(|_| open.is_empty());
        // What is released now is not worth cancelling.
        let is_open = !open.is_empty() || release.is_some() && firing.overlap != Overlap::Cancel;
        let is_held = held.is_some() && release.is_none();
        let Decided::Ticks(decisions) = decide(firing.overlap, due.len(), is_open, is_held) else {
            return Ok(Fired::CancelFirst(open));
        };
        let mut jobs = Vec::new();
        if let (Some(job), Some(nominal)) = (release, held.take_if(|_| release.is_some())) {
            self.release(&StoredTick::fired(&whose, nominal, None), job.id)?;
            self.submit(job, &mut jobs)?;
        }
        let mut decisions = due.into_iter().zip(decisions).peekable();
        for (nominal, act) in &firing.ticks {
            // Both are in the order given.
            let decision = decisions.next_if(|(due, _)| due == nominal).map(|(_, decision)| decision);
            self.tick(&whose, *nominal, act, decision, &mut jobs)?;
            if decision == Some(Decision::Hold) {
                held = Some(*nominal);
            }
        }
        self.move_on(firing, held)?;
        Ok(Fired::Done(jobs))
    }

    /// The schedule, if it is what was seen.
    fn as_seen(&self, firing: &PreparedFiring) -> Result<Option<Whose>, Fault> {
        let id = firing.schedule;
        let mut statement =
            self.write.prepared("SELECT version, next_fire_at, held, tenant, name FROM schedules WHERE id = ?1")?;
        let mut rows = statement.query([id.0])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let cells = Cells { row, table: "schedules", id };
        if row::seen(&cells, 0)? != firing.seen {
            return Ok(None);
        }
        Ok(Some(Whose { schedule: id, tenant: cells.tenant(3)?, name: cells.get(4, "name")? }))
    }

    /// Those the overlap has a say in: fired by the calendar, and not there already.
    fn ticks_to_decide(&self, firing: &PreparedFiring) -> Result<Vec<Timestamp>, Fault> {
        let mut statement = self.write.prepared("SELECT 1 FROM ticks WHERE schedule = ?1 AND nominal = ?2")?;
        let mut due = Vec::new();
        for (nominal, act) in &firing.ticks {
            if matches!(act, PreparedAct::Fire(_)) && !statement.exists((firing.schedule.0, nominal.as_micros()))? {
                due.push(*nominal);
            }
        }
        Ok(due)
    }

    /// As many as somebody asks about: none where everything may overlap, all that are to be cancelled.
    fn open_jobs(&self, firing: &PreparedFiring, due: usize) -> Result<Vec<JobId>, Fault> {
        let limit = match firing.overlap {
            Overlap::Cancel if due > 0 => OPEN_JOBS_AMONG,
            Overlap::Skip | Overlap::Queue if due > 0 => 1,
            _ if firing.release.is_some() => 1,
            _ => return Ok(Vec::new()),
        };
        let mut statement = self.write.prepared(OPEN)?;
        open_jobs(&mut statement, firing.schedule, self.oldest, limit)
    }

    fn tick(
        &mut self,
        whose: &Whose,
        nominal: Timestamp,
        act: &PreparedAct,
        decision: Option<Decision>,
        jobs: &mut Vec<JobId>,
    ) -> Result<(), Fault> {
        let fired = |nominal, reason| StoredTick::fired(whose, nominal, reason);
        let skipped = StoredTick { state: TickState::Skipped, ..fired(nominal, None) };
        match (act, decision) {
            (PreparedAct::Fire(job), Some(Decision::Fire)) => self.fire_tick(&fired(nominal, None), job, jobs),
            (PreparedAct::Fire(_), Some(Decision::Hold)) => {
                self.write_down(&StoredTick { state: TickState::Held, ..skipped }, None)
            }
            (PreparedAct::Fire(_), Some(Decision::Skip)) => {
                self.write_down(&StoredTick { reason: Some(TickReason::Overlap), ..skipped }, None)
            }
            // It is there already.
            (PreparedAct::Fire(_), None) => Ok(()),
            (PreparedAct::FireByHand(job), _) => {
                if let Some(nominal) = self.free_moment(whose.schedule, nominal, job.id)? {
                    return self.fire_tick(&fired(nominal, Some(TickReason::ByHand)), job, jobs);
                }
                jobs.push(job.id);
                Ok(())
            }
            (PreparedAct::Miss { last, count }, _) => {
                let reason = Some(TickReason::Missed);
                self.note_skipped(&StoredTick { reason, last: Some(*last), count: *count, ..skipped })
            }
            (PreparedAct::Refuse, _) => {
                self.note_skipped(&StoredTick { reason: Some(TickReason::TooManyWaiting), ..skipped })
            }
        }
    }

    /// The first from `nominal` on that no tick has; `None` when the tick of this very job is met.
    fn free_moment(&self, schedule: ScheduleId, nominal: Timestamp, job: JobId) -> Result<Option<Timestamp>, Fault> {
        let mut statement = self.write.prepared("SELECT job FROM ticks WHERE schedule = ?1 AND nominal = ?2")?;
        let mut nominal = nominal;
        loop {
            let tick: Option<Option<Uuid>> =
                statement.query_row((schedule.0, nominal.as_micros()), |row| row.get(0)).optional()?;
            match tick {
                None => return Ok(Some(nominal)),
                Some(made) if made == Some(job.0) => return Ok(None),
                Some(_) => nominal = Timestamp::from_micros(nominal.as_micros().saturating_add(1)),
            }
        }
    }

    fn fire_tick(&mut self, tick: &StoredTick<'_>, job: &NewJobRow, jobs: &mut Vec<JobId>) -> Result<(), Fault> {
        self.write_down(tick, Some(job.id))?;
        self.submit(job, jobs)
    }

    fn submit(&mut self, job: &NewJobRow, jobs: &mut Vec<JobId>) -> Result<(), Fault> {
        self.submission.submit(job)?;
        jobs.push(job.id);
        Ok(())
    }

    /// A tick that was looked for in this transaction and is not there.
    fn write_down(&self, tick: &StoredTick<'_>, job: Option<JobId>) -> Result<(), Fault> {
        let statement = self.write.prepared(
            "INSERT INTO ticks (schedule, nominal, state, reason, at, last, count, job)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        self.insert(statement, tick, job)
    }

    /// A held tick, which is fired now.
    fn release(&self, tick: &StoredTick<'_>, job: JobId) -> Result<(), Fault> {
        let statement = self.write.prepared(
            "INSERT INTO ticks (schedule, nominal, state, reason, at, last, count, job)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (schedule, nominal) DO UPDATE
             SET state = excluded.state, reason = excluded.reason, at = excluded.at, job = excluded.job",
        )?;
        self.insert(statement, tick, Some(job))
    }

    /// What is there already stays as it is.
    fn note_skipped(&self, tick: &StoredTick<'_>) -> Result<(), Fault> {
        let statement = self.write.prepared(
            "INSERT INTO ticks (schedule, nominal, state, reason, at, last, count, job)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (schedule, nominal) DO NOTHING",
        )?;
        self.insert(statement, tick, None)
    }

    fn insert(
        &self,
        mut statement: BorrowedStatement<'_, '_>,
        tick: &StoredTick<'_>,
        job: Option<JobId>,
    ) -> Result<(), Fault> {
        let Whose { schedule, tenant, name } = tick.whose;
        let written = statement.execute((
            schedule.0,
            tick.nominal.as_micros(),
            tick.state.as_str(),
            tick.reason.and_then(TickReason::stored),
            self.write.now.as_micros(),
            tick.last.map(Timestamp::as_micros),
            tick.count,
            job.map(|job| job.0),
        ))?;
        if written == 1 {
            self.write.tell(Note::Tick {
                tenant: tenant.clone(),
                schedule: *schedule,
                name: name.clone(),
                nominal: tick.nominal,
                state: tick.state,
                job,
            });
        }
        Ok(())
    }

    fn move_on(&self, firing: &PreparedFiring, held: Option<Timestamp>) -> Result<(), Fault> {
        self.write.prepared("UPDATE schedules SET next_fire_at = ?2, held = ?3 WHERE id = ?1")?.execute((
            firing.schedule.0,
            firing.next.map(Timestamp::as_micros),
            held.map(Timestamp::as_micros),
        ))?;
        Ok(())
    }
}

/// The schedule that is fired, as whoever watches is told of it.
struct Whose {
    schedule: ScheduleId,
    tenant: TenantId,
    name: String,
}

/// A row of `ticks`, but for its job and its moment.
struct StoredTick<'a> {
    whose: &'a Whose,
    nominal: Timestamp,
    state: TickState,
    reason: Option<TickReason>,
    last: Option<Timestamp>,
    count: Option<u32>,
}

impl<'a> StoredTick<'a> {
    fn fired(whose: &'a Whose, nominal: Timestamp, reason: Option<TickReason>) -> Self {
        Self { whose, nominal, state: TickState::Fired, reason, last: None, count: Some(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedules::bare::Bare;

    #[test]
    fn one_of_five_hundred_costs_what_one_of_fifty_does() {
        for overlap in [Overlap::Allow, Overlap::Skip, Overlap::Cancel] {
            let cost = |schedules: usize| {
                let mut bare = Bare::new();
                bare.plant(schedules);
                bare.advance_to_next();
                let prepared = prepare(&bare.firings(overlap)).expect("jobs are written down");
                let (fired, steps) = bare.steps(|bare| bare.write(|write| fire(write, &prepared)));
                assert!(fired.iter().all(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)));
                steps / schedules
            };
            let (few, many) = (cost(50), cost(500));
            assert!(many <= few + few / 2, "{overlap:?}: {many} steps each among 500, {few} among 50");
        }
    }
}
