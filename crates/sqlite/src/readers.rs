//! Reads side by side, each on a connection of its own and in a snapshot of its own.
//!
//! A read never waits for the writer nor the writer for it. Each has a deadline, watched from inside SQLite, so that a look
//! at too much neither runs for ever nor keeps the write-ahead log from being cut back. A read begun after a write was
//! answered sees that write.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::ports::StoreError;
use foreman_core::{Clock, Timestamp};
use foreman_runtime::Tasks;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::connection;
use crate::error::Fault;

/// SQLite asks so often (in steps of its machine) whether to go on: a few times per millisecond.
const STEPS: i32 = 10_000;
/// Beyond its own deadline, a read that hangs in the disk is left behind after this.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    clock: Arc<dyn Clock>,
    places: Arc<Semaphore>,
    count: u32,
    idle: Arc<Mutex<Vec<Connection>>>,
    /// Reads under way are given up.
    is_closing: Arc<AtomicBool>,
    tasks: Tasks,
}

/// One question under way.
pub(crate) struct ReadSnapshot<'c> {
    pub sql: &'c Connection,
    pub now: Timestamp,
}

impl Readers {
    pub fn new(config: &Config, clock: Arc<dyn Clock>) -> Self {
        let count = u32::try_from(config.readers.clamp(1, 1_024)).unwrap_or(1);
        Self {
            path: config.path.clone(),
            busy_timeout: config.busy_timeout,
            clock,
            places: Arc::new(Semaphore::new(count as usize)),
            count,
            idle: Arc::default(),
            is_closing: Arc::default(),
            tasks: Tasks::new(),
        }
    }

    /// By the clock that every read and write goes by.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn read<T: Send + 'static>(
        &self,
        limit: Duration,
        question: impl FnOnce(&ReadSnapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = match timeout(limit, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => return Err(StoreError::Unavailable("too many reads are in progress".into())),
        };
        let (path, busy_timeout) = (self.path.clone(), self.busy_timeout);
        let (clock, idle) = (Arc::clone(&self.clock), Arc::clone(&self.idle));
        let is_closing = Arc::clone(&self.is_closing);
        let reading = self.tasks.spawn_blocking("sqlite reader", move || {
            let _place = place;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match kept {
                Some(connection) => connection,
                None => connection::reading(&path, busy_timeout)?,
            };
            let deadline = Instant::now() + limit;
            connection
                .progress_handler(STEPS, Some(move || is_closing.load(Ordering::Relaxed) || Instant::now() >= deadline))
                .map_err(Fault::from)?;
            let answer = ask(&mut connection, clock.as_ref(), question);
            // Only a connection whose question ended well is used again.
            if answer.is_ok() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            answer.map_err(StoreError::from)
        });
        match timeout(limit + GRACE, reading).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panicked)) => Err(StoreError::Broken(panicked.to_string())),
            Err(_) => Err(StoreError::Unavailable("the disk did not answer a read in time".into())),
        }
    }

    /// Gives up the reads under way, waits for them to end, and closes their connections.
    pub async fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        if let Ok(all) = self.places.acquire_many(self.count).await {
            all.forget();
        }
        self.places.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// In one transaction, so that a question of several statements sees one moment.
fn ask<T>(
    connection: &mut Connection,
    clock: &dyn Clock,
    question: impl FnOnce(&ReadSnapshot<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.transaction()?;
    let answer = question(&ReadSnapshot { sql: &transaction, now: clock.now() })?;
    transaction.commit()?;
    Ok(answer)
}
