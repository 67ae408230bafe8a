//! What is done with a tick that comes too late or too early for the one before it, or whose local time a change of the
//! clocks takes away or doubles.

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

/// What happens to a local time that does not exist because the clocks go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// It fires at the first instant after the gap; several times of one gap make one fire.
    NextValid,
    /// It does not fire.
    Skip,
}

/// What happens to a local time that occurs twice because the clocks go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// It fires the first time.
    First,
    /// It fires both times.
    Both,
}
