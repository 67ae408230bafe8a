//! What became of a tick, and what a schedule will do.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum TickState {
    Fired,
    /// Held until the job of an earlier tick is final.
    Held,
    Skipped,
}

impl TickState {
    pub const ALL: [TickState; 3] = [TickState::Fired, TickState::Held, TickState::Skipped];

    pub const fn as_str(self) -> &'static str {
        match self {
            TickState::Fired => "fired",
            TickState::Held => "held",
            TickState::Skipped => "skipped",
        }
    }

    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TickReason {
    /// Fired because somebody asked, not because its time had come.
    ByHand,
    /// Nobody fired it in time, and the policy lets it go.
    Missed,
    /// A job of an earlier tick was not final.
    Overlap,
    /// The schedule was deleted while the tick was held.
    Deleted,
    /// The tenant had as many jobs waiting, or queues with waiting jobs, as it may have.
    TooManyWaiting,
}

impl TickReason {
    pub const ALL: [TickReason; 5] =
        [TickReason::ByHand, TickReason::Missed, TickReason::Overlap, TickReason::Deleted, TickReason::TooManyWaiting];

    pub const fn as_str(self) -> &'static str {
        match self {
            TickReason::ByHand => "by_hand",
            TickReason::Missed => "missed",
            TickReason::Overlap => "overlap",
            TickReason::Deleted => "deleted",
            TickReason::TooManyWaiting => "too_many_waiting",
        }
    }

    /// As it is kept beside the state. The version before refuses to read a word that it does not know, so the reason that came
    /// last is the one that is left out: a skipped tick without a reason is of [`TickReason::TooManyWaiting`].
    pub const fn stored(self) -> Option<&'static str> {
        match self {
            TickReason::TooManyWaiting => None,
            reason => Some(reason.as_str()),
        }
    }

    /// What [`TickReason::stored`] wrote; the text itself where it is not known.
    pub fn from_stored(state: TickState, kept: Option<&str>) -> Result<Option<Self>, &str> {
        match (state, kept) {
            (TickState::Skipped, None) => Ok(Some(TickReason::TooManyWaiting)),
            (TickState::Fired | TickState::Held, None) => Ok(None),
            (_, Some(text)) => {
                let known = Self::ALL.into_iter().find(|reason| reason.as_str() == text);
                known.map(Some).ok_or(text)
            }
        }
    }
}

/// One fire of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreviewItem {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The same time in the schedule's time zone, with its offset.
    #[cfg_attr(feature = "openapi", schema(example = "2026-03-29T03:00:00+02:00"))]
    pub local: String,
    /// How a daylight saving change affected it.
    #[cfg_attr(feature = "openapi", schema(example = "02:30 does not exist on 2026-03-29: moved to 03:00"))]
    pub note: Option<String>,
}
