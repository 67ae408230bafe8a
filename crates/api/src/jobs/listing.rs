//! Lists of jobs, page by page.
//!
//! A list shows no payloads, unless it is asked for them. A page with payloads is over after [`MOST_BYTES`], however many jobs it was
//! asked for, and the next one goes on from there.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{FilterDocument, JobDocument, ListDocument};
use foreman_core::error_group::NotAGroup;
use foreman_core::ports::{Cursor, JobFilter, NotACursor};
use foreman_core::{State as JobState, TenantId, Timestamp};
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::openapi::responses::InvalidParameter;
use crate::problem::Problem;
use crate::request::json;
use crate::request::params::{Params, RequestTenant};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// The same where each job is read by itself.
const MAX_LIMIT_WITH_PAYLOADS: usize = 100;
/// A page with payloads ends with the job that reaches this.
const MOST_BYTES: usize = 1024 * 1024;

/// What a list can show beside what it always shows.
#[derive(Clone, Copy, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fields {
    Payload,
}

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
    /// Only jobs that ended with an error of this group: `group` of the list of groups.
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
    /// `next` of the previous page, unchanged.
    cursor: Option<String>,
    /// `payload`: include what was submitted with each job, as in a job document. A page then has at most 100 jobs and
    /// 1 MiB; `next` continues it.
    #[param(inline)]
    fields: Option<Fields>,
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
    /// Only jobs that ended with an error of this group: `group` of the list of groups.
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
    /// `next` of the previous page, unchanged.
    cursor: Option<String>,
}

/// List jobs.
///
/// Newest first: by submission time, or by the time they reached it if `state` is a final state. Webhook deliveries,
/// which are jobs too, are left out unless you ask for `queue=foreman.webhooks`.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", operation_id = "list_jobs", params(ListParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<JobDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
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
        fields,
    } = params;
    let asked = FilterDocument { state, queue, kind, tag, correlation_id, error_group, created_after, created_before };
    page(&app, &tenant, asked, limit, cursor.as_deref(), fields).await
}

/// List dead jobs: jobs whose attempts all failed, kept until they are retried or deleted.
///
/// The same as the list of jobs in the state `dead`, newest first by the time they died.
#[utoipa::path(get, path = "/api/v1/dead", tag = "jobs", operation_id = "list_dead_jobs", params(DeadParams),
    responses((status = 200, description = "A page", body = ListDocument<JobDocument>)))]
pub(crate) async fn list_dead(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<DeadParams>,
) -> Result<Response, Problem> {
    let DeadParams { queue, kind, tag, correlation_id, error_group, created_after, created_before, limit, cursor } =
        params;
    let state = Some(JobState::Dead);
    let asked = FilterDocument { state, queue, kind, tag, correlation_id, error_group, created_after, created_before };
    page(&app, &tenant, asked, limit, cursor.as_deref(), None).await
}

async fn page(
    app: &App,
    tenant: &TenantId,
    asked: FilterDocument,
    limit: Option<usize>,
    cursor: Option<&str>,
    fields: Option<Fields>,
) -> Result<Response, Problem> {
    let filter = filter(asked)?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    let most = if fields.is_some() { MAX_LIMIT_WITH_PAYLOADS } else { MAX_LIMIT };
    if !(1..=most).contains(&limit) {
        return Err(Problem::invalid_request(format!("in the query: limit: must be between 1 and {most}")));
    }
    let after = cursor
        .map(Cursor::decode)
        .transpose()
        .map_err(|error: NotACursor| Problem::invalid_request(format!("in the query: cursor: {error}")))?;
    let mut page = app.store.list(tenant, &filter, after.as_ref(), limit).await?;
    let mut items: Vec<JobDocument> = page.items.into_iter().map(JobDocument::from).collect();
    if let Some(Fields::Payload) = fields {
        let count = items.len();
        items = with_payloads(app, tenant, items).await?;
        if items.len() < count {
            // Where a page of that many ends.
            page = app.store.list(tenant, &filter, after.as_ref(), items.len()).await?;
        }
    }
    let document = ListDocument { items, next: page.next.map(|cursor| cursor.encode()) };
    Ok(json::answer(StatusCode::OK, &document))
}

/// The first of these, with what was submitted, up to the one that makes them too large.
async fn with_payloads(app: &App, tenant: &TenantId, items: Vec<JobDocument>) -> Result<Vec<JobDocument>, Problem> {
    let (mut whole, mut bytes) = (Vec::with_capacity(items.len()), 0);
    for item in items {
        let id = item.id.parse().map_err(|_| Problem::internal("a job of a list has no id"))?;
        // One that was deleted a moment ago is shown as it was listed.
        let read = app.store.get(tenant, id).await?.map(|view| view.document(false));
        let document = read.unwrap_or(item);
        bytes += json::size(&document);
        whole.push(document);
        if bytes >= MOST_BYTES {
            break;
        }
    }
    Ok(whole)
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
