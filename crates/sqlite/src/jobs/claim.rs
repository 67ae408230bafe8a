//! Taking due jobs into one numbered claim.
//!
//! The claim takes nothing unless its session is live; the number is drawn after the jobs are chosen and never used again.
//! Inside a lane tenants take turns, over all queues and routes the worker serves; how the next is found without looking at
//! every queue there ever was is told in [`super::lines`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Headroom, Held, Queues, SessionState, StoreError, WantedJobs, is_fragile,
};
use foreman_core::storage::{Counters, StoredReport};
use foreman_core::{Fence, JobId, Lane, State, TenantId};
use rusqlite::OptionalExtension;
use tracing::error;

use super::lines::{self, Everywhere, LaneLines, Rotation};
use crate::SqliteStore;
use crate::claim_info;
use crate::error::Fault;
use crate::order;
use crate::places::{self, EndRecord};
use crate::rows::{JobRow, ReadyRow, job_row_columns};
use crate::work::RawJob;
use crate::write::Write;

/// A claim whose jobs are still text.
pub(super) enum RawClaim {
    Claimed { fence: Fence, jobs: Vec<(RawJob, Counters)>, fragile_waiting: bool },
    Nothing { fragile_waiting: bool },
    SessionGone,
}

pub(super) fn claim(write: &Write<'_>, request: &ClaimRequest, rotation: &Rotation) -> Result<RawClaim, Fault> {
    if !is_live(write, request)? {
        return Ok(RawClaim::SessionGone);
    }
    if let Some(fence) = claimed_before(write, request)? {
        let jobs = places::open_in(write, fence)?
            .into_iter()
            .map(|held| Ok((raw_job(write, held.job_row.job)?, held.job_row.counters)))
            .collect::<Result<_, Fault>>()?;
        return Ok(RawClaim::Claimed { fence, jobs, fragile_waiting: false });
    }
    let (chosen, fragile_waiting) = choose(write, request, rotation)?;
    if chosen.is_empty() {
        return Ok(RawClaim::Nothing { fragile_waiting });
    }
    let is_their_turn = matches!(request.wanted, WantedJobs::ByOrder { .. })
        && !chosen.iter().any(|one| is_fragile(one.job_row.counters.crashes));
    if is_their_turn {
        rotation.took(write, &chosen)?;
    }
    let (fence, jobs) = take(write, request, chosen, is_their_turn)?;
    Ok(RawClaim::Claimed { fence, jobs, fragile_waiting })
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
fn choose(write: &Write<'_>, request: &ClaimRequest, rotation: &Rotation) -> Result<(Vec<ReadyRow>, bool), Fault> {
    let scope = ClaimScope::by(write, request, rotation)?;
    let (mut chosen, fragile) = match &request.wanted {
        WantedJobs::ByOrder { limit: 0, .. } => return Ok((Vec::new(), false)),
        WantedJobs::ByOrder { plan, limit } => {
            let fragile = scope.first_fragile(write)?;
            if fragile.is_some() && request.company == Company::Nobody {
                (Vec::new(), fragile)
            } else {
                (scope.in_order(write, rotation, plan, *limit)?, fragile)
            }
        }
        WantedJobs::ByIds(ids) => scope.by_ids(write, ids)?,
    };
    match (fragile, request.company) {
        (Some(alone), Company::Nobody) => {
            chosen.clear();
            chosen.push(alone);
            Ok((chosen, false))
        }
        (fragile, _) => {
            keep_within_rooms(&mut chosen, &request.rooms);
            Ok((chosen, fragile.is_some()))
        }
    }
}

/// No more of a tenant than it has room for. One claim may then take less than it could: the next takes the rest.
fn keep_within_rooms(chosen: &mut Vec<ReadyRow>, rooms: &[Headroom]) {
    if rooms.is_empty() {
        return;
    }
    let mut left: HashMap<&TenantId, u32> = rooms.iter().map(|room| (&room.tenant, room.jobs)).collect();
    chosen.retain(|waiting| match left.get_mut(&waiting.job_row.tenant) {
        None => true,
        Some(0) => false,
        Some(left) => {
            *left -= 1;
            true
        }
    });
}

/// What this request may take from.
struct ClaimScope<'r> {
    request: &'r ClaimRequest,
    /// Without any there is nothing to look up.
    is_any_paused: bool,
    everywhere: Arc<Everywhere>,
}

