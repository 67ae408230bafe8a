//! How fast waiting jobs are run: so many wait, then workers are started.
//!
//! Timed from the moment when every worker has settled something to the last settlement, so that starting a process is no
//! part of it. The jobs are submitted to the store from this process beforehand.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::costs::{Meter, per_job};
use super::fleet::{Fleet, Size};
use super::followers;
use super::server::{Database, Server};
use crate::floor;
use crate::jobs::JobMaker;
use crate::load::{Counters, per_second};
use crate::report::{Figure, memory};

const PATIENCE: Duration = Duration::from_mins(5);

pub struct Drained {
    pub per_second: f64,
    pub costs: Vec<Figure>,
    /// Microseconds per job in all processes together, where it can be read.
    pub cpu: Option<f64>,
}

/// With workers, on a database of its own.
pub async fn drain(server: &Server, what: &str, maker: &JobMaker, jobs: usize, size: Size) -> Result<Drained> {
    let database = server.database().await?;
    let drained = drain_on(&database, what, maker, jobs, size).await?;
    database.remove().await?;
    Ok(drained)
}

pub async fn drain_on(database: &Database, what: &str, maker: &JobMaker, jobs: usize, size: Size) -> Result<Drained> {
    floor::fill(&database.store().await?, maker, jobs).await?;
    run_workers(database, what, jobs, size).await
}

/// Until so many of the jobs that wait are done.
pub async fn run_workers(database: &Database, what: &str, jobs: usize, size: Size) -> Result<Drained> {
    database.checkpoint().await?;
    let meter = Meter::new(database).await?;
    let fleet = Fleet::start(database, size).await?;
    let mut counters = Counters::open(&fleet.workers()).await?;
    let mut start = Instant::now();
    let mut done = counters.of_each().await?;
    while done.contains(&0) && done.iter().sum::<u64>() < jobs as u64 {
        if start.elapsed() > PATIENCE {
            bail!("no worker settled anything within {PATIENCE:?}");
        }
        sleep(Duration::from_millis(1)).await;
        done = counters.of_each().await?;
    }
    let mut first: u64 = done.iter().sum();
    if first < jobs as u64 / 2 {
        start = Instant::now();
    } else {
        // Too few to be timed without the start of the processes.
        first = 0;
    }
    let before = meter.read(Some(&fleet)).await?;
    counters.until(jobs as u64, start).await?;
    let took = start.elapsed();
    let after = meter.read(Some(&fleet)).await?;
    let timed = jobs - first as usize;
    let mut costs = per_job(what, &before, &after, timed);
    for (role, processes) in fleet.processes() {
        // Of several, the largest.
        let peaks = processes.iter().map(|process| process.peak_bytes()).collect::<Result<Vec<u64>>>()?;
        costs.extend(peaks.into_iter().max().map(|peak| memory(format!("{what}: most memory, {role}"), peak)));
    }
    if !what.is_empty() {
        costs.extend(followers::behind(database, what).await?);
    }
    fleet.stop().await?;
    Ok(Drained { per_second: per_second(timed, took), costs, cpu: after.cpu_since(&before, timed) })
}
