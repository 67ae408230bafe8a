//! How an attempt ends, and what that means for its job.

use std::time::Duration;

pub use foreman_protocol::attempt::{AttemptOutcome, CommandReport, HttpReport};
use serde::{Deserialize, Serialize};

use crate::redact::KnownSecrets;
use crate::state::{State, StateEvent};
use crate::target::ExitCodes;

/// How an attempt ended, as the target saw it; [`crate::retry::RetryPolicy::decide`] makes a [`Verdict`] of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    Completed,
    /// No second try would help.
    Failed,
    /// Worth another try, not before `after` if the target said so.
    Again {
        after: Option<Duration>,
    },
    /// Stopped by us before it could end: not the job's fault.
    Interrupted,
}

/// What an attempt left behind: kept with it and shown to whoever asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Report {
    /// Why it did not complete, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<HttpReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<CommandReport>,
}

impl Report {
    pub fn error(text: impl Into<String>) -> Self {
        Self { error: Some(text.into()), ..Self::default() }
    }

    /// Its bytes as they are stored.
    pub fn size(&self) -> usize {
        serde_json::to_string(self).map_or(0, |json| json.len())
    }

    /// Takes out what the attempt was given in confidence and others said back: a report is kept in the clear.
    pub fn hide(&mut self, known: &KnownSecrets) {
        let headers = self.response.iter_mut().flat_map(|said| said.headers.iter_mut().map(|(_, value)| value));
        headers.for_each(|value| known.hide(value));
        let bodies = self.response.iter_mut().map(|said| &mut said.body);
        let printed = self.output.iter_mut().flat_map(|said| [&mut said.stdout, &mut said.stderr]);
        self.error.iter_mut().chain(bodies).chain(printed).for_each(|text| known.hide(text));
    }
}

/// What a settlement does to the job.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Completed(Report),
    Failed(Report),
    Dead(Report),
    Retry {
        delay: Duration,
        report: Report,
    },
    /// Handed back before it ended: the attempt is refunded and the job goes to the front.
    Interrupted(Report),
    /// Handed back before it began: refunded, and no attempt is recorded as having run.
    Released,
}

impl Verdict {
    pub fn event(&self) -> StateEvent {
        match self {
            Verdict::Completed(_) => StateEvent::Completed,
            Verdict::Failed(_) => StateEvent::Failed,
            Verdict::Dead(_) => StateEvent::GaveUp,
            Verdict::Retry { .. } => StateEvent::RetryPlanned,
            Verdict::Interrupted(_) | Verdict::Released => StateEvent::Returned,
        }
    }

    /// The final state it leads to, if it ends the job.
    pub fn final_state(&self) -> Option<State> {
        match self {
            Verdict::Completed(_) => Some(State::Completed),
            Verdict::Failed(_) => Some(State::Failed),
            Verdict::Dead(_) => Some(State::Dead),
            Verdict::Retry { .. } | Verdict::Interrupted(_) | Verdict::Released => None,
        }
    }

    pub fn name(&self) -> AttemptOutcome {
        match self {
            Verdict::Completed(_) => AttemptOutcome::Completed,
            Verdict::Failed(_) => AttemptOutcome::Failed,
            Verdict::Dead(_) => AttemptOutcome::Dead,
            Verdict::Retry { .. } => AttemptOutcome::Retry,
            Verdict::Interrupted(_) => AttemptOutcome::Interrupted,
            Verdict::Released => AttemptOutcome::Released,
        }
    }

    pub fn report(&self) -> Option<&Report> {
        match self {
            Verdict::Completed(report)
            | Verdict::Failed(report)
            | Verdict::Dead(report)
            | Verdict::Interrupted(report)
            | Verdict::Retry { report, .. } => Some(report),
            Verdict::Released => None,
        }
    }

    /// The attempt is given back: it does not count against `max_attempts`.
    pub fn refunds(&self) -> bool {
        matches!(self, Verdict::Interrupted(_) | Verdict::Released)
    }
}

/// What an HTTP status means: 2xx completed; 408, 425, 429 and 5xx again; every other 4xx, and a redirect, which is
/// never followed, failed at once.
pub fn classify_status(status: u16, retry_after: Option<Duration>) -> AttemptEnd {
    match status {
        200..=299 => AttemptEnd::Completed,
        408 | 425 | 429 | 500..=599 => AttemptEnd::Again { after: retry_after },
        _ => AttemptEnd::Failed,
    }
}

/// What an exit code means; a command killed by a signal has none and is tried again.
pub fn classify_exit(code: Option<i32>, codes: &ExitCodes) -> AttemptEnd {
    match code {
        Some(code) if codes.completed.contains(&code) => AttemptEnd::Completed,
        Some(code) if codes.failed.contains(&code) => AttemptEnd::Failed,
        _ => AttemptEnd::Again { after: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };

    #[test]
    fn the_status_map_is_the_documented_one() {
        for status in 100..=999 {
            let expected = match status {
                200..=299 => AttemptEnd::Completed,
                408 | 425 | 429 | 500..=599 => AGAIN,
                _ => AttemptEnd::Failed,
            };
            assert_eq!(classify_status(status, None), expected, "{status}");
        }
        assert_eq!(classify_status(404, Some(Duration::from_secs(9))), AttemptEnd::Failed, "a 404 is not retried");
    }

    #[test]
    fn exit_codes_mean_what_the_job_says() {
        let codes = ExitCodes::default();
        assert_eq!(classify_exit(Some(0), &codes), AttemptEnd::Completed);
        assert_eq!(classify_exit(Some(126), &codes), AttemptEnd::Failed);
        assert_eq!(classify_exit(Some(127), &codes), AttemptEnd::Failed);
        assert_eq!(classify_exit(Some(1), &codes), AGAIN);
        assert_eq!(classify_exit(None, &codes), AGAIN);
        let own = ExitCodes { completed: vec![0, 3], failed: vec![1] };
        assert_eq!(classify_exit(Some(3), &own), AttemptEnd::Completed);
        assert_eq!(classify_exit(Some(1), &own), AttemptEnd::Failed);
        assert_eq!(classify_exit(Some(127), &own), AGAIN);
    }
}
