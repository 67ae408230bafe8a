//! A bare server of submissions: the framework that the API is built on reads the body and answers 202 with a document of
//! the same length as ours. Nothing is parsed, checked or kept.

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

/// As long as the answer to a submission.
const ANSWER: &str =
    r#"{"id":"019a8e2c-0000-7000-8000-000000000000","state":"pending","created_at":"2026-01-01T00:00:00.000000Z"}"#;

pub async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let accepted = |body: Bytes| async move {
        let status = if body.is_empty() { StatusCode::BAD_REQUEST } else { StatusCode::ACCEPTED };
        (status, [(header::CONTENT_TYPE, "application/json")], ANSWER)
    };
    let listener = listener.tap_io(|stream| {
        // Without it the answer goes out all the same.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/api/v1/jobs", post(accepted))).await?;
    Ok(())
}
