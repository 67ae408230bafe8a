//! Waits for a job to end: a long poll.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{JobDocument, ProblemDocument};
use foreman_core::duration::{self, Span};
use foreman_core::{JobId, TenantId};
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::gate::caller::Caller;
use crate::openapi::responses::JobNotFound;
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::{Id, Params};
use crate::tail::{TooMany, Woken};

const DEFAULT: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitParams {
    /// How long to wait, at most `5m`. Defaults to `30s`.
    #[param(value_type = Option<String>, example = "30s")]
    timeout: Option<Span>,
}

/// Wait until a job has ended.
///
/// Responds as soon as the job is final. At the timeout, or when the server stops, it responds with the unfinished job.
/// If the key is revoked or expires meanwhile, the request ends with 401 within a few seconds.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/wait", tag = "jobs", operation_id = "wait_for_job",
    params(("id" = String, Path, description = "The job's id"), WaitParams),
    responses(
        (status = 200, description = "The job: final, or unfinished when the timeout passed", body = JobDocument),
        (status = 404, response = JobNotFound),
        (status = 429, description = "The tenant has too many waiting requests; `Retry-After` says when to try again",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn wait(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Params(params): Params<WaitParams>,
) -> Result<Response, Problem> {
    let patience = params.timeout.map_or(DEFAULT, |span| span.0);
    if patience > LONGEST {
        let most = duration::format(LONGEST);
        return Err(Problem::invalid_request(format!(
            "in the query: timeout: at most {most}; to wait longer, repeat the request"
        )));
    }
    let authenticator = app.authenticator();
    let document = tokio::select! {
        document = until_final(&app, &caller.tenant, id, Instant::now() + patience) => document?,
        problem = authenticator.gone(&caller) => return Err(problem),
    };
    // Minutes may have passed since the key was looked at.
    authenticator.still(&caller).await?;
    Ok(json::answer(StatusCode::OK, &document))
}

async fn until_final(app: &App, tenant: &TenantId, id: JobId, deadline: Instant) -> Result<JobDocument, Problem> {
    let waiter = app.waits.register(tenant, id).map_err(|full| match full {
        TooMany::OfTenant(_) => {
            Problem::new(Kind::TooManyRequests, format!("{full}; use the stream instead, or try again"))
                .with_header(RETRY_AFTER, "5")
        }
        TooMany::OfProcess => Problem::new(Kind::Overloaded, format!("{full}; try again in a moment")),
    })?;
    let mut may_wait = true;
    loop {
        {
            // Not kept while it waits: a job may have a megabyte.
            let view = app.store.get(tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
            if view.state.is_final() || !may_wait {
                return Ok(view.document(true));
            }
        }
        // However the wait ends, the answer is a fresh look.
        may_wait = matches!(timeout_at(deadline, waiter.woken()).await, Ok(Woken::Look));
    }
}
