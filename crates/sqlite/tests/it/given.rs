//! A store in a directory of its own, with its clock in the test's hands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::{Subject, TenancySubject};
use foreman_core::memory::{LocalWakeups, ManualClock};
use foreman_core::ports::{Store, Tenancy, Wakeups};
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

#[async_trait]
impl TenancySubject for Laptop {
    fn tenancy(&self) -> Arc<dyn Tenancy> {
        Arc::new(self.store.clone())
    }
}

/// Takes a file that nobody has open back to the schema of an earlier version: what came later goes.
pub fn back_to(path: &Path, version: u8) {
    const MIGRATIONS: [&str; 3] = [
        include_str!("../../migrations/0001_places.sql"),
        include_str!("../../migrations/0002_schedules.sql"),
        include_str!("../../migrations/0003_tenants.sql"),
    ];
    let then = rusqlite::Connection::open_in_memory().unwrap();
    then.execute_batch("CREATE TABLE schema_migrations (applied_at INTEGER NOT NULL)").unwrap();
    for migration in &MIGRATIONS[..usize::from(version)] {
        then.execute_batch(migration).unwrap();
    }
    let sql = rusqlite::Connection::open(path).unwrap();
    let before = things(&then);
    for (kind, name) in things(&sql) {
        if name != "schema_migrations" && !before.contains(&(kind.clone(), name.clone())) {
            sql.execute_batch(&format!("DROP {kind} IF EXISTS {name}")).unwrap();
        }
    }
    let before = columns(&then);
    for (table, column) in columns(&sql) {
        if table != "schema_migrations" && !before.contains(&(table.clone(), column.clone())) {
            sql.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}")).unwrap();
        }
    }
    sql.execute("DELETE FROM schema_migrations WHERE version > ?1", [version]).unwrap();
    sql.pragma_update(None, "user_version", version).unwrap();
}

/// The tables and indexes that somebody made.
fn things(sql: &rusqlite::Connection) -> Vec<(String, String)> {
    let mut statement = sql.prepare("SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let things: Vec<(String, String)> = rows.collect::<Result<_, _>>().unwrap();
    things.into_iter().filter(|(_, name)| !name.starts_with("sqlite_")).collect()
}

/// By table and name.
fn columns(sql: &rusqlite::Connection) -> Vec<(String, String)> {
    let mut statement = sql
        .prepare(
            "SELECT tables.name, columns.name FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.schema = 'main' AND tables.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// A fresh one for each promise.
pub async fn laptop() -> Laptop {
    Laptop::new()
}
