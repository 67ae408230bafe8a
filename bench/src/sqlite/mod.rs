//! What a laptop gets: every role in one process, on one file.

pub mod quick;
mod raw;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use foreman_core::Timestamp;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Store, Wakeups};
use foreman_runtime::clock;
use foreman_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

use crate::bare::Target;
use crate::jobs::{BATCH, JobMaker, NOOP, batch_json, mixed_json, task_json, url_json};
use crate::load::{self, per_second};
use crate::process::{Process, scratch};
use crate::report::{Figure, Unit, memory, rate};
use crate::sizes::Sizes;
use crate::{fairness, floor, pick_up};
use raw::Raw;

const SLOTS: usize = 512;

const RAW_FILL: &str = "raw rows: inserted, batches of 1,000";
const RAW_LIFE: &str = "raw rows: inserted, deleted, finished";
const STORE_FILL: &str = "store alone: submitted, batches of 1,000";
const STORE_LIFE: &str = "store alone: submitted, claimed, settled";
const BARE_LOOP: &str = "bare client loop";
const STEADY: &str = "steady end to end";

/// `steady`: how long each steady load lasts.
pub async fn round(sizes: &Sizes, steady: Duration) -> Result<Vec<Figure>> {
    let jobs = sizes.jobs;
    let mut figures = floors(jobs).await?;
    figures.extend(submissions(sizes).await?);
    let dev = Dev::start(&["--slots", &sizes.slots.to_string()]).await?;
    let before = dev.server.cpu_time()?;
    let end_to_end = load::end_to_end(dev.address(), &[dev.address()], jobs).await?;
    let cpu = dev.server.cpu_time()?.saturating_sub(before).as_secs_f64() * 1e6 / jobs as f64;
    figures.push(rate("end to end: submitted in batches, run, settled", end_to_end, Some(STORE_LIFE)));
    figures.push(rate("end to end, beside the bound", end_to_end, Some(RAW_LIFE)));
    figures.push(Figure::new("end to end: CPU per job", cpu, Unit::Microseconds, None));
    figures.push(memory("end to end: most memory", dev.server.peak_bytes()?));
    dev.stop().await?;
    figures.extend(pushes(sizes).await?);
    figures.extend(pick_ups(sizes, end_to_end / 2.0).await?);
    figures.extend(steady_loads(sizes, steady).await?);
    Ok(figures)
}

/// Jobs that call a URL, beside a loop that makes the same calls.
async fn pushes(sizes: &Sizes) -> Result<Vec<Figure>> {
    let (jobs, target) = (sizes.jobs / 2, Target::start().await?);
    let bare = target.bare_loop(2 * jobs, sizes.push_slots).await?;
    let dev = Dev::start(&["--slots", &sizes.push_slots.to_string()]).await?;
    let pushed = load::end_to_end_of(&url_json(&target.url()), dev.address(), &[dev.address()], jobs).await?;
    dev.stop().await?;
    let name = "HTTP push: submitted in batches, called, settled";
    Ok(vec![rate(BARE_LOOP, bare.per_second, None), rate(name, pushed, Some(BARE_LOOP))])
}

/// How soon a single job is picked up, idle and beside work at this rate; and what an idle process weighs.
async fn pick_ups(sizes: &Sizes, half: f64) -> Result<Vec<Figure>> {
    let picks = (sizes.picks / 4).max(5);
    let dev = Dev::start(&[]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut figures = vec![memory("idle memory", dev.server.resident_bytes()?)];
    figures.extend(pick_up::measure(dev.address(), picks).await?.figures("idle", None));
    let beside = tokio::select! {
        picked = pick_up::measure(dev.address(), picks) => picked?,
        ended = load::background(dev.address(), half) => { ended?; bail!("the other work has ended") }
    };
    figures.extend(beside.figures("half load", Some("pick-up, idle, p50")));
    dev.stop().await?;
    Ok(figures)
}

/// As much as it can take, alike and mixed.
async fn steady_loads(sizes: &Sizes, how_long: Duration) -> Result<Vec<Figure>> {
    let target = Target::start().await?;
    let mut figures = Vec::new();
    for (name, batch, of) in [
        (STEADY, batch_json(&task_json(NOOP), BATCH), None),
        ("mixed: three priorities, four queues, a tenth calls a URL", mixed_json(&target.url()), Some(STEADY)),
    ] {
        let dev = Dev::start(&["--slots", &sizes.slots.to_string()]).await?;
        figures.push(rate(name, load::steady(dev.address(), &[dev.address()], &batch, how_long).await?, of));
        dev.stop().await?;
    }
    Ok(figures)
}

/// Single, on several numbers of connections, and in batches.
async fn submissions(sizes: &Sizes) -> Result<Vec<Figure>> {
    let (jobs, mut figures) = (sizes.jobs, Vec::new());
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
