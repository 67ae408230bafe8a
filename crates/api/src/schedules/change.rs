//! Schedules made and changed.
//!
//! Each write runs to its end, whether or not its client waits. One that is sent again finds what the first made of it: a second
//! POST finds the name taken, a second PUT or PATCH changes the same to the same.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{JobDocument, ProblemDocument, ScheduleDocument, ScheduleFields};
use foreman_core::ports::{ScheduleChange, ScheduleError, ScheduleView};
use foreman_core::schedule::{ScheduleKey, ScheduleSpec};
use foreman_core::spec::{Invalid, JobSpec, Mistake};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;

use super::look::{find, not_found};
use super::tag;
use crate::app::App;
use crate::edit::condition::Expected;
use crate::edit::{EditRound, edit_at_version};
use crate::gate::audit::Touched;
use crate::gate::caller::Caller;
use crate::gate::commands;
use crate::gate::quotas;
use crate::jobs::submit;
use crate::openapi::responses::{
    CommandForbidden, CommandsOrScope, InvalidSchedule, ScheduleNotFound, VersionMismatch,
};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::{Key, RequestTenant};

/// Create a schedule.
///
/// Starting with its next time, each tick creates its job exactly once.
#[utoipa::path(post, path = "/api/v1/schedules", tag = "schedules", operation_id = "create_schedule",
    request_body(content = ScheduleSpec, example = json!({
        "name": "daily-report", "cron": "0 9 * * *", "timezone": "Europe/Berlin",
        "job": {"url": "http://127.0.0.1:8080/dev/echo"},
    })),
    responses(
        (status = 201, description = "Created", body = ScheduleDocument,
            headers(
                ("Location" = String, description = "URL of the schedule"),
                ("ETag" = String, description = "Its version and part of its id, in quotes"),
            )),
        (status = 403, response = CommandsOrScope),
        (status = 409, description = "The name is taken",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, response = InvalidSchedule),
    ))]
pub(crate) async fn create(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let (_, spec) = read(&app, &caller, request).await?;
    quotas::may_add_a_schedule(&app, &caller).await?;
    let (editor, tenant) = (app.schedules.clone(), caller.tenant.clone());
    let view = app.to_the_end(async move { editor.create(&tenant, spec).await }).await?;
    Ok(created(&caller, view))
}

/// Replace or create a schedule.
///
/// With `If-Match` it is replaced only if it has that version (with `*`, any version); with `If-None-Match: *` it is
/// only created. A tick that is already due is fired first.
#[utoipa::path(put, path = "/api/v1/schedules/{schedule}", tag = "schedules", operation_id = "replace_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag` or version, such as `\"3\"`, or `*`"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create only, do not replace"),
    ),
    request_body(content = ScheduleSpec, example = json!({
        "name": "daily-report", "cron": "30 9 * * MON-FRI", "timezone": "Europe/Berlin",
        "job": {"url": "http://127.0.0.1:8080/dev/echo"}, "overlap": "skip",
    })),
    responses(
        (status = 200, description = "Replaced", body = ScheduleDocument,
            headers(("ETag" = String, description = "Its version and part of its id, in quotes"))),
        (status = 201, description = "Created", body = ScheduleDocument,
            headers(
                ("Location" = String, description = "URL of the schedule"),
                ("ETag" = String, description = "Its version and part of its id, in quotes"),
            )),
        (status = 404, description = "No schedule has this id",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 412, response = VersionMismatch),
        (status = 422, response = InvalidSchedule),
    ))]
pub(crate) async fn replace(
    State(app): State<App>,
    caller: Caller,
    Key(key): Key,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, spec) = read(&app, &caller, request).await?;
    let tenant = caller.tenant.clone();
    let expected = Expected::of(&headers)?;
    if let ScheduleKey::Name(name) = &key
        && spec.name != name.as_str()
    {
        let detail = format!("differs from the name in the path, {name}");
        let mistakes = vec![Mistake { pointer: "/name".into(), detail }];
        return Err(Problem::invalid_schedule(Invalid { mistakes }));
    }
    let key = match tag::bound(expected, &app, &tenant, key.clone()).await {
        Err(Problem { kind: Kind::ScheduleNotFound, .. }) => return Err(none_there(&key)),
        bound => bound?,
    };
    let app_there = app.clone();
    app.to_the_end(async move { put(&app_there, &caller, &key, spec, expected).await }).await
}

