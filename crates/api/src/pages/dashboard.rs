//! The dashboard: the files that `dashboard/` is built into, out of the binary.
//!
//! A release build has them in it; a debug build reads them from `dashboard/dist` when it starts. Either way they are all in
//! memory before the first request, so that a path is looked up in a list and never on a disk. Its pages are one document,
//! which reads the address itself. Without a build each of them says what this is and how to build it.
//!
//! Every answer has a policy that lets nothing run, load or be told but from this server, whatever a job has in its payload.

mod files;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use http::header::{CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

use crate::app::App;
use crate::pages::home;
use crate::problem::{Kind, Problem};
pub use files::Dashboard;

/// What the dashboard's own router knows.
const PAGES: [&str; 13] = [
    "/",
    "/jobs",
    "/jobs/{id}",
    "/dead",
    "/schedules",
    "/schedules/{id}",
    "/queues",
    "/workers",
    "/webhooks",
    "/webhooks/{id}",
    "/keys",
    "/submit",
    "/sign-in",
];

/// Nothing inline, nothing from elsewhere, no frame around it.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";

pub(crate) fn routes() -> Router<App> {
    let pages = PAGES.into_iter().fold(Router::new(), |router, path| router.route(path, get(page)));
    pages.route("/assets/{*path}", get(asset)).layer(map_response(guarded))
}

async fn page(State(app): State<App>, request: Request) -> Response {
    match app.dashboard.page() {
        Some(file) => file.answer(request.headers(), &app.tasks).await,
        None => home::home(&request),
    }
}

async fn asset(State(app): State<App>, Path(path): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let Some(file) = app.dashboard.asset(&path) else {
        let detail = format!("this version of the dashboard has no file {path:?}; reload the page");
        return Err(Problem::new(Kind::NotFound, detail));
    };
    Ok(file.answer(&headers, &app.tasks).await)
}

async fn guarded(mut response: Response) -> Response {
    let own = |name| HeaderName::from_static(name);
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (own("cross-origin-opener-policy"), "same-origin"),
        (own("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
