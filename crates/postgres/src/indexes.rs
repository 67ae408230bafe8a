//! Indexes on all that ever was, built while everybody works.
//!
//! Building one within a migration would stop every worker for as long as it takes to read the history, heartbeats too, and
//! a worker that does not renew its session is lapsed: with a week of a busy team's jobs that is minutes. So these are built after
//! the migration, week by week and concurrently; what depends on them is right before, and slow.
//!
//! Of any number that migrate at once one builds them, and the others leave it to that one. A process that dies half way, or is kept
//! from it by a transaction that somebody has left open, leaves an index behind that is not valid; the next `foreman migrate up`
//! drops it and begins again.
//!
//! An index that only the version before needs is kept while that version may still run, or come back: it is dropped by the first
//! `foreman migrate up` a day after the last migration. A database in which nothing has happened yet has no version before.

use std::time::Duration;

use deadpool_postgres::ClientWrapper;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tracing::{info, warn};

use crate::error::Fault;

/// An index on a table with a partition for each week.
struct Index {
    table: &'static str,
    name: &'static str,
    /// Of the index of one partition, after the partition's name.
    suffix: &'static str,
    definition: &'static str,
}

/// What lists and groups go by. Those of users leave out Foreman's own jobs (`left(queue, 8) <> 'foreman.'`): a tenant with a
/// hundred thousand deliveries and five jobs finds the five without walking over the deliveries. The others have Foreman's own
/// alone, so that a job is in one of two and costs one entry.
const INDEXES: [Index; 6] = [
    // Groups of errors, one after the other, and the jobs of each by time. A job that completes is not in it. Nor does a job of
    // a version without groups have one; those of them that are dead are in it all the same, because they are shown as one.
    Index {
        table: "outcomes",
        name: "outcomes_by_error",
        suffix: "by_error",
        definition: "(tenant, state, error_group, finished_at, job) WHERE error_group IS NOT NULL OR state = 'dead'",
    },
    Index {
        table: "jobs",
        name: "jobs_of_users",
        suffix: "of_users",
        definition: "(tenant, id) WHERE left(queue, 8) <> 'foreman.'",
    },
    Index {
        table: "jobs",
        name: "jobs_of_foreman",
        suffix: "of_foreman",
        definition: "(tenant, id) WHERE left(queue, 8) = 'foreman.'",
    },
    // With the queue, so that what ended within the last minute is counted without reading the rows.
    Index {
        table: "outcomes",
        name: "ended_of_users",
        suffix: "ended_of_users",
        definition: "(tenant, state, finished_at, job) INCLUDE (queue) WHERE left(queue, 8) <> 'foreman.'",
    },
    Index {
        table: "outcomes",
        name: "ended_of_foreman",
        suffix: "ended_of_foreman",
        definition: "(tenant, state, finished_at, job) INCLUDE (queue) WHERE left(queue, 8) = 'foreman.'",
    },
    // As the first; those that failed without a group are in it too.
    Index {
        table: "outcomes",
        name: "failures_of_users",
        suffix: "failures_of_users",
        definition: "(tenant, state, error_group, finished_at, job)
            WHERE (error_group IS NOT NULL OR state IN ('failed', 'dead')) AND left(queue, 8) <> 'foreman.'",
    },
];

/// What the version before goes by, and this one no more.
const OUTDATED: [&str; 3] = ["jobs_of_tenant", "outcomes_by_state", "outcomes_of_users"];

/// Whether nobody runs it any more, or ever has.
const IS_OUTDATED: &str = "SELECT max(applied_at) < now() - interval '1 day'
    OR min(applied_at) > now() - interval '1 hour' AND NOT EXISTS (SELECT FROM jobs) AND NOT EXISTS (SELECT FROM sessions)
    FROM foreman_migrations";

/// "indexes": one process at a time. Tried and not waited for: a process that waits within a statement is waited for by the one
/// that builds an index.
const ONE_BY_ONE: i64 = 0x0069_6e64_6578;

/// A week with fewer rows is read in a moment.
const FEW: i64 = 10_000;

/// As long as it takes, except for transactions that were left open: these are waited for so long.
const SETTINGS: &str = "SET statement_timeout = 0; SET lock_timeout = '1min'";
/// At the end everybody is in the way for a moment, and waits behind it.
const QUICKLY: &str = "SET lock_timeout = '2s'";
/// The same where those who only read are in the way as well.
const AT_ONCE: &str = "SET lock_timeout = '200ms'";
/// How often it gives way to them, and how long it lets them.
const TRIES: usize = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// Builds what is missing. What cannot be built is logged, and built by the next one that tries.
pub(crate) async fn ensure(connection: &ClientWrapper) {
    if let Err(fault) = make_all(connection).await {
        warn!(
            "could not build or drop an index; run `foreman migrate up` again, some lists may be slow until then: {fault}"
        );
    }
}

