//! How a connection is made, and what every transaction begins with.
//!
//! On a direct connection the timeouts and the schema are set once, when it is made. Behind a pooler in transaction mode
//! nothing set on a connection stays ours, so every transaction sets them for itself, in the same message as its BEGIN.
//!
//! The store only uses connections that may write. A failover can lead to a standby for a moment, and a session that began
//! while the database was read-only stays read-only for as long as it lives: such a server is refused when connecting, a
//! connection that turns out to be read-only is closed together with all that are idle ([`discard`]), and every connection is
//! replaced when it reaches its maximum age, so that none stays with a server that the address no longer leads to.
//!
//! Every wait has an end. Both sides probe a silent peer and drop it after half a minute, the server ends a transaction that is
//! idle, and one that takes longer than any call (Postgres 17 and later: earlier versions have no such limit).

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime};
use foreman_core::Clock;
use foreman_core::ports::StoreError;
use tokio_postgres::config::TargetSessionAttrs;

use crate::config::Config;
use crate::error::OpenError;
use crate::tls;

/// A peer that went away without a word is noticed within half a minute: after this much silence a probe is sent, and again
/// after as much; [`PROBES`] without an answer are the end.
const KEEPALIVE: Duration = Duration::from_secs(10);
const PROBES: u32 = 2;
/// How long what was sent may stay unacknowledged.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// What the server is told for each kind of connection.
#[derive(Clone)]
pub(crate) struct ConnectionSettings {
    schema: String,
    lock_timeout: Duration,
    statement_timeout: Duration,
    idle_timeout: Duration,
    transaction_timeout: Duration,
}

impl ConnectionSettings {
    pub fn new(config: &Config) -> Self {
        Self {
            schema: config.schema.clone(),
            lock_timeout: config.lock_timeout,
            statement_timeout: config.statement_timeout,
            idle_timeout: config.idle_timeout,
            // The caller has given up by then, and so has the process that holds the connection, unless it is frozen.
            transaction_timeout: config.call_timeout + config.idle_timeout,
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

    /// For a connection that nothing stands between.
    fn options(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.pairs().into_iter().chain(probes())
    }

    /// For as long as the session lives. No startup option: an older server would refuse the connection.
    fn transaction_timeout(&self) -> String {
        set_transaction_timeout(self.transaction_timeout, false)
    }

    /// For a session of one's own, such as a test's.
    pub fn as_session(&self) -> String {
        self.pairs().map(|(name, value)| format!("SET {name} = '{value}'")).join("; ")
    }

    fn as_statements(&self) -> String {
        let limit = set_transaction_timeout(self.transaction_timeout, true);
        format!("{}; {limit}", self.pairs().map(|(name, value)| format!("; SET LOCAL {name} = '{value}'")).join(""))
    }
}

/// What the server does about a peer that has gone silent. Only where nothing stands between: a pooler's connections are its own.
fn probes() -> [(&'static str, String); 4] {
    [
        ("tcp_keepalives_idle", KEEPALIVE.as_secs().to_string()),
        ("tcp_keepalives_interval", KEEPALIVE.as_secs().to_string()),
        ("tcp_keepalives_count", PROBES.to_string()),
        ("tcp_user_timeout", UNACKNOWLEDGED.as_millis().to_string()),
    ]
}

/// Does nothing on a server before Postgres 17, which does not know the setting.
pub(crate) fn set_transaction_timeout(limit: Duration, is_local: bool) -> String {
    format!(
        "SELECT set_config('transaction_timeout', '{}', {is_local})
         WHERE current_setting('server_version_num')::integer >= 170000",
        limit.as_millis()
    )
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
    address.keepalives_retries(PROBES).tcp_user_timeout(UNACKNOWLEDGED);
    if address.get_application_name().is_none() {
        address.application_name(&config.application_name);
    }
    Ok(address)
}

/// The address of a connection nobody stands between, with its settings.
pub(crate) fn direct(config: &Config) -> Result<tokio_postgres::Config, OpenError> {
    let mut address = address(config.direct_url(), config)?;
    address.target_session_attrs(TargetSessionAttrs::ReadWrite);
    add_options(&mut address, ConnectionSettings::new(config).options());
    Ok(address)
}

/// The same without settings, but for what makes either side notice that the other is gone.
pub(crate) fn probed(config: &Config) -> Result<tokio_postgres::Config, OpenError> {
    let mut address = address(config.direct_url(), config)?;
    add_options(&mut address, probes());
    Ok(address)
}

fn add_options(address: &mut tokio_postgres::Config, pairs: impl IntoIterator<Item = (&'static str, String)>) {
    let mut options = address.get_options().unwrap_or_default().to_owned();
    for (name, value) in pairs {
        options.push_str(&format!(" -c {name}={value}"));
    }
    address.options(options.trim_start());
}

/// Connections are opened when they are first needed.
pub(crate) fn pool(config: &Config, connections: usize) -> Result<Pool, OpenError> {
    let mut address = address(&config.url, config)?;
    address.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.prepare {
        add_options(&mut address, ConnectionSettings::new(config).options());
        return pool_at(address, config, connections, Bound::ByTheServer);
    }
    // Each transaction has its own limit.
    pool_at(address, config, connections, Bound::None)
}

/// One connection that nobody stands between.
pub(crate) fn direct_pool(config: &Config) -> Result<Pool, OpenError> {
    pool_at(direct(config)?, config, 1, Bound::ByTheServer)
}

/// The same for a migration, which takes as long as it takes, and for a look at what was migrated, which a standby answers too.
pub(crate) fn patient_pool(config: &Config) -> Result<Pool, OpenError> {
    let mut address = direct(config)?;
    address.target_session_attrs(TargetSessionAttrs::Any);
    pool_at(address, config, 1, Bound::None)
}

/// What bounds a transaction as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    None,
    ByTheServer,
}

fn pool_at(
    address: tokio_postgres::Config,
    config: &Config,
    connections: usize,
    bound: Bound,
) -> Result<Pool, OpenError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let oldest = oldest(config);
    let mut pool = Pool::builder(Manager::from_config(address, tls::connector(config)?, recycling))
        .max_size(connections)
        // The one that was used last has its statements prepared and its pages at hand, and whoever asks one thing after the
        // other comes behind what it left unheard.
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(config.acquire_timeout))
        .create_timeout(Some(config.connect_timeout))
        .recycle_timeout(Some(config.connect_timeout))
        .pre_recycle(Hook::sync_fn(move |_, metrics| {
            if metrics.age() < oldest { Ok(()) } else { Err(HookError::message("it has reached its maximum age")) }
        }));
    if bound == Bound::ByTheServer {
        let text: Arc<str> = ConnectionSettings::new(config).transaction_timeout().into();
        pool = pool.post_create(Hook::async_fn(move |client, _| {
            let text = Arc::clone(&text);
            Box::pin(async move { client.batch_execute(&text).await.map_err(HookError::Backend) })
        }));
    }
    pool.build().map_err(|error| OpenError::Address { reason: error.to_string() })
}

/// Up to a tenth longer than the setting, differently in each pool: processes that connected at one moment, after an outage, do
/// not all connect again at one moment.
pub(crate) fn oldest(config: &Config) -> Duration {
    config.max_connection_age.mul_f64(1.0 + rand::random::<f64>() / 10.0)
}

/// Closes a connection that turned out to be read-only, and the idle ones beside it, which were made at the same time or before
/// it: the next are made anew, to wherever the address leads by then.
pub(crate) fn discard(connection: Object) {
    if let Some(pool) = Object::pool(&connection) {
        drop(pool.retain(|_, _| false));
    }
    drop(Object::take(connection));
}

/// What a transaction is for; it decides how it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionPurpose {
    Write,
    /// A write that need not wait for the disk: losing it wastes something, and breaks nothing.
    Hint,
    /// One look, or several that each see what is newest.
    Look,
    /// Several looks at one moment.
    Read,
    /// A look at everything, which takes its time.
    Census,
}

