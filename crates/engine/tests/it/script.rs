//! A store that can be told to fail: the reference store behind a script, verb by verb.

mod books;
mod tenancy;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::memory;
use foreman_core::ports::{
    AttemptPage, Audit, CancelAnswer, ChangeLog, Changes, ClaimAnswer, ClaimRequest, Counted, CreateAnswer, Cursor,
    DeleteAnswer, Due, DueSchedules, Edit, EditAnswer, FailureGroups, Fired, Firing, Heartbeat, HeldView, JobFilter,
    JobQuery, JobStore, JobSummary, JobView, Labels, Leader, OpenJob, Overdue, Page, Position, PruneKind, PruneStep,
    Pulse, QueueView, RedriveAnswer, RemoveAnswer, Retention, ScheduleStore, ScheduleView, Seen, SessionInfo,
    SessionStore, SessionView, Settled, Settlement, Standing, StateCounts, StoreError, Submitted, TickView, Upkeep,
    WaitingTask,
};
use foreman_core::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use foreman_core::{ClaimToken, JobId, NewJob, ScheduleId, SessionId, State, TenantId, Timestamp};
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::sleep;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Submit,
    Waiting,
    Claim,
    Settle,
    Register,
    Heartbeat,
    Held,
    Drain,
    End,
    Pulses,
    Lapse,
    Promote,
    /// Jobs.
    Prune,
    PrunePartitions,
    /// Every other kind.
    PruneRest,
    Cancel,
    Time,
    CreateSchedule,
    Schedule,
    Standing,
    EditSchedule,
    DeleteSchedule,
    DueSchedules,
    Fire,
    Get,
    Changes,
    Running,
    Tenant,
    Tenants,
    WebhooksOf,
    NoteDeliveries,
    Courier,
    Post,
    Record,
    Bookkeeper,
    Book,
    Depths,
    KnownDepths,
}

#[derive(Clone, Debug)]
pub enum Act {
    /// Nothing is done.
    Fail(StoreError),
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is done, and this is the answer.
    FailAfter(StoreError),
    /// Nothing is done until the store is healed; then it is.
    Hang,
    /// It is done, and the answer comes when the store is healed.
    HangAfter,
    /// It takes so long.
    Delay(Duration),
    /// A bug in the store.
    Panic,
}

/// What a worker calls.
pub const OF_A_WORKER: [Verb; 7] =
    [Verb::Register, Verb::Heartbeat, Verb::Held, Verb::Claim, Verb::Settle, Verb::Drain, Verb::End];

pub fn away() -> Act {
    Act::Fail(StoreError::Unavailable("scripted".into()))
}

#[derive(Clone)]
pub struct Scripted {
    pub inner: memory::Store,
    script: Arc<Mutex<Script>>,
    healed: watch::Sender<u64>,
    /// Claims that are stuck on their way, whoever waits for them or not.
    late: Arc<Mutex<Vec<ClaimRequest>>>,
    /// What happens before the next page of attempts is read.
    meanwhile: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

#[derive(Default)]
struct Script {
    next: HashMap<Verb, VecDeque<Act>>,
    always: HashMap<Verb, Act>,
    calls: HashMap<Verb, usize>,
    refused: Vec<(JobId, StoreError)>,
    late_claims: usize,
    /// Terms before this one are over.
    term: u64,
    /// So many edits are answered as if somebody else had been faster.
    stale_edits: usize,
    /// Who fired, as far as somebody was elected for it.
    leaders: Vec<u64>,
    /// Rows of the change log that cannot be read, by their place.
    unreadable: Vec<i64>,
    /// Jobs that cannot be read.
    spoilt: Vec<JobId>,
    /// Tenants with a webhook that cannot be read.
    spoilt_tenants: Vec<TenantId>,
    /// Tenants that a later version has written, and that cannot be read.
    later_tenants: Vec<TenantId>,
    booked: Vec<usize>,
}

impl Scripted {
    pub fn new(inner: memory::Store) -> Self {
        Self {
            inner,
            script: Arc::default(),
            healed: watch::Sender::new(0),
            late: Arc::default(),
            meanwhile: Arc::default(),
        }
    }

    /// What the next call of this verb does; said again, the one after it.
    pub fn next(&self, verb: Verb, act: Act) {
        self.script.lock().unwrap().next.entry(verb).or_default().push_back(act);
    }

    /// What every call of this verb does, until the store is healed.
    pub fn always(&self, verb: Verb, act: Act) {
        self.script.lock().unwrap().always.insert(verb, act);
    }

    /// Every call works again; those that hang go on.
    pub fn heal(&self) {
        let mut script = self.script.lock().unwrap();
        script.next.clear();
        script.always.clear();
        script.refused.clear();
        drop(script);
        self.healed.send_modify(|times| *times += 1);
    }

    /// The next claim is stuck on its way, until [`Scripted::late_claims_arrive`].
    pub fn next_claim_is_late(&self) {
        self.script.lock().unwrap().late_claims += 1;
    }

