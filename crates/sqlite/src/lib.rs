//! The laptop store: every place of a job in one SQLite file.
//!
//! One process owns the file, by a lock beside it. One thread writes and commits for many callers at once ([`writer`]);
//! reads run side by side ([`readers`]). With one writer every verb is alone while it runs, so the rules of the storage
//! protocol that speak of locks and second looks hold by themselves; those that speak of open jobs, tokens, numbers and
//! records are kept here as everywhere ([`places`], [`jobs`], [`sessions`]).
//!
//! WAL with `synchronous=FULL`: what was answered survives the crash of the process, of the machine, and a power cut. What
//! was not answered may have been written or not; sent again under its identity it is found or done. The file belongs on a
//! local disk: SQLite's locks and its shared memory do not work over a network file system.

mod audit_log;
#[cfg(test)]
mod bare;
mod census;
mod changes;
mod claim_info;
mod config;
mod connection;
mod disabled;
pub mod doctor;
mod error;
mod filesystem;
mod followers;
mod jobs;
mod keys;
mod lock;
pub mod migrate;
mod open;
mod order;
mod passes;
mod places;
mod query;
mod queues;
mod readers;
mod rows;
mod schedules;
mod sessions;
mod statistics;
mod tenants;
mod unreadable;
mod upkeep;
mod webhooks;
mod work;
mod write;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use foreman_core::Clock;
use foreman_core::ports::{StoreError, Wakeups};

pub use census::{census_of_file, check_file};
pub use config::Config;
pub use error::OpenError;
pub use filesystem::shared_file_system;

use error::Fault;
use jobs::{ClaimedRows, Rotation};
use readers::{ReadSnapshot, Readers};
use unreadable::Unreadable;
use write::Write;
use writer::Writer;

/// A handle on the open store; clones share it. [`SqliteStore::close`] ends it in good order. Dropping the last handle
/// ends it as well, without anyone waiting for it.
#[derive(Clone)]
pub struct SqliteStore {
    parts: Arc<StoreParts>,
}

struct StoreParts {
    readers: Readers,
    writer: Writer,
    rotation: Arc<Rotation>,
    claimed: ClaimedRows,
    unreadable: Arc<Unreadable>,
    call_timeout: Duration,
    census_timeout: Duration,
}

impl SqliteStore {
    /// Opens the file, makes it if it is not there, brings its schema up, and lapses the sessions of processes that died.
    /// Blocks while it does.
    pub fn open(config: Config, clock: Arc<dyn Clock>, wakeups: Arc<dyn Wakeups>) -> Result<Self, OpenError> {
        let opened = open::open(&config, clock.as_ref(), &wakeups)?;
        let readers = Readers::new(&config, Arc::clone(&clock));
        let (lock, connection) = (opened.lock, opened.connection);
        let writer = Writer::start(connection, lock, &config, clock, wakeups)
            .map_err(|error| OpenError::Io { path: config.path.clone(), reason: error.to_string() })?;
        let Config { call_timeout, census_timeout, .. } = config;
        let (rotation, claimed, unreadable) = Default::default();
        Ok(Self {
            parts: Arc::new(StoreParts {
                readers,
                writer,
                rotation,
                claimed,
                unreadable,
                call_timeout,
                census_timeout,
            }),
        })
    }

    /// Writes what waits in line, lets reads end, folds the log into the file, ends the writer's thread and gives the lock
    /// back. Whoever calls afterwards is told [`StoreError::Closed`].
    pub async fn close(&self) {
        self.parts.readers.close().await;
        self.parts.writer.close().await;
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Write<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.parts.writer.write(operation).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ReadSnapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.parts.readers.read(self.parts.call_timeout, question).await
    }

    /// A look at everything, with the time that takes.
    pub(crate) async fn read_all<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ReadSnapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.parts.readers.read(self.parts.census_timeout, question).await
    }
}
