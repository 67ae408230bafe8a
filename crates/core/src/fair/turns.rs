//! Whose turn it is between the lines of a lane.
//!
//! The same rule as inside a line, once more over tenants: each claimed job moves its tenant on by a step, and the tenant that
//! has come least far goes first; one that was away comes in where the others are. So a tenant has one share of a lane,
//! however many queues its jobs wait in. Of one tenant's lines the one goes first whose job is least far behind its front,
//! and of those the one that was served longest ago.
//!
//! Kept in memory by each process that claims, for the jobs it claims itself: every claimer is fair to all who wait, so all of
//! them together are. It is lost with the process and starts anew.
//!
//! A claim reads it and notes its own picks beside it, so nothing is copied; what was really taken is added afterwards. Each
//! lane remembers a fixed number of tenants and lines ([`REMEMBERED`]), the latest ones.

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hash};

use super::{behind, step};
use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::lane::Lane;
use crate::target::Route;

/// The most tenants, and the most lines, that are remembered of a lane.
const REMEMBERED: usize = 8_192;

/// How far tenants have come, lane by lane.
#[derive(Debug, Default)]
pub struct Turns([LaneTurns; Lane::ALL.len()]);

/// How far tenants have come in one lane.
#[derive(Debug, Default)]
pub struct LaneTurns {
    /// Where the one served last began.
    now: i64,
    /// Where each tenant's next turn begins; now, when it is not here. One that is forgotten gains a single turn at most:
    /// its next begins a step after its last, and that began no later than now.
    next: Recent<TenantId, i64>,
    picks: u64,
    /// When each line was served last, counted in picks.
    served: Recent<LineHash, u64>,
    hasher: RandomState,
}

/// A line by the hash of its names. Two with the same hash share when they were served last, which decides between
/// otherwise equal lines of one tenant and nothing else.
type LineHash = u64;

impl Turns {
    pub fn lane(&self, lane: Lane) -> &LaneTurns {
        &self.0[place(lane)]
    }

    /// A job was claimed in its turn.
    pub fn took(&mut self, lane: Lane, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        self.took_run(lane, route, queue, tenant, weight, 1);
    }

    /// So many jobs of one tenant and line were claimed in their turn, one after the other.
    pub fn took_run(
        &mut self,
        lane: Lane,
        route: &Route,
        queue: &QueueName,
        tenant: &TenantId,
        weight: u32,
        count: usize,
    ) {
        self.0[place(lane)].took_run(route, queue, tenant, weight, count);
    }
}

fn place(lane: Lane) -> usize {
    match lane {
        Lane::High => 0,
        Lane::Normal => 1,
        Lane::Low => 2,
    }
}

impl LaneTurns {
    pub fn took(&mut self, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        self.took_run(route, queue, tenant, weight, 1);
    }

    /// Each of them begins a step after the one before it.
    fn took_run(&mut self, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32, count: usize) {
        if count == 0 {
            return;
        }
        let (start, steps) = (self.start(tenant), step(weight).saturating_mul(count as i64));
        self.now = start.saturating_add(steps - step(weight));
        self.picks += count as u64;
        self.next.insert(tenant.clone(), start.saturating_add(steps));
        let line = self.hash(route, queue);
        self.served.insert(line, self.picks);
    }

    fn start(&self, tenant: &TenantId) -> i64 {
        self.next.get(tenant).map_or(self.now, |next| self.now.max(*next))
    }

    fn hash(&self, route: &Route, queue: &QueueName) -> LineHash {
        self.hasher.hash_one((route, queue))
    }
}

/// A map that keeps the latest entries and forgets the rest: at most [`REMEMBERED`], at least half of that once it was full.
///
/// Two halves. Entries go into the young one; when it is full it becomes the old one, and what was old is forgotten. So no
/// entry is ever looked for to be forgotten, and an insertion costs the same however many there are.
#[derive(Debug)]
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= REMEMBERED / 2 && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
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
pub struct LineCandidate<'a> {
    pub tenant: &'a TenantId,
    pub key: i64,
    pub job: JobId,
}

/// One claim's choice between lines. Of each line every tenant's first job is offered: a tenant that has come far must not
/// hide another's job behind its own. Whoever takes it offers that tenant's next.
///
/// Tenants are kept in the order of their turns, so that a choice among a thousand costs little more than one among two: a claim
/// of 512 jobs of as many tenants took 30 to 50 µs a job when each choice compared all of them.
#[derive(Debug)]
pub struct Round<'t> {
    turns: &'t LaneTurns,
    /// What the picks of this round add to the turns.
    now: i64,
    picks: u64,
    served: HashMap<LineHash, u64>,
    numbers: HashMap<TenantId, usize>,
    parties: Vec<Party>,
    /// Those whose turn may begin now and who offer something: by their first offer.
    due: BTreeSet<(Place, usize)>,
    /// Those whose turn begins later: by when it does, then by their first offer.
    later: BTreeSet<(i64, Place, usize)>,
}

