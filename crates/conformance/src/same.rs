//! The same random history on the reference store and on another: every answer and everything that can be seen agrees.
//!
//! Numbers of claims agree as well, and so do the numbers of moves and how long things took. Only the order of jobs inside one claim, or inside one row of the change log, is left
//! open, which of a tenant's queues its last room goes to, what a position looks like, and the order of schedules that are
//! due at the same moment or freed.

mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::given::{
    Ask, MINUTE, a_job, alone, by_ids, by_order, completed, dead, failed, interrupted, queue, retry, session_info,
    tenant,
};
use super::timetable::{edit, every_minute, firing, firing_by_hand, missed, tick};
use foreman_core::error_group::ErrorGroup;
use foreman_core::id::{ClaimToken, Fence, JobId, SessionId, TenantId};
use foreman_core::job::NewJob;
use foreman_core::lane::Lane;
use foreman_core::memory::{self, LocalWakeups, ManualClock};
use foreman_core::outcome::Verdict;
use foreman_core::ports::{
    ClaimAnswer, ClaimRequest, DueSchedule, DueSchedules, Edit, Fired, Firing, Headroom, JobFilter, Moved, Note,
    Position, Pruned, Queues, Retention, ScheduleView, Settlement, Store, StoreError, Tenancy, TickAct, Topic, Wakeups,
};
use foreman_core::schedule::{NewSchedule, Overlap, Schedule, ScheduleKey, ScheduleSpec};
use foreman_core::state::State;
use foreman_core::target::Route;
use foreman_core::time::{Clock, Timestamp};

/// How a store that is tested never fails.
const ANSWERS: &str = "the store answers";

const TENANTS: [&str; 2] = ["north", "south"];
const QUEUES: [&str; 3] = ["mail", "reports", "video"];
const SESSIONS: usize = 3;
const TTL: Duration = Duration::from_secs(15);
const KINDS: [&str; 2] = ["a", "b"];
const SCHEDULES: [&str; 3] = ["daily", "hourly", "often"];
const OVERLAPS: [Overlap; 4] = [Overlap::Allow, Overlap::Skip, Overlap::Queue, Overlap::Cancel];

#[derive(Clone, Debug)]
pub struct NewSpec {
    tenant: usize,
    queue: usize,
    lane: usize,
    task: bool,
    delay: u64,
    expires: Option<u64>,
    key: Option<(u8, u8)>,
    tries: u32,
    kind: Option<usize>,
    tagged: bool,
    callback: bool,
}

/// Which of the things known so far; taken modulo their number.
type Nth = usize;

/// How many more of each tenant a claim may take; as many as it likes of one that has none.
type Rooms = [Option<u32>; TENANTS.len()];

/// One step of a history.
#[derive(Clone, Debug)]
pub enum Command {
    Submit(Vec<NewSpec>),
    SubmitAgain(Nth),
    Claim {
        session: Nth,
        limit: usize,
        alone: bool,
        queue: Option<usize>,
        tasks: bool,
        rooms: Rooms,
    },
    ClaimByIds {
        session: Nth,
        ids: Vec<Nth>,
        alone: bool,
        rooms: Rooms,
    },
    ClaimAgain(Nth),
    Settle {
        attempt: Nth,
        verdict: u8,
        session: Option<Nth>,
    },
    Cancel(Vec<Nth>, usize),
    Redrive(Vec<Nth>, usize),
    Remove(Vec<Nth>, usize),
    Pause(usize, usize),
    Resume(usize, usize),
    Heartbeat {
        session: Nth,
        given_up: Vec<Nth>,
    },
    Drain(Nth),
    End(Nth),
    Register,
    LapseAll,
    Advance(u64),
    Promote(usize),
    Prune {
        completed: u64,
        others: u64,
    },
    MakeSchedule {
        tenant: usize,
        name: usize,
        overlap: usize,
        queue: usize,
        first: Option<u64>,
    },
    MakeScheduleAgain(Nth),
    EditSchedule {
        nth: Nth,
        tenant: usize,
        next: Option<u64>,
        overlap: usize,
    },
    EditAgain(Nth),
    DeleteSchedule {
        nth: Nth,
        tenant: usize,
    },
    /// Fires some of what is due or freed.
    FireDue {
        limit: usize,
        skips_first: bool,
    },
    /// Cancels what stands in the way of schedules that ask for it, and fires them.
    FireCancelling,
    FireAgain(Nth),
    RunByHand(Nth),
    Mail(webhooks::Mail),
}

