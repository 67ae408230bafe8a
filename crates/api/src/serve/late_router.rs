//! The router that is served from the first moment, before there is a store to serve from.
//!
//! A role whose database is away at the start waits for it instead of leaving. Meanwhile whoever asks learns that it lives,
//! and why it is not ready; everything else is answered with "come back", as it is when the database goes away later.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use tower::ServiceExt as _;

use crate::gate::{self, Gate, GateLayer};
use crate::problem::{Kind, Problem};
use crate::serve::health::{self, Vitals};
use crate::serve::meter;

/// A router that is filled in later: answers probes only until [`LateRouter::open`]. Clones are the same router.
#[derive(Clone)]
pub struct LateRouter(Arc<Routers>);

struct Routers {
    closed: Router,
    open: OnceLock<Router>,
}

impl LateRouter {
    pub fn new(vitals: Vitals, gate: Gate) -> Self {
        let closed = Router::new()
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
            .route("/metrics", get(meter::metrics))
            .fallback(not_yet)
            .layer(from_fn_with_state(GateLayer { gate, app: None }, gate::around))
            .with_state(vitals);
        Self(Arc::new(Routers { closed, open: OnceLock::new() }))
    }

    /// From now on this is what is served. Said once.
    pub fn open(&self, router: Router) {
        // A second one would be a bug of the composition; the first is as good.
        let _ = self.0.open.set(router);
    }

    pub fn router(&self) -> Router {
        Router::new().fallback(pass).with_state(self.clone())
    }
}

async fn pass(State(late): State<LateRouter>, request: Request) -> Response {
    let router = late.0.open.get().unwrap_or(&late.0.closed).clone();
    let answer: Result<Response, Infallible> = router.oneshot(request).await;
    match answer {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn not_yet() -> Problem {
    Problem::new(Kind::StoreUnavailable, "the server is starting and waits for its store; send the request again")
}
