//! One turn of each ratio that CI watches: the same rows by plain SQL, or the same requests without a store, beside Foreman.
//!
//! Not beside the store alone (`floor.rs`): a feature that makes the store slower makes that slower too, and the ratio
//! would hide it. Waiting jobs are written as raw rows, which the store takes for its own.

use anyhow::Result;

use super::costs::Meter;
use super::drain::Drained;
use super::fleet::Size;
use super::raw::{self, Raw};
use super::server::Server;
use super::{drain, pick_up, submit};
use crate::bare::Target;
use crate::jobs::{JobMaker, NOOP, UNSERVED};
use crate::load::per_second;
use crate::quick::{Turn, TurnSize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostgresGate {
    Drain,
    Push,
    SubmitSingle,
    SubmitBatch,
    PickUp,
}

const SLOTS: usize = 512;
const PUSH_SLOTS: usize = 256;
const CONNECTIONS: usize = 64;

impl PostgresGate {
    pub const ALL: [Self; 5] = [Self::Drain, Self::Push, Self::SubmitSingle, Self::SubmitBatch, Self::PickUp];

    pub fn key(self) -> &'static str {
        match self {
            Self::Drain => "postgres.drain",
            Self::Push => "postgres.push",
            Self::SubmitSingle => "postgres.submit_single",
            Self::SubmitBatch => "postgres.submit_batch",
            Self::PickUp => "postgres.pick_up",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Drain => "waiting jobs run by one worker of 512 slots / their rows moved by plain SQL",
            Self::Push => "jobs that call a URL, one worker of 256 slots / a bare client loop",
            Self::SubmitSingle => "one job per request, 64 connections / a bare server that answers 202",
            Self::SubmitBatch => "batches of 1,000 over HTTP / their rows inserted by unnest",
            Self::PickUp => "one row committed / from request to call when idle, p50 of each",
        }
    }

    pub async fn turn(self, server: &Server, size: TurnSize) -> Result<Turn> {
        match self {
            Self::Drain => drained(server, size.jobs).await,
            Self::Push => pushed(server, size.jobs / 2).await,
            Self::SubmitSingle => Ok(Turn {
                floor: submit::to_bare_server(2 * size.jobs, CONNECTIONS).await?,
                ours: submit::single(server, size.jobs / 2, CONNECTIONS).await?,
                cpu: None,
            }),
            Self::SubmitBatch => {
                let database = server.database().await?;
                let took = Raw::learn(&database, &JobMaker::of_task(UNSERVED)?).await?.fill(size.jobs).await?;
                database.remove().await?;
                let ours = submit::batches(server, size.jobs).await?;
                Ok(Turn { floor: per_second(size.jobs, took), ours, cpu: None })
            }
            Self::PickUp => {
                let database = server.database().await?;
                let floor = raw::commit_millis(&database, size.picks).await?;
                database.remove().await?;
                Ok(Turn { floor, ours: pick_up::idle(server, size.picks, SLOTS).await?.0.took.p50, cpu: None })
            }
        }
    }
}

/// Twice as many raw rows, and more requests of the bare loop: a turn that lasts a moment is lucky more often.
async fn drained(server: &Server, jobs: usize) -> Result<Turn> {
    let (maker, rows) = (JobMaker::of_task(NOOP)?, 2 * jobs);
    let database = server.database().await?;
    let raw = Raw::learn(&database, &maker).await?;
    raw.fill(rows).await?;
    database.checkpoint().await?;
    let meter = Meter::new(&database).await?;
    let before = meter.read(None).await?;
    let floor = per_second(rows, raw.drain(rows).await?);
    let floor_cpu = meter.read(None).await?.cpu_since(&before, rows);
    database.remove().await?;
    let ours = run(server, &maker, jobs, SLOTS).await?;
    Ok(Turn { floor, ours: ours.per_second, cpu: floor_cpu.zip(ours.cpu) })
}

async fn pushed(server: &Server, jobs: usize) -> Result<Turn> {
    let target = Target::start().await?;
    let bare = target.bare_loop(4 * jobs, PUSH_SLOTS).await?;
    let ours = run(server, &JobMaker::of_url(&target.url())?, jobs, PUSH_SLOTS).await?;
    Ok(Turn { floor: bare.per_second, ours: ours.per_second, cpu: Some(bare.cpu).zip(ours.cpu) })
}

async fn run(server: &Server, maker: &JobMaker, jobs: usize, slots: usize) -> Result<Drained> {
    let database = server.database().await?;
    Raw::learn(&database, maker).await?.fill(jobs).await?;
    let size = Size { workers: 1, slots, has_api: false };
    let drained = drain::run_workers(&database, "", jobs, size).await?;
    database.remove().await?;
    Ok(drained)
}
