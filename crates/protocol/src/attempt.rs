//! How an attempt ended, and what its target said.

use serde::{Deserialize, Serialize};

use crate::state::State;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AttemptOutcome {
    Completed,
    Failed,
    Retry,
    Interrupted,
    /// Claimed, and handed back before it began.
    Released,
    /// Its session lapsed: the worker died or lost the store.
    Lapsed,
    Cancelled,
    Dead,
}

impl AttemptOutcome {
    pub const ALL: [AttemptOutcome; 8] = [
        AttemptOutcome::Completed,
        AttemptOutcome::Failed,
        AttemptOutcome::Retry,
        AttemptOutcome::Interrupted,
        AttemptOutcome::Released,
        AttemptOutcome::Lapsed,
        AttemptOutcome::Cancelled,
        AttemptOutcome::Dead,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            AttemptOutcome::Completed => "completed",
            AttemptOutcome::Failed => "failed",
            AttemptOutcome::Retry => "retry",
            AttemptOutcome::Interrupted => "interrupted",
            AttemptOutcome::Released => "released",
            AttemptOutcome::Lapsed => "lapsed",
            AttemptOutcome::Cancelled => "cancelled",
            AttemptOutcome::Dead => "dead",
        }
    }

    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }

    /// How the attempt that ended a job in `state` ended.
    pub const fn of_final(state: State) -> Option<Self> {
        match state {
            State::Completed => Some(AttemptOutcome::Completed),
            State::Failed => Some(AttemptOutcome::Failed),
            State::Dead => Some(AttemptOutcome::Dead),
            State::Cancelled => Some(AttemptOutcome::Cancelled),
            State::Scheduled | State::Pending | State::Running | State::Retrying => None,
        }
    }
}

/// A target's response: status, selected headers and the first 4 KiB of the body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HttpReport {
    pub status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The response body was longer than what is stored.
    #[serde(default)]
    pub truncated: bool,
}

/// A command's output, the first 64 KiB of each stream, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    #[serde(default)]
    pub stdout_truncated: bool,
    #[serde(default)]
    pub stderr_truncated: bool,
}
