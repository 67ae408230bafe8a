//! Submissions over HTTP: one job per request beside a bare server that answers 202, batches beside raw inserts.

use anyhow::Result;

use super::costs::{Meter, per_job};
use super::fleet::{Fleet, Size};
use super::server::Server;
use crate::bare::BareProcess;
use crate::load;
use crate::report::Figure;

const API_ALONE: Size = Size { workers: 0, slots: 1, has_api: true };

/// Jobs per second, one per request, on so many connections.
pub async fn single(server: &Server, jobs: usize, connections: usize) -> Result<f64> {
    submit(server, None, jobs, async |api| load::submit_single(api, jobs, connections).await).await.map(|done| done.0)
}

/// Jobs per second in batches.
pub async fn batches(server: &Server, jobs: usize) -> Result<f64> {
    submit(server, None, jobs, async |api| load::submit_batches(api, jobs).await).await.map(|done| done.0)
}

/// The same, and what a job costs.
pub async fn single_metered(
    server: &Server,
    what: &str,
    jobs: usize,
    connections: usize,
) -> Result<(f64, Vec<Figure>)> {
    submit(server, Some(what), jobs, async |api| load::submit_single(api, jobs, connections).await).await
}

pub async fn batches_metered(server: &Server, what: &str, jobs: usize) -> Result<(f64, Vec<Figure>)> {
    submit(server, Some(what), jobs, async |api| load::submit_batches(api, jobs).await).await
}

/// To an API on a database of its own; what it costs is read for `what`.
async fn submit(
    server: &Server,
    what: Option<&str>,
    jobs: usize,
    load: impl AsyncFn(&str) -> Result<f64>,
) -> Result<(f64, Vec<Figure>)> {
    let (database, mut costs) = (server.database().await?, Vec::new());
    let meter = if what.is_some() { Some(Meter::new(&database).await?) } else { None };
    let fleet = Fleet::start(&database, API_ALONE).await?;
    let rate = match what.zip(meter.as_ref()) {
        None => load(fleet.api()?).await?,
        Some((what, meter)) => {
            let before = meter.read(Some(&fleet)).await?;
            let rate = load(fleet.api()?).await?;
            costs = per_job(what, &before, &meter.read(Some(&fleet)).await?, jobs);
            rate
        }
    };
    fleet.stop().await?;
    database.remove().await?;
    Ok((rate, costs))
}

/// The same single requests to a server that does nothing with them.
pub async fn to_bare_server(requests: usize, connections: usize) -> Result<f64> {
    let mut bare = BareProcess::start(&["accept"])?;
    let address = bare.line().await?;
    load::submit_single(&address, requests, connections).await
}
