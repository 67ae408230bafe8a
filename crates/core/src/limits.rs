//! How large things may be. Beyond these a request is refused with what the limit is.

use std::time::Duration;

use crate::egress::Policy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of `payload` or `body` of one job.
    pub payload_bytes: usize,
    /// Jobs in one batch.
    pub batch_jobs: usize,
    /// How far ahead `run_at` may lie.
    pub horizon: Duration,
    pub max_attempts: u32,
    /// The longest timeout of one attempt.
    pub timeout: Duration,
    /// How long an idempotency key is remembered.
    pub idempotency_keep: Duration,
    /// Where targets and callbacks may lie.
    pub egress: Policy,
}

impl Limits {
    /// What a `max_attempts` must be.
    pub fn max_attempts_rule(&self) -> String {
        format!("must be a whole number between 1 and {}", self.max_attempts)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 256 * 1024,
            batch_jobs: 1_000,
            horizon: Duration::from_hours(8784),
            max_attempts: 1_000,
            timeout: Duration::from_hours(24),
            idempotency_keep: Duration::from_hours(24),
            egress: Policy::everything(),
        }
    }
}
