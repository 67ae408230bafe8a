//! How the slots of a worker are shared between tenants.
//!
//! Turns decide whose job is claimed next, but nothing of that frees a slot: a tenant whose work does not end would hold all of
//! them, and keep everyone else out for as long as it likes. So where there is more than one tenant:
//!
//! - A *reserve* is kept free: an eighth of the slots, and one at least. While no more than these are free, only tenants that hold
//!   fewer slots than are free may take one, and a claim takes half of them at most. So one tenant on its own uses all slots
//!   but the reserve, and tenants that come after it find a place while the reserve lasts: of 32 slots the first has 28 and
//!   three others 2, 1 and 1; of 8 slots it has 7 and one other 1; of 4 slots it has 3 and one other 1. Whoever comes after
//!   them waits until a slot is freed. A worker with fewer than four slots has no reserve.
//! - A tenant that holds its *share* of the other slots, by weight among those who hold any or did a moment ago, comes after everyone
//!   who holds less: a claim first asks for the jobs of the others, and for its jobs only when there are none.
//!
//! Every worker keeps this for its own slots, and so the fleet does for all of them. Nothing is taken away from an attempt that
//! runs: a share is reached as slots are freed.
//!
//! Where somebody had to be left out of a claim for that, there is a second one for everybody. And once the others turned out to
//! have nothing, they are not asked for separately for [`AFTER_A_RING`] when jobs have come in, for [`OTHERWISE`] when none have.

use std::collections::HashMap;
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::ports::Headroom;
use tokio::time::Instant;

const AFTER_A_RING: Duration = Duration::from_millis(20);
const OTHERWISE: Duration = Duration::from_millis(100);

/// Whoever held a slot so short a time ago is counted among the holders: short work has often ended when the next is claimed.
const A_MOMENT: Duration = Duration::from_secs(1);
/// So many of those are remembered.
const MOST: usize = 256;

/// A worker with fewer slots has no reserve.
const FEW: usize = 4;
/// One slot in so many is kept free.
const RESERVED: usize = 8;

/// A tenant that holds slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotHolder {
    pub tenant: TenantId,
    pub slots: usize,
    pub weight: u32,
}

/// What to do with the slots that are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlotDecision {
    Claim(ClaimLook),
    /// Nothing may be taken before more slots are free, or before it is time to look for the others again.
    Wait {
        free: usize,
        until: Option<Instant>,
    },
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimLook {
    pub limit: usize,
    /// No more than this of those who hold slots.
    pub rooms: Vec<Headroom>,
    pub is_for_others: bool,
}

impl ClaimLook {
    /// Of everybody, as many as there are slots.
    pub fn whole(limit: usize) -> Self {
        Self { limit, rooms: Vec::new(), is_for_others: false }
    }
}

/// When the others were looked for in vain, and whether it is time again.
#[derive(Debug)]
pub(super) struct SlotShares {
    slots: usize,
    reserve: usize,
    /// Among those who hold less than their share.
    below_share: Vain,
    /// Among those who may take of the reserve.
    of_reserve: Vain,
    /// When tenants were last given a slot.
    served: HashMap<TenantId, Instant>,
}

/// A look that found nothing, and what has happened since.
#[derive(Clone, Copy, Debug, Default)]
struct Vain {
    at: Option<Instant>,
    /// So many slots were free.
    free: usize,
    /// Jobs have come in.
    has_rung: bool,
    /// Slots were filled.
    is_owed: bool,
}

impl Vain {
    fn now(at: Instant, free: usize) -> Self {
        Self { at: Some(at), free, has_rung: false, is_owed: false }
    }

    /// When to look again.
    fn over_at(self) -> Option<Instant> {
        let pause = if self.has_rung { AFTER_A_RING } else { OTHERWISE };
        self.at.map(|at| at + pause)
    }

    fn is_over(self, now: Instant) -> bool {
        self.over_at().is_none_or(|over| now >= over)
    }
}

