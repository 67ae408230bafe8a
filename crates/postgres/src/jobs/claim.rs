//! Taking due jobs into one numbered claim.
//!
//! A look without locks finds where there is something to take; one statement then takes the rows and writes the claim
//! (`sql/claim_*.sql`). Before both, calls with the same token wait for each other, so that a call sent again while its first
//! sending is still under way finds that one's claim. After them, and apart from them, V moves on.
//!
//! Between the look and the taking others may have been faster. Each line then gives what it has further back; where all of
//! it is gone there is another look.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foreman_core::fair::{self, Candidate, Front, LaneTurns, Round, Turns, UNIT};
use foreman_core::job::QueueName;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, Settlement, StoreError, WantedJobs, is_fragile,
};
use foreman_core::storage::Counters;
use foreman_core::target::Route;
use foreman_core::{Fence, JobId, Lane, Report, SessionId, State, TenantId, Timestamp, Verdict};
use tokio::time::Instant;
use tokio_postgres::Row;
use tracing::error;
use uuid::Uuid;

use super::{settle, uuids};
use crate::error::Fault;
use crate::order::ServedLines;
use crate::rows::{Cells, counters, rank};
use crate::value::{Arg, bound};
use crate::write::Transaction;
use crate::{PostgresStore, StoreParts, order, transact, work};

pub(crate) const PEEK: &str = include_str!("../sql/claim_peek.sql");
pub(crate) const BY_ORDER: &str = concat!(
    include_str!("../sql/claim_who.sql"),
    include_str!("../sql/claim_by_order.sql"),
    include_str!("../sql/claim_take.sql")
);
pub(crate) const BY_IDS: &str = concat!(
    include_str!("../sql/claim_who.sql"),
    include_str!("../sql/claim_by_ids.sql"),
    include_str!("../sql/claim_take.sql")
);
/// Calls with one token wait for each other until the first has ended.
pub(crate) const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock($1::integer, $2::integer)";
pub(crate) const CLAIMED: &str =
    "SELECT held.job, held.tenant, held.queue, held.lane, NULL::bigint, held.attempt, held.spent,
           held.crashes, held.route, held.moves, held.run_at, held.claimed_at
    FROM held WHERE held.claim = $1::bigint ORDER BY held.job";
/// What was asked of them.
pub(crate) const WORK: &str = "SELECT id, created_at, work FROM jobs WHERE id = ANY ($1::uuid[])";

/// How far below V a scan begins that trusts it: more than are ever on their way at once.
const SLACK: i64 = 4_096 * UNIT;

/// So often a scan begins at the very beginning, or, where that has become dear, so seldom that it takes a small part of the
/// time: with 150,000 dead entries in front it took 109 ms, twice a second, which was a fifth of what a worker did.
const FULL_SCAN: Duration = Duration::from_secs(1);
const SMALL_PART: u32 = 16;
const SELDOM: Duration = Duration::from_secs(15);

/// A scan that found nothing is believed, if one from the very beginning was made so shortly before.
const JUST_NOW: Duration = Duration::from_millis(100);

/// How often a claim looks again when others have taken everything it had seen.
const LOOKS: usize = 3;

/// Whether a disabled tenant has something waiting.
pub(crate) const ANY_DISABLED: &str = "SELECT EXISTS (
        SELECT FROM tenants WHERE tenants.disabled AND EXISTS (SELECT FROM ready WHERE ready.tenant = tenants.id))";

/// Where a claim begins to look.
///
/// What has been claimed leaves dead entries at the beginning of the index until the vacuum takes them away, and that may be
/// long after if somebody keeps a transaction open: 100,000 of them cost a claim 9 ms instead of 0.2. So a scan begins a
/// little below V. Anything further back (left by a pause, by a tenant that had no room, or by workers that could not run it) is
/// found by the scans from the very beginning: one a second, or as seldom as one in [`SELDOM`] where they have become dear, and
/// one more when there seems to be nothing at all. A line in which one of these finds something further back is then looked
/// into from there by every claim, until there is nothing left: otherwise a tenant that was resumed with a backlog would be
/// served with one claim a second.
pub(crate) struct Floor {
    scanned: Mutex<FullScan>,
    further: Mutex<HashMap<FurtherBack, i64>>,
    /// A disabled tenant has something waiting, as the last scan from the very beginning saw it.
    passes_disabled: AtomicBool,
}

