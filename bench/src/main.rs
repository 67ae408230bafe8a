//! What Foreman makes of a machine: one run that measures the floor (raw SQL), then Foreman on the same disk, and prints
//! the ratios.
//!
//! Machines are noisy, so no absolute figure here is a claim: the ratios are, for both sides were measured minutes apart
//! on one machine. SQLite is always measured, Postgres when there is a server to measure on: `make bench` starts one that
//! syncs its files. `--smoke` runs each part briefly, to prove in CI that the benchmark itself works.

mod fairness;
mod http;
mod load;
mod postgres;
mod process;
mod report;
mod sqlite;
mod stream;

use std::time::Duration;

use anyhow::Result;
use clap::Parser;

use load::{BATCH, Load};

/// Measures raw batched SQL, submissions over HTTP (single and batch) and end-to-end no-op jobs, on SQLite and on Postgres.
#[derive(Parser)]
struct Args {
    /// A few jobs only: proves that it runs, measures nothing.
    #[arg(long)]
    smoke: bool,
    /// Jobs for each measurement.
    #[arg(long, default_value_t = 200_000)]
    jobs: usize,
    /// Connections for single submissions.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Slots of each worker in the end-to-end measurements.
    #[arg(long, default_value_t = 512)]
    slots: usize,
    /// Each measurement is made so often, and the median is printed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Jobs of one tenant that wait while another's single jobs are timed.
    #[arg(long, default_value_t = 100_000)]
    burst: usize,
    /// Jobs submitted one at a time, to see how soon an idle fleet picks them up.
    #[arg(long, default_value_t = 300)]
    picks: usize,
    /// Seconds of steady work without, and again with, an idle transaction that holds back the vacuum; 0: not measured.
    #[arg(long, default_value_t = 60)]
    idle_secs: u64,
    /// A superuser of the Postgres server to measure on: databases are made there, and dropped afterwards.
    #[arg(long, value_name = "DSN", env = "FOREMAN_TEST_POSTGRES", hide_env_values = true)]
    postgres: Option<String>,
    /// Clients that follow the stream at once; 0: not measured.
    #[arg(long, default_value_t = 1_000)]
    watchers: usize,
    /// Changes per second that each of them is told.
    #[arg(long, default_value_t = 50)]
    changes: u32,
    /// Seconds of it.
    #[arg(long, default_value_t = 20)]
    watch_secs: u64,
    /// Only this.
    #[arg(long)]
    only: Option<Only>,
    /// Be the bare loop that the stream is compared with: a job every so many microseconds.
    #[arg(long, hide = true, value_name = "MICROS")]
    bare_stream: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Sqlite,
    Postgres,
    Stream,
}

fn main() -> Result<()> {
    let mut args = Args::parse();
    if let Some(micros) = args.bare_stream {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(stream::serve_bare(Duration::from_micros(micros)));
    }
    if args.smoke {
        (args.jobs, args.connections, args.slots, args.rounds) = (2 * BATCH, 8, 64, 1);
        (args.picks, args.idle_secs, args.burst) = (10, 1, 2 * BATCH);
        (args.watchers, args.watch_secs) = (50, 2);
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&args))
}

async fn run(args: &Args) -> Result<()> {
    let load = Load { jobs: args.jobs / BATCH * BATCH, connections: args.connections, slots: args.slots };
    if args.watchers > 0 && args.only.is_none_or(|only| only == Only::Stream) {
        watched(args).await?;
    }
    if args.only == Some(Only::Stream) {
        return Ok(());
    }
    if args.only != Some(Only::Postgres) {
        let mut rounds = Vec::new();
        for round in 1..=args.rounds {
            eprintln!("SQLite, round {round} of {}", args.rounds);
            let mut figures = sqlite::round(&load).await?;
            figures.extend(sqlite::fairness(args.burst, args.picks).await?);
            rounds.push(figures);
        }
        report::print("SQLite, one process", &rounds, args.smoke);
    }
    if args.only == Some(Only::Sqlite) {
        return Ok(());
    }
    let Some(dsn) = &args.postgres else {
        println!("\nPostgres was not measured: name a server with --postgres, or run `make bench`");
        return Ok(());
    };
    let server = postgres::Server::reach(dsn).await?;
    let mut rounds = Vec::new();
    for round in 1..=args.rounds {
        eprintln!("Postgres, round {round} of {}", args.rounds);
        let mut figures = postgres::round(&server, &load, args.picks).await?;
        figures.extend(postgres::fairness(&server, args.burst, args.picks).await?);
        // Long, and a ratio to its own baseline: once is enough.
        if round == args.rounds && args.idle_secs > 0 {
            figures.extend(postgres::pinned(&server, &load, Duration::from_secs(args.idle_secs)).await?);
        }
        rounds.push(figures);
    }
    println!();
    report::print(&format!("Postgres {}, roles as separate processes", server.about), &rounds, args.smoke);
    Ok(())
}

/// What a crowd of clients costs.
async fn watched(args: &Args) -> Result<()> {
    let how_long = Duration::from_secs(args.watch_secs);
    let plan = stream::Plan { clients: args.watchers, changes_per_second: args.changes.max(3), how_long };
    let mut rounds = Vec::new();
    for round in 1..=args.rounds {
        eprintln!("stream, round {round} of {}", args.rounds);
        // The clients share this thread: what they cost is not to be in each other's way.
        rounds.push(tokio::task::LocalSet::new().run_until(stream::measure(&plan)).await?);
    }
    let title = format!(
        "stream, {} clients at {} changes per second, SQLite, one process",
        plan.clients, plan.changes_per_second
    );
    report::print(&title, &rounds, args.smoke);
    println!();
    Ok(())
}
