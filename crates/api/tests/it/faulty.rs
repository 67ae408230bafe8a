//! The reference store with a switch: while a fault is set, every verb fails with it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    AttemptPage, Audit, Bucket, CancelAnswer, ChangeLog, Changes, ClaimAnswer, ClaimRequest, Counted, CreateAnswer,
    Cursor, DeleteAnswer, Depth, Due, DueSchedules, Edit, EditAnswer, FailureGroups, Fired, Firing, Heartbeat,
    HeldView, JobFilter, JobQuery, JobStore, JobSummary, JobView, Labels, Leader, OpenJob, Overdue, Page, Position,
    Posted, PruneKind, PruneStep, Pulse, QueueView, Range, RedriveAnswer, RemoveAnswer, Retention, ScheduleStore,
    ScheduleView, Seen, SessionInfo, SessionStore, SessionView, Settled, Settlement, Standing, StateCounts,
    StatisticsStore, StoreError, Stretch, Submitted, TickView, Upkeep, WaitingTask,
};
use foreman_core::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use foreman_core::statistics::{Known, Tally};
use foreman_core::{ClaimToken, JobId, NewJob, ScheduleId, SessionId, State, TenantId, Timestamp, memory};

#[derive(Clone)]
pub enum Fault {
    Error(StoreError),
    Panic,
    /// It never answers.
    Hang,
}

pub struct Faulty {
    pub inner: memory::Store,
    fault: Mutex<Option<Fault>>,
    /// Calls that succeed in spite of the fault.
    spared: AtomicUsize,
    met: AtomicUsize,
    /// What a schedule says cannot be read; where it stands can.
    spoilt: AtomicBool,
    /// Nobody learns what jobs are called.
    nameless: AtomicBool,
    /// How often jobs were counted by their states.
    looks: AtomicUsize,
    moves: Mutex<Vec<Move>>,
}

/// What a worker reports just before the jobs of a state are listed.
struct Move {
    before: State,
    session: SessionId,
    settlements: Vec<Settlement>,
}

type Answer<T> = Result<T, StoreError>;

impl Faulty {
    pub fn new(inner: memory::Store) -> Self {
        Self {
            inner,
            fault: Mutex::default(),
            spared: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            spoilt: AtomicBool::new(false),
            nameless: AtomicBool::new(false),
            looks: AtomicUsize::new(0),
            moves: Mutex::default(),
        }
    }

    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// As if a later version had written every schedule.
    pub fn spoil_schedules(&self, is_spoilt: bool) {
        self.spoilt.store(is_spoilt, Ordering::SeqCst);
    }

    /// Only the question for labels fails.
    pub fn fail_labels(&self, is_failing: bool) {
        self.nameless.store(is_failing, Ordering::SeqCst);
    }

    /// The same, but the next so many calls succeed.
    pub fn set_after(&self, calls: usize, fault: Option<Fault>) {
        self.spared.store(calls, Ordering::SeqCst);
        self.set(fault);
    }

    fn is_spared(&self) -> bool {
        self.spared.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// Once, before the jobs in the state `before` are listed, the worker reports this.
    pub fn settle_before_listing(&self, before: State, session: SessionId, settlements: Vec<Settlement>) {
        self.moves.lock().unwrap().push(Move { before, session, settlements });
    }

    async fn make_the_moves(&self, listed: Option<State>) {
        let due: Vec<Move> = self.moves.lock().unwrap().extract_if(.., |one| Some(one.before) == listed).collect();
        for one in due {
            self.inner.settle(one.session, &one.settlements).await.unwrap();
        }
    }

    /// How many calls have failed so far.
    pub fn faults_met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }

    /// How often somebody asked how many jobs are in each state.
    pub fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }

    async fn check(&self) -> Answer<()> {
        let fault = self.fault.lock().unwrap().clone().filter(|_| !self.is_spared());
        if fault.is_some() {
            self.met.fetch_add(1, Ordering::SeqCst);
        }
        match fault {
            None => Ok(()),
            Some(Fault::Error(error)) => Err(error),
            Some(Fault::Panic) => panic!("the store panicked, as it was told to"),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }
}

macro_rules! checked {
    ($self:ident.$verb:ident($($given:expr),*)) => {{
        $self.check().await?;
        $self.inner.$verb($($given),*).await
    }};
}

#[async_trait]
impl JobStore for Faulty {
    async fn submit(&self, jobs: &[NewJob]) -> Answer<Vec<Submitted>> {
        checked!(self.submit(jobs))
    }
    async fn claim(&self, request: &ClaimRequest) -> Answer<ClaimAnswer> {
        checked!(self.claim(request))
    }
    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Answer<Vec<Settled>> {
        checked!(self.settle(session, settlements))
    }
    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Answer<Vec<Option<CancelAnswer>>> {
        checked!(self.cancel(tenant, ids))
    }
    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Answer<Vec<Option<RedriveAnswer>>> {
        checked!(self.redrive(tenant, ids))
    }
    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Answer<Vec<Option<RemoveAnswer>>> {
        checked!(self.remove(tenant, ids))
    }
    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Answer<bool> {
        checked!(self.pause(tenant, queue))
    }
    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Answer<bool> {
        checked!(self.resume(tenant, queue))
    }
}

#[async_trait]
impl SessionStore for Faulty {
    async fn register(&self, session: &SessionInfo) -> Answer<()> {
        checked!(self.register(session))
    }
    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Answer<Heartbeat> {
        checked!(self.heartbeat(session, given_up))
    }
    async fn held(&self, session: SessionId) -> Answer<Vec<OpenJob>> {
        checked!(self.held(session))
    }
    async fn drain(&self, session: SessionId) -> Answer<bool> {
        checked!(self.drain(session))
    }
    async fn end(&self, session: SessionId) -> Answer<usize> {
        checked!(self.end(session))
    }
    async fn pulses(&self) -> Answer<Vec<Pulse>> {
        checked!(self.pulses())
    }
    async fn lapse(&self, pulse: Pulse) -> Answer<Option<usize>> {
        checked!(self.lapse(pulse))
    }
}

