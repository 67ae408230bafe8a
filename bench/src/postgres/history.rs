//! Finished jobs by the million, as weeks of work leave them.
//!
//! The rows have what the store's own have (`rows.rs`): a job is taken through its life by the store, and copied under ids and
//! times that are spread over this week and those before it. Past weeks are filled without indexes, which are built when the
//! partition is attached: ten million jobs take minutes that way, and would take an hour through the store. This week's
//! partition is there already, with its indexes. A commit does not wait for the disk while this is done.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use foreman_runtime::Tasks;
use tokio::time::Instant;
use tokio_postgres::Client;
use uuid::Uuid;

use super::rows::Pattern;
use super::server::Database;
use crate::floor::Hand;
use crate::jobs::JobMaker;
use crate::process::foreman;

/// This one and those before it.
const WEEKS: usize = 8;
/// What a finished job takes on the disk, with its indexes: 1,045 bytes, measured with two million.
const BYTES_PER_JOB: u64 = 1_100;
/// So few are looked at one by one afterwards: the smoke run does.
const FEW: usize = 10_000;
/// What has to stay free beyond it: WAL, and the jobs that are drained.
const SPARE_BYTES: u64 = 5 << 30;

/// From a Monday to the next, or until now.
struct Week {
    /// As the store names its partition.
    name: String,
    begins_ms: i64,
    ends_ms: i64,
    is_this: bool,
}

/// How long the filling took, and how large the database is then.
pub struct Filled {
    pub took: Duration,
    pub bytes: i64,
}

/// Fills a database that is as `foreman migrate` made it with so many finished jobs.
pub async fn fill(database: &Database, maker: &JobMaker, jobs: usize) -> Result<Filled> {
    let start = Instant::now();
    has_room(database, jobs).await?;
    let sql = database.connect().await?;
    let weeks = Arc::new(weeks(&sql).await?);
    let patterns = learn(database, maker).await?;
    let (tasks, mut running) = (Tasks::new(), Vec::new());
    // Side by side, and each its weeks one after the other: attaching a partition locks its table.
    for pattern in patterns {
        let (sql, weeks) = (database.connect().await?, Arc::clone(&weeks));
        running.push(tasks.spawn("history", async move {
            sql.batch_execute("SET synchronous_commit = off; SET maintenance_work_mem = '256MB'").await?;
            for week in &*weeks {
                week.fill(&sql, &pattern, jobs / WEEKS).await.with_context(|| format!("history of {}", week.name))?;
            }
            anyhow::Ok(())
        }));
    }
    for task in running {
        task.await??;
    }
    sql.batch_execute("ANALYZE jobs; ANALYZE outcomes").await?;
    database.checkpoint().await?;
    if jobs <= FEW {
        are_jobs(database).await?;
    }
    let bytes = sql.query_one("SELECT pg_database_size(current_database())", &[]).await?.get(0);
    Ok(Filled { took: start.elapsed(), bytes })
}

/// Foreman's own audit: every job is in exactly one place, and its rows say the same.
async fn are_jobs(database: &Database) -> Result<()> {
    let said = foreman()?.args(["check", "--deep"]).env("DATABASE_URL", &database.url).output().await?;
    let text = String::from_utf8_lossy(&said.stdout);
    ensure!(said.status.success(), "the history is not what the store would have written: {text}");
    Ok(())
}

/// A disk that becomes full would end everything else on this machine too.
async fn has_room(database: &Database, jobs: usize) -> Result<()> {
    let sql = database.connect().await?;
    let directory: String = sql.query_one("SELECT current_setting('data_directory')", &[]).await?.get(0);
    // On another machine, or below a directory that is not ours to see, it cannot be known.
    let Ok(disk) = nix::sys::statvfs::statvfs(directory.as_str()) else { return Ok(()) };
    let free = disk.blocks_available() * disk.fragment_size();
    let needed = jobs as u64 * BYTES_PER_JOB + SPARE_BYTES;
    ensure!(free >= needed, "{jobs} finished jobs need {} GiB of disk, {} are free", needed >> 30, free >> 30);
    Ok(())
}

async fn weeks(sql: &Client) -> Result<Vec<Week>> {
    let asked = "SELECT to_char(monday, '\"w\"YYYYMMDD'), (extract(epoch FROM monday) * 1000)::bigint,
                        (extract(epoch FROM least(monday + interval '1 week', now)) * 1000)::bigint, monday + interval '1 week' > now
                 FROM (SELECT now() AT TIME ZONE 'UTC' AS now) AS moment
                 CROSS JOIN generate_series(date_trunc('week', now) - $1::bigint * interval '1 week', now, '1 week') AS monday
                 ORDER BY monday";
    let rows = sql.query(asked, &[&(WEEKS as i64 - 1)]).await?;
    let week = |row: &tokio_postgres::Row| Week {
        name: row.get(0),
        begins_ms: row.get(1),
        ends_ms: row.get(2),
        is_this: row.get(3),
    };
    Ok(rows.iter().map(week).collect())
}

/// Of `jobs` and `outcomes`, from a job of the store that is done.
async fn learn(database: &Database, maker: &JobMaker) -> Result<[Pattern; 2]> {
    let (store, sql) = (database.store().await?, database.connect().await?);
    store.submit(&maker.batch(0, 1)).await?;
    let hand = Hand::new(Arc::clone(&store), maker.route()).await?;
    ensure!(hand.claim_and_settle(1).await? == 1, "the store did not claim a job that waits");
    hand.end().await?;
    Ok([Pattern::of(&sql, "jobs").await?, Pattern::of(&sql, "outcomes").await?])
}

/// What is not copied: ids and times.
const JOB: [(&str, &str); 3] = [("id", "made.id"), ("created_at", "made.at"), ("first_run_at", "made.at")];
const OUTCOME: [(&str, &str); 4] =
    [("job", "made.id"), ("finished_at", "made.at"), ("run_at", "made.at"), ("started_at", "made.at")];

impl Week {
    async fn fill(&self, sql: &Client, pattern: &Pattern, jobs: usize) -> Result<()> {
        let from = format!(
            "(SELECT to_timestamp(ms / 1000.0) AS at,
                     (lpad(to_hex(ms), 12, '0') || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid AS id
              FROM (SELECT {begins} + {span} * place / {jobs} AS ms, md5(place::text) AS noise
                    FROM generate_series(1::bigint, {jobs}) AS place) AS spread) AS made",
            begins = self.begins_ms,
            span = (self.ends_ms - self.begins_ms - 1).max(1),
        );
        let (table, partition) = (pattern.table, format!("{}_{}", pattern.table, self.name));
        let given = if table == "jobs" { JOB.as_slice() } else { OUTCOME.as_slice() };
        let filled = pattern.insert_into(&partition, given, &from)?;
        if self.is_this {
            sql.batch_execute(&filled).await?;
            return Ok(sql.batch_execute(&format!("VACUUM (ANALYZE) {partition}")).await?);
        }
        let [begins, ends] = [self.begins_ms, self.ends_ms].map(|ms| Uuid::from_u128((ms as u128) << 80));
        // A week that is over is not written to any more: the vacuum has nothing to do there, and is not to come while
        // something is measured.
        sql.batch_execute(&format!(
            "CREATE TABLE {partition} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) WITH (autovacuum_enabled = off);
             {filled};
             ALTER TABLE {table} ATTACH PARTITION {partition} FOR VALUES FROM ('{begins}') TO ('{ends}')"
        ))
        .await?;
        Ok(())
    }
}
