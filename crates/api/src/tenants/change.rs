//! Tenants made, changed and deleted.
//!
//! A change is worked out from what was read and written only while that is still so; of two administrators at once the second
//! looks again. With `If-Match` it does not: it is told.

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{NewTenantDocument, ProblemDocument, TenantDocument, TenantPatchDocument};
use foreman_core::id::NotATenantId;
use foreman_core::ports::{CreateTenantAnswer, DeleteTenantAnswer, NewTenant, TenantUpdate, UpdateTenantAnswer};
use foreman_core::tenant::{LimitOverrides, Programs, Tenant, TenantSettings, Variables};
use foreman_core::{EditId, TenantId};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value};

use super::look::{answer, find};
use crate::app::App;
use crate::edit::condition::Expected;
use crate::edit::{EditRound, edit_at_version};
use crate::gate::audit::Touched;
use crate::openapi::responses::{TenantNotFound, VersionMismatch};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::TenantPath;

/// The list is carried along with every look at one of the tenant's keys.
const MOST_COMMANDS: usize = 1_000;

/// Create a tenant.
///
/// It has no keys yet. Its id is never reused, not even after the tenant is deleted.
#[utoipa::path(post, path = "/api/v1/tenants", tag = "tenants", operation_id = "create_tenant",
    request_body(content = NewTenantDocument, example = json!({"id": "acme", "limits": {"queued_jobs": 10000}, "weight": 2})),
    responses(
        (status = 201, description = "Created", body = TenantDocument,
            headers(
                ("Location" = String, description = "URL of the tenant"),
                ("ETag" = String, description = "Its version, in quotes"),
            )),
        (status = 409, description = "The id is in use, or was used by a deleted tenant",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "Not a valid tenant",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (_, body) = app.json(request, app.bodies.job_bytes).await?;
    let asked: NewTenantDocument = json::parse(&body, Kind::InvalidTenant)?;
    let id: TenantId = asked
        .id
        .parse()
        .map_err(|error: NotATenantId| Problem::mistake(Kind::InvalidTenant, "/id", error.to_string()))?;
    let settings = TenantSettings {
        is_disabled: asked.disabled.unwrap_or(false),
        limits: asked.limits.unwrap_or_default(),
        commands: asked.commands.unwrap_or_default(),
        variables: asked.variables.unwrap_or_default(),
        weight: asked.weight.unwrap_or_default(),
        ..TenantSettings::default()
    };
    judge(&settings.commands, &settings.variables)?;
    let new = NewTenant { edit: EditId::fresh(), id: id.clone(), settings };
    let tenancy = app.tenancy.clone();
    let made = app.to_the_end(async move { tenancy.create_tenant(&new).await }).await?;
    app.authenticator().forget_tenant(&id);
    match made {
        CreateTenantAnswer::Created(tenant) => Ok(created(&app, tenant)),
        CreateTenantAnswer::Taken => Err(Problem::new(
            Kind::NameTaken,
            format!("the tenant id {id} is or was in use, and ids are never reused; choose another"),
        )),
    }
}

fn created(app: &App, tenant: Tenant) -> Response {
    let id = tenant.id.clone();
    let mut response = answer(app, StatusCode::CREATED, tenant);
    let path = HeaderValue::try_from(format!("/api/v1/tenants/{id}")).expect("an id is letters, digits and hyphens");
    response.headers_mut().insert(LOCATION, path);
    response.extensions_mut().insert(Touched { object: format!("tenant/{id}"), tenant: Some(id) });
    response
}

/// Change a tenant.
///
/// A JSON merge patch (RFC 7396): a field replaces the old value, and `null` resets it to the default. The same goes
/// for the fields of `limits`. A disabled tenant keeps its data; its keys are rejected within seconds.
#[utoipa::path(patch, path = "/api/v1/tenants/{tenant}", tag = "tenants", operation_id = "update_tenant",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag`, such as `\"3\"`, or `*`"),
    ),
    request_body(
        content(
            (TenantPatchDocument = "application/json", example = json!({"limits": {"running_jobs": 50}, "commands": ["/usr/bin/ffmpeg"]})),
            (TenantPatchDocument = "application/merge-patch+json", example = json!({"disabled": true})),
        ),
    ),
    responses(
        (status = 200, description = "Changed", body = TenantDocument,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 404, response = TenantNotFound),
        (status = 412, response = VersionMismatch),
        (status = 422, description = "The result would not be a valid tenant",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn update(
    State(app): State<App>,
    TenantPath(id): TenantPath,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, body) = app.json(request, app.bodies.job_bytes).await?;
    let expected = Expected::of_existing(&headers)?;
    // Read as fields first: a mistake is then told by its place.
    let fields: TenantPatchDocument = json::parse(&body, Kind::InvalidTenant)?;
    judge(&fields.commands.clone().unwrap_or_default(), &fields.variables.clone().unwrap_or_default())?;
    let given: Map<String, Value> = json::parse(&body, Kind::InvalidTenant)?;
    let tenant = edit(&app, &id, expected, move |old| patched(old, &fields, &given)).await?;
    Ok(answer(&app, StatusCode::OK, tenant))
}

fn judge(commands: &Programs, variables: &Variables) -> Result<(), Problem> {
    let lists = [("/commands", "programs", commands.iter().count()), ("/variables", "names", variables.iter().count())];
    let Some((pointer, what, count)) = lists.into_iter().find(|(_, _, count)| *count > MOST_COMMANDS) else {
        return Ok(());
    };
    let detail = format!("has {count} {what}, more than the {MOST_COMMANDS} allowed; `*` means all");
    Err(Problem::mistake(Kind::InvalidTenant, pointer, detail))
}

fn patched(
    old: &TenantSettings,
    fields: &TenantPatchDocument,
    given: &Map<String, Value>,
) -> Result<TenantSettings, Problem> {
    let mut new = old.clone();
    if given.contains_key("disabled") {
        new.is_disabled = fields.disabled.unwrap_or_default();
    }
    if given.contains_key("commands") {
        new.commands = fields.commands.clone().unwrap_or_default();
    }
    if given.contains_key("variables") {
        new.variables = fields.variables.clone().unwrap_or_default();
    }
    if given.contains_key("weight") {
        new.weight = fields.weight.unwrap_or_default();
    }
    match given.get("limits") {
        None => {}
        Some(Value::Object(limits)) => new.limits = merged(&old.limits, limits)?,
        Some(_) => new.limits = LimitOverrides::default(),
    }
    Ok(new)
}

fn merged(old: &LimitOverrides, patch: &Map<String, Value>) -> Result<LimitOverrides, Problem> {
    let unreadable = |error: serde_json::Error| Problem::mistake(Kind::InvalidTenant, "/limits", error.to_string());
    let mut limits: Map<String, Value> =
        serde_json::to_value(old).and_then(serde_json::from_value).map_err(unreadable)?;
    for (name, value) in patch {
        if value.is_null() {
            limits.remove(name);
        } else {
            limits.insert(name.clone(), value.clone());
        }
    }
    serde_json::from_value(Value::Object(limits)).map_err(unreadable)
}

/// Changes a tenant's settings from what they are, to the end.
pub(super) async fn edit(
    app: &App,
    id: &TenantId,
    expected: Expected,
    change: impl Fn(&TenantSettings) -> Result<TenantSettings, Problem> + Send + Sync + 'static,
) -> Result<Tenant, Problem> {
    let (app_there, id_there) = (app.clone(), id.clone());
    let edited = app.to_the_end(async move { write(&app_there, &id_there, expected, change).await }).await;
    // Also when it failed: what became of it may be unknown.
    app.authenticator().forget_tenant(id);
    edited
}

async fn write(
    app: &App,
    id: &TenantId,
    expected: Expected,
    change: impl Fn(&TenantSettings) -> Result<TenantSettings, Problem> + Send + Sync,
) -> Result<Tenant, Problem> {
    let change = &change;
    edit_at_version(
        || busy(id),
        || async move {
            let tenant = find(app, id).await?;
            expected.check(format_args!("the tenant {id}"), tenant.version)?;
            let settings = change(&tenant.settings)?;
            if settings == tenant.settings {
                return Ok(EditRound::Written(tenant));
            }
            let update = TenantUpdate { edit: EditId::fresh(), tenant: id.clone(), version: tenant.version, settings };
            match app.tenancy.update_tenant(&update).await? {
                UpdateTenantAnswer::Updated(tenant) => Ok(EditRound::Written(tenant)),
                UpdateTenantAnswer::Stale => Ok(EditRound::Stale),
                UpdateTenantAnswer::Gone => Err(Problem::tenant_not_found(id)),
            }
        },
    )
    .await
}

fn busy(id: &TenantId) -> Problem {
    Problem::new(
        Kind::Overloaded,
        format!("other requests kept changing the tenant {id}; nothing was changed, send the request again"),
    )
}

/// Delete a tenant.
///
/// It must be disabled and have no jobs or schedules left: an operator deletes those with the header `Foreman-Tenant`.
/// Its keys, webhooks and settings are deleted with it; its id is never reused.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}", tag = "tenants", operation_id = "delete_tenant",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("If-Match" = Option<String>, Header, description = "The expected `ETag`, such as `\"3\"`, or `*`"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, response = TenantNotFound),
        (status = 409, description = "It is not disabled, still has jobs or schedules, or is the default tenant",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 412, response = VersionMismatch),
    ))]