async fn put(
    app: &App,
    caller: &Caller,
    key: &ScheduleKey,
    spec: ScheduleSpec,
    expected: Expected,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant;
    let may_make = matches!(expected, Expected::Anything | Expected::Nothing) && matches!(key, ScheduleKey::Name(_));
    let busy = || ScheduleError::Busy.into();
    // Between the two calls another request may create or delete it: then the first is made again.
    edit_at_version(busy, || async {
        if expected != Expected::Nothing {
            let change = ScheduleChange::Replace(spec.clone());
            match app.schedules.change(tenant, key, change, expected.only_if()).await {
                Ok(view) => return Ok(EditRound::Written(tag::answer_to(caller, StatusCode::OK, view))),
                Err(ScheduleError::NotFound) if may_make => {}
                Err(ScheduleError::NotFound) if expected != Expected::Anything => {
                    return Err(none_there(key));
                }
                Err(error) => return Err(explained(error, key)),
            }
        }
        quotas::may_add_a_schedule(app, caller).await?;
        match app.schedules.create(tenant, spec.clone()).await {
            Ok(view) => Ok(EditRound::Written(created(caller, view))),
            Err(ScheduleError::NameTaken(name)) if expected == Expected::Nothing => Err(Problem::new(
                Kind::PreconditionFailed,
                format!("a schedule named {name} already exists, and If-None-Match forbids replacing it"),
            )),
            Err(ScheduleError::NameTaken(_)) => Ok(EditRound::Stale),
            Err(error) => Err(explained(error, key)),
        }
    })
    .await
}

fn none_there(key: &ScheduleKey) -> Problem {
    let detail = format!("there is no schedule {key}; send the request without If-Match to create it");
    Problem::new(Kind::PreconditionFailed, detail)
}

/// Change some fields of a schedule.
///
/// A JSON merge patch (RFC 7396): a field replaces the old value, and `null` removes it. The same goes for the fields
/// of `job`; deeper values are replaced as a whole. Changing a schedule that runs a command needs the scope
/// `exec:command`, even if only its times change.
#[utoipa::path(patch, path = "/api/v1/schedules/{schedule}", tag = "schedules", operation_id = "update_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag` or version, such as `\"3\"`, or `*`"),
    ),
    request_body(
        content(
            (ScheduleFields = "application/json", example = json!({"cron": "30 9 * * *", "jitter": null, "job": {"queue": "reports"}})),
            (ScheduleFields = "application/merge-patch+json", example = json!({"overlap": "skip"})),
        ),
    ),
    responses(
        (status = 200, description = "Changed", body = ScheduleDocument,
            headers(("ETag" = String, description = "Its version and part of its id, in quotes"))),
        (status = 403, response = CommandForbidden),
        (status = 404, response = ScheduleNotFound),
        (status = 412, response = VersionMismatch),
        (status = 422, description = "The result would not be a valid schedule",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn update(
    State(app): State<App>,
    caller: Caller,
    Key(key): Key,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, body) = app.json(request, app.bodies.job_bytes).await?;
    let expected = Expected::of_existing(&headers)?;
    // Read as fields first: a mistake in the patch is then told by its place in the patch.
    let fields: ScheduleFields = json::parse(&body, Kind::InvalidSchedule)?;
    refuse_to_remove(&body, &["name", "job"])?;
    let patch: Box<RawValue> = json::parse(&body, Kind::InvalidSchedule)?;
    if let Some(job) = fields.job {
        judge_command(&app, &caller, &job)?;
        quotas::may_schedule(&app, &caller, &job).await?;
    }
    change_what_fires(&app, &caller, key, ScheduleChange::Patch(patch), expected).await
}

/// A change of what a schedule fires, when, or whether it does. A key that may not submit commands may not make one of these on a
/// schedule that runs a command: neither give it other variables, nor fire it more often, nor resume it.
async fn change_what_fires(
    app: &App,
    caller: &Caller,
    key: ScheduleKey,
    what: ScheduleChange,
    expected: Expected,
) -> Result<Response, Problem> {
    match commands::may_submit(app, caller) {
        Ok(()) => change(app, caller, key, what, expected).await,
        Err(refusal) => change_no_command(app, caller, key, what, expected, refusal).await,
    }
}

/// The version that was judged is the one that is changed.
async fn change_no_command(
    app: &App,
    caller: &Caller,
    key: ScheduleKey,
    what: ScheduleChange,
    expected: Expected,
    refusal: Problem,
) -> Result<Response, Problem> {
    let busy = || ScheduleError::Busy.into();
    edit_at_version(busy, || async {
        let view = find(app, &caller.tenant, &key).await?;
        if view.schedule.work.target.command().is_some() {
            return Err(refusal.clone());
        }
        let version = view.seen.version;
        let bound = match expected.only_if() {
            None => Expected::Version(version, None),
            Some(only_if) if only_if == version => expected,
            Some(_) => return Err(ScheduleError::Changed(version).into()),
        };
        match change(app, caller, key.clone(), what.clone(), bound).await {
            Err(Problem { kind: Kind::PreconditionFailed, .. }) if expected.only_if().is_none() => Ok(EditRound::Stale),
            answer => answer.map(EditRound::Written),
        }
    })
    .await
}

/// Delete a schedule.
///
/// Its jobs are kept. A tick that is already due is fired first; a held tick is dropped. The tick history is kept for a while.
#[utoipa::path(delete, path = "/api/v1/schedules/{schedule}", tag = "schedules", operation_id = "delete_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag` or version, such as `\"3\"`, or `*`"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, response = ScheduleNotFound),
        (status = 412, response = VersionMismatch),
    ))]
