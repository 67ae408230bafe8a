//! Stopping has two moments.
//!
//! *Draining*: take nothing new, finish what is held. *Aborting*: the deadline has come (or a second signal), let go of what
//! is still running and hand it back. Aborting implies draining, so a loop that only asks "may I take more?" listens to the
//! first and needs to know of no other; work in flight listens only to the second.
//!
//! ```text
//!   running ──drain()──▶ draining ──abort()──▶ aborting
//!      └───────────────abort()────────────────────▲
//! ```
//!
//! Both moments are levels, not edges: whoever asks late gets the answer at once, and nobody can miss one. There is no way
//! back. Any number of holders may call [`Stop::drain`] and [`Stop::abort`], in any order and more than once.

use tokio_util::sync::CancellationToken;

/// The controller's end: says when.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shutdown: Shutdown,
}

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    /// Take nothing new; finish what is held.
    pub fn drain(&self) {
        self.shutdown.draining.cancel();
    }

    /// Let go of everything, now. Implies [`Stop::drain`].
    pub fn abort(&self) {
        self.shutdown.aborting.cancel();
    }

    /// What loops and work listen to.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }
}

/// The listener's end: cheap to clone, good for any number of listeners.
#[derive(Clone, Debug)]
pub struct Shutdown {
    aborting: CancellationToken,
    // A child of `aborting`: cancelling the parent cancels it, and not the other way round.
    draining: CancellationToken,
}

impl Shutdown {
    /// A shutdown that never comes: for tests, and for commands that end by themselves.
    pub fn never() -> Self {
        Self::default()
    }

    /// Returns once nothing new may be taken. Safe to drop and call again, as in `select!`.
    pub async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// Returns once work in flight must let go. Safe to drop and call again, as in `select!`.
    pub async fn aborting(&self) {
        self.aborting.cancelled().await;
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    pub fn is_aborting(&self) -> bool {
        self.aborting.is_cancelled()
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        let aborting = CancellationToken::new();
        Self { draining: aborting.child_token(), aborting }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn draining_does_not_abort_work_in_flight() {
        let stop = Stop::new();
        let shutdown = stop.shutdown();
        stop.drain();

        timeout(SOON, shutdown.draining()).await.expect("draining was announced");
        assert!(shutdown.is_draining());
        assert!(!shutdown.is_aborting());
        assert!(timeout(SOON, shutdown.aborting()).await.is_err(), "work in flight was told to let go");
    }

    #[tokio::test(start_paused = true)]
    async fn aborting_implies_draining() {
        let stop = Stop::new();
        let shutdown = stop.shutdown();
        stop.abort();

        timeout(SOON, shutdown.aborting()).await.expect("aborting was announced");
        timeout(SOON, shutdown.draining()).await.expect("aborting implies draining");
        assert!(shutdown.is_draining());
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_already_waiting_is_told_both_moments_in_order() {
        let stop = Stop::new();
        let shutdown = stop.shutdown();
        let listener = async {
            shutdown.draining().await;
            let seen_between = shutdown.is_aborting();
            shutdown.aborting().await;
            seen_between
        };
        let controller = async {
            tokio::task::yield_now().await;
            stop.drain();
            tokio::time::sleep(SOON).await;
            stop.abort();
        };
        let (aborting_at_first, ()) = tokio::join!(listener, controller);
        assert!(!aborting_at_first);
    }

    #[tokio::test(start_paused = true)]
    async fn every_clone_hears_it_even_one_made_afterwards() {
        let stop = Stop::new();
        let before = stop.shutdown();
        stop.clone().drain();
        stop.drain();
        assert!(before.clone().is_draining());
        assert!(stop.shutdown().is_draining());
    }

    #[tokio::test(start_paused = true)]
    async fn never_means_never() {
        let shutdown = Shutdown::never();
        let century = Duration::from_hours(100 * 365 * 24);
        assert!(timeout(century, shutdown.draining()).await.is_err());
        assert!(!shutdown.is_draining() && !shutdown.is_aborting());
    }
}
