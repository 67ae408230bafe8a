//! Looks by order, beside a feed that names jobs.
//!
//! A broker carries what every worker can run. A worker that takes its work from one asks the store for the rest:
//!
//! - **What only some can run** ([`CommonWork::rest_of`]): its own commands, queues, tasks. It looks when the store rings that
//!   something is due, and as often as a worker without a broker.
//! - **Strays**: jobs that are announced to nobody (one that must run alone, for example), and those whose announcement
//!   does not arrive, because no relay runs, the broker is away or has lost it, or it lies with a worker that is busy. It looks
//!   seldom, and less and less often while it finds none. As long as the feed delivers, it leaves alone what is announced.
//!
//! **A feed that falls silent** may have nothing, or may be broken. [`QUIET`] after the last arrival, or after a ring that no arrival
//! followed, the worker takes whatever is due. If it finds something, the feed is taken for broken until something arrives: the
//! worker then looks at every ring, and goes on at once while it finds as many as it has slots for. So without a relay or a broker a
//! fleet works as one without them does.
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
    /// When a feed that has been silent since the last arrival or ring has been so for too long.
    quiet_at: Option<Instant>,
    /// When last whatever was due was taken.
    last_whole: Instant,
    /// Since something last arrived, jobs were found by order that it might have named.
    is_broken: bool,
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
            quiet_at: None,
            last_whole: now,
            is_broken: false,
        }
    }

    /// The feed has delivered something.
    pub fn arrived(&mut self, now: Instant) {
        self.last_arrival = now;
        self.quiet_at = Some(now + jittered(QUIET));
        self.is_broken = false;
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
        let patience = if self.is_broken { AFTER_A_RING } else { QUIET };
        // Rings that follow do not put it off.
        self.quiet_at.get_or_insert_with(|| now + jittered(patience));
    }

    /// The next look is for strays, and now.
    pub fn hurry(&mut self, now: Instant) {
        self.strays_at = now;
    }

    /// When the next look is due, unless something rings.
    pub fn due_at(&self) -> Instant {
        self.rest_at.min(self.strays_due_at())
    }

    fn strays_due_at(&self) -> Instant {
        self.quiet_at.map_or(self.strays_at, |quiet_at| quiet_at.min(self.strays_at))
    }

    /// The look that is due. `has_arrivals`: the feed has something to offer.
    pub async fn next(&mut self, now: Instant, has_arrivals: bool) -> Result<Option<BesideLook>, StoreError> {
        if now >= self.strays_due_at() {
            // What is announced may lie with a busy worker for as long as its jobs take, while this one is idle.
            let is_idle = !has_arrivals && now.duration_since(self.last_whole) >= STRAYS.1;
            let takes_all = self.is_silent(now) || is_idle;
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
        self.quiet_at = None;
        if look.takes_all {
            self.last_whole = now;
        }
        self.strays_every = if taken > 0 { STRAYS.0 } else { (self.strays_every * 2).min(STRAYS.1) };
        let is_alone = look.takes_all && self.is_silent(now);
        self.is_broken |= is_alone && taken > 0;
        self.strays_at = if is_alone && is_full { now } else { now + jittered(self.strays_every) };
    }

    fn is_silent(&self, now: Instant) -> bool {
        self.is_broken || now.duration_since(self.last_arrival) >= QUIET.mul_f64(1.0 - JITTER)
    }

    /// The store did not answer: not at once again.
    pub fn failed(&mut self, now: Instant) {
        self.strays_at = self.strays_at.max(now + jittered(AFTER_A_RING));
        self.quiet_at = self.quiet_at.map(|quiet_at| quiet_at.max(now + jittered(AFTER_A_RING)));
        self.rest_at = self.rest_at.max(now + AFTER_A_RING);
    }
}

/// Give or take so much of it: a fifth.
const JITTER: f64 = 0.2;

fn jittered(span: Duration) -> Duration {
    span.mul_f64(1.0 - JITTER + 2.0 * JITTER * f64::from(rand::random::<u16>()) / f64::from(u16::MAX))
}
