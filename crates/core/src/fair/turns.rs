//! Whose turn it is between the lines of a lane.
//!
//! The same rule as inside a line, once more over tenants: each claimed job moves its tenant on by a step, and the tenant that
//! has come least far goes first; one that was away comes in where the others are. So a tenant has one share of a lane,
//! however many queues its jobs wait in. Of one tenant's lines the one goes first whose job is least far behind its front,
//! and of those the one that was served longest ago.
//!
//! Kept in memory by each process that claims, for the jobs it claims itself: every claimer is fair to all who wait, so all of
//! them together are. It is lost with the process and starts anew.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::{behind, step};
use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::lane::Lane;
use crate::target::Route;

/// More tenants, or queues, than this are not remembered all the time: those that have nothing to wait for are forgotten.
const REMEMBERED: usize = 4_096;

/// How far tenants have come, lane by lane.
#[derive(Clone, Debug, Default)]
pub struct Turns(BTreeMap<Lane, LaneTurns>);

/// How far tenants have come in one lane.
#[derive(Clone, Debug, Default)]
pub struct LaneTurns {
    /// Where the one served last began.
    now: i64,
    /// Where each tenant's next turn begins; now, when it is not here.
    next: HashMap<TenantId, i64>,
    picks: u64,
    /// When each line was served last, counted in picks.
    served: HashMap<Route, HashMap<QueueName, u64>>,
}

impl Turns {
    pub fn lane(&self, lane: Lane) -> LaneTurns {
        self.0.get(&lane).cloned().unwrap_or_default()
    }

    pub fn keep(&mut self, lane: Lane, turns: LaneTurns) {
        self.0.insert(lane, turns);
    }

    /// A job was claimed in its turn.
    pub fn took(&mut self, lane: Lane, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        self.0.entry(lane).or_default().took(route, queue, tenant, weight);
    }
}

impl LaneTurns {
    pub fn took(&mut self, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        let start = self.start(tenant);
        self.now = start;
        self.picks += 1;
        if self.next.len() >= REMEMBERED && !self.next.contains_key(tenant) {
            self.next.retain(|_, next| *next > start);
        }
        self.next.insert(tenant.clone(), start + step(weight));
        self.note(route, queue);
    }

    fn start(&self, tenant: &TenantId) -> i64 {
        self.next.get(tenant).map_or(self.now, |next| self.now.max(*next))
    }

    fn note(&mut self, route: &Route, queue: &QueueName) {
        if let Some(served) = self.served.get_mut(route).and_then(|lines| lines.get_mut(queue)) {
            *served = self.picks;
            return;
        }
        if self.served.values().map(HashMap::len).sum::<usize>() >= REMEMBERED {
            self.served.clear();
        }
        self.served.entry(route.clone()).or_default().insert(queue.clone(), self.picks);
    }

    fn served(&self, route: &Route, queue: &QueueName) -> u64 {
        self.served.get(route).and_then(|lines| lines.get(queue)).copied().unwrap_or_default()
    }
}

/// Where an offered job waits.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The caller's number of the line.
    pub number: usize,
    pub route: &'a Route,
    pub queue: &'a QueueName,
    /// What its keys are compared with.
    pub front: i64,
}

/// A job that may be taken next.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub tenant: &'a TenantId,
    pub key: i64,
    pub job: JobId,
}

/// One claim's choice between lines. Of each line the first job is offered, and all that stand at the same place: a tenant that
/// has come far must not hide another's job behind its own. Whoever takes the first offers the next.
#[derive(Debug, Default)]
pub struct Round {
    turns: LaneTurns,
    numbers: HashMap<TenantId, usize>,
    parties: Vec<Party>,
}

/// What is offered of one tenant's.
#[derive(Debug)]
struct Party {
    tenant: TenantId,
    offers: BinaryHeap<Reverse<Place>>,
}

/// How far behind, when its line was served last, the job, and the number of its line.
type Place = (i64, u64, JobId, usize);

impl Round {
    pub fn new(turns: LaneTurns) -> Self {
        Self { turns, ..Self::default() }
    }

    pub fn offer(&mut self, line: Line<'_>, Offer { tenant, key, job }: Offer<'_>) {
        let number = self.numbers.get(tenant).copied().unwrap_or_else(|| {
            self.parties.push(Party { tenant: tenant.clone(), offers: BinaryHeap::new() });
            self.numbers.insert(tenant.clone(), self.parties.len() - 1);
            self.parties.len() - 1
        });
        let served = self.turns.served(line.route, line.queue);
        self.parties[number].offers.push(Reverse((behind(key, line.front), served, job, line.number)));
    }

