//! The states of a job, and the one function that says which follows which.
//!
//! `scheduled → pending → running → completed | failed | dead | cancelled`, and `running → retrying → pending`,
//! `running → pending` when the attempt was interrupted or its session lapsed. A table-driven test holds this equal to
//! what each store allows.

pub use foreman_protocol::state::State;

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
}