/// A line in which something waits further back than a scan begins.
type FurtherBack = (i16, Route, QueueName);

/// So many of those are remembered; beyond it, a line waits until another is forgotten.
const MOST_FURTHER: usize = 256;

#[derive(Default)]
struct FurtherLines {
    lanes: Vec<i16>,
    routes: Vec<String>,
    queues: Vec<String>,
    keys: Vec<i64>,
}

/// The last scan from the very beginning.
#[derive(Default)]
struct FullScan {
    at: Option<Instant>,
    took: Duration,
}

impl Floor {
    pub fn new() -> Self {
        Self { scanned: Mutex::default(), further: Mutex::default(), passes_disabled: AtomicBool::new(false) }
    }

    /// The lines that begin further back, column by column.
    fn further(&self) -> FurtherLines {
        let further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = FurtherLines::default();
        for ((lane, route, queue), key) in further.iter() {
            lines.lanes.push(*lane);
            lines.routes.push(route.as_str().into());
            lines.queues.push(queue.as_str().into());
            lines.keys.push(*key);
        }
        lines
    }

    /// What a scan saw of some lines, each with its first key and its V. Those that were asked for and are not among them
    /// have nothing further back any more.
    fn saw(&self, asked: &FurtherLines, seen: &[Row]) -> Result<(), Fault> {
        let mut further = self.further.lock().unwrap_or_else(PoisonError::into_inner);
        for ((lane, route), queue) in asked.lanes.iter().zip(&asked.routes).zip(&asked.queues) {
            further.remove(&(*lane, Route::from_stored(route), QueueName::from_stored(queue)));
        }
        for row in seen {
            let (time, first, key): (i64, i64, i64) = (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
            if key == first && first < time.saturating_sub(NEAR) && further.len() < MOST_FURTHER {
                let line =
                    (row.try_get(0)?, Route::from_stored(row.try_get(1)?), QueueName::from_stored(row.try_get(2)?));
                further.insert(line, first);
            }
        }
        Ok(())
    }

    /// The distance below V, or none for the very beginning.
    fn slack(&self) -> Option<i64> {
        if self.is_due(FULL_SCAN) { None } else { Some(SLACK) }
    }

    /// Whether it is so long since a scan from the very beginning; the caller then makes one.
    fn is_due(&self, after: Duration) -> bool {
        let mut scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        let after = after.max((scanned.took * SMALL_PART).min(SELDOM));
        let is_due = scanned.at.is_none_or(|time| time.elapsed() >= after);
        if is_due {
            scanned.at = Some(Instant::now());
        }
        is_due
    }

    fn scanned(&self, took: Duration) {
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner).took = took;
    }
}

/// The part of a line that is scanned, as seen from V; without an end it goes on to the very end of the line.
///
/// A tenant that has no room for another running job, or is disabled, may have a million waiting, and to walk over them takes 280 ms. But whoever
/// else waits has its first job within a job of V, for that is where newcomers are let in, and V moves with those who are
/// served. So where somebody is passed over, a scan stays near V; what lies further off (behind jobs that were cancelled, say) is
/// found by the scans from the very beginning, as [`Floor`] has them made.
struct ScanRange {
    below: Option<i64>,
    beyond: Option<i64>,
}

/// How far from V a scan stays that passes somebody over, and so many jobs more as are wanted, up to [`SLACK`].
const NEAR: i64 = 512 * UNIT;

