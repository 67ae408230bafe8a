//! Where schedules are made and changed.
//!
//! A change is worked out from what the schedule was when it was read, and takes place only if it still is that and
//! nothing of it is due. So what is due is fired first, by whoever wants to change it, and nobody has to wait for the
//! scheduler. Any number of desks may work on one schedule: one wins, the others look again. A desk that dies half way
//! has fired what was due or not, and has changed the schedule or not; either is whole.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::limits::Limits;
use foreman_core::ports::{
    Change, CreateAnswer, DeleteAnswer, DueSchedule, Edit, EditAnswer, Firing, JobStore, NewTick, ScheduleError,
    ScheduleStore, ScheduleView, Schedules, StoreError, TickAct,
};
use foreman_core::schedule::{Judged, NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleSpec};
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{EditId, JobId, ScheduleId, TenantId, Timestamp};
use tokio::time::sleep;

use crate::firing::{Gun, Ready, prepare};
use crate::outage::bounded;

/// A schedule that fires every second is due now and then while it is being changed.
const TRIES: usize = 20;
/// A call whose outcome is unknown is sent again under the same identity.
const SENDINGS: usize = 3;
const TINY: Duration = Duration::from_micros(1);

pub struct Desk {
    gun: Gun,
    limits: Limits,
    missed_after: Duration,
}

/// Something was in the way: look again.
struct Again;

impl Desk {
    pub fn new(
        schedules: Arc<dyn ScheduleStore>,
        jobs: Arc<dyn JobStore>,
        limits: Limits,
        config: &crate::scheduler::Config,
    ) -> Self {
        let gun = Gun { schedules, jobs, call_timeout: config.call_timeout };
        Self { gun, limits, missed_after: config.missed_after }
    }

    fn store(&self) -> &dyn ScheduleStore {
        &*self.gun.schedules
    }

    /// The schedule, with nothing of it due, and what time that was.
    async fn settled(
        &self,
        tenant: &TenantId,
        key: &ScheduleKey,
        only_if: Option<i64>,
    ) -> Result<Result<(ScheduleView, Timestamp), Again>, ScheduleError> {
        let view = self.send(|| self.store().schedule(tenant, key)).await?.ok_or(ScheduleError::NotFound)?;
        if only_if.is_some_and(|version| version != view.seen.version) {
            return Err(ScheduleError::Changed(view.seen.version));
        }
        let now = self.send(|| self.store().time()).await?;
        if view.seen.next.is_none_or(|next| next > now) {
            return Ok(Ok((view, now)));
        }
        let due = DueSchedule { schedule: view.schedule.clone(), seen: view.seen };
        let ready = prepare(&due, now, self.missed_after).unwrap_or_else(|_| {
            // It cannot fire, and an edit is what puts that right; so its time is taken off it first.
            let firing = Firing {
                schedule: view.schedule.id,
                seen: view.seen,
                overlap: Overlap::Allow,
                release: None,
                ticks: Vec::new(),
                next: None,
            };
            Ready { tenant: tenant.clone(), firing }
        });
        self.send(|| self.gun.fire(None, vec![ready.clone()])).await?;
        Ok(Err(Again))
    }

    /// The next tick, but for those that are there already: a clock that was put back brings times for the second time. They
    /// would be passed by one at a time, but not when they are the first of a run that is missed as one.
    async fn not_yet_there(
        &self,
        view: &ScheduleView,
        judged: &Judged,
        mut next: Option<Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let Some(latest) = view.last_tick.as_ref().map(|tick| tick.nominal) else { return Ok(next) };
        while let Some(nominal) = next.filter(|nominal| *nominal <= latest) {
            let ticks = self.send(|| self.store().ticks(view.schedule.id, Some(nominal.plus(TINY)), 1)).await?;
            if ticks.first().is_none_or(|tick| tick.nominal != nominal) {
                break;
            }
            next = judged.rule.next_after(nominal);
        }
        Ok(next)
    }

    /// Does it under one identity until it is known what became of it.
    async fn send<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut call: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut sendings = 1;
        loop {
            match bounded(self.gun.call_timeout, call()).await {
                Err(StoreError::Unavailable(_)) if sendings < SENDINGS => {
                    sleep(Duration::from_millis(50)).await;
                    sendings += 1;
                }
                answer => return answer,
            }
        }
    }

    async fn try_change(
        &self,
        tenant: &TenantId,
        key: &ScheduleKey,
        change: &Change,
        only_if: Option<i64>,
    ) -> Result<Result<ScheduleView, Again>, ScheduleError> {
        let (view, now) = match self.settled(tenant, key, only_if).await? {
            Ok(settled) => settled,
            Err(again) => return Ok(Err(again)),
        };
        let Some(spec) = changed(&view, change)? else { return Ok(Ok(view)) };
        if spec.name != view.schedule.name.as_str() {
            let detail = format!("is {} and cannot be changed; make another and delete this one", view.schedule.name);
            return Err(mistake("/name", detail).into());
        }
        let (work, next) = if matches!(change, Change::Pause) {
            // Whatever else has become of it, even if it will never fire again, it can be paused.
            (Arc::clone(&view.schedule.work), None)
        } else {
            let judged = spec.judge(tenant, &self.limits, view.schedule.created_at, now)?;
            let next = next(&judged, &spec, now)?;
            let next = self.not_yet_there(&view, &judged, next).await?;
            (Arc::new(judged.work), next)
        };
        let edit = Edit {
            id: EditId::fresh(),
            schedule: view.schedule.id,
            seen: view.seen,
            is_paused: spec.paused == Some(true),
            spec: Arc::new(spec),
            work,
            next,
        };
        match self.send(|| self.store().edit_schedule(tenant, &edit)).await? {
            EditAnswer::Edited(view) => Ok(Ok(view)),
            EditAnswer::Stale => Ok(Err(Again)),
            EditAnswer::Gone => Err(ScheduleError::NotFound),
        }
    }
}

