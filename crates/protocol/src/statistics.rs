//! The buckets that numbers over time come in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The length of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    #[default]
    Minute,
    Hour,
}

impl Slot {
    pub const ALL: [Slot; 2] = [Slot::Minute, Slot::Hour];

    pub const fn as_str(self) -> &'static str {
        match self {
            Slot::Minute => "minute",
            Slot::Hour => "hour",
        }
    }

    pub const fn length(self) -> Duration {
        match self {
            Slot::Minute => Duration::from_mins(1),
            Slot::Hour => Duration::from_hours(1),
        }
    }

    /// When the bucket begins that a moment falls into.
    pub fn of(self, at: Timestamp) -> Timestamp {
        let length = i64::try_from(self.length().as_micros()).expect("an hour in microseconds is a small number");
        Timestamp::from_micros(at.as_micros().div_euclid(length) * length)
    }
}
