//! The same drain where more is kept, more waits, more tenants or queues have jobs, or more workers run: the ratio to the
//! drain of an otherwise empty database says what a large installation loses.
//!
//! All of them take turns with the empty one, several times, and the median of each counts. Every drain is of as many jobs that
//! the store took in right before, after a checkpoint. History and backlog are filled once, in databases that stay until the
//! end; a drain leaves its jobs to the history, and takes from a backlog what was added to it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use super::drain::{drain, drain_on};
use super::fleet::Size;
use super::history::{self, Filled};
use super::server::{Database, Server};
use crate::floor;
use crate::jobs::{JobMaker, NOOP};
use crate::report::{Figure, Section, grouped, median, rate};

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

/// Something that has grown.
struct Case {
    name: String,
    maker: JobMaker,
    workers: usize,
    /// What it is drained on; without one, on an empty database each time.
    database: Option<Database>,
    rates: Vec<f64>,
    /// Of its last turn.
    costs: Vec<Figure>,
}

impl Case {
    fn new(name: impl Into<String>, maker: &JobMaker) -> Self {
        Self {
            name: name.into(),
            maker: maker.clone(),
            workers: 1,
            database: None,
            rates: Vec::new(),
            costs: Vec::new(),
        }
    }

    async fn turn(&mut self, server: &Server, sizes: &Sizes) -> Result<()> {
        let size = Size { workers: self.workers, slots: sizes.slots, has_api: false };
        let drained = match &self.database {
            Some(database) => drain_on(database, &self.name, &self.maker, sizes.jobs, size).await?,
            None => drain(server, &self.name, &self.maker, sizes.jobs, size).await?,
        };
        eprintln!("  {}: {:.0} /s", self.name, drained.per_second);
        for cost in &drained.costs {
            eprintln!("    {}: {}", cost.name, cost.unit.show(cost.value));
        }
        self.costs = drained.costs;
        self.rates.push(drained.per_second);
        Ok(())
    }
}

/// Several turns of each, while there is time for another: `may_go_on` is given how many were made, and how long they took.
pub async fn measure(server: &Server, sizes: &Sizes, may_go_on: impl Fn(usize, Duration) -> bool) -> Result<Section> {
    let (mut cases, notes) = cases(server, sizes).await?;
    let (mut turns, start) = (0, Instant::now());
    while turns == 0 || may_go_on(turns, start.elapsed()) {
        turns += 1;
        for case in &mut cases {
            case.turn(server, sizes).await?;
        }
    }
    let empty = cases.first().map(|case| case.name.clone());
    let (mut figures, mut costs): (Vec<Figure>, Vec<Figure>) = (Vec::new(), Vec::new());
    for case in cases {
        let of = empty.as_deref().filter(|empty| *empty != case.name);
        figures.push(rate(case.name, median(case.rates), of));
        costs.extend(case.costs);
        if let Some(database) = case.database {
            database.remove().await?;
        }
    }
    figures.extend(costs);
    let about = format!("the same drain where more is kept, waits or takes part; median of {turns} in turns");
    Ok(Section { notes, ..Section::new("Growth, Postgres", about, figures) })
}

/// The empty one first. Notes say how long the filling took, or why it was left out.
async fn cases(server: &Server, sizes: &Sizes) -> Result<(Vec<Case>, Vec<String>)> {
    let maker = JobMaker::of_task(NOOP)?;
    let mut cases = vec![Case::new(format!("drain of {} on an empty database", grouped(sizes.jobs)), &maker)];
    let mut notes = Vec::new();
    for &finished in &sizes.history {
        let (database, many) = (server.database().await?, grouped(finished));
        match history::fill(&database, &maker, finished).await {
            Ok(Filled { took, bytes }) => {
                let (seconds, gigabytes) = (took.as_secs_f64(), bytes as f64 / 1e9);
                notes.push(format!(
                    "{many} finished jobs, over eight weeks: {gigabytes:.1} GB, written in {seconds:.0} s by copying rows"
                ));
                let name = format!("the same after {many} finished jobs");
                cases.push(Case { database: Some(database), ..Case::new(name, &maker) });
            }
            Err(error) => {
                notes.push(format!("not measured after {many} finished jobs: {error:#}"));
                database.remove().await?;
            }
        }
        notes.iter().last().into_iter().for_each(|note| eprintln!("  {note}"));
    }
    for &waiting in &sizes.backlog {
        let database = server.database().await?;
        floor::fill(&database.store().await?, &maker, waiting).await?;
        let name = format!("the same with {} more that wait", grouped(waiting));
        cases.push(Case { database: Some(database), ..Case::new(name, &maker) });
    }
    for &tenants in sizes.tenants.iter().filter(|tenants| **tenants > 1) {
        cases
            .push(Case::new(format!("the same of {} tenants", grouped(tenants)), &maker.clone().with_tenants(tenants)));
    }
    for &queues in sizes.queues.iter().filter(|queues| **queues > 1) {
        cases.push(Case::new(format!("the same in {} queues", grouped(queues)), &maker.clone().with_queues(queues)));
    }
    for &workers in sizes.workers.iter().filter(|workers| **workers > 1) {
        cases.push(Case { workers, ..Case::new(format!("the same with {workers} worker processes"), &maker) });
    }
    Ok((cases, notes))
}
