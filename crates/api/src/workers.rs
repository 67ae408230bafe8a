//! Who works: the sessions of worker processes, alive and lately gone.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{HeldDocument, ListDocument, ProblemDocument, WorkerDocument};
use http::StatusCode;

use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::WorkerPath;

/// No worker has as many slots.
const MOST: usize = 1_000;

/// List workers: online ones first, then those that stopped or died recently.
#[utoipa::path(get, path = "/api/v1/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "All workers", body = ListDocument<WorkerDocument>)))]
pub(crate) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let sessions = app.store.sessions().await?;
    let items: Vec<WorkerDocument> = sessions.into_iter().map(WorkerDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}

/// List the jobs a worker is running, longest-running first.
#[utoipa::path(get, path = "/api/v1/workers/{worker}/jobs", tag = "workers", operation_id = "list_worker_jobs",
    params(("worker" = String, Path, description = "The worker's id (not its name), from the list of workers")),
    responses(
        (status = 200, description = "Its jobs, of all tenants", body = ListDocument<HeldDocument>),
        (status = 404, description = "No such worker", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn jobs(State(app): State<App>, WorkerPath(session): WorkerPath) -> Result<Response, Problem> {
    let held = app.store.held_by(session, MOST).await?;
    // Whoever holds something is known; only one who holds nothing has to be looked for.
    if held.is_empty() && !app.store.sessions().await?.iter().any(|view| view.id == session) {
        let detail = format!("no worker has the id {session}; it may have been offline for a long time");
        return Err(Problem::new(Kind::WorkerNotFound, detail));
    }
    let items: Vec<HeldDocument> = held.into_iter().map(HeldDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}
