//! The feed that asks the store.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_conformance::transport::{TransportSubject, TransportWorker};
use foreman_core::lane::LanePlan;
use foreman_core::memory::{AskTheStore, LocalWakeups};
use foreman_core::ports::{Announcement, Feed, Offer, Topic, Wakeups};

struct ByBell(Arc<LocalWakeups>);

struct Asking(AskTheStore);

#[async_trait]
impl TransportSubject for ByBell {
    async fn announce(&self, _: &[Announcement]) {
        self.0.ring(Topic::Ready);
    }

    async fn worker(&self) -> Box<dyn TransportWorker> {
        Box::new(Asking(AskTheStore::new(&*self.0)))
    }
}

#[async_trait]
impl TransportWorker for Asking {
    fn feed(&self) -> &dyn Feed {
        &self.0
    }

    async fn stop(self: Box<Self>) {}
}

async fn by_bell() -> ByBell {
    ByBell(Arc::default())
}

foreman_conformance::transport_suite!(by_bell);

#[tokio::test]
async fn who_asks_the_store_always_may() {
    let feed = AskTheStore::new(&LocalWakeups::new());
    for _ in 0..3 {
        assert_eq!(feed.offer(&LanePlan::strict(1), 1), Offer::ByOrder);
    }
}
