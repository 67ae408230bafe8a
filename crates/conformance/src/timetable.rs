//! What the promises about schedules start from: schedules, firings and ticks, each in a word or two.

use std::sync::Arc;
use std::time::Duration;

use super::given::{MINUTE, Scene, a_job, queue};
use foreman_core::duration::Span;
use foreman_core::id::{EditId, JobId, ScheduleId, TenantId};
use foreman_core::job::{NewJob, Work};
use foreman_core::ports::{
    CreateAnswer, DeleteAnswer, DueSchedule, DueSchedules, Edit, EditAnswer, Fired, Firing, JobFilter, NewTick,
    ScheduleView, Store, TickAct, TickView,
};
use foreman_core::schedule::{NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleName, ScheduleSpec};
use foreman_core::spec::JobSpec;
use foreman_core::time::Timestamp;

const ANSWERS: &str = "the store answers";

/// A schedule to be built: every minute, the first time in a minute, of the default tenant, until told otherwise.
#[derive(Clone)]
pub struct Timetable {
    name: String,
    tenant: TenantId,
    overlap: Overlap,
    first: FirstTick,
    work: Work,
}

#[derive(Clone, Copy)]
enum FirstTick {
    In(Duration),
    At(Timestamp),
    Paused,
    Never,
}

pub fn every_minute(name: &str) -> Timetable {
    Timetable {
        name: name.into(),
        tenant: TenantId::default(),
        overlap: Overlap::Allow,
        first: FirstTick::In(MINUTE),
        work: Arc::unwrap_or_clone(a_job().build().work),
    }
}

impl Timetable {
    #[must_use]
    pub fn of(self, tenant: &str) -> Self {
        Self { tenant: TenantId::new(tenant), ..self }
    }

    #[must_use]
    pub fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    #[must_use]
    pub fn first_in(self, first: Duration) -> Self {
        Self { first: FirstTick::In(first), ..self }
    }

    #[must_use]
    pub fn first_at(self, first: Timestamp) -> Self {
        Self { first: FirstTick::At(first), ..self }
    }

    #[must_use]
    pub fn paused(self) -> Self {
        Self { first: FirstTick::Paused, ..self }
    }

    #[must_use]
    pub fn finished(self) -> Self {
        Self { first: FirstTick::Never, ..self }
    }

    /// Its jobs go to this queue.
    #[must_use]
    pub fn queued(mut self, name: &str) -> Self {
        self.work.queue = queue(name);
        self
    }

    /// As a client would have written it.
    pub fn spec(&self) -> ScheduleSpec {
        ScheduleSpec {
            name: self.name.clone(),
            every: Some(Span(MINUTE)),
            job: JobSpec::from(&self.work),
            overlap: Some(self.overlap),
            paused: matches!(self.first, FirstTick::Paused).then_some(true),
            ..ScheduleSpec::default()
        }
    }

    /// With a fresh id.
    pub fn build(&self, now: Timestamp) -> NewSchedule {
        let schedule = Schedule {
            id: ScheduleId::fresh(),
            tenant: self.tenant.clone(),
            name: self.name.parse().expect("a valid name"),
            spec: Arc::new(self.spec()),
            work: Arc::new(self.work.clone()),
            created_at: now,
        };
        NewSchedule {
            schedule,
            is_paused: matches!(self.first, FirstTick::Paused),
            next: match self.first {
                FirstTick::In(first) => Some(now.plus(first)),
                FirstTick::At(first) => Some(first),
                FirstTick::Paused | FirstTick::Never => None,
            },
        }
    }
}

pub fn named(name: &str) -> ScheduleKey {
    ScheduleKey::Name(ScheduleName::from_stored(name))
}

/// A tick of the calendar, without jitter.
pub fn tick(view: &ScheduleView, nominal: Timestamp) -> NewTick {
    NewTick { nominal, act: TickAct::Fire(view.schedule.job_at(nominal, Duration::ZERO)) }
}

/// Somebody asks for it now.
pub fn by_hand(view: &ScheduleView, nominal: Timestamp) -> NewTick {
    NewTick { nominal, act: TickAct::FireByHand(view.schedule.job_now(nominal)) }
}

/// Missed, all of them until `last`.
pub fn missed(nominal: Timestamp, last: Timestamp, count: Option<u32>) -> NewTick {
    NewTick { nominal, act: TickAct::Miss { last, count } }
}

/// Those ticks, and the next a minute after the last of them. What is held is released if it may go.
pub fn firing(view: &ScheduleView, ticks: Vec<NewTick>) -> Firing {
    let next = ticks.last().map(|tick| tick.nominal.plus(MINUTE)).or(view.seen.next);
    Firing {
        schedule: view.schedule.id,
        seen: view.seen,
        overlap: view.schedule.spec.overlap.unwrap_or_default(),
        release: view.seen.held.map(|nominal| view.schedule.job_now(nominal)),
        ticks,
        next,
    }
}

/// What the scheduler makes of a schedule: its next tick, whether it is due or not.
pub fn next_firing(view: &ScheduleView) -> Firing {
    let next = view.seen.next.expect("it has a next tick");
    firing(view, vec![tick(view, next)])
}

