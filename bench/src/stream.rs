//! What it costs to tell a crowd of clients what happens: `GET /api/v1/stream` beside a bare loop that writes the same bytes.
//!
//! The load is steady: no-op jobs, each of which makes three changes, so many of them that the wanted number of changes
//! per second is told. The clients are in this process and the server in its own, whose CPU time and memory the
//! system counts. Three measurements in one run: the server with the load and nobody who watches; the same with
//! the crowd; and a process that does nothing but write as many events of the same size to as many clients. Every client counts the
//! ends it was told: one that misses a single one fails the run.

mod bare;
mod crowd;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::time::{Instant, interval, sleep};

use crate::http::Connection;
use crate::process::{Process, scratch};
use crate::report::{Figure, Unit, millis, rate};
pub use bare::serve as serve_bare;
use crowd::{Crowd, Heard};

const JOB: &[u8] = br#"{"task":"foreman.noop","queue":"bench"}"#;
/// Pending, running, completed.
const CHANGES_PER_JOB: u32 = 3;
/// For the last of what was told to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

const BARE_CPU: &str = "bare loop: CPU of the process";
const ALONE_CPU: &str = "no clients: CPU of the server under the same load";
const BARE_P50: &str = "bare loop: from written to read, half of them within";
const BARE_P99: &str = "bare loop: from written to read, 99 % of them within";
const BARE_EVENTS: &str = "bare loop: events that arrived at clients";

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub clients: usize,
    pub changes_per_second: u32,
    pub how_long: Duration,
}

impl Plan {
    fn between_jobs(&self) -> Duration {
        Duration::from_secs(1) * CHANGES_PER_JOB / self.changes_per_second
    }
}

pub async fn measure(plan: &Plan) -> Result<Vec<Figure>> {
    raise_open_files();
    let bare = with_bare(plan).await.context("the bare loop")?;
    let served = with_server(plan).await.context("the server")?;
    Ok(vec![
        rate(BARE_EVENTS, bare.events_per_second, None),
        cpu(BARE_CPU, bare.cpu, None),
        millis(BARE_P50, bare.p50, None),
        millis(BARE_P99, bare.p99, None),
        cpu(ALONE_CPU, served.alone_cpu, None),
        rate("stream: events that arrived at clients", served.told.events_per_second, Some(BARE_EVENTS)),
        cpu("stream: CPU of the server, the load included", served.told.cpu, Some(BARE_CPU)),
        cpu(
            "stream: CPU of the server, the load taken off",
            (served.told.cpu - served.alone_cpu).max(0.0),
            Some(BARE_CPU),
        ),
        millis("stream: from committed to read, half of them within", served.told.p50, Some(BARE_P50)),
        millis("stream: from committed to read, 99 % of them within", served.told.p99, Some(BARE_P99)),
        Figure::new("stream: memory of the server per client", served.bytes_per_client, Unit::Bytes, None),
        Figure::new("stream: ends that a client missed", 0.0, Unit::Jobs, None),
    ])
}

fn cpu(name: &str, value: f64, of: Option<&str>) -> Figure {
    Figure::new(name, value, Unit::Core, of)
}

/// How it went with a crowd.
struct Told {
    events_per_second: f64,
    /// Parts of a core.
    cpu: f64,
    p50: f64,
    p99: f64,
}

impl Told {
    fn of(heard: &Heard, cpu: Duration, took: Duration) -> Self {
        Self {
            events_per_second: heard.events as f64 / took.as_secs_f64(),
            cpu: cpu.as_secs_f64() / took.as_secs_f64(),
            p50: heard.quantile(0.5),
            p99: heard.quantile(0.99),
        }
    }
}

struct Served {
    alone_cpu: f64,
    told: Told,
    bytes_per_client: f64,
}

async fn with_server(plan: &Plan) -> Result<Served> {
    let data = tempfile::tempdir_in(scratch()?)?;
    let path = data.path().to_str().context("a path that is text")?.to_owned();
    let room = (plan.clients * 2 + 100).to_string();
    let sets = ["watchers", "watchers_per_tenant", "connections"].map(|name| format!("limits.{name}={room}"));
    let mut flags = vec!["--data-dir", &path];
    for set in &sets {
        flags.extend(["--set", set]);
    }
    let server = Process::start("dev", "--listen", &flags, &[]).await?;
    // What the first jobs warm up is no part of it.
    submit(&server.address, plan, Duration::from_secs(2)).await?;

    let (cpu, start) = (server.cpu_time()?, Instant::now());
    submit(&server.address, plan, plan.how_long).await?;
    let alone_cpu = server.cpu_time()?.saturating_sub(cpu).as_secs_f64() / start.elapsed().as_secs_f64();

    let before = server.resident_bytes()?;
    let crowd = Crowd::gather(&server.address, "/api/v1/stream", plan.clients).await?;
    crowd.reset();
    let (cpu, start) = (server.cpu_time()?, Instant::now());
    let jobs = submit(&server.address, plan, plan.how_long).await?;
    let took = start.elapsed();
    let spent = server.cpu_time()?.saturating_sub(cpu);
    let grown = server.resident_bytes()?.saturating_sub(before);
    let heard = crowd.heard_all(jobs, PATIENCE).await?;
    drop(crowd);
    server.stop().await?;
    Ok(Served { alone_cpu, told: Told::of(&heard, spent, took), bytes_per_client: grown as f64 / plan.clients as f64 })
}

async fn with_bare(plan: &Plan) -> Result<Told> {
    let process = bare::Bare::start(plan).await?;
    let crowd = Crowd::gather(&process.address, "/", plan.clients).await?;
    crowd.reset();
    let (cpu, start) = (process.cpu_time()?, Instant::now());
    process.begin().await?;
    let jobs = (plan.how_long.as_secs_f64() / plan.between_jobs().as_secs_f64()) as usize;
    sleep(plan.how_long).await;
    let took = start.elapsed();
    let spent = process.cpu_time()?.saturating_sub(cpu);
    let heard = crowd.heard_all(jobs, PATIENCE).await?;
    Ok(Told::of(&heard, spent, took))
}

/// One after the other, evenly, for so long; answers how many there were.
async fn submit(address: &str, plan: &Plan, how_long: Duration) -> Result<usize> {
    let mut connection = Connection::open(address).await?;
    let mut pace = interval(plan.between_jobs());
    let start = Instant::now();
    let mut jobs = 0;
    while start.elapsed() < how_long {
        pace.tick().await;
        let answer = connection.post("/api/v1/jobs", JOB).await?;
        if answer.status != 202 {
            bail!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        jobs += 1;
    }
    Ok(jobs)
}

/// A connection each needs a file.
fn raise_open_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Whoever may not raise it finds out when it is reached.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(65_536), hard);
    }
}
