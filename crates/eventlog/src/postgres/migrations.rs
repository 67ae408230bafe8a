//! The schema of a log: as SQL text to commit, or run directly.
//!
//! `up` in one transaction under a lock, so any number of processes may start with it; what was applied is noted in a table
//! beside the log. It is not taken for granted that the tables are ours: a table of the same name makes it fail, and nothing
//! is changed then.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::log::EventLog;
use super::tables::{ResolvedNames, TableNames, TableNamesError};

const MIGRATIONS: [(i32, &str, &str); 1] = [(1, include_str!("sql/0001_up.sql"), include_str!("sql/0001_down.sql"))];

/// Makes, removes and describes the tables of a log.
#[derive(Clone, Debug, Default)]
pub struct Migrations {
    names: TableNames,
    partition_size: Option<i64>,
}

/// What [`Migrations::restored`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// The log is in the cluster where it was.
    Unchanged,
    /// A new epoch began. Cursors that are ahead of this position go back to it.
    NewEpoch { epoch: i32, starts_after: i64 },
}

#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    #[error(transparent)]
    Names(#[from] TableNamesError),
    #[error("a partition must have at least 1,000 positions, not {0}")]
    PartitionSize(i64),
    #[error("the log was migrated to version {found} by a newer program; this one knows up to {known}")]
    Newer { found: i32, known: i32 },
    #[error("the log could not be migrated")]
    Database(#[from] tokio_postgres::Error),
}

impl Migrations {
    pub fn new(names: TableNames) -> Self {
        Self { names, partition_size: None }
    }

    /// Keeps events in partitions of this many positions, so that retention drops tables instead of deleting rows. An event id
    /// is then unique within its partition only. Ten million is a good size; only a new log can be made so.
    #[must_use]
    pub fn partitioned(self, positions: i64) -> Self {
        Self { partition_size: Some(positions), ..self }
    }

    /// Everything, for a migration tool of your own.
    pub fn up_sql(&self) -> Result<String, MigrationError> {
        let names = self.resolve()?;
        let steps: Vec<String> = MIGRATIONS.iter().map(|(number, up, _)| self.step(&names, *number, up)).collect();
        Ok(format!("{}{}", prelude(&names), steps.join("\n")))
    }

    /// Removes the log with everything in it.
    pub fn down_sql(&self) -> Result<String, MigrationError> {
        let names = self.resolve()?;
        let mut text: String = MIGRATIONS.iter().rev().map(|(_, _, down)| names.render(down)).collect();
        text.push_str(&names.render("DROP TABLE IF EXISTS @migrations@;\n"));
        Ok(text)
    }

    /// Applies what is missing. Returns how many migrations that were.
    pub async fn up(&self, client: &mut Client) -> Result<usize, MigrationError> {
        let names = self.resolve()?;
        let tx = client.transaction().await?;
        // One at a time: the other then finds everything done.
        tx.batch_execute("SELECT pg_advisory_xact_lock(hashtext('foreman_eventlog migrations'))").await?;
        tx.batch_execute(&prelude(&names)).await?;
        let applied = names.render("SELECT coalesce(max(version), 0) FROM @migrations@");
        let found: i32 = tx.query_typed_one(&applied, &[]).await?.try_get(0)?;
        let known = MIGRATIONS[MIGRATIONS.len() - 1].0;
        if found > known {
            return Err(MigrationError::Newer { found, known });
        }
        let mut done = 0;
        for (number, up, _) in MIGRATIONS.iter().filter(|(number, ..)| *number > found) {
            tx.batch_execute(&self.step(&names, *number, up)).await?;
            done += 1;
        }
        tx.commit().await?;
        Ok(done)
    }

    /// Removes the log with everything in it.
    pub async fn down(&self, client: &mut Client) -> Result<(), MigrationError> {
        let tx = client.transaction().await?;
        tx.batch_execute(&self.down_sql()?).await?;
        Ok(tx.commit().await?)
    }

    /// Run after a restore from a backup, before anything appends or reads. Recognizes another cluster by itself, which every
    /// worker also does when it starts; `force` after a restore within the same cluster (to a point in time), which leaves
    /// no trace. Checkpoints were restored with the log and stay; cursors that were handed out ahead of its end go back to it.
    pub async fn restored(&self, client: &mut Client, force: bool) -> Result<Restored, MigrationError> {
        let log = EventLog::new(&self.names)?;
        let tx = client.transaction().await?;
        let said = tx.query_typed_opt(&log.sql.new_epoch, &[(&force, Type::BOOL)]).await?;
        let restored = match said {
            Some(row) => Restored::NewEpoch { epoch: row.try_get(0)?, starts_after: row.try_get(1)? },
            None => Restored::Unchanged,
        };
        tx.commit().await?;
        Ok(restored)
    }

    fn resolve(&self) -> Result<ResolvedNames, MigrationError> {
        match self.partition_size {
            Some(size) if size < 1_000 => Err(MigrationError::PartitionSize(size)),
            _ => Ok(self.names.resolve()?),
        }
    }

    fn step(&self, names: &ResolvedNames, number: i32, up: &str) -> String {
        let up = up
            .replace(
                "@partitioned@",
                if self.partition_size.is_some() { " PARTITION BY RANGE (global_position)" } else { "" },
            )
            .replace("@unique@", &self.unique(names))
            .replace("@partition_size@", &self.partition_size.map_or("NULL".into(), |size| size.to_string()));
        let noted = format!("\nINSERT INTO @migrations@ (version) VALUES ({number});\n");
        names.render(&up) + &names.render(&noted)
    }

    /// A partitioned table can be unique only together with the position, so each partition is by itself. The versions
    /// of a stream are unique all the same: they are drawn under the lock of its row in the table of heads.
    fn unique(&self, names: &ResolvedNames) -> String {
        match self.partition_size {
            None => {
                "CREATE UNIQUE INDEX @events.stream_key@ ON @events@ (tenant, stream_type, stream_id, stream_version);
CREATE UNIQUE INDEX @events.event_id_key@ ON @events@ (event_id);"
                    .into()
            }
            Some(size) => {
                let first: String = (0..4).map(|nth| partition_sql(names, nth * size, (nth + 1) * size)).collect();
                format!(
                    "CREATE INDEX @events.stream_key@ ON @events@ (tenant, stream_type, stream_id, stream_version);\n{first}"
                )
            }
        }
    }
}

/// Positions after `from`, up to and including `to`.
pub(crate) fn partition_sql(names: &ResolvedNames, from: i64, to: i64) -> String {
    let (schema, events) = (&names.events_schema, &names.events);
    let (low, high) = (from + 1, to + 1);
    format!(
        "CREATE TABLE \"{schema}\".\"{events}_p{low}\" PARTITION OF \"{schema}\".\"{events}\" FOR VALUES FROM ({low}) TO ({high});
CREATE UNIQUE INDEX \"{events}_p{low}_event_id_key\" ON \"{schema}\".\"{events}_p{low}\" (event_id);\n"
    )
}

fn prelude(names: &ResolvedNames) -> String {
    // Made only where it is missing: a user without the right to make schemas may still use one that exists.
    let mut text = String::new();
    for schema in names.schemas().into_iter().filter(|schema| *schema != "public") {
        text.push_str(&format!(
            "DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA \"{schema}\"; END IF; END $$;\n"
        ));
    }
    let noted = "CREATE TABLE IF NOT EXISTS @migrations@ (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());\n";
    text + &names.render(noted)
}
