//! Who the caller is.

use axum::response::Response;
use foreman_core::audit::Actor;
use foreman_core::document::WhoamiDocument;
use http::StatusCode;

use crate::gate::caller::Caller;
use crate::request::json;

/// Who am I?
///
/// The tenant, the key's id and its scopes, and the limits in force.
#[utoipa::path(get, path = "/api/v1/whoami", tag = "tenants", operation_id = "whoami",
    responses((status = 200, description = "The caller", body = WhoamiDocument)))]
pub(crate) async fn whoami(caller: Caller) -> Response {
    json::answer(StatusCode::OK, &document(&caller))
}

pub(crate) fn document(caller: &Caller) -> WhoamiDocument {
    let key = match &caller.actor {
        Actor::Key(id) => Some(id.to_string()),
        Actor::Nobody => None,
        other => Some(other.to_string()),
    };
    let limits = caller.profile.limits.clone();
    let (scopes, expires_at) = (caller.scopes, caller.expires_at);
    WhoamiDocument { tenant: caller.tenant.to_string(), key, scopes, expires_at, limits }
}
