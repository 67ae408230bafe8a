//! Workers that ask the store, woken from another process: through NOTIFY.

use async_trait::async_trait;
use foreman_conformance::transport::{TransportSubject, TransportWorker};
use foreman_core::memory::AskTheStore;
use foreman_core::ports::{Announcement, Feed, Topic, Wakeups as _};

use crate::bells::{Process, process};
use crate::given::Database;

struct ByNotify {
    database: Database,
    /// Which takes submissions, and runs nothing.
    submitter: Process,
}

struct Asking {
    feed: AskTheStore,
    process: Process,
}

#[async_trait]
impl TransportSubject for ByNotify {
    async fn announce(&self, _: &[Announcement]) {
        self.submitter.wakeups.ring(Topic::Ready);
    }

    async fn worker(&self) -> Box<dyn TransportWorker> {
        let process = process(&self.database).await;
        Box::new(Asking { feed: AskTheStore::new(&process.wakeups), process })
    }
}

#[async_trait]
impl TransportWorker for Asking {
    fn feed(&self) -> &dyn Feed {
        &self.feed
    }

    async fn stop(self: Box<Self>) {
        self.process.end().await;
    }
}

async fn by_notify() -> ByNotify {
    let database = Database::ready().await;
    let submitter = process(&database).await;
    ByNotify { database, submitter }
}

foreman_conformance::transport_suite!(by_notify);
