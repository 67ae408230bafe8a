//! The schema and its versions.
//!
//! Migrations are numbered SQL files, compiled in and applied in order, all that wait in one transaction together with their
//! rows in `foreman_migrations`. Any number of processes may try at once: they wait for each other on an advisory lock of that
//! transaction (which also holds behind a pooler), and the second finds nothing left to do. Dying half way leaves the schema
//! as it was. Those who work on the tables meanwhile are given way to, whole: it is undone and tried again.
//!
//! Each migration says which binaries still run on the schema that it makes, and its row keeps that (`serves`): an upgrade
//! migrates first and replaces the processes one by one, so the version before goes on working, and may be gone back to. A
//! schema that a newer binary has made and that no longer serves this one is refused rather than guessed at.

use std::time::Duration;

use deadpool_postgres::Object;
use foreman_core::ports::StoreError;
pub use foreman_core::storage::MigrationStatus as Status;
use foreman_core::storage::{Applied, Migration, Migrations, Unfit};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tracing::warn;

use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError};
use crate::value::Time;
use crate::{indexes, partitions};

const MIGRATIONS: Migrations = Migrations::new(&[
    Migration { version: 1, name: "places", serves: 1, sql: include_str!("../migrations/0001_places.sql") },
    Migration { version: 2, name: "schedules", serves: 1, sql: include_str!("../migrations/0002_schedules.sql") },
    Migration { version: 3, name: "tenants", serves: 1, sql: include_str!("../migrations/0003_tenants.sql") },
    Migration { version: 4, name: "live", serves: 1, sql: include_str!("../migrations/0004_live.sql") },
    Migration { version: 5, name: "outlines", serves: 1, sql: include_str!("../migrations/0005_outlines.sql") },
    Migration { version: 6, name: "disabled", serves: 1, sql: include_str!("../migrations/0006_disabled.sql") },
    Migration { version: 7, name: "upkeep", serves: 1, sql: include_str!("../migrations/0007_upkeep.sql") },
    Migration { version: 8, name: "tasks", serves: 1, sql: include_str!("../migrations/0008_tasks.sql") },
    Migration { version: 9, name: "followers", serves: 1, sql: include_str!("../migrations/0009_followers.sql") },
    Migration { version: 10, name: "claims", serves: 1, sql: include_str!("../migrations/0010_claims.sql") },
    Migration { version: 11, name: "queue_names", serves: 1, sql: include_str!("../migrations/0011_queue_names.sql") },
    Migration { version: 12, name: "announce", serves: 1, sql: include_str!("../migrations/0012_announce.sql") },
]);

/// The newest version this binary knows.
pub const LATEST: i64 = MIGRATIONS.latest();

const TABLE: &str = "CREATE TABLE IF NOT EXISTS foreman_migrations (
    version    bigint      NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL, -- SHA-256 of the migration's text
    serves     bigint      NOT NULL, -- the oldest binary that still runs on what it made, by the newest version that one knows
    applied_at timestamptz NOT NULL DEFAULT now()
)";

/// "foreman": all migrators of one database wait here, whatever their schema.
const ONE_BY_ONE: i64 = 0x66_6f72_656d_616e;

/// How often it gives way to those who work on the tables, and how long it lets them: three minutes in all.
const TRIES: usize = 60;
const PAUSE: Duration = Duration::from_secs(1);
/// The same for partitions.
const PARTITION_TRIES: usize = 5;

/// A migration that would be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMigration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// What has been applied, by newer binaries too, and what waits. A database without our schema has everything waiting.
pub async fn status(config: &Config) -> Result<Vec<Status>, OpenError> {
    let connection = connect(config).await?;
    let applied = check(&connection, &config.schema).await?;
    Ok(MIGRATIONS.overview(&applied))
}

/// What [`up`] would do, without doing it.
pub async fn dry_run(config: &Config) -> Result<Vec<PlannedMigration>, OpenError> {
    let connection = connect(config).await?;
    let applied = check(&connection, &config.schema).await?;
    Ok(MIGRATIONS
        .waiting(&applied)
        .map(|Migration { version, name, sql, .. }| PlannedMigration { version: *version, name, sql })
        .collect())
}

/// Applies what waits and answers with the versions applied.
pub async fn up(config: &Config) -> Result<Vec<i64>, OpenError> {
    let connection = connect(config).await?;
    let mut left = TRIES;
    let done = loop {
        match bring_up(&connection, &config.schema).await {
            Ok(done) => break done,
            Err(hitch) => {
                // Also where the connection is gone: then this fails too, and nothing was kept.
                let _ = connection.batch_execute("ROLLBACK").await;
                left -= 1;
                if left == 0 || !hitch.may_pass() {
                    return Err(hitch.into());
                }
                sleep(PAUSE).await;
            }
        }
    };
    make_partitions(&connection).await;
    indexes::ensure(&connection).await;
    Ok(done)
}

/// What was asked for is done by then, so this does not fail it: a week that cannot be made now, because somebody works on the
/// tables all the time, is made by a scheduler, and jobs go to the default partition until then.
async fn make_partitions(connection: &Object) {
    for left in (0..PARTITION_TRIES).rev() {
        let Err(fault) = partitions::ensure(connection).await else { return };
        if left == 0 || !Hitch::Failed(fault).may_pass() {
            break;
        }
        sleep(PAUSE).await;
    }
    warn!("not all partitions of the coming weeks exist yet; a scheduler creates them within ten minutes");
}

