//! Is the process alive, and should it be sent work? Every role answers, the API among its routes and the others alone.
//!
//! Probes come every few seconds, from several sides and for as long as an outage lasts. What they are told is not logged;
//! one line is when the store stops answering them, and one when it answers again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use foreman_core::duration::Span;
use foreman_core::ports::Store;
use http::StatusCode;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use crate::gate::{self, Gate, GateLayer};
use crate::problem;
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::serve::meter::{self, Meter};

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

/// What probes look at. Clones share it, so that they can be answered before there is a store.
#[derive(Clone)]
pub struct Vitals(Arc<Signs>);

struct Signs {
    version: &'static str,
    readiness: Readiness,
    meter: Option<Arc<dyn Meter>>,
    store: OnceLock<Arc<dyn Store>>,
    /// Why there is no store yet.
    waiting: Mutex<String>,
    /// How the store was at the last probe.
    condition: Mutex<Condition>,
    lead: OnceLock<Say>,
    punctuality: OnceLock<Judge>,
    pruning: OnceLock<Complain>,
    outcomes: OnceLock<Complain>,
    broker: OnceLock<Assess>,
    redis: OnceLock<Complain>,
}

type Say = Box<dyn Fn() -> String + Send + Sync>;
type Complain = Box<dyn Fn() -> Option<String> + Send + Sync>;
type Judge = Box<dyn Fn() -> Result<(), String> + Send + Sync>;
type Assess = Box<dyn Fn() -> Result<Option<String>, String> + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Answers,
    Away { since: Instant },
}

impl Vitals {
    pub fn new(version: &'static str, readiness: Readiness, meter: Option<Arc<dyn Meter>>) -> Self {
        let waiting = Mutex::new("the store is not open yet".into());
        let condition = Mutex::new(Condition::Answers);
        Self(Arc::new(Signs {
            version,
            readiness,
            meter,
            store: OnceLock::new(),
            waiting,
            condition,
            lead: OnceLock::new(),
            punctuality: OnceLock::new(),
            pruning: OnceLock::new(),
            outcomes: OnceLock::new(),
            broker: OnceLock::new(),
            redis: OnceLock::new(),
        }))
    }

    /// There is a store: from now on it is the one that is asked. Said once.
    pub fn set_store(&self, store: Arc<dyn Store>) {
        // A second store would be a bug of the composition; the first is as good.
        let _ = self.0.store.set(store);
    }

