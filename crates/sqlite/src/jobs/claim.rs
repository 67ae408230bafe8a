//! Taking due jobs into one numbered claim.
//!
//! The claim takes nothing unless its session is live; the number is drawn after the jobs are chosen and never used again.
//! Inside a lane the smallest keys go first, over all queues and routes the worker serves: each pair of queue and route is
//! one short scan of the claim index, so a paused queue, or a backlog this worker cannot run, is never walked over.

use std::collections::{BTreeMap, HashMap, HashSet};

use foreman_core::fair;
use foreman_core::job::QueueName;
use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, SessionState, StoreError, Wanted, is_fragile,
};
use foreman_core::target::Route;
use foreman_core::{Fence, JobId, Lane, Report, State, TenantId, Timestamp};
use rusqlite::OptionalExtension;
use tracing::error;

use crate::SqliteStore;
use crate::error::Fault;
use crate::order;
use crate::places::{self, End};
use crate::rows::{Counters, Traveller, Waiting, traveller_columns};
use crate::tenure;
use crate::work::Written;
use crate::write::Write;

/// A claim whose jobs are still text.
pub(super) enum Taken {
    Claimed { fence: Fence, jobs: Vec<(Written, Counters)>, fragile_waiting: bool },
    Nothing { fragile_waiting: bool },
    SessionGone,
}

pub(super) fn claim(write: &Write<'_>, request: &ClaimRequest) -> Result<Taken, Fault> {
    if !is_live(write, request)? {
        return Ok(Taken::SessionGone);
    }
    if let Some(fence) = claimed_before(write, request)? {
        let jobs = places::open_in(write, fence)?
            .into_iter()
            .map(|held| Ok((written(write, held.traveller.job)?, held.traveller.counters)))
            .collect::<Result<_, Fault>>()?;
        return Ok(Taken::Claimed { fence, jobs, fragile_waiting: false });
    }
    let (chosen, fragile_waiting) = choose(write, request)?;
    if chosen.is_empty() {
        return Ok(Taken::Nothing { fragile_waiting });
    }
    let (fence, jobs) = take(write, request, chosen)?;
    Ok(Taken::Claimed { fence, jobs, fragile_waiting })
}

fn is_live(write: &Write<'_>, request: &ClaimRequest) -> Result<bool, Fault> {
    let state: Option<String> = write
        .prepared("SELECT state FROM sessions WHERE id = ?1")?
        .query_row([request.session.0], |row| row.get(0))
        .optional()?;
    Ok(state.is_some_and(|state| state == SessionState::Live.as_str()))
}

/// The answer to this very call was lost, and it is sent again.
fn claimed_before(write: &Write<'_>, request: &ClaimRequest) -> Result<Option<Fence>, Fault> {
    let number = write
        .prepared("SELECT number FROM claims WHERE session = ?1 AND token = ?2")?
        .query_row((request.session.0, request.token.0), |row| row.get(0))
        .optional()?;
    Ok(number.map(Fence))
}

/// Which jobs to take, and whether one that must run alone was passed over.
fn choose(write: &Write<'_>, request: &ClaimRequest) -> Result<(Vec<Waiting>, bool), Fault> {
    let lines = Lines::open(write, request)?;
    let (mut chosen, fragile) = match &request.wanted {
        Wanted::ByOrder { limit: 0, .. } => return Ok((Vec::new(), false)),
        Wanted::ByOrder { plan, limit } => {
            let fragile = lines.first_fragile(write)?;
            if fragile.is_some() && request.company == Company::Nobody {
                (Vec::new(), fragile)
            } else {
                (lines.in_order(write, plan, *limit)?, fragile)
            }
        }
        Wanted::ByIds(ids) => lines.by_ids(write, ids)?,
    };
    match (fragile, request.company) {
        (Some(alone), Company::Nobody) => {
            chosen.clear();
            chosen.push(alone);
            Ok((chosen, false))
        }
        (fragile, _) => Ok((chosen, fragile.is_some())),
    }
}

/// The pairs of queue and route that this request may take from.
struct Lines {
    pairs: Vec<(QueueName, Route)>,
    /// Tenants that have paused a queue which others still use.
    paused: HashSet<(QueueName, TenantId)>,
}

