//! The same verb on many jobs, chosen by a filter.
//!
//! In steps of 500: each is one transaction, so a million jobs hold nobody up. A client that goes away stops it after the
//! step under way; what was done stays done, and the same request goes on where it was. Each list is walked from its newest
//! entry down, so what arrives or changes meanwhile is not met twice, and the walk has an end.
//!
//! A job that has not ended moves between the lists while they are walked, and may slip from one that is still to come into
//! one that is done. So a cancel walks them again until nothing is found, at most [`MOST_PASSES`] times; what was submitted
//! after it began is none of its business.
//!
//! A retry submits as many jobs again as it changes, and so goes as fast as its tenant may submit. It waits for room as long as
//! [`PATIENCE`]; then, or where no waiting helps, it ends with 429 and says how far it came.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use foreman_core::document::{BulkAnswer, BulkRequest, FilterDocument, ProblemDocument};
use foreman_core::ports::{CancelAnswer, JobFilter, JobSummary, RedriveAnswer, RemoveAnswer, StoreError};
use foreman_core::tenant::Rate;
use foreman_core::{JobId, State as JobState, TenantId, Timestamp};
use http::StatusCode;
use tokio::time::Instant;

use crate::app::App;
use crate::gate::audit::Touched;
use crate::gate::caller::Caller;
use crate::gate::commands;
use crate::jobs::listing;
use crate::openapi::responses::InvalidFilter;
use crate::problem::{Kind, Problem};
use crate::request::json;

const STEP: usize = 500;

/// How long one call waits, in all, for room in the rate of its tenant.
const PATIENCE: Duration = Duration::from_secs(30);

/// A job that slips through them all would have to change its state several times in each.
const MOST_PASSES: usize = 8;

/// What a bulk call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BulkVerb {
    Retry,
    Cancel,
    Delete,
}

