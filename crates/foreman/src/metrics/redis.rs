//! Counts and times what Redis is asked for, and how often it was done without.

use std::sync::Arc;
use std::time::Duration;

use foreman_redis::{RedisObserver, RedisUse};

use super::Metrics;

/// `foreman_redis_call_seconds` and `foreman_redis_fallbacks_total`.
pub struct RedisMeter(Arc<Metrics>);

impl RedisMeter {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        // What is counted is there from the start, so that its first rise is seen.
        for what in RedisUse::ALL {
            drop(metrics.redis_fallbacks.get_or_create(&[("use", what.as_str())]));
        }
        Self(metrics)
    }
}

impl RedisObserver for RedisMeter {
    fn answered(&self, what: RedisUse, took: Duration) {
        self.0.redis_calls.get_or_create(&[("use", what.as_str())]).observe(took.as_secs_f64());
    }

    fn fell_back(&self, what: RedisUse) {
        self.0.redis_fallbacks.get_or_create(&[("use", what.as_str())]).inc();
    }
}
