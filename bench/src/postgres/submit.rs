//! Submissions over HTTP: one job per request beside a bare server that answers 202, batches beside raw inserts.

use anyhow::Result;

use super::fleet::{Fleet, Size};
use super::server::Server;
use crate::bare::BareProcess;
use crate::load;

const API_ALONE: Size = Size { workers: 0, slots: 1, has_api: true };

/// Jobs per second, one per request, on so many connections.
pub async fn single(server: &Server, jobs: usize, connections: usize) -> Result<f64> {
    let database = server.database().await?;
    let fleet = Fleet::start(&database, API_ALONE).await?;
    let rate = load::submit_single(fleet.api()?, jobs, connections).await?;
    fleet.stop().await?;
    database.remove().await?;
    Ok(rate)
}

/// Jobs per second in batches.
pub async fn batches(server: &Server, jobs: usize) -> Result<f64> {
    let database = server.database().await?;
    let fleet = Fleet::start(&database, API_ALONE).await?;
    let rate = load::submit_batches(fleet.api()?, jobs).await?;
    fleet.stop().await?;
    database.remove().await?;
    Ok(rate)
}

/// The same single requests to a server that does nothing with them.
pub async fn to_bare_server(requests: usize, connections: usize) -> Result<f64> {
    let mut bare = BareProcess::start(&["accept"])?;
    let address = bare.line().await?;
    load::submit_single(&address, requests, connections).await
}