pub(crate) async fn delete(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Key(key): Key,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let expected = Expected::of_existing(&headers)?;
    let key = tag::bound(expected, &app, &tenant, key).await?;
    let editor = app.schedules.clone();
    app.to_the_end(async move {
        let deleted = editor.delete(&tenant, &key, expected.only_if()).await;
        deleted.map_err(|error| explained(error, &key))
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule: it does not fire until it is resumed, and ticks missed in between are not made up for.
#[utoipa::path(post, path = "/api/v1/schedules/{schedule}/pause", tag = "schedules", operation_id = "pause_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag` or version, such as `\"3\"`, or `*`"),
    ),
    responses(
        (status = 200, description = "Paused", body = ScheduleDocument,
            headers(("ETag" = String, description = "Its version and part of its id, in quotes"))),
        (status = 404, response = ScheduleNotFound),
        (status = 412, response = VersionMismatch),
    ))]
pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Key(key): Key,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let expected = Expected::of_existing(&headers)?;
    change(&app, &caller, key, ScheduleChange::Pause, expected).await
}

/// Resume a schedule: it fires again from its next time.
///
/// A schedule that runs a command needs the scope `exec:command`.
#[utoipa::path(post, path = "/api/v1/schedules/{schedule}/resume", tag = "schedules", operation_id = "resume_schedule",
    params(
        ("schedule" = String, Path, description = "The schedule's name or id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag` or version, such as `\"3\"`, or `*`"),
    ),
    responses(
        (status = 200, description = "Resumed", body = ScheduleDocument,
            headers(("ETag" = String, description = "Its version and part of its id, in quotes"))),
        (status = 403, response = CommandForbidden),
        (status = 404, response = ScheduleNotFound),
        (status = 412, response = VersionMismatch),
        (status = 422, description = "It would never fire again",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Key(key): Key,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let expected = Expected::of_existing(&headers)?;
    change_what_fires(&app, &caller, key, ScheduleChange::Resume, expected).await
}

/// Run a schedule now.
///
/// Creates one job immediately, even if the schedule is paused or another of its jobs is running. Repeating the request
/// creates another job. A schedule that runs a command needs the scope `exec:command`.
#[utoipa::path(post, path = "/api/v1/schedules/{schedule}/run", tag = "schedules", operation_id = "run_schedule",
    params(("schedule" = String, Path, description = "The schedule's name or id")),
    responses(
        (status = 202, description = "The job", body = JobDocument,
            headers(("Location" = String, description = "URL of the job"))),
        (status = 403, response = CommandForbidden),
        (status = 404, response = ScheduleNotFound),
    ))]
