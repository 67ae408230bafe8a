//! What a team gets: `foreman api`, `foreman worker` and `foreman scheduler` on one Postgres.
//!
//! Each measurement has a database of its own, made by `foreman migrate` and dropped afterwards, so that none starts with
//! what another left behind. Two things are measured beside it: the store alone (`floor.rs`) and the raw rows (`raw.rs`).

mod costs;
mod drain;
mod fleet;
pub mod followers;
pub mod growth;
mod history;
pub mod kafka;
pub mod pick_up;
pub mod push;
pub mod quick;
mod raw;
mod rows;
mod server;
pub mod submit;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::Wakeups;
use foreman_postgres::{Config, PostgresStore};

use crate::bare::Target;
use crate::jobs::{BATCH, JobMaker, NOOP, UNSERVED, batch_json, mixed_json, task_json};
use crate::load::{self, per_second};
use crate::pick_up::Took;
use crate::report::{Figure, millis, rate};
use crate::sizes::Sizes;
use crate::{fairness, floor};
use fleet::{Fleet, Size};
use raw::Raw;
use server::Database;
pub use server::Server;

const RAW_FILL: &str = "raw rows: inserted by unnest, batches of 1,000";
const RAW_DRAIN: &str = "raw rows: deleted and finished, batches of 512";
const STORE_FILL: &str = "store alone: submitted, batches of 1,000";
const STORE_DRAIN: &str = "store alone: claimed by 512, settled in 3 calls";
pub const ONE_WORKER: &str = "drain, one worker";
const END_TO_END: &str = "end to end over HTTP: submitted, run, settled, two workers";
const RAW_COMMIT: &str = "one row committed, p50";
const STEADY: &str = "steady end to end, two workers";

/// Drains: the bound, the floor, and workers.
pub async fn drains(server: &Server, sizes: &Sizes) -> Result<Vec<Figure>> {
    let (jobs, maker) = (sizes.jobs, JobMaker::of_task(NOOP)?);
    let (raw_fill, raw_drain) = raw_rates(server, jobs).await?;
    let (store_fill, store_drain) = store_rates(server, jobs).await?;
    let mut figures = vec![
        rate(RAW_FILL, raw_fill, None),
        rate(RAW_DRAIN, raw_drain, None),
        rate(STORE_FILL, store_fill, Some(RAW_FILL)),
        rate(STORE_DRAIN, store_drain, Some(RAW_DRAIN)),
    ];
    let size = Size { workers: 1, slots: sizes.slots, has_api: false };
    let one = drain::drain(server, ONE_WORKER, &maker, jobs, size).await?;
    let two = drain::drain(server, "drain, two workers", &maker, jobs, Size { workers: 2, ..size }).await?;
    figures.push(rate(ONE_WORKER, one.per_second, Some(STORE_DRAIN)));
    figures.push(rate("drain, one worker, beside the bound", one.per_second, Some(RAW_DRAIN)));
    figures.push(rate("drain, two workers", two.per_second, Some(ONE_WORKER)));
    figures.extend(one.costs);
    figures.extend(two.costs);
    figures.push(rate(END_TO_END, end_to_end(server, jobs, sizes.slots).await?, Some(STORE_DRAIN)));
    Ok(figures)
}

async fn end_to_end(server: &Server, jobs: usize, slots: usize) -> Result<f64> {
    end_to_end_on(server.database().await?, &task_json(NOOP), jobs, slots).await
}

/// The same of such jobs, on this database.
async fn end_to_end_on(database: Database, job: &str, jobs: usize, slots: usize) -> Result<f64> {
    let fleet = Fleet::start(&database, Size { workers: 2, slots, has_api: true }).await?;
    let done = load::end_to_end_of(job, fleet.api()?, &fleet.workers(), jobs).await?;
    fleet.stop().await?;
    database.remove().await?;
    Ok(done)
}

/// Jobs per second, filled and drained.
async fn raw_rates(server: &Server, jobs: usize) -> Result<(f64, f64)> {
    let database = server.database().await?;
    let raw = Raw::learn(&database, &JobMaker::of_task(NOOP)?).await?;
    raw.are_jobs(floor::CLAIM).await?;
    let fill = raw.fill(jobs).await?;
    database.checkpoint().await?;
    let drain = raw.drain(jobs).await?;
    database.remove().await?;
    Ok((per_second(jobs, fill), per_second(jobs, drain)))
}

async fn store_rates(server: &Server, jobs: usize) -> Result<(f64, f64)> {
    let database = server.database().await?;
    let (store, maker) = (database.store().await?, JobMaker::of_task(NOOP)?);
    let fill = floor::fill(&store, &maker, jobs).await?;
    database.checkpoint().await?;
    let drain = floor::drain(&store, &maker.route(), jobs).await?;
    database.remove().await?;
    Ok((per_second(jobs, fill), per_second(jobs, drain)))
}

