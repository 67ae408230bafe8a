//! The shortest desk that keeps the port's promise: works out a change from what it read, and looks again when that is stale.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use foreman_core::limits::Limits;
use foreman_core::ports::{
    CreateAnswer, DeleteAnswer, Edit, EditAnswer, Fired, Firing, NewTick, ScheduleChange, ScheduleError, ScheduleStore,
    ScheduleView, Schedules, SeenSchedule, TickAct,
};
use foreman_core::schedule::{Judge as _, NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleSpec};
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{EditId, JobId, ScheduleId, TenantId, Timestamp};

use crate::faulty::Faulty;

pub struct Clerk {
    store: Arc<Faulty>,
    pub refuse: Mutex<Option<ScheduleError>>,
}

impl Clerk {
    pub fn new(store: Arc<Faulty>) -> Self {
        Self { store, refuse: Mutex::default() }
    }

    pub fn set_refusal(&self, error: Option<ScheduleError>) {
        *self.refuse.lock().unwrap() = error;
    }

    fn check(&self) -> Result<(), ScheduleError> {
        self.refuse.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    async fn view(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<ScheduleView, ScheduleError> {
        self.store.schedule(tenant, key).await?.ok_or(ScheduleError::NotFound)
    }

    /// Fires at a nominal time what the calendar would fire then.
    pub async fn fire(&self, view: &ScheduleView, ticks: Vec<NewTick>) -> Vec<JobId> {
        self.fire_and_go_on(view, ticks, view.seen.next).await
    }

    /// The same, and says when the next tick is.
    pub async fn fire_and_go_on(
        &self,
        view: &ScheduleView,
        ticks: Vec<NewTick>,
        next: Option<Timestamp>,
    ) -> Vec<JobId> {
        let firing =
            Firing { schedule: view.schedule.id, seen: view.seen, overlap: Overlap::Allow, release: None, ticks, next };
        match self.store.fire(None, &[firing]).await.unwrap().unwrap().remove(0) {
            Fired::Done(jobs) => jobs,
            other => panic!("{other:?}"),
        }
    }
}

fn invalid(pointer: &str, detail: &str) -> ScheduleError {
    Invalid { mistakes: vec![Mistake { pointer: pointer.into(), detail: detail.into() }] }.into()
}

#[async_trait]
impl Schedules for Clerk {
    async fn create(&self, tenant: &TenantId, spec: ScheduleSpec) -> Result<ScheduleView, ScheduleError> {
        self.check()?;
        let now = self.store.time().await?;
        let judged = spec.judge(tenant, &Limits::default(), now, now)?;
        let is_paused = spec.paused == Some(true);
        let next = judged.rule.first_after(now).ok_or_else(|| invalid("/at", "is in the past"))?;
        let schedule = Schedule {
            id: ScheduleId::fresh(),
            tenant: tenant.clone(),
            name: judged.name.clone(),
            spec: Arc::new(spec),
            work: Arc::new(judged.work),
            created_at: now,
        };
        let new = NewSchedule { schedule, is_paused, next: (!is_paused).then_some(next) };
        match self.store.create_schedule(&new).await? {
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
        self.check()?;
        for _ in 0..100 {
            let view = self.view(tenant, key).await?;
            if only_if.is_some_and(|version| version != view.seen.version) {
                return Err(ScheduleError::Changed(view.seen.version));
            }
            // Where two that change the same schedule meet.
            tokio::task::yield_now().await;
            let old = &*view.schedule.spec;
            let spec = match &change {
                ScheduleChange::Replace(spec) => spec.clone(),
                ScheduleChange::Patch(patch) => old.patched(patch)?,
                ScheduleChange::Pause => ScheduleSpec { paused: Some(true), ..old.clone() },
                ScheduleChange::Resume => ScheduleSpec { paused: Some(false), ..old.clone() },
            };
            if spec.name != old.name {
                return Err(invalid("/name", "cannot be changed"));
            }
            let now = self.store.time().await?;
            let judged = spec.judge(tenant, &Limits::default(), view.schedule.created_at, now)?;
            let is_paused = spec.paused == Some(true);
            let edit = Edit {
                id: EditId::fresh(),
                schedule: view.schedule.id,
                seen: view.seen,
                next: judged.rule.first_after(now).filter(|_| !is_paused),
                spec: Arc::new(spec),
                work: Arc::new(judged.work),
                is_paused,
            };
            match self.store.edit_schedule(tenant, &edit).await? {
                EditAnswer::Edited(view) => return Ok(view),
                EditAnswer::Stale => {}
                EditAnswer::Gone => return Err(ScheduleError::NotFound),
            }
        }
        Err(ScheduleError::Busy)
    }

    async fn delete(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<(), ScheduleError> {
        self.check()?;
        let view = self.view(tenant, key).await?;
        let seen: SeenSchedule = view.seen;
        if only_if.is_some_and(|version| version != seen.version) {
            return Err(ScheduleError::Changed(seen.version));
        }
        match self.store.delete_schedule(tenant, view.schedule.id, seen).await? {
            DeleteAnswer::Deleted => Ok(()),
            DeleteAnswer::Stale => Err(ScheduleError::Busy),
            DeleteAnswer::Gone => Err(ScheduleError::NotFound),
        }
    }

    async fn run(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<JobId, ScheduleError> {
        self.check()?;
        let view = self.view(tenant, key).await?;
        if only_if.is_some_and(|version| version != view.seen.version) {
            return Err(ScheduleError::Changed(view.seen.version));
        }
        let now = self.store.time().await?;
        let act = TickAct::FireByHand(view.schedule.job_now(now));
        Ok(self.fire(&view, vec![NewTick { nominal: now, act }]).await[0])
    }
}