fn spec() -> impl Strategy<Value = NewSpec> {
    let delay = prop_oneof![4 => Just(0_u64), 1 => Just(5), 1 => Just(60)];
    let expires = prop_oneof![5 => Just(None), 1 => Just(Some(10)), 1 => Just(Some(40))];
    let key = prop_oneof![3 => Just(None), 1 => (0_u8..3, 0_u8..2).prop_map(Some)];
    let kind = prop_oneof![Just(None), (0..KINDS.len()).prop_map(Some)];
    let names = (0..TENANTS.len(), 0..QUEUES.len(), 0..3_usize, any::<bool>());
    (names, delay, expires, key, 1_u32..5, kind, any::<(bool, bool)>()).prop_map(
        |((tenant, queue, lane, task), delay, expires, key, tries, kind, (tagged, callback))| NewSpec {
            tenant,
            queue,
            lane,
            task,
            delay,
            expires,
            key,
            tries,
            kind,
            tagged,
            callback,
        },
    )
}

/// Histories of all lengths, every verb in them.
pub fn histories() -> impl Strategy<Value = Vec<Command>> {
    vec(command(), 1..90)
}

fn rooms() -> impl Strategy<Value = Rooms> {
    let room = || proptest::option::weighted(0.3, 0_u32..4);
    [room(), room()]
}

fn command() -> impl Strategy<Value = Command> {
    let nth = || any::<Nth>();
    let some = || vec(any::<Nth>(), 1..4);
    let of_tenant = || 0..TENANTS.len();
    let in_queue = || 0..QUEUES.len();
    prop_oneof![
        6 => vec(spec(), 1..6).prop_map(Command::Submit),
        1 => nth().prop_map(Command::SubmitAgain),
        8 => (nth(), 0_usize..8, any::<bool>(), proptest::option::of(in_queue()), any::<bool>(), rooms()).prop_map(
            |(session, limit, alone, queue, tasks, rooms)| {
                Command::Claim { session, limit, alone, queue, tasks, rooms }
            }
        ),
        2 => (nth(), some(), any::<bool>(), rooms())
            .prop_map(|(session, ids, alone, rooms)| Command::ClaimByIds { session, ids, alone, rooms }),
        1 => nth().prop_map(Command::ClaimAgain),
        10 => (nth(), 0_u8..8, prop_oneof![9 => Just(None), 1 => nth().prop_map(Some)])
            .prop_map(|(attempt, verdict, session)| Command::Settle { attempt, verdict, session }),
        2 => (some(), of_tenant()).prop_map(|(ids, tenant)| Command::Cancel(ids, tenant)),
        3 => (some(), of_tenant()).prop_map(|(ids, tenant)| Command::Redrive(ids, tenant)),
        1 => (some(), of_tenant()).prop_map(|(ids, tenant)| Command::Remove(ids, tenant)),
        1 => (of_tenant(), in_queue()).prop_map(|(tenant, queue)| Command::Pause(tenant, queue)),
        2 => (of_tenant(), in_queue()).prop_map(|(tenant, queue)| Command::Resume(tenant, queue)),
        2 => (nth(), vec(any::<Nth>(), 0..3))
            .prop_map(|(session, given_up)| Command::Heartbeat { session, given_up }),
        1 => nth().prop_map(Command::Drain),
        1 => nth().prop_map(Command::End),
        2 => Just(Command::Register),
        2 => Just(Command::LapseAll),
        4 => prop_oneof![Just(1_u64), Just(6), Just(16), Just(61), Just(4_300)].prop_map(Command::Advance),
        4 => prop_oneof![Just(1_usize), Just(3), Just(100)].prop_map(Command::Promote),
        1 => (prop_oneof![Just(0_u64), Just(30)], prop_oneof![Just(20_u64), Just(600)])
            .prop_map(|(completed, others)| Command::Prune { completed, others }),
        16 => schedule_command(),
        10 => webhooks::mail().prop_map(Command::Mail),
    ]
}

