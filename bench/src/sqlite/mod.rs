//! What a laptop gets: every role in one process, on one file.

mod raw;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use foreman_core::Timestamp;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::Wakeups;
use foreman_runtime::clock;
use foreman_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

use crate::fairness;
use crate::load::Load;
use crate::process::{Process, scratch};
use crate::report::{Figure, Unit, rate};

const RAW: &str = "raw SQL: inserted in batches";

pub async fn round(load: &Load) -> Result<Vec<Figure>> {
    let raw = raw::inserts_per_second(load.jobs)?;
    let dev = Dev::start(&[]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = dev.server.resident_bytes()?;
    dev.server.stop().await?;
    let dev = Dev::start(&[]).await?;
    let single = load.single(&dev.server.address).await?;
    dev.server.stop().await?;
    let dev = Dev::start(&[]).await?;
    let batch = load.batch(&dev.server.address).await?;
    dev.server.stop().await?;
    let dev = Dev::start(&["--slots", &load.slots.to_string()]).await?;
    let end_to_end = load.end_to_end(&dev.server.address, &[&dev.server.address]).await?;
    dev.server.stop().await?;
    Ok(vec![
        rate(RAW, raw, None),
        rate("submit over HTTP, one job per request", single, Some(RAW)),
        rate("submit over HTTP, batches of 1,000", batch, Some(RAW)),
        rate("end to end: submitted in batches, run, settled (no-op)", end_to_end, Some(RAW)),
        Figure { name: "idle memory", value: idle as f64 / f64::from(1 << 20), unit: Unit::Mebibytes, of: None },
    ])
}

/// How long a single job waits for another tenant's burst.
pub async fn fairness(burst: usize, picks: usize) -> Result<Vec<Figure>> {
    let data = tempfile::tempdir_in(scratch()?)?;
    let path = data.path().join("foreman.db");
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let config = Config { path: path.clone(), ..Config::default() };
    let store = SqliteStore::open(config, Arc::new(|| Timestamp::from_micros(clock::now())), Arc::clone(&wakeups))?;
    let sql = rusqlite::Connection::open(&path)?;
    let latest = async || {
        let number = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'claims'";
        Ok(sql.query_row(number, [], |row| row.get(0))?)
    };
    let figures = fairness::measure(Arc::new(store.clone()), wakeups, burst, picks, latest).await?;
    store.close().await;
    Ok(figures)
}

/// A server on a directory of its own.
struct Dev {
    server: Process,
    _data: TempDir,
}

impl Dev {
    async fn start(flags: &[&str]) -> Result<Self> {
        let data = tempfile::tempdir_in(scratch()?)?;
        let path = data.path().to_str().context("a path that is text")?.to_owned();
        let flags: Vec<&str> = ["--data-dir", &path].into_iter().chain(flags.iter().copied()).collect();
        Ok(Self { server: Process::start("dev", "--listen", &flags, &[]).await?, _data: data })
    }
}
