//! The audit log, read.

use axum::extract::State;
use axum::response::Response;
use foreman_core::EntryId;
use foreman_core::document::{AuditDocument, ListDocument};
use foreman_core::id::NotATenantId;
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::openapi::responses::InvalidParameter;
use crate::problem::Problem;
use crate::request::json;
use crate::request::paging::{self, page_of};
use crate::request::params::Params;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// Only changes to objects of this tenant, which may have been deleted since.
    tenant: Option<String>,
    /// How many per page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// `next` of the previous page, unchanged.
    cursor: Option<String>,
}

/// Who did what to which object, the latest first.
///
/// Every kind of change except job submissions, which are recorded by the jobs themselves. Entries have the id of the
/// key, never the key. They are kept for 90 days unless the configuration says otherwise.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", operation_id = "list_audit", params(AuditParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<AuditDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(State(app): State<App>, Params(params): Params<AuditParams>) -> Result<Response, Problem> {
    let limit = paging::limit(params.limit)?;
    let before: Option<EntryId> = paging::cursor(params.cursor.as_deref())?;
    let tenant = params
        .tenant
        .map(|name| name.parse())
        .transpose()
        .map_err(|error: NotATenantId| Problem::invalid_request(format!("in the query: tenant: {error}")))?;
    let entries = app.tenancy.audit_log(tenant.as_ref(), before, limit + 1).await?;
    let page = page_of(entries, limit, |entry| entry.id.to_string());
    let items: Vec<AuditDocument> = page.items.into_iter().map(AuditDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}
