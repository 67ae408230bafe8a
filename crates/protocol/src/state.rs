//! The states of a job. Which follows which is the server's to say.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits for its `run_at` and was never tried.
    Scheduled,
    /// Due; the next free slot takes it.
    Pending,
    /// Held by a worker.
    Running,
    /// Tried, and waits to be tried again.
    Retrying,
    Completed,
    /// It cannot be done, and trying again would not help.
    Failed,
    /// Given up: attempts spent, or it crashed its workers. Kept until somebody decides.
    Dead,
    Cancelled,
}

impl State {
    pub const ALL: [State; 8] = [
        State::Scheduled,
        State::Pending,
        State::Running,
        State::Retrying,
        State::Completed,
        State::Failed,
        State::Dead,
        State::Cancelled,
    ];

    pub const FINAL: [State; 4] = [State::Completed, State::Failed, State::Dead, State::Cancelled];

    /// Final, and somebody may have to do something about it.
    pub const FAILURES: [State; 2] = [State::Failed, State::Dead];

    pub const fn is_final(self) -> bool {
        matches!(self, State::Completed | State::Failed | State::Dead | State::Cancelled)
    }

    pub const fn is_waiting(self) -> bool {
        matches!(self, State::Scheduled | State::Pending | State::Retrying)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Pending => "pending",
            State::Running => "running",
            State::Retrying => "retrying",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Dead => "dead",
            State::Cancelled => "cancelled",
        }
    }

    /// The state of a job that stands in `ready`.
    pub fn of_waiting(is_due: bool, attempt: u32) -> Self {
        match (is_due, attempt) {
            (true, _) => State::Pending,
            (false, 0) => State::Scheduled,
            (false, _) => State::Retrying,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        State::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
            format!("not a state: {text:?}; it is one of scheduled, pending, running, retrying, completed, failed, dead, cancelled")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_text() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<State>(), Ok(state));
        }
    }
}