/// The same with a by-hand tick, which moves nothing on and releases nothing.
pub fn firing_by_hand(view: &ScheduleView, nominal: Timestamp) -> Firing {
    Firing { next: view.seen.next, release: None, ..firing(view, vec![by_hand(view, nominal)]) }
}

/// The job that a tick would make.
pub fn job_of(tick: &NewTick) -> &NewJob {
    match &tick.act {
        TickAct::Fire(job) | TickAct::FireByHand(job) => job,
        TickAct::Miss { .. } | TickAct::Refuse => panic!("a tick that is skipped makes no job"),
    }
}

/// An edit that changes nothing but the next tick.
pub fn edit(view: &ScheduleView, next: Option<Timestamp>) -> Edit {
    Edit {
        id: EditId::fresh(),
        schedule: view.schedule.id,
        seen: view.seen,
        spec: Arc::clone(&view.schedule.spec),
        work: Arc::clone(&view.schedule.work),
        is_paused: false,
        next,
    }
}

/// One that pauses it.
pub fn pause(view: &ScheduleView) -> Edit {
    Edit { is_paused: true, ..edit(view, None) }
}

/// Fires one schedule, as whoever wants to and needs no election.
pub async fn fire_by(store: &dyn Store, firing: Firing) -> Fired {
    let answers = store.fire(None, &[firing]).await.expect(ANSWERS).expect("nobody's term is over");
    assert_eq!(answers.len(), 1, "one answer for one firing");
    answers.into_iter().next().expect("there is one")
}

impl Scene<'_> {
    pub async fn create(&self, new: &NewSchedule) -> CreateAnswer {
        self.store.create_schedule(new).await.expect(ANSWERS)
    }

    /// Makes it, which must succeed.
    pub async fn plant(&self, timetable: Timetable) -> ScheduleView {
        match self.create(&timetable.build(self.now().await)).await {
            CreateAnswer::Created(view) => view,
            CreateAnswer::NameTaken(id) => panic!("the name is taken by {id}"),
        }
    }

    /// The default tenant's schedule as it stands.
    pub async fn find_schedule(&self, id: ScheduleId) -> Option<ScheduleView> {
        self.store.schedule(&TenantId::default(), &ScheduleKey::Id(id)).await.expect(ANSWERS)
    }

    pub async fn again(&self, view: &ScheduleView) -> ScheduleView {
        let key = ScheduleKey::Id(view.schedule.id);
        self.store.schedule(&view.schedule.tenant, &key).await.expect(ANSWERS).expect("the schedule is there")
    }

    pub async fn edit(&self, edit: &Edit) -> EditAnswer {
        self.store.edit_schedule(&TenantId::default(), edit).await.expect(ANSWERS)
    }

    /// An edit that must take place.
    pub async fn edited(&self, edit: &Edit) -> ScheduleView {
        match self.edit(edit).await {
            EditAnswer::Edited(view) => view,
            other => panic!("{other:?}"),
        }
    }

    pub async fn delete(&self, view: &ScheduleView) -> DeleteAnswer {
        let ScheduleView { schedule, seen, .. } = view;
        self.store.delete_schedule(&schedule.tenant, schedule.id, *seen).await.expect(ANSWERS)
    }

    pub async fn due(&self, limit: usize) -> DueSchedules {
        self.store.due_schedules(limit).await.expect(ANSWERS)
    }

    pub async fn fire(&self, firings: &[Firing]) -> Vec<Fired> {
        let answers = self.store.fire(None, firings).await.expect(ANSWERS).expect("nobody's term is over");
        assert_eq!(answers.len(), firings.len(), "one answer for each firing");
        answers
    }

    pub async fn fire_one(&self, firing: &Firing) -> Fired {
        fire_by(&*self.store, firing.clone()).await
    }

    /// A firing that must take place.
    pub async fn fired(&self, firing: &Firing) -> Vec<JobId> {
        match self.fire_one(firing).await {
            Fired::Done(jobs) => jobs,
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass until the schedule's next tick is due, and fires it. Answers its jobs.
    pub async fn fire_next(&self, view: &ScheduleView) -> Vec<JobId> {
        let view = self.again(view).await;
        let next = view.seen.next.expect("it has a next tick");
        self.advance(next.since(self.now().await)).await;
        self.fired(&next_firing(&view)).await
    }

    /// All of its ticks, the latest first.
    pub async fn ticks(&self, view: &ScheduleView) -> Vec<TickView> {
        self.store.ticks(view.schedule.id, None, super::given::PLENTY).await.expect(ANSWERS)
    }

    /// How many jobs of the default tenant there are in a queue.
    pub async fn count_in(&self, name: &str) -> u64 {
        self.count(&JobFilter { queue: Some(queue(name)), ..JobFilter::default() }).await
    }
}

pub fn nominals(ticks: &[TickView]) -> Vec<Timestamp> {
    ticks.iter().map(|tick| tick.nominal).collect()
}

pub fn schedule_ids(due: &[DueSchedule]) -> Vec<ScheduleId> {
    due.iter().map(|due| due.schedule.id).collect()
}
