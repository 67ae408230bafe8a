//! Opening the file: lock, look, migrate, clear up after whoever died.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreman_core::Clock;
use foreman_core::ports::{StoreError, Wakeups};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use tracing::{info, warn};

use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError};
use crate::lock::{self, Lock};
use crate::migrate;
use crate::sessions;
use crate::write::{Rings, Write};

/// After an unclean stop a file up to this size is looked through before it is used; a larger one would take seconds.
const CHECKED_AT_OPEN: u64 = 64 << 20;

const OWNER_ALONE: u32 = 0o600;

pub(crate) struct OpenFile {
    pub connection: Connection,
    pub lock: Lock,
}

pub(crate) fn open(config: &Config, clock: &dyn Clock, wakeups: &Arc<dyn Wakeups>) -> Result<OpenFile, OpenError> {
    make_directory(&config.path)?;
    let lock = Lock::take(&config.path)?;
    keep_from_others(&config.path)?;
    let named = |fault| OpenError::from_fault(&config.path, fault);
    let mut connection = connection::writing(config).map_err(named)?;
    migrate::bring_up(&mut connection, &config.path, clock)?;
    if !was_closed_in_order(&connection).map_err(named)? {
        check_if_small(&connection, &config.path)?;
    }
    let rings = clear_up(&mut connection, clock).map_err(named)?;
    for topic in rings.topics() {
        wakeups.ring(topic);
    }
    Ok(OpenFile { connection, lock })
}

/// For its owner alone: payloads and headers are nobody else's business. A directory that is there is left as it is.
pub(crate) fn make_directory(path: &Path) -> Result<(), OpenError> {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| OpenError::Io { path: directory.to_owned(), reason: error.to_string() }),
        _ => Ok(()),
    }
}

/// The files are for their owner alone, whatever the umask and the directory say. What SQLite makes beside the data file (the log
/// of writes and its index) takes over the rights of that; those of an earlier version are corrected.
fn keep_from_others(path: &Path) -> Result<(), OpenError> {
    let io = |error: std::io::Error| OpenError::Io { path: path.to_owned(), reason: error.to_string() };
    OpenOptions::new().write(true).create(true).truncate(false).mode(OWNER_ALONE).open(path).map_err(io)?;
    // SQLite follows a link to the data file, and puts its own files beside where that is.
    let path = &*std::fs::canonicalize(path).map_err(io)?;
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    for file in [path.to_owned(), beside("-wal"), beside("-shm"), lock::path_beside(path)] {
        let Ok(found) = std::fs::metadata(&file) else { continue };
        if found.permissions().mode() & 0o777 == OWNER_ALONE {
            continue;
        }
        // The file of somebody else that we may write is theirs to guard.
        if let Err(error) = std::fs::set_permissions(&file, Permissions::from_mode(OWNER_ALONE)) {
            warn!("other users of this machine may be able to read {}: {error}", file.display());
        }
    }
    Ok(())
}

fn was_closed_in_order(connection: &Connection) -> Result<bool, Fault> {
    let clean: Option<bool> =
        connection.query_row("SELECT value FROM store WHERE name = 'clean'", [], |row| row.get(0)).optional()?;
    Ok(clean.unwrap_or(true))
}

fn check_if_small(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let size = std::fs::metadata(path).map(|file| file.len()).unwrap_or_default();
    if size > CHECKED_AT_OPEN {
        warn!(
            "{} was not closed cleanly and is too large to check now; check it with `foreman check --deep`",
            path.display()
        );
        return Ok(());
    }
    quick_check(connection).map_err(|fault| OpenError::from_fault(path, fault))
}

/// Whether SQLite finds its own pages in order.
pub(crate) fn quick_check(connection: &Connection) -> Result<(), Fault> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(StoreError::Damaged(verdict).into()) }
}

/// The lock proves every earlier process dead: their sessions lapse now, without waiting for anyone's TTL.
fn clear_up(connection: &mut Connection, clock: &dyn Clock) -> Result<Rings, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let write = Write::new(&transaction, clock.now());
    let (sessions, jobs) = sessions::bury_all(&write)?;
    write.sql.execute("INSERT INTO store (name, value) VALUES ('clean', 0) ON CONFLICT DO UPDATE SET value = 0", [])?;
    let rings = write.finish()?;
    transaction.commit()?;
    if sessions > 0 {
        info!("{sessions} sessions of dead processes have lapsed; {jobs} of their jobs will run again");
    }
    Ok(rings)
}
