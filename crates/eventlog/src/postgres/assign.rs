//! Which worker runs which consumer.
//!
//! A plan is a pure function of who is alive, what each of them can run and who has what now; the leader alone makes one.
//! Workers of different programs may share a log: one is only given consumers that it has.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

/// A consumer, or a shard of it.
pub type Unit = (String, i32);

/// Makes a plan. `workers` are the living with what each can run, `owners` who has what now (perhaps the dead). A unit that
/// nobody can run is left out of the plan.
pub trait Assign: Send + Sync {
    fn plan(&self, workers: &BTreeMap<Uuid, BTreeSet<Unit>>, owners: &BTreeMap<Unit, Uuid>) -> BTreeMap<Unit, Uuid>;
}

/// Units by name, dealt to workers by id in turn. Simple to predict; a worker that joins or leaves moves most of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl Assign for RoundRobin {
    fn plan(&self, workers: &BTreeMap<Uuid, BTreeSet<Unit>>, _owners: &BTreeMap<Unit, Uuid>) -> BTreeMap<Unit, Uuid> {
        let units: BTreeSet<&Unit> = workers.values().flatten().collect();
        let mut plan = BTreeMap::new();
        for (turn, unit) in units.into_iter().enumerate() {
            let able: Vec<&Uuid> = workers.iter().filter(|(_, can)| can.contains(unit)).map(|(id, _)| id).collect();
            plan.insert(unit.clone(), *able[turn % able.len()]);
        }
        plan
    }
}

/// As even as can be with the fewest moves: what runs stays where it is unless its worker has two more than another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sticky;

impl Assign for Sticky {
    fn plan(&self, workers: &BTreeMap<Uuid, BTreeSet<Unit>>, owners: &BTreeMap<Unit, Uuid>) -> BTreeMap<Unit, Uuid> {
        let units: BTreeSet<&Unit> = workers.values().flatten().collect();
        let mut held: BTreeMap<Uuid, BTreeSet<&Unit>> = workers.keys().map(|id| (*id, BTreeSet::new())).collect();
        let mut open = Vec::new();
        for unit in units {
            let owner = owners.get(unit).filter(|owner| workers.get(owner).is_some_and(|can| can.contains(unit)));
            match owner.and_then(|owner| held.get_mut(owner)) {
                Some(kept) => drop(kept.insert(unit)),
                None => open.push(unit),
            }
        }
        for unit in open {
            let least = held.iter().filter(|(id, _)| workers[id].contains(unit)).min_by_key(|(_, has)| has.len());
            if let Some(worker) = least.map(|(id, _)| *id) {
                held.entry(worker).or_default().insert(unit);
            }
        }
        while let Some((from, to, unit)) = uneven(&held, workers) {
            held.entry(from).or_default().remove(unit);
            held.entry(to).or_default().insert(unit);
        }
        held.into_iter().flat_map(|(id, has)| has.into_iter().map(move |unit| (unit.clone(), id))).collect()
    }
}

