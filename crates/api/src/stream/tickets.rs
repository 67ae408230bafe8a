//! Opens the stream once, in a URL, where no header can be sent: `EventSource`.
//!
//! A URL ends up in histories and logs, so what stands in it is worth nothing after its first use, or after 30 s. The ticket
//! is kept in the store by its hash: any process of a team may be the one that it is shown to, and of two that are shown it
//! one lets it in.

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::TicketDocument;
use foreman_core::ports::PassKind;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};

use crate::app::App;
use crate::gate::caller::Caller;
use crate::gate::passes::PassText;
use crate::problem::Problem;
use crate::request::json;

/// Get a ticket for the stream.
///
/// Valid once, within 30 s, as `GET /api/v1/stream?ticket=…`: for an `EventSource`, which cannot send headers. It opens
/// the stream of this request's tenant, with the permissions of the key it was created with.
#[utoipa::path(post, path = "/api/v1/stream/tickets", tag = "stream", operation_id = "create_stream_ticket",
    responses((status = 201, description = "The ticket", body = TicketDocument)))]
pub(crate) async fn create_ticket(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let text = PassText::fresh(PassKind::Ticket);
    let expires_at = app.authenticator().issue(&text, &caller).await?;
    let document = TicketDocument { ticket: text.reveal().to_owned(), expires_at };
    let mut answer = json::answer(StatusCode::CREATED, &document);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
