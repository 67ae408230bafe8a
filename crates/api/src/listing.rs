//! Lists of jobs, page by page.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{FilterDocument, JobDocument, ListDocument, ProblemDocument};
use foreman_core::error_group::NotAGroup;
use foreman_core::ports::{Cursor, JobFilter, NotACursor};
use foreman_core::{State as JobState, TenantId, Timestamp};
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::json;
use crate::params::{Params, Tenant};
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only jobs in this state.
    state: Option<JobState>,
    /// Only jobs of this queue.
    queue: Option<String>,
    /// Only jobs of this kind.
    kind: Option<String>,
    /// Only jobs with this tag.
    tag: Option<String>,
    /// Only jobs with this correlation id.
    correlation_id: Option<String>,
    /// Only final jobs that ended with an error of this group: `group` of the list of groups.
    error_group: Option<String>,
    /// Only jobs submitted after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Only jobs submitted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
    /// Jobs per page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// `next` of the page before, unchanged.
    cursor: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeadParams {
    /// Only jobs of this queue.
    queue: Option<String>,
    /// Only jobs of this kind.
    kind: Option<String>,
    /// Only jobs with this tag.
    tag: Option<String>,
    /// Only jobs with this correlation id.
    correlation_id: Option<String>,
    /// Only final jobs that ended with an error of this group: `group` of the list of groups.
    error_group: Option<String>,
    /// Only jobs submitted after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Only jobs submitted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
    /// Jobs per page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// `next` of the page before, unchanged.
    cursor: Option<String>,
}

/// List jobs.
///
/// Newest first: by submission, or, when one final state is asked for, by the time they reached it. The deliveries of webhooks, which
/// are jobs too, are left out unless `queue=foreman.webhooks` names them.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", operation_id = "list_jobs", params(ListParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<JobDocument>),
        (status = 400, description = "A parameter that does not exist or does not fit", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    Tenant(tenant): Tenant,
    Params(params): Params<ListParams>,
) -> Result<Response, Problem> {
    let ListParams {
        state,
        queue,
        kind,
        tag,
        correlation_id,
        error_group,
        created_after,
        created_before,
        limit,
        cursor,
    } = params;
    let asked = FilterDocument { state, queue, kind, tag, correlation_id, error_group, created_after, created_before };
    page(&app, &tenant, asked, limit, cursor.as_deref()).await
}

/// List dead jobs: all attempts failed, and kept until somebody retries or deletes them.
///
/// The same as the list of jobs in the state `dead`, latest death first.
#[utoipa::path(get, path = "/api/v1/dead", tag = "jobs", operation_id = "list_dead_jobs", params(DeadParams),
    responses((status = 200, description = "A page", body = ListDocument<JobDocument>)))]
pub(crate) async fn list_dead(
    State(app): State<App>,
    Tenant(tenant): Tenant,
    Params(params): Params<DeadParams>,
) -> Result<Response, Problem> {
    let DeadParams { queue, kind, tag, correlation_id, error_group, created_after, created_before, limit, cursor } =
        params;
    let state = Some(JobState::Dead);
    let asked = FilterDocument { state, queue, kind, tag, correlation_id, error_group, created_after, created_before };
    page(&app, &tenant, asked, limit, cursor.as_deref()).await
}

async fn page(
    app: &App,
    tenant: &TenantId,
    asked: FilterDocument,
    limit: Option<usize>,
    cursor: Option<&str>,
) -> Result<Response, Problem> {
    let filter = filter(asked)?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::invalid_request(format!("in the query: limit: must lie between 1 and {MAX_LIMIT}")));
    }
    let after = cursor
        .map(Cursor::decode)
        .transpose()
        .map_err(|error: NotACursor| Problem::invalid_request(format!("in the query: cursor: {error}")))?;
    let page = app.store.list(tenant, &filter, after.as_ref(), limit).await?;
    let document = ListDocument {
        items: page.items.into_iter().map(JobDocument::from).collect(),
        next: page.next.map(|cursor| cursor.encode()),
    };
    Ok(json::answer(StatusCode::OK, &document))
}

/// What was asked for, as the store takes it.
pub(crate) fn filter(asked: FilterDocument) -> Result<JobFilter, Problem> {
    let queue = asked
        .queue
        .map(|text| text.parse())
        .transpose()
        .map_err(|error: foreman_core::job::NotAQueueName| Problem::invalid_request(error.to_string()))?;
    let error_group = asked
        .error_group
        .map(|text| text.parse())
        .transpose()
        .map_err(|error: NotAGroup| Problem::invalid_request(format!("error_group: {error}")))?;
    Ok(JobFilter {
        state: asked.state,
        queue,
        kind: asked.kind,
        tag: asked.tag,
        correlation_id: asked.correlation_id,
        error_group,
        created_after: asked.created_after,
        created_before: asked.created_before,
    })
}
