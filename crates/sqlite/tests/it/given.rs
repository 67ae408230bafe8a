//! A store in a directory of its own, with its clock in the test's hands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::conformance::Subject;
use foreman_core::memory::{LocalWakeups, ManualClock};
use foreman_core::ports::{Store, Wakeups};
use foreman_core::{Clock, Timestamp};
use foreman_sqlite::{Config, OpenError, SqliteStore};

pub struct Laptop {
    pub store: SqliteStore,
    pub clock: Arc<ManualClock>,
    pub wakeups: Arc<LocalWakeups>,
    pub directory: Arc<tempfile::TempDir>,
}

impl Laptop {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let mut config = Config::at(directory.path().join("foreman.db"));
        change(&mut config);
        let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let store = SqliteStore::open(config, clock.clone(), wakeups.clone()).unwrap();
        Self { store, clock, wakeups, directory }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("foreman.db")
    }

    /// Closes in good order and opens the same file again.
    pub async fn reopened(self) -> Self {
        self.store.close().await;
        let store = open(&self.path(), &self.clock).unwrap();
        Self { store, ..self }
    }
}

pub fn open(path: &Path, clock: &Arc<ManualClock>) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(Config::at(path), clock.clone(), Arc::new(LocalWakeups::new()))
}

/// Opens a file that a test has prepared.
pub fn open_at(path: &Path) -> Result<SqliteStore, OpenError> {
    open(path, &Arc::new(ManualClock::new()))
}

#[async_trait]
impl Subject for Laptop {
    fn store(&self) -> Arc<dyn Store> {
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

    fn histories(&self) -> u64 {
        20
    }
}

/// A fresh one for each promise.
pub async fn laptop() -> Laptop {
    Laptop::new()
}
