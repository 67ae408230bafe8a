//! Taking due jobs into a numbered claim.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::places::{ClaimRow, Line, Member, Places, line_of};
use super::rules::Rule;
use crate::fair::{self, Offer, Round, Turns};
use crate::id::{Fence, JobId, TenantId};
use crate::job::Job;
use crate::lane::Lane;
use crate::ports::{Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, Room, SessionState, Wanted, is_fragile};
use crate::state::State;
use crate::time::Timestamp;

/// The first jobs of a line, those on offer first.
struct Head<'a> {
    line: &'a Line,
    front: i64,
    waiting: VecDeque<(i64, JobId)>,
    offered: usize,
}

impl Head<'_> {
    /// Offers the first, and what stands at the same place.
    fn offer(&mut self, places: &Places, number: usize, round: &mut Round) {
        let (queue, route, _) = self.line;
        let line = fair::Line { number, route, queue, front: self.front };
        while let Some((key, job)) = self.waiting.get(self.offered).copied() {
            if self.waiting[0].0 != key {
                break;
            }
            round.offer(line, Offer { tenant: &places.job(job).tenant, key, job });
            self.offered += 1;
        }
    }

    fn take(&mut self, job: JobId) {
        self.waiting.retain(|(_, id)| *id != job);
        self.offered -= 1;
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
        let (chosen, fragile_waiting) = self.choose(request, now);
        if chosen.is_empty() {
            return ClaimAnswer::Nothing { fragile_waiting };
        }
        let is_by_order = matches!(request.wanted, Wanted::ByOrder { .. });
        let members = chosen.into_iter().map(|id| (id, self.take_for_claim(id, is_by_order, now))).collect();
        let fence = self.enter(request, members, now);
        ClaimAnswer::Claimed(self.as_claim(fence, fragile_waiting))
    }

    /// The answer to this very call was lost, and it is sent again.
    fn claimed_before(&self, request: &ClaimRequest) -> Option<Fence> {
        self.claims
            .iter()
            .find(|(_, claim)| claim.session == request.session && claim.token == request.token)
            .map(|(fence, _)| *fence)
    }

    /// Which jobs to take, and whether one that must run alone was passed over.
    fn choose(&self, request: &ClaimRequest, now: Timestamp) -> (Vec<JobId>, bool) {
        let candidates: Vec<JobId> = match &request.wanted {
            Wanted::ByOrder { plan, limit } => {
                let (mut picked, mut turns): (Vec<JobId>, Turns) = (Vec::new(), self.turns.clone());
                for pick in &plan.0 {
                    let room = pick.up_to.min(limit.saturating_sub(picked.len()));
                    self.first_in_order(request, (pick.lane, room), &mut turns, &mut picked, now);
                }
                picked
            }
            Wanted::ByIds(ids) => {
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

    /// The first `room` due jobs of one lane that need not run alone: tenants in turn, over all lines served.
    fn first_in_order(
        &self,
        request: &ClaimRequest,
        (lane, room): (Lane, usize),
        turns: &mut Turns,
        picked: &mut Vec<JobId>,
        now: Timestamp,
    ) {
        let is_free = |id: JobId| !picked.contains(&id) && !self.is_fragile(id) && self.may_take(id, request, now);
        let mut lines: Vec<Head<'_>> = self
            .order
            .iter()
            .filter(|((_, route, of), _)| *of == lane && request.routes.contains(route))
            .filter_map(|(line, keys)| {
                let mut waiting = keys.iter().copied().filter(|(_, id)| is_free(*id)).peekable();
                let first = waiting.peek()?.0;
                let front = fair::front(self.virtual_time(line), first);
                let enough = waiting.clone().take_while(|(key, _)| *key == first).count().max(room);
                Some(Head { line, front, waiting: waiting.take(enough).collect(), offered: 0 })
            })
            .collect();
        let mut round = Round::new(turns.lane(lane));
        for (number, head) in lines.iter_mut().enumerate() {
            head.offer(self, number, &mut round);
        }
        for _ in 0..room {
            let Some((number, id)) = round.choose() else { break };
            let tenant = self.job(id).tenant;
            let (queue, route, _) = lines[number].line;
            round.took(route, queue, &tenant, self.tenants.weight(&tenant));
            lines[number].take(id);
            lines[number].offer(self, number, &mut round);
            picked.push(id);
        }
        turns.keep(lane, round.end());
    }

    /// The first due job that must run alone.
    fn fragile(&self, request: &ClaimRequest, now: Timestamp) -> Option<JobId> {
        let wanted = |id: &JobId| match &request.wanted {
            Wanted::ByOrder { limit, .. } => *limit > 0,
            Wanted::ByIds(ids) => ids.contains(id),
        };
        self.fragile
            .iter()
            .copied()
            .filter(|id| self.is_fragile(*id) && wanted(id) && self.may_take(*id, request, now))
            .min_by_key(|id| (self.ready.get(id).and_then(|waiting| waiting.key), *id))
    }

    fn is_fragile(&self, id: JobId) -> bool {
        self.rules.has(Rule::FragileAlone)
            && self.ready.get(&id).is_some_and(|waiting| is_fragile(waiting.counters.crashes))
    }

    fn may_take(&self, id: JobId, request: &ClaimRequest, now: Timestamp) -> bool {
        let (Some(waiting), Some(job)) = (self.ready.get(&id), self.jobs.get(&id)) else { return false };
        let obeys = self.rules.has(Rule::ByIdObeysDue) || matches!(request.wanted, Wanted::ByOrder { .. });
        let is_due = waiting.key.is_some() || !obeys;
        is_due && waiting.expires_at.is_none_or(|time| time > now) && self.is_served(job, request)
    }

    fn is_served(&self, job: &Job, request: &ClaimRequest) -> bool {
        let queue = &job.work.queue;
        let in_queues = match &request.queues {
            Queues::All => true,
            Queues::Named(names) => names.contains(queue),
        };
        in_queues
            && request.routes.contains(&job.work.target.route())
            && !self.paused.contains(&(job.tenant.clone(), queue.clone()))
            && !self.rooms(request).iter().any(|room| room.jobs == 0 && room.tenant == job.tenant)
    }

    fn rooms<'a>(&self, request: &'a ClaimRequest) -> &'a [Room] {
        if self.rules.has(Rule::RoomsObeyed) { &request.rooms } else { &[] }
    }

    fn take_for_claim(&mut self, id: JobId, is_by_order: bool, now: Timestamp) -> Member {
        let waiting = self.take(id).expect("chosen from `ready` under the same lock");
        let job = self.job(id);
        let is_its_turn = is_by_order && !is_fragile(waiting.counters.crashes);
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
        Member { run_at: waiting.run_at, expires_at: waiting.expires_at, counters }
    }

    fn enter(&mut self, request: &ClaimRequest, members: BTreeMap<JobId, Member>, now: Timestamp) -> Fence {
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
        Claim { fence, jobs: jobs.collect(), fragile_waiting }
    }
}