impl Lines {
    fn open(write: &Write<'_>, request: &ClaimRequest) -> Result<Self, Fault> {
        let mut paused = HashSet::new();
        let mut open: BTreeMap<QueueName, bool> = BTreeMap::new();
        let mut statement = write.prepared("SELECT queue, tenant, paused_at IS NOT NULL FROM queues")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let queue = QueueName::from_stored(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
            let is_paused: bool = row.get(2)?;
            if is_paused {
                paused.insert((queue.clone(), TenantId::new(row.get::<_, String>(1)?)));
            }
            *open.entry(queue).or_default() |= !is_paused;
        }
        let is_served = |queue: &QueueName| match &request.queues {
            Queues::All => true,
            Queues::Named(names) => names.contains(queue),
        };
        let mut routes: Vec<&Route> = request.routes.iter().collect();
        routes.sort();
        routes.dedup();
        let pairs = open
            .into_iter()
            .filter(|(queue, is_open)| *is_open && is_served(queue))
            .flat_map(|(queue, _)| routes.iter().map(move |route| (queue.clone(), (*route).clone())))
            .collect();
        Ok(Self { pairs, paused })
    }

    /// Step by step through the plan, at most `limit` in all.
    fn in_order(&self, write: &Write<'_>, plan: &LanePlan, limit: usize) -> Result<Vec<Waiting>, Fault> {
        // A lane may be asked twice, and nothing is taken out meanwhile: the second time, what was chosen is skipped.
        let mut served: BTreeMap<Lane, usize> = BTreeMap::new();
        let mut chosen = Vec::new();
        for Pick { lane, up_to } in &plan.0 {
            let room = (*up_to).min(limit.saturating_sub(chosen.len()));
            if room == 0 {
                continue;
            }
            let before = served.entry(*lane).or_default();
            let line = self.first_of_lane(write, *lane, *before + room)?;
            chosen.extend(line.into_iter().skip(*before));
            *before += room;
        }
        Ok(chosen)
    }

    /// The first `room` due jobs of one lane that need not run alone, nearest to the front of their queue first, over all
    /// pairs.
    fn first_of_lane(&self, write: &Write<'_>, lane: Lane, room: usize) -> Result<Vec<Waiting>, Fault> {
        let mut due = Vec::new();
        let mut lines_with_jobs = 0;
        for pair in &self.pairs {
            let before = due.len();
            self.scan(write, pair, lane, room, &mut due)?;
            lines_with_jobs += usize::from(due.len() > before);
        }
        if lines_with_jobs > 1 {
            let fronts = order::fronts(write.sql, lane)?;
            due.sort_by_cached_key(|waiting| {
                let front = fronts.get(&waiting.traveller.queue).copied().unwrap_or_default();
                (waiting.key.map(|key| fair::behind(key, front)), waiting.traveller.job)
            });
            due.truncate(room);
        }
        Ok(due)
    }

    fn scan(
        &self,
        write: &Write<'_>,
        (queue, route): &(QueueName, Route),
        lane: Lane,
        room: usize,
        due: &mut Vec<Waiting>,
    ) -> Result<(), Fault> {
        // `crashes` is compared here and not in the statement: a fragile job is rare, and the scan stays on its index.
        let mut statement = write.prepared(concat!(
            "SELECT ",
            traveller_columns!(),
            ", key FROM ready INDEXED BY ready_in_order
             WHERE queue = ?1 AND route = ?2 AND lane = ?3 AND key IS NOT NULL ORDER BY key, job"
        ))?;
        let mut rows = statement.query((queue.as_str(), route.as_str(), lane.rank()))?;
        let mut taken = 0;
        while taken < room {
            let Some(row) = rows.next()? else { break };
            let waiting = Waiting::try_from(row)?;
            if !is_fragile(waiting.traveller.counters.crashes) && self.may_start(&waiting, write.now) {
                due.push(waiting);
                taken += 1;
            }
        }
        Ok(())
    }