/// Why it did not come about.
enum Hitch {
    Refused(OpenError),
    Failed(Fault),
}

impl Hitch {
    /// Those who work on the tables were in the way, and may not be the next time.
    fn may_pass(&self) -> bool {
        let Hitch::Failed(Fault::Sql(error)) = self else { return false };
        [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].iter().any(|code| error.code() == Some(code))
    }
}

impl From<OpenError> for Hitch {
    fn from(error: OpenError) -> Self {
        Hitch::Refused(error)
    }
}

impl From<tokio_postgres::Error> for Hitch {
    fn from(error: tokio_postgres::Error) -> Self {
        Hitch::Failed(error.into())
    }
}

impl From<Hitch> for OpenError {
    fn from(hitch: Hitch) -> Self {
        match hitch {
            Hitch::Refused(error) => error,
            Hitch::Failed(fault) => fault.into(),
        }
    }
}

async fn bring_up(connection: &Object, schema: &str) -> Result<Vec<i64>, Hitch> {
    // Others may be at it, and a migration takes as long as it takes. But the processes of the version before work on these
    // tables, and wait behind whoever waits for a lock of them: so nobody does so for long, and tries again instead.
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED;
         SET LOCAL lock_timeout = '2min'; SET LOCAL statement_timeout = 0; SET LOCAL search_path = '{schema}';
         SELECT pg_advisory_xact_lock({ONE_BY_ONE});
         SET LOCAL lock_timeout = '2s'; CREATE SCHEMA IF NOT EXISTS {schema}"
    );
    connection.batch_execute(&begin).await?;
    let applied = check(connection, schema).await?;
    connection.batch_execute(TABLE).await?;
    let mut done = Vec::new();
    for migration in MIGRATIONS.waiting(&applied) {
        connection.batch_execute(migration.sql).await?;
        connection
            .execute(
                "INSERT INTO foreman_migrations (version, name, checksum, serves) VALUES ($1, $2, $3, $4)",
                &[&migration.version, &migration.name, &migration.checksum(), &migration.serves],
            )
            .await?;
        done.push(migration.version);
    }
    connection.batch_execute("COMMIT").await?;
    Ok(done)
}

async fn connect(config: &Config) -> Result<Object, OpenError> {
    connection::check_schema(&config.schema)?;
    let pool = connection::patient_pool(config)?;
    let connection = pool.get().await.map_err(|error| connection::unavailable(&error))?;
    check_server(&connection).await?;
    Ok(connection)
}

/// Statements of ours need what Postgres 14 brought: `bit_count`.
pub(crate) async fn check_server(connection: &Object) -> Result<(), OpenError> {
    let row = connection
        .query_one(
            "SELECT current_setting('server_version_num')::integer >= 140000, current_setting('server_version'),
                    current_setting('server_encoding')",
            &[],
        )
        .await
        .map_err(Fault::from)?;
    if !row.get::<_, bool>(0) {
        return Err(OpenError::TooOld { found: row.get(1) });
    }
    // SQL_ASCII takes text as it comes, which is UTF-8.
    let encoding: String = row.get(2);
    if matches!(&*encoding, "UTF8" | "SQL_ASCII") { Ok(()) } else { Err(OpenError::Encoding { found: encoding }) }
}

/// What was applied; an error when the schema is not ours, no longer serves this binary, or is not what it would have made.
pub(crate) async fn check(connection: &Object, schema: &str) -> Result<Vec<Applied>, OpenError> {
    let Some(applied) = read_applied(connection, schema).await? else { return Ok(Vec::new()) };
    match MIGRATIONS.check(&applied) {
        Ok(()) => Ok(applied),
        Err(Unfit::Newer { found, serves }) => Err(OpenError::Newer { found, serves, known: LATEST }),
        Err(Unfit::Changed { version }) => Err(OpenError::Changed { version }),
    }
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
    let text =
        format!("SELECT version, name, checksum, serves, applied_at FROM {schema}.foreman_migrations ORDER BY version");
    let rows = connection.query(&text, &[]).await.map_err(Fault::from)?;
    let read = |row: &tokio_postgres::Row| -> Result<Applied, tokio_postgres::Error> {
        Ok(Applied {
            version: row.try_get(0)?,
            name: row.try_get(1)?,
            checksum: row.try_get(2)?,
            serves: row.try_get(3)?,
            at: row.try_get::<_, Time>(4)?.0,
        })
    };
    let applied = rows.iter().map(read).collect::<Result<_, _>>().map_err(Fault::from)?;
    Ok(Some(applied))
}

/// Whether everything that this binary needs is there. Answers the version of the schema, which may be newer.
pub(crate) fn expect_latest(applied: &[Applied]) -> Result<i64, OpenError> {
    let found = applied.iter().map(|row| row.version).max().unwrap_or_default();
    if MIGRATIONS.waiting(applied).next().is_none() {
        Ok(found)
    } else {
        Err(OpenError::Older { found, needed: LATEST })
    }
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
    fn the_fragile_index_covers_what_must_run_alone() {
        assert!(foreman_core::ports::is_fragile(2) && !foreman_core::ports::is_fragile(1));
        assert!(MIGRATIONS.known()[0].sql.contains("crashes >= 2"));
    }
}
