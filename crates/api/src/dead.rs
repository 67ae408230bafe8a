//! Dead letters by what they died of, so that ten thousand equal failures are one line.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::DeadGroupsDocument;
use http::StatusCode;

use crate::app::App;
use crate::json;
use crate::params::Tenant;
use crate::problem::Problem;

/// So many different errors are more than anybody reads.
const MOST: usize = 100;

/// Nobody decides differently about more than so many.
const ENOUGH: u64 = 10_000;

/// List what dead jobs died of, the most frequent first.
///
/// Errors are the same when they differ only in numbers, ids and the like. `group` goes into `error_group` of a list or of a bulk
/// call, to look at or to retry all of them. At most 100 groups, each counted to 10,000;
/// `complete` says whether these are all.
#[utoipa::path(get, path = "/api/v1/dead/groups", tag = "jobs", operation_id = "list_dead_groups",
    responses((status = 200, description = "The groups", body = DeadGroupsDocument)))]
pub(crate) async fn groups(State(app): State<App>, Tenant(tenant): Tenant) -> Result<Response, Problem> {
    let groups = app.store.dead_groups(&tenant, MOST, ENOUGH).await?;
    Ok(json::answer(StatusCode::OK, &DeadGroupsDocument::from(groups)))
}
