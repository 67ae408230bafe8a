//! How a connection is made, and what every transaction begins with.
//!
//! On a direct connection the timeouts and the schema are set once, when it is made. Behind a pooler in transaction mode
//! nothing set on a connection stays ours, so every transaction sets them for itself, in the same message as its BEGIN.

use std::str::FromStr;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime};
use foreman_core::Clock;
use foreman_core::ports::StoreError;

use crate::config::Config;
use crate::error::OpenError;
use crate::tls;

/// Noticed within half a minute: a peer that went away without a word.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// What the server is told for each kind of connection.
#[derive(Clone)]
pub(crate) struct Settings {
    schema: String,
    lock_timeout: Duration,
    statement_timeout: Duration,
    idle_timeout: Duration,
}

impl Settings {
    pub fn new(config: &Config) -> Self {
        Self {
            schema: config.schema.clone(),
            lock_timeout: config.lock_timeout,
            statement_timeout: config.statement_timeout,
            idle_timeout: config.idle_timeout,
        }
    }

    fn pairs(&self) -> [(&'static str, String); 8] {
        [
            // A statement is planned once for each connection, not at every call, which takes longer than to run it.
            ("plan_cache_mode", "force_generic_plan".into()),
            // That plan must do for a queue of a million as for an empty one. Planned on an empty table, a claim would otherwise
            // be a scan of everything with a sort behind it; all we ask for lies in the order of an index.
            ("enable_seqscan", "off".into()),
            ("enable_bitmapscan", "off".into()),
            // Estimates mean little then, and must not make the server compile what runs for a millisecond.
            ("jit", "off".into()),
            ("search_path", self.schema.clone()),
            ("lock_timeout", self.lock_timeout.as_millis().to_string()),
            ("statement_timeout", self.statement_timeout.as_millis().to_string()),
            ("idle_in_transaction_session_timeout", self.idle_timeout.as_millis().to_string()),
        ]
    }

    fn as_options(&self) -> String {
        self.pairs().map(|(name, value)| format!("-c {name}={value}")).join(" ")
    }

    /// For a session of one's own, such as a test's.
    pub fn as_session(&self) -> String {
        self.pairs().map(|(name, value)| format!("SET {name} = '{value}'")).join("; ")
    }

    fn as_statements(&self) -> String {
        self.pairs().map(|(name, value)| format!("; SET LOCAL {name} = '{value}'")).join("")
    }
}

/// A schema's name goes into statements as it is.
pub(crate) fn check_schema(schema: &str) -> Result<(), OpenError> {
    let fits = (1..=48).contains(&schema.len())
        && schema.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !schema.as_bytes()[0].is_ascii_digit();
    if fits {
        Ok(())
    } else {
        let reason = format!("{schema:?} is no name for a schema: use 1 to 48 small letters, digits and underscores");
        Err(OpenError::Address { reason })
    }
}

pub(crate) fn address(url: &str, config: &Config) -> Result<tokio_postgres::Config, OpenError> {
    let mut address = tokio_postgres::Config::from_str(url)
        .map_err(|error| OpenError::Address { reason: crate::error::without_secrets(&error) })?;
    address.connect_timeout(config.connect_timeout).keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE);
    address.keepalives_retries(2).tcp_user_timeout(KEEPALIVE * 3);
    if address.get_application_name().is_none() {
        address.application_name(&config.application_name);
    }
    Ok(address)
}

/// The address of a connection nobody stands between, with its settings.
pub(crate) fn direct(config: &Config) -> Result<tokio_postgres::Config, OpenError> {
    let mut address = address(config.direct_url(), config)?;
    add_options(&mut address, &Settings::new(config));
    Ok(address)
}

fn add_options(address: &mut tokio_postgres::Config, settings: &Settings) {
    let given = address.get_options().map(|given| format!("{given} ")).unwrap_or_default();
    address.options(format!("{given}{}", settings.as_options()));
}

/// Connections are opened when they are first needed.
pub(crate) fn pool(config: &Config, connections: usize) -> Result<Pool, OpenError> {
    let mut address = address(&config.url, config)?;
    if config.prepare {
        add_options(&mut address, &Settings::new(config));
    }
    pool_at(address, config, connections)
}

/// One connection that nobody stands between, for what is done once.
pub(crate) fn direct_pool(config: &Config) -> Result<Pool, OpenError> {
    pool_at(direct(config)?, config, 1)
}

fn pool_at(address: tokio_postgres::Config, config: &Config, connections: usize) -> Result<Pool, OpenError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    Pool::builder(Manager::from_config(address, tls::connector(config)?, recycling))
        .max_size(connections)
        // The one that was used last has its statements prepared and its pages at hand, and whoever asks one thing after the
        // other comes behind what it left unheard.
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(config.acquire_timeout))
        .create_timeout(Some(config.connect_timeout))
        .recycle_timeout(Some(config.connect_timeout))
        .build()
        .map_err(|error| OpenError::Address { reason: error.to_string() })
}

/// What a transaction is for; it decides how it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Write,
    /// A write that need not wait for the disk: losing it wastes something, and breaks nothing.
    Hint,
    /// One look, or several that each see what is newest.
    Look,
    /// Several looks at one moment.
    Read,
    /// A look at everything, which takes its time.
    Audit,
}

/// The first message of a transaction.
pub(crate) struct Beginning {
    /// Nothing, where the connection itself was told.
    settings: String,
    audit_timeout: Duration,
}

impl Beginning {
    pub fn new(config: &Config) -> Self {
        let settings = if config.prepare { String::new() } else { Settings::new(config).as_statements() };
        Self { settings, audit_timeout: config.audit_timeout }
    }

    /// On a connection that nobody stands between, which was told when it was made.
    pub fn direct(config: &Config) -> Self {
        Self { settings: String::new(), audit_timeout: config.audit_timeout }
    }

    pub fn text(&self, purpose: Purpose, clock: Option<&dyn Clock>) -> String {
        let begin = match purpose {
            // Said each time, whatever the role or the database has as its default: under a stricter level every statement would
            // see what the first one saw, and a sweep would miss the very claim that it had waited for.
            Purpose::Write | Purpose::Hint | Purpose::Look => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Purpose::Read | Purpose::Audit => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let mut text = format!("{begin}{}", self.settings);
        match purpose {
            Purpose::Hint => text.push_str("; SET LOCAL synchronous_commit = off"),
            // It looks at everything: here the planner may do as it likes.
            Purpose::Audit => text.push_str(&format!(
                "; SET LOCAL statement_timeout = '{}'; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;
                 SET LOCAL plan_cache_mode = auto",
                self.audit_timeout.as_millis()
            )),
            Purpose::Write | Purpose::Look | Purpose::Read => {}
        }
        if let Some(clock) = clock {
            text.push_str(&format!("; SET LOCAL foreman.now = '{}'", clock.now()));
        }
        text
    }
}

/// Why no connection was to be had.
pub(crate) fn unavailable(error: &deadpool_postgres::PoolError) -> StoreError {
    use deadpool_postgres::{PoolError, TimeoutType};
    match error {
        PoolError::Timeout(TimeoutType::Wait) => {
            StoreError::Unavailable("every connection to the database is in use".into())
        }
        PoolError::Timeout(_) => StoreError::Unavailable("the database does not answer".into()),
        PoolError::Closed => StoreError::Closed,
        other => StoreError::Unavailable(crate::error::chain(other)),
    }
}
