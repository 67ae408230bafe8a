//! How a connection to the file is set up: the one that writes, and those that only read.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::config::Config;
use crate::error::Fault;

/// Marks the file as ours in its header: "FRMN".
pub(crate) const APPLICATION_ID: i32 = 0x4652_4d4e;

/// A passive checkpoint after so many pages of WAL (16 MiB): fewer, larger ones cost less than SQLite's 1,000.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Kept prepared: the store has fewer statements than this.
const STATEMENTS: usize = 160;

/// The connection that writes. `synchronous=FULL`: a commit is on the disk before anyone is told (NORMAL may lose the last
/// ones with the power).
pub(crate) fn writing(config: &Config) -> Result<Connection, Fault> {
    let connection =
        open(&config.path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, config.busy_timeout)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // The WAL mode is kept in the file; this is the first statement that reads the header.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // After a checkpoint the WAL is cut back to this.
    connection.query_row("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))?;
    // Savepoints journal to memory instead of temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Without it SQLite prepares a statement again whenever a value is bound that its plan might depend on: the limit of a list,
    // the key a line is read from. With claims of 32 jobs that was 13 % of all samples of a profile.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if let Some(pages) = config.max_pages {
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(connection)
}

pub(crate) fn reading(path: &Path, busy_timeout: Duration) -> Result<Connection, Fault> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, busy_timeout)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn open(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Result<Connection, Fault> {
    // NO_MUTEX: a connection is used by one thread at a time, which the types see to.
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_statement_is_prepared_once_whatever_is_bound_to_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let sql = writing(&Config::at(directory.path().join("foreman.db"))).expect("opens");
        sql.execute_batch("CREATE TABLE marks (mark INTEGER PRIMARY KEY) STRICT").expect("creates");
        let mut statement = sql.prepare("SELECT mark FROM marks WHERE mark > ?1 LIMIT ?2").expect("it is SQL");
        for bound in 1..=3 {
            let marks = statement.query_map([bound, bound], |row| row.get::<_, i64>(0)).expect("it runs");
            assert_eq!(marks.count(), 0);
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
