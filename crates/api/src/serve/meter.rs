//! What is counted, as somebody else counts it: the API says what happened and shows the result at `/metrics`.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};

use crate::serve::health::Vitals;

/// The text of [`Meter::text`], as Prometheus and everyone who speaks OpenMetrics read it.
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Counts for the whole process.
pub trait Meter: Send + Sync {
    /// A request was answered. `route` is the template of its path, or `-`: there are few of them.
    fn request(&self, method: &Method, route: &str, status: StatusCode, took: Duration);

    /// Everything counted so far, in the OpenMetrics text format.
    fn text(&self) -> String;
}

/// Metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "server", operation_id = "metrics",
    responses((status = 200, description = "Counters and gauges of this process in the OpenMetrics text format",
        body = String, content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(vitals): State<Vitals>) -> Response {
    ([(CONTENT_TYPE, MEDIA_TYPE)], vitals.meter().map_or_else(|| "# EOF\n".into(), Meter::text)).into_response()
}
