//! Schedules and what became of their ticks, read.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreman_core::document::{ListDocument, ProblemDocument, ScheduleDocument, TickDocument};
use foreman_core::ports::{ScheduleError, ScheduleView, StoreError};
use foreman_core::schedule::{NotAScheduleName, ScheduleKey, ScheduleName};
use foreman_core::{TenantId, Timestamp};
use http::{HeaderMap, StatusCode};

use super::tag;
use crate::app::App;
use crate::edit::condition;
use crate::openapi::responses::{InvalidParameter, ScheduleNotFound};
use crate::problem::Problem;
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::{Key, Params, RequestTenant};

/// List schedules, by name.
#[utoipa::path(get, path = "/api/v1/schedules", tag = "schedules", operation_id = "list_schedules", params(PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<ScheduleDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<PageParams>,
) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let after: Option<ScheduleName> = params.cursor()?;
    let views = app.store.schedules(&tenant, after.as_ref(), limit + 1).await?;
    let page = page_of(views, limit, |view| view.schedule.name.to_string());
    let items: Vec<ScheduleDocument> = page.items.into_iter().map(ScheduleDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}

/// Read a schedule.
///
/// With its next tick, the result of the latest one, and its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/schedules/{schedule}", tag = "schedules", operation_id = "get_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer"),
    ),
    responses(
        (status = 200, description = "The schedule", body = ScheduleDocument,
            headers(("ETag" = String, description = "Its version and part of its id, in quotes"))),
        (status = 304, description = "Not modified"),
        (status = 404, response = ScheduleNotFound),
        (status = 501, description = "Written by a later version that this server cannot read",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Key(key): Key,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let view = find(&app, &tenant, &key).await?;
    // Of the schedule as it was written: that it has fired since is no reason to send it again to whoever asks so.
    let etag = tag::etag(&view);
    if condition::has_it_already(&headers, &etag) {
        return Ok(condition::tagged(StatusCode::NOT_MODIFIED.into_response(), etag));
    }
    Ok(tag::answer(StatusCode::OK, view))
}

/// List a schedule's ticks and their results, newest first.
///
/// A tick was fired (with the job it created and that job's state), is held until the job of an earlier tick is final,
/// or was skipped (with the reason).
#[utoipa::path(get, path = "/api/v1/schedules/{schedule}/ticks", tag = "schedules", operation_id = "list_ticks",
    params(("schedule" = String, Path, description = "The schedule's name or id"), PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<TickDocument>),
        (status = 404, response = ScheduleNotFound),
    ))]
pub(crate) async fn ticks(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Key(key): Key,
    Params(params): Params<PageParams>,
) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let before: Option<Timestamp> = params.cursor()?;
    let id = find(&app, &tenant, &key).await?.schedule.id;
    let ticks = app.store.ticks(id, before, limit + 1).await?;
    let page = page_of(ticks, limit, |tick| tick.nominal.to_string());
    let items: Vec<TickDocument> = page.items.into_iter().map(TickDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}

pub(super) async fn find(app: &App, tenant: &TenantId, key: &ScheduleKey) -> Result<ScheduleView, Problem> {
    match app.store.schedule(tenant, key).await {
        Ok(found) => found.ok_or_else(|| not_found(key)),
        // A store that can tell where the schedule stands is whole: what the schedule says is of a later version. To call that
        // damage would take the whole server out of service.
        Err(StoreError::Damaged(why)) => match app.store.schedule_head(tenant, key).await? {
            Some(_) => Err(ScheduleError::Unreadable(why).into()),
            None => Err(not_found(key)),
        },
        Err(error) => Err(error.into()),
    }
}

pub(super) fn not_found(key: &ScheduleKey) -> Problem {
    let problem = Problem::from(ScheduleError::NotFound);
    let detail = format!("there is no schedule {key}; it may have been deleted");
    Problem { detail, ..problem }
}

/// The `{schedule}` of a path is neither a name nor an id.
pub(crate) fn no_key(error: &NotAScheduleName) -> Problem {
    Problem::invalid_request(error.to_string())
}
