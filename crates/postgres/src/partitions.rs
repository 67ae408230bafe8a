//! The weeks of `jobs` and `outcomes`.
//!
//! A partition holds the jobs whose ids were made within one week, from Monday to Monday, UTC. They are made ahead, this week
//! and the next few; should nobody have done so for long, jobs go to the default partition meanwhile, and are moved out of it
//! when their week is made. A week that is long past is dropped whole once hardly anything is left in it: what has not
//! outlived its retention goes back to the default partition first.
//!
//! Any number of processes may do this at once: one at a time does, the others leave it to that one. Each step is one
//! transaction that gives up quickly when it would have to wait for somebody's lock, for everybody else would wait behind
//! it; the next round tries again. For the same reason a week of which too much lies in the default partition stays there.
//!
//! On a connection that is closed afterwards: whoever stops waiting half way leaves no lock behind.

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};
use foreman_core::Timestamp;
use foreman_core::ports::StoreError;
use tokio::time::Instant;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::PostgresStore;
use crate::connection::unavailable;
use crate::error::Fault;
use crate::value::Time;

const WEEK: i64 = 7 * 86_400_000_000;
/// The first Monday of 1970.
const MONDAY: i64 = 4 * 86_400_000_000;
/// So many weeks after this one are made ahead.
const AHEAD: i64 = 4;
/// A week that ended so long ago may be dropped with a few survivors left in it.
const OLD: i64 = 8 * WEEK;

/// Partitioned tables, with the column that says when a job was made.
const TABLES: [(&str, &str); 2] = [("jobs", "id"), ("outcomes", "job")];

/// "weeks": one process at a time.
const ONE_BY_ONE: i64 = 0x0077_6565_6b73;

/// How long it may take in all: it is part of a prune, which is not waited for for ever.
const LIMIT: Duration = Duration::from_secs(6);

/// How often a process looks at all.
pub(crate) const INTERVAL: Duration = Duration::from_mins(10);

/// Begins a step that must not keep others waiting.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '200ms'; SET LOCAL statement_timeout = '5s'";

/// So many rows at most are moved while everybody else waits: a fraction of a second.
const MOST_MOVED: i64 = 10_000;

/// A week, by the moment it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Week(i64);

impl Week {
    fn of(time: Timestamp) -> Self {
        Self((time.as_micros() - MONDAY).div_euclid(WEEK) * WEEK + MONDAY)
    }

    fn plus(self, weeks: i64) -> Self {
        Self(self.0 + weeks * WEEK)
    }

    /// `w20261109`
    fn name(self) -> String {
        let text = Timestamp::from_micros(self.0).to_string();
        format!("w{}", text[..10].replace('-', ""))
    }

    /// The smallest id that a UUIDv7 made at its beginning can have.
    fn floor(self) -> Uuid {
        let millis = u128::try_from(self.0 / 1_000).unwrap_or_default();
        Uuid::from_u128(millis << 80)
    }
}

/// Makes the partitions of this and the next few weeks, as far as they are not there.
pub(crate) async fn ensure(connection: &ClientWrapper) -> Result<usize, Fault> {
    let now: Time = connection.query_one("SELECT now()", &[]).await?.try_get(0)?;
    let this = Week::of(now.0);
    let mut made = 0;
    for week in (0..=AHEAD).map(|ahead| this.plus(ahead)) {
        for (table, column) in TABLES {
            made += usize::from(make(connection, table, column, week).await?);
        }
    }
    Ok(made)
}

async fn make(connection: &ClientWrapper, table: &str, column: &str, week: Week) -> Result<bool, Fault> {
    let name = format!("{table}_{}", week.name());
    if exists(connection, &name).await? {
        return Ok(false);
    }
    let (from, to) = (week.floor(), week.plus(1).floor());
    let text = format!(
        "SELECT count(*) FROM (
             SELECT FROM {table}_default WHERE {column} >= '{from}' AND {column} < '{to}' LIMIT {}) AS few",
        MOST_MOVED + 1
    );
    if connection.query_one(&text, &[]).await?.try_get::<_, i64>(0)? > MOST_MOVED {
        warn!(
            "partition {name} is not made: more rows of that week are in {table}_default than can be moved in a moment"
        );
        return Ok(false);
    }
    let step = async {
        connection.batch_execute(BEGIN).await?;
        connection.execute("SELECT pg_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?;
        if exists(connection, &name).await? {
            return Ok(false);
        }
        // Whatever of this week is in the default partition moves over; nobody adds to it meanwhile.
        let text = format!(
            "LOCK TABLE {table}_default IN ACCESS EXCLUSIVE MODE;
             CREATE TABLE {name} (LIKE {table} INCLUDING ALL);
             WITH moved AS (DELETE FROM {table}_default WHERE {column} >= '{from}' AND {column} < '{to}' RETURNING *)
             INSERT INTO {name} SELECT * FROM moved;
             ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}')"
        );
        connection.batch_execute(&text).await?;
        Ok::<_, Fault>(true)
    };
    finish(connection, step.await).await
}

async fn finish<T>(connection: &ClientWrapper, done: Result<T, Fault>) -> Result<T, Fault> {
    match done {
        Ok(answer) => {
            connection.batch_execute("COMMIT").await?;
            Ok(answer)
        }
        Err(fault) => {
            let _ = connection.batch_execute("ROLLBACK").await;
            Err(fault)
        }
    }
}

