//! The schema and its versions.
//!
//! Migrations are numbered SQL files, compiled in and applied in order, all that wait in one transaction together with their
//! rows in `foreman_migrations`. Any number of processes may try at once: they wait for each other on an advisory lock of that
//! transaction (which also holds behind a pooler), and the second finds nothing left to do. Dying half way leaves the schema
//! as it was. A schema that a newer binary has made is refused rather than guessed at.

use deadpool_postgres::Object;
use foreman_core::Timestamp;
use foreman_core::ports::StoreError;
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError};
use crate::partitions;
use crate::value::Time;

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: [Migration; 2] = [
    Migration { version: 1, name: "places", sql: include_str!("../migrations/0001_places.sql") },
    Migration { version: 2, name: "schedules", sql: include_str!("../migrations/0002_schedules.sql") },
];

/// The newest version this binary knows.
pub const LATEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS foreman_migrations (
    version    bigint      NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL, -- SHA-256 of the migration's text
    applied_at timestamptz NOT NULL DEFAULT now()
)";

/// "foreman": all migrators of one database wait here, whatever their schema.
const ONE_BY_ONE: i64 = 0x66_6f72_656d_616e;

/// One migration, and when it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub version: i64,
    pub name: &'static str,
    /// `None`: it waits to be applied.
    pub applied_at: Option<Timestamp>,
}

/// A migration that would be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// What has been applied, and what waits. A database without our schema has everything waiting.
pub async fn status(config: &Config) -> Result<Vec<Status>, OpenError> {
    let connection = connect(config).await?;
    let applied = check(&connection, &config.schema).await?;
    let when = |version| applied.iter().find(|row| row.version == version).map(|row| row.at);
    Ok(MIGRATIONS
        .iter()
        .map(|migration| Status {
            version: migration.version,
            name: migration.name,
            applied_at: when(migration.version),
        })
        .collect())
}

/// What [`up`] would do, without doing it.
pub async fn dry_run(config: &Config) -> Result<Vec<Plan>, OpenError> {
    let connection = connect(config).await?;
    let applied = check(&connection, &config.schema).await?;
    Ok(waiting(&applied).map(|Migration { version, name, sql }| Plan { version: *version, name, sql }).collect())
}

/// Applies what waits and answers with the versions applied.
pub async fn up(config: &Config) -> Result<Vec<i64>, OpenError> {
    let connection = connect(config).await?;
    let done = bring_up(&connection, &config.schema).await;
    if done.is_err() {
        let _ = connection.batch_execute("ROLLBACK").await;
    }
    let done = done?;
    partitions::ensure(&connection).await?;
    Ok(done)
}

async fn bring_up(connection: &Object, schema: &str) -> Result<Vec<i64>, OpenError> {
    // Others may be at it, and a migration takes as long as it takes.
    let begin = format!(
        "BEGIN; SET LOCAL lock_timeout = '2min'; SET LOCAL statement_timeout = 0; SET LOCAL search_path = '{schema}';
         SELECT pg_advisory_xact_lock({ONE_BY_ONE}); CREATE SCHEMA IF NOT EXISTS {schema}"
    );
    sql(connection, &begin).await?;
    let applied = check(connection, schema).await?;
    sql(connection, TABLE).await?;
    let mut done = Vec::new();
    for migration in waiting(&applied) {
        sql(connection, migration.sql).await?;
        connection
            .execute(
                "INSERT INTO foreman_migrations (version, name, checksum) VALUES ($1, $2, $3)",
                &[&migration.version, &migration.name, &checksum(migration.sql)],
            )
            .await
            .map_err(Fault::from)?;
        done.push(migration.version);
    }
    sql(connection, "COMMIT").await?;
    Ok(done)
}

fn waiting(applied: &[Applied]) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().filter(|known| applied.iter().all(|row| row.version != known.version))
}

async fn sql(connection: &Object, text: &str) -> Result<(), OpenError> {
    Ok(connection.batch_execute(text).await.map_err(Fault::from)?)
}

async fn connect(config: &Config) -> Result<Object, OpenError> {
    connection::check_schema(&config.schema)?;
    let pool = connection::direct_pool(config)?;
    let connection = pool.get().await.map_err(|error| connection::unavailable(&error))?;
    check_server(&connection).await?;
    Ok(connection)
}

/// Statements of ours need what Postgres 14 brought: `bit_count`.
pub(crate) async fn check_server(connection: &Object) -> Result<(), OpenError> {
    let row = connection
        .query_one(
            "SELECT current_setting('server_version_num')::integer >= 140000, current_setting('server_version')",
            &[],
        )
        .await
        .map_err(Fault::from)?;
    if row.get(0) { Ok(()) } else { Err(OpenError::TooOld { found: row.get(1) }) }
}

pub(crate) struct Applied {
    pub version: i64,
    checksum: String,
    at: Timestamp,
}

/// What was applied; an error when the schema is not ours, from a newer binary, or not what this binary would have made.
pub(crate) async fn check(connection: &Object, schema: &str) -> Result<Vec<Applied>, OpenError> {
    let Some(applied) = read_applied(connection, schema).await? else { return Ok(Vec::new()) };
    let found = applied.iter().map(|row| row.version).max().unwrap_or_default();
    if found > LATEST {
        return Err(OpenError::Newer { found, known: LATEST });
    }
    for row in &applied {
        let known = MIGRATIONS.iter().find(|migration| migration.version == row.version);
        if known.is_none_or(|migration| checksum(migration.sql) != row.checksum) {
            return Err(OpenError::Changed { version: row.version });
        }
    }
    Ok(applied)
}

async fn read_applied(connection: &Object, schema: &str) -> Result<Option<Vec<Applied>>, OpenError> {
    let found = connection
        .query_one(
            "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL",
            &[&format!("{schema}.foreman_migrations"), &format!("{schema}.jobs")],
        )
        .await
        .map_err(Fault::from)?;
    match (found.get(0), found.get(1)) {
        (true, _) => {}
        (false, true) => return Err(OpenError::NotOurs { schema: schema.into() }),
        (false, false) => return Ok(None),
    }
    let text = format!("SELECT version, checksum, applied_at FROM {schema}.foreman_migrations ORDER BY version");
    let rows = connection.query(&text, &[]).await.map_err(Fault::from)?;
    let read = |row: &tokio_postgres::Row| -> Result<Applied, tokio_postgres::Error> {
        Ok(Applied { version: row.try_get(0)?, checksum: row.try_get(1)?, at: row.try_get::<_, Time>(2)?.0 })
    };
    let applied = rows.iter().map(read).collect::<Result<_, _>>().map_err(Fault::from)?;
    Ok(Some(applied))
}

/// Whether the schema is the one this binary was made for.
pub(crate) fn expect_latest(applied: &[Applied]) -> Result<(), OpenError> {
    let found = applied.iter().map(|row| row.version).max().unwrap_or_default();
    if found == LATEST { Ok(()) } else { Err(OpenError::Older { found, needed: LATEST }) }
}

fn checksum(sql: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(sql.as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        OpenError::Store(StoreError::from(Fault::from(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_ascend_one_by_one() {
        let versions: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(versions, (1..=LATEST).collect::<Vec<_>>());
    }

    #[test]
    fn the_fragile_index_covers_what_must_run_alone() {
        assert!(foreman_core::ports::is_fragile(2) && !foreman_core::ports::is_fragile(1));
        assert!(MIGRATIONS[0].sql.contains("crashes >= 2"));
    }
}