fn schedule_command() -> impl Strategy<Value = Command> {
    let nth = || any::<Nth>();
    let of_tenant = || 0..TENANTS.len();
    let overlap = || 0..OVERLAPS.len();
    let next = || proptest::option::weighted(0.85, prop_oneof![Just(1_u64), Just(7), Just(100)]);
    prop_oneof![
        4 => (of_tenant(), 0..SCHEDULES.len(), overlap(), 0..QUEUES.len(), next()).prop_map(
            |(tenant, name, overlap, queue, first)| Command::MakeSchedule { tenant, name, overlap, queue, first }
        ),
        1 => nth().prop_map(Command::MakeScheduleAgain),
        3 => (nth(), of_tenant(), next(), overlap()).prop_map(
            |(nth, tenant, next, overlap)| Command::EditSchedule { nth, tenant, next, overlap }
        ),
        1 => nth().prop_map(Command::EditAgain),
        1 => (nth(), of_tenant()).prop_map(|(nth, tenant)| Command::DeleteSchedule { nth, tenant }),
        10 => (1_usize..5, any::<bool>()).prop_map(
            |(limit, skips_first)| Command::FireDue { limit, skips_first }
        ),
        3 => Just(Command::FireCancelling),
        1 => nth().prop_map(Command::FireAgain),
        2 => nth().prop_map(Command::RunByHand),
    ]
}

/// A store and the bells it rings.
struct Side {
    store: Arc<dyn Store>,
    wakeups: Arc<LocalWakeups>,
    /// How often each has been rung so far.
    rung: [u64; Topic::ALL.len()],
    /// How far its log has been read.
    position: Position,
}

impl Side {
    fn new(store: Arc<dyn Store>, wakeups: Arc<LocalWakeups>) -> Self {
        Self { store, wakeups, rung: Default::default(), position: Position::default() }
    }

    /// What was written to the log since the last look: each job's moves in their order, with their numbers and times, and
    /// what else was told.
    async fn read_on(&mut self) -> (Vec<Moved>, Vec<String>) {
        let (mut moved, mut notes): (Vec<Moved>, Vec<Note>) = (Vec::new(), Vec::new());
        loop {
            let changes = self.store.changes(self.position, 100).await.expect(ANSWERS);
            if changes.rows.is_empty() {
                break;
            }
            self.position = changes.position;
            for row in changes.rows {
                moved.extend(row.moved);
                notes.extend(row.notes);
            }
        }
        moved.sort_by_key(|moved| moved.id);
        (moved, sorted_debug(notes))
    }

    /// Which bells have been rung since the last call.
    fn rung_since(&mut self) -> Vec<Topic> {
        let counts = Topic::ALL.map(|topic| *self.wakeups.listen(topic).borrow());
        let before = std::mem::replace(&mut self.rung, counts);
        let pairs = Topic::ALL.into_iter().zip(before.into_iter().zip(counts));
        pairs.filter(|(_, (before, now))| now > before).map(|(topic, _)| topic).collect()
    }
}

struct Pair {
    memory: Side,
    other: Side,
    clock: Arc<ManualClock>,
    submitted: Vec<NewJob>,
    sessions: Vec<SessionId>,
    requests: Vec<ClaimRequest>,
    attempts: Vec<(SessionId, Fence, JobId)>,
    made: Vec<NewSchedule>,
    edits: Vec<(TenantId, Edit)>,
    firings: Vec<Vec<Firing>>,
    /// The reference's and the other's, where that keeps webhooks.
    tenancy: Option<[Arc<dyn Tenancy>; 2]>,
    sent: webhooks::Sent,
}

/// Asks both and says what they answered, which must be the same.
macro_rules! both {
    ($pair:expr, $label:expr, |$store:ident| $call:expr) => {{
        let memory = {
            let $store = &$pair.memory.store;
            format!("{:?}", $call)
        };
        let other = {
            let $store = &$pair.other.store;
            format!("{:?}", $call)
        };
        prop_assert_eq!(&memory, &other, "{}: the reference is on the left", $label);
        memory
    }};
}

impl Pair {
    fn new(clock: Arc<ManualClock>, other: Side, tenancy: Option<Arc<dyn Tenancy>>) -> Self {
        let wakeups = Arc::new(LocalWakeups::new());
        let reference = Arc::new(memory::Store::new(clock.clone(), wakeups.clone()));
        let tenancy = tenancy.map(|other| [Arc::clone(&reference) as Arc<dyn Tenancy>, other]);
        let memory = Side::new(reference, wakeups);
        Self {
            memory,
            other,
            clock,
            submitted: Vec::new(),
            sessions: Vec::new(),
            requests: Vec::new(),
            attempts: Vec::new(),
            made: Vec::new(),
            edits: Vec::new(),
            firings: Vec::new(),
            tenancy,
            sent: webhooks::Sent::default(),
        }
    }

    fn session(&self, nth: Nth) -> SessionId {
        self.sessions[nth % self.sessions.len()]
    }

