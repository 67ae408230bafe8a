//! Endpoints, read.

use axum::extract::State;
use axum::response::Response;
use foreman_core::WebhookId;
use foreman_core::document::{ListDocument, WebhookDocument};
use http::{HeaderValue, StatusCode};

use super::{WebhookPath, find};
use crate::app::App;
use crate::openapi::responses::{InvalidParameter, WebhookNotFound};
use crate::problem::Problem;
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::{Params, RequestTenant};

/// List webhooks, oldest first.
#[utoipa::path(get, path = "/api/v1/webhooks", tag = "webhooks", operation_id = "list_webhooks", params(PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<WebhookDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<PageParams>,
) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let after: Option<WebhookId> = params.cursor()?;
    let now = app.clock.now();
    let webhooks = app.tenancy.webhooks(&tenant, after, limit + 1).await?;
    let page = page_of(webhooks, limit, |webhook| webhook.id.to_string());
    let items: Vec<_> = page.items.into_iter().map(|webhook| webhook.document(now)).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}

/// Read a webhook. Its secret is not shown again.
#[utoipa::path(get, path = "/api/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "get_webhook",
    params(("webhook" = String, Path, description = "The webhook's id")),
    responses(
        (status = 200, description = "The webhook", body = WebhookDocument,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 404, response = WebhookNotFound),
    ))]
pub(crate) async fn get(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    WebhookPath(id): WebhookPath,
) -> Result<Response, Problem> {
    let webhook = find(&app, &tenant, id).await?;
    Ok(answer(StatusCode::OK, &webhook.document(app.clock.now())))
}

/// With its version as `ETag`, and kept by nobody on the way: it may have a secret in it.
pub(super) fn answer(status: StatusCode, document: &WebhookDocument) -> Response {
    let mut response = json::answer(status, document);
    let tag = HeaderValue::try_from(format!("\"{}\"", document.version)).expect("digits in quotes are visible");
    response.headers_mut().insert(http::header::ETAG, tag);
    response.headers_mut().insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
