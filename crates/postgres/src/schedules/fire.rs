//! Firing: ticks, their jobs and where their schedules stand next, in one transaction for a whole batch.
//!
//! 1. The schedules' rows are locked in the order of their ids, so that two batches never wait for each other; what is there of
//!    the ticks asked for, which jobs are open, and whether the leader's term is still in force, is read behind that in the
//!    same breath. Each statement sees all that was committed before the locks were had.
//! 2. A schedule that is not what was seen is left out. For the others the overlap decides, and what it decided is written: the
//!    ticks under their key, which would refuse a second one; the jobs as any other submission; the schedules' next ticks.
//!
//! Any number may fire the same at once: the first has it, the others find the schedules changed. A process that dies before the
//! commit has fired nothing; one that does not hear of its commit sends the same again and finds it done. However large the
//! batch, it takes the same few statements. Places in line are reserved before it, as for any submission.

use std::collections::{BTreeMap, HashMap, HashSet};

use foreman_core::job::{NewJob, Start};
use foreman_core::ports::{
    Fired, Firing, Leader, NewTick, Note, OPEN_JOBS_AMONG, SeenSchedule, StoreError, TickAct, TickReason, TickState,
};
use foreman_core::schedule::{Decided, Decision, Overlap, decide};
use foreman_core::storage::NewJobRow;
use foreman_core::{JobId, ScheduleId, TenantId, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::submit;
use crate::order::{Demand, Reservation};
use crate::rows::Cells;
use crate::upkeep::LEADS;
use crate::value::{Arg, Time, bound};
use crate::write::{Query, Transaction};
use crate::{PostgresStore, transact};

pub(crate) const LOCK: &str = "SELECT id, version, next_fire_at, held, tenant, name FROM schedules
    WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE";
/// The ticks of schedules that lie between two times each.
pub(crate) const KNOWN: &str = "SELECT ticks.schedule, ticks.nominal, ticks.job
    FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS asked (schedule, first, last)
    JOIN ticks ON ticks.schedule = asked.schedule AND ticks.nominal >= asked.first AND ticks.nominal <= asked.last";
/// Until the end, nobody re-drives a job whose tick is judged here without waiting. In the order of [`REOPEN`], so that neither
/// waits for the other.
pub(crate) const LOCK_OPEN: &str = "SELECT FROM unnest($1::uuid[]) AS asked (schedule)
    CROSS JOIN LATERAL (
        SELECT FROM ticks WHERE ticks.schedule = asked.schedule AND ticks.open
        ORDER BY ticks.nominal DESC LIMIT $2::bigint FOR UPDATE
    ) AS fired";
pub(crate) const OPEN: &str = include_str!("../sql/open_jobs.sql");
/// Their jobs were found final, and need not be asked for again.
pub(crate) const CLOSE: &str = "UPDATE ticks SET open = false
    FROM unnest($1::uuid[], $2::timestamptz[]) AS final (schedule, nominal)
    WHERE ticks.schedule = final.schedule AND ticks.nominal = final.nominal";
/// For those who re-drive: their ticks' jobs are not final any more. Also where nobody has seen that they were, for someone may
/// be about to say so.
pub(crate) const REOPEN: &str = "WITH fired AS MATERIALIZED (
        SELECT schedule, nominal FROM ticks WHERE job = ANY ($1::uuid[]) ORDER BY schedule, nominal DESC FOR UPDATE
    )
    UPDATE ticks SET open = true FROM fired WHERE ticks.schedule = fired.schedule AND ticks.nominal = fired.nominal";
/// A second one of the same instant is refused, and all that came with it: the last line of defence.
pub(crate) const RECORD: &str = "INSERT INTO ticks (schedule, nominal, state, reason, job, open, at, last, count)
    SELECT schedule, nominal, state, reason, job, job IS NOT NULL, foreman_now(), last, count
    FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[], $7::integer[])
         AS fired (schedule, nominal, state, reason, job, last, count)";
/// The ticks that were held and now are fired.
pub(crate) const LET_GO: &str = "INSERT INTO ticks AS held (schedule, nominal, state, job, open, at, count)
    SELECT schedule, nominal, 'fired', job, true, foreman_now(), 1
    FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[]) AS fired (schedule, nominal, job)
    ON CONFLICT (schedule, nominal) DO UPDATE
    SET state = excluded.state, reason = NULL, job = excluded.job, open = excluded.open, at = excluded.at, last = NULL,
        count = excluded.count
    WHERE held.state = 'held'";
