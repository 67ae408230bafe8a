//! What a running command has printed so far.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::ProblemDocument;
use foreman_core::ports::OutputChunk;
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::json;
use crate::params::{Id, Params, Tenant};
use crate::problem::{Kind, Problem};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputParams {
    /// From this line on; `next_line` of the answer before.
    #[serde(default)]
    #[param(default = 0)]
    after: u64,
}

/// Read what a running command has printed.
///
/// Only while an attempt runs in this process. What is kept afterwards stands with the job's attempts.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/output", tag = "jobs", operation_id = "read_output",
    params(("id" = String, Path, description = "The job's id"), OutputParams),
    responses(
        (status = 200, description = "Lines, and where to go on", body = OutputChunk),
        (status = 404, description = "No such job, or nothing of it runs here", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn output(
    State(app): State<App>,
    Tenant(tenant): Tenant,
    Id(id): Id,
    Params(params): Params<OutputParams>,
) -> Result<Response, Problem> {
    // Live output knows no tenants: the store says first whether the job is theirs.
    let view = app.store.get(&tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
    match app.output.read(id, params.after) {
        Some(chunk) => Ok(json::answer(StatusCode::OK, &chunk)),
        None => Err(Problem::in_state(
            Kind::NoLiveOutput,
            view.state,
            format!(
                "job {id} is {}, and no attempt of it prints here now; its `attempts` keep what earlier ones printed",
                view.state
            ),
        )),
    }
}