impl ScanRange {
    fn of(slack: Option<i64>, passes_over: bool, wanted: usize) -> Self {
        match slack {
            Some(slack) if passes_over => {
                let wanted = bound(wanted).saturating_mul(UNIT).min(SLACK);
                Self { below: Some(slack.min(NEAR)), beyond: Some(NEAR + wanted) }
            }
            below => Self { below, beyond: None },
        }
    }
}

/// A claim whose jobs are still text.
enum RawClaim {
    Claimed { fence: Fence, jobs: Vec<ClaimedRow>, fragile_waiting: bool },
    Nothing { fragile_waiting: bool },
    SessionGone,
}

struct ClaimedRow {
    id: JobId,
    tenant: TenantId,
    queue: QueueName,
    lane: Lane,
    route: Route,
    key: Option<i64>,
    counters: Counters,
    /// When, and what, as text; none when it is not among the jobs.
    asked: Option<(Timestamp, String)>,
    /// How long it had waited since it was due.
    waited: Duration,
}

pub(super) async fn claim(store: &PostgresStore, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
    let slack = match request.wanted {
        WantedJobs::ByOrder { .. } => store.parts.floor.slack(),
        WantedJobs::ByIds(_) => None,
    };
    let parts = &store.parts;
    let mut taken = transact!(store, data, Write, |tx| take(&tx, request, slack, parts).await)?;
    if matches!(taken, RawClaim::Nothing { .. }) && slack.is_some() && parts.floor.is_due(JUST_NOW) {
        taken = transact!(store, data, Write, |tx| take(&tx, request, None, parts).await)?;
    }
    if let RawClaim::Claimed { jobs, .. } = &taken {
        order::served(store, &served(jobs, request)).await;
    }
    answer(store, request.session, taken).await
}

fn served(jobs: &[ClaimedRow], request: &ClaimRequest) -> ServedLines {
    let mut served = ServedLines::new(are_in_turn(jobs, request));
    for job in jobs {
        if let Some(key) = job.key {
            served.one((job.queue.clone(), job.lane, job.route.clone()), key);
        }
    }
    served
}

/// Neither named by their ids, nor taken before their turn because they must run alone.
fn are_in_turn(jobs: &[ClaimedRow], request: &ClaimRequest) -> bool {
    matches!(request.wanted, WantedJobs::ByOrder { .. }) && !jobs.iter().any(|job| is_fragile(job.counters.crashes))
}

/// Takes what there is, reads what was asked of it and commits, the last two in one round trip.
async fn take(
    tx: &Transaction,
    request: &ClaimRequest,
    slack: Option<i64>,
    parts: &StoreParts,
) -> Result<RawClaim, Fault> {
    let mut taken = take_rows(tx, request, slack, parts).await?;
    if let RawClaim::Claimed { jobs, .. } = &mut taken
        && !jobs.is_empty()
    {
        let ids: Vec<Uuid> = jobs.iter().map(|job| job.id.0).collect();
        let mut work = HashMap::with_capacity(ids.len());
        for row in &tx.last_by_id((WORK, &[&ids])).await? {
            let cells = Cells::of_job(row, "jobs", 0)?;
            work.insert(cells.id, (cells.time(1, "created_at")?, cells.get(2, "work")?));
        }
        for job in jobs {
            job.asked = work.remove(&job.id);
        }
    }
    Ok(taken)
}

