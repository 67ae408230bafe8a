//! Looks by order, beside a feed that names jobs.
//!
//! A broker carries what every worker can run. A worker that takes its work from one asks the store for the rest:
//!
//! - **What only some can run** ([`CommonWork::rest_of`]): its own commands, queues, tasks. It looks when the store rings that
//!   something is due, and as often as a worker without a broker.
//! - **Strays**: jobs that are announced to nobody (one that must run alone, for example), and those whose announcement
//!   never arrives, because no relay runs or the broker is away or has lost it. It looks seldom, and less and less
//!   often while it finds none. As long as the feed delivers, it leaves alone what is announced. Once nothing has arrived for
//!   [`QUIET`], it takes whatever is due, and while it finds as many as it has slots for, it goes on at once: without a relay or
//!   a broker, a fleet works as one without them does.
//!
//! A worker that can run what all others can, and whose feed delivers, makes one cheap claim by order every quarter of a minute.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::LanePlan;
use foreman_core::ports::{AnnounceStore, Queues, StoreError, WantedJobs};
use foreman_core::target::Route;
use tokio::time::Instant;

use crate::consumers::{CommonWork, UnsharedWork};
use crate::outage::bounded;

/// For so long it is believed which workers there are.
const CONSUMERS_FOR: Duration = Duration::from_secs(2);
/// Between two looks for what was rung for.
const AFTER_A_RING: Duration = Duration::from_millis(50);
/// Between two looks for strays: after one that found some, and at most.
const STRAYS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));
/// A feed that has delivered nothing for so long may have lost something.
const QUIET: Duration = Duration::from_secs(3);

pub(super) struct BesideFeed {
    announced: Arc<dyn AnnounceStore>,
    queues: Queues,
    routes: Vec<Route>,
    poll: Duration,
    call_timeout: Duration,
    /// What nobody announces, when it was last looked at which workers there are.
    rest: Option<(Instant, UnsharedWork)>,
    last_rest: Instant,
    rest_at: Instant,
    strays_at: Instant,
    strays_every: Duration,
    last_arrival: Instant,
}

/// One look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BesideLook {
    pub routes: Vec<Route>,
    /// Whatever is announced as well.
    takes_all: bool,
    is_for_strays: bool,
}

impl BesideLook {
    /// For whatever this worker can run.
    pub fn is_for_strays(&self) -> bool {
        self.is_for_strays
    }

    pub fn wanted(&self, plan: LanePlan, limit: usize) -> WantedJobs {
        if self.takes_all { WantedJobs::ByOrder { plan, limit } } else { WantedJobs::Unannounced { plan, limit } }
    }
}

impl BesideFeed {
    pub fn new(
        announced: Arc<dyn AnnounceStore>,
        queues: Queues,
        routes: Vec<Route>,
        poll: Duration,
        call_timeout: Duration,
    ) -> Self {
        let now = Instant::now();
        Self {
            announced,
            queues,
            routes,
            poll,
            call_timeout,
            rest: None,
            last_rest: now,
            rest_at: now,
            // Processes that start together do not look together; and a feed needs a moment to begin.
            strays_at: now + jittered(STRAYS.0),
            strays_every: STRAYS.0,
            last_arrival: now,
        }
    }

    /// The feed has delivered something.
    pub fn arrived(&mut self, now: Instant) {
        self.last_arrival = now;
    }

    /// Something is due. Whether it is announced is not known.
    pub fn rung(&mut self, now: Instant) {
        let is_concerned = match &self.rest {
            Some((at, rest)) => *rest != UnsharedWork::Nothing || now.duration_since(*at) >= CONSUMERS_FOR,
            None => true,
        };
        if is_concerned {
            self.rest_at = self.rest_at.min(now.max(self.last_rest + AFTER_A_RING));
        }
    }

    /// The next look is for strays, and now.
    pub fn hurry(&mut self, now: Instant) {
        self.strays_at = now;
    }

    /// When the next look is due, unless something rings.
    pub fn due_at(&self) -> Instant {
        self.rest_at.min(self.strays_at)
    }

    /// The look that is due.
    pub async fn next(&mut self, now: Instant) -> Result<Option<BesideLook>, StoreError> {
        if now >= self.strays_at {
            let takes_all = now.duration_since(self.last_arrival) >= QUIET;
            return Ok(Some(BesideLook { routes: self.routes.clone(), takes_all, is_for_strays: true }));
        }
        if now < self.rest_at {
            return Ok(None);
        }
        let rest = self.rest(now).await?;
        (self.last_rest, self.rest_at) = (now, now + jittered(self.poll));
        let routes = match rest {
            UnsharedWork::Nothing => return Ok(None),
            UnsharedWork::Routes(routes) => routes,
            UnsharedWork::Queues => self.routes.clone(),
        };
        Ok(Some(BesideLook { routes, takes_all: false, is_for_strays: false }))
    }

    /// What is left to this worker by those that announce.
    async fn rest(&mut self, now: Instant) -> Result<UnsharedWork, StoreError> {
        if let Some((at, rest)) = &self.rest
            && now.duration_since(*at) < CONSUMERS_FOR
        {
            return Ok(rest.clone());
        }
        let consumers = bounded(self.call_timeout, self.announced.consumers()).await?;
        let rest = CommonWork::rest_of(CommonWork::of(&consumers).as_ref(), &self.queues, &self.routes);
        self.rest = Some((now, rest.clone()));
        Ok(rest)
    }

    /// It took so many. `is_full`: there may be more.
    pub fn looked(&mut self, look: &BesideLook, taken: usize, is_full: bool, now: Instant) {
        if !look.is_for_strays {
            if is_full {
                self.rest_at = now;
            }
            return;
        }
        self.strays_every = if taken > 0 { STRAYS.0 } else { (self.strays_every * 2).min(STRAYS.1) };
        let is_alone = look.takes_all && is_full && now.duration_since(self.last_arrival) >= QUIET;
        self.strays_at = if is_alone { now } else { now + jittered(self.strays_every) };
    }

    /// The store did not answer: not at once again.
    pub fn failed(&mut self, now: Instant) {
        self.strays_at = self.strays_at.max(now + jittered(AFTER_A_RING));
        self.rest_at = self.rest_at.max(now + AFTER_A_RING);
    }
}

/// Give or take a fifth.
fn jittered(span: Duration) -> Duration {
    span.mul_f64(0.8 + 0.4 * f64::from(rand::random::<u16>()) / f64::from(u16::MAX))
}
