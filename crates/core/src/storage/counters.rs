//! The counters that travel with a job from place to place.

use std::time::Duration;

use crate::ports::Step;
use crate::state::State;

/// How far a job has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub attempt: u32,
    pub spent: u32,
    pub crashes: u32,
    /// How often it has moved: the sequence number of its latest step. 0 in a row that was written by a binary that did not
    /// count.
    pub moves: u32,
}

impl Counters {
    /// The same after one more move.
    #[must_use]
    pub fn moved(self) -> Self {
        Self { moves: self.moves.saturating_add(1), ..self }
    }

    /// The move that led to `state`, for the change log.
    pub fn step(self, state: State, took: Option<Duration>) -> Step {
        Step { state, attempt: self.attempt, sequence: self.moves, took }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_counts_itself_and_nothing_else() {
        let counters = Counters { attempt: 3, spent: 2, crashes: 1, moves: 7 };
        assert_eq!(counters.moved(), Counters { moves: 8, ..counters });
        let step = counters.moved().step(State::Running, None);
        assert_eq!((step.attempt, step.sequence), (3, 8));
    }
}
