//! What is done with a tick that comes too late, or too early for the one before it.

use serde::{Deserialize, Serialize};

/// What happens to missed ticks: ticks that were not fired in time because no scheduler was running or the clock jumped forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// None of them fires.
    Skip,
    /// The latest of them fires.
    #[default]
    Latest,
    /// All of them fire, the latest `missed_max` at most.
    All,
}

/// What a tick does while an earlier job of the same schedule is not final.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// It fires.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// It is held until that job is final; while one is held, others are skipped.
    Queue,
    /// That job is cancelled, and it fires.
    Cancel,
}
