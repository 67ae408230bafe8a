//! What a laptop gets: every role in one process, on one file.

pub mod quick;
mod raw;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use foreman_core::Timestamp;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Store, Wakeups};
use foreman_runtime::clock;
use foreman_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

use crate::jobs::{JobMaker, NOOP};
use crate::load::{self, per_second};
use crate::process::{Process, scratch};
use crate::report::{Figure, memory, rate};
use crate::sizes::Sizes;
use crate::{fairness, floor};
use raw::Raw;

const SLOTS: usize = 512;

const RAW_FILL: &str = "raw rows: inserted, batches of 1,000";
const RAW_LIFE: &str = "raw rows: inserted, deleted, finished";
const STORE_FILL: &str = "store alone: submitted, batches of 1,000";
const STORE_LIFE: &str = "store alone: submitted, claimed, settled";

pub async fn round(sizes: &Sizes) -> Result<Vec<Figure>> {
    let jobs = sizes.jobs;
    let mut figures = floors(jobs).await?;
    let dev = Dev::start(&[]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = dev.server.resident_bytes()?;
    dev.stop().await?;
    for &connections in &sizes.connections {
        let jobs = if connections == 1 { jobs / 20 } else { jobs / 2 };
        let bare = format!("bare 202 server, {connections} connection(s)");
        figures.push(rate(&bare, crate::postgres::submit::to_bare_server(jobs, connections).await?, None));
        let dev = Dev::start(&[]).await?;
        let single = load::submit_single(dev.address(), jobs, connections).await?;
        dev.stop().await?;
        figures.push(rate(format!("submit single, {connections} connection(s)"), single, Some(&bare)));
    }
    let dev = Dev::start(&[]).await?;
    figures.push(rate("submit in batches of 1,000", load::submit_batches(dev.address(), jobs).await?, Some(RAW_FILL)));
    dev.stop().await?;
    let dev = Dev::start(&["--slots", &sizes.slots.to_string()]).await?;
    let end_to_end = load::end_to_end(dev.address(), &[dev.address()], jobs).await?;
    figures.push(rate("end to end: submitted in batches, run, settled", end_to_end, Some(STORE_LIFE)));
    figures.push(rate("end to end, beside the bound", end_to_end, Some(RAW_LIFE)));
    figures.push(memory("idle memory", idle));
    figures.push(memory("most memory, end to end", dev.server.peak_bytes()?));
    dev.stop().await?;
    Ok(figures)
}

/// The raw rows, and the store by itself.
async fn floors(jobs: usize) -> Result<Vec<Figure>> {
    let directory = tempfile::tempdir_in(scratch()?)?;
    let mut raw = Raw::learn(&directory.path().join("raw.db")).await?;
    let (raw_fill, raw_drain) = (raw.fill(jobs)?, raw.drain(jobs)?);
    drop(raw);
    let store = store(&directory.path().join("foreman.db"))?;
    let (ports, maker): (Arc<dyn Store>, _) = (Arc::new(store.clone()), JobMaker::of_task(NOOP)?);
    let fill = floor::fill(&ports, &maker, jobs).await?;
    let drain = floor::drain(&ports, &maker.route(), jobs).await?;
    store.close().await;
    Ok(vec![
        rate(RAW_FILL, per_second(jobs, raw_fill), None),
        rate(RAW_LIFE, per_second(jobs, raw_fill + raw_drain), None),
        rate(STORE_FILL, per_second(jobs, fill), Some(RAW_FILL)),
        rate(STORE_LIFE, per_second(jobs, fill + drain), Some(RAW_LIFE)),
    ])
}

/// How long a single job waits for another tenant's burst.
pub async fn fairness(burst: usize, picks: usize) -> Result<Vec<Figure>> {
    let data = tempfile::tempdir_in(scratch()?)?;
    let path = data.path().join("foreman.db");
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let store = store_with(&path, &wakeups)?;
    let sql = rusqlite::Connection::open(&path)?;
    let latest = async || {
        let number = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'claims'";
        Ok(sql.query_row(number, [], |row| row.get(0))?)
    };
    let figures = fairness::measure(Arc::new(store.clone()), wakeups, burst, picks, latest).await?;
    store.close().await;
    Ok(figures)
}

/// The store, opened in this process.
fn store(path: &Path) -> Result<SqliteStore> {
    store_with(path, &(Arc::new(LocalWakeups::new()) as Arc<dyn Wakeups>))
}

fn store_with(path: &Path, wakeups: &Arc<dyn Wakeups>) -> Result<SqliteStore> {
    let clock = Arc::new(|| Timestamp::from_micros(clock::now()));
    Ok(SqliteStore::open(Config::at(path), clock, Arc::clone(wakeups))?)
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

    fn address(&self) -> &str {
        &self.server.address
    }

    async fn stop(self) -> Result<()> {
        self.server.stop().await
    }
}
