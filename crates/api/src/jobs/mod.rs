//! One job: read it, cancel it, run it again, delete it.

pub(crate) mod bulk;
pub(crate) mod failures;
pub(crate) mod hints;
pub(crate) mod listing;
pub(crate) mod output;
pub(crate) mod submit;
pub(crate) mod wait;

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{AttemptDocument, JobDocument, ListDocument, ProblemDocument};
use foreman_core::ports::{CancelAnswer, RedriveAnswer, RemoveAnswer, StoreError};
use foreman_core::{JobId, State as JobState, TenantId};
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::gate::caller::Caller;
use crate::gate::commands;
use crate::gate::quotas;
use crate::jobs::hints::Hints;
use crate::openapi::responses::{JobNotEnded, JobNotFound, RateLimited};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::paging;
use crate::request::params::{Id, Params, RequestTenant};

/// Read a job with its latest attempts.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", operation_id = "get_job",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The job", body = JobDocument),
        (status = 404, response = JobNotFound),
    ))]
pub(crate) async fn get(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Id(id): Id,
) -> Result<Response, Problem> {
    Ok(json::answer(StatusCode::OK, &read(&app, &tenant, id).await?))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttemptParams {
    /// `attempts_next` of the job, or `next` of the previous page, unchanged.
    cursor: Option<String>,
}

/// List a job's attempts.
///
/// Newest first, at most 25 and about a megabyte per page. An attempt that ends between two requests shifts the pages,
/// so the same attempt may be on both. If there are more than 200 attempts, the first 20 and the latest are kept.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/attempts", tag = "jobs", operation_id = "list_attempts",
    params(("id" = String, Path, description = "The job's id"), AttemptParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<AttemptDocument>),
        (status = 404, response = JobNotFound),
    ))]
pub(crate) async fn attempts(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Id(id): Id,
    Params(params): Params<AttemptParams>,
) -> Result<Response, Problem> {
    let skip = paging::cursor::<u32>(params.cursor.as_deref())?.unwrap_or_default() as usize;
    let page = app.store.attempts(&tenant, id, skip).await?.ok_or_else(|| Problem::job_not_found(id))?;
    Ok(json::answer(StatusCode::OK, &page.document(skip)))
}

/// Cancel a job.
///
/// A waiting job is cancelled at once. So is a running one: its worker is notified and stops the work, and results that
/// arrive later are rejected. Without the scope `jobs:read` the response has the job's state but none of its content.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", tag = "jobs", operation_id = "cancel_job",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The cancelled job", body = JobDocument),
        (status = 404, response = JobNotFound),
        (status = 409, description = "It has already ended; `state` has the final state",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn cancel(State(app): State<App>, caller: Caller, Id(id): Id) -> Result<Response, Problem> {
    let tenant = &caller.tenant;
    let answer = write(&app, tenant, id, |app, tenant| async move { app.store.cancel(&tenant, &[id]).await }).await?;
    match answer {
        CancelAnswer::WasWaiting | CancelAnswer::WasHeld(_) => changed(&app, &caller, id).await,
        CancelAnswer::AlreadyFinal(state) => Err(Problem::in_state(
            Kind::JobFinal,
            state,
            format!("job {id} is already {state} and cannot be cancelled"),
        )),
    }
}

/// Retry a job that has ended.
///
/// The job keeps its id. Its attempts are counted from zero again, and the earlier ones stay visible. A command needs
/// the scope `exec:command`, as it did when it was submitted. Without the scope `jobs:read` the response has the job's
/// state but none of its content.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", tag = "jobs", operation_id = "retry_job",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The job, queued again", body = JobDocument),
        (status = 403, description = "Commands are not allowed, or the key lacks `exec:command`",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, response = JobNotFound),
        (status = 409, response = JobNotEnded),
        (status = 429, response = RateLimited),
    ))]
pub(crate) async fn retry(State(app): State<App>, caller: Caller, Id(id): Id) -> Result<Response, Problem> {
    let view = app.store.get(&caller.tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
    // What a job runs never changes: it cannot become a command after this.
    commands::may_start(&app, &caller, &view.job.work.target)?;
    if !view.state.is_final() {
        return Err(not_final(id, view.state, "run again"));
    }
    let quota = app.quotas().take(&app, &caller, &[view.job.work]).await?;
    let tenant = &caller.tenant;
    let answer = write(&app, tenant, id, |app, tenant| async move { app.store.redrive(&tenant, &[id]).await }).await?;
    match answer {
        RedriveAnswer::Redriven => {
            let mut response = changed(&app, &caller, id).await?;
            quotas::tell(&mut response, quota);
            Ok(response)
        }
        RedriveAnswer::NotFinal(state) => Err(not_final(id, state, "run again")),
    }
}

/// Delete a job that has ended, and everything recorded about it.
#[utoipa::path(delete, path = "/api/v1/jobs/{id}", tag = "jobs", operation_id = "delete_job",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, response = JobNotFound),
        (status = 409, response = JobNotEnded),
    ))]
pub(crate) async fn delete(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    let answer = write(&app, &tenant, id, |app, tenant| async move { app.store.remove(&tenant, &[id]).await }).await?;
    match answer {
        RemoveAnswer::Removed => Ok(StatusCode::NO_CONTENT),
        RemoveAnswer::NotFinal(state) => Err(not_final(id, state, "be deleted; cancel it first")),
    }
}

fn not_final(id: JobId, state: JobState, what: &str) -> Problem {
    Problem::in_state(Kind::JobNotFinal, state, format!("job {id} is {state}; only a job that has ended can {what}"))
}

/// A store's verb on one job, carried to its end.
async fn write<T, F>(
    app: &App,
    tenant: &TenantId,
    id: JobId,
    verb: impl FnOnce(App, TenantId) -> F,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<Vec<Option<T>>, StoreError>> + Send + 'static,
{
    let answers = app.to_the_end(verb(app.clone(), tenant.clone())).await?;
    answers.into_iter().next().flatten().ok_or_else(|| Problem::job_not_found(id))
}

/// A job that was changed, for who may not be one who may read it.
async fn changed(app: &App, caller: &Caller, id: JobId) -> Result<Response, Problem> {
    let document = if caller.reads_jobs() {
        read(app, &caller.tenant, id).await?
    } else {
        let view = app.store.get(&caller.tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
        view.document(false).without_content()
    };
    Ok(json::answer_change(StatusCode::OK, document, JobDocument::without_content))
}

async fn read(app: &App, tenant: &TenantId, id: JobId) -> Result<JobDocument, Problem> {
    let view = app.store.get(tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
    let mut document = view.document(true);
    Hints::new(app).add(&mut document).await;
    Ok(document)
}
