//! What Foreman makes of a machine: one run that measures what it stands on, then Foreman on the same disk, and prints
//! the ratios.
//!
//! Machines are noisy, so no absolute figure here is a claim: the ratios are, for both sides were measured minutes apart
//! on one machine. Each ratio says what it is of:
//!
//! - **raw rows**: the rows that the store writes for a job, written and moved by plain SQL; the bound of any store that
//!   keeps the same history;
//! - **store alone**: the store's own verbs called in this process, without worker or HTTP; the floor that Foreman stands on;
//! - **bare client loop**, **bare 202 server**: the same requests with the same library, and nothing behind them;
//! - **peers**: other job queues, with the same job and durability (`bench/peers`).
//!
//! SQLite is always measured, Postgres when there is a server to measure on: `make bench` starts one that syncs its files.
//! `--smoke` runs each part briefly, to prove in CI that the benchmark itself works; `--quick` measures a few ratios and
//! compares them with those on record (`bench/recorded.toml`).

mod aims;
mod bare;
mod fairness;
mod floor;
mod http;
mod jobs;
mod load;
mod parts;
mod peers;
mod pick_up;
mod plot;
mod postgres;
mod process;
mod quick;
mod record;
mod report;
mod results;
mod sizes;
mod sqlite;
mod steps;
mod stream;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

use jobs::BATCH;
use parts::Part;
use quick::TurnSize;
use record::Recorded;
use sizes::Sizes;

/// Measures Foreman beside what it stands on: raw rows, its store alone, bare HTTP clients and servers.
#[derive(Parser)]
struct Args {
    /// A few jobs only: proves that it runs, measures nothing.
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// A few ratios in a few minutes, compared with those on record.
    #[arg(long)]
    quick: bool,
    /// With --quick: write the ratios of this run to the record.
    #[arg(long, requires = "quick")]
    record: bool,
    /// With --quick: the record.
    #[arg(long, value_name = "FILE", default_value = "bench/recorded.toml")]
    recorded: PathBuf,
    /// With --quick: turns that each side takes.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Jobs of a drain; pushes and single submissions take half as many. By default 200,000, and 40,000 with --quick.
    #[arg(long)]
    jobs: Option<usize>,
    /// Connections for single submissions.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 256])]
    connections: Vec<usize>,
    /// Slots of a worker whose jobs do nothing.
    #[arg(long, default_value_t = 512)]
    slots: usize,
    /// Slots of a worker whose jobs call a URL.
    #[arg(long, default_value_t = 256)]
    push_slots: usize,
    /// Each measurement is made this often, and the median is printed. By default up to three times, within half an hour in all.
    #[arg(long)]
    rounds: Option<usize>,
    /// Jobs of one tenant that wait while another's single jobs are timed.
    #[arg(long, default_value_t = 50_000)]
    burst: usize,
    /// Jobs submitted one at a time, to see how soon a fleet picks them up. By default 1,000, and 60 with --quick.
    #[arg(long)]
    picks: Option<usize>,
    /// Seconds of a steady load, alone and beside an idle transaction that holds back the vacuum; a mixed one takes a third.
    #[arg(long, default_value_t = 60)]
    steady_secs: u64,
    /// A superuser of the Postgres server to measure on: databases are created there, and dropped afterwards.
    #[arg(long, value_name = "DSN", env = "FOREMAN_TEST_POSTGRES", hide_env_values = true)]
    postgres: Option<String>,
    /// Brokers to measure fleet size with, as host:port: topics are created there, and stay.
    #[arg(long, value_name = "BROKERS", env = "FOREMAN_TEST_KAFKA")]
    kafka: Option<String>,
    /// The foreman to measure. By default the one beside this program.
    #[arg(long, value_name = "FILE")]
    foreman: Option<PathBuf>,
    /// Clients that follow the stream at once.
    #[arg(long, default_value_t = 1_000)]
    watchers: usize,
    /// Changes per second that each of them receives.
    #[arg(long, default_value_t = 50)]
    changes: u32,
    /// Seconds of it.
    #[arg(long, default_value_t = 12)]
    watch_secs: u64,
    /// Growth: finished jobs that are kept. Ten million take about 11 GB of disk until the end.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 10_000_000])]
    history: Vec<usize>,
    /// Growth: jobs that wait.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 1_000_000])]
    backlog: Vec<usize>,
    /// Growth: tenants that have jobs.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000])]
    tenants: Vec<usize>,
    /// Growth: queues that have jobs.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000])]
    queues: Vec<usize>,
    /// Growth: worker processes.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4])]
    workers: Vec<usize>,
    /// Peers: where their adapters are, and what `setup` there has installed.
    #[arg(long, value_name = "DIRECTORY", default_value = "bench/peers")]
    peers: PathBuf,
    /// Peers: single jobs whose pick-up is timed, at fast settings; half as many at defaults.
    #[arg(long, default_value_t = 150)]
    peer_picks: usize,
    /// Peers: seconds after which a drain is ended, at fast settings; a third of it at defaults.
    #[arg(long, default_value_t = 12)]
    peer_secs: u64,
    /// Write tables and plots to this file, and `plots` beside it.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Only these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Be the bare loop that the stream is compared with: a job at this interval in microseconds.
    #[arg(long, hide = true, value_name = "MICROS")]
    bare_stream: Option<u64>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(clap::Subcommand)]
enum Role {
    /// Be something that Foreman is compared with.
    #[command(hide = true, subcommand)]
    Bare(bare::Bare),
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(micros) = args.bare_stream {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(stream::serve_bare(Duration::from_micros(micros)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(Role::Bare(bare)) = args.role {
        bare::run(bare)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &args.foreman {
        process::measure_binary(path.canonicalize().with_context(|| format!("no {}", path.display()))?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if args.quick {
            return quick(&args).await;
        }
        parts::run(&args).await?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn quick(args: &Args) -> Result<ExitCode> {
    let server = match &args.postgres {
        Some(dsn) => Some(postgres::Server::reach(dsn).await?),
        None => None,
    };
    let about = server.as_ref().map_or("not measured", |server| &server.about);
    println!("quick benchmark on {} cores; Postgres: {about}", record::cores());
    let recorded = if args.record { None } else { Recorded::read(&args.recorded)? };
    let jobs = args.jobs.unwrap_or(40_000).next_multiple_of(2 * BATCH);
    let size = TurnSize { jobs, picks: args.picks.unwrap_or(60) };
    let (measured, is_well) = quick::run(server.as_ref(), size, args.turns.max(1), recorded.as_ref()).await?;
    if args.record {
        ensure!(server.is_some(), "a record has all ratios: name a Postgres with --postgres");
        Recorded::of(&measured).write(&args.recorded)?;
        println!("written to {}", args.recorded.display());
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Args {
    fn sizes(&self) -> Sizes {
        if self.smoke {
            return Sizes::smoke();
        }
        Sizes {
            jobs: self.jobs.unwrap_or(200_000).next_multiple_of(2 * BATCH),
            slots: self.slots,
            push_slots: self.push_slots,
            connections: self.connections.clone(),
            picks: self.picks.unwrap_or(1_000),
        }
    }
}