    /// Nothing is on offer.
    pub fn is_empty(&self) -> bool {
        self.parties.iter().all(|party| party.offers.is_empty())
    }

    /// The job whose turn it is, and the number of its line. It is not on offer any more.
    pub fn choose(&mut self) -> Option<(usize, JobId)> {
        let turns = &self.turns;
        let place = |party: &Party| party.offers.peek().map(|offer| (turns.start(&party.tenant), offer.0));
        let places = self.parties.iter().enumerate().filter_map(|(number, party)| Some((place(party)?, number)));
        let (_, number) = places.min()?;
        self.parties[number].offers.pop().map(|Reverse((_, _, job, line))| (line, job))
    }

    /// What was chosen is taken.
    pub fn took(&mut self, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        self.turns.took(route, queue, tenant, weight);
    }

    /// How far everybody has come now.
    pub fn end(self) -> LaneTurns {
        self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::UNIT;

    /// Lines with more jobs of one tenant than are asked for; who is served, by the number of the line.
    fn served(lines: &[(&str, u32)], picks: usize, a_claim: usize) -> Vec<usize> {
        let (mut turns, route) = (Turns::default(), Route::http());
        let queues: Vec<QueueName> = (0..lines.len()).map(|n| QueueName::from_stored(&format!("q{n}"))).collect();
        let tenants: Vec<TenantId> = lines.iter().map(|(tenant, _)| TenantId::new(*tenant)).collect();
        let mut order = Vec::new();
        while order.len() < picks {
            let mut round = Round::new(turns.lane(Lane::Normal));
            let mut keys = vec![UNIT; lines.len()];
            let offer = |round: &mut Round, number: usize, key: i64| {
                let job = JobId(uuid::Uuid::from_u128(number as u128));
                let line = Line { number, route: &route, queue: &queues[number], front: 0 };
                round.offer(line, Offer { tenant: &tenants[number], key, job });
            };
            (0..lines.len()).for_each(|line| offer(&mut round, line, UNIT));
            for _ in 0..a_claim {
                let (line, _) = round.choose().expect("no line ends");
                round.took(&route, &queues[line], &tenants[line], lines[line].1);
                order.push(line);
                keys[line] += UNIT;
                offer(&mut round, line, keys[line]);
            }
            turns.keep(Lane::Normal, round.end());
        }
        order
    }

    fn count(order: &[usize], line: usize) -> usize {
        order.iter().filter(|of| **of == line).count()
    }

    #[test]
    fn lines_of_one_tenant_take_turns_however_few_a_claim_takes() {
        for a_claim in [1, 2, 5] {
            let order = served(&[("a", 1), ("a", 1)], 20, a_claim);
            assert_eq!(count(&order, 0), 10, "{a_claim} at once: {order:?}");
        }
    }

    #[test]
    fn a_tenant_has_one_share_however_many_lines_it_has() {
        let mut lines = vec![("a", 1); 30];
        lines.push(("b", 1));
        for a_claim in [1, 4, 64] {
            let order = served(&lines, 64, a_claim);
            let share = count(&order, 30);
            assert!((31..=33).contains(&share), "{a_claim} at once: {share} of 64");
        }
    }

    #[test]
    fn a_heavier_tenant_gets_its_share_over_lines_too() {
        let order = served(&[("heavy", 3), ("light", 1)], 40, 1);
        assert!((29..=31).contains(&count(&order, 0)), "{order:?}");
    }

    #[test]
    fn who_was_away_comes_in_where_the_others_are() {
        let (mut turns, route, queue) = (LaneTurns::default(), Route::http(), QueueName::default());
        let (busy, idle) = (TenantId::new("busy"), TenantId::new("idle"));
        for _ in 0..100 {
            turns.took(&route, &queue, &busy, 1);
        }
        turns.took(&route, &queue, &idle, 1);
        turns.took(&route, &queue, &idle, 1);
        assert!(turns.start(&idle) > turns.start(&busy), "it goes before the other once, not a hundred times");
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let mut turns = LaneTurns::default();
        for n in 0..3 * REMEMBERED {
            let (tenant, queue) = (TenantId::new(format!("t{n}")), QueueName::from_stored(&format!("q{n}")));
            turns.took(&Route::http(), &queue, &tenant, 1);
            // Another is served as often: now moves on.
            turns.took(&Route::http(), &queue, &TenantId::new("other"), 1);
        }
        assert!(turns.next.len() <= REMEMBERED + 1, "{}", turns.next.len());
        assert!(turns.served.values().map(HashMap::len).sum::<usize>() <= REMEMBERED);
    }
}
