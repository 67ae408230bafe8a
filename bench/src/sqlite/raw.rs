//! The floor: batched inserts into the tables of the real schema, by hand-written SQL on one connection.
//!
//! "Our shape, all rules" means what a submission writes: the job, its row in `ready` with a fair key, one row of the
//! change log per batch, with the same pragmas (WAL, `synchronous=FULL`) on the same disk. No HTTP, no JSON to parse, no
//! validation, no threads: what is left of this speed behind the API is what Foreman costs.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use foreman_sqlite::{Config, migrate};
use rusqlite::{Connection, Transaction, params};
use tokio::time::Instant;
use uuid::Uuid;

use crate::load::{BATCH, work};
use crate::process;

pub fn inserts_per_second(jobs: usize) -> Result<f64> {
    let directory = tempfile::tempdir_in(process::scratch()?)?;
    let path = directory.path().join("raw.db");
    let mut connection = open(&path)?;
    let work = work("bench.unserved");
    let start = Instant::now();
    for batch in 0..jobs / BATCH {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        insert(&transaction, &work, batch as i64)?;
        transaction.commit()?;
    }
    Ok((jobs / BATCH * BATCH) as f64 / start.elapsed().as_secs_f64())
}

fn open(path: &Path) -> Result<Connection> {
    migrate::up(&Config::at(path), &|| foreman_core::Timestamp::from_micros(0))?;
    let connection = Connection::open(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

fn insert(transaction: &Transaction<'_>, work: &str, batch: i64) -> Result<()> {
    let mut job = transaction.prepare_cached(
        "INSERT INTO jobs (id, tenant, queue, kind, lane, created_at, first_run_at, work) VALUES (?1, 'default', 'default', 'bench.unserved', 1, ?2, ?2, ?3)",
    )?;
    let mut ready = transaction.prepare_cached(
        "INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes, kind) VALUES (?1, 'default', 'default', 'task:bench.unserved', 1, ?2, ?3, 0, 0, 0, 'bench.unserved')",
    )?;
    let mut moved = String::from(r#"[{"tenant":"default","queue":"default","state":"pending","jobs":["#);
    for place in 0..BATCH as i64 {
        let id = Uuid::now_v7();
        job.execute(params![id, batch, work])?;
        ready.execute(params![id, batch * BATCH as i64 + place, batch])?;
        write!(moved, "{}[\"{id}\",0]", if place == 0 { "" } else { "," })?;
    }
    moved.push_str("]}]");
    transaction.prepare_cached("INSERT INTO changes (at, moved) VALUES (?1, ?2)")?.execute(params![batch, moved])?;
    transaction
        .prepare_cached("INSERT INTO shares (queue, lane, tenant, last_key) VALUES ('default', 1, 'default', ?1) ON CONFLICT DO UPDATE SET last_key = excluded.last_key")?
        .execute(params![batch * BATCH as i64])?;
    Ok(())
}
