//! Taking due jobs into a numbered claim.

use std::collections::{BTreeMap, BTreeSet};

use super::places::{ClaimRow, Member, Places};
use super::rules::Rule;
use crate::fair;
use crate::id::{Fence, JobId};
use crate::job::Job;
use crate::lane::Lane;
use crate::ports::{Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, SessionState, Wanted, is_fragile};
use crate::state::State;
use crate::time::Timestamp;

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
        let members = chosen.into_iter().map(|id| (id, self.take_for_claim(id, now))).collect();
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
                let mut picked: Vec<JobId> = Vec::new();
                for pick in &plan.0 {
                    let room = pick.up_to.min(limit.saturating_sub(picked.len()));
                    let taken = self.first_in_order(request, pick.lane, room, &picked, now);
                    picked.extend(taken);
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
            (fragile, _) => (candidates, fragile.is_some()),
        }
    }

    /// The first `room` due jobs of one lane that need not run alone, nearest to the front of their queue first, over all
    /// lines served.
    fn first_in_order(
        &self,
        request: &ClaimRequest,
        lane: Lane,
        room: usize,
        picked: &[JobId],
        now: Timestamp,
    ) -> Vec<JobId> {
        let mut due: Vec<(i64, JobId)> = self
            .order
            .iter()
            .filter(|((_, route, of), _)| *of == lane && request.routes.contains(route))
            .flat_map(|((queue, _, lane), line)| {
                let front = self.virtual_time(queue, *lane);
                line.iter()
                    .filter(|(_, id)| !picked.contains(id) && !self.is_fragile(*id) && self.may_take(*id, request, now))
                    .take(room)
                    .map(move |(key, id)| (fair::behind(*key, front), *id))
            })
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).take(room).collect()
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
    }

    fn take_for_claim(&mut self, id: JobId, now: Timestamp) -> Member {
        let waiting = self.take(id).expect("chosen from `ready` under the same lock");
        let job = self.job(id);
        if let Some(key) = waiting.key {
            self.served(&job.work.queue, job.work.lane, key);
        }
        let mut counters = waiting.counters;
        counters.attempt += 1;
        if self.rules.has(Rule::CountedAtClaim) {
            counters.spent += 1;
        }
        self.note(id, State::Running, counters.attempt, now);
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
