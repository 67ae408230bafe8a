//! The schema and its versions.
//!
//! Migrations are numbered SQL files, compiled in, applied in order, each in a transaction of its own together with its row
//! in `schema_migrations`. Dying half way leaves the file at the version before. Two cannot run at once: [`up`] holds the
//! store's lock.
//!
//! Each migration says which binaries still run on the schema that it makes, and its row keeps that (`serves`): whoever does
//! not like a new version may go back to the one before. A file that a newer binary has migrated and that no longer serves
//! this one is refused rather than guessed at.

use std::path::Path;

pub use foreman_core::storage::MigrationStatus as Status;
use foreman_core::storage::{Applied, Migration, Migrations, Unfit};
use foreman_core::{Clock, Timestamp};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use tracing::info;

use crate::config::Config;
use crate::connection::{self, APPLICATION_ID};
use crate::error::{Fault, OpenError};
use crate::lock::Lock;

const MIGRATIONS: Migrations = Migrations::new(&[
    Migration { version: 1, name: "places", serves: 1, sql: include_str!("../migrations/0001_places.sql") },
    Migration { version: 2, name: "schedules", serves: 1, sql: include_str!("../migrations/0002_schedules.sql") },
    Migration { version: 3, name: "tenants", serves: 1, sql: include_str!("../migrations/0003_tenants.sql") },
    Migration { version: 4, name: "live", serves: 1, sql: include_str!("../migrations/0004_live.sql") },
    Migration { version: 5, name: "outlines", serves: 1, sql: include_str!("../migrations/0005_outlines.sql") },
    Migration { version: 6, name: "upkeep", serves: 1, sql: include_str!("../migrations/0006_upkeep.sql") },
    Migration { version: 7, name: "users", serves: 1, sql: include_str!("../migrations/0007_users.sql") },
    Migration { version: 8, name: "followers", serves: 1, sql: include_str!("../migrations/0008_followers.sql") },
    Migration { version: 9, name: "lines", serves: 1, sql: include_str!("../migrations/0009_lines.sql") },
]);

/// The newest version this binary knows.
pub const LATEST: i64 = MIGRATIONS.latest();

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL, -- SHA-256 of the migration's text
    serves     INTEGER NOT NULL, -- the oldest binary that still runs on what it made, by the newest version that one knows
    applied_at INTEGER NOT NULL
) STRICT";

/// What has been applied to the file at `path`, by newer binaries too, and what waits. A file that is not there has
/// everything waiting.
pub fn status(path: &Path) -> Result<Vec<Status>, OpenError> {
    let applied = if path.exists() {
        let config = Config::default();
        let named = |fault| OpenError::from_fault(path, fault);
        let connection = connection::reading(path, config.busy_timeout).map_err(named)?;
        check(&connection, path)?
    } else {
        Vec::new()
    };
    Ok(MIGRATIONS.overview(&applied))
}

/// Applies what waits and answers with the versions applied. Refused while a foreman runs on the file.
pub fn up(config: &Config, clock: &dyn Clock) -> Result<Vec<i64>, OpenError> {
    crate::open::make_directory(&config.path)?;
    let _lock = Lock::take(&config.path)?;
    let named = |fault| OpenError::from_fault(&config.path, fault);
    let mut connection = connection::writing(config).map_err(named)?;
    bring_up(&mut connection, &config.path, clock)
}

/// Checks the file and applies what waits; the caller holds the lock.
pub(crate) fn bring_up(connection: &mut Connection, path: &Path, clock: &dyn Clock) -> Result<Vec<i64>, OpenError> {
    let applied = check(connection, path)?;
    if let Some(found) = MIGRATIONS.newer(&applied) {
        info!(
            "the schema of {} is version {found}, newer than this binary, which knows up to {LATEST}; still compatible",
            path.display()
        );
    }
    let mut done = Vec::new();
    for migration in MIGRATIONS.waiting(&applied) {
        apply(connection, migration, clock.now()).map_err(|fault| OpenError::from_fault(path, fault))?;
        done.push(migration.version);
    }
    Ok(done)
}

fn apply(connection: &mut Connection, migration: &Migration, now: Timestamp) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLE)?;
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO schema_migrations (version, name, checksum, serves, applied_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        (migration.version, migration.name, migration.checksum(), migration.serves, now.as_micros()),
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", migration.version)?;
    transaction.commit()?;
    Ok(())
}