async fn take_rows(
    tx: &Transaction,
    request: &ClaimRequest,
    slack: Option<i64>,
    parts: &StoreParts,
) -> Result<RawClaim, Fault> {
    let queues: Option<Vec<&str>> = match &request.queues {
        Queues::All => None,
        Queues::Named(names) => Some(names.iter().map(QueueName::as_str).collect()),
    };
    let routes: Vec<&str> = request.routes.iter().map(Route::as_str).collect();
    let is_alone = request.company == Company::Nobody;
    let (session, token) = (request.session.0, request.token.0);
    let (first, second) = one_by_one(token);
    let one_by_one: (&str, &[&dyn Arg]) = (ONE_BY_ONE, &[&first, &second]);
    let Rooms { full, limited, jobs: rooms } = &Rooms::of(request);
    let rows = match &request.wanted {
        WantedJobs::ByOrder { plan, limit: wanted } => {
            let lanes: Vec<i16> = plan.0.iter().map(|pick| rank(pick.lane)).collect();
            let limit = bound(*wanted);
            let text = token.to_string();
            let passes_over = !full.is_empty() || parts.floor.passes_disabled.load(Ordering::Relaxed);
            let ScanRange { below, beyond } = &ScanRange::of(slack, passes_over, *wanted);
            let (up_to, further_on) = fair::window(*wanted);
            let (up_to, further_on) = (bound(up_to), bound(further_on));
            // A scan from the very beginning finds out by itself.
            let further = if slack.is_some() { parts.floor.further() } else { FurtherLines::default() };
            let FurtherLines { lanes: far_lanes, routes: far_routes, queues: far_queues, keys: far_keys } = &further;
            let stretch = below.unwrap_or(SLACK);
            let peek: (&str, &[&dyn Arg]) = (
                PEEK,
                &[
                    &text,
                    &queues,
                    &routes,
                    &lanes,
                    &limit,
                    below,
                    full,
                    beyond,
                    &UNIT,
                    &up_to,
                    &further_on,
                    far_lanes,
                    far_routes,
                    far_queues,
                    far_keys,
                    &stretch,
                ],
            );
            let begun = Instant::now();
            let mut seen = if slack.is_some() {
                tx.all(&[one_by_one, peek]).await?.pop().unwrap_or_default()
            } else {
                let mut answers = tx.all(&[one_by_one, (ANY_DISABLED, &[]), peek]).await?;
                let seen = answers.pop().unwrap_or_default();
                if let Some(row) = answers.pop().unwrap_or_default().first() {
                    parts.floor.passes_disabled.store(row.try_get(0)?, Ordering::Relaxed);
                }
                parts.floor.scanned(begun.elapsed());
                seen
            };
            parts.floor.saw(&further, &seen)?;
            let mut looks = 0;
            let rows = loop {
                let runs = {
                    let turns = parts.turns.lock().unwrap_or_else(PoisonError::into_inner);
                    Runs::choose(&seen, plan, *wanted, &turns)?
                };
                let Runs { lanes, routes: of, queues: named, fronts, numbers, firsts, first_jobs, .. } = &runs;
                let Runs { untils, until_jobs, .. } = &runs;
                let args: [&dyn Arg; 19] = [
                    &session, &token, &queues, &routes, &limit, &is_alone, full, limited, rooms, firsts, lanes, of,
                    named, fronts, numbers, beyond, first_jobs, untils, until_jobs,
                ];
                let rows = tx.rows(BY_ORDER, &args).await?;
                looks += 1;
                let was_overtaken = !numbers.is_empty() && has_nothing(&rows)?;
                if !was_overtaken || looks == LOOKS {
                    break rows;
                }
                seen = tx.rows(PEEK, peek.1).await?;
            };
            let taken = read(tx, &rows).await?;
            note_turns(&taken, request, &seen, parts)?;
            return Ok(taken);
        }
        WantedJobs::ByIds(ids) => {
            let ids = uuids(ids);
            let args: [&dyn Arg; 9] = [&session, &token, &queues, &routes, &ids, &is_alone, full, limited, rooms];
            tx.all(&[one_by_one, (BY_IDS, &args)]).await?.pop().unwrap_or_default()
        }
    };
    read(tx, &rows).await
}

/// The tenants near their limit of running jobs, column by column.
struct Rooms<'a> {
    /// Passed over, like those who have paused.
    full: Vec<&'a str>,
    limited: Vec<&'a str>,
    jobs: Vec<i64>,
}

