//! The reference store with its clock in the test's hands.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::{AnnounceSubject, Subject, TenancySubject};
use foreman_core::memory::{LocalWakeups, ManualClock, Rule, Store};
use foreman_core::ports::{self, Wakeups};
use foreman_core::{Clock, Timestamp};

pub struct Memory {
    store: Store,
    clock: Arc<ManualClock>,
    wakeups: Arc<LocalWakeups>,
}

/// A fresh store that keeps every rule.
pub async fn memory() -> Memory {
    let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
    Memory { store: Store::new(clock.clone(), wakeups.clone()), clock, wakeups }
}

impl Memory {
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self { store: self.store.without(rule), ..self }
    }
}

#[async_trait]
impl Subject for Memory {
    fn store(&self) -> Arc<dyn ports::Store> {
        Arc::new(self.store.clone())
    }

    fn wakeups(&self) -> Arc<dyn Wakeups> {
        self.wakeups.clone()
    }

    async fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl TenancySubject for Memory {
    fn tenancy(&self) -> Arc<dyn ports::Tenancy> {
        Arc::new(self.store.clone())
    }
}

impl AnnounceSubject for Memory {
    fn announcing(&self) -> Arc<dyn ports::AnnounceStore> {
        Arc::new(self.store.clone())
    }
}
