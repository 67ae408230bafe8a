//! What one request may take from, in order or by id.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::{ClaimRequest, Queues, Refusal, RefusedJob, WaitsFor, is_fragile};
use foreman_core::{JobId, Lane};

use super::closed::{self, Everywhere};
use super::lines::LaneLines;
use super::rotation::{FragilePlace, Rotation};
use crate::error::Fault;
use crate::places;
use crate::rows::{JobRow, ReadyRow, job_row_columns};
use crate::write::Write;

/// So many jobs that must run alone are looked at by one claim.
const FRAGILE_AT_ONCE: usize = 1_024;

pub(super) const FRAGILE: &str = concat!(
    "SELECT ",
    job_row_columns!(),
    ", key FROM ready INDEXED BY ready_fragile
     WHERE key IS NOT NULL AND crashes >= 2 AND (queue, route, lane, key, job) > (?1, ?2, ?3, ?4, ?5)
     ORDER BY queue, route, lane, key, job LIMIT ?6"
);

/// What was found in order.
pub(super) struct InOrder {
    pub chosen: Vec<ReadyRow>,
    /// There may be more behind what was passed over: the next look goes on there.
    pub is_unfinished: bool,
}

/// What this request may take from.
pub(super) struct ClaimScope<'r> {
    request: &'r ClaimRequest,
    /// Without any there is nothing to look up.
    is_any_paused: bool,
    everywhere: Arc<Everywhere>,
}

impl<'r> ClaimScope<'r> {
    pub fn by(write: &Write<'_>, request: &'r ClaimRequest, rotation: &Rotation) -> Result<Self, Fault> {
        let everywhere = Arc::new(Everywhere::of(request, rotation.disabled().look(write.sql)?));
        Ok(Self { request, is_any_paused: closed::is_any_paused(write)?, everywhere })
    }

    /// Step by step through the plan, at most `limit` in all.
    pub fn in_order(
        &self,
        write: &Write<'_>,
        rotation: &Rotation,
        plan: &LanePlan,
        limit: usize,
    ) -> Result<InOrder, Fault> {
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
        let mut is_unfinished = false;
        for lines in lanes.into_values() {
            is_unfinished |= lines.remember(rotation);
        }
        Ok(InOrder { chosen, is_unfinished })
    }

    /// The first due job that must run alone, of any lane. Where there are very many, claims go round, and it is the first of
    /// those that are looked at.
    pub fn first_fragile(&self, write: &Write<'_>, rotation: &Rotation) -> Result<Option<ReadyRow>, Fault> {
        // Hardly ever any: one look at an index that is empty most of the time.
        let mut statement = write.prepared(FRAGILE)?;
        let (queue, route, lane, key, job) = rotation.fragile_place();
        let mut rows = statement.query((queue, route, lane, key, job.0, FRAGILE_AT_ONCE as i64))?;
        let (mut first, mut last, mut seen): (Option<ReadyRow>, Option<FragilePlace>, usize) = (None, None, 0);
        while let Some(row) = rows.next()? {
            let waiting = ReadyRow::try_from(row)?;
            seen += 1;
            if seen == FRAGILE_AT_ONCE {
                let JobRow { queue, route, lane, job, .. } = &waiting.job_row;
                let key = waiting.key.unwrap_or_default();
                last = Some((queue.as_str().to_owned(), route.as_str().to_owned(), lane.rank(), key, *job));
            }
            if first.as_ref().is_none_or(|first| before(&waiting, first)) && self.may_take(write, &waiting)? {
                first = Some(waiting);
            }
        }
        rotation.keep_fragile_place(last);
        Ok(first)
    }

    /// Those of `ids` that are due, not paused and served; and the first of them that must run alone.
    pub fn by_ids(&self, write: &Write<'_>, ids: &[JobId]) -> Result<(Vec<ReadyRow>, Option<ReadyRow>), Fault> {
        let (mut chosen, mut fragile): (Vec<ReadyRow>, Option<ReadyRow>) = (Vec::new(), None);
        let mut seen = HashSet::new();
        let mut ids: Vec<JobId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
        if !self.request.rooms.is_empty() {
            // What there is room for is taken from the oldest on.
            ids.sort_unstable();
        }
        for id in &ids {
            let Some(waiting) = places::waiting(write, *id)? else { continue };
            if !self.may_take(write, &waiting)? {
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

    fn may_take(&self, write: &Write<'_>, waiting: &ReadyRow) -> Result<bool, Fault> {
        Ok(self.waits_for(write, waiting)?.is_none())
    }

    /// What a waiting job waits for, if this request may not take it: the first reason in the order of [`WaitsFor`].
    pub fn waits_for(&self, write: &Write<'_>, waiting: &ReadyRow) -> Result<Option<WaitsFor>, Fault> {
        let JobRow { queue, tenant, route, run_at, expires_at, .. } = &waiting.job_row;
        let is_named = match &self.request.queues {
            Queues::All => true,
            Queues::Named(names) => names.contains(queue),
        };
        Ok(if waiting.key.is_none() {
            Some(WaitsFor::Time(*run_at))
        } else if expires_at.is_some_and(|time| time <= write.now) {
            Some(WaitsFor::Expiry)
        } else if !is_named || !self.request.routes.contains(route) {
            Some(WaitsFor::OtherWorker)
        } else if self.everywhere.is_disabled(tenant) {
            Some(WaitsFor::Tenant)
        } else if self.is_any_paused && closed::is_paused(write, queue, tenant)? {
            Some(WaitsFor::Queue)
        } else if self.everywhere.is_full(tenant) {
            Some(WaitsFor::Room)
        } else {
            None
        })
    }

    /// Why each job was not taken that was named and is not among those chosen.
    pub fn refused(&self, write: &Write<'_>, ids: &[JobId], chosen: &[ReadyRow]) -> Result<Vec<RefusedJob>, Fault> {
        let taken: HashSet<JobId> = chosen.iter().map(|one| one.job_row.job).collect();
        let is_alone = chosen.iter().any(|one| is_fragile(one.job_row.counters.crashes));
        let left: BTreeSet<JobId> = ids.iter().copied().filter(|id| !taken.contains(id)).collect();
        let mut refused = Vec::with_capacity(left.len());
        for job in left {
            let why = match places::waiting(write, job)? {
                Some(waiting) => Refusal::Waits(match self.waits_for(write, &waiting)? {
                    Some(waits_for) => waits_for,
                    None if is_alone => WaitsFor::Neighbour,
                    None if is_fragile(waiting.job_row.counters.crashes) => WaitsFor::Solitude,
                    None => WaitsFor::Room,
                }),
                None if places::held(write, job)?.is_some() => Refusal::Held,
                None => Refusal::Gone,
            };
            refused.push(RefusedJob { job, why });
        }
        Ok(refused)
    }
}

fn before(one: &ReadyRow, other: &ReadyRow) -> bool {
    (one.key, one.job_row.job) < (other.key, other.job_row.job)
}