#[async_trait]
impl Upkeep for Faulty {
    async fn promote(&self, limit: usize) -> Answer<Due> {
        checked!(self.promote(limit))
    }
    async fn prune_kind(
        &self,
        leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Answer<Option<PruneStep>> {
        checked!(self.prune_kind(leader, kind, retention, limit))
    }
}

#[async_trait]
impl JobQuery for Faulty {
    async fn ping(&self) -> Answer<()> {
        checked!(self.ping())
    }
    async fn get(&self, tenant: &TenantId, id: JobId) -> Answer<Option<JobView>> {
        checked!(self.get(tenant, id))
    }
    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Answer<Option<AttemptPage>> {
        checked!(self.attempts(tenant, id, skip))
    }
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Answer<Page<JobSummary>> {
        self.make_the_moves(filter.state).await;
        checked!(self.list(tenant, filter, after, limit))
    }
    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Answer<u64> {
        checked!(self.count(tenant, filter))
    }
    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Answer<u64> {
        checked!(self.waiting(tenant, enough))
    }
    async fn running(&self) -> Answer<Vec<(TenantId, u64)>> {
        checked!(self.running())
    }
    async fn queues(&self, tenant: &TenantId) -> Answer<Vec<QueueView>> {
        checked!(self.queues(tenant))
    }
    async fn sessions(&self) -> Answer<Vec<SessionView>> {
        checked!(self.sessions())
    }
    async fn states(&self, tenant: &TenantId, enough: u64) -> Answer<StateCounts> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        checked!(self.states(tenant, enough))
    }
    async fn ended_since(&self, tenant: &TenantId, state: State, since: Timestamp, enough: u64) -> Answer<Counted> {
        checked!(self.ended_since(tenant, state, since, enough))
    }

    async fn waiting_tasks(&self, tenant: &TenantId, limit: usize, enough: u64) -> Answer<Vec<WaitingTask>> {
        checked!(self.waiting_tasks(tenant, limit, enough))
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Answer<FailureGroups> {
        checked!(self.failure_groups(tenant, states, limit, enough))
    }
    async fn held_by(&self, session: SessionId, limit: usize) -> Answer<Vec<HeldView>> {
        checked!(self.held_by(session, limit))
    }
    async fn labels(&self, jobs: &[JobId]) -> Answer<Vec<Labels>> {
        if self.nameless.load(Ordering::SeqCst) {
            self.met.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::Unavailable("nobody knows".into()));
        }
        checked!(self.labels(jobs))
    }
    async fn audit(&self) -> Answer<Audit> {
        checked!(self.audit())
    }
}

#[async_trait]
impl ChangeLog for Faulty {
    async fn head(&self) -> Answer<Position> {
        checked!(self.head())
    }
    async fn start(&self) -> Answer<Position> {
        checked!(self.start())
    }
    async fn changes(&self, after: Position, limit: usize) -> Answer<Changes> {
        checked!(self.changes(after, limit))
    }
}

#[async_trait]
impl ScheduleStore for Faulty {
    async fn time(&self) -> Answer<Timestamp> {
        checked!(self.time())
    }
    async fn create_schedule(&self, new: &NewSchedule) -> Answer<CreateAnswer> {
        checked!(self.create_schedule(new))
    }
    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Answer<Option<ScheduleView>> {
        if self.spoilt.load(Ordering::SeqCst) {
            return Err(StoreError::Damaged("secret: moon".into()));
        }
        checked!(self.schedule(tenant, key))
    }
    async fn standing(&self, tenant: &TenantId, key: &ScheduleKey) -> Answer<Option<Standing>> {
        checked!(self.standing(tenant, key))
    }
    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Answer<Vec<ScheduleView>> {
        checked!(self.schedules(tenant, after, limit))
    }
    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Answer<Overdue> {
        checked!(self.overdue(tenant, enough))
    }
    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Answer<EditAnswer> {
        checked!(self.edit_schedule(tenant, edit))
    }
    async fn delete_schedule(&self, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Answer<DeleteAnswer> {
        checked!(self.delete_schedule(tenant, id, seen))
    }
    async fn due_schedules(&self, limit: usize) -> Answer<DueSchedules> {
        checked!(self.due_schedules(limit))
    }
    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Answer<Option<Vec<Fired>>> {
        checked!(self.fire(leader, firings))
    }
    async fn ticks(&self, schedule: ScheduleId, before: Option<Timestamp>, limit: usize) -> Answer<Vec<TickView>> {
        checked!(self.ticks(schedule, before, limit))
    }
}

#[async_trait]
impl StatisticsStore for Faulty {
    async fn bookkeeper(&self) -> Answer<Position> {
        checked!(self.bookkeeper())
    }
    async fn book(&self, leader: Option<&Leader>, stretch: &Stretch) -> Answer<Option<Posted>> {
        checked!(self.book(leader, stretch))
    }
    async fn depths(&self) -> Answer<Vec<Depth>> {
        checked!(self.depths())
    }
    async fn known_depths(&self) -> Answer<Vec<Known>> {
        checked!(self.known_depths())
    }
    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Answer<Vec<Bucket>> {
        checked!(self.statistics(tenant, range, limit))
    }
    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Answer<Vec<(QueueName, Tally)>> {
        checked!(self.statistics_by_queue(tenant, range, limit))
    }
}