pub(crate) async fn run(State(app): State<App>, caller: Caller, Key(key): Key) -> Result<Response, Problem> {
    let view = find(&app, &caller.tenant, &key).await?;
    commands::may_start(&app, &caller, &view.schedule.work.target)?;
    // Who may not run commands fires the version that was judged, and no later one, which may be a command.
    let only_if = commands::may_submit(&app, &caller).is_err().then_some(view.seen.version);
    let quota = app.quotas().take(&app, &caller, &[view.schedule.work]).await?;
    let reads = caller.reads_jobs();
    let tenant = caller.tenant;
    let (editor, whose) = (app.schedules.clone(), tenant.clone());
    let made = async move {
        editor.run(&whose, &key, only_if).await.map_err(|error| match error {
            ScheduleError::Changed(_) => ScheduleError::Busy.into(),
            error => explained(error, &key),
        })
    };
    let id = app.to_the_end(made).await?;
    let view = app.store.get(&tenant, id).await?.ok_or_else(|| Problem::job_not_found(id))?;
    let document = view.document(false);
    let document = if reads { document } else { document.without_content() };
    let answer = json::answer_change(StatusCode::ACCEPTED, document, JobDocument::without_content);
    let mut response = submit::located(answer, id);
    quotas::tell(&mut response, quota);
    Ok(response)
}

async fn change(
    app: &App,
    caller: &Caller,
    key: ScheduleKey,
    change: ScheduleChange,
    expected: Expected,
) -> Result<Response, Problem> {
    let key = tag::bound(expected, app, &caller.tenant, key).await?;
    let (editor, tenant) = (app.schedules.clone(), caller.tenant.clone());
    let changed = async move {
        let changed = editor.change(&tenant, &key, change, expected.only_if()).await;
        changed.map_err(|error| explained(error, &key))
    };
    Ok(tag::answer_to(caller, StatusCode::OK, app.to_the_end(changed).await?))
}

/// The schedule in a request's body, with the request's headers.
async fn read(app: &App, caller: &Caller, request: Request) -> Result<(HeaderMap, ScheduleSpec), Problem> {
    let (headers, body) = app.json(request, app.bodies.job_bytes).await?;
    let spec: ScheduleSpec = json::parse(&body, Kind::InvalidSchedule)?;
    judge_command(app, caller, &spec.job)?;
    quotas::may_schedule(app, caller, &spec.job).await?;
    Ok((headers, spec))
}

fn judge_command(app: &App, caller: &Caller, job: &JobSpec) -> Result<(), Problem> {
    if let Some(command) = &job.command {
        commands::may_submit(app, caller)?;
        commands::may_run(app, caller, &commands::program(command))
            .map_err(|detail| Problem::mistake(Kind::InvalidSchedule, "/job/command", detail))?;
    }
    // Without a command too: a patch may have variables for one that is there already. Who may submit none is told that instead.
    if commands::may_submit(app, caller).is_err() {
        return Ok(());
    }
    commands::may_give(app, caller, job.env.iter().flat_map(|env| env.keys().map(String::as_str)))
        .map_err(|(pointer, detail)| Problem::mistake(Kind::InvalidSchedule, &format!("/job{pointer}"), detail))
}

/// What a schedule cannot be without.
fn refuse_to_remove(patch: &[u8], names: &[&str]) -> Result<(), Problem> {
    let fields: BTreeMap<String, &RawValue> = json::parse_in_place(patch, Kind::InvalidSchedule)?;
    let is_removed = |name: &&&str| fields.get(**name).is_some_and(|value| value.get() == "null");
    let refused = names.iter().filter(is_removed);
    let mistakes: Vec<Mistake> =
        refused.map(|name| Mistake { pointer: format!("/{name}"), detail: "cannot be removed".into() }).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(Problem::invalid_schedule(Invalid { mistakes })) }
}

fn explained(error: ScheduleError, key: &ScheduleKey) -> Problem {
    match error {
        ScheduleError::NotFound => not_found(key),
        error => error.into(),
    }
}

fn created(caller: &Caller, view: ScheduleView) -> Response {
    let path = format!("/api/v1/schedules/{}", view.schedule.name);
    let object = format!("schedule/{}", view.schedule.name);
    let mut response = tag::answer_to(caller, StatusCode::CREATED, view);
    Touched::mark(&mut response, object);
    let path = HeaderValue::try_from(path).expect("a name is letters, digits and a few signs");
    response.headers_mut().insert(LOCATION, path);
    response
}
