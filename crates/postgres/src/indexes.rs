//! Indexes on all that ever ended, made while everybody works.
//!
//! To make one within a migration would stop every worker for as long as it takes to read the history, heartbeats too, and
//! who does not renew is lapsed: with a week of a busy team's jobs that is minutes. So it is made after the migration, week by
//! week and without being in anybody's way; what depends on it is right before, and slow.
//!
//! Of any number that migrate at once one makes them, and the others leave it to that one. Whoever dies half way, or is kept from it
//! by a transaction that somebody has left open, leaves an index behind that is not good; the next `foreman migrate` takes that
//! away and begins again.

use std::time::Duration;

use deadpool_postgres::ClientWrapper;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tracing::{info, warn};

use crate::error::Fault;

/// Groups of errors, one after the other, and the jobs of each by time. A job that completes is not in it. Nor does a job of the
/// version before have a group; those of them that are dead are in it all the same, for they are shown as one.
const BY_ERROR: &str = "(tenant, state, error_group, finished_at, job) WHERE error_group IS NOT NULL OR state = 'dead'";

/// "indexes": one process at a time. Tried and not waited for: whoever waits within a statement is waited for by the one that
/// makes an index.
const ONE_BY_ONE: i64 = 0x0069_6e64_6578;

/// A week with fewer jobs is read in a moment.
const FEW: i64 = 10_000;

/// As long as it takes, but for those who have left a transaction open: so long they are waited for.
const SETTINGS: &str = "SET statement_timeout = 0; SET lock_timeout = '1min'";
/// At the end everybody is in the way for a moment, and waits behind it.
const QUICKLY: &str = "SET lock_timeout = '2s'";
/// How often it gives way to them, and how long it lets them.
const TRIES: usize = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// Makes what is not there. What cannot be made is said, and made by the next one who tries.
pub(crate) async fn ensure(connection: &ClientWrapper) {
    if let Err(fault) = make_all(connection).await {
        warn!(
            "the index of errors is not made, and lists by error are slow until `foreman migrate` is run again: {fault}"
        );
    }
}

async fn make_all(connection: &ClientWrapper) -> Result<(), Fault> {
    if is_good(connection, "outcomes_by_error").await? == Some(true) {
        return Ok(());
    }
    let row = connection.query_one("SELECT pg_try_advisory_lock($1)", &[&ONE_BY_ONE]).await?;
    if !row.try_get::<_, bool>(0)? {
        return Ok(());
    }
    connection.batch_execute(SETTINGS).await?;
    let made = make(connection).await;
    connection.execute("SELECT pg_advisory_unlock($1)", &[&ONE_BY_ONE]).await?;
    made
}

async fn make(connection: &ClientWrapper) -> Result<(), Fault> {
    let weeks = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'outcomes'::regclass ORDER BY 1";
    for row in connection.query(weeks, &[]).await? {
        let week: String = row.try_get(0)?;
        make_for(connection, &week).await?;
    }
    // Those of the weeks become parts of it.
    connection.batch_execute(QUICKLY).await?;
    let text = format!("CREATE INDEX IF NOT EXISTS outcomes_by_error ON outcomes {BY_ERROR}");
    for _ in 1..TRIES {
        match connection.batch_execute(&text).await {
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => sleep(PAUSE).await,
            done => return Ok(done?),
        }
    }
    Ok(connection.batch_execute(&text).await?)
}

async fn make_for(connection: &ClientWrapper, week: &str) -> Result<(), Fault> {
    let name = format!("{week}_by_error");
    match is_good(connection, &name).await? {
        Some(true) => return Ok(()),
        Some(false) => connection.batch_execute(&format!("DROP INDEX CONCURRENTLY {name}")).await?,
        None => {}
    }
    let text = format!("SELECT EXISTS (SELECT FROM {week} OFFSET {FEW} LIMIT 1)");
    if connection.query_one(&text, &[]).await?.try_get(0)? {
        info!("the index of errors is made for {week}");
        connection.batch_execute(&format!("CREATE INDEX CONCURRENTLY {name} ON {week} {BY_ERROR}")).await?;
    }
    Ok(())
}

/// Whether an index can be used; none when there is none.
async fn is_good(connection: &ClientWrapper, name: &str) -> Result<Option<bool>, Fault> {
    let row =
        connection.query_opt("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", &[&name]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
