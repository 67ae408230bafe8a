//! Lanes: priority classes, strict, with a guard against starvation.
//!
//! `high` goes before `normal` goes before `low`. Under a flood of `high` the others would never run, so every Nth pick
//! asks a lower lane first. The guard only decides the order in which lanes are asked: a pick that finds its lane empty
//! falls through to the others, so an idle lane costs nothing.

pub use foreman_protocol::lane::Lane;

/// One step of a claim: take up to so many from this lane, then go on to the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    pub lane: Lane,
    pub up_to: usize,
}

/// Which lanes a claim asks, in order. It ends when the claim is full or the picks are used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlan(pub Vec<Pick>);

impl LanePlan {
    /// `high` before `normal` before `low`, nothing else.
    pub fn strict(limit: usize) -> Self {
        Self(Lane::ALL.into_iter().map(|lane| Pick { lane, up_to: limit }).collect())
    }

    /// How many jobs the plan may take at most.
    pub fn limit(&self) -> usize {
        self.0.iter().map(|pick| pick.up_to).max().unwrap_or(0)
    }
}

/// Counts picks and gives every lower lane its turn.
#[derive(Clone, Debug)]
pub struct StarvationGuard {
    every: u64,
    picks: u64,
}

impl StarvationGuard {
    /// One pick in `every` goes to `low` first and one to `normal` first; 0 turns the guard off.
    pub fn new(every: u64) -> Self {
        Self { every, picks: 0 }
    }

    /// The plan for the next `limit` picks. [`StarvationGuard::picked`] moves the count by what was really taken.
    pub fn plan(&self, limit: usize) -> LanePlan {
        let (mut normal, mut low) = (0, 0);
        if self.every > 0 {
            for pick in self.picks..self.picks + limit as u64 {
                match self.favoured(pick) {
                    Some(Lane::Low) => low += 1,
                    Some(Lane::Normal) => normal += 1,
                    _ => {}
                }
            }
        }
        let mut picks = Vec::with_capacity(5);
        for (lane, up_to) in [(Lane::Low, low), (Lane::Normal, normal)] {
            if up_to > 0 {
                picks.push(Pick { lane, up_to });
            }
        }
        picks.extend(LanePlan::strict(limit).0);
        LanePlan(picks)
    }

    pub fn picked(&mut self, jobs: usize) {
        self.picks += jobs as u64;
    }

    fn favoured(&self, pick: u64) -> Option<Lane> {
        let place = pick % self.every;
        if place == self.every - 1 {
            Some(Lane::Low)
        } else if place == self.every / 2 {
            Some(Lane::Normal)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(guard: &mut StarvationGuard, limit: usize, rounds: usize) -> [usize; 3] {
        let mut taken = [0; 3];
        for _ in 0..rounds {
            let mut left = limit;
            for pick in guard.plan(limit).0 {
                let take = pick.up_to.min(left);
                taken[pick.lane.rank() as usize] += take;
                left -= take;
            }
            guard.picked(limit);
        }
        taken
    }

    #[test]
    fn every_lower_lane_gets_one_pick_in_n_while_high_is_saturated() {
        for limit in [1, 3, 16, 50] {
            let taken = share(&mut StarvationGuard::new(16), limit, 160);
            let total = limit * 160;
            assert_eq!(taken, [total - 2 * (total / 16), total / 16, total / 16], "claims of {limit}");
        }
    }

    #[test]
    fn the_guard_can_be_turned_off() {
        assert_eq!(share(&mut StarvationGuard::new(0), 4, 100), [400, 0, 0]);
    }

    #[test]
    fn a_guard_of_one_serves_the_low_lane_first() {
        assert_eq!(StarvationGuard::new(1).plan(1).0[0].lane, Lane::Low);
    }
}
