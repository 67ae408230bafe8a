//! What every handler can reach.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use foreman_core::limits::Limits;
use foreman_core::ports::{AnnounceStore, Limiter, LiveOutput, Schedules, Store, Submit, Tenancy};
use foreman_core::sealed::Keyring;
use foreman_core::tenant::TenantLimits;
use foreman_core::{Clock, TenantId};
use foreman_runtime::Tasks;

use crate::gate::Gate;
use crate::gate::audit::Bounds;
use crate::gate::authenticate::{Authenticator, DefaultLimits};
use crate::gate::quotas::Quotas;
use crate::gate::shares::ConnectionShares;
use crate::overview::Overviews;
use crate::pages::dashboard::Dashboard;
use crate::problem::Problem;
use crate::request::body::Bodies;
use crate::request::buffers::Buffers;
use crate::serve::health::Vitals;
use crate::stream::{Hub, KnownLabels};
use crate::tail::Waits;

/// The state of the router: one pointer, so that a request costs one count.
#[derive(Clone)]
pub struct App(Arc<AppState>);

struct AppState {
    parts: AppParts,
    authenticator: Authenticator,
    quotas: Quotas,
    bounds: Bounds,
    overviews: Overviews,
    labels: KnownLabels,
    received: Buffers,
    answered: Buffers,
    shares: ConnectionShares,
}

/// What the API is plugged into.
pub struct AppParts {
    pub store: Arc<dyn Store>,
    /// Who is served and by which keys; the same store.
    pub tenancy: Arc<dyn Tenancy>,
    /// What a broker carries; the same store. `None`: it knows no broker.
    pub announced: Option<Arc<dyn AnnounceStore>>,
    pub submit: Arc<dyn Submit>,
    /// Where schedules are made and changed; they are read from the store.
    pub schedules: Arc<dyn Schedules>,
    pub waits: Waits,
    pub streams: Hub,
    pub output: Arc<dyn LiveOutput>,
    /// Where rates are counted: by this process, or by all of them together.
    pub limiter: Arc<dyn Limiter>,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
    /// What every tenant may ask for, but for what an administrator said about it.
    pub tenant_limits: TenantLimits,
    /// The same for the tenant `default`, which may be the operator's own.
    pub own_limits: TenantLimits,
    /// What secrets are sealed with; without it nothing that carries one is accepted.
    pub keyring: Option<Arc<Keyring>>,
    pub bodies: Bodies,
    /// How many connections are served at once, of which one tenant's requests may keep a share.
    pub connections: usize,
    pub vitals: Vitals,
    pub gate: Gate,
    pub commands: CommandPolicy,
    /// What a browser is shown at `/`.
    pub dashboard: Dashboard,
    /// Where a write goes on when the client that asked for it goes away.
    pub tasks: Tasks,
    /// Serve `/dev/echo` and `/dev/status/{code}`, for trying things out.
    pub dev: bool,
}

/// May jobs with a `command` be submitted?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandPolicy {
    Allowed,
    Refused,
    /// Allowed, and the default tenant runs what it likes, whatever its list says: the server is of whoever holds its one key.
    Open,
}

impl App {
    pub fn new(parts: AppParts) -> Self {
        let (gate, tenancy) = (&parts.gate, Arc::clone(&parts.tenancy));
        let defaults = DefaultLimits { every: parts.tenant_limits.clone(), own: parts.own_limits.clone() };
        let attempts = (gate.patience, Arc::clone(&parts.limiter));
        let authenticator = Authenticator::new(gate.keys.clone(), tenancy, defaults, attempts, &parts.tasks);
        let overviews = Overviews::new(&parts.tasks);
        let labels = KnownLabels::new(Arc::clone(&parts.store), parts.tasks.clone());
        let Bodies { in_flight, answers_in_flight, job_bytes, batch_bytes, .. } = parts.bodies;
        let largest = job_bytes.max(batch_bytes);
        let received = Buffers::new(in_flight, largest);
        // An answer repeats what was submitted, with a little around it.
        let answered = Buffers::new(answers_in_flight, 2 * largest);
        let shares = ConnectionShares::of(parts.connections);
        let quotas = Quotas::default();
        let bounds = Bounds::default();
        Self(Arc::new(AppState { parts, authenticator, quotas, bounds, overviews, labels, received, answered, shares }))
    }

    /// What a tenant may ask for unless something was said about it.
    pub(crate) fn default_limits(&self, tenant: &TenantId) -> &TenantLimits {
        self.authenticator().default_limits(tenant)
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.0.bounds
    }

    pub(crate) fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    pub(crate) fn overviews(&self) -> &Overviews {
        &self.0.overviews
    }

    pub(crate) fn labels(&self) -> &KnownLabels {
        &self.0.labels
    }

    /// The bodies that are in memory.
    pub(crate) fn received(&self) -> &Buffers {
        &self.0.received
    }

    /// The answers that are.
    pub(crate) fn answered(&self) -> &Buffers {
        &self.0.answered
    }

    pub(crate) fn shares(&self) -> &ConnectionShares {
        &self.0.shares
    }

    pub(crate) fn authenticator(&self) -> &Authenticator {
        &self.0.authenticator
    }

    /// Runs a write to its end, whether or not the client waits for it: a request that is dropped half way must not take
    /// along what comes after the commit.
    pub(crate) async fn to_the_end<T, E>(
        &self,
        write: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        match self.tasks.spawn("request", write).await {
            Ok(result) => result.map_err(Into::into),
            Err(failed) => Err(Problem::internal(failed.to_string())),
        }
    }
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0.parts
    }
}

impl FromRef<App> for Vitals {
    fn from_ref(app: &App) -> Self {
        app.vitals.clone()
    }
}
