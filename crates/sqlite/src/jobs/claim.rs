//! Taking due jobs into one numbered claim.
//!
//! The claim takes nothing unless its session is live; the number is drawn after the jobs are chosen and never used again.
//! Inside a lane tenants take turns, over all queues and routes the worker serves; how the next is found without looking at
//! every queue there ever was is told in [`lines`].

mod answer;
mod closed;
mod cycle;
mod find;
mod line;
mod lines;
mod rotation;
mod scope;
mod skipped;
#[cfg(test)]
mod tests;

pub(super) use answer::answer;
pub(crate) use rotation::Rotation;

use std::collections::HashMap;
use std::sync::Arc;

use foreman_core::ports::{
    ClaimRequest, Company, Headroom, RefusedJob, SessionState, StoreError, WantedJobs, is_fragile,
};
use foreman_core::{Fence, TenantId};
use rusqlite::OptionalExtension;

use self::scope::{ClaimScope, InOrder};
use crate::SqliteStore;
use crate::error::Fault;
use crate::order::ServedLines;
use crate::places;
use crate::rows::{JobRow, ReadyRow};
use crate::work::RawJob;
use crate::write::Write;

/// A claim whose jobs are still text.
pub(super) enum RawClaim {
    Claimed {
        fence: Fence,
        jobs: Vec<(RawJob, JobRow)>,
        fragile_waiting: bool,
        refused: Vec<RefusedJob>,
    },
    Nothing {
        fragile_waiting: bool,
        refused: Vec<RefusedJob>,
        /// It has passed over so much that it stopped: the next look goes on there.
        is_unfinished: bool,
    },
    SessionGone,
}

/// So many looks at most are taken in a row by one call that has not found anything yet, each an operation of its own.
const LOOKS: usize = 32;

/// Claims, and goes on where a look has stopped that had passed over enough: others come in between.
pub(super) async fn claim_by_looks(store: &SqliteStore, request: &ClaimRequest) -> Result<RawClaim, StoreError> {
    let mut looks = 0;
    loop {
        let (asked, rotation) = (request.clone(), Arc::clone(&store.parts.rotation));
        let taken = store.write(move |write| claim(write, &asked, &rotation)).await;
        if taken.is_err() {
            // What was remembered of it may have been undone.
            store.parts.rotation.forget_lines();
        }
        looks += 1;
        match taken? {
            RawClaim::Nothing { is_unfinished: true, .. } if looks < LOOKS => {}
            taken => return Ok(taken),
        }
    }
}

fn claim(write: &Write<'_>, request: &ClaimRequest, rotation: &Rotation) -> Result<RawClaim, Fault> {
    if !is_live(write, request)? {
        return Ok(RawClaim::SessionGone);
    }
    if let Some(fence) = claimed_before(write, request)? {
        let jobs = places::open_in(write, fence)?
            .into_iter()
            .map(|held| Ok((raw_job(write, &held.job_row)?, held.job_row)))
            .collect::<Result<_, Fault>>()?;
        return Ok(RawClaim::Claimed { fence, jobs, fragile_waiting: false, refused: Vec::new() });
    }
    let Choice { chosen, fragile_waiting, is_unfinished, refused } = choose(write, request, rotation)?;
    if chosen.is_empty() {
        return Ok(RawClaim::Nothing { fragile_waiting, refused, is_unfinished });
    }
    let is_their_turn =
        request.wanted.is_in_order() && !chosen.iter().any(|one| is_fragile(one.job_row.counters.crashes));
    if is_their_turn {
        rotation.took(write, &chosen)?;
    }
    let (fence, jobs) = take(write, request, chosen, is_their_turn)?;
    Ok(RawClaim::Claimed { fence, jobs, fragile_waiting, refused })
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

/// What a look has found.
#[derive(Default)]
struct Choice {
    chosen: Vec<ReadyRow>,
    /// One that must run alone was passed over.
    fragile_waiting: bool,
    is_unfinished: bool,
    refused: Vec<RefusedJob>,
}

fn choose(write: &Write<'_>, request: &ClaimRequest, rotation: &Rotation) -> Result<Choice, Fault> {
    let scope = ClaimScope::by(write, request, rotation)?;
    let (mut chosen, fragile, is_unfinished) = match &request.wanted {
        WantedJobs::ByIds(ids) => {
            let (chosen, fragile) = scope.by_ids(write, ids)?;
            (chosen, fragile, false)
        }
        WantedJobs::ByOrder { limit: 0, .. } | WantedJobs::Unannounced { limit: 0, .. } => return Ok(Choice::default()),
        // Nothing is announced here: no broker stands beside this store.
        WantedJobs::ByOrder { plan, limit } | WantedJobs::Unannounced { plan, limit } => {
            let fragile = scope.first_fragile(write, rotation)?;
            if fragile.is_some() && request.company == Company::Nobody {
                (Vec::new(), fragile, false)
            } else {
                let InOrder { chosen, is_unfinished } = scope.in_order(write, rotation, plan, *limit)?;
                (chosen, fragile, is_unfinished)
            }
        }
    };
    let mut choice = match (fragile, request.company) {
        (Some(alone), Company::Nobody) => Choice { chosen: vec![alone], ..Choice::default() },
        (fragile, _) => {
            keep_within_rooms(&mut chosen, &request.rooms);
            Choice { chosen, fragile_waiting: fragile.is_some(), is_unfinished, ..Choice::default() }
        }
    };
    if let WantedJobs::ByIds(ids) = &request.wanted {
        choice.refused = scope.refused(write, ids, &choice.chosen)?;
    }
    Ok(choice)
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

/// Moves the chosen from `ready` into a new claim, and V with them.
fn take(
    write: &Write<'_>,
    request: &ClaimRequest,
    chosen: Vec<ReadyRow>,
    is_their_turn: bool,
) -> Result<(Fence, Vec<(RawJob, JobRow)>), Fault> {
    for waiting in &chosen {
        places::leave_ready(write, waiting.job_row.job)?;
    }
    let fence = draw(write, request)?;
    let mut served = ServedLines::default();
    let mut jobs = Vec::with_capacity(chosen.len());
    for ReadyRow { mut job_row, key } in chosen {
        if let Some(key) = key {
            served.add(&job_row, key);
        }
        job_row.counters.attempt += 1;
        job_row.counters.spent += 1;
        job_row.counters = job_row.counters.moved();
        places::hold(write, fence, &job_row)?;
        jobs.push((raw_job(write, &job_row)?, job_row));
    }
    served.keep(write, is_their_turn)?;
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

fn raw_job(write: &Write<'_>, job_row: &JobRow) -> Result<RawJob, Fault> {
    let mut statement = write.prepared("SELECT created_at, work FROM jobs WHERE id = ?1")?;
    let mut rows = statement.query([job_row.job.0])?;
    match rows.next()? {
        Some(row) => RawJob::of(row, job_row.job, job_row.tenant.clone()),
        None => Err(Fault::misfit("jobs", "id", job_row.job, "is in a place but not among the jobs")),
    }
}