/// The move that evens out most: from the fullest worker that can give to the emptiest that can take. Each move makes the
/// sum of squares smaller, so they end.
fn uneven<'a>(
    held: &BTreeMap<Uuid, BTreeSet<&'a Unit>>,
    workers: &BTreeMap<Uuid, BTreeSet<Unit>>,
) -> Option<(Uuid, Uuid, &'a Unit)> {
    let mut by_load: Vec<(&Uuid, &BTreeSet<&Unit>)> = held.iter().collect();
    by_load.sort_by_key(|(_, has)| has.len());
    for (from, has) in by_load.iter().rev() {
        for (to, least) in by_load.iter().take_while(|(_, least)| least.len() + 2 <= has.len()) {
            let _ = least;
            if let Some(unit) = has.iter().rev().find(|unit| workers[to].contains(**unit)) {
                return Some((**from, **to, unit));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn all(workers: usize, units: usize) -> BTreeMap<Uuid, BTreeSet<Unit>> {
        let can: BTreeSet<Unit> = (0..units).map(|nth| (format!("consumer{nth:02}"), 0)).collect();
        (1..=workers).map(|nth| (id(nth as u128), can.clone())).collect()
    }

    fn loads(plan: &BTreeMap<Unit, Uuid>, workers: &BTreeMap<Uuid, BTreeSet<Unit>>) -> Vec<usize> {
        workers.keys().map(|worker| plan.values().filter(|owner| *owner == worker).count()).collect()
    }

    #[test]
    fn six_consumers_are_dealt_in_turn_to_one_two_three_and_six_workers() {
        let names = ["audit", "billing", "email", "orders", "search", "stock"];
        let table = [(1, "1 1 1 1 1 1"), (2, "1 2 1 2 1 2"), (3, "1 2 3 1 2 3"), (6, "1 2 3 4 5 6")];
        for (count, expected) in table {
            let can: BTreeSet<Unit> = names.iter().map(|name| ((*name).to_owned(), 0)).collect();
            let workers: BTreeMap<Uuid, BTreeSet<Unit>> = (1..=count).map(|nth| (id(nth), can.clone())).collect();
            let plan = RoundRobin.plan(&workers, &BTreeMap::new());
            let dealt: Vec<String> =
                names.iter().map(|name| plan[&((*name).to_owned(), 0)].as_u128().to_string()).collect();
            assert_eq!(dealt.join(" "), expected, "{count} workers");
        }
    }

    #[test]
    fn more_workers_than_consumers_are_hot_standbys() {
        for strategy in [&Sticky as &dyn Assign, &RoundRobin] {
            let workers = all(7, 6);
            assert_eq!(loads(&strategy.plan(&workers, &BTreeMap::new()), &workers).iter().sum::<usize>(), 6);
        }
    }

    #[test]
    fn a_worker_that_joins_takes_its_share_and_nothing_else_moves() {
        let before = Sticky.plan(&all(3, 25), &BTreeMap::new());
        let workers = all(4, 25);
        let after = Sticky.plan(&workers, &before);
        let moved: Vec<_> = after.iter().filter(|(unit, owner)| before[*unit] != **owner).collect();
        assert_eq!(moved.len(), 6);
        assert!(moved.iter().all(|(_, owner)| **owner == id(4)));
        let round_robin = RoundRobin.plan(&workers, &RoundRobin.plan(&all(3, 25), &BTreeMap::new()));
        let dealt_before = RoundRobin.plan(&all(3, 25), &BTreeMap::new());
        assert!(
            round_robin.iter().filter(|(unit, owner)| dealt_before[*unit] != **owner).count() > 15,
            "what stickiness is for"
        );
    }

    #[test]
    fn what_a_worker_does_not_have_it_is_not_given() {
        let unit = |name: &str| (name.to_owned(), 0);
        let workers = BTreeMap::from([
            (id(1), BTreeSet::from([unit("old"), unit("both")])),
            (id(2), BTreeSet::from([unit("both"), unit("new")])),
        ]);
        for strategy in [&Sticky as &dyn Assign, &RoundRobin] {
            let plan = strategy.plan(&workers, &BTreeMap::from([(unit("gone"), id(1)), (unit("new"), id(1))]));
            assert_eq!((plan[&unit("old")], plan[&unit("new")], plan.get(&unit("gone"))), (id(1), id(2), None));
        }
    }

    proptest! {
        #[test]
        fn a_sticky_plan_is_even_and_moves_no_more_than_it_must(
            units in 0..40_usize, before in 1..8_usize, after in 1..8_usize, gone in 0..3_u128,
        ) {
            let first = Sticky.plan(&all(before, units), &BTreeMap::new());
            // Other ids: the first `gone` workers have left.
            let workers: BTreeMap<Uuid, BTreeSet<Unit>> =
                (1..=after as u128).map(|nth| (id(nth + gone), all(1, units)[&id(1)].clone())).collect();
            let second = Sticky.plan(&workers, &first);
            prop_assert_eq!(second.len(), units);
            let loads = loads(&second, &workers);
            prop_assert!(loads.iter().max().unwrap_or(&0) - loads.iter().min().unwrap_or(&0) <= 1);
            // Those of the dead must move; of the living each keeps its fair share, a rounded-up one if there is one left for it.
            let mut kept: Vec<usize> = workers.keys().map(|worker| first.values().filter(|owner| *owner == worker).count()).collect();
            kept.sort_unstable_by(|a, b| b.cmp(a));
            let (fair, more) = (units / after, units % after);
            let may_stay: usize = kept.iter().enumerate().map(|(nth, has)| (*has).min(fair + usize::from(nth < more))).sum();
            let moved = second.iter().filter(|(unit, owner)| first[*unit] != **owner).count();
            prop_assert_eq!(moved, units - may_stay);
            prop_assert_eq!(Sticky.plan(&workers, &second), second, "a plan that is in force changes nothing");
        }
    }
}
