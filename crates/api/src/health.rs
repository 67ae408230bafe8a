//! Is the process alive, and should it be sent work?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use tokio::time::timeout;

use crate::app::App;
use crate::json;
use crate::problem::{Kind, Problem};

/// A balancer asks every few seconds and gives up soon: an answer that comes later is no answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether new requests are wanted. Clones share one answer.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    is_draining: Arc<AtomicBool>,
    saw_damage: Arc<AtomicBool>,
}

impl Readiness {
    pub fn new() -> Self {
        Self::default()
    }

    /// Not ready from now on. There is no way back: the process is about to stop.
    pub fn set_draining(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Takes note of a problem that concerns the whole process. A store that was damaged once stays so until somebody has
    /// looked and started the server anew: the next read may miss the damage, which does not mend it.
    pub(crate) fn heed(&self, kind: Kind) {
        if kind == Kind::StoreDamaged {
            self.saw_damage.store(true, Ordering::Release);
        }
    }

    fn saw_damage(&self) -> bool {
        self.saw_damage.load(Ordering::Acquire)
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// Always `alive`: a process that is not does not answer.
    status: &'static str,
    version: &'static str,
}

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Ready {
    ready: bool,
    checks: Vec<Check>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Is the process alive?
#[utoipa::path(get, path = "/healthz", tag = "server", operation_id = "healthz",
    responses((status = 200, description = "It is", body = Health)))]
pub(crate) async fn alive(State(app): State<App>) -> Response {
    json::answer(StatusCode::OK, &Health { status: "alive", version: app.version })
}

/// Should the process be sent work?
///
/// It should while its store answers, has never been found damaged since the start, and the process is not stopping.
#[utoipa::path(get, path = "/readyz", tag = "server", operation_id = "readyz",
    responses(
        (status = 200, description = "It should", body = Ready),
        (status = 503, description = "It should not; `checks` says why", body = Ready),
    ))]
pub(crate) async fn ready(State(app): State<App>) -> Response {
    let checks = vec![intake(&app), store(&app).await];
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json::answer(status, &Ready { ready, checks })
}

fn intake(app: &App) -> Check {
    let draining = app.readiness.is_draining();
    Check { name: "intake", ok: !draining, detail: draining.then(|| "the server is stopping".into()) }
}

async fn store(app: &App) -> Check {
    let detail = match timeout(PATIENCE, app.store.ping()).await {
        Ok(Ok(())) => None,
        // Which kind of trouble, and no more: what a store says of itself may name paths and hosts.
        Ok(Err(error)) => {
            tracing::warn!("the store did not answer the readiness check: {error}");
            let kind = Problem::from(error).kind;
            app.readiness.heed(kind);
            Some(kind.title().to_owned())
        }
        Err(_) => Some(format!("the store did not answer within {PATIENCE:?}")),
    };
    let detail = if app.readiness.saw_damage() { Some(damage()) } else { detail };
    Check { name: "store", ok: detail.is_none(), detail }
}

fn damage() -> String {
    format!("{}: see the log, stop the server, run `foreman check --deep`", Kind::StoreDamaged.title())
}
