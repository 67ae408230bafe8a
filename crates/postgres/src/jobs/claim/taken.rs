//! What was taken out of `ready`: put into a claim, with what was asked of each job.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foreman_core::ports::{Refusal, RefusedJob, WaitsFor};
use foreman_core::storage::Counters;
use foreman_core::{Fence, JobId, Lane, SessionId, State, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::ClaimArgs;
use crate::error::Fault;
use crate::jobs::known_claims::{ClaimedJob, KnownClaim, KnownClaims};
use crate::rows::{NamedCells, counted, rank};
use crate::value::{Arg, Bits, Time};
use crate::write::Transaction;

pub(crate) const PUT: &str = include_str!("../../sql/claim/put.sql");
pub(crate) const WORK: &str = include_str!("../../sql/claim/work.sql");

pub(crate) const HELD: &str = include_str!("../../sql/claim/held.sql");

/// A claim whose jobs are still text.
pub(super) enum RawClaim {
    Claimed {
        claim: Arc<KnownClaim>,
        jobs: Vec<TakenJob>,
        fragile_waiting: bool,
        has_more: bool,
        refused: Vec<RefusedJob>,
    },
    Nothing {
        fragile_waiting: bool,
        refused: Vec<RefusedJob>,
    },
    SessionGone,
}

impl RawClaim {
    pub fn nothing(fragile_waiting: bool) -> Self {
        Self::Nothing { fragile_waiting, refused: Vec::new() }
    }

    pub fn len(&self) -> usize {
        if let Self::Claimed { jobs, .. } = self { jobs.len() } else { 0 }
    }

    /// With whether there is more to take than was looked at.
    pub fn with_more(self, more: bool) -> Self {
        match self {
            Self::Claimed { claim, jobs, fragile_waiting, refused, .. } => {
                Self::Claimed { claim, jobs, fragile_waiting, has_more: more, refused }
            }
            nothing => nothing,
        }
    }
}

pub(super) struct TakenJob {
    /// In the claim.
    pub place: usize,
    pub lane: Lane,
    /// Where it stood in line; none in a claim that was made before.
    pub key: Option<i64>,
    /// When, and what, as text; none when it is not among the jobs.
    pub asked: Option<(Timestamp, String)>,
}

/// A job as it was in `ready`, and what moves it there.
struct TakenRow {
    job: ClaimedJob,
    lane: Lane,
    key: Option<i64>,
    claimed_at: Timestamp,
}

impl TakenRow {
    /// A row that `sql/claim/take.sql` or `number.sql` has answered with.
    fn read(row: &Row) -> Result<Self, Fault> {
        let taken = NamedCells::of_job(row, "ready")?;
        let lane = taken.lane()?;
        let attempt = taken.count("attempt")?;
        let moves: i32 = taken.get("moves")?;
        Ok(Self {
            job: ClaimedJob {
                id: taken.id,
                tenant: taken.tenant()?,
                queue: taken.queue()?,
                route: taken.route()?,
                lane: rank(lane),
                kind: taken.get::<Option<&str>>("kind")?.map(Arc::from),
                run_at: taken.time("run_at")?,
                expires_at: taken.maybe_time("expires_at")?,
                counters: Counters {
                    attempt: attempt.saturating_add(1),
                    spent: taken.count("spent")?.saturating_add(1),
                    crashes: taken.count("crashes")?,
                    moves: counted(moves, attempt).saturating_add(1),
                },
            },
            lane,
            key: taken.get("key")?,
            claimed_at: taken.time("claimed_at")?,
        })
    }

    /// Tells the log that it runs, and how long it had waited since it was due.
    fn tell(&self, tx: &Transaction) {
        let waited = self.claimed_at.since(self.job.run_at);
        tx.note(self.job.id, &self.job.tenant, &self.job.queue, self.job.counters.step(State::Running, Some(waited)));
    }
}

/// Those of one queue and tenant beside each other, for they are one run of the change row: from many lines they come mixed.
fn tell(tx: &Transaction, taken: &[TakenRow]) {
    let mut in_runs: Vec<&TakenRow> = taken.iter().collect();
    in_runs.sort_by(|one, other| (&one.job.queue, &one.job.tenant).cmp(&(&other.job.queue, &other.job.tenant)));
    for one in in_runs {
        one.tell(tx);
    }
}

/// Puts what was taken into a claim, reads what was asked of it and commits, in one round trip.
pub(super) async fn put(
    tx: &Transaction,
    asked: &ClaimArgs<'_>,
    rows: &[Row],
    fragile_waiting: bool,
) -> Result<RawClaim, Fault> {
    if rows.is_empty() {
        return Ok(RawClaim::nothing(fragile_waiting));
    }
    let mut taken = rows.iter().map(TakenRow::read).collect::<Result<Vec<_>, _>>()?;
    taken.sort_unstable_by_key(|one| (one.job.lane, one.key, one.job.id));
    tell(tx, &taken);
    let columns = ClaimColumns::of(&taken);
    let work = WorkArgs::of(columns.jobs.iter().copied());
    let steps = [(PUT, &columns.put(&asked.session, &asked.token)[..]), (WORK, &work.columns()[..])];
    let answers = tx.last_by_ids(&steps).await?;
    let [number, work, ..] = &answers[..] else { return Err(unanswered()) };
    let number: i64 = number.first().ok_or_else(unanswered)?.try_get("number")?;
    finish(Fence(number), taken, work, fragile_waiting, Vec::new())
}

/// The same for a statement that has taken and put them itself: its rows, of which there is one at least. Of a claim by ids, with
/// why it did not take others of those that were `named`.
pub(super) async fn of_one_statement(
    tx: &Transaction,
    session: SessionId,
    rows: &[Row],
    named: &[JobId],
) -> Result<RawClaim, Fault> {
    let first = rows.first().ok_or_else(unanswered)?;
    if !first.try_get::<_, bool>("is_live")? {
        return Ok(RawClaim::SessionGone);
    }
    if let Some(number) = first.try_get::<_, Option<i64>>("known")? {
        return again(tx, session, Fence(number)).await;
    }
    let fragile_waiting = first.try_get("fragile_waiting")?;
    let number: Option<i64> = first.try_get("number")?;
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for row in rows {
        let waits_for: Option<&str> = if named.is_empty() { None } else { row.try_get("waits_for")? };
        match waits_for {
            Some(text) => refused.push(waiting(row, text)?),
            None if number.is_some() => taken.push(TakenRow::read(row)?),
            None => {}
        }
    }
    tell(tx, &taken);
    let known: HashSet<JobId> =
        taken.iter().map(|one| one.job.id).chain(refused.iter().map(|one: &RefusedJob| one.job)).collect();
    let elsewhere: BTreeSet<JobId> = named.iter().copied().filter(|id| !known.contains(id)).collect();
    // Without an id nothing says which partitions are concerned.
    let work = (!taken.is_empty()).then(|| WorkArgs::of(taken.iter().map(|one| one.job.id.0)));
    let held = (!elsewhere.is_empty()).then(|| WorkArgs::of(elsewhere.iter().map(|id| id.0)));
    let (work, held) = (work.as_ref().map(WorkArgs::columns), held.as_ref().map(WorkArgs::columns));
    let mut steps: Vec<(&str, &[&dyn Arg])> = Vec::new();
    steps.extend(work.as_ref().map(|columns| (WORK, &columns[..])));
    steps.extend(held.as_ref().map(|columns| (HELD, &columns[..])));
    let answers = if steps.is_empty() { Vec::new() } else { tx.last_by_ids(&steps).await? };
    if held.is_some() {
        // The last of our steps: behind it come those of the change row, where something was taken.
        let rows = answers.get(steps.len() - 1).ok_or_else(unanswered)?;
        let held: HashSet<Uuid> = rows.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?;
        let why = |id: &JobId| if held.contains(&id.0) { Refusal::Held } else { Refusal::Gone };
        refused.extend(elsewhere.iter().map(|id| RefusedJob { job: *id, why: why(id) }));
    }
    refused.sort_unstable_by_key(|one| one.job);
    match number {
        None => Ok(RawClaim::Nothing { fragile_waiting, refused }),
        Some(number) => finish(Fence(number), taken, answers.first().ok_or_else(unanswered)?, fragile_waiting, refused),
    }
}

/// A job that was named and waits on.
fn waiting(row: &Row, waits_for: &str) -> Result<RefusedJob, Fault> {
    let cells = NamedCells::of_job(row, "ready")?;
    let waits_for = match waits_for {
        "time" => WaitsFor::Time(cells.time("run_at")?),
        "expiry" => WaitsFor::Expiry,
        "other_worker" => WaitsFor::OtherWorker,
        "tenant" => WaitsFor::Tenant,
        "queue" => WaitsFor::Queue,
        "room" => WaitsFor::Room,
        "solitude" => WaitsFor::Solitude,
        "neighbour" => WaitsFor::Neighbour,
        other => return Err(cells.misfit("waits_for", format!("{other:?} is no reason to wait"))),
    };
    Ok(RefusedJob { job: cells.id, why: Refusal::Waits(waits_for) })
}

/// The answer to this very call was lost, and it is sent again: what is still open of its claim.
pub(super) async fn again(tx: &Transaction, session: SessionId, fence: Fence) -> Result<RawClaim, Fault> {
    let Some((claim, open)) = KnownClaims::made(tx, session, fence).await? else {
        return Ok(RawClaim::nothing(false));
    };
    let is_open = |place: &usize| open.is_set(*place);
    let places: Vec<usize> = (0..claim.jobs.len()).filter(is_open).collect();
    if places.is_empty() {
        return Ok(RawClaim::nothing(false));
    }
    let work = WorkArgs::of(places.iter().map(|place| claim.jobs[*place].id.0));
    let answers = tx.last_by_ids(&[(WORK, &work.columns())]).await?;
    let mut work = read_work(answers.first().ok_or_else(unanswered)?)?;
    let jobs = places.into_iter().map(|place| {
        let job = &claim.jobs[place];
        let lane = Lane::from_rank(job.lane.into());
        let lane = lane.ok_or_else(|| Fault::misfit("claims", "lanes", job.id, format!("{} is no lane", job.lane)))?;
        Ok(TakenJob { place, lane, key: None, asked: work.remove(&job.id) })
    });
    let jobs = jobs.collect::<Result<Vec<_>, Fault>>()?;
    let (claim, refused) = (Arc::new(claim), Vec::new());
    Ok(RawClaim::Claimed { claim, jobs, fragile_waiting: false, has_more: false, refused })
}

fn finish(
    fence: Fence,
    taken: Vec<TakenRow>,
    work: &[Row],
    fragile_waiting: bool,
    refused: Vec<RefusedJob>,
) -> Result<RawClaim, Fault> {
    let mut work = read_work(work)?;
    let mut jobs = Vec::with_capacity(taken.len());
    let mut members = Vec::with_capacity(taken.len());
    for (place, one) in taken.into_iter().enumerate() {
        jobs.push(TakenJob { place, lane: one.lane, key: one.key, asked: work.remove(&one.job.id) });
        members.push(one.job);
    }
    let claim = Arc::new(KnownClaim::new(fence, members));
    Ok(RawClaim::Claimed { claim, jobs, fragile_waiting, has_more: false, refused })
}

fn read_work(rows: &[Row]) -> Result<HashMap<JobId, (Timestamp, String)>, Fault> {
    let mut work = HashMap::with_capacity(rows.len());
    for row in rows {
        let job = NamedCells::of_asked(row)?;
        work.insert(job.id, (job.time("created_at")?, job.get("work")?));
    }
    Ok(work)
}

fn unanswered() -> Fault {
    foreman_core::ports::StoreError::Broken("a claim was answered without a row".into()).into()
}

/// The parameters of [`WORK`].
struct WorkArgs {
    ids: Vec<Uuid>,
    lowest: Uuid,
    highest: Uuid,
}

impl WorkArgs {
    fn of(ids: impl Iterator<Item = Uuid>) -> Self {
        let ids: Vec<Uuid> = ids.collect();
        let lowest = ids.iter().min().copied().unwrap_or_default();
        let highest = ids.iter().max().copied().unwrap_or_default();
        Self { ids, lowest, highest }
    }

    fn columns(&self) -> [&dyn Arg; 3] {
        [&self.ids, &self.lowest, &self.highest]
    }
}

/// A claim column by column.
#[derive(Default)]
struct ClaimColumns<'a> {
    jobs: Vec<Uuid>,
    tenants: Vec<&'a str>,
    queues: Vec<&'a str>,
    routes: Vec<&'a str>,
    lanes: Vec<i16>,
    kinds: Vec<Option<&'a str>>,
    run_at: Vec<Time>,
    expires_at: Vec<Option<Time>>,
    attempt: Vec<i32>,
    spent: Vec<i32>,
    crashes: Vec<i32>,
    moves: Vec<i32>,
    open: Option<Bits>,
}

