//! One of many does the work that only one should do, and another takes over when it is gone.
//!
//! A [`Leadership`] holds a [`Lease`] that lies where all contenders can see it, and renews it three times per TTL; its
//! [`Lead`] tells the loops of this process whether it leads, and in which [`Term`]. What the work is, it does not know.
//!
//! ```text
//!              acquired: a new term                          draining: resign
//!   follower ───────────────────────▶ leader ───renew───┐  ─────────────────▶ gone
//!      ▲                                │ ▲─────────────┘
//!      └── refused, or not renewed until t_before_sending + ttl − margin
//! ```
//!
//! **Two of it never believe that they lead at the same moment**, as long as clocks run at about the same speed: a leader counts
//! from *before* it asked, whoever keeps the lease from when it granted, and the margin is what clocks may differ over one TTL. The handle
//! looks at the monotonic clock each time it is asked, so a process that was stopped for a minute and goes on does not lead in
//! its first instruction, before any timer has fired. That is still no more than a belief: between the look and the write lies time. So
//! **every leader-only write carries its term**, and the keys and locks of the store keep it safe. Leadership only chooses who tries.
//!
//! It dies half way: the lease runs out, and a contender has it within the TTL and one turn of asking. It stops in good
//! order: it resigns, and a contender has it in one turn of asking, under a second. Where whoever resigns rings a bell
//! ([`Leadership::woken_by`]), contenders ask when it rings, when the lease runs out, and seldom in between. The store is away: it steps down in time,
//! asks again with growing waits, and never gives up. An answer that was lost may have granted the lease: the same
//! holder is granted it anew, under a new term, without waiting for the old one to run out.

mod lead;
mod lease;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

use self::lead::BelievedTerm;
pub use self::lead::Lead;
pub use self::lease::{AlwaysLeader, Lease, Term, Unavailable};
use crate::{Backoff, Shutdown, jitter};

/// How long a stop waits for the lease to be given back. Whoever takes over then need not wait for it to run out.
const RESIGN_LIMIT: Duration = Duration::from_secs(1);

/// A lease is asked for so long after it has run out: asked for a moment too early, it would be asked for twice.
const RAN_OUT: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Who asks: unlike any other contender, and unlike this one in an earlier life.
    pub holder: String,
    /// A leader that is silent for so long is replaced.
    pub ttl: Duration,
    /// How often the leader renews, and how long one call may take.
    pub renew: Duration,
    /// So long before the lease runs out elsewhere, a leader that could not renew it steps down.
    pub margin: Duration,
    /// How often a follower asks, give or take a tenth: a leader that resigned is replaced after at most this.
    pub contend: Duration,
    /// The same where a bell says that a leader has resigned.
    pub contend_woken: Duration,
}