/// Asks the table of tables itself: `to_regclass` may answer from what this connection knew when its transaction began, which is
/// before it waited for the lock.
async fn exists(connection: &ClientWrapper, name: &str) -> Result<bool, Fault> {
    let text =
        "SELECT EXISTS (SELECT FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace)";
    Ok(connection.query_one(text, &[&name]).await?.try_get(0)?)
}

/// Drops weeks that are over and in which at most `limit` jobs are left. How many partitions that were.
async fn drop_old(connection: &ClientWrapper, limit: usize) -> Result<usize, Fault> {
    let now: Time = connection.query_one("SELECT now()", &[]).await?.try_get(0)?;
    let mut dropped = 0;
    for (table, _) in TABLES {
        let rows = connection
            .query(
                "SELECT child.relname::text FROM pg_inherits JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
                 WHERE pg_inherits.inhparent = $1::text::regclass AND child.relname ~ '_w[0-9]{8}$' ORDER BY 1",
                &[&table],
            )
            .await?;
        for row in rows {
            let name: String = row.try_get(0)?;
            let Some(week) = week_of(&name) else { continue };
            dropped += usize::from(drop_one(connection, table, &name, week, now.0, limit).await?);
        }
    }
    Ok(dropped)
}

fn week_of(name: &str) -> Option<Week> {
    let digits = name.get(name.len().checked_sub(8)?..)?;
    let text = format!("{}-{}-{}T00:00:00Z", digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?);
    text.parse().ok().map(Week::of)
}

async fn drop_one(
    connection: &ClientWrapper,
    table: &str,
    name: &str,
    week: Week,
    now: Timestamp,
    limit: usize,
) -> Result<bool, Fault> {
    let ended = week.plus(1).0;
    if ended + WEEK > now.as_micros() {
        return Ok(false);
    }
    let text = format!("SELECT count(*) FROM (SELECT FROM {name} LIMIT {}) AS few", limit.saturating_add(1));
    let left: i64 = connection.query_one(&text, &[]).await?.try_get(0)?;
    let may_move = ended + OLD <= now.as_micros() && left <= i64::try_from(limit).unwrap_or(i64::MAX);
    if left > 0 && !may_move {
        return Ok(false);
    }
    let step = async {
        connection.batch_execute(BEGIN).await?;
        let mine: bool =
            connection.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?.try_get(0)?;
        if !mine || !exists(connection, name).await? {
            return Ok(false);
        }
        // Inserted anew into the whole table, survivors find their way to the default partition.
        let text = format!(
            "ALTER TABLE {table} DETACH PARTITION {name};
             INSERT INTO {table} SELECT * FROM {name};
             DROP TABLE {name}"
        );
        connection.batch_execute(&text).await?;
        Ok::<_, Fault>(true)
    };
    let dropped = finish(connection, step.await).await?;
    if dropped {
        info!("partition {name} is dropped; {left} jobs that are kept longer moved to the default one");
    }
    Ok(dropped)
}

impl PostgresStore {
    /// Makes the partitions of the coming weeks and drops those of weeks long past. Answers how many of each.
    pub async fn tend_partitions(&self, limit: usize) -> Result<(usize, usize), StoreError> {
        let tend = async {
            let connection = Object::take(self.parts.direct.get().await.map_err(|error| unavailable(&error))?);
            let made = ensure(&connection).await?;
            Ok((made, drop_old(&connection, limit).await?))
        };
        self.in_time(LIMIT, tend).await
    }
}

/// Part of every prune, every few minutes. What could not be done now is done the next time.
pub(crate) async fn tend(store: &PostgresStore, limit: usize) {
    {
        let mut tended_at = store.parts.tended_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if tended_at.is_some_and(|time: Instant| time.elapsed() < INTERVAL) {
            return;
        }
        *tended_at = Some(Instant::now());
    }
    match store.tend_partitions(limit).await {
        Ok(_) => {}
        Err(StoreError::Unavailable(why)) => debug!("the partitions are left as they are for now: {why}"),
        // Such as a user who may not make tables. Four weeks later all jobs would go to the default partition.
        Err(error) => warn!("the partitions of the coming weeks cannot be made: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_week_goes_from_monday_to_monday() {
        let week = Week::of(at("2026-11-15T23:59:59.999999Z"));
        assert_eq!(week.name(), "w20261109");
        assert_eq!(Week::of(at("2026-11-16T00:00:00Z")), week.plus(1));
        assert_eq!(week_of("outcomes_w20261109"), Some(week));
    }

    #[test]
    fn the_bounds_of_a_week_hold_the_ids_made_in_it() {
        let week = Week::of(at("2026-11-15T12:00:00Z"));
        let made_at = |millis: i64| {
            let seconds = u64::try_from(millis / 1_000).expect("after 1970");
            let nanos = u32::try_from(millis % 1_000).expect("below a thousand") * 1_000_000;
            Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
        };
        let (first, last) = (made_at(week.0 / 1_000), made_at(week.plus(1).0 / 1_000 - 1));
        assert!(week.floor() <= first && last < week.plus(1).floor());
        assert!(made_at(week.0 / 1_000 - 1) < week.floor());
    }
}
