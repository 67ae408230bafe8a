//! Opens the stream once, in a URL, where no header can be sent: `EventSource`.

use axum::response::Response;
use foreman_core::document::TicketDocument;

use crate::problem::{Kind, Problem};

/// Get a ticket for the stream.
///
/// Good once and for 30 s, as `GET /api/v1/stream?ticket=…`: for an `EventSource`, which can send no header. It opens the stream of
/// the tenant that this request is about, and is worth no more than the key behind it.
#[utoipa::path(post, path = "/api/v1/stream/tickets", tag = "stream", operation_id = "create_stream_ticket",
    responses((status = 201, description = "The ticket", body = TicketDocument)))]
pub(crate) async fn create_ticket() -> Result<Response, Problem> {
    Err(Problem::new(Kind::Overloaded, "the stream is not served yet"))
}
