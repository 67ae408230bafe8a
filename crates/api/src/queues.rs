//! Queues: how deep they are, and whether they are served.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{ListDocument, ProblemDocument, QueueDocument};
use http::StatusCode;
use serde::Serialize;

use crate::app::App;
use crate::json;
use crate::params::{Queue, Tenant};
use crate::problem::Problem;

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct PauseAnswer {
    name: String,
    paused: bool,
    /// `false` when it was so already.
    changed: bool,
}

/// List queues: depth by state, the age of the oldest due job, and how fast jobs end.
#[utoipa::path(get, path = "/api/v1/queues", tag = "queues", operation_id = "list_queues",
    responses((status = 200, description = "All queues", body = ListDocument<QueueDocument>)))]
pub(crate) async fn list(State(app): State<App>, Tenant(tenant): Tenant) -> Result<Response, Problem> {
    let queues = app.store.queues(&tenant).await?;
    let items: Vec<QueueDocument> = queues.into_iter().map(QueueDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}

/// Pause a queue: its jobs are not started. What runs goes on, and new jobs are still accepted.
#[utoipa::path(post, path = "/api/v1/queues/{queue}/pause", tag = "queues", operation_id = "pause_queue",
    params(("queue" = String, Path, description = "The queue's name")),
    responses(
        (status = 200, description = "It is paused", body = PauseAnswer),
        (status = 400, description = "Not a queue's name", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn pause(
    State(app): State<App>,
    Tenant(tenant): Tenant,
    Queue(queue): Queue,
) -> Result<Response, Problem> {
    let name = queue.to_string();
    let store = app.store.clone();
    let changed = app.to_the_end(async move { store.pause(&tenant, &queue).await }).await?;
    Ok(json::answer(StatusCode::OK, &PauseAnswer { name, paused: true, changed }))
}

/// Resume a queue: its jobs are started again.
#[utoipa::path(post, path = "/api/v1/queues/{queue}/resume", tag = "queues", operation_id = "resume_queue",
    params(("queue" = String, Path, description = "The queue's name")),
    responses(
        (status = 200, description = "It is not paused", body = PauseAnswer),
        (status = 400, description = "Not a queue's name", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn resume(
    State(app): State<App>,
    Tenant(tenant): Tenant,
    Queue(queue): Queue,
) -> Result<Response, Problem> {
    let name = queue.to_string();
    let store = app.store.clone();
    let changed = app.to_the_end(async move { store.resume(&tenant, &queue).await }).await?;
    Ok(json::answer(StatusCode::OK, &PauseAnswer { name, paused: false, changed }))
}
