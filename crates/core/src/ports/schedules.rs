//! Schedules as they are kept, and the one transaction that fires them.
//!
//! A tick is fired once, whoever tries and however often: its row `(schedule, nominal)` is written under the lock of the
//! schedule's row together with its job, and only while the schedule still is what the firing was computed from.
//! Leadership picks who tries. Editing, pausing and deleting work by the same comparison and are refused while a tick
//! is due, so a tick computed before an edit cannot land after it, and one that was due before it is not lost.
//!
//! [`ScheduleStore`] is what a store does; [`Schedules`] is what the API asks for, and the engine stands between them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
pub use foreman_protocol::schedule::{TickReason, TickState};
use serde_json::value::RawValue;

use super::StoreError;
use super::query::Counted;
use super::upkeep::Leader;
use crate::id::{EditId, JobId, ScheduleId, TenantId};
use crate::job::{NewJob, Work};
use crate::schedule::{NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleName, ScheduleSpec};
use crate::spec::Invalid;
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
pub trait ScheduleStore: Send + Sync {
    /// What time it is by the store's clock: what decides when a tick is due, and so what a first tick is computed from.
    async fn time(&self) -> Result<Timestamp, StoreError>;

    /// Sent again with the same id it answers [`CreateAnswer::Created`] again and changes nothing.
    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError>;

    /// With its latest tick.
    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError>;

    /// Where a schedule stands, without what it says. Of one that this version cannot read, for a later one wrote it, that is all
    /// there is to know, and enough to replace or delete it. Only a store that is damaged has no answer.
    async fn schedule_head(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleHead>, StoreError> {
        Ok(self.schedule(tenant, key).await?.map(|view| view.schedule_head()))
    }

    /// By name, those after `after`, at most `limit`; each with its latest tick.
    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError>;

    /// How many a tenant has, counted no further than `enough`.
    async fn count_schedules(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        let limit = usize::try_from(enough).unwrap_or(usize::MAX);
        Ok(self.schedules(tenant, None, limit).await?.len() as u64)
    }

    /// How many of a tenant's schedules have a tick that is due and was not decided about yet, counted no further than
    /// `enough`, and since when the first of them is.
    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError>;

    /// Changes a schedule, only while it is what was seen and nothing of it is due. Sent again with the same id it
    /// answers [`EditAnswer::Edited`] again. A held tick stays held.
    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError>;

    /// Removes a schedule under the same condition. Its jobs stay; its ticks stay until their retention, a held one
    /// recorded as skipped.
    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        id: ScheduleId,
        seen: SeenSchedule,
    ) -> Result<DeleteAnswer, StoreError>;

    /// Schedules whose next tick is due, the most overdue first, and those with a held tick that no longer has to wait
    /// and that are not paused; at most `limit` of each. None of a tenant that is disabled: its ticks stay due until it is
    /// enabled. One that cannot be read is left out, and said so in the log.
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError>;

    /// Fires each schedule that is still what was seen: writes the ticks, submits their jobs and moves on, all in one
    /// transaction. One that is stale changes nothing and holds up no other. A tick that is there already is passed by
    /// without a job, so that sent again all of it is done once. `None`, and nothing is done, when the leader's term is
    /// over. Answers in the order given; no schedule twice in one call.
    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError>;

    /// What became of a schedule's ticks, the latest first, those before `before`, at most `limit`.
    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError>;
}

/// Ticks that nobody has fired yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overdue {
    pub counted: Counted,
    /// How long the first of them has been due.
    pub longest: Option<Duration>,
}

/// A schedule and where it stands.
#[derive(Clone, Debug)]
pub struct ScheduleView {
    pub schedule: Schedule,
    pub seen: SeenSchedule,
    pub is_paused: bool,
    pub created_at: Timestamp,
    pub edited_at: Timestamp,
    pub last_tick: Option<TickView>,
}

/// What of a schedule is no matter of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleHead {
    pub id: ScheduleId,
    pub name: ScheduleName,
    pub seen: SeenSchedule,
    pub created_at: Timestamp,
}

impl ScheduleView {
    pub fn schedule_head(&self) -> ScheduleHead {
        let Schedule { id, name, .. } = &self.schedule;
        ScheduleHead { id: *id, name: name.clone(), seen: self.seen, created_at: self.created_at }
    }

    /// It will never fire again unless it is edited.
    pub fn is_finished(&self) -> bool {
        !self.is_paused && self.seen.next.is_none()
    }
}

/// What a decision about a schedule was based on; it holds only as long as all of this is still so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSchedule {
    /// Rises with every edit, from 1.
    pub version: i64,
    /// The next tick. None while it is paused, and when it is finished.
    pub next: Option<Timestamp>,
    /// A tick that waits for a job of an earlier one to be final.
    pub held: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub enum CreateAnswer {
    Created(ScheduleView),
    NameTaken(ScheduleId),
}

