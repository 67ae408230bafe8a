//! Schedules and what became of their ticks.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use super::rules::Rule;
use crate::id::{EditId, JobId, ScheduleId, TenantId};
use crate::job::NewJob;
use crate::ports::{
    Became, Counted, CreateAnswer, DeleteAnswer, DueSchedule, DueSchedules, Edit, EditAnswer, Fired, Firing, Leader,
    NewTick, Note, OPEN_JOBS_AMONG, Overdue, ScheduleStore, ScheduleView, SeenSchedule, StoreError, TickAct,
    TickReason, TickState, TickView, Topic,
};
use crate::schedule::{Decided, Decision, NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleName, decide};
use crate::time::Timestamp;

#[async_trait]
impl ScheduleStore for Store {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_schedule(new, now)))
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        Ok(self.read(|places, now| places.schedule(tenant, key, now)))
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        Ok(self.read(|places, now| places.schedules(tenant, after, limit, now)))
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        Ok(self.read(|places, now| places.overdue(tenant, enough, now)))
    }

    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError> {
        Ok(self.write(|places, now| places.edit_schedule(tenant, edit, now)))
    }

    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        id: ScheduleId,
        seen: SeenSchedule,
    ) -> Result<DeleteAnswer, StoreError> {
        Ok(self.write(|places, now| places.delete_schedule(tenant, id, seen, now)))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        Ok(self.read(|places, now| places.due_schedules(limit, now)))
    }

    /// There are no terms: one process has it for itself.
    async fn fire(&self, _leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        Ok(Some(self.write(|places, now| firings.iter().map(|firing| places.fire(firing, now)).collect())))
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        Ok(self.read(|places, now| places.ticks(schedule, before, limit, now)))
    }
}

pub(super) struct ScheduleRow {
    schedule: Schedule,
    seen: SeenSchedule,
    is_paused: bool,
    edited_at: Timestamp,
    edited_by: Option<EditId>,
}

#[derive(Clone)]
pub(super) struct TickRow {
    pub state: TickState,
    pub reason: Option<TickReason>,
    pub at: Timestamp,
    pub job: Option<JobId>,
    pub last: Option<Timestamp>,
    pub count: Option<u32>,
}

impl Places {
    pub fn create_schedule(&mut self, new: &NewSchedule, now: Timestamp) -> CreateAnswer {
        let schedule = &new.schedule;
        let same_name =
            |row: &&ScheduleRow| row.schedule.tenant == schedule.tenant && row.schedule.name == schedule.name;
        match self.schedules.values().find(same_name) {
            Some(row) if row.schedule.id == schedule.id => return CreateAnswer::Created(self.schedule_view(row, now)),
            Some(row) => return CreateAnswer::NameTaken(row.schedule.id),
            None => {}
        }
        let row = ScheduleRow {
            schedule: schedule.clone(),
            seen: SeenSchedule { version: 1, next: new.next, held: None },
            is_paused: new.is_paused,
            edited_at: now,
            edited_by: None,
        };
        let view = self.schedule_view(&row, now);
        self.schedules.insert(schedule.id, row);
        self.tell_schedule(schedule.id, Became::Created);
        self.rung.push(Topic::Scheduled);
        CreateAnswer::Created(view)
    }

    pub fn schedule(&self, tenant: &TenantId, key: &ScheduleKey, now: Timestamp) -> Option<ScheduleView> {
        let is_meant = |row: &&ScheduleRow| match key {
            ScheduleKey::Id(id) => row.schedule.id == *id,
            ScheduleKey::Name(name) => row.schedule.name == *name,
        };
        let mut own = self.schedules.values().filter(|row| row.schedule.tenant == *tenant);
        own.find(is_meant).map(|row| self.schedule_view(row, now))
    }

    pub fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<ScheduleView> {
        let own = self.schedules.values().filter(|row| row.schedule.tenant == *tenant);
        let mut rows: Vec<&ScheduleRow> =
            own.filter(|row| after.is_none_or(|after| row.schedule.name > *after)).collect();
        rows.sort_by(|one, other| one.schedule.name.cmp(&other.schedule.name));
        rows.into_iter().take(limit).map(|row| self.schedule_view(row, now)).collect()
    }