impl<'a> Rooms<'a> {
    fn of(request: &'a ClaimRequest) -> Self {
        let rooms: BTreeMap<&str, u32> = request.rooms.iter().map(|room| (room.tenant.as_str(), room.jobs)).collect();
        let (full, limited): (Vec<_>, Vec<_>) = rooms.into_iter().partition(|(_, jobs)| *jobs == 0);
        let full = full.into_iter().map(|(tenant, _)| tenant).collect();
        let (limited, jobs) = limited.into_iter().map(|(tenant, jobs)| (tenant, i64::from(jobs))).unzip();
        Self { full, limited, jobs }
    }
}

/// The session lives, the call is new, and nothing was taken.
fn has_nothing(rows: &[Row]) -> Result<bool, Fault> {
    let Some(first) = rows.first() else { return Ok(false) };
    let is_new = first.try_get::<_, bool>(0)? && first.try_get::<_, Option<i64>>(1)?.is_none();
    Ok(is_new && first.try_get::<_, Option<i64>>(3)?.is_none())
}

/// Whose turn it was. A claim that is undone after this has cost them a turn, and nothing else.
fn note_turns(taken: &RawClaim, request: &ClaimRequest, seen: &[Row], parts: &StoreParts) -> Result<(), Fault> {
    let RawClaim::Claimed { jobs, .. } = taken else { return Ok(()) };
    if !are_in_turn(jobs, request) {
        return Ok(());
    }
    let mut weights: HashMap<&str, i32> = HashMap::new();
    for row in seen {
        weights.insert(row.try_get(7)?, row.try_get(8)?);
    }
    let mut turns = parts.turns.lock().unwrap_or_else(PoisonError::into_inner);
    for job in jobs.iter().filter(|job| job.key.is_some()) {
        let weight = weights.get(job.tenant.as_str()).map_or(1, |weight| weight.unsigned_abs());
        turns.took(job.lane, &job.route, &job.queue, &job.tenant, weight);
    }
    Ok(())
}

/// Runs of jobs that lie next to each other in a line, column by column: where each begins, how many to take of it, and where
/// the next one begins.
#[derive(Default)]
struct Runs {
    lanes: Vec<i16>,
    routes: Vec<String>,
    queues: Vec<String>,
    fronts: Vec<i64>,
    numbers: Vec<i64>,
    /// The key of the first that is wanted. Nobody walks over the dead entries in front of it a second time.
    firsts: Vec<i64>,
    first_jobs: Vec<Uuid>,
    untils: Vec<i64>,
    until_jobs: Vec<Uuid>,
}

impl Runs {
    /// Goes through the plan with what was seen, tenants in turn.
    fn choose(seen: &[Row], plan: &LanePlan, limit: usize, turns: &Turns) -> Result<Self, Fault> {
        let mut lanes: BTreeMap<i16, LaneScan<'_>> = BTreeMap::new();
        for row in seen {
            let cells = Cells::of_job(row, "ready", 6)?;
            let lane = cells.lane(0)?;
            let seen = lanes.entry(rank(lane)).or_insert_with(|| LaneScan::new(turns.lane(lane)));
            seen.push(&cells)?;
        }
        for seen in lanes.values_mut() {
            seen.offer();
        }
        let mut left = limit;
        for pick in &plan.0 {
            if let Some(seen) = lanes.get_mut(&rank(pick.lane)) {
                left -= seen.take(pick.up_to.min(left));
            }
        }
        let mut runs = Self::default();
        for (lane, seen) in lanes {
            for line in seen.lines {
                runs.push(lane, &line);
            }
        }
        Ok(runs)
    }

    fn push(&mut self, lane: i16, line: &LineScan) {
        let mut before: Option<&ScannedJob> = None;
        let mut first_of_line = true;
        for one in &line.seen {
            if one.is_taken {
                // What lies between the two places that were looked at was not seen.
                let goes_on =
                    before.is_some_and(|before| before.is_taken && (before.key > line.time) == (one.key > line.time));
                if goes_on {
                    if let Some(number) = self.numbers.last_mut() {
                        *number += 1;
                    }
                } else {
                    if let (false, Some(until), Some(job)) =
                        (first_of_line, self.untils.last_mut(), self.until_jobs.last_mut())
                    {
                        (*until, *job) = (one.key, one.job.0);
                    }
                    first_of_line = false;
                    self.begin(lane, line, one);
                }
            }
            before = Some(one);
        }
    }

