//! What a team gets: `foreman api`, `foreman worker` and `foreman scheduler` on one Postgres.
//!
//! Each measurement has a database of its own, made by `foreman migrate` and dropped afterwards, so that none starts with
//! what another left behind.

mod fleet;
mod pick_up;
mod raw;
mod server;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::Wakeups;
use foreman_postgres::{Config, PostgresStore};

use crate::fairness;
use crate::load::Load;
use crate::report::{Figure, Unit, rate};
use fleet::Fleet;
pub use server::Server;

const RAW_INSERTS: &str = "raw SQL: inserted in batches";
const RAW_LIFE: &str = "raw SQL: inserted, claimed, settled";
const RAW_WAL: &str = "raw SQL: WAL per job";
const RAW_COMMIT: &str = "raw SQL: one row committed, p50";
const NOT_PINNED: &str = "steady end to end, two workers";

pub async fn round(server: &Server, load: &Load, picks: usize) -> Result<Vec<Figure>> {
    let raw = raw::measure(server, load.jobs).await?;
    let mut figures = vec![rate(RAW_INSERTS, raw.inserts, None), rate(RAW_LIFE, raw.life, None)];

    let database = server.database().await?;
    let fleet = Fleet::start(&database, 0, load.slots).await?;
    let single = load.single(&fleet.api.address).await?;
    fleet.stop().await?;
    database.remove().await?;

    let database = server.database().await?;
    let fleet = Fleet::start(&database, 0, load.slots).await?;
    let batch = load.batch(&fleet.api.address).await?;
    fleet.stop().await?;
    database.remove().await?;
    figures.push(rate("submit over HTTP, one job per request", single, Some(RAW_INSERTS)));
    figures.push(rate("submit over HTTP, batches of 1,000", batch, Some(RAW_INSERTS)));

    let mut wal = 0.0;
    for (workers, name) in
        [(1, "end to end, one worker: submitted in batches, run, settled"), (2, "end to end, two workers")]
    {
        let database = server.database().await?;
        let fleet = Fleet::start(&database, workers, load.slots).await?;
        let before = database.wal_position().await?;
        let end_to_end = load.end_to_end(&fleet.api.address, &fleet.workers()).await?;
        wal = (database.wal_position().await? - before) as f64 / load.jobs as f64;
        fleet.stop().await?;
        database.remove().await?;
        figures.push(rate(name, end_to_end, Some(RAW_LIFE)));
    }
    figures.push(Figure { name: RAW_WAL, value: raw.wal_per_job, unit: Unit::Bytes, of: None });
    figures.push(Figure { name: "WAL per job, end to end", value: wal, unit: Unit::Bytes, of: Some(RAW_WAL) });
    figures.extend(pick_up(server, load, picks).await?);
    Ok(figures)
}

/// How soon an idle fleet picks up a single job, and what the roles weigh meanwhile.
async fn pick_up(server: &Server, load: &Load, picks: usize) -> Result<Vec<Figure>> {
    let database = server.database().await?;
    let commit = raw::commit_millis(&database, picks).await?;
    let fleet = Fleet::start(&database, 1, load.slots).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let [api, worker, scheduler] = fleet.resident_bytes()?;
    let took = pick_up::millis(&fleet.api.address, picks).await?;
    fleet.stop().await?;
    database.remove().await?;
    let time = |name, value, of| Figure { name, value, unit: Unit::Milliseconds, of };
    let memory =
        |name, bytes: u64| Figure { name, value: bytes as f64 / f64::from(1 << 20), unit: Unit::Mebibytes, of: None };
    Ok(vec![
        time(RAW_COMMIT, commit, None),
        time("pick-up when idle, from request to call, p50", took.p50, Some(RAW_COMMIT)),
        time("pick-up when idle, from request to call, p99", took.p99, Some(RAW_COMMIT)),
        memory("idle memory, api", api),
        memory("idle memory, worker", worker),
        memory("idle memory, scheduler", scheduler),
    ])
}

/// How long a single job waits for another tenant's burst.
pub async fn fairness(server: &Server, burst: usize, picks: usize) -> Result<Vec<Figure>> {
    let database = server.database().await?;
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let store = PostgresStore::open(Config::at(&database.url), Arc::clone(&wakeups)).await?;
    let sql = database.connect().await?;
    let latest = async || Ok(sql.query_one("SELECT last_value FROM claim_numbers", &[]).await?.get(0));
    let figures = fairness::measure(Arc::new(store.clone()), wakeups, burst, picks, latest).await?;
    store.close();
    database.remove().await?;
    Ok(figures)
}

/// Steady work for so long; then the same with a transaction that stays open beside it.
pub async fn pinned(server: &Server, load: &Load, how_long: Duration) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, is_pinned, of) in
        [(NOT_PINNED, false, None), ("the same while an idle transaction is open", true, Some(NOT_PINNED))]
    {
        eprintln!("{name}: {how_long:?}");
        let database = server.database().await?;
        let fleet = Fleet::start(&database, 2, load.slots).await?;
        let idle = if is_pinned {
            let sql = database.connect().await?;
            sql.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM jobs").await?;
            Some(sql)
        } else {
            None
        };
        figures.push(rate(name, load.steady(&fleet.api.address, &fleet.workers(), how_long).await?, of));
        drop(idle);
        fleet.stop().await?;
        database.remove().await?;
    }
    Ok(figures)
}
