//! Jobs that call a URL on this machine, beside a loop that makes the same calls with the same client.

use anyhow::Result;

use super::drain::{Drained, drain};
use super::fleet::Size;
use super::server::Server;
use crate::bare::{Pushed, Target};
use crate::jobs::JobMaker;

pub async fn push(server: &Server, what: &str, jobs: usize, workers: usize, slots: usize) -> Result<Drained> {
    let target = Target::start().await?;
    let maker = JobMaker::of_url(&target.url())?;
    drain(server, what, &maker, jobs, Size { workers, slots, has_api: false }).await
}

pub async fn bare_loop(requests: usize, at_once: usize) -> Result<Pushed> {
    Target::start().await?.bare_loop(requests, at_once).await
}
