//! Keys over HTTP: made, listed, replaced, revoked. What is answered once is in no list and no log.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{
    KeyDocument, ListDocument, MadeKeyDocument, NewKeyDocument, ProblemDocument, RotateKeyDocument,
};
use foreman_core::duration::Span;
use foreman_core::key::{ApiKey, KeyId, KeyRecord, Scopes};
use foreman_core::ports::{CreateKeyAnswer, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer};
use foreman_core::webhook::OVERLAP;
use foreman_core::{TenantId, Timestamp};
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderValue, StatusCode};

use super::{body_if_any, look, overlap};
use crate::app::App;
use crate::gate::audit::Touched;
use crate::gate::caller::Caller;
use crate::openapi::responses::{KeyNotFound, TenantNotFound};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::{KeyOf, Params, TenantPath};

const LONGEST_NAME: usize = 100;

/// A hundred years. Whoever means for ever says nothing.
const LONGEST_LIFE: Duration = Duration::from_hours(876_000);

/// List a tenant's keys, by id, including revoked and expired ones.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/keys", tag = "tenants", operation_id = "list_keys",
    params(("tenant" = String, Path, description = "The tenant's id"), PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<KeyDocument>),
        (status = 404, response = TenantNotFound),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    TenantPath(tenant): TenantPath,
    Params(params): Params<PageParams>,
) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let after: Option<KeyId> = params.cursor()?;
    look::find(&app, &tenant).await?;
    let now = app.store.time().await?;
    let keys = app.tenancy.keys(&tenant, after.as_ref(), limit + 1).await?;
    let page = page_of(keys, limit, |key| key.id.to_string());
    let items = page.items.into_iter().map(|key| key.document(now)).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument::<KeyDocument> { items, next: page.next }))
}

/// Read the record of a key. The key itself is not stored.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/keys/{key}", tag = "tenants", operation_id = "get_key",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("key" = String, Path, description = "The key's id: the part between its underscores"),
    ),
    responses(
        (status = 200, description = "The key", body = KeyDocument),
        (status = 404, response = KeyNotFound),
    ))]
pub(crate) async fn get(State(app): State<App>, KeyOf(tenant, id): KeyOf) -> Result<Response, Problem> {
    let key = find(&app, &tenant, &id).await?;
    Ok(json::answer(StatusCode::OK, &key.document(app.store.time().await?)))
}

async fn find(app: &App, tenant: &TenantId, id: &KeyId) -> Result<KeyRecord, Problem> {
    look::find(app, tenant).await?;
    app.tenancy.key(tenant, id).await?.ok_or_else(|| Problem::key_not_found(tenant, id))
}

/// Create a key.
///
/// The key is shown only in this response: the server stores only its hash. A key can have only scopes that the caller's key has.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/keys", tag = "tenants", operation_id = "create_key",
    params(("tenant" = String, Path, description = "The tenant's id")),
    request_body(content = NewKeyDocument, example = json!({"name": "ci", "scopes": ["jobs:read", "jobs:write"], "expires_in": "2160h"})),
    responses(
        (status = 201, description = "Created; the key is shown only in this response", body = MadeKeyDocument,
            headers(("Location" = String, description = "URL of the key's record"))),
        (status = 404, response = TenantNotFound),
        (status = 422, description = "Not a valid key",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    TenantPath(tenant): TenantPath,
    request: Request,
) -> Result<Response, Problem> {
    let (_, body) = app.json(request, app.bodies.job_bytes).await?;
    let asked: NewKeyDocument = json::parse(&body, Kind::InvalidKey)?;
    may_give(&caller, asked.scopes)?;
    let name = judged_name(asked.name)?;
    let now = app.store.time().await?;
    let expires_at = expiry(asked.expires_at, asked.expires_in, now)?;
    let key = ApiKey::fresh();
    let new = NewKey {
        id: key.id().clone(),
        tenant: tenant.clone(),
        name,
        hash: key.hash(),
        scopes: asked.scopes,
        expires_at,
    };
    let tenancy = app.tenancy.clone();
    match app.to_the_end(async move { tenancy.create_key(&new).await }).await? {
        CreateKeyAnswer::Created(record) => Ok(made(&key, record, None, now)),
        CreateKeyAnswer::NoTenant => Err(Problem::tenant_not_found(&tenant)),
        CreateKeyAnswer::IdTaken => Err(id_taken()),
    }
}

/// Replace a key with a new one that has the same scopes.
///
/// The old key stays valid for the grace period, `24h` by default, but never beyond its own expiry; `0s` ends it at
/// once. The new key is shown only in this response.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/keys/{key}/rotate", tag = "tenants", operation_id = "rotate_key",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("key" = String, Path, description = "The key's id: the part between its underscores"),
    ),
    request_body(content = Option<RotateKeyDocument>, example = json!({"grace": "24h"})),
    responses(
        (status = 201, description = "The new key, shown only in this response", body = MadeKeyDocument,
            headers(("Location" = String, description = "URL of the new key's record"))),
        (status = 404, response = KeyNotFound),
        (status = 409, description = "It is revoked or expired, or was already replaced",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "The grace period or the expiry is not valid",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn rotate(
    State(app): State<App>,
    caller: Caller,
    KeyOf(tenant, id): KeyOf,
    request: Request,
) -> Result<Response, Problem> {
    let body = body_if_any(&app, request).await?;
    let asked: RotateKeyDocument = json::parse(&body, Kind::InvalidKey)?;
    let grace = overlap(Kind::InvalidKey, "/grace", asked.grace, OVERLAP)?;
    let old = find(&app, &tenant, &id).await?;
    may_give(&caller, old.scopes)?;
    let now = app.store.time().await?;
    let as_before = || {
        old.expires_at.map(|end| match end.since(old.created_at) {
            life if life <= LONGEST_LIFE => now.plus(life),
            _ => end,
        })
    };
    let expires_at = expiry(asked.expires_at, asked.expires_in, now)?.or_else(as_before);
    let key = ApiKey::fresh();
    let replacement = Replacement { old: id.clone(), id: key.id().clone(), hash: key.hash(), expires_at, grace };
    let (tenancy, whose) = (app.tenancy.clone(), tenant.clone());
    let replaced = app.to_the_end(async move { tenancy.replace_key(&whose, &replacement).await }).await;
    app.authenticator().forget_key(&id);
    let not_live = |detail: String| Err(Problem::new(Kind::KeyNotLive, detail));
    match replaced? {
        ReplaceKeyAnswer::Replaced { old, new } => Ok(made(&key, new, Some(old), now)),
        ReplaceKeyAnswer::Gone => Err(Problem::key_not_found(&tenant, &id)),
        ReplaceKeyAnswer::NotLive(_) => {
            not_live(format!("the key {id} is revoked or expired; create a new key instead"))
        }
        ReplaceKeyAnswer::AlreadyReplaced(by) => {
            not_live(format!("the key {id} was already replaced by {by}; rotate that one, or create a new key"))
        }
        ReplaceKeyAnswer::IdTaken => Err(id_taken()),
    }
}

/// Revoke a key.
///
/// Takes effect within 5 seconds on every server and on open streams, and cannot be undone. The key stays listed;
/// revoking it again changes nothing.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/keys/{key}", tag = "tenants", operation_id = "revoke_key",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("key" = String, Path, description = "The key's id: the part between its underscores"),
    ),
    responses(
        (status = 200, description = "Revoked", body = KeyDocument),
        (status = 404, response = KeyNotFound),
    ))]