async fn make_all(connection: &ClientWrapper) -> Result<(), Fault> {
    let mut missing = Vec::new();
    for index in &INDEXES {
        if is_good(connection, index.name).await? != Some(true) {
            missing.push(index);
        }
    }
    let mut outdated = Vec::new();
    for name in OUTDATED {
        if is_good(connection, name).await?.is_some() {
            outdated.push(name);
        }
    }
    if !outdated.is_empty() && !connection.query_one(IS_OUTDATED, &[]).await?.try_get::<_, bool>(0)? {
        outdated.clear();
    }
    if missing.is_empty() && outdated.is_empty() {
        return Ok(());
    }
    let row = connection.query_one("SELECT pg_try_advisory_lock($1)", &[&ONE_BY_ONE]).await?;
    if !row.try_get::<_, bool>(0)? {
        return Ok(());
    }
    let made = make_and_drop(connection, &missing, &outdated).await;
    connection.execute("SELECT pg_advisory_unlock($1)", &[&ONE_BY_ONE]).await?;
    made
}

async fn make_and_drop(connection: &ClientWrapper, missing: &[&Index], outdated: &[&str]) -> Result<(), Fault> {
    make(connection, missing).await?;
    for name in outdated {
        give_way(connection, AT_ONCE, &format!("DROP INDEX IF EXISTS {name}")).await?;
    }
    Ok(())
}

async fn make(connection: &ClientWrapper, missing: &[&Index]) -> Result<(), Fault> {
    for index in missing {
        connection.batch_execute(SETTINGS).await?;
        for week in weeks(connection, index.table).await? {
            make_for(connection, index, &week).await?;
        }
        join(connection, index).await?;
    }
    Ok(())
}

async fn weeks(connection: &ClientWrapper, table: &str) -> Result<Vec<String>, Fault> {
    let weeks = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass($1) ORDER BY 1";
    let rows = connection.query(weeks, &[&table]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// The indexes of the weeks become parts of that of the table.
async fn join(connection: &ClientWrapper, index: &Index) -> Result<(), Fault> {
    let Index { table, name, definition, .. } = index;
    give_way(connection, QUICKLY, &format!("CREATE INDEX IF NOT EXISTS {name} ON {table} {definition}")).await
}

/// Gives way to those who work, and tries again.
async fn give_way(connection: &ClientWrapper, patience: &str, text: &str) -> Result<(), Fault> {
    connection.batch_execute(patience).await?;
    for _ in 1..TRIES {
        match connection.batch_execute(text).await {
            Err(error) if is_in_the_way(&error) => sleep(PAUSE).await,
            done => return Ok(done?),
        }
    }
    Ok(connection.batch_execute(text).await?)
}

/// Somebody has a lock that this needs, or waits for one that this has.
fn is_in_the_way(error: &tokio_postgres::Error) -> bool {
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].iter().any(|state| error.code() == Some(state))
}

async fn make_for(connection: &ClientWrapper, index: &Index, week: &str) -> Result<(), Fault> {
    let Index { suffix, definition, .. } = index;
    let name = format!("{week}_{suffix}");
    match is_good(connection, &name).await? {
        Some(true) => return Ok(()),
        Some(false) => connection.batch_execute(&format!("DROP INDEX CONCURRENTLY {name}")).await?,
        None => {}
    }
    let text = format!("SELECT EXISTS (SELECT FROM {week} OFFSET {FEW} LIMIT 1)");
    if connection.query_one(&text, &[]).await?.try_get(0)? {
        info!("building index {name}");
        connection.batch_execute(&format!("CREATE INDEX CONCURRENTLY {name} ON {week} {definition}")).await?;
    }
    Ok(())
}

/// Whether an index can be used; none when there is none.
async fn is_good(connection: &ClientWrapper, name: &str) -> Result<Option<bool>, Fault> {
    let row =
        connection.query_opt("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", &[&name]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

#[cfg(test)]
mod tests {
    use foreman_core::webhook::RESERVED;

    use super::*;

    #[test]
    fn an_index_is_of_users_or_of_what_is_reserved() {
        for (end, is) in [("of_users", "<>"), ("of_foreman", "=")] {
            let condition = format!("left(queue, {}) {is} '{RESERVED}'", RESERVED.len());
            let mut indexes = INDEXES.iter().filter(|index| index.name.ends_with(end)).peekable();
            assert!(indexes.peek().is_some());
            assert!(indexes.all(|index| index.definition.contains(&condition)), "{end}");
        }
    }
}
