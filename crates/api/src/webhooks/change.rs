//! Endpoints made, changed, given another secret, deleted.
//!
//! Each write runs to its end, whether or not its client waits. A change without `If-Match` is made from what is there,
//! and made anew when somebody else was faster.

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{ProblemDocument, RotateSecretDocument, WebhookDocument};
use foreman_core::ports::{CreateWebhookAnswer, NewWebhook, UpdateWebhookAnswer, WebhookUpdate};
use foreman_core::sealed::{Sealed, SealedFor};
use foreman_core::signing::{SigningKeys, SigningSecret};
use foreman_core::webhook::{MOST_ENDPOINTS, OVERLAP, Webhook, WebhookPatch, WebhookSettings, WebhookSpec};
use foreman_core::{EditId, TenantId, WebhookId};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};

use super::look::answer;
use super::{WebhookPath, find, invalid, not_found};
use crate::app::App;
use crate::edit::condition::Expected;
use crate::edit::{EditRound, edit_at_version};
use crate::gate::audit::Touched;
use crate::gate::caller::Caller;
use crate::openapi::responses::{InvalidOverlap, VersionMismatch, WebhookNotFound};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::RequestTenant;
use crate::tenants::signing::no_secret_key;
use crate::tenants::{body_if_any, overlap};

/// Create a webhook.
///
/// Its `secret` is shown only in this response: store it where you verify messages.
#[utoipa::path(post, path = "/api/v1/webhooks", tag = "webhooks", operation_id = "create_webhook",
    request_body(content = WebhookSpec, example = json!({
        "url": "https://example.com/hooks/foreman", "events": ["job.completed", "job.dead"],
    })),
    responses(
        (status = 201, description = "Created", body = WebhookDocument,
            headers(
                ("Location" = String, description = "URL of the webhook"),
                ("ETag" = String, description = "Its version, in quotes"),
            )),
        (status = 409, description = "The tenant has reached its limit of webhooks",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "Not a valid webhook",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let (_, body) = app.json(request, app.bodies.job_bytes).await?;
    let spec: WebhookSpec = json::parse(&body, Kind::InvalidWebhook)?;
    let settings = WebhookSettings::judge(spec, &app.limits).map_err(invalid)?;
    app.quotas().take_hosts(&app, &caller, [settings.url.as_str()]).await?;
    let (id, tenant) = (WebhookId::fresh(), caller.tenant);
    let (secret, sealed) = fresh_secret(&app, &tenant, id)?;
    let new = NewWebhook { id, tenant, settings, signing: SigningKeys::one(sealed), at_most: MOST_ENDPOINTS };
    let tenancy = app.tenancy.clone();
    let webhook = match app.to_the_end(async move { tenancy.create_webhook(&new).await }).await? {
        CreateWebhookAnswer::Created(webhook) => webhook,
        CreateWebhookAnswer::TooMany => {
            let detail = format!("a tenant can have at most {MOST_ENDPOINTS} webhooks; delete one you no longer need");
            return Err(Problem::new(Kind::TooManyWebhooks, detail));
        }
    };
    let mut response = answer(StatusCode::CREATED, &shown(webhook, &app, Some(&secret)));
    let location = HeaderValue::try_from(format!("/api/v1/webhooks/{id}")).expect("a UUID is visible characters");
    response.headers_mut().insert(LOCATION, location);
    Touched::mark(&mut response, format!("webhook/{id}"));
    Ok(response)
}

/// Change some fields of a webhook.
///
/// `"enabled": true` also re-enables a webhook that was disabled because of failures.
#[utoipa::path(patch, path = "/api/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "update_webhook",
    params(
        ("webhook" = String, Path, description = "The webhook's id"),
        ("If-Match" = Option<String>, Header, description = "The expected version, such as `\"3\"`, or `*`"),
    ),
    request_body(content = WebhookPatch, example = json!({"enabled": true})),
    responses(
        (status = 200, description = "Changed", body = WebhookDocument,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 404, response = WebhookNotFound),
        (status = 412, response = VersionMismatch),
        (status = 422, description = "The result would not be a valid webhook",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn update(
    State(app): State<App>,
    caller: Caller,
    WebhookPath(id): WebhookPath,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, body) = app.json(request, app.bodies.job_bytes).await?;
    let expected = Expected::of_existing(&headers)?;
    let patch: WebhookPatch = json::parse(&body, Kind::InvalidWebhook)?;
    app.quotas().take_hosts(&app, &caller, patch.url.as_deref()).await?;
    let limits = app.limits.clone();
    let change = move |webhook: &Webhook| {
        let settings = webhook.settings.patched(patch.clone(), &limits).map_err(invalid)?;
        Ok((settings, webhook.signing.clone()))
    };
    let webhook = changed(&app, caller.tenant, id, expected, change).await?;
    Ok(answer(StatusCode::OK, &shown(webhook, &app, None)))
}

/// Rotate a webhook's secret.
///
/// Both secrets sign during the overlap, so a receiver can verify with either. The new one is shown only in this response.
#[utoipa::path(post, path = "/api/v1/webhooks/{webhook}/rotate-secret", tag = "webhooks", operation_id = "rotate_webhook_secret",
    params(
        ("webhook" = String, Path, description = "The webhook's id"),
        ("If-Match" = Option<String>, Header, description = "The expected version, such as `\"3\"`, or `*`"),
    ),
    request_body(content = Option<RotateSecretDocument>, example = json!({"overlap": "24h"})),
    responses(
        (status = 200, description = "The webhook with its new secret", body = WebhookDocument,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 404, response = WebhookNotFound),
        (status = 412, response = VersionMismatch),
        (status = 422, response = InvalidOverlap),
    ))]
