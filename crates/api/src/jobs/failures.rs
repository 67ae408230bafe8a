//! Jobs that failed or died, by their errors, so that ten thousand equal failures are one line.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::FailureGroupsDocument;
use foreman_core::{State as JobState, TenantId};
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::openapi::responses::InvalidParameter;
use crate::problem::Problem;
use crate::request::json;
use crate::request::params::{Params, RequestTenant};

/// More different errors than anybody reads.
const MOST: usize = 100;

/// Nobody decides differently about more jobs than this.
const ENOUGH: u64 = 10_000;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GroupParams {
    /// Only jobs in this state: `failed` or `dead`. Defaults to both.
    state: Option<JobState>,
}

/// List the errors of failed and dead jobs, the most frequent first.
///
/// Errors that differ only in numbers, ids and the like are in the same group. All jobs of a group are in one state:
/// `failed` (a retry cannot help) or `dead` (all attempts are used up). To list or retry the jobs of a group, pass its
/// `group` as `error_group` and its `state` as `state` to a list or a bulk operation. At most 100 groups are returned,
/// each counted up to 10,000; `complete` says whether these are all. Webhook deliveries are not included.
#[utoipa::path(get, path = "/api/v1/errors/groups", tag = "jobs", operation_id = "list_error_groups", params(GroupParams),
    responses(
        (status = 200, description = "The groups", body = FailureGroupsDocument),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn groups(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<GroupParams>,
) -> Result<Response, Problem> {
    match params.state {
        None => answer(&app, &tenant, &JobState::FAILURES).await,
        Some(state) if JobState::FAILURES.contains(&state) => answer(&app, &tenant, &[state]).await,
        Some(state) => Err(Problem::invalid_request(format!(
            "in the query: state: {state} jobs have no error; use failed or dead, or leave it out for both"
        ))),
    }
}

/// List the errors of dead jobs, the most frequent first.
///
/// The same as `/api/v1/errors/groups?state=dead`.
#[utoipa::path(get, path = "/api/v1/dead/groups", tag = "jobs", operation_id = "list_dead_groups",
    responses((status = 200, description = "The groups", body = FailureGroupsDocument)))]
pub(crate) async fn dead_groups(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
) -> Result<Response, Problem> {
    answer(&app, &tenant, &[JobState::Dead]).await
}

async fn answer(app: &App, tenant: &TenantId, states: &[JobState]) -> Result<Response, Problem> {
    let groups = app.store.failure_groups(tenant, states, MOST, ENOUGH).await?;
    Ok(json::answer(StatusCode::OK, &FailureGroupsDocument::from(groups)))
}