impl BulkVerb {
    /// The states it applies to.
    fn applies_to(self) -> &'static [JobState] {
        match self {
            BulkVerb::Retry | BulkVerb::Delete => &JobState::FINAL,
            BulkVerb::Cancel => &[JobState::Scheduled, JobState::Retrying, JobState::Pending, JobState::Running],
        }
    }

    /// Where the filter names no state. Nobody wants to run everything again that ever completed; a filter by an error means
    /// whatever ended with it.
    fn without_a_state(self, has_group: bool) -> &'static [JobState] {
        match self {
            BulkVerb::Retry if has_group => &JobState::FAILURES,
            BulkVerb::Retry => &[JobState::Dead],
            BulkVerb::Cancel | BulkVerb::Delete => self.applies_to(),
        }
    }

    fn states(self, filter: &FilterDocument) -> Result<Vec<JobState>, Problem> {
        match filter.state {
            None => Ok(self.without_a_state(filter.error_group.is_some()).to_vec()),
            Some(state) if self.applies_to().contains(&state) => Ok(vec![state]),
            Some(state) => {
                let names: Vec<&str> = self.applies_to().iter().map(|state| state.as_str()).collect();
                Err(Problem::invalid_request(format!(
                    "/filter/state: this operation does not apply to {state} jobs; use one of {}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// Retry many jobs that have ended.
///
/// The filter's `state` is a final state; by default `dead`, or with an `error_group` both `failed` and `dead`. Webhook
/// deliveries are left out unless `queue` names their queue. Commands are skipped and counted in `skipped` if the key
/// lacks the scope `exec:command` or the server does not run commands.
#[utoipa::path(post, path = "/api/v1/jobs/retry", tag = "bulk", operation_id = "retry_jobs", request_body = BulkRequest,
    responses(
        (status = 200, description = "How many", body = BulkAnswer),
        (status = 400, response = InvalidFilter),
        (status = 429, description = "The tenant's rate limit; `detail` says how many jobs were retried, `Retry-After` when to continue",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn retry(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    run(BulkVerb::Retry, app, caller, request).await
}

/// Cancel many jobs that have not ended.
///
/// The filter's `state` is a state that is not final; by default, all of those. Webhook deliveries are left out unless
/// `queue` names their queue.
#[utoipa::path(post, path = "/api/v1/jobs/cancel", tag = "bulk", operation_id = "cancel_jobs", request_body = BulkRequest,
    responses(
        (status = 200, description = "How many", body = BulkAnswer),
        (status = 400, response = InvalidFilter),
    ))]
pub(crate) async fn cancel(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    run(BulkVerb::Cancel, app, caller, request).await
}

/// Delete many ended jobs.
///
/// The filter's `state` is a final state; by default, all of those. Webhook deliveries are left out unless `queue`
/// names their queue.
#[utoipa::path(post, path = "/api/v1/jobs/delete", tag = "bulk", operation_id = "delete_jobs", request_body = BulkRequest,
    responses(
        (status = 200, description = "How many", body = BulkAnswer),
        (status = 400, response = InvalidFilter),
    ))]
pub(crate) async fn delete(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    run(BulkVerb::Delete, app, caller, request).await
}

async fn run(verb: BulkVerb, app: App, caller: Caller, request: Request) -> Result<Response, Problem> {
    let tenant = caller.tenant.clone();
    let (_, body) = app.json(request, app.bodies.job_bytes).await?;
    let BulkRequest { filter, dry_run } = json::parse(&body, Kind::InvalidRequest)?;
    let states = verb.states(&filter)?;
    // The names of fields and what was looked for: nothing of the jobs themselves.
    let chosen = serde_json::to_string(&filter).unwrap_or_default();
    let filter = listing::filter(filter)?;
    let begun = app.clock.now();
    let mut answer = BulkAnswer { matched: 0, changed: 0, skipped: 0 };
    if dry_run {
        for state in states {
            let filter = JobFilter { state: Some(state), ..filter.clone() };
            answer.matched += app.store.count(&tenant, &filter).await?;
        }
        return Ok(answered(&answer, format!("jobs {chosen} (only counted)")));
    }
    if verb == BulkVerb::Retry {
        let redriven = redrive(&app, &caller, &filter, &states, &mut answer).await;
        let skipped =
            if answer.skipped == 0 { String::new() } else { format!(", {} commands skipped", answer.skipped) };
        let object = format!("jobs {chosen} ({} changed{skipped})", answer.changed);
        return match redriven {
            Ok(()) => Ok(answered(&answer, object)),
            Err(problem) if answer.changed == 0 => Err(problem),
            Err(problem) => Ok(broken_off(problem, &answer, object)),
        };
    }
    pass(verb, &app, &tenant, &filter, &states, &mut answer).await?;
    if verb == BulkVerb::Cancel && states.len() > 1 {
        let filter = JobFilter { created_before: Some(older(begun, filter.created_before)), ..filter };
        // Also after a pass that found nothing: a job that is alone can slip through that one too.
        for _ in 1..MOST_PASSES {
            let before = answer.changed;
            pass(verb, &app, &tenant, &filter, &states, &mut answer).await?;
            if answer.changed == before {
                break;
            }
        }
    }
    let object = format!("jobs {chosen} ({} changed)", answer.changed);
    Ok(answered(&answer, object))
}

fn answered(answer: &BulkAnswer, object: String) -> Response {
    let mut response = json::answer(StatusCode::OK, answer);
    Touched::mark(&mut response, object);
    response
}

/// Not all of it was done: what was is told, and stands in the audit log.
fn broken_off(problem: Problem, answer: &BulkAnswer, object: String) -> Response {
    let detail = format!("{} jobs were retried before this error: {}", answer.changed, problem.detail);
    let mut response = Problem { detail, ..problem }.into_response();
    Touched::mark(&mut response, object);
    response
}

/// Runs them again, as fast as the tenant may submit; commands only for a caller who could have submitted them.
async fn redrive(
    app: &App,
    caller: &Caller,
    filter: &JobFilter,
    states: &[JobState],
    answer: &mut BulkAnswer,
) -> Result<(), Problem> {
    let until = Instant::now() + PATIENCE;
    let burst = Rate::of_submissions(&caller.profile.limits).map_or(STEP as u64, |rate| rate.burst);
    let spares_commands = commands::may_submit(app, caller).is_err();
    let is_spared = |job: &JobSummary| spares_commands && job.outline.target.is_command();
    let step_size = usize::try_from(burst).unwrap_or(STEP).clamp(1, STEP);
    for state in states {
        let filter = JobFilter { state: Some(*state), ..filter.clone() };
        let mut after = None;
        loop {
            let page = app.store.list(&caller.tenant, &filter, after.as_ref(), step_size).await?;
            let matched = page.items.len();
            let meant: Vec<JobSummary> = page.items.into_iter().filter(|summary| !is_spared(summary)).collect();
            answer.matched += matched as u64;
            answer.skipped += (matched - meant.len()) as u64;
            let mut rest = meant.as_slice();
            while !rest.is_empty() {
                let taken = app.quotas().take_some(app, caller, rest, until).await?;
                let ids = rest[..taken].iter().map(|summary| summary.id).collect();
                answer.changed +=
                    app.to_the_end(step(BulkVerb::Retry, app.clone(), caller.tenant.clone(), ids)).await?;
                rest = &rest[taken..];
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    Ok(())
}

/// What was there when the call began, and what was asked for.
fn older(begun: Timestamp, asked: Option<Timestamp>) -> Timestamp {
    // The filter leaves out the moment itself; what was submitted in it had been answered before this call came.
    let after_begun = begun.plus(Duration::from_micros(1));
    asked.map_or(after_begun, |asked| asked.min(after_begun))
}

async fn pass(
    verb: BulkVerb,
    app: &App,
    tenant: &TenantId,
    filter: &JobFilter,
    states: &[JobState],
    answer: &mut BulkAnswer,
) -> Result<(), Problem> {
    for state in states {
        let filter = JobFilter { state: Some(*state), ..filter.clone() };
        walk(verb, app, tenant, &filter, answer).await?;
    }
    Ok(())
}

async fn walk(
    verb: BulkVerb,
    app: &App,
    tenant: &TenantId,
    filter: &JobFilter,
    answer: &mut BulkAnswer,
) -> Result<(), Problem> {
    let mut after = None;
    loop {
        let page = app.store.list(tenant, filter, after.as_ref(), STEP).await?;
        let ids: Vec<JobId> = page.items.iter().map(|summary| summary.id).collect();
        if !ids.is_empty() {
            answer.matched += ids.len() as u64;
            answer.changed += app.to_the_end(step(verb, app.clone(), tenant.clone(), ids)).await?;
        }
        if page.next.is_none() {
            return Ok(());
        }
        after = page.next;
    }
}

/// How many of these were changed; the others had moved on since they were listed.
async fn step(verb: BulkVerb, app: App, tenant: TenantId, ids: Vec<JobId>) -> Result<u64, StoreError> {
    let changed = match verb {
        BulkVerb::Retry => {
            let answers = app.store.redrive(&tenant, &ids).await?;
            answers.iter().filter(|answer| matches!(answer, Some(RedriveAnswer::Redriven))).count()
        }
        BulkVerb::Cancel => {
            let answers = app.store.cancel(&tenant, &ids).await?;
            let cancelled = |answer: &&Option<CancelAnswer>| {
                matches!(answer, Some(CancelAnswer::WasWaiting | CancelAnswer::WasHeld(_)))
            };
            answers.iter().filter(cancelled).count()
        }
        BulkVerb::Delete => {
            let answers = app.store.remove(&tenant, &ids).await?;
            answers.iter().filter(|answer| matches!(answer, Some(RemoveAnswer::Removed))).count()
        }
    };
    Ok(changed as u64)
}
