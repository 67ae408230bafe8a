//! Where schedules are made and changed.
//!
//! A change is worked out from what the schedule was when it was read, and takes place only if it still is that and
//! nothing of it is due. So what is due is fired first, by whoever wants to change it, and nobody has to wait for the
//! scheduler. Any number of editors may work on one schedule: one wins, the others look again. An editor that dies half way
//! has fired what was due or not, and has changed the schedule or not; either is whole.
//!
//! What may be secret in a schedule's job is sealed before it is kept, and not shown again; see [`secrets`].

mod secrets;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::limits::Limits;
use foreman_core::ports::{
    CreateAnswer, DeleteAnswer, DueSchedule, Edit, EditAnswer, Firing, JobQuery, JobStore, NewTick, ScheduleChange,
    ScheduleError, ScheduleHead, ScheduleStore, ScheduleView, Schedules, StoreError, TickAct,
};
use foreman_core::schedule::{Judge as _, Judged, NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleSpec};
use foreman_core::sealed::Keyring;
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{EditId, JobId, ScheduleId, TenantId, Timestamp};
use tokio::time::sleep;

use crate::backlog::Backlog;
use crate::firing::{Budget, Firer, ReadyFiring, prepare};
use crate::outage::bounded;
use crate::tenants::Tenants;

/// A schedule that fires every second is due now and then while it is being changed.
const TRIES: usize = 20;
/// A call whose outcome is unknown is sent again under the same identity.
const SENDINGS: usize = 3;
const TINY: Duration = Duration::from_micros(1);

pub struct ScheduleEditor {
    firer: Firer,
    limits: Limits,
    missed_after: Duration,
    ring: Option<Arc<Keyring>>,
}

/// Something was in the way: look again.
struct Again;

/// So many ticks are fired at once on the way to a change; what is left, at the next try.
const STEP: usize = 500;

/// A schedule as it was found.
struct FoundSchedule {
    standing: ScheduleHead,
    /// What it says, or why that cannot be read.
    view: Result<ScheduleView, String>,
}

impl FoundSchedule {
    fn view(self) -> Result<ScheduleView, ScheduleError> {
        self.view.map_err(ScheduleError::Unreadable)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.standing.seen.next.is_some_and(|next| next <= now)
    }
}

impl ScheduleEditor {
    pub fn new(
        schedules: Arc<dyn ScheduleStore>,
        jobs: Arc<dyn JobStore>,
        limits: Limits,
        config: &crate::scheduler::Config,
    ) -> Self {
        let firer = Firer { schedules, jobs, call_timeout: config.call_timeout, backlog: None };
        Self { firer, limits, missed_after: config.missed_after, ring: None }
    }

    /// Seals what may be secret with this. Without a ring, a schedule whose job carries headers or variables is refused.
    #[must_use]
    pub fn sealing_with(self, ring: Option<Arc<Keyring>>) -> Self {
        Self { ring, ..self }
    }

    /// Holds each tenant to what it may have waiting, as the scheduler does.
    #[must_use]
    pub fn limited_by(mut self, tenants: Arc<Tenants>, jobs: Arc<dyn JobQuery>) -> Self {
        self.firer.backlog = Some(Arc::new(Backlog::new(tenants, jobs, self.firer.call_timeout)));
        self
    }

    fn store(&self) -> &dyn ScheduleStore {
        &*self.firer.schedules
    }

