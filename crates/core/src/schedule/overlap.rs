//! What each due tick does while jobs of the same schedule are not final.
//!
//! Every store asks this under the lock of the schedule's row, so that no two decisions are made from one state.

use super::Overlap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Fire,
    /// It waits for the job of an earlier tick.
    Hold,
    /// For the sake of a job that is not final, or of a later tick.
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// One for each tick, in the order given.
    Ticks(Vec<Decision>),
    /// The jobs that are not final are to be cancelled first; then the question is asked again.
    CancelFirst,
}

/// Decides about `ticks` due ticks, oldest first. `is_open`: a job of the schedule is not final. `is_held`: a tick waits
/// already; one that no longer has to is fired before anything is asked here.
pub fn decide(overlap: Overlap, ticks: usize, is_open: bool, is_held: bool) -> Decided {
    let (mut is_open, mut is_held) = (is_open, is_held);
    let mut decisions = Vec::with_capacity(ticks);
    for place in 0..ticks {
        let is_last = place + 1 == ticks;
        let decision = match overlap {
            Overlap::Allow => Decision::Fire,
            // Each would cancel the one before it, so only the last is worth starting.
            Overlap::Cancel if !is_last => Decision::Skip,
            Overlap::Cancel if is_open => return Decided::CancelFirst,
            _ if !is_open => Decision::Fire,
            Overlap::Queue if !is_held => Decision::Hold,
            _ => Decision::Skip,
        };
        is_open |= decision == Decision::Fire;
        is_held |= decision == Decision::Hold;
        decisions.push(decision);
    }
    Decided::Ticks(decisions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Fire, Hold, Skip};

    #[test]
    fn each_policy_does_what_its_name_says() {
        for (overlap, is_open, is_held, expected) in [
            (Overlap::Allow, true, false, vec![Fire, Fire, Fire]),
            (Overlap::Skip, false, false, vec![Fire, Skip, Skip]),
            (Overlap::Skip, true, false, vec![Skip, Skip, Skip]),
            (Overlap::Queue, false, false, vec![Fire, Hold, Skip]),
            (Overlap::Queue, true, false, vec![Hold, Skip, Skip]),
            (Overlap::Queue, true, true, vec![Skip, Skip, Skip]),
            (Overlap::Cancel, false, false, vec![Skip, Skip, Fire]),
        ] {
            let decided = decide(overlap, 3, is_open, is_held);
            assert_eq!(decided, Decided::Ticks(expected), "{overlap:?} open={is_open} held={is_held}");
        }
    }

    #[test]
    fn what_is_open_is_cancelled_before_the_tick_fires() {
        assert_eq!(decide(Overlap::Cancel, 1, true, false), Decided::CancelFirst);
        assert_eq!(decide(Overlap::Cancel, 0, true, false), Decided::Ticks(vec![]), "nothing is due");
    }
}