    fn ids(&self, nths: &[Nth]) -> Vec<JobId> {
        if self.submitted.is_empty() {
            return vec![JobId::fresh()];
        }
        nths.iter().map(|nth| self.submitted[nth % self.submitted.len()].id).collect()
    }

    fn built(&self, spec: &NewSpec) -> NewJob {
        let mut ask: Ask = a_job()
            .of(TENANTS[spec.tenant])
            .queued(QUEUES[spec.queue])
            .lane(Lane::ALL[spec.lane])
            .after(Duration::from_secs(spec.delay))
            .tries(spec.tries);
        if spec.task {
            ask = ask.task("resize");
        }
        if let Some(seconds) = spec.expires {
            ask = ask.expires(self.clock.now().plus(Duration::from_secs(seconds)));
        }
        if let Some((key, content)) = spec.key {
            ask = ask.keyed(&format!("key-{key}"), content);
        }
        if let Some(kind) = spec.kind {
            ask = ask.kind(KINDS[kind]);
        }
        if spec.tagged {
            ask = ask.tagged("blue").correlated("order-7");
        }
        if spec.callback {
            ask = ask.work(|work| work.callback_url = Some("https://example.com/done".into()));
        }
        ask.build()
    }

    async fn claim(&mut self, request: ClaimRequest) -> Result<(), TestCaseError> {
        let memory = self.memory.store.claim(&request).await;
        let other = self.other.store.claim(&request).await;
        let (memory, attempts) = claimed(memory);
        let (other, _) = claimed(other);
        prop_assert_eq!(memory, other, "{:?}: the reference is on the left", &request);
        self.attempts.extend(attempts.into_iter().map(|(fence, job)| (request.session, fence, job)));
        self.requests.push(request);
        Ok(())
    }

