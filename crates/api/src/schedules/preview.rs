//! What a schedule will do, before it does it.

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::Timestamp;
use foreman_core::document::{PreviewDocument, ScheduleFields};
use foreman_core::schedule::{Judge as _, MOST_SHOWN, ScheduleRule, ScheduleSpec, preview};
use http::StatusCode;
use serde::Deserialize;

use super::look::find;
use crate::app::App;
use crate::openapi::responses::{InvalidSchedule, ScheduleNotFound};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::{Key, Params, RequestTenant};

const DEFAULT: usize = 20;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PreviewParams {
    /// How many fires to show.
    #[param(minimum = 1, maximum = 1000, default = 20)]
    n: Option<usize>,
    /// Show fires from this time on. Defaults to now.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
}

impl PreviewParams {
    fn n(&self) -> Result<usize, Problem> {
        let n = self.n.unwrap_or(DEFAULT);
        if (1..=MOST_SHOWN).contains(&n) {
            return Ok(n);
        }
        Err(Problem::invalid_request(format!("in the query: n: must be between 1 and {MOST_SHOWN}")))
    }
}

/// Show when a schedule will fire.
///
/// Each fire in UTC and in the schedule's time zone, with a note if a daylight saving change moved, merged or skipped
/// it. A paused schedule is previewed like any other.
#[utoipa::path(get, path = "/api/v1/schedules/{schedule}/preview", tag = "schedules", operation_id = "preview_schedule",
    params(("schedule" = String, Path, description = "The schedule's name or id"), PreviewParams),
    responses(
        (status = 200, description = "The next fires", body = PreviewDocument),
        (status = 404, response = ScheduleNotFound),
    ))]
pub(crate) async fn saved(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Key(key): Key,
    Params(params): Params<PreviewParams>,
) -> Result<Response, Problem> {
    let n = params.n()?;
    let view = find(&app, &tenant, &key).await?;
    let rule = view.schedule.rule().map_err(Problem::invalid_schedule)?;
    show(&app, rule, n, params.from).await
}

/// Show when a schedule that is not saved would fire.
///
/// Only the timing is required: `name` and `job` may be left out, and are validated if given.
#[utoipa::path(post, path = "/api/v1/schedules/preview", tag = "schedules", operation_id = "preview_unsaved_schedule",
    params(PreviewParams),
    request_body(content = ScheduleFields, example = json!({"cron": "30 2 * * *", "timezone": "Europe/Berlin"})),
    responses(
        (status = 200, description = "The next fires", body = PreviewDocument),
        (status = 422, response = InvalidSchedule),
    ))]
pub(crate) async fn unsaved(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<PreviewParams>,
    request: Request,
) -> Result<Response, Problem> {
    let n = params.n()?;
    let (_, body) = app.json(request, app.bodies.job_bytes).await?;
    let fields: ScheduleFields = json::parse(&body, Kind::InvalidSchedule)?;
    let (has_name, has_job) = (fields.name.is_some(), fields.job.is_some());
    let spec = ScheduleSpec::from(fields);
    let now = app.clock.now();
    let rule = match spec.judge(&tenant, &app.limits, now, now) {
        Ok(judged) => judged.rule,
        Err(mut invalid) => {
            // What was left out is no mistake here.
            invalid.mistakes.retain(|mistake| {
                let pointer = mistake.pointer.as_str();
                (has_name || pointer != "/name") && (has_job || !pointer.starts_with("/job"))
            });
            if !invalid.mistakes.is_empty() {
                return Err(Problem::invalid_schedule(invalid));
            }
            spec.rule(now).map_err(Problem::invalid_schedule)?
        }
    };
    show(&app, rule, n, params.from).await
}

/// A thousand fires of an expression that seldom fires are a walk through centuries: not on a thread that serves others.
async fn show(app: &App, rule: ScheduleRule, n: usize, from: Option<Timestamp>) -> Result<Response, Problem> {
    let from = from.unwrap_or_else(|| app.clock.now());
    let walk = app.tasks.spawn_blocking("preview", move || PreviewDocument {
        items: preview(&rule.timing, from, n, rule.start_at, rule.end_at),
        description: rule.timing.describe(),
    });
    let document = walk.await.map_err(|failed| Problem::internal(failed.to_string()))?;
    Ok(json::answer(StatusCode::OK, &document))
}