/// Submissions at several numbers of connections, and in batches.
pub async fn submissions(server: &Server, sizes: &Sizes) -> Result<Vec<Figure>> {
    let (mut figures, mut costs) = (Vec::new(), Vec::new());
    for &connections in &sizes.connections {
        // One connection waits for one commit after the other.
        let jobs = if connections == 1 { sizes.jobs / 20 } else { sizes.jobs / 2 };
        let bare = format!("bare 202 server, {connections} connection(s)");
        figures.push(rate(&bare, submit::to_bare_server(jobs, connections).await?, None));
        let what = format!("submit single, {connections} connection(s)");
        let (single, cost) = submit::single_metered(server, &what, jobs, connections).await?;
        figures.push(rate(what, single, Some(&bare)));
        costs.extend(cost);
    }
    let database = server.database().await?;
    let raw = Raw::learn(&database, &JobMaker::of_task(UNSERVED)?).await?.fill(sizes.jobs).await?;
    database.remove().await?;
    figures.push(rate(RAW_FILL, per_second(sizes.jobs, raw), None));
    let what = "submit in batches of 1,000";
    let (batches, cost) = submit::batches_metered(server, what, sizes.jobs).await?;
    figures.push(rate(what, batches, Some(RAW_FILL)));
    figures.extend(costs.into_iter().chain(cost));
    Ok(figures)
}

/// How soon a single job is picked up: idle, and beside work at half of `most` jobs per second.
pub async fn pick_ups(server: &Server, sizes: &Sizes, most: f64) -> Result<Vec<Figure>> {
    let database = server.database().await?;
    let commit = raw::commit_millis(&database, sizes.picks).await?;
    database.remove().await?;
    let (idle, weights) = pick_up::idle(server, sizes.picks, sizes.slots).await?;
    let half = pick_up::beside(server, sizes.picks, sizes.slots, most / 2.0).await?;
    let mut figures = vec![millis(RAW_COMMIT, commit, None)];
    figures.extend(idle.figures("idle", Some(RAW_COMMIT)));
    figures.extend(half.figures("half load", Some(RAW_COMMIT)));
    figures.extend(weights);
    Ok(figures)
}

/// What peers are measured with too.
#[derive(Clone, Copy, Debug)]
pub struct BesidePeers {
    /// A drain by one worker, and by two.
    pub one: f64,
    pub two: f64,
    /// Submitted in batches, over HTTP.
    pub submit: f64,
    pub pick_up: Took,
}

pub async fn beside_peers(server: &Server, jobs: usize, picks: usize, slots: usize) -> Result<BesidePeers> {
    let (maker, size) = (JobMaker::of_task(NOOP)?, Size { workers: 1, slots, has_api: false });
    let one = drain::drain(server, "", &maker, jobs, size).await?;
    let two = drain::drain(server, "", &maker, jobs, Size { workers: 2, ..size }).await?;
    let submit = submit::batches(server, jobs).await?;
    let (picked, _) = pick_up::idle(server, picks, slots).await?;
    Ok(BesidePeers { one: one.per_second, two: two.per_second, submit, pick_up: picked.took })
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

/// How long each steady load lasts.
#[derive(Clone, Copy, Debug)]
pub struct SteadyTimes {
    /// With and without an idle transaction.
    pub alike: Duration,
    pub mixed: Duration,
}

/// Steady work for so long; the same with a transaction that stays open beside it; and a mix of jobs.
pub async fn steady(server: &Server, slots: usize, times: SteadyTimes) -> Result<Vec<Figure>> {
    let target = Target::start().await?;
    let alike = batch_json(&task_json(NOOP), BATCH);
    let mixed = mixed_json(&target.url());
    let pinned = format!("the same beside a transaction left open for {} s", times.alike.as_secs());
    let mut figures = Vec::new();
    for (name, batch, is_pinned, how_long, of) in [
        (STEADY, &alike, false, times.alike, None),
        (&pinned, &alike, true, times.alike, Some(STEADY)),
        ("mixed: three priorities, four queues, a tenth calls a URL", &mixed, false, times.mixed, Some(STEADY)),
    ] {
        let database = server.database().await?;
        let fleet = Fleet::start(&database, Size { workers: 2, slots, has_api: true }).await?;
        let idle = if is_pinned {
            let sql = database.connect().await?;
            sql.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM jobs").await?;
            Some(sql)
        } else {
            None
        };
        figures.push(rate(name, load::steady(fleet.api()?, &fleet.workers(), batch, how_long).await?, of));
        drop(idle);
        fleet.stop().await?;
        database.remove().await?;
    }
    Ok(figures)
}