    async fn obey(&mut self, command: &Command) -> Result<(), TestCaseError> {
        match command {
            Command::Submit(specs) => {
                let jobs: Vec<NewJob> = specs.iter().map(|spec| self.built(spec)).collect();
                both!(self, "submit", |store| store.submit(&jobs).await);
                self.submitted.extend(jobs);
            }
            Command::SubmitAgain(nth) => {
                let Some(job) = self.submitted.get(nth % self.submitted.len().max(1)).cloned() else { return Ok(()) };
                both!(self, "submit again", |store| store.submit(std::slice::from_ref(&job)).await);
            }
            Command::Claim { session, limit, alone: is_alone, queue: named, tasks, rooms } => {
                // Which of a tenant's queues its room goes to is open: where there are several it has all or none.
                let is_one_line = named.is_some() && !tasks;
                let rooms = rooms.map(|room| room.filter(|jobs| is_one_line || *jobs == 0));
                let mut request = within(&rooms, by_order(self.session(*session), *limit));
                if *tasks {
                    request.routes.extend([Route::task("resize"), Route::webhook()]);
                }
                if let Some(named) = named {
                    request.queues = Queues::Named(vec![queue(QUEUES[*named])]);
                }
                self.claim(if *is_alone { alone(request) } else { request }).await?;
            }
            Command::ClaimByIds { session, ids, alone: is_alone, rooms } => {
                let mut ids = self.ids(ids);
                ids.sort();
                ids.dedup();
                let request = within(rooms, by_ids(self.session(*session), &ids));
                self.claim(if *is_alone { alone(request) } else { request }).await?;
            }
            Command::ClaimAgain(nth) => {
                let Some(request) = self.requests.get(nth % self.requests.len().max(1)).cloned() else {
                    return Ok(());
                };
                self.claim(request).await?;
            }
            Command::Settle { attempt, verdict, session } => {
                let Some((owner, fence, job)) = self.attempts.get(attempt % self.attempts.len().max(1)).copied() else {
                    return Ok(());
                };
                let session = session.map_or(owner, |nth| self.session(nth));
                let settlement = Settlement { fence, job, verdict: verdict_of(*verdict) };
                both!(self, "settle", |store| store.settle(session, std::slice::from_ref(&settlement)).await);
            }
            Command::Cancel(nths, of) => {
                let (ids, of) = (self.ids(nths), tenant(TENANTS[*of]));
                both!(self, "cancel", |store| store.cancel(&of, &ids).await);
            }
            Command::Redrive(nths, of) => {
                let (ids, of) = (self.ids(nths), tenant(TENANTS[*of]));
                both!(self, "redrive", |store| store.redrive(&of, &ids).await);
            }
            Command::Remove(nths, of) => {
                let (ids, of) = (self.ids(nths), tenant(TENANTS[*of]));
                both!(self, "remove", |store| store.remove(&of, &ids).await);
            }
            Command::Pause(of, name) => {
                let (of, name) = (tenant(TENANTS[*of]), queue(QUEUES[*name]));
                both!(self, "pause", |store| store.pause(&of, &name).await);
            }
            Command::Resume(of, name) => {
                let (of, name) = (tenant(TENANTS[*of]), queue(QUEUES[*name]));
                both!(self, "resume", |store| store.resume(&of, &name).await);
            }
            Command::Heartbeat { session, given_up } => {
                let session = self.session(*session);
                let tokens: Vec<ClaimToken> = given_up
                    .iter()
                    .filter_map(|nth| self.requests.get(nth % self.requests.len().max(1)))
                    .map(|request| request.token)
                    .collect();
                both!(self, "heartbeat", |store| store.heartbeat(session, &tokens).await);
            }
            Command::Drain(nth) => {
                let session = self.session(*nth);
                both!(self, "drain", |store| store.drain(session).await);
            }
            Command::End(nth) => {
                let session = self.session(*nth);
                both!(self, "end", |store| store.end(session).await);
            }
            Command::Register => self.register().await?,
            Command::LapseAll => {
                for pulse in self.memory.store.pulses().await.expect(ANSWERS) {
                    both!(self, "lapse", |store| store.lapse(pulse).await);
                }
            }
            Command::Advance(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            Command::Promote(limit) => {
                both!(self, "promote", |store| store.promote(*limit).await);
            }
            Command::Prune { completed, others } => {
                let others = Duration::from_secs(*others);
                let retention = Retention {
                    completed: Some(Duration::from_secs(*completed)),
                    failed: Some(others),
                    cancelled: Some(others),
                    dead: None,
                    changes: Duration::from_secs(100),
                    // Kept: the reference finds a worker's name in its session.
                    sessions: Duration::from_secs(1_000_000),
                    queues: others,
                    ticks: others,
                    deliveries: others,
                    audit: others,
                    statistics: others,
                    parked: others,
                };
                // In how many rows the log was written differs by design, and so does when unused lines are looked for.
                both!(self, "prune", |store| store.prune(&retention, 10_000).await.map(|pruned| Pruned {
                    changes: pruned.changes.min(1),
                    lines: 0,
                    ..pruned
                }));
            }
            Command::Mail(mail) => self.deal_with(mail).await?,
            other => self.obey_schedules(other).await?,
        }
        Ok(())
    }

    async fn obey_schedules(&mut self, command: &Command) -> Result<(), TestCaseError> {
        match command {
            Command::MakeSchedule { tenant, name, overlap, queue, first } => {
                let timetable = every_minute(SCHEDULES[*name]).of(TENANTS[*tenant]).queued(QUEUES[*queue]);
                let timetable = timetable.overlap(OVERLAPS[*overlap]);
                let timetable = match first {
                    Some(seconds) => timetable.first_in(Duration::from_secs(*seconds)),
                    None => timetable.paused(),
                };
                let new = timetable.build(self.clock.now());
                both!(self, "make a schedule", |store| store.create_schedule(&new).await);
                self.made.push(new);
            }
            Command::MakeScheduleAgain(nth) => {
                let Some(new) = self.made.get(nth % self.made.len().max(1)).cloned() else { return Ok(()) };
                both!(self, "make a schedule again", |store| store.create_schedule(&new).await);
            }
            Command::EditSchedule { nth, tenant: of, next, overlap } => {
                let Some(view) = self.schedule(*nth).await else { return Ok(()) };
                let next = next.map(|seconds| self.clock.now().plus(Duration::from_secs(seconds)));
                let overlap = Some(OVERLAPS[*overlap]);
                let spec = ScheduleSpec { overlap, ..(*view.schedule.spec).clone() };
                let edit = Edit { spec: Arc::new(spec), is_paused: next.is_none(), ..edit(&view, next) };
                let of = tenant(TENANTS[*of]);
                both!(self, "edit a schedule", |store| store.edit_schedule(&of, &edit).await);
                self.edits.push((of, edit));
            }
            Command::EditAgain(nth) => {
                let Some((of, edit)) = self.edits.get(nth % self.edits.len().max(1)).cloned() else { return Ok(()) };
                both!(self, "edit a schedule again", |store| store.edit_schedule(&of, &edit).await);
            }
            Command::DeleteSchedule { nth, tenant: of } => {
                let Some(ScheduleView { schedule, seen, .. }) = self.schedule(*nth).await else { return Ok(()) };
                let of = tenant(TENANTS[*of]);
                both!(self, "delete a schedule", |store| store.delete_schedule(&of, schedule.id, seen).await);
            }
            Command::FireDue { limit, skips_first } => {
                both!(self, "due", |store| in_any_order(store.due_schedules(10_000).await.expect(ANSWERS)));
                let look = self.memory.store.due_schedules(10_000).await.expect(ANSWERS);
                let mut firings: Vec<Firing> = Vec::new();
                for due in look.due.iter().chain(&look.freed).take(*limit) {
                    if firings.iter().all(|firing| firing.schedule != due.schedule.id) {
                        firings.push(prepared(due, look.now, *skips_first));
                    }
                }
                self.fire(firings).await?;
            }
            Command::FireCancelling => {
                let look = self.memory.store.due_schedules(10_000).await.expect(ANSWERS);
                for due in &look.due {
                    let firing = prepared(due, look.now, false);
                    let of = due.schedule.tenant.clone();
                    if let Fired::CancelFirst(open) = self.fire(vec![firing.clone()]).await?.remove(0) {
                        both!(self, "cancel for a tick", |store| store.cancel(&of, &open).await);
                        self.fire(vec![firing]).await?;
                    }
                }
            }
            Command::FireAgain(nth) => {
                let Some(firings) = self.firings.get(nth % self.firings.len().max(1)).cloned() else { return Ok(()) };
                self.fire(firings).await?;
            }
            Command::RunByHand(nth) => {
                let Some(view) = self.schedule(*nth).await else { return Ok(()) };
                self.fire(vec![firing_by_hand(&view, self.clock.now())]).await?;
            }
            other => unreachable!("{other:?} is about jobs"),
        }
        Ok(())
    }

    /// One of those that were made, if it is there still.
    async fn schedule(&self, nth: Nth) -> Option<ScheduleView> {
        let made = self.made.get(nth % self.made.len().max(1))?;
        let key = ScheduleKey::Id(made.schedule.id);
        self.memory.store.schedule(&made.schedule.tenant, &key).await.expect(ANSWERS)
    }

    async fn fire(&mut self, firings: Vec<Firing>) -> Result<Vec<Fired>, TestCaseError> {
        let memory = self.memory.store.fire(None, &firings).await.expect(ANSWERS).expect("no term is over");
        let other = self.other.store.fire(None, &firings).await.expect(ANSWERS).expect("no term is over");
        let answers = memory.clone();
        prop_assert_eq!(sorted_jobs(memory), sorted_jobs(other), "{:?}: the reference is on the left", &firings);
        for firing in &firings {
            let ticks = firing.ticks.iter().filter_map(|tick| match &tick.act {
                TickAct::Fire(job) | TickAct::FireByHand(job) => Some(job),
                TickAct::Miss { .. } | TickAct::Refuse => None,
            });
            for job in ticks.chain(&firing.release) {
                if self.submitted.iter().all(|known| known.id != job.id) {
                    self.submitted.push(job.clone());
                }
            }
        }
        self.firings.push(firings);
        Ok(answers)
    }

    /// The newest few sessions are the ones that commands speak of.
    async fn register(&mut self) -> Result<(), TestCaseError> {
        let info = session_info(SessionId::fresh(), "worker", TTL);
        both!(self, "register", |store| store.register(&info).await);
        if self.sessions.len() == SESSIONS {
            self.sessions.remove(0);
        }
        self.sessions.push(info.id);
        Ok(())
    }

    /// The change log since the last look, and whether the same bells were rung.
    async fn compare_after(&mut self, command: &Command) -> Result<(), TestCaseError> {
        let (memory, other) = (self.memory.read_on().await, self.other.read_on().await);
        prop_assert_eq!(memory, other, "changes after {:?}: the reference is on the left", command);
        prop_assert_eq!(self.other.store.head().await.expect(ANSWERS), self.other.position, "the end of the log");
        prop_assert!(self.other.store.start().await.expect(ANSWERS) <= self.other.position, "who follows can read on");
        // How often differs by design: once per commit there, once per job here. Whether does not.
        let (mut memory, other) = (self.memory.rung_since(), self.other.rung_since());
        if matches!(command, Command::Promote(_)) && !other.contains(&Topic::Waiting) {
            // The reference also tells the promoter of a start-by that it has just seen; nobody needs to.
            memory.retain(|topic| *topic != Topic::Waiting);
        }
        prop_assert_eq!(memory, other, "bells after {:?}", command);
        Ok(())
    }

    /// Everything that can be asked.
    async fn compare_everything(&self) -> Result<(), TestCaseError> {
        for of in TENANTS.map(tenant) {
            for job in &self.submitted {
                both!(self, "get", |store| store.get(&of, job.id).await);
            }
            both!(self, "queues", |store| store.queues(&of).await);
            both!(self, "waiting", |store| store.waiting(&of, 1_000).await);
            both!(self, "enough waiting", |store| store.waiting(&of, 2).await);
            both!(self, "queues with waiting jobs", |store| store.waiting_queues(&of, 1_000).await);
            for enough in [1, 1_000] {
                both!(self, "states", |store| store.states(&of, enough).await);
                both!(self, "overdue", |store| store.overdue(&of, enough).await);
                let groups = async |store: &Arc<dyn Store>| {
                    store.failure_groups(&of, &State::FAILURES, 100, enough).await.expect(ANSWERS)
                };
                both!(self, "failure groups", |store| sorted_debug(groups(store).await.groups));
                both!(self, "all failure groups", |store| groups(store).await.is_complete);
            }
            for filter in filters(self.clock.as_ref()) {
                self.compare_lists(&of, &filter).await?;
            }
        }
        for session in &self.sessions {
            both!(self, "held", |store| store.held(*session).await);
            both!(self, "held by", |store| store.held_by(*session, 100).await);
        }
        let known: Vec<JobId> = self.submitted.iter().map(|job| job.id).collect();
        both!(self, "labels", |store| sorted_debug(store.labels(&known).await.expect(ANSWERS)));
        both!(self, "depths", |store| sorted_debug(store.depths().await.expect(ANSWERS)));
        for new in &self.made {
            let Schedule { id, tenant, .. } = &new.schedule;
            both!(self, "schedule", |store| store.schedule(tenant, &ScheduleKey::Id(*id)).await);
            both!(self, "ticks", |store| store.ticks(*id, None, 1_000).await);
            both!(self, "some ticks", |store| store.ticks(*id, Some(self.clock.now()), 2).await);
        }
        for of in TENANTS.map(tenant) {
            both!(self, "schedules", |store| store.schedules(&of, None, 100).await);
        }
        both!(self, "due", |store| in_any_order(store.due_schedules(10_000).await.expect(ANSWERS)));
        both!(self, "running", |store| sorted_debug(store.running().await.expect(ANSWERS)));
        self.compare_mail().await?;
        both!(self, "pulses", |store| sorted_debug(store.pulses().await.expect(ANSWERS)));
        both!(self, "sessions", |store| store.sessions().await);
        let audit = self.other.store.census().await.expect(ANSWERS);
        prop_assert!(audit.is_clean(), "{:#?}", audit);
        both!(self, "audit", |store| store.census().await);
        Ok(())
    }

    async fn compare_lists(&self, of: &TenantId, filter: &JobFilter) -> Result<(), TestCaseError> {
        both!(self, "count", |store| store.count(of, filter).await);
        let mut after = None;
        loop {
            let page = self.memory.store.list(of, filter, after.as_ref(), 4).await.expect(ANSWERS);
            both!(self, format!("list {filter:?}"), |store| store.list(of, filter, after.as_ref(), 4).await);
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

fn within(rooms: &Rooms, request: ClaimRequest) -> ClaimRequest {
    let named = TENANTS.into_iter().zip(rooms);
    let rooms = named.filter_map(|(name, jobs)| Some(Headroom { tenant: tenant(name), jobs: (*jobs)? })).collect();
    ClaimRequest { rooms, ..request }
}

fn claimed(answer: Result<ClaimAnswer, StoreError>) -> (String, Vec<(Fence, JobId)>) {
    match answer.expect(ANSWERS) {
        ClaimAnswer::Claimed(mut claim) => {
            claim.jobs.sort_by_key(|held| held.job.id);
            // A hint: how much a look leaves unseen is each store's own.
            claim.has_more = false;
            let attempts = claim.jobs.iter().map(|held| (held.fence, held.job.id)).collect();
            (format!("{claim:?}"), attempts)
        }
        other => (format!("{other:?}"), Vec::new()),
    }
}

fn sorted_debug<T: std::fmt::Debug>(items: Vec<T>) -> Vec<String> {
    let mut items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    items.sort();
    items
}

/// What is due at the same moment, or freed, comes in any order.
fn in_any_order(mut look: DueSchedules) -> String {
    look.due.sort_by_key(|due| (due.seen.next, due.schedule.id));
    look.freed.sort_by_key(|freed| freed.schedule.id);
    format!("{look:?}")
}

/// The jobs to cancel, in any order.
fn sorted_jobs(mut fired: Vec<Fired>) -> Vec<Fired> {
    for fired in &mut fired {
        if let Fired::CancelFirst(open) = fired {
            open.sort();
        }
    }
    fired
}

/// A tick a minute until now, five at most; the first two of them as missed, if so asked.
fn prepared(due: &DueSchedule, now: Timestamp, skips_first: bool) -> Firing {
    let view = ScheduleView {
        schedule: due.schedule.clone(),
        seen: due.seen,
        is_paused: false,
        created_at: now,
        edited_at: now,
        last_tick: None,
    };
    let Some(next) = due.seen.next.filter(|next| *next <= now) else { return firing(&view, Vec::new()) };
    let mut ticks = Vec::new();
    if skips_first {
        ticks.push(missed(next, next.plus(MINUTE), Some(2)));
    }
    let from = u32::try_from(ticks.len() * 2).expect("few");
    ticks.extend((from..from + 3).map(|nth| next.plus(MINUTE * nth)).filter(|at| *at <= now).map(|at| tick(&view, at)));
    firing(&view, ticks)
}

fn verdict_of(which: u8) -> Verdict {
    match which {
        0 => completed(),
        1 => failed("no"),
        2 => dead("never"),
        3 => retry(Duration::ZERO),
        4 => retry(Duration::from_secs(7)),
        5 => interrupted(),
        6 => Verdict::Released,
        _ => retry(Duration::from_mins(2)),
    }
}

fn filters(clock: &ManualClock) -> Vec<JobFilter> {
    let some = |change: &dyn Fn(&mut JobFilter)| {
        let mut filter = JobFilter::default();
        change(&mut filter);
        filter
    };
    let recent = clock.now().minus(Duration::from_secs(20));
    let mut filters: Vec<JobFilter> = State::ALL.map(|state| some(&|filter| filter.state = Some(state))).into();
    for state in State::ALL {
        filters.push(some(&|filter| {
            filter.state = Some(state);
            filter.tag = Some("blue".into());
            filter.queue = Some(queue(QUEUES[0]));
            filter.kind = Some(KINDS[0].into());
        }));
    }
    filters.push(JobFilter::default());
    filters.push(some(&|filter| filter.queue = Some(queue(QUEUES[1]))));
    filters.push(some(&|filter| filter.queue = Some(queue(foreman_core::webhook::QUEUE))));
    filters.push(some(&|filter| filter.kind = Some(KINDS[1].into())));
    filters.push(some(&|filter| filter.tag = Some("blue".into())));
    filters.push(some(&|filter| filter.correlation_id = Some("order-7".into())));
    for error in ["no", "never", "expired"] {
        let group = Some(ErrorGroup::of(error));
        filters.push(some(&|filter| filter.error_group.clone_from(&group)));
        for state in [State::Pending, State::Failed, State::Dead] {
            filters.push(some(&|filter| {
                filter.error_group.clone_from(&group);
                filter.state = Some(state);
                filter.tag = (error == "no").then(|| "blue".into());
            }));
        }
    }
    filters.push(some(&|filter| filter.created_after = Some(recent)));
    filters.push(some(&|filter| filter.created_before = Some(recent)));
    filters
}

/// Plays a history on the reference store and on `store`, which goes by `clock` and rings `wakeups`, and compares.
/// What is about webhooks and the audit log is left out.
pub async fn agrees(
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    wakeups: Arc<LocalWakeups>,
    history: &[Command],
) -> Result<(), TestCaseError> {
    play(Pair::new(clock, Side::new(store, wakeups), None), history).await
}

/// The same, of a store that keeps webhooks too; `tenancy` is the same store.
pub async fn agrees_on_all(
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    tenancy: Arc<dyn Tenancy>,
    wakeups: Arc<LocalWakeups>,
    history: &[Command],
) -> Result<(), TestCaseError> {
    play(Pair::new(clock, Side::new(store, wakeups), Some(tenancy)), history).await
}

async fn play(mut pair: Pair, history: &[Command]) -> Result<(), TestCaseError> {
    for _ in 0..SESSIONS {
        pair.register().await?;
    }
    for (number, command) in history.iter().enumerate() {
        pair.obey(command).await?;
        pair.compare_after(command).await?;
        if number % 20 == 19 {
            pair.compare_everything().await?;
        }
    }
    pair.compare_everything().await
}