impl<'r> ClaimScope<'r> {
    fn by(write: &Write<'_>, request: &'r ClaimRequest, rotation: &Rotation) -> Result<Self, Fault> {
        let everywhere = Arc::new(Everywhere::of(request, rotation.disabled().look(write.sql)?));
        Ok(Self { request, is_any_paused: lines::is_any_paused(write)?, everywhere })
    }

    /// Step by step through the plan, at most `limit` in all.
    fn in_order(
        &self,
        write: &Write<'_>,
        rotation: &Rotation,
        plan: &LanePlan,
        limit: usize,
    ) -> Result<Vec<ReadyRow>, Fault> {
        // A lane may be asked twice: the second time it goes on where it stopped.
        let turns = rotation.turns();
        let mut lanes: BTreeMap<Lane, LaneLines<'_>> = BTreeMap::new();
        let mut chosen = Vec::new();
        for Pick { lane, up_to } in &plan.0 {
            let room = (*up_to).min(limit.saturating_sub(chosen.len()));
            if room == 0 {
                continue;
            }
            let closed = (self.is_any_paused, &self.everywhere);
            let lines = lanes
                .entry(*lane)
                .or_insert_with(|| LaneLines::of(*lane, self.request, limit, closed, rotation, &turns));
            lines.take(write, room, &mut chosen)?;
        }
        for lines in lanes.into_values() {
            lines.remember(rotation);
        }
        Ok(chosen)
    }

