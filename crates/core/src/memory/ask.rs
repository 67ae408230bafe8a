//! The feed without a broker: the store itself says what is due, so a claim goes by order.
//!
//! It carries nothing and loses nothing. It returns from [`Feed::arrived`] when the store rings that something fell due; a ring may
//! be lost, and whoever waits looks now and then all the same.

use std::future::pending;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::lane::LanePlan;
use crate::ports::{Arrival, Feed, Offer, Topic, Wakeups};

/// Offers nothing of its own: claim by order.
#[derive(Debug)]
pub struct AskTheStore {
    /// Unseen while something may have fallen due since the last offer.
    ready: Mutex<watch::Receiver<u64>>,
}

impl AskTheStore {
    pub fn new(wakeups: &dyn Wakeups) -> Self {
        let mut ready = wakeups.listen(Topic::Ready);
        // Nobody has looked yet.
        ready.mark_changed();
        Self { ready: Mutex::new(ready) }
    }
}

#[async_trait]
impl Feed for AskTheStore {
    fn offer(&self, _: &LanePlan, _: usize) -> Offer {
        // Before the claim looks: what is rung meanwhile wakes the next wait.
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).mark_unchanged();
        Offer::ByOrder
    }

    async fn arrived(&self) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if ready.changed().await.is_err() {
            // The store is gone, and rings no more.
            pending::<()>().await;
        }
    }

    fn settled(&self, _: Vec<Arrival>) {}

    fn put_back(&self, _: Vec<Arrival>) {}
}
