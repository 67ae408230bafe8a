//! How a loop knows whether it leads: a handle that is cheap to ask and to clone.
//!
//! A loop that only a leader runs reads
//!
//! ```
//! # use foreman_runtime::{Lead, Shutdown, Term};
//! # async fn lead_on(term: Term) {}
//! # async fn run(lead: Lead, shutdown: Shutdown) {
//! loop {
//!     let term = tokio::select! {
//!         () = shutdown.draining() => break,
//!         term = lead.elected() => term,
//!     };
//!     while lead.holds(term) && !shutdown.is_draining() {
//!         lead_on(term).await; // each write carries the term
//!     }
//! }
//! # }
//! ```

use std::future::pending;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Term;

/// A term, and the moment at which the belief in it ends unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BelievedTerm {
    pub term: Term,
    pub until: Instant,
}

impl BelievedTerm {
    /// Returns when the reign has run out. No reign never does.
    pub async fn end(reign: Option<Self>) {
        match reign {
            Some(reign) => sleep_until(reign.until).await,
            None => pending().await,
        }
    }
}

/// Tells whether this process leads. Any number of them, for any number of loops.
#[derive(Clone, Debug)]
pub struct Lead {
    reign: watch::Receiver<Option<BelievedTerm>>,
}

impl Lead {
    pub(super) fn new(reign: watch::Receiver<Option<BelievedTerm>>) -> Self {
        Self { reign }
    }

    /// The term in which this process leads, if it does: right now, by the monotonic clock, whether or not the loop that
    /// renews it has had its turn.
    pub fn term(&self) -> Option<Term> {
        in_force(*self.reign.borrow())
    }

    pub fn holds(&self, term: Term) -> bool {
        self.term() == Some(term)
    }

    /// Returns the term once this process leads; at once if it does. Never, when nobody contends any more: a loop listens to the
    /// shutdown as well. Safe to drop and call again, as in `select!`.
    pub async fn elected(&self) -> Term {
        let mut reign = self.reign.clone();
        match reign.wait_for(|reign| in_force(*reign).is_some()).await.ok().and_then(|reign| *reign) {
            Some(BelievedTerm { term, .. }) => term,
            None => pending().await,
        }
    }

    /// Returns once this process no longer leads in `term`. Safe to drop and call again, as in `select!`.
    pub async fn deposed(&self, term: Term) {
        let mut watched = self.reign.clone();
        loop {
            let reign = *watched.borrow_and_update();
            if in_force(reign) != Some(term) {
                return;
            }
            tokio::select! {
                changed = watched.changed() => if changed.is_err() {
                    // Nobody renews it any more: it ends when it runs out.
                    return BelievedTerm::end(reign).await;
                },
                () = BelievedTerm::end(reign) => {}
            }
        }
    }
}

fn in_force(reign: Option<BelievedTerm>) -> Option<Term> {
    reign.filter(|reign| Instant::now() < reign.until).map(|reign| reign.term)
}