pub(crate) async fn rotate_secret(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    WebhookPath(id): WebhookPath,
    request: Request,
) -> Result<Response, Problem> {
    let expected = Expected::of_existing(request.headers())?;
    let body = body_if_any(&app, request).await?;
    let asked: RotateSecretDocument = json::parse(&body, Kind::InvalidWebhook)?;
    let overlap = overlap(Kind::InvalidWebhook, "/overlap", asked.overlap, OVERLAP)?;
    let (secret, sealed) = fresh_secret(&app, &tenant, id)?;
    let now = app.clock.now();
    let change =
        move |webhook: &Webhook| Ok((webhook.settings.clone(), webhook.signing.rotated(sealed.clone(), now, overlap)));
    let webhook = changed(&app, tenant, id, expected, change).await?;
    Ok(answer(StatusCode::OK, &shown(webhook, &app, Some(&secret))))
}

/// Delete a webhook. Pending deliveries are cancelled.
#[utoipa::path(delete, path = "/api/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "delete_webhook",
    params(("webhook" = String, Path, description = "The webhook's id")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, response = WebhookNotFound),
    ))]
pub(crate) async fn delete(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    WebhookPath(id): WebhookPath,
) -> Result<StatusCode, Problem> {
    let tenancy = app.tenancy.clone();
    let was_there = app.to_the_end(async move { tenancy.delete_webhook(&tenant, id).await }).await?;
    if was_there { Ok(StatusCode::NO_CONTENT) } else { Err(not_found(id)) }
}

/// A secret that nobody has seen before, and what is kept of it.
fn fresh_secret(app: &App, tenant: &TenantId, id: WebhookId) -> Result<(SigningSecret, Sealed), Problem> {
    let ring = app.keyring.as_ref().ok_or_else(no_secret_key)?;
    let secret = SigningSecret::fresh();
    let name = Webhook::place_name(id);
    let sealed = ring.seal(SealedFor { tenant, name: &name }, &secret.text());
    Ok((secret, sealed))
}

fn shown(webhook: Webhook, app: &App, secret: Option<&SigningSecret>) -> WebhookDocument {
    let secret = secret.map(|secret| secret.text().reveal().to_owned());
    WebhookDocument { secret, ..webhook.document(app.clock.now()) }
}

async fn changed(
    app: &App,
    tenant: TenantId,
    id: WebhookId,
    expected: Expected,
    change: impl Fn(&Webhook) -> Result<(WebhookSettings, SigningKeys), Problem> + Send + Sync + 'static,
) -> Result<Webhook, Problem> {
    let there = app.clone();
    app.to_the_end(async move {
        let (app, tenant, change) = (&there, &tenant, &change);
        let busy = || Problem::new(Kind::Overloaded, "other requests keep changing the webhook; try again");
        edit_at_version(busy, || async move {
            let webhook = find(app, tenant, id).await?;
            expected.by_version().check("the webhook", webhook.version)?;
            let (settings, signing) = change(&webhook)?;
            let (version, edit) = (webhook.version, EditId::fresh());
            let update = WebhookUpdate { edit, tenant: tenant.clone(), webhook: id, version, settings, signing };
            match app.tenancy.update_webhook(&update).await? {
                UpdateWebhookAnswer::Updated(webhook) => Ok(EditRound::Written(webhook)),
                UpdateWebhookAnswer::Gone => Err(not_found(id)),
                UpdateWebhookAnswer::Stale => Ok(EditRound::Stale),
            }
        })
        .await
    })
    .await
}