    async fn find(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<FoundSchedule, ScheduleError> {
        let damaged = match self.send(|| self.store().schedule(tenant, key)).await {
            Ok(Some(view)) => return Ok(FoundSchedule { standing: view.schedule_head(), view: Ok(view) }),
            Ok(None) => return Err(ScheduleError::NotFound),
            Err(StoreError::Damaged(why)) => why,
            Err(error) => return Err(error.into()),
        };
        // The store is whole if it can tell where the schedule stands: then what it says is of a later version.
        let standing = self.send(|| self.store().schedule_head(tenant, key)).await?.ok_or(ScheduleError::NotFound)?;
        Ok(FoundSchedule { standing, view: Err(damaged) })
    }

    /// The same if it is at the version that was asked for.
    async fn find_at(
        &self,
        tenant: &TenantId,
        key: &ScheduleKey,
        only_if: Option<i64>,
    ) -> Result<FoundSchedule, ScheduleError> {
        let found = self.find(tenant, key).await?;
        let version = found.standing.seen.version;
        if only_if.is_some_and(|asked| asked != version) { Err(ScheduleError::Changed(version)) } else { Ok(found) }
    }

    /// Fires what is due. What cannot be read cannot fire, and is about to be changed or removed: its time is taken off it.
    async fn settle(&self, tenant: &TenantId, found: &FoundSchedule, now: Timestamp) -> Result<(), StoreError> {
        let ScheduleHead { id, seen, .. } = found.standing;
        let due = found.view.as_ref().ok().map(|view| DueSchedule { schedule: view.schedule.clone(), seen });
        let ready = due.and_then(|due| prepare(&due, now, self.missed_after, &mut Budget::new(STEP)).ok());
        let ready = ready.unwrap_or_else(|| {
            let overlap = Overlap::Allow;
            let firing = Firing { schedule: id, seen, overlap, release: None, ticks: Vec::new(), next: None };
            ReadyFiring { tenant: tenant.clone(), firing }
        });
        self.send(|| self.firer.fire(None, vec![ready.clone()])).await?;
        Ok(())
    }

    /// The next tick, but for those that are there already: a clock that was put back brings times for the second time. They
    /// would be passed by one at a time, but not when they are the first of a run that is missed as one.
    async fn not_yet_there(
        &self,
        found: &FoundSchedule,
        judged: &Judged,
        mut next: Option<Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let id = found.standing.id;
        let latest = match &found.view {
            Ok(view) => view.last_tick.clone(),
            Err(_) => self.send(|| self.store().ticks(id, None, 1)).await?.pop(),
        };
        let Some(latest) = latest.map(|tick| tick.nominal) else { return Ok(next) };
        while let Some(nominal) = next.filter(|nominal| *nominal <= latest) {
            let ticks = self.send(|| self.store().ticks(id, Some(nominal.plus(TINY)), 1)).await?;
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
            match bounded(self.firer.call_timeout, call()).await {
                Err(StoreError::Unavailable(_) | StoreError::Internal(_)) if sendings < SENDINGS => {
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
        change: &ScheduleChange,
        only_if: Option<i64>,
    ) -> Result<Result<ScheduleView, Again>, ScheduleError> {
        let found = self.find_at(tenant, key, only_if).await?;
        let now = self.send(|| self.store().time()).await?;
        let mut spec = match (&found.view, change) {
            (Ok(view), change) => match changed(view, change)? {
                Some(spec) => spec,
                None => return Ok(Ok(view.clone())),
            },
            (Err(_), ScheduleChange::Replace(spec)) => spec.clone(),
            (Err(why), _) => return Err(ScheduleError::Unreadable(why.clone())),
        };
        let ScheduleHead { id, seen, created_at, .. } = found.standing;
        let name = &found.standing.name;
        if spec.name != name.as_str() {
            let detail = format!("is {name} and cannot be changed; create a new schedule and delete this one");
            return Err(mistake("/name", detail).into());
        }
        // Judged first: a change that is refused has fired nothing, and taken its time off none that cannot be read.
        let (work, next) = if let (Ok(view), ScheduleChange::Pause) = (&found.view, change) {
            // Whatever else has become of it, even if it will never fire again, it can be paused.
            (Arc::clone(&view.schedule.work), None)
        } else {
            let mut judged = spec.judge(tenant, &self.limits, created_at, now)?;
            let kept = found.view.as_ref().ok().map(|view| &*view.schedule.work);
            secrets::seal(&mut judged.work, kept, tenant, self.ring.as_deref())?;
            let next = next(&judged, &spec, now)?;
            let next = self.not_yet_there(&found, &judged, next).await?;
            (Arc::new(judged.work), next)
        };
        foreman_core::spec::mask(&mut spec.job);
        if found.is_due(now) {
            self.settle(tenant, &found, now).await?;
            return Ok(Err(Again));
        }
        let is_paused = spec.paused == Some(true);
        let edit = Edit { id: EditId::fresh(), schedule: id, seen, is_paused, spec: Arc::new(spec), work, next };
        match self.send(|| self.store().edit_schedule(tenant, &edit)).await? {
            EditAnswer::Edited(view) => Ok(Ok(view)),
            EditAnswer::Stale => Ok(Err(Again)),
            EditAnswer::Gone => Err(ScheduleError::NotFound),
        }
    }
}

#[async_trait]
impl Schedules for ScheduleEditor {
    async fn create(&self, tenant: &TenantId, mut spec: ScheduleSpec) -> Result<ScheduleView, ScheduleError> {
        let now = self.send(|| self.store().time()).await?;
        let mut judged = spec.judge(tenant, &self.limits, now, now)?;
        secrets::seal(&mut judged.work, None, tenant, self.ring.as_deref())?;
        foreman_core::spec::mask(&mut spec.job);
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
        change: ScheduleChange,
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
            let found = self.find_at(tenant, key, only_if).await?;
            let now = self.send(|| self.store().time()).await?;
            if found.is_due(now) {
                self.settle(tenant, &found, now).await?;
                continue;
            }
            let ScheduleHead { id, seen, .. } = found.standing;
            let mut is_sent = false;
            let answer = self
                .send(|| {
                    let is_first = !std::mem::replace(&mut is_sent, true);
                    async move {
                        match self.store().delete_schedule(tenant, id, seen).await {
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

    async fn run(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<JobId, ScheduleError> {
        let mut job = None;
        for _ in 0..TRIES {
            let view = self.find_at(tenant, key, only_if).await?.view()?;
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
            let ready = vec![ReadyFiring { tenant: tenant.clone(), firing }];
            let fired = self.send(|| self.firer.fire(None, ready.clone())).await?;
            if let Some(id) = fired.and_then(|round| round.jobs.first().copied()) {
                return Ok(id);
            }
        }
        Err(ScheduleError::Busy)
    }
}

/// The schedule as it shall be; `None` when it is that already.
fn changed(view: &ScheduleView, change: &ScheduleChange) -> Result<Option<ScheduleSpec>, ScheduleError> {
    let spec = &*view.schedule.spec;
    let with_paused = |paused: bool| ScheduleSpec { paused: Some(paused), ..spec.clone() };
    Ok(match change {
        ScheduleChange::Replace(spec) => Some(spec.clone()),
        ScheduleChange::Patch(patch) => Some(spec.patched(patch)?),
        ScheduleChange::Pause => (!view.is_paused).then(|| with_paused(true)),
        ScheduleChange::Resume => view.is_paused.then(|| with_paused(false)),
    })
}

/// Its first tick from now on; none while it is paused. One that would never fire is refused.
fn next(judged: &Judged, spec: &ScheduleSpec, now: Timestamp) -> Result<Option<Timestamp>, ScheduleError> {
    let next = judged.rule.first_after(now);
    if next.is_none() {
        let (pointer, detail) = if spec.at.is_some() {
            ("/at", "is in the past, before `start_at`, or after `end_at`: it would never fire")
        } else if spec.end_at.is_some() {
            ("/end_at", "is before the first tick: it would never fire")
        } else if spec.cron.is_some() {
            ("/cron", "has no future time: it would never fire")
        } else {
            ("/every", "has no future time: it would never fire")
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
