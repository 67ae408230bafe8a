//! What a laptop gets: one run that measures the floor (raw SQL), then Foreman on the same disk, and prints the ratios.
//!
//! Machines are noisy, so no absolute figure here is a claim: the ratios are, for both sides were measured minutes apart
//! on one machine. `--smoke` runs each part briefly, to prove in CI that the benchmark itself works.

mod http;
mod load;
mod raw;
mod report;
mod server;

use anyhow::Result;
use clap::Parser;

use load::Load;
use report::Report;

/// Measures raw batched SQL inserts, submissions over HTTP (single and batch) and end-to-end no-op jobs.
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
    /// Slots of the worker in the end-to-end measurement.
    #[arg(long, default_value_t = 512)]
    slots: usize,
    /// Each measurement is made so often, and the median is printed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

fn main() -> Result<()> {
    let mut args = Args::parse();
    if args.smoke {
        (args.jobs, args.connections, args.slots, args.rounds) = (2_000, 8, 64, 1);
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&args))
}

async fn run(args: &Args) -> Result<()> {
    let load = Load { jobs: args.jobs, connections: args.connections, slots: args.slots };
    let mut rounds = Vec::new();
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        rounds.push(Report {
            raw: raw::inserts_per_second(args.jobs)?,
            idle_memory: server::idle_memory().await?,
            single: load.single().await?,
            batch: load.batch().await?,
            end_to_end: load.end_to_end().await?,
        });
    }
    report::print(&rounds, args.smoke);
    Ok(())
}
