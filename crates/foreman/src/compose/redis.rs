//! Redis, where there is one: what it stands in front of, and what says how it is.
//!
//! Only where several processes share a Postgres. A store that one process has for itself has nobody to tell anything.

use std::sync::Arc;

use anyhow::Context as _;
use foreman_core::duration::Span;
use foreman_core::memory::{LocalLimiter, LocalWakeups};
use foreman_core::ports::{Limiter, Wakeups};
use foreman_redis::{HintedLease, LinkKeeper, RedisLimiter, RedisLink, RedisWakeups, WakeupCarrier};
use foreman_runtime::leadership::Lease;
use foreman_runtime::{Shutdown, Stop};

use super::{Wiring, clock};
use crate::metrics::RedisMeter;

/// How processes hear from each other and share what must be shared.
pub(super) struct News {
    pub wakeups: Arc<dyn Wakeups>,
    pub lease: Arc<dyn Lease>,
    pub limiter: Arc<dyn Limiter>,
    pub carrier: Option<NewsCarrier>,
}

/// Carries wake-ups while it runs, and keeps the connection for as long.
pub(super) struct NewsCarrier {
    keeper: LinkKeeper,
    wakeups: WakeupCarrier,
}

impl News {
    /// In front of the database's own ways, which it falls back to.
    pub fn of(
        wiring: &Wiring<'_>,
        local: Arc<LocalWakeups>,
        wakeups: Arc<dyn Wakeups>,
        lease: Arc<dyn Lease>,
    ) -> anyhow::Result<Self> {
        let alone = Arc::new(LocalLimiter::new(clock()));
        let Some(config) = wiring.settings.redis.config() else {
            return Ok(Self { wakeups, lease, limiter: alone, carrier: None });
        };
        let meter = RedisMeter::new(Arc::clone(&wiring.metrics));
        let (keeper, link) = RedisLink::new(&config, Arc::new(meter)).context("redis")?;
        report(wiring, &link);
        let (carrier, wakeups) = RedisWakeups::new(link.clone(), local, wakeups);
        Ok(Self {
            wakeups: Arc::new(wakeups),
            lease: Arc::new(HintedLease::new(link.clone(), lease)),
            limiter: Arc::new(RedisLimiter::new(link, alone)),
            carrier: Some(NewsCarrier { keeper, wakeups: carrier }),
        })
    }
}

impl NewsCarrier {
    /// Until draining; then the last wake-ups go out.
    pub async fn run(self, shutdown: Shutdown) {
        let keeping = Stop::new();
        tokio::join!(self.keeper.run(keeping.shutdown()), async {
            self.wakeups.run(shutdown).await;
            keeping.abort();
        });
    }
}

/// Says how Redis is to whoever scrapes, and beside the probes. Without it everything goes on: that is no reason to send this
/// process no work.
fn report(wiring: &Wiring<'_>, link: &RedisLink) {
    wiring.metrics.set_redis(link.clone());
    let link = link.clone();
    wiring.vitals.set_redis(move || {
        let status = link.status();
        // Which kind of trouble, and no more: what Redis says of itself may name hosts. The log has it.
        (!status.is_up).then(|| format!("degraded: Redis has not answered for {}", Span(status.since.elapsed())))
    });
}
