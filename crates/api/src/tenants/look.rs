//! Tenants, read.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreman_core::TenantId;
use foreman_core::document::{ListDocument, ProblemDocument, TenantDocument};
use foreman_core::tenant::Tenant;
use http::{HeaderMap, StatusCode};
use tracing::warn;

use crate::app::App;
use crate::edit::condition;
use crate::openapi::responses::{InvalidParameter, TenantNotFound};
use crate::problem::Problem;
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::{Params, TenantPath};

/// List tenants, by id.
#[utoipa::path(get, path = "/api/v1/tenants", tag = "tenants", operation_id = "list_tenants", params(PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<TenantDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(State(app): State<App>, Params(params): Params<PageParams>) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let after: Option<TenantId> = params.cursor()?;
    let tenants = app.tenancy.tenants(after.as_ref(), limit + 1).await?;
    for tenant in tenants.unreadable {
        warn!(%tenant, "tenant {tenant} is left out of a list: this version cannot read its settings");
    }
    let page = page_of(tenants.readable, limit, |tenant| tenant.id.to_string());
    let items = page.items.into_iter().map(|tenant| document(&app, tenant)).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument::<TenantDocument> { items, next: page.next }))
}

/// Read a tenant.
///
/// With its limits, the commands its jobs may run, and its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}", tag = "tenants", operation_id = "get_tenant",
    params(
        ("tenant" = String, Path, description = "The tenant's id"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer"),
    ),
    responses(
        (status = 200, description = "The tenant", body = TenantDocument,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 304, description = "Not modified"),
        (status = 400, description = "Not a tenant's id",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, response = TenantNotFound),
    ))]
pub(crate) async fn get(
    State(app): State<App>,
    TenantPath(id): TenantPath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let tenant = find(&app, &id).await?;
    let tag = etag(&tenant);
    if condition::has_it_already(&headers, &tag) {
        return Ok(condition::tagged(StatusCode::NOT_MODIFIED.into_response(), tag));
    }
    Ok(answer(&app, StatusCode::OK, tenant))
}

pub(super) async fn find(app: &App, id: &TenantId) -> Result<Tenant, Problem> {
    app.tenancy.tenant(id).await?.ok_or_else(|| Problem::tenant_not_found(id))
}

/// An id is never given to a second tenant, so the version alone tells one state of it from all others.
fn etag(tenant: &Tenant) -> String {
    format!("\"{}\"", tenant.version)
}

pub(super) fn answer(app: &App, status: StatusCode, tenant: Tenant) -> Response {
    let tag = etag(&tenant);
    condition::tagged(json::answer(status, &document(app, tenant)), tag)
}

fn document(app: &App, tenant: Tenant) -> TenantDocument {
    let limits = app.default_limits(&tenant.id);
    tenant.document(limits)
}
