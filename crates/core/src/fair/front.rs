//! The front of a line: the jobs of one line that a claim has seen and not taken yet.
//!
//! Of each tenant the first is on offer in the claim's [`Round`], so that no tenant's job hides another's. Jobs at the
//! beginning of the line that were taken back through no fault of theirs lead: while one of them is left, nothing else of the
//! line is on offer.
//!
//! Every store chooses through this, so that they cannot differ in whom they serve. A store may read a line bit by bit: what it
//! adds later is offered by the next call of [`Front::offer`]. Which jobs lead is decided by the first such call.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Line, LineCandidate, Round};
use crate::id::{JobId, TenantId};

/// Where a job waits in its line: its key, and its id where two have the same.
pub type Position = (i64, JobId);

/// The jobs of one line that a claim may take, each with what the store knows of it.
#[derive(Debug)]
pub struct Front<T> {
    waiting: BTreeMap<Position, Candidate<T>>,
    /// Where the jobs of each tenant wait.
    tenants: HashMap<TenantId, BTreeSet<Position>>,
    /// The keys of those on offer: one job of each tenant.
    offered: HashMap<JobId, i64>,
    /// Those that lead and are not taken yet. None: nothing was offered yet.
    leading: Option<BTreeSet<Position>>,
    /// The last of those that led was taken: nobody else is on offer yet.
    is_open_to_all: bool,
}

/// A job that a claim may take.
#[derive(Debug)]
pub struct Candidate<T> {
    pub tenant: TenantId,
    /// It was taken back through no fault of its own ([`super::is_returned`]).
    pub is_returned: bool,
    pub item: T,
}

impl<T> Default for Front<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            tenants: HashMap::new(),
            offered: HashMap::new(),
            leading: None,
            is_open_to_all: false,
        }
    }
}

impl<T> Front<T> {
    pub fn add(&mut self, position: Position, candidate: Candidate<T>) {
        match self.tenants.get_mut(&candidate.tenant) {
            Some(positions) => drop(positions.insert(position)),
            None => drop(self.tenants.insert(candidate.tenant.clone(), BTreeSet::from([position]))),
        }
        self.waiting.insert(position, candidate);
    }

    /// Where the jobs wait that were added and are not taken, in order.
    pub fn positions(&self) -> impl Iterator<Item = &Position> {
        self.waiting.keys()
    }

    /// Offers the first of each tenant that has none on offer.
    pub fn offer(&mut self, line: Line<'_>, round: &mut Round<'_>) {
        let leading = self.leading.get_or_insert_with(|| {
            let returned = self.waiting.iter().take_while(|(_, one)| one.is_returned);
            returned.map(|(position, _)| *position).collect()
        });
        let is_open = |position: &Position| leading.is_empty() || leading.contains(position);
        let tenant_of = |(job, key): (&JobId, &i64)| self.waiting.get(&(*key, *job)).map(|one| &one.tenant);
        let mut has_offer: HashSet<&TenantId> = self.offered.iter().filter_map(tenant_of).collect();
        let mut offered = Vec::new();
        for (position, one) in self.waiting.iter().filter(|(position, _)| is_open(position)) {
            if has_offer.insert(&one.tenant) {
                round.offer(line, one.as_offer(*position));
                offered.push(*position);
            }
        }
        self.offered.extend(offered.into_iter().map(|(key, job)| (job, key)));
    }

    /// Takes a job that is on offer. The round is told of it first, then [`Front::offer_next`].
    pub fn take(&mut self, job: JobId) -> Option<Candidate<T>> {
        let position = (self.offered.remove(&job)?, job);
        if let Some(leading) = &mut self.leading
            && leading.remove(&position)
        {
            self.is_open_to_all |= leading.is_empty();
        }
        let taken = self.waiting.remove(&position)?;
        if let Some(positions) = self.tenants.get_mut(&taken.tenant) {
            positions.remove(&position);
        }
        Some(taken)
    }

    /// Offers what comes after a job of this tenant that was taken: the tenant's next, or, when that was the last that led, the
    /// first of everyone.
    ///
    /// Looks at that tenant's jobs alone: of everyone else the first is on offer already. (It once looked through the whole line for
    /// every job of a claim: up to a third of what a worker computed, by a flat profile.)
    pub fn offer_next(&mut self, tenant: &TenantId, line: Line<'_>, round: &mut Round<'_>) {
        if std::mem::take(&mut self.is_open_to_all) {
            return self.offer(line, round);
        }
        let Some(mut positions) = self.tenants.get(tenant).map(BTreeSet::iter) else { return };
        let next = match &self.leading {
            Some(leading) if !leading.is_empty() => positions.find(|position| leading.contains(position)),
            _ => positions.next(),
        };
        let next = next.and_then(|position| self.waiting.get_key_value(position));
        if let Some((position, one)) = next {
            round.offer(line, one.as_offer(*position));
            self.offered.insert(position.1, position.0);
        }
    }
}

impl<T> Candidate<T> {
    fn as_offer(&self, (key, job): Position) -> LineCandidate<'_> {
        LineCandidate { tenant: &self.tenant, key, job }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fair::{LaneTurns, UNIT};
    use crate::job::QueueName;
    use crate::target::Route;