    /// The first due job that must run alone, of any lane.
    fn first_fragile(&self, write: &Write<'_>) -> Result<Option<ReadyRow>, Fault> {
        // Hardly ever any: one look at an index that is empty most of the time.
        let mut statement = write.prepared(concat!(
            "SELECT ",
            job_row_columns!(),
            ", key FROM ready INDEXED BY ready_fragile WHERE key IS NOT NULL AND crashes >= 2 ORDER BY key, job"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let waiting = ReadyRow::try_from(row)?;
            if self.may_take(write, &waiting)? {
                return Ok(Some(waiting));
            }
        }
        Ok(None)
    }

    /// Those of `ids` that are due, not paused and served; and the first of them that must run alone.
    fn by_ids(&self, write: &Write<'_>, ids: &[JobId]) -> Result<(Vec<ReadyRow>, Option<ReadyRow>), Fault> {
        let (mut chosen, mut fragile): (Vec<ReadyRow>, Option<ReadyRow>) = (Vec::new(), None);
        let mut seen = HashSet::new();
        let mut ids: Vec<JobId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
        if !self.request.rooms.is_empty() {
            // What there is room for is taken from the oldest on.
            ids.sort_unstable();
        }
        for id in &ids {
            let Some(waiting) = places::waiting(write, *id)? else { continue };
            if waiting.key.is_none() || !self.may_take(write, &waiting)? {
                continue;
            }
            if !is_fragile(waiting.job_row.counters.crashes) {
                chosen.push(waiting);
            } else if fragile.as_ref().is_none_or(|first| before(&waiting, first)) {
                fragile = Some(waiting);
            }
        }
        Ok((chosen, fragile))
    }

    /// Served, neither past its start-by, which the promoter has not seen yet, nor of a tenant that has paused it, has no room
    /// or is disabled.
    fn may_take(&self, write: &Write<'_>, waiting: &ReadyRow) -> Result<bool, Fault> {
        let JobRow { queue, tenant, route, expires_at, .. } = &waiting.job_row;
        let is_named = match &self.request.queues {
            Queues::All => true,
            Queues::Named(names) => names.contains(queue),
        };
        let may_start = expires_at.is_none_or(|time| time > write.now);
        Ok(is_named
            && may_start
            && self.request.routes.contains(route)
            && !self.everywhere.has(tenant)
            && !(self.is_any_paused && lines::is_paused(write, queue, tenant)?))
    }
}

fn before(one: &ReadyRow, other: &ReadyRow) -> bool {
    (one.key, one.job_row.job) < (other.key, other.job_row.job)
}

/// Moves the chosen from `ready` into a new claim, and V with them.
fn take(
    write: &Write<'_>,
    request: &ClaimRequest,
    chosen: Vec<ReadyRow>,
    is_their_turn: bool,
) -> Result<(Fence, Vec<(RawJob, Counters)>), Fault> {
    for waiting in &chosen {
        places::leave_ready(write, waiting.job_row.job)?;
    }
    let fence = draw(write, request)?;
    let mut served: HashMap<order::LineId, order::ServedLine> = HashMap::new();
    let mut jobs = Vec::with_capacity(chosen.len());
    for ReadyRow { mut job_row, key } in chosen {
        if let Some(key) = key {
            let taken = served.entry(order::line_of(&job_row)).or_default();
            (taken.highest, taken.count) = (key.max(taken.highest), taken.count + 1);
        }
        job_row.counters.attempt += 1;
        job_row.counters.spent += 1;
        places::hold(write, fence, &job_row)?;
        jobs.push((raw_job(write, job_row.job)?, job_row.counters));
    }
    order::served(write.sql, &served, is_their_turn)?;
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

fn raw_job(write: &Write<'_>, id: JobId) -> Result<RawJob, Fault> {
    let mut statement = write.prepared("SELECT id, tenant, created_at, work FROM jobs WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    match rows.next()? {
        Some(row) => RawJob::try_from(row),
        None => Err(Fault::misfit("jobs", "id", id, "is in a place but not among the jobs")),
    }
}

/// Reads the jobs of a claim, on the caller's side. One whose work cannot be read is put aside as dead: handed out it could
/// not be run, and left in line it would stop every claim after this one. If that cannot be written right now, the others are
/// answered all the same: the claim is committed, and the worker hands back what is held and was not answered.
pub(super) async fn answer(store: &SqliteStore, taken: RawClaim) -> Result<ClaimAnswer, StoreError> {
    let (fence, written, fragile_waiting) = match taken {
        RawClaim::SessionGone => return Ok(ClaimAnswer::SessionGone),
        RawClaim::Nothing { fragile_waiting } => return Ok(ClaimAnswer::Nothing { fragile_waiting }),
        RawClaim::Claimed { fence, jobs, fragile_waiting } => (fence, jobs, fragile_waiting),
    };
    let mut jobs = Vec::with_capacity(written.len());
    for (text, Counters { attempt, spent, crashes, .. }) in written {
        let id = text.id;
        match text.read() {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is marked dead: {fault}");
                let error = format!("what was asked cannot be read: {fault}");
                if let Err(error) = store.write(move |write| put_aside(write, fence, id, &error)).await {
                    error!(job.id = %id, "could not mark job {id} dead: {error}");
                }
            }
        }
    }
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting, has_more: false }))
}

fn put_aside(write: &Write<'_>, fence: Fence, id: JobId, error: &str) -> Result<(), Fault> {
    let Some(held) = places::held(write, id)?.filter(|held| held.claim == fence) else { return Ok(()) };
    let claim_info = claim_info::of_claim(write, fence)?;
    let report = StoredReport::of_end(error)?;
    places::leave_held(write, id)?;
    places::drop_claim_if_empty(write, fence)?;
    let end = EndRecord { claim_info: Some(&claim_info), is_settled: false, report: &report };
    places::finish(write, &held.job_row, State::Dead, &end)
}
