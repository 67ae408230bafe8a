//! The same drain where more is kept, more waits, more tenants or queues have jobs, or more workers run: the ratio to the
//! drain of an otherwise empty database says what a large installation loses.

use anyhow::Result;

use super::drain::{Drained, drain, drain_on};
use super::fleet::Size;
use super::raw::Raw;
use super::server::Server;
use crate::jobs::{JobMaker, NOOP};
use crate::report::{Figure, grouped, rate};

/// How large; empty: not measured.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub jobs: usize,
    pub slots: usize,
    pub history: Vec<usize>,
    pub backlog: Vec<usize>,
    pub tenants: Vec<usize>,
    pub queues: Vec<usize>,
    pub workers: Vec<usize>,
}

pub async fn measure(server: &Server, sizes: &Sizes) -> Result<Vec<Figure>> {
    let (jobs, maker) = (sizes.jobs, JobMaker::of_task(NOOP)?);
    let one = Size { workers: 1, slots: sizes.slots, has_api: false };
    let empty = format!("drain of {} on an empty database", grouped(jobs));
    let mut figures = Vec::new();
    let mut add = |name: String, drained: Drained, of: Option<&str>| {
        eprintln!("  {name}: {:.0} /s", drained.per_second);
        figures.push(rate(name, drained.per_second, of));
    };
    add(empty.clone(), drain(server, "", &maker, jobs, one).await?, None);
    for &finished in &sizes.history {
        let database = server.database().await?;
        Raw::learn(&database, &maker).await?.history(finished).await?;
        let drained = drain_on(&database, "", &maker, jobs, one).await?;
        database.remove().await?;
        add(format!("the same after {} finished jobs", grouped(finished)), drained, Some(&empty));
    }
    for &waiting in &sizes.backlog {
        let database = server.database().await?;
        Raw::learn(&database, &maker).await?.fill(waiting).await?;
        let drained = drain_on(&database, "", &maker, jobs, one).await?;
        database.remove().await?;
        add(format!("the first of {} that wait", grouped(waiting + jobs)), drained, Some(&empty));
    }
    for &tenants in &sizes.tenants {
        let drained = drain(server, "", &maker.clone().with_tenants(tenants), jobs, one).await?;
        add(format!("the same of {} tenants", grouped(tenants)), drained, Some(&empty));
    }
    for &queues in &sizes.queues {
        let drained = drain(server, "", &maker.clone().with_queues(queues), jobs, one).await?;
        add(format!("the same in {} queues", grouped(queues)), drained, Some(&empty));
    }
    for &workers in &sizes.workers {
        let drained = drain(server, "", &maker, jobs, Size { workers, ..one }).await?;
        add(format!("the same with {workers} worker processes"), drained, Some(&empty));
    }
    Ok(figures)
}