impl<'a> ClaimColumns<'a> {
    fn of(taken: &'a [TakenRow]) -> Self {
        let mut columns = Self::default();
        let count = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        for TakenRow { job, .. } in taken {
            columns.jobs.push(job.id.0);
            columns.tenants.push(job.tenant.as_str());
            columns.queues.push(job.queue.as_str());
            columns.routes.push(job.route.as_str());
            columns.lanes.push(job.lane);
            columns.kinds.push(job.kind.as_deref());
            columns.run_at.push(Time(job.run_at));
            columns.expires_at.push(job.expires_at.map(Time));
            columns.attempt.push(count(job.counters.attempt));
            columns.spent.push(count(job.counters.spent));
            columns.crashes.push(count(job.counters.crashes));
            columns.moves.push(count(job.counters.moves));
        }
        columns.open = Some(Bits::all(taken.len()));
        columns
    }

    /// The parameters of [`PUT`].
    fn put<'c>(&'c self, session: &'c Uuid, token: &'c Uuid) -> [&'c dyn Arg; 15] {
        [
            session,
            token,
            &self.jobs,
            &self.tenants,
            &self.queues,
            &self.routes,
            &self.lanes,
            &self.kinds,
            &self.run_at,
            &self.expires_at,
            &self.attempt,
            &self.spent,
            &self.crashes,
            &self.moves,
            &self.open,
        ]
    }
}