    fn begin(&mut self, lane: i16, line: &LineScan, first: &ScannedJob) {
        self.lanes.push(lane);
        self.routes.push(line.route.as_str().into());
        self.queues.push(line.queue.as_str().into());
        self.fronts.push(line.time);
        self.numbers.push(1);
        self.firsts.push(first.key);
        self.first_jobs.push(first.job.0);
        self.untils.push(i64::MAX);
        self.until_jobs.push(Uuid::max());
    }
}

/// What was seen of a lane.
struct LaneScan<'t> {
    round: Round<'t>,
    lines: Vec<LineScan>,
}

struct LineScan {
    route: Route,
    queue: QueueName,
    /// V.
    time: i64,
    /// What its keys are compared with.
    front: i64,
    /// In the order of their keys.
    seen: Vec<ScannedJob>,
    /// Which of those may be taken next, by their place among them.
    waiting: Front<usize>,
}

/// A job of a line, and whether this claim wants it.
struct ScannedJob {
    key: i64,
    job: JobId,
    weight: u32,
    is_taken: bool,
}

impl<'t> LaneScan<'t> {
    fn new(turns: &'t LaneTurns) -> Self {
        Self { round: Round::new(turns), lines: Vec::new() }
    }

    /// Rows come line by line, in the order of their keys.
    fn push(&mut self, cells: &Cells<'_>) -> Result<(), Fault> {
        let (route, queue): (&str, &str) = (cells.get(1, "route")?, cells.get(2, "queue")?);
        let is_known =
            self.lines.last().is_some_and(|last| last.route.as_str() == route && last.queue.as_str() == queue);
        if !is_known {
            let (time, first): (i64, i64) = (cells.get(3, "v")?, cells.get(4, "key")?);
            self.lines.push(LineScan {
                route: Route::from_stored(route),
                queue: QueueName::from_stored(queue),
                time,
                front: fair::front(time, first),
                seen: Vec::new(),
                waiting: Front::default(),
            });
        }
        let (key, weight) = (cells.get(5, "key")?, cells.count(8, "weight")?);
        let (tenant, is_returned) = (cells.tenant(7)?, cells.get(9, "is_returned")?);
        if let Some(line) = self.lines.last_mut() {
            line.waiting.add((key, cells.id), Candidate { tenant, is_returned, item: line.seen.len() });
            line.seen.push(ScannedJob { key, job: cells.id, weight, is_taken: false });
        }
        Ok(())
    }

    /// Offers the first of each line.
    fn offer(&mut self) {
        for (number, line) in self.lines.iter_mut().enumerate() {
            let of = fair::Line { number, route: &line.route, queue: &line.queue, front: line.front };
            line.waiting.offer(of, &mut self.round);
        }
    }

    /// Chooses up to `room`; how many there were.
    fn take(&mut self, room: usize) -> usize {
        for taken in 0..room {
            let Some((number, job)) = self.round.choose() else { return taken };
            let LineScan { route, queue, front, seen, waiting, .. } = &mut self.lines[number];
            let Some(Candidate { tenant, item: place, .. }) = waiting.take(job) else { continue };
            seen[place].is_taken = true;
            self.round.took(route, queue, &tenant, seen[place].weight);
            waiting.offer_next(&tenant, fair::Line { number, route, queue, front: *front }, &mut self.round);
        }
        room
    }
}

/// The random part of a token.
fn one_by_one(token: Uuid) -> (i32, i32) {
    let random = token.as_u64_pair().1;
    ((random >> 32) as i32, random as i32)
}

