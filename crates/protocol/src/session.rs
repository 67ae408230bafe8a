//! The states of a session: one run of a worker process.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    Live,
    Draining,
    /// Stopped in good order, or ended by its worker after an outage of the store.
    Ended,
    /// Lapsed: the worker died, hung, or was cut off from the store.
    Dead,
}

impl SessionState {
    pub const ALL: [SessionState; 4] =
        [SessionState::Live, SessionState::Draining, SessionState::Ended, SessionState::Dead];

    pub const fn as_str(self) -> &'static str {
        match self {
            SessionState::Live => "live",
            SessionState::Draining => "draining",
            SessionState::Ended => "ended",
            SessionState::Dead => "dead",
        }
    }

    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// It may hold jobs and settle them.
    pub const fn is_alive(self) -> bool {
        matches!(self, SessionState::Live | SessionState::Draining)
    }
}
