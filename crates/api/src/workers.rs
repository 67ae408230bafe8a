//! Who works: the sessions of worker processes, alive and lately gone.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{ListDocument, WorkerDocument};
use http::StatusCode;

use crate::app::App;
use crate::json;
use crate::problem::Problem;

/// List workers: the living first, then those that ended or died lately.
#[utoipa::path(get, path = "/api/v1/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "All workers", body = ListDocument<WorkerDocument>)))]
pub(crate) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let sessions = app.store.sessions().await?;
    let items: Vec<WorkerDocument> = sessions.into_iter().map(WorkerDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}
