//! How the store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::Clock;

/// Typed and complete; only the address has no default worth having.
#[derive(Clone)]
pub struct Config {
    /// `postgres://user:password@host:port/database`, or `key=value` pairs. May lead to a pooler in transaction mode if
    /// `prepare` is off.
    pub url: String,
    /// The same database without a pooler between, for what needs a connection of its own: LISTEN, leases, migrations.
    /// `None`: `url` is direct.
    pub direct_url: Option<String>,
    /// Certificates (PEM) of who may vouch for the server. `None`: with TLS the server is believed to be who it says.
    pub tls_ca: Option<PathBuf>,
    /// Where the tables are. Made by the first migration.
    pub schema: String,
    /// Connections for jobs.
    pub data_connections: usize,
    /// Connections for heartbeats, registrations and sweeps: an overload of jobs must not let sessions lapse.
    pub control_connections: usize,
    /// Keep statements prepared on their connections. Off: nothing is left behind on a connection, so that a pooler may
    /// give every transaction another one (PgBouncer in transaction mode).
    pub prepare: bool,
    /// What the server shows beside our connections.
    pub application_name: String,
    /// How long a caller waits for a free connection.
    pub acquire_timeout: Duration,
    pub connect_timeout: Duration,
    /// How old a connection may become before another takes its place.
    pub max_connection_age: Duration,
    /// How long a statement waits for somebody else's lock.
    pub lock_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a transaction of ours may stand idle before the server ends it: a process that hangs must not hold locks. Well
    /// below the TTL of sessions: a worker frozen in the middle of a claim has its own session locked, and nobody can lapse it
    /// meanwhile (with 30 s its jobs ran elsewhere after 34 s instead of 16).
    pub idle_timeout: Duration,
    /// How long one call may take in all. Past it a write's outcome is unknown.
    pub call_timeout: Duration,
    /// The longest look at everything: the census.
    pub census_timeout: Duration,
    /// How long a read of the change log waits for what is committed but may still be overtaken.
    pub changes_patience: Duration,
    /// What time it is, in tests. `None`: the clock of the database says.
    pub clock: Option<Arc<dyn Clock>>,
}

impl Config {
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            direct_url: None,
            tls_ca: None,
            schema: "foreman".into(),
            data_connections: 8,
            control_connections: 2,
            prepare: true,
            application_name: "foreman".into(),
            acquire_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            max_connection_age: Duration::from_mins(30),
            lock_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(15),
            census_timeout: Duration::from_mins(10),
            changes_patience: Duration::from_millis(200),
            clock: None,
        }
    }

    /// How many connections this process may have open at once, those of wake-ups (two), leases and partitions
    /// (one each) included.
    pub fn connections(&self) -> usize {
        self.data_connections + self.control_connections + 4
    }

    pub(crate) fn direct_url(&self) -> &str {
        self.direct_url.as_deref().unwrap_or(&self.url)
    }
}
