//! The team store: every place of a job in one Postgres, shared by any number of processes.
//!
//! Every verb is one transaction under READ COMMITTED whose statements take the locks the protocol asks for; those that carry
//! it stand in `sql/` with their reasons. What two processes do at once is decided there, by row locks and unique keys,
//! never by who thinks he leads. A process that dies half way leaves a transaction that never happened.
//!
//! A connection that is lost during COMMIT leaves the outcome unknown, and the caller is told that the store is not
//! available: sent again under its identity, the operation waits on the same lock or key and is found or done. Deadlocks and
//! serialization failures are done again here, whole, after a moment.
//!
//! Jobs use one pool of connections, heartbeats another, LISTEN and leases one connection each: an overload of the first
//! lets nobody lapse. Nothing is kept on a connection between transactions but prepared statements, and those can be
//! turned off, so that a pooler in transaction mode may stand between ([`Config::prepare`]).

mod announce;
mod audit_log;
mod census;
mod changes;
mod config;
mod connection;
pub mod doctor;
mod error;
mod followers;
mod indexes;
mod jobs;
mod keys;
pub mod leases;
mod lines;
pub mod migrate;
mod open;
mod order;
mod outlived;
mod partitions;
mod passes;
mod places;
mod query;
mod rows;
mod schedules;
mod sessions;
#[doc(hidden)]
pub mod statements;
mod statistics;
mod tenants;
mod tls;
mod unreadable;
mod upkeep;
mod value;
pub mod wakeups;
mod webhooks;
mod work;
mod write;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deadpool_postgres::Pool;
use foreman_core::Clock;
use foreman_core::ports::{StoreError, Wakeups};
use tokio::time::Instant;

pub use config::Config;
pub use error::OpenError;

use connection::{Beginning, TransactionPurpose};
use write::Rings;

/// A handle on the store; clones share its connections.
#[derive(Clone)]
pub struct PostgresStore {
    parts: Arc<StoreParts>,
}

pub(crate) struct StoreParts {
    data: Pool,
    control: Pool,
    /// One connection that nobody stands between.
    direct: Pool,
    beginning: Beginning,
    prepare: bool,
    clock: Option<Arc<dyn Clock>>,
    wakeups: Arc<dyn Wakeups>,
    call_timeout: Duration,
    census_timeout: Duration,
    changes_patience: Duration,
    /// See [`changes::tag`].
    log_tag: i64,
    floors: jobs::Floors,
    /// After which batch of announced jobs the next count goes on.
    counted_after: AtomicI64,
    expected: jobs::ExpectedJobs,
    known_claims: jobs::KnownClaims,
    /// Whose turn it is between the lines of a lane, as far as this process has claimed.
    turns: Mutex<foreman_core::fair::Turns>,
    unreadable: unreadable::Unreadable,
    /// How far the search for jobs to prune has got.
    outlived: outlived::Outlived,
    minutes: statistics::Minutes,
    lines: lines::LineCleanup,
    /// How long a statement may take that all others wait for.
    ddl_timeout: Duration,
    /// When this process last looked after the partitions.
    tended_at: Mutex<Option<Instant>>,
}

/// Runs an operation in a transaction of its own, again as long as neighbours are the reason that it failed, and rings after
/// its commit: `transact!(store, data, Write, |tx| operation(&tx).await)`.
macro_rules! transact {
    ($store:expr, $pool:ident, $purpose:ident, |$tx:ident| $operation:expr) => {{
        let store: &$crate::PostgresStore = $store;
        store
            .in_time(store.parts.call_timeout, async {
                let mut tries = $crate::write::Tries::new();
                loop {
                    let $tx = $crate::write::Transaction::new(
                        &store.parts,
                        &store.parts.$pool,
                        $crate::connection::TransactionPurpose::$purpose,
                    )
                    .await?;
                    let done: Result<_, $crate::error::Fault> = $operation;
                    if let Some((answer, rings)) = tries.conclude($tx, done).await? {
                        store.ring(rings);
                        return Ok(answer);
                    }
                }
            })
            .await
    }};
}
pub(crate) use transact;

/// Runs a question in a transaction of its own: `look!(store, Read, |tx| question(&tx).await)`. Its end is not waited for.
macro_rules! look {
    ($store:expr, $purpose:ident, |$tx:ident| $question:expr) => {{
        let store: &$crate::PostgresStore = $store;
        let purpose = $crate::connection::TransactionPurpose::$purpose;
        store
            .in_time(store.time_for(purpose), async {
                let mut tries = $crate::write::Tries::new();
                loop {
                    let $tx = $crate::write::Transaction::new(&store.parts, &store.parts.data, purpose).await?;
                    let done: Result<_, $crate::error::Fault> = $question;
                    if let Some(answer) = tries.end_look($tx, done).await? {
                        return Ok(answer);
                    }
                }
            })
            .await
    }};
}
pub(crate) use look;

impl PostgresStore {
    /// Opens the store on a database that has been migrated. Refuses one that is older than this binary, or that
    /// no longer serves it.
    pub async fn open(config: Config, wakeups: Arc<dyn Wakeups>) -> Result<Self, OpenError> {
        open::open(config, wakeups).await
    }

    /// Waits for nobody: what is under way ends, and whoever calls afterwards is told [`StoreError::Closed`].
    pub fn close(&self) {
        self.parts.data.close();
        self.parts.control.close();
        self.parts.direct.close();
    }

    pub(crate) async fn in_time<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(limit, call).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Unavailable(format!("the database did not answer within {limit:?}"))),
        }
    }

    pub(crate) fn time_for(&self, purpose: TransactionPurpose) -> Duration {
        if purpose == TransactionPurpose::Census { self.parts.census_timeout } else { self.parts.call_timeout }
    }

    pub(crate) fn ring(&self, rings: Rings) {
        for topic in rings.topics() {
            self.parts.wakeups.ring(topic);
        }
    }
}
