//! Queues: how deep they are, and whether they are served.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{ListDocument, QueueDocument};
use foreman_core::job::{NotAQueueName, QueueName};
use foreman_core::ports::JobFilter;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::openapi::responses::{InvalidParameter, InvalidQueueName};
use crate::problem::Problem;
use crate::request::json;
use crate::request::params::{Params, Queue, RequestTenant};

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct PauseAnswer {
    name: String,
    paused: bool,
    /// `false` if there was nothing to change.
    changed: bool,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QueuesParams {
    /// Only this queue, which may be Foreman's own: `foreman.webhooks` has the webhook deliveries.
    queue: Option<String>,
}

/// List queues: depth by state, age of the oldest due job, and throughput.
///
/// Foreman's own queue `foreman.webhooks` is listed only if `queue` names it.
#[utoipa::path(get, path = "/api/v1/queues", tag = "queues", operation_id = "list_queues", params(QueuesParams),
    responses(
        (status = 200, description = "All queues", body = ListDocument<QueueDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<QueuesParams>,
) -> Result<Response, Problem> {
    let named = params.queue.map(|text| text.parse::<QueueName>()).transpose();
    let named =
        named.map_err(|error: NotAQueueName| Problem::invalid_request(format!("in the query: queue: {error}")))?;
    let asked = JobFilter { queue: named, ..JobFilter::default() };
    let queues = app.store.queues(&tenant).await?;
    let items: Vec<QueueDocument> =
        queues.into_iter().filter(|view| asked.takes_queue(&view.queue)).map(QueueDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}

/// Pause a queue: no further jobs are started. Running jobs continue, and new jobs are still accepted.
#[utoipa::path(post, path = "/api/v1/queues/{queue}/pause", tag = "queues", operation_id = "pause_queue",
    params(("queue" = String, Path, description = "The queue's name")),
    responses(
        (status = 200, description = "Paused", body = PauseAnswer),
        (status = 400, response = InvalidQueueName),
    ))]
pub(crate) async fn pause(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
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
        (status = 200, description = "Resumed", body = PauseAnswer),
        (status = 400, response = InvalidQueueName),
    ))]
pub(crate) async fn resume(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Queue(queue): Queue,
) -> Result<Response, Problem> {
    let name = queue.to_string();
    let store = app.store.clone();
    let changed = app.to_the_end(async move { store.resume(&tenant, &queue).await }).await?;
    Ok(json::answer(StatusCode::OK, &PauseAnswer { name, paused: false, changed }))
}
