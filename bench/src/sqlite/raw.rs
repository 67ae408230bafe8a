//! The raw bound: the rows of a job and nothing else, by plain statements on one connection to the real schema.
//!
//! Filling inserts into `jobs` and `ready`, draining deletes from `ready` and inserts into `outcomes`, in transactions of
//! the same sizes and with the same pragmas (WAL, `synchronous=FULL`) on the same disk. No claim, no fence, no change log, no
//! threads. Which columns the rows have is learned from rows that the store wrote, so it cannot part from them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, TransactionBehavior, params_from_iter};
use tokio::time::Instant;
use uuid::Uuid;

use super::store;
use crate::floor::{CLAIM, Hand};
use crate::jobs::{BATCH, JobMaker, NOOP};

pub struct Raw {
    connection: Connection,
    jobs: Pattern,
    ready: Pattern,
    outcomes: Pattern,
    key: i64,
}

/// A row of a table, to be written again under another id.
struct Pattern {
    insert: String,
    columns: Vec<String>,
    values: Vec<Value>,
}

impl Pattern {
    fn of(sql: &Connection, table: &str) -> Result<Self> {
        let mut select = sql.prepare(&format!("SELECT * FROM {table} LIMIT 1"))?;
        let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
        let values = select
            .query_row([], |row| (0..columns.len()).map(|place| row.get(place)).collect::<Result<Vec<Value>, _>>())
            .with_context(|| format!("the store wrote no row of {table}"))?;
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        Ok(Self { insert, columns, values })
    }

    fn set(&mut self, column: &str, value: Value) -> Result<()> {
        let place = self.columns.iter().position(|name| name == column);
        self.values[place.with_context(|| format!("no column {column}"))?] = value;
        Ok(())
    }

    fn write(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction.prepare_cached(&self.insert)?.execute(params_from_iter(&self.values))?;
        Ok(())
    }
}

impl Raw {
    /// Learns the rows from two jobs of the store: one that waits and one that is done.
    pub async fn learn(path: &Path) -> Result<Self> {
        let store = store(path)?;
        let maker = JobMaker::of_task(NOOP)?;
        let ports: Arc<dyn foreman_core::ports::Store> = Arc::new(store.clone());
        ports.submit(&maker.batch(0, 2)).await?;
        let hand = Hand::new(Arc::clone(&ports), maker.route()).await?;
        ensure!(hand.claim_and_settle(1).await? == 1, "the store did not claim a job that waits");
        let connection = open(path)?;
        let [jobs, ready, outcomes] = ["jobs", "ready", "outcomes"].map(|table| Pattern::of(&connection, table));
        let key = connection.query_row("SELECT max(key) FROM ready", [], |row| row.get::<_, i64>(0))?;
        ensure!(hand.claim_and_settle(1).await? == 1, "the store did not claim a job that waits");
        hand.end().await?;
        store.close().await;
        Ok(Self { connection, jobs: jobs?, ready: ready?, outcomes: outcomes?, key: key + 1 })
    }

    pub fn fill(&mut self, jobs: usize) -> Result<Duration> {
        let start = Instant::now();
        let mut left = jobs;
        while left > 0 {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for _ in 0..left.min(BATCH) {
                let id = Value::Blob(Uuid::now_v7().as_bytes().to_vec());
                self.jobs.set("id", id.clone())?;
                self.ready.set("job", id)?;
                self.ready.set("key", Value::Integer(self.key))?;
                self.key += 1;
                self.jobs.write(&transaction)?;
                self.ready.write(&transaction)?;
            }
            transaction.commit()?;
            left -= left.min(BATCH);
        }
        Ok(start.elapsed())
    }

    pub fn drain(&mut self, jobs: usize) -> Result<Duration> {
        let start = Instant::now();
        let mut done = 0;
        while done < jobs {
            let taken = self.take()?;
            ensure!(!taken.is_empty(), "{done} rows were moved instead of {jobs}");
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            done += taken.len();
            for job in taken {
                self.outcomes.set("job", job)?;
                self.outcomes.write(&transaction)?;
            }
            transaction.commit()?;
        }
        Ok(start.elapsed())
    }

    fn take(&mut self) -> Result<Vec<Value>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let taken = transaction
            .prepare_cached(
                "DELETE FROM ready WHERE job IN (
                     SELECT job FROM ready INDEXED BY ready_in_order
                     WHERE lane = 1 AND route = 'task:foreman.noop' AND queue = 'default' AND key IS NOT NULL
                     ORDER BY key, job LIMIT ?)
                 RETURNING job",
            )?
            .query_map([CLAIM as i64], |row| row.get(0))?
            .collect::<Result<Vec<Value>, _>>()?;
        transaction.commit()?;
        Ok(taken)
    }
}

fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rows_written_by_hand_are_jobs_that_the_store_claims_and_settles() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("foreman.db");
        let mut raw = Raw::learn(&path).await?;
        raw.fill(700)?;
        drop(raw);
        let store = store(&path)?;
        let hand = Hand::new(Arc::new(store.clone()), JobMaker::of_task(NOOP)?.route()).await?;
        let mut claimed = 0;
        loop {
            match hand.claim_and_settle(CLAIM).await? {
                0 => break,
                more => claimed += more,
            }
        }
        store.close().await;
        assert_eq!(claimed, 700, "the rows that the benchmark writes are not what the store writes");
        Ok(())
    }

    #[tokio::test]
    async fn the_raw_bound_finishes_what_it_filled() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let mut raw = Raw::learn(&directory.path().join("foreman.db")).await?;
        raw.fill(1_500)?;
        raw.drain(1_500)?;
        let count = |table| raw.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0));
        assert_eq!((count("ready")?, count("outcomes")?), (0_i64, 1_502_i64));
        Ok(())
    }
}
