//! What a running command has printed so far.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::ProblemDocument;
use foreman_core::ports::OutputChunk;
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::{Id, Params, RequestTenant};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputParams {
    /// The first line to return; `next_line` of the previous response.
    #[serde(default)]
    #[param(default = 0)]
    after: u64,
}

/// Read the output of a running command.
///
/// Only while an attempt is running in this process. Afterwards the output is part of the job's attempts.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/output", tag = "jobs", operation_id = "read_output",
    params(("id" = String, Path, description = "The job's id"), OutputParams),
    responses(
        (status = 200, description = "Lines, and where to continue", body = OutputChunk),
        (status = 404, description = "No such job, or no attempt of it is running on this server", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn output(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
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
                "job {id} is {}, and no attempt of it is running on this server; its `attempts` have the output of \
                 earlier ones",
                view.state
            ),
        )),
    }
}