impl SlotShares {
    pub fn new(slots: usize) -> Self {
        let reserve = if slots < FEW { 0 } else { (slots / RESERVED).max(1) };
        let (below_share, of_reserve) = (Vain::default(), Vain::default());
        Self { slots, reserve, below_share, of_reserve, served: HashMap::new() }
    }

    /// These were given slots.
    pub fn served<'t>(&mut self, tenants: impl Iterator<Item = &'t TenantId>, now: Instant) {
        let mut is_cleared = false;
        for tenant in tenants {
            // Once for all of them: a claim may have a job of another tenant each.
            if self.served.len() >= MOST && !is_cleared && !self.served.contains_key(tenant) {
                self.served.retain(|_, at| now.duration_since(*at) < A_MOMENT);
                is_cleared = true;
            }
            if self.served.len() < MOST || self.served.contains_key(tenant) {
                self.served.insert(tenant.clone(), now);
            }
        }
    }

    /// Those who held a slot a moment ago and hold none now.
    pub fn recent<'s>(&'s self, held: &'s [(TenantId, usize)], now: Instant) -> impl Iterator<Item = &'s TenantId> {
        let fresh = self.served.iter().filter(move |(_, at)| now.duration_since(**at) < A_MOMENT);
        fresh.map(|(tenant, _)| tenant).filter(|tenant| !held.iter().any(|(of, _)| of == *tenant))
    }

    /// Something has become due.
    pub fn rung(&mut self) {
        self.below_share.has_rung = true;
        self.of_reserve.has_rung = true;
    }

    pub fn next(&self, free: usize, holders: &[SlotHolder], now: Instant) -> SlotDecision {
        if free <= self.reserve {
            let Vain { has_rung, is_owed, .. } = self.of_reserve;
            // With a slot more, somebody may take one who might not before.
            if free <= self.of_reserve.free && !self.of_reserve.is_over(now) {
                let until = self.of_reserve.over_at().filter(|_| has_rung || is_owed);
                return SlotDecision::Wait { free: free + 1, until };
            }
            let limit = free.div_ceil(2);
            return SlotDecision::Claim(ClaimLook {
                limit,
                rooms: self.rooms(free, limit, holders),
                is_for_others: true,
            });
        }
        let limit = free - self.reserve;
        let rooms = self.rooms(free, limit, holders);
        // Somebody could come to hold more than its share by this very claim, or does.
        if !rooms.is_empty() && self.below_share.is_over(now) {
            return SlotDecision::Claim(ClaimLook { limit, rooms, is_for_others: true });
        }
        SlotDecision::Claim(ClaimLook::whole(limit))
    }

    /// What became of a look with so many free slots. While the others take something, they are looked for again at once.
    pub fn looked(&mut self, look: &ClaimLook, free: usize, taken: usize, now: Instant) {
        if !look.is_for_others {
            self.of_reserve.is_owed |= taken > 0;
        } else if free <= self.reserve {
            if taken < look.limit {
                self.of_reserve = Vain::now(now, free - taken);
            }
        } else if taken == 0 {
            self.below_share = Vain::now(now, free);
        }
    }

    /// How many each of the holders may take, where that is less than the claim.
    fn rooms(&self, free: usize, limit: usize, holders: &[SlotHolder]) -> Vec<Headroom> {
        let weights: u64 = holders.iter().map(|holder| u64::from(holder.weight.max(1))).sum();
        let shared = (self.slots - self.reserve) as u64;
        let room = |holder: &SlotHolder| {
            let share = (shared * u64::from(holder.weight.max(1)) / weights).max(1);
            let left = usize::try_from(share).unwrap_or(usize::MAX).saturating_sub(holder.slots);
            if free <= self.reserve && holder.slots >= free { 0 } else { left }
        };
        let rooms = holders.iter().map(|holder| (holder, room(holder))).filter(|(_, room)| *room < limit);
        rooms
            .map(|(holder, room)| Headroom {
                tenant: holder.tenant.clone(),
                jobs: u32::try_from(room).unwrap_or(u32::MAX),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(held: &[(&str, usize, u32)]) -> Vec<SlotHolder> {
        held.iter()
            .map(|(tenant, slots, weight)| SlotHolder {
                tenant: TenantId::new(*tenant),
                slots: *slots,
                weight: *weight,
            })
            .collect()
    }

    fn rooms(look: &ClaimLook) -> Vec<(&str, u32)> {
        look.rooms.iter().map(|room| (room.tenant.as_str(), room.jobs)).collect()
    }

    fn look(shares: &SlotShares, free: usize, held: &[(&str, usize, u32)]) -> ClaimLook {
        match shares.next(free, &holders(held), Instant::now()) {
            SlotDecision::Claim(look) => look,
            wait @ SlotDecision::Wait { .. } => panic!("{wait:?}"),
        }
    }

    /// Claims as a worker does until nobody may take more: first what the others want, then what the first wants.
    fn fill<'t>(shares: &mut SlotShares, held: &mut Vec<(&'t str, usize, u32)>, wants: &'t str, now: &mut Instant) {
        loop {
            let free = shares.slots - held.iter().map(|(_, slots, _)| slots).sum::<usize>();
            *now += OTHERWISE;
            let SlotDecision::Claim(look) = shares.next(free, &holders(held), *now) else { return };
            let room = look
                .rooms
                .iter()
                .find(|room| room.tenant.as_str() == wants)
                .map_or(usize::MAX, |room| room.jobs as usize);
            let taken = room.min(look.limit);
            shares.looked(&look, free, taken, *now);
            match held.iter_mut().find(|(tenant, ..)| *tenant == wants) {
                Some((_, slots, _)) => *slots += taken,
                None if taken > 0 => held.push((wants, taken, 1)),
                None => {}
            }
            if taken == 0 && (free <= shares.reserve || !look.is_for_others) {
                return;
            }
        }
    }

    #[test]
    fn a_tenant_on_its_own_has_all_but_the_reserve_and_others_find_a_place() {
        for (slots, expected) in [
            (32, vec![("alpha", 28), ("beta", 2), ("gamma", 1), ("delta", 1)]),
            (8, vec![("alpha", 7), ("beta", 1)]),
            (4, vec![("alpha", 3), ("beta", 1)]),
            (100, vec![("alpha", 88), ("beta", 6), ("gamma", 3), ("delta", 2), ("epsilon", 1)]),
        ] {
            let (mut shares, mut held, mut now) = (SlotShares::new(slots), Vec::new(), Instant::now());
            for tenant in expected.iter().map(|(tenant, _)| *tenant).chain(["too late"]) {
                shares.rung();
                fill(&mut shares, &mut held, tenant, &mut now);
            }
            let held: Vec<(&str, usize)> = held.iter().map(|(tenant, slots, _)| (*tenant, *slots)).collect();
            assert_eq!(held, expected, "of {slots}");
        }
    }

    #[test]
    fn a_worker_with_few_slots_uses_them_all() {
        for slots in 1..FEW {
            let (mut shares, mut held, mut now) = (SlotShares::new(slots), Vec::new(), Instant::now());
            fill(&mut shares, &mut held, "alpha", &mut now);
            assert_eq!(held, [("alpha", slots, 1)]);
        }
    }

    #[test]
    fn who_holds_its_share_comes_after_the_others() {
        let shares = SlotShares::new(32);
        let first = look(&shares, 5, &[("alpha", 24, 1), ("beta", 3, 1)]);
        assert_eq!((rooms(&first), first.limit, first.is_for_others), (vec![("alpha", 0)], 1, true));
        let heavy = look(&shares, 8, &[("alpha", 20, 3), ("beta", 4, 1)]);
        assert_eq!(rooms(&heavy), [("alpha", 1), ("beta", 3)], "up to 21 and 7");
        let full = look(&shares, 7, &[("alpha", 21, 3), ("beta", 4, 1)]);
        assert_eq!(rooms(&full), [("alpha", 0)]);
    }

    #[test]
    fn without_competition_one_claim_is_enough() {
        let shares = SlotShares::new(32);
        assert_eq!(look(&shares, 32, &[]), ClaimLook { limit: 28, rooms: Vec::new(), is_for_others: false });
        let busy = look(&shares, 10, &[("alpha", 22, 1)]);
        assert_eq!((busy.limit, busy.is_for_others), (6, false));
    }

    #[test]
    fn the_others_are_looked_for_now_and_then_and_soon_after_a_ring() {
        let mut shares = SlotShares::new(32);
        let (now, full) = (Instant::now(), holders(&[("alpha", 28, 1)]));
        let SlotDecision::Claim(first) = shares.next(4, &full, now) else { panic!("it is due") };
        assert_eq!((first.limit, first.is_for_others, rooms(&first)), (2, true, vec![("alpha", 0)]));
        shares.looked(&first, 4, 0, now);
        assert_eq!(shares.next(4, &full, now), SlotDecision::Wait { free: 5, until: None }, "nothing has changed");
        shares.rung();
        assert_eq!(shares.next(4, &full, now), SlotDecision::Wait { free: 5, until: Some(now + AFTER_A_RING) });
        assert!(matches!(shares.next(4, &full, now + AFTER_A_RING), SlotDecision::Claim(_)));
    }

    #[test]
    fn while_the_others_have_something_nobody_else_is_served() {
        let mut shares = SlotShares::new(32);
        let (now, held) = (Instant::now(), holders(&[("alpha", 24, 1), ("beta", 3, 1)]));
        for taken in [1, 1, 0] {
            let SlotDecision::Claim(look) = shares.next(5, &held, now) else { panic!("one is free") };
            assert!(look.is_for_others);
            shares.looked(&look, 5, taken, now);
        }
        assert_eq!(shares.next(5, &held, now), SlotDecision::Claim(ClaimLook::whole(1)), "they have nothing");
        let SlotDecision::Claim(later) = shares.next(5, &held, now + OTHERWISE) else { panic!("one is free") };
        assert!(later.is_for_others);
    }

    #[test]
    fn who_held_a_slot_a_moment_ago_is_counted() {
        let mut shares = SlotShares::new(32);
        let (now, alpha, beta) = (Instant::now(), TenantId::new("alpha"), TenantId::new("beta"));
        shares.served([&alpha, &beta].into_iter(), now);
        let held = [(alpha, 3)];
        assert_eq!(shares.recent(&held, now).collect::<Vec<_>>(), [&beta]);
        assert_eq!(shares.recent(&held, now + A_MOMENT).count(), 0);
        let many: Vec<TenantId> = (0..3 * MOST).map(|n| TenantId::new(format!("t{n}"))).collect();
        shares.served(many.iter(), now);
        assert!(shares.served.len() <= MOST);
    }

    #[test]
    fn who_fills_slots_owes_the_others_a_look() {
        let mut shares = SlotShares::new(32);
        let now = Instant::now();
        let SlotDecision::Claim(first) = shares.next(4, &holders(&[("alpha", 28, 1)]), now) else {
            panic!("it is due")
        };
        shares.looked(&first, 4, 0, now);
        let SlotDecision::Claim(own) = shares.next(5, &holders(&[("alpha", 27, 1)]), now) else {
            panic!("one is free")
        };
        assert_eq!((own.limit, own.is_for_others), (1, false));
        shares.looked(&own, 5, 1, now);
        let step = shares.next(4, &holders(&[("alpha", 28, 1)]), now);
        assert_eq!(step, SlotDecision::Wait { free: 5, until: Some(now + OTHERWISE) });
    }
}