    fn schedule_view(&self, row: &ScheduleRow, now: Timestamp) -> ScheduleView {
        ScheduleView {
            schedule: row.schedule.clone(),
            seen: row.seen,
            is_paused: row.is_paused,
            created_at: row.schedule.created_at,
            edited_at: row.edited_at,
            last_tick: self.ticks(row.schedule.id, None, 1, now).pop(),
        }
    }

    pub fn edit_schedule(&mut self, tenant: &TenantId, edit: &Edit, now: Timestamp) -> EditAnswer {
        let checks = self.rules.has(Rule::EditsCompare);
        let Some(row) = self.schedules.get_mut(&edit.schedule).filter(|row| row.schedule.tenant == *tenant) else {
            return EditAnswer::Gone;
        };
        if row.edited_by != Some(edit.id) {
            if checks && !row.may_change(edit.seen, now) {
                return EditAnswer::Stale;
            }
            row.schedule.spec = Arc::clone(&edit.spec);
            row.schedule.work = Arc::clone(&edit.work);
            row.seen.version += 1;
            row.seen.next = edit.next;
            let was_paused = std::mem::replace(&mut row.is_paused, edit.is_paused);
            row.edited_at = now;
            row.edited_by = Some(edit.id);
            self.tell_schedule(edit.schedule, Became::by_edit(was_paused, edit.is_paused));
            self.rung.push(Topic::Scheduled);
        }
        let row = &self.schedules[&edit.schedule];
        EditAnswer::Edited(self.schedule_view(row, now))
    }

    pub fn delete_schedule(
        &mut self,
        tenant: &TenantId,
        id: ScheduleId,
        seen: SeenSchedule,
        now: Timestamp,
    ) -> DeleteAnswer {
        let Some(row) = self.schedules.get(&id).filter(|row| row.schedule.tenant == *tenant) else {
            return DeleteAnswer::Gone;
        };
        if !row.may_change(seen, now) {
            return DeleteAnswer::Stale;
        }
        if let Some(tick) = seen.held.and_then(|held| self.ticks.get_mut(&(id, held))) {
            *tick = TickRow { state: TickState::Skipped, reason: Some(TickReason::Deleted), at: now, ..tick.clone() };
        }
        self.tell_schedule(id, Became::Deleted);
        self.schedules.remove(&id);
        DeleteAnswer::Deleted
    }

    fn tell_schedule(&mut self, id: ScheduleId, became: Became) {
        if let Some(row) = self.schedules.get(&id) {
            let Schedule { tenant, name, .. } = &row.schedule;
            let (tenant, name) = (tenant.clone(), name.to_string());
            self.tell(Note::Schedule { tenant, schedule: id, name, became });
        }
    }

    /// Writes a tick down and tells whoever watches.
    fn put_tick(&mut self, id: ScheduleId, nominal: Timestamp, tick: TickRow) {
        if let Some(row) = self.schedules.get(&id) {
            let Schedule { tenant, name, .. } = &row.schedule;
            let (tenant, name) = (tenant.clone(), name.to_string());
            self.tell(Note::Tick { tenant, schedule: id, name, nominal, state: tick.state, job: tick.job });
        }
        self.ticks.insert((id, nominal), tick);
    }

    pub fn overdue(&self, tenant: &TenantId, enough: u64, now: Timestamp) -> Overdue {
        let own = self.schedules.values().filter(|row| row.schedule.tenant == *tenant);
        let due: Vec<Timestamp> = own.filter_map(|row| row.seen.next.filter(|next| *next <= now)).collect();
        let longest = due.iter().min().map(|first| now.since(*first));
        Overdue { counted: Counted::up_to(due.len() as u64, enough), longest }
    }

