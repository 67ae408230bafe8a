//! The states of a job, and the one function that says which follows which.
//!
//! `scheduled → pending → running → completed | failed | dead | cancelled`, and `running → retrying → pending`,
//! `running → pending` when the attempt was interrupted or its session lapsed. A table-driven test holds this equal to
//! what each store allows.

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

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    FellDue,
    Claimed,
    Completed,
    Failed,
    GaveUp,
    RetryPlanned,
    /// The attempt was handed back, or its session lapsed: not the job's fault, so it is due at once.
    Returned,
    Cancelled,
    /// `expires_at` passed before an attempt could start.
    Expired,
    Redriven,
}

impl Event {
    pub const ALL: [Event; 10] = [
        Event::FellDue,
        Event::Claimed,
        Event::Completed,
        Event::Failed,
        Event::GaveUp,
        Event::RetryPlanned,
        Event::Returned,
        Event::Cancelled,
        Event::Expired,
        Event::Redriven,
    ];
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

/// Where `event` leads from `from`; `None` where it cannot happen.
pub const fn transition(from: State, event: Event) -> Option<State> {
    use State::{Cancelled, Completed, Dead, Failed, Pending, Retrying, Running, Scheduled};
    match (from, event) {
        (Scheduled | Retrying, Event::FellDue) | (Running, Event::Returned) => Some(Pending),
        (Pending, Event::Claimed) => Some(Running),
        (Running, Event::Completed) => Some(Completed),
        (Running, Event::Failed) | (Scheduled | Pending | Retrying, Event::Expired) => Some(Failed),
        (Running, Event::GaveUp) => Some(Dead),
        (Running, Event::RetryPlanned) => Some(Retrying),
        (Scheduled | Pending | Running | Retrying, Event::Cancelled) => Some(Cancelled),
        (Completed | Failed | Dead | Cancelled, Event::Redriven) => Some(Pending),
        (
            Scheduled | Pending | Retrying,
            Event::Completed | Event::Failed | Event::GaveUp | Event::RetryPlanned | Event::Returned | Event::Redriven,
        )
        | (Scheduled | Retrying, Event::Claimed)
        | (Pending, Event::FellDue)
        | (Running, Event::FellDue | Event::Claimed | Event::Expired | Event::Redriven)
        | (
            Completed | Failed | Dead | Cancelled,
            Event::FellDue
            | Event::Claimed
            | Event::Completed
            | Event::Failed
            | Event::GaveUp
            | Event::RetryPlanned
            | Event::Returned
            | Event::Cancelled
            | Event::Expired,
        ) => None,
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
    fn nothing_leaves_a_final_state_but_a_redrive() {
        for state in State::FINAL {
            for event in Event::ALL {
                let next = transition(state, event);
                assert_eq!(next.is_some(), event == Event::Redriven, "{state} on {event:?}");
            }
        }
    }

    #[test]
    fn only_a_running_job_can_be_settled() {
        for event in [Event::Completed, Event::Failed, Event::GaveUp, Event::RetryPlanned, Event::Returned] {
            let from: Vec<State> = State::ALL.into_iter().filter(|state| transition(*state, event).is_some()).collect();
            assert_eq!(from, [State::Running], "{event:?}");
        }
    }

    #[test]
    fn names_survive_text() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<State>(), Ok(state));
        }
    }
}