pub(crate) const MOVE_ON: &str = "UPDATE schedules SET next_fire_at = fired.next, held = fired.held
    FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS fired (id, next, held)
    WHERE schedules.id = fired.id";

/// How much later than asked a tick fired by hand may be: each that was asked for at the same instant takes a microsecond.
const BY_HAND_WITHIN: i64 = 1_000_000;

pub(super) async fn fire(
    store: &PostgresStore,
    leader: Option<&Leader>,
    firings: &[Firing],
) -> Result<Option<Vec<Fired>>, StoreError> {
    if firings.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let batch = FiringBatch::new(firings)?;
    let reserved = Reservation::make(store, &batch.demand()).await?;
    let (fired, left) = transact!(store, data, Write, |tx| {
        let mut reservation = reserved.clone();
        let fired = fire_batch(&tx, leader, &batch, &mut reservation).await;
        fired.map(|fired| (fired, reservation))
    })?;
    left.give_back(store).await;
    Ok(fired)
}

/// What is asked for, as the statements want it.
struct FiringBatch<'a> {
    firings: &'a [Firing],
    /// All that may be submitted.
    jobs: HashMap<JobId, NewJobRow>,
    ids: Vec<Uuid>,
    ticks: TicksAsked,
    /// Schedules of which it matters whether a job is open.
    overlapping: Vec<Uuid>,
}

/// Ticks to look for, column by column.
#[derive(Default)]
struct TicksAsked {
    schedules: Vec<Uuid>,
    first: Vec<Time>,
    last: Vec<Time>,
}

impl<'a> FiringBatch<'a> {
    /// What needs no transaction is done here.
    fn new(firings: &'a [Firing]) -> Result<Self, StoreError> {
        let mut batch = Self {
            firings,
            jobs: HashMap::new(),
            ids: firings.iter().map(|firing| firing.schedule.0).collect(),
            ticks: TicksAsked::default(),
            overlapping: Vec::new(),
        };
        for firing in firings {
            for tick in &firing.ticks {
                let shift = if matches!(tick.act, TickAct::FireByHand(_)) { BY_HAND_WITHIN } else { 0 };
                let last = Timestamp::from_micros(tick.nominal.as_micros().saturating_add(shift));
                batch.ticks.schedules.push(firing.schedule.0);
                batch.ticks.first.push(Time(tick.nominal));
                batch.ticks.last.push(Time(last));
            }
            let is_judged = firing.ticks.iter().any(|tick| matches!(tick.act, TickAct::Fire(_)));
            if firing.release.is_some() || is_judged && firing.overlap != Overlap::Allow {
                batch.overlapping.push(firing.schedule.0);
            }
            for (job, _) in jobs_of(firing) {
                batch.jobs.insert(job.id, NewJobRow::of(job)?);
            }
        }
        batch.overlapping.sort_unstable();
        Ok(batch)
    }

    /// Places for whatever will be due at once. A job that starts later than its tick waits for its time, or, if that has come
    /// already, is given a place in the transaction itself.
    fn demand(&self) -> Demand {
        let mut demand = Demand::default();
        for (job, nominal) in self.firings.iter().flat_map(jobs_of) {
            let is_due = match job.start {
                Start::Now => true,
                Start::At(time) => nominal.is_some_and(|nominal| time <= nominal),
                Start::After(delay) => delay.is_zero(),
            };
            if is_due {
                demand.one(&job.tenant, &job.work.queue, job.work.lane, &job.work.target.route());
            }
        }
        demand
    }
}

/// The jobs a firing may make, with the instants of those that have one.
fn jobs_of(firing: &Firing) -> impl Iterator<Item = (&NewJob, Option<Timestamp>)> {
    let of_ticks = firing.ticks.iter().filter_map(|tick| match &tick.act {
        TickAct::Fire(job) | TickAct::FireByHand(job) => Some((job, Some(tick.nominal))),
        TickAct::Miss { .. } | TickAct::Refuse => None,
    });
    firing.release.iter().map(|job| (job, None)).chain(of_ticks)
}