    /// A line with these jobs, each numbered by its place in the list.
    struct Stage {
        route: Route,
        queue: QueueName,
        turns: LaneTurns,
    }

    impl Stage {
        fn new() -> Self {
            Self { route: Route::http(), queue: QueueName::default(), turns: LaneTurns::default() }
        }

        fn line(&self) -> Line<'_> {
            Line { number: 0, route: &self.route, queue: &self.queue, front: 0 }
        }

        /// Takes what the round chooses, up to so many; by their numbers.
        fn take(&self, front: &mut Front<usize>, round: &mut Round<'_>, most: usize) -> Vec<usize> {
            let mut taken = Vec::new();
            while taken.len() < most {
                let Some((_, job)) = round.choose() else { break };
                let one = front.take(job).expect("what is chosen was on offer");
                round.took(&self.route, &self.queue, &one.tenant, 1);
                front.offer_next(&one.tenant, self.line(), round);
                taken.push(one.item);
            }
            taken
        }
    }

    fn job(number: usize) -> JobId {
        JobId(Uuid::from_u128(number as u128))
    }

    fn add(front: &mut Front<usize>, number: usize, tenant: &str, is_returned: bool) {
        let position = (number as i64 * UNIT, job(number));
        front.add(position, Candidate { tenant: TenantId::new(tenant), is_returned, item: number });
    }

    fn front(jobs: &[(&str, bool)]) -> Front<usize> {
        let mut front = Front::default();
        for (number, (tenant, is_returned)) in jobs.iter().enumerate() {
            add(&mut front, number, tenant, *is_returned);
        }
        front
    }

    #[test]
    fn no_tenants_job_hides_anothers() {
        let (stage, mut front) = (Stage::new(), front(&[("a", false), ("a", false), ("a", false), ("b", false)]));
        let mut round = Round::new(&stage.turns);
        front.offer(stage.line(), &mut round);
        assert_eq!(stage.take(&mut front, &mut round, 9), [0, 3, 1, 2]);
        assert_eq!(front.positions().count(), 0);
    }

    #[test]
    fn what_was_taken_back_leads() {
        let (stage, mut front) = (Stage::new(), front(&[("a", true), ("a", true), ("b", false), ("c", true)]));
        let mut round = Round::new(&stage.turns);
        front.offer(stage.line(), &mut round);
        let taken = stage.take(&mut front, &mut round, 9);
        assert_eq!(taken[..2], [0, 1], "although `a` has had its turn: {taken:?}");
        assert_eq!(taken.len(), 4, "then everyone, those further back like any other: {taken:?}");
    }

    #[test]
    fn tenants_take_turns_among_those_that_lead() {
        let (stage, mut front) = (Stage::new(), front(&[("a", true), ("a", true), ("b", true), ("c", false)]));
        let mut round = Round::new(&stage.turns);
        front.offer(stage.line(), &mut round);
        assert_eq!(stage.take(&mut front, &mut round, 3), [0, 2, 1]);
    }

    /// Each job of the line looked at for each that is taken would be two thousand million looks.
    #[test]
    fn a_tenant_that_is_alone_in_a_long_line_is_served_without_walking_it_for_every_job() {
        for is_returned in [false, true] {
            let (stage, mut front) = (Stage::new(), front(&vec![("a", is_returned); 64_000]));
            let mut round = Round::new(&stage.turns);
            front.offer(stage.line(), &mut round);
            assert!(stage.take(&mut front, &mut round, 64_000).into_iter().eq(0..64_000));
        }
    }

    #[test]
    fn after_the_last_that_led_the_first_of_everyone_is_on_offer() {
        let jobs = [("a", true), ("b", false), ("a", false), ("c", false), ("b", false)];
        let (stage, mut front) = (Stage::new(), front(&jobs));
        let mut round = Round::new(&stage.turns);
        front.offer(stage.line(), &mut round);
        assert_eq!(stage.take(&mut front, &mut round, 9), [0, 1, 3, 2, 4]);
    }

    #[test]
    fn what_is_added_later_is_offered_by_the_next_call_and_only_once() {
        let (stage, mut front) = (Stage::new(), front(&[("a", false)]));
        let mut round = Round::new(&stage.turns);
        front.offer(stage.line(), &mut round);
        add(&mut front, 1, "a", false);
        add(&mut front, 2, "b", true);
        front.offer(stage.line(), &mut round);
        front.offer(stage.line(), &mut round);
        assert_eq!(stage.take(&mut front, &mut round, 9), [0, 2, 1], "one that comes later does not lead");
        assert!(round.choose().is_none());
    }

    #[test]
    fn what_is_not_on_offer_cannot_be_taken() {
        let (stage, mut front) = (Stage::new(), front(&[("a", false), ("a", false)]));
        assert!(front.take(job(0)).is_none(), "nothing was offered yet");
        front.offer(stage.line(), &mut Round::new(&stage.turns));
        assert!(front.take(job(1)).is_none(), "its tenant's first is on offer");
        assert!(front.take(job(0)).is_some());
    }
}
