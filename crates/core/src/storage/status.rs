//! Where a job stands, and what is shown of it.

use crate::id::JobId;
use crate::job::Job;
use crate::outline::Outline;
use crate::ports::{AttemptPage, JobSummary, JobView};
use crate::state::State;
use crate::storage::Counters;
use crate::time::Timestamp;

/// Where a job stands, read from the place that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    pub state: State,
    pub run_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Why the latest attempt did not complete, as lists show it.
    pub error: Option<String>,
    pub counters: Counters,
}

impl JobStatus {
    pub fn waiting(run_at: Timestamp, is_due: bool, counters: Counters, error: Option<String>) -> Self {
        let state = State::of_waiting(is_due, counters.attempt);
        Self { state, run_at, started_at: None, finished_at: None, error, counters }
    }

    pub fn running(
        run_at: Timestamp,
        started_at: Option<Timestamp>,
        counters: Counters,
        error: Option<String>,
    ) -> Self {
        Self { state: State::Running, run_at, started_at, finished_at: None, error, counters }
    }

    /// Without its attempts.
    pub fn view(self, job: Job) -> JobView {
        let Self { state, run_at, started_at, finished_at, error, counters } = self;
        let Counters { attempt, spent, crashes, moves: sequence } = counters;
        let attempts = AttemptPage::default();
        JobView { job, state, attempt, spent, crashes, sequence, run_at, started_at, finished_at, error, attempts }
    }

    pub fn summary(self, id: JobId, outline: Outline, created_at: Timestamp) -> JobSummary {
        let Self { state, run_at, started_at, finished_at, error, counters } = self;
        let Counters { attempt, spent, crashes, moves: sequence } = counters;
        JobSummary {
            id,
            outline,
            created_at,
            state,
            attempt,
            spent,
            crashes,
            sequence,
            run_at,
            started_at,
            finished_at,
            error,
        }
    }
}