/// The whole schedule as it shall be from now on.
#[derive(Clone, Debug)]
pub struct Edit {
    pub id: EditId,
    pub schedule: ScheduleId,
    pub seen: SeenSchedule,
    pub spec: Arc<ScheduleSpec>,
    pub work: Arc<Work>,
    pub is_paused: bool,
    pub next: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub enum EditAnswer {
    Edited(ScheduleView),
    /// It is not what was seen, or a tick is due: look again, fire what is due, decide again.
    Stale,
    /// There is no such schedule of this tenant.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteAnswer {
    Deleted,
    Stale,
    Gone,
}

#[derive(Clone, Debug)]
pub struct DueSchedules {
    /// By the store's clock.
    pub now: Timestamp,
    /// Those whose tick is due.
    pub due: Vec<DueSchedule>,
    /// Those whose held tick may go.
    pub freed: Vec<DueSchedule>,
    /// When the next tick that is not due yet will be.
    pub next_in: Option<Duration>,
    /// A tick is held somewhere: look again soon.
    pub is_any_held: bool,
}

/// What is needed to fire a schedule.
#[derive(Clone, Debug)]
pub struct DueSchedule {
    pub schedule: Schedule,
    pub seen: SeenSchedule,
}

#[derive(Clone, Debug)]
pub struct Firing {
    pub schedule: ScheduleId,
    pub seen: SeenSchedule,
    pub overlap: Overlap,
    /// The job of the held tick, if there is one: it is fired if no job of the schedule is open.
    pub release: Option<NewJob>,
    /// Oldest first.
    pub ticks: Vec<NewTick>,
    pub next: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub struct NewTick {
    /// The instant it belongs to.
    pub nominal: Timestamp,
    pub act: TickAct,
}

#[derive(Clone, Debug)]
pub enum TickAct {
    /// Fire, if the overlap lets it.
    Fire(NewJob),
    /// Somebody asked for it, apart from the calendar: fire, whatever else runs. A tick of that instant which made this
    /// very job is the same request; when there is another, this one is fired a microsecond later.
    FireByHand(NewJob),
    /// It is missed, and so are the following until `last`.
    Miss { last: Timestamp, count: Option<u32> },
    /// The tenant has as many jobs waiting, or queues with waiting jobs, as it may have: it is skipped, and recorded as such.
    Refuse,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired {
    Done(Vec<JobId>),
    /// The schedule is not what was seen, or is gone. Nothing was written for it.
    Stale,
    /// These jobs are to be cancelled first; then send the same again. Nothing was written for it.
    CancelFirst(Vec<JobId>),
}

/// How far back a store looks for jobs of a schedule that are not final: at its latest so many fired ticks.
pub const OPEN_JOBS_AMONG: usize = 1_000;

/// The result of a tick, or of a series of missed ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickView {
    pub nominal: Timestamp,
    pub state: TickState,
    pub reason: Option<TickReason>,
    /// When the result was recorded.
    pub at: Timestamp,
    /// Of a fired one; its state is missing when the job has been removed.
    pub job: Option<(JobId, Option<State>)>,
    /// The last tick of a series of missed ones.
    pub last: Option<Timestamp>,
    /// How many it stands for; `None`: more than were counted.
    pub count: Option<u32>,
}

/// Schedules as the API changes them.
#[async_trait]
pub trait Schedules: Send + Sync {
    async fn create(&self, tenant: &TenantId, spec: ScheduleSpec) -> Result<ScheduleView, ScheduleError>;

    /// Fires what is due, then changes the schedule. `only_if`: it must be at this version.
    async fn change(
        &self,
        tenant: &TenantId,
        key: &ScheduleKey,
        change: ScheduleChange,
        only_if: Option<i64>,
    ) -> Result<ScheduleView, ScheduleError>;

    /// Fires what is due, then removes the schedule.
    async fn delete(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<(), ScheduleError>;

    /// Makes its job now, whatever the calendar says, whether it is paused or not, and whatever else of it runs.
    /// `only_if`: it must be at this version.
    async fn run(&self, tenant: &TenantId, key: &ScheduleKey, only_if: Option<i64>) -> Result<JobId, ScheduleError>;
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each request, and never kept")]
pub enum ScheduleChange {
    Replace(ScheduleSpec),
    /// A JSON object: what is given replaces, `null` removes, and so inside `job`.
    Patch(Box<RawValue>),
    Pause,
    Resume,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum ScheduleError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is no such schedule")]
    NotFound,
    #[error("the name {0} is taken")]
    NameTaken(ScheduleName),
    /// Not at the version that was asked for.
    #[error("the schedule is at version {0}")]
    Changed(i64),
    /// A later version wrote it. It can be replaced and deleted, and nothing else.
    #[error("this version cannot read the schedule: {0}")]
    Unreadable(String),
    /// It kept changing under our hands.
    #[error("other requests keep changing the schedule")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}