    pub fn due_schedules(&self, limit: usize, now: Timestamp) -> DueSchedules {
        let enabled = || self.schedules.values().filter(|row| !self.tenants.is_disabled(&row.schedule.tenant));
        let mut waiting: Vec<(Timestamp, &ScheduleRow)> =
            enabled().filter_map(|row| Some((row.seen.next?, row))).collect();
        waiting.sort_by_key(|(next, row)| (*next, row.schedule.id));
        let due = waiting.iter().take_while(|(next, _)| *next <= now).take(limit).map(|(_, row)| row.due()).collect();
        let next = waiting.iter().map(|(next, _)| *next).find(|next| *next > now);
        let mut held = enabled().filter(|row| row.seen.held.is_some() && !row.is_paused).peekable();
        let is_any_held = held.peek().is_some();
        let freed = held.filter(|row| self.open_jobs_of(row.schedule.id).is_empty()).take(limit);
        DueSchedules {
            now,
            freed: freed.map(ScheduleRow::due).collect(),
            next_in: next.map(|next| next.since(now)),
            is_any_held,
            due,
        }
    }

    pub fn fire(&mut self, firing: &Firing, now: Timestamp) -> Fired {
        let checks = self.rules.has(Rule::FiringCompares);
        let Some(row) = self.schedules.get(&firing.schedule).filter(|row| !checks || row.seen == firing.seen) else {
            return Fired::Stale;
        };
        let mut held = row.seen.held;
        let open = self.open_jobs_of(firing.schedule);
        let release = firing.release.as_ref().filter(|_| open.is_empty());
        let due = self.ticks_to_decide(firing);
        // What is released now is not worth cancelling.
        let is_open = !open.is_empty() || release.is_some() && firing.overlap != Overlap::Cancel;
        let Decided::Ticks(decisions) = decide(firing.overlap, due.len(), is_open, held.is_some() && release.is_none())
        else {
            return Fired::CancelFirst(open);
        };
        let decisions: Vec<(Timestamp, Decision)> = due.into_iter().zip(decisions).collect();
        let mut jobs = Vec::new();
        if let (Some(job), Some(nominal)) = (release, held.take_if(|_| release.is_some())) {
            self.fire_tick(firing.schedule, nominal, None, job, now, &mut jobs);
        }
        for tick in &firing.ticks {
            let decision = decisions.iter().find(|(nominal, _)| *nominal == tick.nominal).map(|(_, it)| *it);
            self.tick(firing.schedule, tick, decision, now, &mut jobs);
            if decision == Some(Decision::Hold) {
                held = Some(tick.nominal);
            }
        }
        let row = self.schedules.get_mut(&firing.schedule).expect("it was there, and this is one transaction");
        row.seen = SeenSchedule { next: firing.next, held, ..row.seen };
        Fired::Done(jobs)
    }

    /// Those the overlap has a say in: fired by the calendar, and not there already.
    fn ticks_to_decide(&self, firing: &Firing) -> Vec<Timestamp> {
        let is_new = |tick: &&NewTick| {
            !self.rules.has(Rule::TickOnce) || !self.ticks.contains_key(&(firing.schedule, tick.nominal))
        };
        let by_calendar = firing.ticks.iter().filter(|tick| matches!(tick.act, TickAct::Fire(_)));
        by_calendar.filter(is_new).map(|tick| tick.nominal).collect()
    }

    fn tick(
        &mut self,
        schedule: ScheduleId,
        tick: &NewTick,
        decision: Option<Decision>,
        now: Timestamp,
        jobs: &mut Vec<JobId>,
    ) {
        let plain = TickRow { state: TickState::Skipped, reason: None, at: now, job: None, last: None, count: Some(1) };
        match (&tick.act, decision) {
            (TickAct::Fire(job), Some(Decision::Fire)) => {
                self.fire_tick(schedule, tick.nominal, None, job, now, jobs);
            }
            (TickAct::Fire(_), Some(Decision::Hold)) => {
                self.put_tick(schedule, tick.nominal, TickRow { state: TickState::Held, ..plain });
            }
            (TickAct::Fire(_), Some(Decision::Skip)) => {
                self.put_tick(schedule, tick.nominal, TickRow { reason: Some(TickReason::Overlap), ..plain });
            }
            (TickAct::Fire(_), None) => {}
            (TickAct::FireByHand(job), _) => {
                let mut nominal = tick.nominal;
                while let Some(row) = self.ticks.get(&(schedule, nominal)) {
                    if row.job == Some(job.id) {
                        jobs.push(job.id);
                        return;
                    }
                    nominal = Timestamp::from_micros(nominal.as_micros() + 1);
                }
                self.fire_tick(schedule, nominal, Some(TickReason::ByHand), job, now, jobs);
            }
            (TickAct::Refuse, _) => {
                if !self.ticks.contains_key(&(schedule, tick.nominal)) {
                    let row = TickRow { reason: Some(TickReason::TooManyWaiting), ..plain };
                    self.put_tick(schedule, tick.nominal, row);
                }
            }
            (TickAct::Miss { last, count }, _) => {
                let row = TickRow { reason: Some(TickReason::Missed), last: Some(*last), count: *count, ..plain };
                if !self.ticks.contains_key(&(schedule, tick.nominal)) {
                    self.put_tick(schedule, tick.nominal, row);
                }
            }
        }
    }

