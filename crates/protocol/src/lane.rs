//! Lanes: priority classes. `high` goes before `normal` goes before `low`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    High,
    #[default]
    Normal,
    Low,
}

impl Lane {
    /// In the order in which they are served.
    pub const ALL: [Lane; 3] = [Lane::High, Lane::Normal, Lane::Low];

    /// How stores keep it: small numbers are served first.
    pub const fn rank(self) -> i64 {
        match self {
            Lane::High => 0,
            Lane::Normal => 1,
            Lane::Low => 2,
        }
    }

    pub const fn from_rank(rank: i64) -> Option<Self> {
        match rank {
            0 => Some(Lane::High),
            1 => Some(Lane::Normal),
            2 => Some(Lane::Low),
            _ => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Lane::High => "high",
            Lane::Normal => "normal",
            Lane::Low => "low",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Lane {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Lane::ALL
            .into_iter()
            .find(|lane| lane.as_str() == text)
            .ok_or_else(|| format!("not a priority: {text:?}; it is one of high, normal, low"))
    }
}
