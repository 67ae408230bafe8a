//! The states of a job, and the one function that says which follows which.
//!
//! `scheduled → pending → running → completed | failed | dead | cancelled`, and `running → retrying → pending`,
//! `running → pending` when the attempt was interrupted or its session lapsed. A table-driven test holds this equal to
//! what each store allows.

pub use foreman_protocol::state::State;

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateEvent {
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

impl StateEvent {
    pub const ALL: [StateEvent; 10] = [
        StateEvent::FellDue,
        StateEvent::Claimed,
        StateEvent::Completed,
        StateEvent::Failed,
        StateEvent::GaveUp,
        StateEvent::RetryPlanned,
        StateEvent::Returned,
        StateEvent::Cancelled,
        StateEvent::Expired,
        StateEvent::Redriven,
    ];
}

/// Where `event` leads from `from`; `None` where it cannot happen.
pub const fn transition(from: State, event: StateEvent) -> Option<State> {
    use State::{Cancelled, Completed, Dead, Failed, Pending, Retrying, Running, Scheduled};
    match (from, event) {
        (Scheduled | Retrying, StateEvent::FellDue) | (Running, StateEvent::Returned) => Some(Pending),
        (Pending, StateEvent::Claimed) => Some(Running),
        (Running, StateEvent::Completed) => Some(Completed),
        (Running, StateEvent::Failed) | (Scheduled | Pending | Retrying, StateEvent::Expired) => Some(Failed),
        (Running, StateEvent::GaveUp) => Some(Dead),
        (Running, StateEvent::RetryPlanned) => Some(Retrying),
        (Scheduled | Pending | Running | Retrying, StateEvent::Cancelled) => Some(Cancelled),
        (Completed | Failed | Dead | Cancelled, StateEvent::Redriven) => Some(Pending),
        (
            Scheduled | Pending | Retrying,
            StateEvent::Completed
            | StateEvent::Failed
            | StateEvent::GaveUp
            | StateEvent::RetryPlanned
            | StateEvent::Returned
            | StateEvent::Redriven,
        )
        | (Scheduled | Retrying, StateEvent::Claimed)
        | (Pending, StateEvent::FellDue)
        | (Running, StateEvent::FellDue | StateEvent::Claimed | StateEvent::Expired | StateEvent::Redriven)
        | (
            Completed | Failed | Dead | Cancelled,
            StateEvent::FellDue
            | StateEvent::Claimed
            | StateEvent::Completed
            | StateEvent::Failed
            | StateEvent::GaveUp
            | StateEvent::RetryPlanned
            | StateEvent::Returned
            | StateEvent::Cancelled
            | StateEvent::Expired,
        ) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_final_state_but_a_redrive() {
        for state in State::FINAL {
            for event in StateEvent::ALL {
                let next = transition(state, event);
                assert_eq!(next.is_some(), event == StateEvent::Redriven, "{state} on {event:?}");
            }
        }
    }

    #[test]
    fn only_a_running_job_can_be_settled() {
        for event in [
            StateEvent::Completed,
            StateEvent::Failed,
            StateEvent::GaveUp,
            StateEvent::RetryPlanned,
            StateEvent::Returned,
        ] {
            let from: Vec<State> = State::ALL.into_iter().filter(|state| transition(*state, event).is_some()).collect();
            assert_eq!(from, [State::Running], "{event:?}");
        }
    }
}