/// What was applied; an error when the file is not ours, no longer serves this binary, or is not what it would have made.
fn check(connection: &Connection, path: &Path) -> Result<Vec<Applied>, OpenError> {
    let named = |fault| OpenError::from_fault(path, fault);
    let application: i32 = pragma(connection, "application_id").map_err(named)?;
    let has_tables = has_tables(connection).map_err(named)?;
    if !has_tables {
        return Ok(Vec::new());
    }
    if application != APPLICATION_ID {
        let reason = "it is a SQLite database of another program".into();
        return Err(OpenError::NotOurs { path: path.to_owned(), reason });
    }
    let applied = read_applied(connection).map_err(named)?;
    match MIGRATIONS.check(&applied) {
        Ok(()) => Ok(applied),
        Err(Unfit::Newer { found, serves }) => {
            Err(OpenError::Newer { path: path.to_owned(), found, serves, known: LATEST })
        }
        Err(Unfit::Changed { version }) => Err(OpenError::Changed { path: path.to_owned(), version }),
    }
}

fn pragma(connection: &Connection, name: &str) -> Result<i32, Fault> {
    Ok(connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?)
}

fn has_tables(connection: &Connection) -> Result<bool, Fault> {
    let one =
        connection.query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' LIMIT 1", [], |_| Ok(())).optional()?;
    Ok(one.is_some())
}

fn read_applied(connection: &Connection) -> Result<Vec<Applied>, Fault> {
    let mut statement = connection
        .prepare("SELECT version, name, checksum, serves, applied_at FROM schema_migrations ORDER BY version")?;
    let rows = statement.query_map([], |row| {
        Ok(Applied {
            version: row.get(0)?,
            name: row.get(1)?,
            checksum: row.get(2)?,
            serves: row.get(3)?,
            at: Timestamp::from_micros(row.get(4)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragile_index_covers_what_must_run_alone() {
        assert!(foreman_core::ports::is_fragile(2) && !foreman_core::ports::is_fragile(1));
        assert!(MIGRATIONS.known()[0].sql.contains("crashes >= 2"));
    }

    /// The store after the first so many migrations.
    fn after(count: usize) -> Connection {
        let sql = Connection::open_in_memory().expect("memory is there");
        sql.execute_batch(TABLE).expect("it is SQL");
        for migration in &MIGRATIONS.known()[..count] {
            sql.execute_batch(migration.sql).expect("a migration is SQL");
        }
        sql
    }

    fn lines(sql: &Connection, question: &str) -> Vec<String> {
        let mut statement = sql.prepare(question).expect("it is SQL");
        let rows = statement.query_map([], |row| row.get(0)).expect("the schema can be read");
        rows.collect::<Result<_, _>>().expect("the schema is text")
    }

    /// Each column with its table, and all that is said of it.
    fn columns(sql: &Connection) -> Vec<String> {
        lines(
            sql,
            "SELECT concat_ws(' ', tables.name, columns.name, columns.type, 'notnull', \"notnull\", 'default', dflt_value, 'key', pk)
             FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
             WHERE tables.schema = 'main' AND tables.name NOT LIKE 'sqlite_%' ORDER BY 1",
        )
    }

    /// Indexes, and what holds for whole tables.
    fn rules(sql: &Connection) -> Vec<String> {
        let mut rules = lines(sql, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1");
        rules.extend(lines(
            sql,
            "SELECT concat_ws(' ', name, type, wr, strict) FROM pragma_table_list WHERE schema = 'main' ORDER BY 1",
        ));
        rules
    }

    #[test]
    fn a_migration_changes_nothing_that_the_version_before_knows() {
        for (before, migration) in MIGRATIONS.known().iter().enumerate() {
            let (was, is) = (after(before), after(before + 1));
            let (known, now) = (columns(&was), columns(&is));
            for column in &known {
                assert!(now.contains(column), "{} changed {column}", migration.name);
            }
            for rule in rules(&was) {
                assert!(rules(&is).contains(&rule), "{} changed {rule}", migration.name);
            }
            // What it adds to a table that was there can be left unsaid.
            let tables = lines(&was, "SELECT name FROM sqlite_schema WHERE type = 'table'");
            for column in now.iter().filter(|column| !known.contains(column)) {
                let is_old_table = tables.iter().any(|table| column.starts_with(&format!("{table} ")));
                let may_be_left_out = column.contains("notnull 0") || column.contains("default 0");
                assert!(!is_old_table || may_be_left_out, "{} asks the version before for {column}", migration.name);
            }
        }
    }
}