impl Config {
    /// The other times, in proportion to the TTL.
    pub fn with_ttl(ttl: Duration) -> Self {
        Self {
            holder: format!("{:016x}", rand::rng().random::<u64>()),
            ttl,
            renew: ttl / 3,
            margin: ttl / 8,
            contend: (ttl / 4).min(Duration::from_millis(750)),
            contend_woken: ttl / 3,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::with_ttl(Duration::from_secs(15))
    }
}

/// Contends for one lease, and keeps it.
pub struct Leadership {
    lease: Arc<dyn Lease>,
    name: String,
    config: Config,
    reign: watch::Sender<Option<BelievedTerm>>,
    /// The term that is ours as far as we know, believed in or not.
    held: Option<Term>,
    /// Rings when somebody has resigned.
    bell: Option<watch::Receiver<u64>>,
    backoff: Backoff,
    rng: SmallRng,
}

/// What the lease said.
enum Answer {
    Granted(Term),
    Refused,
    Unknown(Unavailable),
}

impl Leadership {
    pub fn new(lease: Arc<dyn Lease>, name: impl Into<String>, config: Config) -> Self {
        // Short, for a leader has only its margin left when renewals begin to fail.
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1).min(config.renew));
        let rng = SmallRng::from_rng(&mut rand::rng());
        let reign = watch::Sender::new(None);
        Self { lease, name: name.into(), config, reign, held: None, bell: None, backoff, rng }
    }

    /// Asks when this changes, and otherwise when the lease runs out or after [`Config::contend_woken`].
    #[must_use]
    pub fn woken_by(self, bell: watch::Receiver<u64>) -> Self {
        Self { bell: Some(bell), ..self }
    }

    /// For the loops that only a leader runs. Any number, before the start or after it.
    pub fn lead(&self) -> Lead {
        Lead::new(self.reign.subscribe())
    }

    /// Until draining. Nothing that happens to the lease ends it.
    pub async fn run(mut self, shutdown: Shutdown) {
        let mut ask_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = shutdown.draining() => break,
                () = BelievedTerm::end(*self.reign.borrow()) => {
                    self.step_down("it could not be renewed in time");
                    // It may be anybody's by now. Asking anew finds out, and as its last holder we need not wait for its end.
                    self.held = None;
                    continue;
                }
                () = sleep_until(ask_at) => {}
                () = rung(self.bell.as_mut()), if self.held.is_none() && self.backoff.failures() == 0 => {}
            }
            let asked = Instant::now();
            let Some(answer) = self.ask(&shutdown).await else { break };
            ask_at = self.take(answer, asked, &shutdown);
        }
        self.step_down("stopping");
        self.resign(&shutdown).await;
    }

    /// One call: renews what is held, else asks for it. Belief ends in time and at draining while the answer is awaited. The call
    /// itself goes on then, for it may grant what has to be given back. `None`: aborted.
    async fn ask(&self, shutdown: &Shutdown) -> Option<Answer> {
        // Cut at the limit, its effect is unknown, and both calls are made for that: a renewal that lands later only keeps the lease from
        // others for longer, and a grant that lands later is granted anew when the same holder asks.
        let mut call = std::pin::pin!(timeout(self.config.renew, self.call()));
        loop {
            tokio::select! {
                biased;
                answer = &mut call => return Some(answer.unwrap_or_else(|_| Answer::Unknown(Unavailable::timed_out()))),
                () = shutdown.aborting() => return None,
                () = shutdown.draining(), if self.reign.borrow().is_some() => self.step_down("stopping"),
                () = BelievedTerm::end(*self.reign.borrow()) => self.step_down("it could not be renewed in time"),
            }
        }
    }

    async fn call(&self) -> Answer {
        let Config { holder, ttl, .. } = &self.config;
        let answer = match self.held {
            Some(term) => self.lease.renew(&self.name, term, *ttl).await.map(|renewed| renewed.then_some(term)),
            None => self.lease.acquire(&self.name, holder, *ttl).await,
        };
        match answer {
            Ok(Some(term)) => Answer::Granted(term),
            Ok(None) => Answer::Refused,
            Err(error) => Answer::Unknown(error),
        }
    }

    /// What follows from an answer to what was asked at `asked`; returns when to ask again.
    fn take(&mut self, answer: Answer, asked: Instant, shutdown: &Shutdown) -> Instant {
        let now = Instant::now();
        match answer {
            Answer::Granted(term) => {
                self.backoff.reset();
                self.held = Some(term);
                let until = asked + self.config.ttl.saturating_sub(self.config.margin);
                if until <= now {
                    // We, or the answer, stood still on the way. It tells of a time that is over.
                    debug!(leader.name = self.name, term = %term, "the lease was granted too late to be used");
                    return now;
                }
                if !shutdown.is_draining() {
                    self.believe(BelievedTerm { term, until });
                }
                asked + self.config.renew
            }
            Answer::Refused => {
                self.backoff.reset();
                self.step_down("another process took over");
                self.held = None;
                let contend = if self.bell.is_some() { self.config.contend_woken } else { self.config.contend };
                let again = now + jitter::between(&mut self.rng, contend.mul_f64(0.9), contend.mul_f64(1.1));
                match self.lease.taken_until() {
                    Some(until) if self.bell.is_some() => again.min(until.max(now + RAN_OUT) + RAN_OUT),
                    _ => again,
                }
            }
            Answer::Unknown(error) => {
                if self.backoff.failures() == 0 {
                    warn!(leader.name = self.name, error = %error.chain(), "could not renew the lease of {}", self.name);
                }
                if self.reign.borrow().is_none() {
                    self.held = None;
                }
                now + self.backoff.next()
            }
        }
    }

    fn believe(&self, reign: BelievedTerm) {
        let before = self.reign.send_replace(Some(reign));
        if before.is_none_or(|before| before.term != reign.term) {
            info!(leader.name = self.name, term = %reign.term, "became leader of {} in term {}", self.name, reign.term);
        }
    }

    fn step_down(&self, why: &str) {
        if let Some(BelievedTerm { term, .. }) = self.reign.send_replace(None) {
            info!(leader.name = self.name, term = %term, "no longer leader of {} in term {term}: {why}", self.name);
        }
    }

    async fn resign(&self, shutdown: &Shutdown) {
        let Some(term) = self.held else { return };
        let resigned = timeout(RESIGN_LIMIT, self.lease.resign(&self.name, term));
        let outcome = tokio::select! {
            // The call first: it is on its way even when nobody may wait for its answer.
            biased;
            outcome = resigned => outcome,
            () = shutdown.aborting() => return,
        };
        let why = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.chain(),
            Err(_) => Unavailable::timed_out().chain(),
        };
        debug!(leader.name = self.name, "could not release the lease of {}, so it has to expire: {why}", self.name);
    }
}

/// Returns when the bell rings; without one, or without anybody to ring it, never.
async fn rung(bell: Option<&mut watch::Receiver<u64>>) {
    let is_rung = match bell {
        Some(bell) => bell.changed().await.is_ok(),
        None => false,
    };
    if !is_rung {
        std::future::pending::<()>().await;
    }
}
