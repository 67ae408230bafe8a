//! Messages of a broker that could not be read.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{ListDocument, ParkedDocument};
use http::StatusCode;

use crate::app::App;
use crate::openapi::responses::InvalidParameter;
use crate::problem::Problem;
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::Params;

/// A page has no more bytes than about this many messages of the largest size kept.
const MOST: usize = 50;

/// List messages from Kafka that could not be read, the latest first.
///
/// Workers keep such a message with the reason and go on. Nothing is lost by it: the job that it may have named is
/// announced again. They are kept for 14 days unless the configuration says otherwise. Empty without Kafka.
#[utoipa::path(get, path = "/api/v1/parked", tag = "server", operation_id = "list_parked", params(PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<ParkedDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn list(State(app): State<App>, Params(params): Params<PageParams>) -> Result<Response, Problem> {
    let (limit, before) = (params.limit()?.min(MOST), params.cursor()?);
    let views = match &app.announced {
        Some(announced) => announced.parked(before, limit + 1).await?,
        None => Vec::new(),
    };
    let page = page_of(views, limit, |view| view.number.to_string());
    let items: Vec<ParkedDocument> = page.items.into_iter().map(ParkedDocument::from).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}