pub(crate) async fn delete(
    State(app): State<App>,
    TenantPath(id): TenantPath,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let expected = Expected::of_existing(&headers)?;
    let (app_there, id_there) = (app.clone(), id.clone());
    let deleted = app.to_the_end(async move { remove(&app_there, &id_there, expected).await }).await;
    app.authenticator().forget_tenant(&id);
    deleted.map(|()| StatusCode::NO_CONTENT)
}

async fn remove(app: &App, id: &TenantId, expected: Expected) -> Result<(), Problem> {
    let refuse = |detail: String| Err(Problem::new(Kind::TenantInUse, detail));
    edit_at_version(|| busy(id), || async move {
        let tenant = find(app, id).await?;
        expected.check(format_args!("the tenant {id}"), tenant.version)?;
        match app.tenancy.delete_tenant(id, tenant.version).await? {
            DeleteTenantAnswer::Deleted => Ok(EditRound::Written(())),
            DeleteTenantAnswer::Stale => Ok(EditRound::Stale),
            DeleteTenantAnswer::Gone => Err(Problem::tenant_not_found(id)),
            DeleteTenantAnswer::Enabled => {
                refuse(format!("the tenant {id} is not disabled; disable it first, so that it accepts no new jobs"))
            }
            DeleteTenantAnswer::InUse => refuse(format!(
                "the tenant {id} still has jobs or schedules; delete them first, with the header Foreman-Tenant: {id}"
            )),
            DeleteTenantAnswer::Permanent => refuse(format!("the tenant {id} cannot be deleted, only disabled")),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use foreman_core::tenant::Limit;
    use serde_json::json;

    use super::*;

    fn patch(old: &TenantSettings, patch: Value) -> TenantSettings {
        let text = patch.to_string();
        let fields = json::parse(text.as_bytes(), Kind::InvalidTenant).expect("a patch");
        let Value::Object(given) = patch else { panic!("an object") };
        patched(old, &fields, &given).expect("settings")
    }

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_else() {
        let old: TenantSettings = serde_json::from_value(
            json!({"limits": {"schedules": 7, "queued_jobs": "unlimited"}, "commands": ["/bin/true"], "weight": 5}),
        )
        .expect("settings");
        assert_eq!(patch(&old, json!({})), old);
        let limited = patch(&old, json!({"limits": {"queued_jobs": null, "running_jobs": 3}}));
        assert_eq!(limited.limits.schedules, Some(Limit::AtMost(7)));
        assert_eq!((limited.limits.queued_jobs, limited.limits.running_jobs), (None, Some(Limit::AtMost(3))));
        assert_eq!((&limited.commands, limited.weight), (&old.commands, old.weight));
        let reset = patch(&old, json!({"limits": null, "commands": null, "weight": null, "disabled": true}));
        assert_eq!(reset, TenantSettings { is_disabled: true, ..TenantSettings::default() });
        assert!(!patch(&reset, json!({"disabled": null})).is_disabled);
    }
}
