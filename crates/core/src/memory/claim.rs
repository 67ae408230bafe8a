//! Taking due jobs into a numbered claim.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::announce::Candidates;
use super::places::{ClaimMember, ClaimRow, LineKey, Places, line_of};
use super::rules::Rule;
use crate::fair::{self, Candidate, Front, Round};
use crate::id::{Fence, JobId, TenantId};
use crate::lane::Lane;
use crate::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Headroom, Held, Queues, Refusal, RefusedJob, SessionState, WaitsFor,
    WantedJobs, is_fragile,
};
use crate::state::State;
use crate::time::Timestamp;

/// What a claim has seen of a lane.
struct LaneSeen<'a> {
    round: Round<'a>,
    heads: Vec<Head<'a>>,
}

/// The jobs of a line that a claim looks at.
struct Head<'a> {
    line: &'a LineKey,
    /// What its keys are compared with.
    front: i64,
    jobs: Front<()>,
}

impl<'a> Head<'a> {
    fn numbered(&self, number: usize) -> fair::Line<'a> {
        let (queue, route, _) = self.line;
        fair::Line { number, route, queue, front: self.front }
    }
}

impl Places {
    pub fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> ClaimAnswer {
        let is_live = self.sessions.get(&request.session).is_some_and(|row| row.state == SessionState::Live);
        if !is_live && self.rules.has(Rule::SessionChecked) {
            return ClaimAnswer::SessionGone;
        }
        if let Some(fence) = self.claimed_before(request) {
            return ClaimAnswer::Claimed(self.as_claim(fence, false));
        }
        let among = match request.wanted {
            WantedJobs::Unannounced { .. } => Candidates::Unannounced,
            WantedJobs::ByOrder { .. } | WantedJobs::ByIds(_) => Candidates::All,
        };
        let (chosen, fragile_waiting) = self.choose(request, among, now);
        let refused = self.refused(request, &chosen, now);
        self.unmark_refused(&refused, now);
        if chosen.is_empty() {
            return ClaimAnswer::Nothing { fragile_waiting, refused };
        }
        let is_in_order = request.wanted.is_in_order();
        let members = chosen.into_iter().map(|id| (id, self.take_for_claim(id, is_in_order, now))).collect();
        let fence = self.enter(request, members, now);
        ClaimAnswer::Claimed(Claim { refused, ..self.as_claim(fence, fragile_waiting) })
    }

    /// Why each job was not taken that was named and is not among those chosen.
    fn refused(&self, request: &ClaimRequest, chosen: &[JobId], now: Timestamp) -> Vec<RefusedJob> {
        let WantedJobs::ByIds(ids) = &request.wanted else { return Vec::new() };
        let is_alone = chosen.iter().any(|id| self.is_fragile(*id));
        let left: BTreeSet<JobId> = ids.iter().copied().filter(|id| !chosen.contains(id)).collect();
        let why = |id: JobId| {
            if !self.ready.contains_key(&id) {
                return if self.holder(id).is_some() { Refusal::Held } else { Refusal::Gone };
            }
            Refusal::Waits(match self.waits_for(id, request, now) {
                Some(waits_for) => waits_for,
                None if is_alone => WaitsFor::Neighbour,
                None if self.is_fragile(id) => WaitsFor::Solitude,
                None => WaitsFor::Room,
            })
        };
        left.into_iter().map(|job| RefusedJob { job, why: why(job) }).collect()
    }

    /// The answer to this very call was lost, and it is sent again.
    fn claimed_before(&self, request: &ClaimRequest) -> Option<Fence> {
        self.claims
            .iter()
            .find(|(_, claim)| claim.session == request.session && claim.token == request.token)
            .map(|(fence, _)| *fence)
    }