    fn fire_tick(
        &mut self,
        schedule: ScheduleId,
        nominal: Timestamp,
        reason: Option<TickReason>,
        job: &NewJob,
        now: Timestamp,
        jobs: &mut Vec<JobId>,
    ) {
        let row = TickRow { state: TickState::Fired, reason, at: now, job: Some(job.id), last: None, count: Some(1) };
        self.put_tick(schedule, nominal, row);
        self.submit(job, now);
        jobs.push(job.id);
    }

    /// The jobs of a schedule's latest ticks that are not final.
    fn open_jobs_of(&self, schedule: ScheduleId) -> Vec<JobId> {
        let fired = self.ticks_of(schedule).filter_map(|(_, row)| row.job).take(OPEN_JOBS_AMONG);
        fired.filter(|id| self.jobs.contains_key(id) && !self.outcomes.contains_key(id)).collect()
    }

    /// The latest first.
    fn ticks_of(&self, schedule: ScheduleId) -> impl Iterator<Item = (Timestamp, &TickRow)> {
        let all = (schedule, Timestamp::from_micros(i64::MIN))..=(schedule, Timestamp::from_micros(i64::MAX));
        self.ticks.range(all).rev().map(|((_, nominal), row)| (*nominal, row))
    }

    pub fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<TickView> {
        let ticks = self.ticks_of(schedule).filter(|(nominal, _)| before.is_none_or(|before| *nominal < before));
        ticks.take(limit).map(|(nominal, row)| self.tick_view(nominal, row, now)).collect()
    }

    fn tick_view(&self, nominal: Timestamp, row: &TickRow, now: Timestamp) -> TickView {
        TickView {
            nominal,
            state: row.state,
            reason: row.reason,
            at: row.at,
            job: row.job.map(|id| (id, self.jobs.contains_key(&id).then(|| self.state_of(id, now)))),
            last: row.last,
            count: row.count,
        }
    }

    /// Ticks that are over, but for the latest of every schedule.
    pub fn prune_ticks(&mut self, until: Timestamp, limit: usize) -> usize {
        let latest: BTreeSet<(ScheduleId, Timestamp)> =
            self.schedules.keys().filter_map(|id| Some((*id, self.ticks_of(*id).next()?.0))).collect();
        let is_over = |row: &TickRow| {
            let is_final = |id: &JobId| !self.jobs.contains_key(id) || self.outcomes.contains_key(id);
            row.at <= until && row.state != TickState::Held && row.job.as_ref().is_none_or(is_final)
        };
        let old: Vec<_> = self
            .ticks
            .iter()
            .filter(|(key, row)| is_over(row) && !latest.contains(*key))
            .map(|(key, _)| *key)
            .take(limit)
            .collect();
        for key in &old {
            self.ticks.remove(key);
        }
        old.len()
    }
}

impl ScheduleRow {
    /// It is what was seen, and nothing of it is due.
    fn may_change(&self, seen: SeenSchedule, now: Timestamp) -> bool {
        self.seen == seen && self.seen.next.is_none_or(|next| next > now)
    }

    fn due(&self) -> DueSchedule {
        DueSchedule { schedule: self.schedule.clone(), seen: self.seen }
    }
}
