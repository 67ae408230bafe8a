//! What is done with a tick that comes too late, or too early for the one before it.

use serde::{Deserialize, Serialize};

/// What becomes of ticks that nobody fired in time: the scheduler was away, or the clock was put forward.
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

/// What a tick does while a job of the same schedule is not final.
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
