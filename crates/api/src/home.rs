//! What a browser finds at the root: what this is, and where to go on.

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::docs::page;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/", get(|| page("text/html; charset=utf-8", include_str!("../assets/home.html"))))
}