    /// Which jobs to take, and whether one that must run alone was passed over.
    pub fn choose(&self, request: &ClaimRequest, among: Candidates, now: Timestamp) -> (Vec<JobId>, bool) {
        let candidates: Vec<JobId> = match &request.wanted {
            WantedJobs::ByOrder { plan, limit } | WantedJobs::Unannounced { plan, limit } => {
                // A lane may be asked twice: the second time it goes on where it stopped.
                let (mut picked, mut lanes): (Vec<JobId>, BTreeMap<Lane, LaneSeen<'_>>) = Default::default();
                for pick in &plan.0 {
                    let room = pick.up_to.min(limit.saturating_sub(picked.len()));
                    let seen = lanes
                        .entry(pick.lane)
                        .or_insert_with(|| self.look_at((request, among), pick.lane, *limit, now));
                    self.take_in_turn(seen, room, &mut picked);
                }
                picked
            }
            WantedJobs::ByIds(ids) => {
                // A delivery may name a job twice.
                let ids: BTreeSet<JobId> = ids.iter().copied().collect();
                ids.into_iter().filter(|id| self.may_take(*id, request, now) && !self.is_fragile(*id)).collect()
            }
        };
        let fragile = self.fragile(request, now);
        match (fragile, request.company) {
            (Some(alone), Company::Nobody) => (vec![alone], false),
            (fragile, _) => (self.within_rooms(candidates, request), fragile.is_some()),
        }
    }

    /// No more of a tenant than it has room for. One claim may then take less than it could: the next takes the rest.
    fn within_rooms(&self, candidates: Vec<JobId>, request: &ClaimRequest) -> Vec<JobId> {
        let mut rooms: BTreeMap<TenantId, u32> =
            self.rooms(request).iter().map(|room| (room.tenant.clone(), room.jobs)).collect();
        let mut has_room = |id: &JobId| match rooms.get_mut(&self.job(*id).tenant) {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        };
        candidates.into_iter().filter(|id| has_room(id)).collect()
    }

    /// What a claim of so many sees of one lane: due jobs that need not run alone, of all lines served.
    fn look_at(
        &self,
        (request, among): (&ClaimRequest, Candidates),
        lane: Lane,
        limit: usize,
        now: Timestamp,
    ) -> LaneSeen<'_> {
        let is_among = |id: &JobId| self.ready.get(id).is_some_and(|waiting| among.has(&waiting.mark, now));
        let is_free = |id: JobId| is_among(&id) && !self.is_fragile(id) && self.may_take(id, request, now);
        let (up_to, beyond) = fair::window(limit);
        let lines = self.order.iter().filter(|((_, route, of), _)| *of == lane && request.routes.contains(route));
        let heads = lines.filter_map(|(line, keys)| {
            let time = self.virtual_time(line);
            let at_v = (time, JobId(uuid::Uuid::max()));
            let old = keys.range(..=at_v).copied().filter(|(_, id)| is_free(*id)).take(up_to);
            let new = keys.range((Bound::Excluded(at_v), Bound::Unbounded)).copied();
            let seen: Vec<(i64, JobId)> = old.chain(new.filter(|(_, id)| is_free(*id)).take(beyond)).collect();
            let front = fair::front(time, seen.first()?.0);
            let mut jobs = Front::default();
            for (key, id) in seen {
                let (tenant, is_returned) = (self.job(id).tenant, self.is_returned(key, time, id));
                jobs.add((key, id), Candidate { tenant, is_returned, item: () });
            }
            Some(Head { line, front, jobs })
        });
        let (mut heads, mut round): (Vec<Head<'_>>, _) = (heads.collect(), Round::new(self.turns.lane(lane)));
        for (number, head) in heads.iter_mut().enumerate() {
            head.jobs.offer(head.numbered(number), &mut round);
        }
        LaneSeen { round, heads }
    }

    /// The next `room` of a lane: tenants in turn, over all its lines.
    fn take_in_turn(&self, LaneSeen { round, heads }: &mut LaneSeen<'_>, room: usize, picked: &mut Vec<JobId>) {
        for _ in 0..room {
            let Some((number, id)) = round.choose() else { break };
            let head = &mut heads[number];
            let Some(Candidate { tenant, .. }) = head.jobs.take(id) else { continue };
            let line = head.numbered(number);
            round.took(line.route, line.queue, &tenant, self.tenants.weight(&tenant));
            head.jobs.offer_next(&tenant, line, round);
            picked.push(id);
        }
    }

    /// The first due job that must run alone.
    fn fragile(&self, request: &ClaimRequest, now: Timestamp) -> Option<JobId> {
        let wanted = |id: &JobId| match &request.wanted {
            WantedJobs::ByOrder { limit, .. } | WantedJobs::Unannounced { limit, .. } => *limit > 0,
            WantedJobs::ByIds(ids) => ids.contains(id),
        };
        self.fragile
            .iter()
            .copied()
            .filter(|id| self.is_fragile(*id) && wanted(id) && self.may_take(*id, request, now))
            .min_by_key(|id| (self.ready.get(id).and_then(|waiting| waiting.key), *id))
    }

    fn is_returned(&self, key: i64, time: i64, id: JobId) -> bool {
        self.ready.get(&id).is_some_and(|waiting| {
            let counters = waiting.counters;
            fair::is_returned(key, time, (counters.attempt, counters.spent, counters.crashes))
        })
    }

    pub fn is_fragile(&self, id: JobId) -> bool {
        self.rules.has(Rule::FragileAlone)
            && self.ready.get(&id).is_some_and(|waiting| is_fragile(waiting.counters.crashes))
    }

    pub fn may_take(&self, id: JobId, request: &ClaimRequest, now: Timestamp) -> bool {
        self.ready.contains_key(&id) && self.waits_for(id, request, now).is_none()
    }

    /// What a waiting job waits for, if this request may not take it: the first reason in the order of [`WaitsFor`].
    fn waits_for(&self, id: JobId, request: &ClaimRequest, now: Timestamp) -> Option<WaitsFor> {
        let (waiting, job) = (self.ready.get(&id)?, self.jobs.get(&id)?);
        let queue = &job.work.queue;
        let is_in_queues = match &request.queues {
            Queues::All => true,
            Queues::Named(names) => names.contains(queue),
        };
        let obeys_due = self.rules.has(Rule::ByIdObeysDue) || request.wanted.is_in_order();
        if waiting.key.is_none() && obeys_due {
            Some(WaitsFor::Time(waiting.run_at))
        } else if waiting.expires_at.is_some_and(|time| time <= now) {
            Some(WaitsFor::Expiry)
        } else if !is_in_queues || !request.routes.contains(&job.work.target.route()) {
            Some(WaitsFor::OtherWorker)
        } else if self.tenants.is_disabled(&job.tenant) {
            Some(WaitsFor::Tenant)
        } else if self.paused.contains(&(job.tenant.clone(), queue.clone())) {
            Some(WaitsFor::Queue)
        } else if self.rooms(request).iter().any(|room| room.jobs == 0 && room.tenant == job.tenant) {
            Some(WaitsFor::Room)
        } else {
            None
        }
    }

    fn rooms<'a>(&self, request: &'a ClaimRequest) -> &'a [Headroom] {
        if self.rules.has(Rule::RoomsObeyed) { &request.rooms } else { &[] }
    }

    fn take_for_claim(&mut self, id: JobId, is_in_order: bool, now: Timestamp) -> ClaimMember {
        let waiting = self.take(id).expect("chosen from `ready` under the same lock");
        let job = self.job(id);
        let is_its_turn = is_in_order && !is_fragile(waiting.counters.crashes);
        if let Some(key) = waiting.key {
            self.served(line_of(&job), key, is_its_turn);
        }
        if is_its_turn {
            let weight = self.tenants.weight(&job.tenant);
            self.turns.took(job.work.lane, &job.work.target.route(), &job.work.queue, &job.tenant, weight);
        }
        let mut counters = waiting.counters;
        counters.attempt += 1;
        if self.rules.has(Rule::CountedAtClaim) {
            counters.spent += 1;
        }
        let counters = counters.moved();
        self.note(id, counters.step(State::Running, Some(now.since(waiting.run_at))), now);
        ClaimMember { run_at: waiting.run_at, expires_at: waiting.expires_at, counters }
    }

    fn enter(&mut self, request: &ClaimRequest, members: BTreeMap<JobId, ClaimMember>, now: Timestamp) -> Fence {
        let fence = self.next_fence();
        let open = members.keys().copied().collect();
        let claim = ClaimRow { session: request.session, token: request.token, claimed_at: now, members, open };
        self.claims.insert(fence, claim);
        fence
    }

    fn as_claim(&self, fence: Fence, fragile_waiting: bool) -> Claim {
        let claim = &self.claims[&fence];
        let jobs = self.open(fence).into_iter().map(|id| {
            let counters = claim.members[&id].counters;
            Held {
                job: self.job(id),
                fence,
                attempt: counters.attempt,
                spent: counters.spent,
                crashes: counters.crashes,
            }
        });
        Claim { fence, jobs: jobs.collect(), fragile_waiting, has_more: false, refused: Vec::new() }
    }
}