    /// What was stuck on its way takes effect now; nobody hears the answer.
    pub async fn late_claims_arrive(&self) {
        let late = std::mem::take(&mut *self.late.lock().unwrap());
        for request in late {
            self.inner.claim(&request).await.unwrap();
        }
    }

    /// This happens before the next page of attempts is read.
    pub fn before_attempts(&self, meanwhile: impl Future<Output = ()> + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::pin(meanwhile));
    }

    /// A write that contains this job is refused as broken.
    pub fn refuse(&self, job: JobId) {
        self.refuse_with(job, StoreError::Broken(format!("{job} is refused")));
    }

    /// A write that contains this job is answered with this.
    pub fn refuse_with(&self, job: JobId, error: StoreError) {
        self.script.lock().unwrap().refused.push((job, error));
    }

    /// The row of the change log at this place cannot be read.
    pub fn spoil_row(&self, position: Position) {
        self.script.lock().unwrap().unreadable.push(position.0);
    }

    pub fn spoil_job(&self, job: JobId) {
        self.script.lock().unwrap().spoilt.push(job);
    }

    pub fn spoil_webhooks_of(&self, tenant: TenantId) {
        self.script.lock().unwrap().spoilt_tenants.push(tenant);
    }

    /// A later version writes the settings of this tenant.
    pub fn tenant_is_of_a_later_version(&self, tenant: TenantId) {
        self.script.lock().unwrap().later_tenants.push(tenant);
    }

    /// How many entries each booking had since the last time this was asked.
    pub fn booked(&self) -> Vec<usize> {
        std::mem::take(&mut self.script.lock().unwrap().booked)
    }

    /// Every earlier leader's term is over, by the store's account.
    pub fn depose_before(&self, term: u64) {
        self.script.lock().unwrap().term = term;
    }

    /// Somebody else is faster than the next so many edits.
    pub fn edits_are_stale(&self, count: usize) {
        self.script.lock().unwrap().stale_edits = count;
    }

    /// The terms in which something was fired, in order.
    pub fn leaders(&self) -> Vec<u64> {
        self.script.lock().unwrap().leaders.clone()
    }

    pub fn calls(&self, verb: Verb) -> usize {
        self.script.lock().unwrap().calls.get(&verb).copied().unwrap_or(0)
    }

    async fn play<T>(&self, verb: Verb, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let (act, mut healed) = {
            let mut script = self.script.lock().unwrap();
            *script.calls.entry(verb).or_default() += 1;
            let next = script.next.get_mut(&verb).and_then(VecDeque::pop_front);
            (next.or_else(|| script.always.get(&verb).cloned()), self.healed.subscribe())
        };
        match act {
            None => call.await,
            Some(Act::Fail(error)) => Err(error),
            Some(Act::LoseAnswer) => {
                call.await?;
                Err(StoreError::Unavailable("the answer was lost".into()))
            }
            Some(Act::FailAfter(error)) => {
                call.await?;
                Err(error)
            }
            Some(Act::Hang) => {
                let _ = healed.changed().await;
                call.await
            }
            Some(Act::HangAfter) => {
                let answer = call.await;
                let _ = healed.changed().await;
                answer
            }
            Some(Act::Panic) => panic!("a bug in the store"),
            Some(Act::Delay(time)) => {
                sleep(time).await;
                call.await
            }
        }
    }

    /// Ends a session behind its worker's back.
    pub async fn inner_end(&self, session: SessionId) {
        self.inner.end(session).await.unwrap();
    }

    fn check(&self, mut jobs: impl Iterator<Item = JobId>) -> Result<(), StoreError> {
        let script = self.script.lock().unwrap();
        let refused = jobs.find_map(|id| script.refused.iter().find(|(job, _)| *job == id));
        refused.map_or(Ok(()), |(_, error)| Err(error.clone()))
    }
}

#[async_trait]
impl JobStore for Scripted {
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        self.check(jobs.iter().map(|job| job.id))?;
        self.play(Verb::Submit, self.inner.submit(jobs)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
        let is_late = {
            let mut script = self.script.lock().unwrap();
            let is_late = script.late_claims > 0;
            script.late_claims = script.late_claims.saturating_sub(1);
            is_late
        };
        if is_late {
            self.late.lock().unwrap().push(request.clone());
            return std::future::pending().await;
        }
        self.play(Verb::Claim, self.inner.claim(request)).await
    }

    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        self.check(settlements.iter().map(|one| one.job))?;
        self.play(Verb::Settle, self.inner.settle(session, settlements)).await
    }

    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError> {
        self.play(Verb::Cancel, self.inner.cancel(tenant, ids)).await
    }

    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
        self.inner.redrive(tenant, ids).await
    }

    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError> {
        self.inner.remove(tenant, ids).await
    }

    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        self.inner.pause(tenant, queue).await
    }

    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        self.inner.resume(tenant, queue).await
    }
}

