//! How soon a fleet picks up a single job: with nothing else to do, and beside other work.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;

use super::fleet::{Fleet, Size};
use super::server::{Database, Server};
use crate::load;
use crate::pick_up::{self, PickUp};
use crate::report::{Figure, memory};

/// On an idle fleet, and what its processes weigh.
pub async fn idle(server: &Server, picks: usize, slots: usize) -> Result<(PickUp, Vec<Figure>)> {
    idle_on(server.database().await?, picks, slots).await
}

pub async fn idle_on(database: Database, picks: usize, slots: usize) -> Result<(PickUp, Vec<Figure>)> {
    let fleet = Fleet::start(&database, Size { workers: 1, slots, has_api: true }).await?;
    sleep(Duration::from_secs(2)).await;
    let mut weights = Vec::new();
    for (role, processes) in fleet.processes() {
        for process in processes {
            weights.push(memory(format!("idle memory, {role}"), process.resident_bytes()?));
        }
    }
    let picked = pick_up::measure(fleet.api()?, picks).await?;
    fleet.stop().await?;
    database.remove().await?;
    Ok((picked, weights))
}

/// Beside no-op jobs at this rate.
pub async fn beside(server: &Server, picks: usize, slots: usize, jobs_per_second: f64) -> Result<PickUp> {
    let database = server.database().await?;
    let fleet = Fleet::start(&database, Size { workers: 1, slots, has_api: true }).await?;
    let picked = tokio::select! {
        picked = pick_up::measure(fleet.api()?, picks) => picked?,
        ended = load::background(fleet.api()?, jobs_per_second) => { ended?; bail!("the other work has ended") }
    };
    fleet.stop().await?;
    database.remove().await?;
    Ok(picked)
}