async fn fire_batch(
    tx: &Transaction,
    leader: Option<&Leader>,
    batch: &FiringBatch<'_>,
    keys: &mut Reservation,
) -> Result<Option<Vec<Fired>>, Fault> {
    let Some(state) = lock_and_look(tx, leader, batch).await? else { return Ok(None) };
    let mut writes = Writes::default();
    let mut mentioned = HashSet::new();
    let fired = batch
        .firings
        .iter()
        .map(|firing| match state.of(firing) {
            Some(found) if mentioned.insert(firing.schedule) => writes.fire(firing, found),
            _ => Fired::Stale,
        })
        .collect();
    writes.write(tx, &state.closed).await?;
    for (schedule, tick) in writes.decided.drain(..) {
        if let Some(note) = state.note(schedule, tick) {
            tx.tell(note);
        }
    }
    let jobs: Vec<&NewJobRow> = writes.submitted.iter().filter_map(|id| batch.jobs.get(id)).collect();
    if !jobs.is_empty() {
        submit::accept(tx, &jobs, keys).await?;
    }
    Ok(Some(fired))
}

/// What the locked schedules are.
#[derive(Default)]
struct Locked {
    seen: HashMap<ScheduleId, SeenSchedule>,
    names: HashMap<ScheduleId, (TenantId, String)>,
    known: HashMap<ScheduleId, KnownTicks>,
    open: HashMap<ScheduleId, Vec<JobId>>,
    closed: ClosedTicks,
}

/// Ticks whose jobs were found final, column by column.
#[derive(Default)]
struct ClosedTicks {
    schedules: Vec<Uuid>,
    nominals: Vec<Time>,
}

/// Ticks that are there, with their jobs.
type KnownTicks = BTreeMap<Timestamp, Option<JobId>>;

/// A schedule that is what was seen.
struct UnchangedSchedule<'a> {
    known: KnownTicks,
    open: &'a [JobId],
}

impl Locked {
    /// Nothing when it is not what was seen.
    fn of(&self, firing: &Firing) -> Option<UnchangedSchedule<'_>> {
        let id = firing.schedule;
        self.seen.get(&id).filter(|seen| **seen == firing.seen)?;
        let known = self.known.get(&id).cloned().unwrap_or_default();
        Some(UnchangedSchedule { known, open: self.open.get(&id).map_or(&[], Vec::as_slice) })
    }

    /// What is told of a tick that was decided about.
    fn note(&self, schedule: ScheduleId, tick: DecidedTick) -> Option<Note> {
        let (tenant, name) = self.names.get(&schedule)?.clone();
        let DecidedTick { nominal, state, job } = tick;
        Some(Note::Tick { tenant, schedule, name, nominal, state, job })
    }
}

/// `None` when the leader's term is over. That is asked behind the locks, which may have been waited for.
async fn lock_and_look(
    tx: &Transaction,
    leader: Option<&Leader>,
    batch: &FiringBatch<'_>,
) -> Result<Option<Locked>, Fault> {
    let among = bound(OPEN_JOBS_AMONG);
    let lock: [&dyn Arg; 1] = [&batch.ids];
    let known: [&dyn Arg; 3] = [&batch.ticks.schedules, &batch.ticks.first, &batch.ticks.last];
    let open: [&dyn Arg; 2] = [&batch.overlapping, &among];
    let leads = leader.map(|leader| (leader.office.as_str(), i64::try_from(leader.term).unwrap_or(i64::MAX)));
    let leads_args: Option<[&dyn Arg; 2]> = match &leads {
        Some((office, term)) => Some([office, term]),
        None => None,
    };
    let mut steps: Vec<Query<'_>> = vec![(LOCK, &lock), (KNOWN, &known), (LOCK_OPEN, &open), (OPEN, &open)];
    if let Some(args) = &leads_args {
        steps.push((LEADS, args));
    }
    let answers = tx.all(&steps).await?;
    if answers.get(4).is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let mut locked = Locked::default();
    for row in &answers[0] {
        let cells = of_schedule(row, "schedules")?;
        let (next, held) = (cells.maybe_time(2, "next_fire_at")?, cells.maybe_time(3, "held")?);
        locked.seen.insert(cells.id, SeenSchedule { version: cells.get(1, "version")?, next, held });
        locked.names.insert(cells.id, (cells.tenant(4)?, cells.get(5, "name")?));
    }
    for row in &answers[1] {
        let cells = of_schedule(row, "ticks")?;
        let job: Option<Uuid> = cells.get(2, "job")?;
        locked.known.entry(cells.id).or_default().insert(cells.time(1, "nominal")?, job.map(JobId));
    }
    for row in &answers[3] {
        let cells = of_schedule(row, "ticks")?;
        if cells.get(3, "is_final")? {
            locked.closed.schedules.push(cells.id.0);
            locked.closed.nominals.push(cells.get(1, "nominal")?);
        } else {
            locked.open.entry(cells.id).or_default().push(JobId(cells.get(2, "job")?));
        }
    }
    Ok(Some(locked))
}