/// The first message of a transaction.
pub(crate) struct Beginning {
    /// Nothing, where the connection itself was told.
    settings: String,
    census_timeout: Duration,
}

impl Beginning {
    pub fn new(config: &Config) -> Self {
        let settings = if config.prepare { String::new() } else { ConnectionSettings::new(config).as_statements() };
        Self { settings, census_timeout: config.census_timeout }
    }

    /// On a connection that nobody stands between, which was told when it was made.
    pub fn direct(config: &Config) -> Self {
        Self { settings: String::new(), census_timeout: config.census_timeout }
    }

    pub fn text(&self, purpose: TransactionPurpose, clock: Option<&dyn Clock>) -> String {
        let begin = match purpose {
            // Said each time, whatever the role or the database has as its default: under a stricter level every statement would
            // see what the first one saw, and a sweep would miss the very claim that it had waited for.
            TransactionPurpose::Write | TransactionPurpose::Hint | TransactionPurpose::Look => {
                "BEGIN ISOLATION LEVEL READ COMMITTED"
            }
            TransactionPurpose::Read | TransactionPurpose::Census => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let mut text = format!("{begin}{}", self.settings);
        match purpose {
            TransactionPurpose::Hint => text.push_str("; SET LOCAL synchronous_commit = off"),
            // It looks at everything: here the planner may do as it likes.
            TransactionPurpose::Census => text.push_str(&format!(
                "; SET LOCAL statement_timeout = '{}'; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;
                 SET LOCAL plan_cache_mode = auto; {}",
                self.census_timeout.as_millis(),
                // A limit that is changed does not change a timer that runs; none stops it.
                set_transaction_timeout(Duration::ZERO, true)
            )),
            TransactionPurpose::Write | TransactionPurpose::Look | TransactionPurpose::Read => {}
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
        PoolError::Backend(error) if is_refused_as_read_only(error) => StoreError::Unavailable(READ_ONLY.into()),
        other => StoreError::Unavailable(crate::error::chain(other)),
    }
}

/// What the caller is told; `foreman doctor` says which of the two it is.
pub(crate) const READ_ONLY: &str = "the database is read-only: it is a standby, or default_transaction_read_only is on";

/// The check that [`TargetSessionAttrs::ReadWrite`] makes.
fn is_refused_as_read_only(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(says_read_only)
}

/// The same kind of error comes from the system, with its number, for a socket that this user may not open.
fn says_read_only(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_socket_that_may_not_be_opened_is_no_database_that_can_only_be_read() {
        assert!(says_read_only(&Error::new(ErrorKind::PermissionDenied, "database does not allow writes")));
        assert!(!says_read_only(&Error::from_raw_os_error(13)));
        assert_eq!(Error::from_raw_os_error(13).kind(), ErrorKind::PermissionDenied);
        assert!(!says_read_only(&Error::from(ErrorKind::ConnectionRefused)));
    }
}