/// What is offered of one tenant's.
#[derive(Debug)]
struct Party {
    /// Where its next turn begins; now, when that has passed.
    next: i64,
    offers: BinaryHeap<Reverse<Place>>,
}

/// How far behind, when its line was served last, the job, and the number of its line.
type Place = (i64, u64, JobId, usize);

impl<'t> Round<'t> {
    pub fn new(turns: &'t LaneTurns) -> Self {
        Self {
            turns,
            now: turns.now,
            picks: turns.picks,
            served: HashMap::new(),
            numbers: HashMap::new(),
            parties: Vec::new(),
            due: BTreeSet::new(),
            later: BTreeSet::new(),
        }
    }

    pub fn offer(&mut self, line: Line<'_>, LineCandidate { tenant, key, job }: LineCandidate<'_>) {
        let number = self.number(tenant);
        let served = self.served(line.route, line.queue);
        self.leave_order(number);
        self.parties[number].offers.push(Reverse((behind(key, line.front), served, job, line.number)));
        self.enter_order(number);
    }

    /// Nothing is on offer.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty() && self.later.is_empty()
    }

    /// The job whose turn it is, and the number of its line. It is not on offer any more.
    pub fn choose(&mut self) -> Option<(usize, JobId)> {
        let number = match self.due.first() {
            Some((_, number)) => *number,
            None => self.later.first().map(|(.., number)| *number)?,
        };
        self.leave_order(number);
        let chosen = self.parties[number].offers.pop();
        self.enter_order(number);
        chosen.map(|Reverse((_, _, job, line))| (line, job))
    }

    /// What was chosen is taken.
    pub fn took(&mut self, route: &Route, queue: &QueueName, tenant: &TenantId, weight: u32) {
        let number = self.number(tenant);
        self.leave_order(number);
        let start = self.start(number);
        self.now = start;
        self.picks += 1;
        self.parties[number].next = start.saturating_add(step(weight));
        self.served.insert(self.turns.hash(route, queue), self.picks);
        self.enter_order(number);
        while let Some((next, place, number)) = self.later.first().copied()
            && next <= self.now
        {
            self.later.pop_first();
            self.due.insert((place, number));
        }
    }

    fn number(&mut self, tenant: &TenantId) -> usize {
        if let Some(number) = self.numbers.get(tenant) {
            return *number;
        }
        let next = self.turns.next.get(tenant).copied().unwrap_or(i64::MIN);
        self.parties.push(Party { next, offers: BinaryHeap::new() });
        self.numbers.insert(tenant.clone(), self.parties.len() - 1);
        self.parties.len() - 1
    }

    /// Where the next turn of a party begins.
    fn start(&self, number: usize) -> i64 {
        self.now.max(self.parties[number].next)
    }

    /// Before what a party offers, or its turn, changes.
    fn leave_order(&mut self, number: usize) {
        if let Some(Reverse(place)) = self.parties[number].offers.peek().copied()
            && !self.due.remove(&(place, number))
        {
            self.later.remove(&(self.parties[number].next, place, number));
        }
    }

    fn enter_order(&mut self, number: usize) {
        let Party { next, offers } = &self.parties[number];
        if let Some(Reverse(place)) = offers.peek().copied() {
            if *next <= self.now {
                self.due.insert((place, number));
            } else {
                self.later.insert((*next, place, number));
            }
        }
    }

    fn served(&self, route: &Route, queue: &QueueName) -> u64 {
        let line = self.turns.hash(route, queue);
        self.served.get(&line).or_else(|| self.turns.served.get(&line)).copied().unwrap_or_default()
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
                round.offer(line, LineCandidate { tenant: &tenants[number], key, job });
            };
            (0..lines.len()).for_each(|line| offer(&mut round, line, UNIT));
            for _ in 0..a_claim {
                let (line, _) = round.choose().expect("no line ends");
                round.took(&route, &queues[line], &tenants[line], lines[line].1);
                order.push(line);
                keys[line] += UNIT;
                offer(&mut round, line, keys[line]);
            }
            for line in &order[order.len() - a_claim..] {
                turns.took(Lane::Normal, &route, &queues[*line], &tenants[*line], lines[*line].1);
            }
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

    /// Nobody's turn is over, however many there are: everyone was served once, at the same place.
    #[test]
    fn what_is_remembered_has_an_end() {
        let mut turns = LaneTurns::default();
        for n in 0..3 * REMEMBERED {
            let (tenant, queue) = (TenantId::new(format!("t{n}")), QueueName::from_stored(&format!("q{n}")));
            turns.took(&Route::http(), &queue, &tenant, 1);
        }
        assert!(turns.next.len() <= REMEMBERED, "{}", turns.next.len());
        assert!(turns.served.len() <= REMEMBERED, "{}", turns.served.len());
        assert_eq!(turns.start(&TenantId::new(format!("t{}", 3 * REMEMBERED - 1))), UNIT, "the latest are remembered");
    }

    #[test]
    fn who_is_forgotten_gains_a_single_turn() {
        let (mut turns, route, queue) = (LaneTurns::default(), Route::http(), QueueName::default());
        let busy = TenantId::new("busy");
        turns.took(&route, &queue, &busy, 1);
        for n in 0..REMEMBERED {
            turns.took(&route, &queue, &TenantId::new(format!("t{n}")), 1);
        }
        assert_eq!(turns.start(&busy), turns.now, "forgotten");
        turns.took(&route, &queue, &busy, 1);
        assert_eq!(turns.start(&busy), turns.now + UNIT, "and remembered again");
    }

    #[test]
    fn a_round_sees_its_own_picks_and_leaves_the_turns_as_they_are() {
        let (turns, route, queue) = (LaneTurns::default(), Route::http(), QueueName::default());
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let mut round = Round::new(&turns);
        round.took(&route, &queue, &one, 1);
        let (of_one, of_other) = (round.number(&one), round.number(&other));
        assert!(round.start(of_one) > round.start(of_other));
        assert_eq!(turns.start(&one), turns.start(&other));
    }

    /// A choice as it is described, made by comparing everyone.
    #[derive(Default)]
    struct PlainRound {
        now: i64,
        next: HashMap<TenantId, i64>,
        offers: Vec<(TenantId, Place)>,
    }

    impl PlainRound {
        fn choose(&mut self) -> Option<Place> {
            let start = |tenant: &TenantId| self.next.get(tenant).map_or(self.now, |next| self.now.max(*next));
            let first_of =
                |tenant: &TenantId| self.offers.iter().filter(|(of, _)| of == tenant).map(|(_, place)| *place).min();
            let chosen = self.offers.iter().filter_map(|(tenant, _)| Some((start(tenant), first_of(tenant)?))).min()?;
            self.offers.retain(|(_, place)| *place != chosen.1);
            Some(chosen.1)
        }

        fn took(&mut self, tenant: &TenantId, weight: u32) {
            self.now = self.next.get(tenant).map_or(self.now, |next| self.now.max(*next));
            self.next.insert(tenant.clone(), self.now + step(weight));
        }
    }

    #[test]
    fn the_order_that_is_kept_is_the_one_that_comparing_everyone_gives() {
        for seed in 0..200_u64 {
            let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut below = |most: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % most
            };
            let (mut turns, route, queue) = (LaneTurns::default(), Route::http(), QueueName::default());
            let tenants: Vec<TenantId> = (0..=below(9)).map(|n| TenantId::new(format!("t{n}"))).collect();
            let weights: Vec<u32> = tenants.iter().map(|_| below(3) as u32 + 1).collect();
            for _ in 0..below(6) {
                let of = below(tenants.len() as u64) as usize;
                turns.took(&route, &queue, &tenants[of], weights[of]);
            }
            let mut round = Round::new(&turns);
            let mut plain = PlainRound { now: turns.now, next: HashMap::new(), offers: Vec::new() };
            plain.next.extend(tenants.iter().filter_map(|of| Some((of.clone(), *turns.next.get(of)?))));
            let (mut owners, mut jobs) = (HashMap::new(), 0);
            for _ in 0..60 {
                if below(3) > 0 {
                    let (of, key) = (below(tenants.len() as u64) as usize, below(5) as i64);
                    jobs += 1;
                    let job = JobId(uuid::Uuid::from_u128(jobs));
                    owners.insert(job, of);
                    let line = Line { number: 0, route: &route, queue: &queue, front: 0 };
                    plain.offers.push((tenants[of].clone(), (key, round.served(&route, &queue), job, 0)));
                    round.offer(line, LineCandidate { tenant: &tenants[of], key, job });
                } else {
                    let chosen = round.choose();
                    assert_eq!(chosen.map(|(_, job)| job), plain.choose().map(|(_, _, job, _)| job), "seed {seed}");
                    if let Some((_, job)) = chosen {
                        let of = owners[&job];
                        round.took(&route, &queue, &tenants[of], weights[of]);
                        plain.took(&tenants[of], weights[of]);
                    }
                }
                assert_eq!(round.is_empty(), plain.offers.is_empty());
            }
        }
    }

    #[test]
    fn jobs_taken_in_a_row_count_like_one_after_the_other() {
        let (route, queue) = (Route::http(), QueueName::default());
        let [mut one_by_one, mut together] = [LaneTurns::default(), LaneTurns::default()];
        for (tenant, weight, count) in [("a", 1, 3), ("b", 4, 7), ("c", 2, 0), ("a", 1, 1), ("b", 4, 2)] {
            let tenant = TenantId::new(tenant);
            (0..count).for_each(|_| one_by_one.took(&route, &queue, &tenant, weight));
            together.took_run(&route, &queue, &tenant, weight, count);
            assert_eq!((one_by_one.now, one_by_one.picks), (together.now, together.picks));
            assert_eq!(one_by_one.start(&tenant), together.start(&tenant));
        }
    }
}