fn of_schedule<'r>(row: &'r Row, table: &'static str) -> Result<Cells<'r, ScheduleId>, Fault> {
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit(table, "schedule", "unknown", error))?;
    Ok(Cells { row, table, id: ScheduleId(id) })
}

/// What a batch comes to, column by column.
#[derive(Default)]
struct Writes {
    ticks: NewTicks,
    let_go: LetGo,
    moved: MovedOn,
    submitted: Vec<JobId>,
    /// In the order in which they were decided about.
    decided: Vec<(ScheduleId, DecidedTick)>,
}

/// What became of a tick, as it is told.
struct DecidedTick {
    nominal: Timestamp,
    state: TickState,
    job: Option<JobId>,
}

#[derive(Default)]
struct NewTicks {
    schedules: Vec<Uuid>,
    nominals: Vec<Time>,
    states: Vec<&'static str>,
    reasons: Vec<Option<&'static str>>,
    jobs: Vec<Option<Uuid>>,
    last: Vec<Option<Time>>,
    counts: Vec<Option<i32>>,
}

#[derive(Default)]
struct LetGo {
    schedules: Vec<Uuid>,
    nominals: Vec<Time>,
    jobs: Vec<Uuid>,
}

#[derive(Default)]
struct MovedOn {
    schedules: Vec<Uuid>,
    next: Vec<Option<Time>>,
    held: Vec<Option<Time>>,
}

/// A tick that was not there before.
struct StoredTick {
    state: TickState,
    reason: Option<TickReason>,
    job: Option<JobId>,
    last: Option<Timestamp>,
    count: Option<u32>,
}

impl StoredTick {
    /// What a tick becomes, and at which instant; nothing when it is there already.
    fn new(tick: &NewTick, known: &KnownTicks, decision: Option<Decision>) -> Option<(Timestamp, Self)> {
        let nominal = tick.nominal;
        let row = match (&tick.act, decision) {
            (TickAct::FireByHand(job), _) => {
                let free = free_from(known, nominal, job.id)?;
                return Some((free, Self::fired(job.id, Some(TickReason::ByHand))));
            }
            _ if known.contains_key(&nominal) => return None,
            (TickAct::Miss { last, count }, _) => {
                Self { last: Some(*last), count: *count, ..Self::skipped(TickReason::Missed) }
            }
            (TickAct::Refuse, _) => Self::skipped(TickReason::TooManyWaiting),
            (TickAct::Fire(job), Some(Decision::Fire)) => Self::fired(job.id, None),
            (TickAct::Fire(_), Some(Decision::Hold)) => Self::held(),
            (TickAct::Fire(_), Some(Decision::Skip)) => Self::skipped(TickReason::Overlap),
            (TickAct::Fire(_), None) => return None,
        };
        Some((nominal, row))
    }

    fn fired(job: JobId, reason: Option<TickReason>) -> Self {
        Self { state: TickState::Fired, reason, job: Some(job), last: None, count: Some(1) }
    }

    fn held() -> Self {
        Self { state: TickState::Held, reason: None, job: None, last: None, count: Some(1) }
    }

    fn skipped(reason: TickReason) -> Self {
        Self { state: TickState::Skipped, reason: Some(reason), ..Self::held() }
    }
}

