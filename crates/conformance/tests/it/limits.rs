//! The limiter of one process against every promise of the port.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::limiter::LimiterSubject;
use foreman_core::memory::{LocalLimiter, ManualClock};
use foreman_core::ports::Limiter;

struct OneProcess {
    clock: Arc<ManualClock>,
    limiter: LocalLimiter,
}

#[async_trait]
impl LimiterSubject for OneProcess {
    fn limiter(&self) -> &dyn Limiter {
        &self.limiter
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

async fn one_process() -> OneProcess {
    let clock = Arc::new(ManualClock::new());
    OneProcess { limiter: LocalLimiter::new(clock.clone()), clock }
}

foreman_conformance::limiter_suite!(one_process);