#[async_trait]
impl Schedules for Desk {
    async fn create(&self, tenant: &TenantId, spec: ScheduleSpec) -> Result<ScheduleView, ScheduleError> {
        let now = self.send(|| self.store().time()).await?;
        let judged = spec.judge(tenant, &self.limits, now, now)?;
        let (is_paused, next) = (spec.paused == Some(true), next(&judged, &spec, now)?);
        let schedule = Schedule {
            id: ScheduleId::fresh(),
            tenant: tenant.clone(),
            name: judged.name.clone(),
            spec: Arc::new(spec),
            work: Arc::new(judged.work),
            created_at: now,
        };
        let new = NewSchedule { schedule, is_paused, next };
        match self.send(|| self.store().create_schedule(&new)).await? {
            CreateAnswer::Created(view) => Ok(view),
            CreateAnswer::NameTaken(_) => Err(ScheduleError::NameTaken(judged.name)),
        }
    }

    async fn change(
        &self,
        tenant: &TenantId,
        key: &ScheduleKey,
        change: Change,
        only_if: Option<i64>,
    ) -> Result<ScheduleView, ScheduleError> {
        for _ in 0..TRIES {
            if let Ok(view) = self.try_change(tenant, key, &change, only_if).await? {
                return Ok(view);
            }
        }
        Err(ScheduleError::Busy)
    }

    async fn delete(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<(), ScheduleError> {
        for _ in 0..TRIES {
            let Ok((view, _)) = self.settled(tenant, key, only_if).await? else { continue };
            let id = view.schedule.id;
            let mut is_sent = false;
            let answer = self
                .send(|| {
                    let is_first = !std::mem::replace(&mut is_sent, true);
                    async move {
                        match self.store().delete_schedule(tenant, id, view.seen).await {
                            // An earlier sending of ours did it.
                            Ok(DeleteAnswer::Gone) if !is_first => Ok(DeleteAnswer::Deleted),
                            answer => answer,
                        }
                    }
                })
                .await?;
            match answer {
                DeleteAnswer::Deleted => return Ok(()),
                DeleteAnswer::Stale => {}
                DeleteAnswer::Gone => return Err(ScheduleError::NotFound),
            }
        }
        Err(ScheduleError::Busy)
    }

    async fn run(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<JobId, ScheduleError> {
        let mut job = None;
        for _ in 0..TRIES {
            let view = self.send(|| self.store().schedule(tenant, key)).await?.ok_or(ScheduleError::NotFound)?;
            let now = self.send(|| self.store().time()).await?;
            let (nominal, job) = job.get_or_insert_with(|| {
                let moment = beside_the_calendar(&view.schedule, now);
                (moment, view.schedule.job_now(moment))
            });
            let tick = NewTick { nominal: *nominal, act: TickAct::FireByHand(job.clone()) };
            let firing = Firing {
                schedule: view.schedule.id,
                seen: view.seen,
                overlap: view.schedule.spec.overlap.unwrap_or_default(),
                release: None,
                ticks: vec![tick],
                next: view.seen.next,
            };
            let ready = vec![Ready { tenant: tenant.clone(), firing }];
            let fired = self.send(|| self.gun.fire(None, ready.clone())).await?;
            if let Some(id) = fired.and_then(|round| round.jobs.first().copied()) {
                return Ok(id);
            }
        }
        Err(ScheduleError::Busy)
    }
}

/// The schedule as it shall be; `None` when it is that already.
fn changed(view: &ScheduleView, change: &Change) -> Result<Option<ScheduleSpec>, ScheduleError> {
    let spec = &*view.schedule.spec;
    let with_paused = |paused: bool| ScheduleSpec { paused: Some(paused), ..spec.clone() };
    Ok(match change {
        Change::Replace(spec) => Some(spec.clone()),
        Change::Patch(patch) => Some(spec.patched(patch)?),
        Change::Pause => (!view.is_paused).then(|| with_paused(true)),
        Change::Resume => view.is_paused.then(|| with_paused(false)),
    })
}

/// Its first tick from now on; none while it is paused. One that would never fire is refused.
fn next(judged: &Judged, spec: &ScheduleSpec, now: Timestamp) -> Result<Option<Timestamp>, ScheduleError> {
    let next = judged.rule.first_after(now);
    if next.is_none() {
        let (pointer, detail) = if spec.at.is_some() {
            ("/at", "lies in the past, before `start_at`, or after `end_at`: it would never fire")
        } else if spec.end_at.is_some() {
            ("/end_at", "comes before the first tick: it would never fire")
        } else if spec.cron.is_some() {
            ("/cron", "has no time left to fire at")
        } else {
            ("/every", "has no time left to fire at")
        };
        return Err(mistake(pointer, detail).into());
    }
    Ok(next.filter(|_| spec.paused != Some(true)))
}

/// This moment, or the next if a tick belongs to it: that place is the tick's.
fn beside_the_calendar(schedule: &Schedule, now: Timestamp) -> Timestamp {
    let is_tick = |moment: Timestamp| {
        schedule
            .rule()
            .is_ok_and(|rule| rule.timing.next_after(moment.minus(TINY)).is_some_and(|fire| fire.at == moment))
    };
    if is_tick(now) { now.plus(TINY) } else { now }
}

fn mistake(pointer: &str, detail: impl Into<String>) -> Invalid {
    Invalid { mistakes: vec![Mistake { pointer: pointer.into(), detail: detail.into() }] }
}