impl Writes {
    /// Decides about one schedule, and notes what is to be written for it.
    fn fire(&mut self, firing: &Firing, found: UnchangedSchedule<'_>) -> Fired {
        let UnchangedSchedule { mut known, open } = found;
        let mut held = firing.seen.held;
        let release = firing.release.as_ref().filter(|_| open.is_empty());
        // Those the overlap has a say in: fired by the calendar, and not there already.
        let due: Vec<Timestamp> = firing
            .ticks
            .iter()
            .filter(|tick| matches!(tick.act, TickAct::Fire(_)) && !known.contains_key(&tick.nominal))
            .map(|tick| tick.nominal)
            .collect();
        // What is released now is not worth cancelling.
        let is_open = !open.is_empty() || release.is_some() && firing.overlap != Overlap::Cancel;
        let is_held = held.is_some() && release.is_none();
        let Decided::Ticks(decisions) = decide(firing.overlap, due.len(), is_open, is_held) else {
            return Fired::CancelFirst(open.to_vec());
        };
        let decisions: HashMap<Timestamp, Decision> = due.into_iter().zip(decisions).collect();
        let mut jobs = Vec::new();
        if let (Some(job), Some(nominal)) = (release, held.take_if(|_| release.is_some())) {
            self.let_go.schedules.push(firing.schedule.0);
            self.let_go.nominals.push(Time(nominal));
            self.let_go.jobs.push(job.id.0);
            let decided = DecidedTick { nominal, state: TickState::Fired, job: Some(job.id) };
            self.decided.push((firing.schedule, decided));
            self.submitted.push(job.id);
            jobs.push(job.id);
            known.insert(nominal, Some(job.id));
        }
        for tick in &firing.ticks {
            let Some((nominal, row)) = StoredTick::new(tick, &known, decisions.get(&tick.nominal).copied()) else {
                // It is there already. Who asked for it by hand is told of its job again.
                if let TickAct::FireByHand(job) = &tick.act {
                    jobs.push(job.id);
                }
                continue;
            };
            if row.state == TickState::Held {
                held = Some(nominal);
            }
            known.insert(nominal, row.job);
            jobs.extend(row.job);
            self.submitted.extend(row.job);
            self.ticks.push(firing.schedule, nominal, &row);
            self.decided.push((firing.schedule, DecidedTick { nominal, state: row.state, job: row.job }));
        }
        if (firing.next, held) != (firing.seen.next, firing.seen.held) {
            self.moved.schedules.push(firing.schedule.0);
            self.moved.next.push(firing.next.map(Time));
            self.moved.held.push(held.map(Time));
        }
        Fired::Done(jobs)
    }

    async fn write(&self, tx: &Transaction, closed: &ClosedTicks) -> Result<(), Fault> {
        let closed_args: [&dyn Arg; 2] = [&closed.schedules, &closed.nominals];
        let (ticks, let_go, moved) = (self.ticks.args(), self.let_go.args(), self.moved.args());
        let mut steps: Vec<Query<'_>> = Vec::new();
        if !closed.schedules.is_empty() {
            steps.push((CLOSE, &closed_args));
        }
        if !self.let_go.schedules.is_empty() {
            steps.push((LET_GO, &let_go));
        }
        if !self.ticks.schedules.is_empty() {
            steps.push((RECORD, &ticks));
        }
        if !self.moved.schedules.is_empty() {
            steps.push((MOVE_ON, &moved));
        }
        if !steps.is_empty() {
            tx.all(&steps).await?;
        }
        Ok(())
    }
}

/// The first instant from `nominal` on that no tick has; nothing when one of them made this very job.
fn free_from(known: &KnownTicks, nominal: Timestamp, job: JobId) -> Option<Timestamp> {
    let mut nominal = nominal;
    while let Some(taken_by) = known.get(&nominal) {
        if *taken_by == Some(job) {
            return None;
        }
        nominal = Timestamp::from_micros(nominal.as_micros() + 1);
    }
    Some(nominal)
}

impl NewTicks {
    fn push(&mut self, schedule: ScheduleId, nominal: Timestamp, tick: &StoredTick) {
        self.schedules.push(schedule.0);
        self.nominals.push(Time(nominal));
        self.states.push(tick.state.as_str());
        self.reasons.push(tick.reason.and_then(TickReason::stored));
        self.jobs.push(tick.job.map(|job| job.0));
        self.last.push(tick.last.map(Time));
        self.counts.push(tick.count.map(|count| i32::try_from(count).unwrap_or(i32::MAX)));
    }

    fn args(&self) -> [&dyn Arg; 7] {
        let Self { schedules, nominals, states, reasons, jobs, last, counts } = self;
        [schedules, nominals, states, reasons, jobs, last, counts]
    }
}

impl LetGo {
    fn args(&self) -> [&dyn Arg; 3] {
        [&self.schedules, &self.nominals, &self.jobs]
    }
}

impl MovedOn {
    fn args(&self) -> [&dyn Arg; 3] {
        [&self.schedules, &self.next, &self.held]
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CLOSE, KNOWN, LET_GO, LOCK, LOCK_OPEN, MOVE_ON, OPEN, RECORD, REOPEN];
