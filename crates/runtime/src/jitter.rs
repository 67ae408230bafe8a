//! Durations that differ a little, so that processes started together do not act together.

use std::time::Duration;

use rand::{RngExt, rngs::SmallRng};

/// A duration drawn evenly from `low..=high`.
pub(crate) fn between(rng: &mut SmallRng, low: Duration, high: Duration) -> Duration {
    let (low, high) = (as_nanos(low), as_nanos(high));
    Duration::from_nanos(rng.random_range(low..=high.max(low)))
}

/// Saturates at 584 years, which is as long as for ever.
fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
