//! Numbers over time.

use serde::{Deserialize, Serialize};

use crate::statistics::Slot;
use crate::time::Timestamp;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatisticsDocument {
    pub step: Slot,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub from: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub to: Timestamp,
    /// Oldest first. Empty buckets are left out; the queue depth in them is that of the previous bucket.
    pub items: Vec<BucketDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BucketDocument {
    /// The start of the minute or hour.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[serde(flatten)]
    pub tally: TallyDocument,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueStatisticsDocument {
    pub queue: String,
    #[serde(flatten)]
    pub tally: TallyDocument,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TallyDocument {
    pub submitted: u64,
    /// Attempts started.
    pub started: u64,
    pub completed: u64,
    pub failed: u64,
    pub dead: u64,
    pub cancelled: u64,
    /// Attempts after which the job was not final.
    pub retried: u64,
    /// The time from due to started.
    pub wait: Option<SpreadDocument>,
    /// How long attempts ran.
    pub run: Option<SpreadDocument>,
    /// The highest number of waiting jobs seen; measured once a minute, and unchanged if nothing happened.
    pub waiting: Option<u64>,
    /// The highest number of running jobs seen.
    pub running: Option<u64>,
}

/// The distribution of durations. The quantiles are approximate: they are computed from a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpreadDocument {
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub max_ms: f64,
}