#[async_trait]
impl SessionStore for Scripted {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        self.play(Verb::Register, self.inner.register(session)).await
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        self.play(Verb::Heartbeat, self.inner.heartbeat(session, given_up)).await
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        self.play(Verb::Held, self.inner.held(session)).await
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        self.play(Verb::Drain, self.inner.drain(session)).await
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        self.play(Verb::End, self.inner.end(session)).await
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        self.play(Verb::Pulses, self.inner.pulses()).await
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        self.play(Verb::Lapse, self.inner.lapse(pulse)).await
    }
}

#[async_trait]
impl Upkeep for Scripted {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        self.play(Verb::Promote, self.inner.promote(limit)).await
    }

    async fn prune_kind(
        &self,
        leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError> {
        let verb = match kind {
            PruneKind::Jobs => Verb::Prune,
            PruneKind::Partitions => Verb::PrunePartitions,
            _ => Verb::PruneRest,
        };
        self.play(verb, self.inner.prune_kind(leader, kind, retention, limit)).await
    }
}

#[async_trait]
impl JobQuery for Scripted {
    async fn ping(&self) -> Result<(), StoreError> {
        self.inner.ping().await
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        if self.script.lock().unwrap().spoilt.contains(&id) {
            return Err(StoreError::Damaged("scripted".into()));
        }
        self.play(Verb::Get, self.inner.get(tenant, id)).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.inner.attempts(tenant, id, skip).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError> {
        self.inner.list(tenant, filter, after, limit).await
    }

    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError> {
        self.inner.count(tenant, filter).await
    }

    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        self.play(Verb::Waiting, self.inner.waiting(tenant, enough)).await
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        self.play(Verb::Running, self.inner.running()).await
    }

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError> {
        self.inner.queues(tenant).await
    }

    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        self.inner.sessions().await
    }

    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError> {
        self.inner.states(tenant, enough).await
    }

    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<Counted, StoreError> {
        self.inner.ended_since(tenant, state, since, enough).await
    }

    async fn waiting_tasks(
        &self,
        tenant: &TenantId,
        limit: usize,
        enough: u64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        self.inner.waiting_tasks(tenant, limit, enough).await
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError> {
        self.inner.failure_groups(tenant, states, limit, enough).await
    }

    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError> {
        self.inner.held_by(session, limit).await
    }

    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError> {
        self.inner.labels(jobs).await
    }

    async fn audit(&self) -> Result<Audit, StoreError> {
        self.inner.audit().await
    }
}

#[async_trait]
impl ChangeLog for Scripted {
    async fn head(&self) -> Result<Position, StoreError> {
        self.inner.head().await
    }

    async fn start(&self) -> Result<Position, StoreError> {
        self.inner.start().await
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let call = async {
            let changes = self.inner.changes(after, limit).await?;
            let read = after.0 + 1..=changes.position.0;
            if self.script.lock().unwrap().unreadable.iter().any(|place| read.contains(place)) {
                return Err(StoreError::Damaged("scripted".into()));
            }
            Ok(changes)
        };
        self.play(Verb::Changes, call).await
    }
}

#[async_trait]
impl ScheduleStore for Scripted {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.play(Verb::Time, self.inner.time()).await
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        self.play(Verb::CreateSchedule, self.inner.create_schedule(new)).await
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        self.play(Verb::Schedule, self.inner.schedule(tenant, key)).await
    }

    async fn standing(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<Standing>, StoreError> {
        self.play(Verb::Standing, self.inner.standing(tenant, key)).await
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        self.inner.schedules(tenant, after, limit).await
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        self.inner.overdue(tenant, enough).await
    }

    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError> {
        let call = async {
            let is_stale = {
                let mut script = self.script.lock().unwrap();
                let is_stale = script.stale_edits > 0;
                script.stale_edits = script.stale_edits.saturating_sub(1);
                is_stale
            };
            if is_stale { Ok(EditAnswer::Stale) } else { self.inner.edit_schedule(tenant, edit).await }
        };
        self.play(Verb::EditSchedule, call).await
    }

    async fn delete_schedule(&self, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Result<DeleteAnswer, StoreError> {
        self.play(Verb::DeleteSchedule, self.inner.delete_schedule(tenant, id, seen)).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        self.play(Verb::DueSchedules, self.inner.due_schedules(limit)).await
    }

    /// With terms, as a store that many share has them.
    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        let call = async {
            {
                let mut script = self.script.lock().unwrap();
                if leader.is_some_and(|leader| leader.term < script.term) {
                    return Ok(None);
                }
                script.leaders.extend(leader.map(|leader| leader.term));
            }
            self.inner.fire(leader, firings).await
        };
        self.play(Verb::Fire, call).await
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        self.inner.ticks(schedule, before, limit).await
    }
}