pub(crate) async fn revoke(State(app): State<App>, KeyOf(tenant, id): KeyOf) -> Result<Response, Problem> {
    look::find(&app, &tenant).await?;
    let (tenancy, whose, which) = (app.tenancy.clone(), tenant.clone(), id.clone());
    let revoked = app.to_the_end(async move { tenancy.revoke_key(&whose, &which).await }).await;
    // Also when it failed: what became of it may be unknown.
    app.authenticator().forget_key(&id);
    match revoked? {
        RevokeKeyAnswer::Revoked(key) => Ok(json::answer(StatusCode::OK, &key.document(app.store.time().await?))),
        RevokeKeyAnswer::Gone => Err(Problem::key_not_found(&tenant, &id)),
    }
}

fn may_give(caller: &Caller, scopes: Scopes) -> Result<(), Problem> {
    if caller.scopes.cover(scopes) {
        return Ok(());
    }
    let lacking = scopes.iter().find(|scope| !caller.scopes.allow(*scope));
    let detail = format!(
        "a key cannot have more scopes than the key that creates it: you asked for {scopes}, and yours has \
                 {}",
        caller.scopes
    );
    Err(Problem { scope: lacking, ..Problem::new(Kind::Forbidden, detail) })
}

fn judged_name(name: Option<String>) -> Result<String, Problem> {
    let name = name.unwrap_or_default();
    if name.chars().count() <= LONGEST_NAME && !name.chars().any(char::is_control) {
        return Ok(name);
    }
    let detail = format!("must be at most {LONGEST_NAME} characters, without control characters");
    Err(Problem::mistake(Kind::InvalidKey, "/name", detail))
}

fn expiry(at: Option<Timestamp>, within: Option<Span>, now: Timestamp) -> Result<Option<Timestamp>, Problem> {
    let refuse = |pointer, detail| Err(Problem::mistake(Kind::InvalidKey, pointer, detail));
    match (at, within) {
        (Some(_), Some(_)) => refuse("/expires_in", "give `expires_at` or `expires_in`, not both"),
        (Some(at), None) if at <= now => refuse("/expires_at", "is in the past"),
        (None, Some(Span(within))) if within.is_zero() => refuse("/expires_in", "must be longer than 0"),
        (None, Some(Span(within))) if within > LONGEST_LIFE => {
            refuse("/expires_in", "is more than a hundred years; leave it out for a key that does not expire")
        }
        (at, within) => Ok(at.or(within.map(|span| now.plus(span.0)))),
    }
}

fn made(key: &ApiKey, record: KeyRecord, replaces: Option<KeyRecord>, now: Timestamp) -> Response {
    let path = format!("/api/v1/tenants/{}/keys/{}", record.tenant, record.id);
    let object = match &replaces {
        Some(old) => format!("key/{} replaced by key/{}", old.id, record.id),
        None => format!("key/{} ({})", record.id, record.scopes),
    };
    let document = MadeKeyDocument {
        key: key.text().reveal().to_owned(),
        about: record.document(now),
        replaces: replaces.map(|old| old.document(now)),
    };
    let mut response = json::answer(StatusCode::CREATED, &document);
    let path = HeaderValue::try_from(path).expect("ids are letters, digits and hyphens");
    response.headers_mut().insert(LOCATION, path);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Touched::mark(&mut response, object);
    response
}

/// Sixty random bits came twice. It is not a bug, and nobody will see it.
fn id_taken() -> Problem {
    Problem::new(Kind::Overloaded, "the generated key id is taken; nothing was created, send the request again")
}