    /// Why there is no store yet.
    pub fn set_waiting(&self, why: impl Into<String>) {
        *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) = why.into();
    }

    /// Shows whether this process leads; either is fine.
    pub fn set_lead(&self, say: impl Fn() -> String + Send + Sync + 'static) {
        let _ = self.0.lead.set(Box::new(say));
    }

    /// Do schedules fire on time? If not, why.
    pub fn set_punctuality(&self, judge: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        let _ = self.0.punctuality.set(Box::new(judge));
    }

    /// Which kinds of pruning are behind, if any. The process is ready all the same.
    pub fn set_pruning(&self, complain: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let _ = self.0.pruning.set(Box::new(complain));
    }

    /// How many outcomes the store refuses, if any. The process is ready all the same.
    pub fn set_outcomes(&self, complain: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let _ = self.0.outcomes.set(Box::new(complain));
    }

    /// Can the broker be used? `Err`: not before somebody does something about it. `Ok` with a note: it is degraded, and the process
    /// is ready all the same.
    pub fn set_broker(&self, assess: impl Fn() -> Result<Option<String>, String> + Send + Sync + 'static) {
        let _ = self.0.broker.set(Box::new(assess));
    }

    /// Whether Redis answers, where there is one. The process is ready all the same: it does without.
    pub fn set_redis(&self, complain: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let _ = self.0.redis.set(Box::new(complain));
    }

    pub(crate) fn meter(&self) -> Option<&dyn Meter> {
        self.0.meter.as_deref()
    }

    fn intake(&self) -> Check {
        let draining = self.0.readiness.is_draining();
        Check { name: "intake", ok: !draining, detail: draining.then(|| "the server is stopping".into()) }
    }

    async fn store(&self) -> Check {
        let Some(store) = self.0.store.get() else {
            let why = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return Check { name: "store", ok: false, detail: Some(why) };
        };
        let detail = match timeout(PATIENCE, store.ping()).await {
            Ok(Ok(())) => {
                self.note(None);
                None
            }
            // Which kind of trouble, and no more: what a store says of itself may name paths and hosts.
            Ok(Err(error)) => {
                self.note(Some(&error.to_string()));
                let kind = Problem::from(error).kind;
                self.0.readiness.heed(kind);
                Some(kind.title().to_owned())
            }
            Err(_) => {
                let late = format!("the store did not answer within {PATIENCE:?}");
                self.note(Some(&late));
                Some(late)
            }
        };
        let detail = if self.0.readiness.saw_damage() { Some(damage()) } else { detail };
        Check { name: "store", ok: detail.is_none(), detail }
    }

    /// Says it once when the store stops answering and once when it is back, however many ask meanwhile.
    fn note(&self, trouble: Option<&str>) {
        let mut condition = self.0.condition.lock().unwrap_or_else(PoisonError::into_inner);
        match (*condition, trouble) {
            (Condition::Answers, Some(why)) => {
                *condition = Condition::Away { since: Instant::now() };
                tracing::warn!("not ready: the store does not answer probes: {why}");
            }
            (Condition::Away { since }, None) => {
                *condition = Condition::Answers;
                let lasted = since.elapsed();
                let outage_ms = lasted.as_millis() as u64;
                tracing::info!(outage_ms, "the store answers probes again after {}", Span(lasted));
            }
            (Condition::Answers, None) | (Condition::Away { .. }, Some(_)) => {}
        }
    }

    fn lead(&self) -> Option<Check> {
        let say = self.0.lead.get()?;
        Some(Check { name: "leader", ok: true, detail: Some(say()) })
    }

    fn pruning(&self) -> Option<Check> {
        let complain = self.0.pruning.get()?;
        Some(Check { name: "pruning", ok: true, detail: complain() })
    }

    fn outcomes(&self) -> Option<Check> {
        let complain = self.0.outcomes.get()?;
        Some(Check { name: "outcomes", ok: true, detail: complain() })
    }

    fn broker(&self) -> Option<Check> {
        let assess = self.0.broker.get()?;
        let (ok, detail) = match assess() {
            Ok(note) => (true, note),
            Err(why) => (false, Some(why)),
        };
        Some(Check { name: "kafka", ok, detail })
    }

    fn redis(&self) -> Option<Check> {
        let complain = self.0.redis.get()?;
        Some(Check { name: "redis", ok: true, detail: complain() })
    }

    fn punctuality(&self) -> Option<Check> {
        let judge = self.0.punctuality.get()?;
        let detail = judge().err();
        Some(Check { name: "schedules", ok: detail.is_none(), detail })
    }
}

/// What a role without an API serves: the probes and what is counted.
pub fn probes(vitals: Vitals, gate: Gate) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(meter::metrics))
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::only_probes)
        .layer(from_fn_with_state(GateLayer { gate, app: None }, gate::around))
        .with_state(vitals)
}

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// Always `alive`: a process that is not alive does not respond.
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
    /// Why it is not ready, or a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Is the process alive?
#[utoipa::path(get, path = "/healthz", tag = "server", operation_id = "healthz",
    responses((status = 200, description = "Alive", body = Health)))]
pub(crate) async fn alive(State(vitals): State<Vitals>) -> Response {
    json::answer(StatusCode::OK, &Health { status: "alive", version: vitals.0.version })
}

/// Should the process be sent work?
///
/// Yes, while its store responds and has not been found damaged since the start, the process is not stopping, and, if
/// it fires schedules, it is not too far behind. A process that uses Kafka is not ready while topics are missing or wrong;
/// while the brokers do not respond, it is ready and `checks` says that it is degraded.
#[utoipa::path(get, path = "/readyz", tag = "server", operation_id = "readyz",
    responses(
        (status = 200, description = "Ready", body = Ready),
        (status = 503, description = "Not ready; `checks` says why", body = Ready),
    ))]
pub(crate) async fn ready(State(vitals): State<Vitals>) -> Response {
    let mut checks = vec![vitals.intake(), vitals.store().await];
    checks.extend(vitals.lead());
    checks.extend(vitals.punctuality());
    checks.extend(vitals.pruning());
    checks.extend(vitals.outcomes());
    checks.extend(vitals.broker());
    checks.extend(vitals.redis());
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json::answer(status, &Ready { ready, checks })
}

fn damage() -> String {
    format!("{}: see the log, stop the server, run `foreman check --deep`", Kind::StoreDamaged.title())
}
