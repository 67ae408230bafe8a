//! A tenant's signing secret: what its pushes and callbacks are signed with. Shown once, kept sealed.

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{RotateSecretDocument, SecretDocument};
use foreman_core::sealed::SealedFor;
use foreman_core::signing::{SigningKeys, SigningSecret};
use foreman_core::tenant::{SIGNING_PLACE, TenantSettings};
use foreman_core::webhook::OVERLAP;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};

use super::change::edit;
use super::{body_if_any, overlap};
use crate::app::App;
use crate::edit::condition::Expected;
use crate::openapi::responses::{InvalidOverlap, TenantNotFound};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::params::TenantPath;

/// Create or rotate a tenant's signing secret.
///
/// Its pushes and callbacks are signed with the secret from now on (Standard Webhooks). During the overlap, `24h` by
/// default, they are also signed with the previous secret. The secret is shown only in this response.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/signing-secret", tag = "tenants", operation_id = "rotate_signing_secret",
    params(("tenant" = String, Path, description = "The tenant's id")),
    request_body(content = Option<RotateSecretDocument>, example = json!({"overlap": "24h"})),
    responses(
        (status = 201, description = "The secret, shown only in this response", body = SecretDocument),
        (status = 404, response = TenantNotFound),
        (status = 422, response = InvalidOverlap),
    ))]
pub(crate) async fn rotate(
    State(app): State<App>,
    TenantPath(tenant): TenantPath,
    request: Request,
) -> Result<Response, Problem> {
    let body = body_if_any(&app, request).await?;
    let asked: RotateSecretDocument = json::parse(&body, Kind::InvalidTenant)?;
    let overlap = overlap(Kind::InvalidTenant, "/overlap", asked.overlap, OVERLAP)?;
    let ring = app.keyring.clone().ok_or_else(no_secret_key)?;
    let now = app.store.time().await?;
    let secret = SigningSecret::fresh();
    let sealed = ring.seal(SealedFor { tenant: &tenant, name: SIGNING_PLACE }, &secret.text());
    edit(&app, &tenant, Expected::Anything, move |old| {
        let signing = old.signing.rotated(sealed.clone(), now, overlap);
        Ok(TenantSettings { signing, ..old.clone() })
    })
    .await?;
    let mut response = json::answer(StatusCode::CREATED, &secret.document());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Delete a tenant's signing secret. Its pushes and callbacks are no longer signed.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/signing-secret", tag = "tenants", operation_id = "delete_signing_secret",
    params(("tenant" = String, Path, description = "The tenant's id")),
    responses(
        (status = 204, description = "There is none"),
        (status = 404, response = TenantNotFound),
    ))]
pub(crate) async fn delete(State(app): State<App>, TenantPath(tenant): TenantPath) -> Result<StatusCode, Problem> {
    let none = |old: &TenantSettings| Ok(TenantSettings { signing: SigningKeys::default(), ..old.clone() });
    edit(&app, &tenant, Expected::Anything, none).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A server that cannot seal takes nothing that must be sealed.
pub(crate) fn no_secret_key() -> Problem {
    Problem::new(
        Kind::NoSecretKey,
        "this server has no key to encrypt secrets with; set FOREMAN_SECRET_KEY on every role (generate one with \
         `openssl rand -base64 32`)",
    )
}