    /// The first due job that must run alone, of any lane.
    fn first_fragile(&self, write: &Write<'_>) -> Result<Option<Waiting>, Fault> {
        if self.pairs.is_empty() {
            return Ok(None);
        }
        // Hardly ever any: one look at an index that is empty most of the time.
        let mut statement = write.prepared(concat!(
            "SELECT ",
            traveller_columns!(),
            ", key FROM ready INDEXED BY ready_fragile WHERE key IS NOT NULL AND crashes >= 2 ORDER BY key, job"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let waiting = Waiting::try_from(row)?;
            if self.serves(&waiting.traveller) && self.may_start(&waiting, write.now) {
                return Ok(Some(waiting));
            }
        }
        Ok(None)
    }

    /// Those of `ids` that are due, not paused and served; and the first of them that must run alone.
    fn by_ids(&self, write: &Write<'_>, ids: &[JobId]) -> Result<(Vec<Waiting>, Option<Waiting>), Fault> {
        let (mut chosen, mut fragile): (Vec<Waiting>, Option<Waiting>) = (Vec::new(), None);
        let mut seen = HashSet::new();
        for id in ids.iter().filter(|id| seen.insert(**id)) {
            let Some(waiting) = places::waiting(write, *id)? else { continue };
            let is_due = waiting.key.is_some();
            if !is_due || !self.serves(&waiting.traveller) || !self.may_start(&waiting, write.now) {
                continue;
            }
            if !is_fragile(waiting.traveller.counters.crashes) {
                chosen.push(waiting);
            } else if fragile.as_ref().is_none_or(|first| before(&waiting, first)) {
                fragile = Some(waiting);
            }
        }
        Ok((chosen, fragile))
    }

    fn serves(&self, traveller: &Traveller) -> bool {
        self.pairs.iter().any(|(queue, route)| *queue == traveller.queue && *route == traveller.route)
    }

    /// Neither past its start-by, which the promoter has not seen yet, nor paused by its tenant.
    fn may_start(&self, waiting: &Waiting, now: Timestamp) -> bool {
        let Traveller { queue, tenant, expires_at, .. } = &waiting.traveller;
        expires_at.is_none_or(|time| time > now)
            && (self.paused.is_empty() || !self.paused.contains(&(queue.clone(), tenant.clone())))
    }
}

fn before(one: &Waiting, other: &Waiting) -> bool {
    (one.key, one.traveller.job) < (other.key, other.traveller.job)
}

/// Moves the chosen from `ready` into a new claim, and V with them.
fn take(
    write: &Write<'_>,
    request: &ClaimRequest,
    chosen: Vec<Waiting>,
) -> Result<(Fence, Vec<(Written, Counters)>), Fault> {
    for waiting in &chosen {
        places::leave_ready(write, waiting.traveller.job)?;
    }
    let fence = draw(write, request)?;
    let mut highest: HashMap<(QueueName, Lane), i64> = HashMap::new();
    let mut jobs = Vec::with_capacity(chosen.len());
    for Waiting { mut traveller, key } in chosen {
        if let Some(key) = key {
            let v = highest.entry((traveller.queue.clone(), traveller.lane)).or_default();
            *v = key.max(*v);
        }
        traveller.counters.attempt += 1;
        traveller.counters.spent += 1;
        places::hold(write, fence, &traveller)?;
        jobs.push((written(write, traveller.job)?, traveller.counters));
    }
    order::served(write.sql, &highest)?;
    Ok((fence, jobs))
}

fn draw(write: &Write<'_>, request: &ClaimRequest) -> Result<Fence, Fault> {
    write.prepared("INSERT INTO claims (session, token, claimed_at) VALUES (?1, ?2, ?3)")?.execute((
        request.session.0,
        request.token.0,
        write.now.as_micros(),
    ))?;
    Ok(Fence(write.sql.last_insert_rowid()))
}

fn written(write: &Write<'_>, id: JobId) -> Result<Written, Fault> {
    let mut statement = write.prepared("SELECT id, tenant, created_at, work FROM jobs WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    match rows.next()? {
        Some(row) => Written::try_from(row),
        None => Err(Fault::misfit("jobs", "id", id, "is in a place but not among the jobs")),
    }
}

/// Reads the jobs of a claim, on the caller's side. One whose work cannot be read is put aside as dead: handed out it could
/// not be run, and left in line it would stop every claim after this one.
pub(super) async fn answer(store: &SqliteStore, taken: Taken) -> Result<ClaimAnswer, StoreError> {
    let (fence, written, fragile_waiting) = match taken {
        Taken::SessionGone => return Ok(ClaimAnswer::SessionGone),
        Taken::Nothing { fragile_waiting } => return Ok(ClaimAnswer::Nothing { fragile_waiting }),
        Taken::Claimed { fence, jobs, fragile_waiting } => (fence, jobs, fragile_waiting),
    };
    let mut jobs = Vec::with_capacity(written.len());
    for (text, Counters { attempt, spent, crashes }) in written {
        let id = text.id;
        match text.read() {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is put aside as dead: {fault}");
                let report = Report::error(format!("what was asked cannot be read: {fault}"));
                store.write(move |write| put_aside(write, fence, id, &report)).await?;
            }
        }
    }
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting }))
}

fn put_aside(write: &Write<'_>, fence: Fence, id: JobId, report: &Report) -> Result<(), Fault> {
    let Some(held) = places::held(write, id)?.filter(|held| held.claim == fence) else { return Ok(()) };
    let tenure = tenure::of_claim(write, fence)?;
    let report = serde_json::to_string(report).map_err(|error| StoreError::Broken(error.to_string()))?;
    places::leave_held(write, id)?;
    places::drop_claim_if_empty(write, fence)?;
    places::finish(
        write,
        &held.traveller,
        State::Dead,
        &End { tenure: Some(&tenure), is_settled: false, report: &report },
    )
}