async fn read(tx: &Transaction, rows: &[Row]) -> Result<RawClaim, Fault> {
    let Some(first) = rows.first() else {
        return Err(StoreError::Broken("a claim was answered without a row".into()).into());
    };
    if !first.try_get::<_, bool>(0)? {
        return Ok(RawClaim::SessionGone);
    }
    if let Some(number) = first.try_get::<_, Option<i64>>(1)? {
        // The answer to this very call was lost, and it is sent again.
        let rows = tx.rows(CLAIMED, &[&number]).await?;
        let jobs = rows.iter().map(|row| claimed_row(row, 0)).collect::<Result<Vec<_>, _>>()?;
        let jobs = jobs.into_iter().map(|job| ClaimedRow { key: None, ..job }).collect();
        return Ok(RawClaim::Claimed { fence: Fence(number), jobs, fragile_waiting: false });
    }
    let fragile_waiting = first.try_get(2)?;
    let Some(number) = first.try_get::<_, Option<i64>>(3)? else {
        return Ok(RawClaim::Nothing { fragile_waiting });
    };
    let jobs: Vec<ClaimedRow> = rows.iter().map(|row| claimed_row(row, 4)).collect::<Result<_, _>>()?;
    for job in &jobs {
        tx.note(job.id, &job.tenant, &job.queue, job.counters.step(State::Running, Some(job.waited)));
    }
    Ok(RawClaim::Claimed { fence: Fence(number), jobs, fragile_waiting })
}

fn claimed_row(row: &Row, first: usize) -> Result<ClaimedRow, Fault> {
    let cells = Cells::of_job(row, "claims", first)?;
    Ok(ClaimedRow {
        id: cells.id,
        tenant: cells.tenant(first + 1)?,
        queue: cells.queue(first + 2)?,
        lane: cells.lane(first + 3)?,
        key: cells.get(first + 4, "key")?,
        counters: counters(&cells, first + 5, first + 9)?,
        asked: None,
        route: Route::from_stored(cells.get(first + 8, "route")?),
        waited: cells.time(first + 11, "claimed_at")?.since(cells.time(first + 10, "run_at")?),
    })
}

/// Reads the jobs of a claim. One whose work cannot be read is put aside as dead: handed out it could not be run, and left in
/// line it would stop every claim after this one. If that cannot be written right now, the others are answered all the same:
/// the claim is committed, and the worker hands back what is held and was not answered.
async fn answer(store: &PostgresStore, session: SessionId, taken: RawClaim) -> Result<ClaimAnswer, StoreError> {
    let (fence, written, fragile_waiting) = match taken {
        RawClaim::SessionGone => return Ok(ClaimAnswer::SessionGone),
        RawClaim::Nothing { fragile_waiting } => return Ok(ClaimAnswer::Nothing { fragile_waiting }),
        RawClaim::Claimed { fence, jobs, fragile_waiting } => (fence, jobs, fragile_waiting),
    };
    let mut jobs = Vec::with_capacity(written.len());
    for one in written {
        let (id, Counters { attempt, spent, crashes, .. }) = (one.id, one.counters);
        match job(one) {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is marked dead: {fault}");
                let report = Report::error(format!("what was asked cannot be read: {fault}"));
                let end = Settlement { fence, job: id, verdict: Verdict::Dead(report) };
                let batch = settle::SettlementBatch::new(&[end])?;
                let aside = transact!(store, data, Write, |tx| settle::record(&tx, session, &batch, false).await);
                if let Err(error) = aside {
                    error!(job.id = %id, "could not mark job {id} dead: {error}");
                }
            }
        }
    }
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting }))
}

fn job(one: ClaimedRow) -> Result<foreman_core::Job, Fault> {
    match one.asked {
        Some((created_at, text)) => work::read(one.id, one.tenant, created_at, &text),
        None => Err(Fault::misfit("jobs", "id", one.id, "is in a place but not among the jobs")),
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ANY_DISABLED, BY_IDS, BY_ORDER, CLAIMED, ONE_BY_ONE, PEEK, WORK];
