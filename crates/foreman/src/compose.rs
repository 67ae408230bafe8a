//! Who is plugged into whom.
//!
//! The one place that knows every part: which store stands behind the ports, what the worker can run, what the API is
//! given, which parts make up a role. Nothing here decides anything about a job.
//!
//! | role | parts |
//! |---|---|
//! | `api` | HTTP, submitter, tail |
//! | `worker` | worker, promoter, sweeper, probes |
//! | `scheduler` | promoter, sweeper, leadership and what the leader does: scheduler, pruner, courier, bookkeeper; horizon watch, probes |
//! | `relay` | with Kafka: relay, reconciler, topic keeper, probes |
//! | `dev` | all of them; those of the relay with Kafka only |
//!
//! Promoting and sweeping are safe from anywhere, so workers do them too: a worker and the leader that die together delay
//! nobody.
//!
//! Everything is opened before anything is started, so that a start that fails has begun nothing. On a file the store comes first
//! (it proves that no other process has it), then the socket. A database may be away for a while: there the socket comes first, and
//! answers probes while we wait.

mod api;
mod leading;
mod redis;
mod store;
mod transport;
mod upkeep;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use foreman_api::{
    BindError, Gate, HostPolicy, KeyPolicy, LateRouter, Meter, Patience, Readiness, Server, Vitals, probes,
};
use foreman_core::memory::LocalLimiter;
use foreman_core::ports::intercept::Intercepted;
use foreman_core::ports::{AnnounceStore, Limiter, Store, Tenancy, TenantStore, Wakeups};
use foreman_core::sealed::Keyring;
use foreman_core::{Clock, Timestamp};
use foreman_engine::SubmitHandle;
use foreman_engine::output::OutputHub;
use foreman_engine::target::command::orphans;
use foreman_engine::tenants::{self, Tenants};
use foreman_engine::worker::Drained;
use foreman_runtime::leadership::{AlwaysLeader, Lease};
use foreman_runtime::{Shutdown, Task, TaskFailed, Tasks};

use crate::config::{Settings, StoreKind};
use crate::metrics::{Metrics, StoreMeter};
use crate::role::Role;
pub use store::OpenStore;
use transport::BrokerParts;

/// A server that is composed and listens, and does nothing yet but answer probes.
pub struct Composed {
    pub address: SocketAddr,
    pub readiness: Readiness,
    pub store: OpenStore,
    intake: Option<SubmitHandle>,
    parts: Vec<ServerPart>,
    running: Vec<RunningPart>,
}

/// A part of the server that does not run yet.
pub struct ServerPart {
    name: &'static str,
    run: Box<dyn FnOnce(Shutdown) -> futures_util::future::BoxFuture<'static, anyhow::Result<Drained>> + Send>,
}

/// A part of the server that runs. Ends by itself only when it failed.
pub struct RunningPart {
    pub name: &'static str,
    pub task: Task<anyhow::Result<Drained>>,
}

/// How a part ended.
pub type PartResult = Result<anyhow::Result<Drained>, TaskFailed>;

/// What is served, where jobs come in, and what runs beside it.
type Roles = (Router, Option<SubmitHandle>, Vec<ServerPart>);

/// What every part may be given.
struct Wiring<'a> {
    role: Role,
    settings: &'a Settings,
    tasks: &'a Tasks,
    metrics: Arc<Metrics>,
    readiness: Readiness,
    vitals: Vitals,
    gate: Gate,
    /// What secrets are sealed with where they are kept.
    keyring: Option<Arc<Keyring>>,
}

/// What stands behind the ports.
struct StorePorts {
    store: Arc<dyn Store>,
    /// The same store: who is served, whom they want told, and who did what.
    tenancy: Arc<dyn Tenancy>,
    /// The same store: what a broker carries. `None`: it knows no broker.
    announced: Option<Arc<dyn AnnounceStore>>,
    wakeups: Arc<dyn Wakeups>,
    lease: Arc<dyn Lease>,
    limiter: Arc<dyn Limiter>,
}

/// The wall clock, as `core` takes it.
pub fn clock() -> Arc<dyn Clock> {
    Arc::new(|| Timestamp::from_micros(foreman_runtime::clock::now()))
}

/// Makes the server; `None` when it was told to stop while it waited for its database.
pub async fn compose(
    role: Role,
    settings: &Settings,
    tasks: &Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<Option<Composed>> {
    let wiring = Wiring::new(role, settings, tasks);
    match settings.store {
        StoreKind::Sqlite | StoreKind::Memory => on_a_file(&wiring).await.map(Some),
        StoreKind::Postgres => on_a_database(&wiring, shutdown).await,
    }
}

/// The API on this store for a command in the same process: the same routes and handlers, without a socket, for requests that are
/// done in the name of `direct`. The parts beside it, which write submissions and follow the change log, do not run.
pub fn direct_api(
    settings: &Settings,
    (store, tenancy): (Arc<dyn Store>, Arc<dyn Tenancy>),
    wakeups: Arc<dyn Wakeups>,
    tasks: &Tasks,
) -> Router {
    let mut wiring = Wiring::new(Role::Api, settings, tasks);
    wiring.gate.hosts = HostPolicy::Any;
    wiring.gate.keys = KeyPolicy::Direct;
    let (lease, limiter) = (Arc::new(AlwaysLeader::default()), Arc::new(LocalLimiter::new(clock())));
    let shared = StorePorts { store, tenancy, announced: None, wakeups, lease, limiter };
    let (router, _, _) = api::parts(&wiring, &shared, OutputHub::new(settings.output.clone()));
    router
}

async fn on_a_file(wiring: &Wiring<'_>) -> anyhow::Result<Composed> {
    let opened = store::open_local(wiring).await?;
    let server = match wiring.bind().await {
        Ok(server) => server,
        Err(error) => {
            opened.open.close().await;
            return Err(error.into());
        }
    };
    let address = server.local_addr();
    let (router, intake, mut parts) = match wiring.role(&opened) {
        Ok(role) => role,
        Err(error) => {
            opened.open.close().await;
            return Err(error);
        }
    };
    parts.push(wiring.http(server, router));
    wiring.vitals.set_store(Arc::clone(&opened.shared.store));
    let readiness = wiring.readiness.clone();
    Ok(Composed { address, readiness, store: opened.open, intake, parts, running: Vec::new() })
}

async fn on_a_database(wiring: &Wiring<'_>, shutdown: &Shutdown) -> anyhow::Result<Option<Composed>> {
    let server = wiring.bind().await?;
    let address = server.local_addr();
    let late_router = LateRouter::new(wiring.vitals.clone(), wiring.gate.clone());
    let http = wiring.http(server, late_router.router()).start(shutdown, wiring.tasks);
    let Some(opened) = store::open_postgres(wiring, shutdown).await? else { return Ok(None) };
    let (router, intake, parts) = wiring.role(&opened)?;
    late_router.open(router);
    // Not before the routes are served: clients send requests as soon as this process is ready.
    wiring.vitals.set_store(Arc::clone(&opened.shared.store));
    let readiness = wiring.readiness.clone();
    Ok(Some(Composed { address, readiness, store: opened.open, intake, parts, running: vec![http] }))
}

impl Composed {
    /// Starts every part that does not run yet.
    pub fn start(&mut self, shutdown: &Shutdown, tasks: &Tasks) -> Vec<RunningPart> {
        let mut running = std::mem::take(&mut self.running);
        running.extend(std::mem::take(&mut self.parts).into_iter().map(|part| part.start(shutdown, tasks)));
        running
    }

    /// Nothing new is taken.
    pub fn close_intake(&self) {
        if let Some(intake) = &self.intake {
            intake.close();
        }
    }
}

impl<'a> Wiring<'a> {
    fn new(role: Role, settings: &'a Settings, tasks: &'a Tasks) -> Self {
        let metrics = Arc::new(Metrics::new(role));
        let meter = Some(Arc::clone(&metrics) as Arc<dyn Meter>);
        let readiness = Readiness::new();
        let vitals = Vitals::new(env!("CARGO_PKG_VERSION"), readiness.clone(), meter.clone());
        let keys = settings.admin_key.as_ref().map_or(KeyPolicy::None, |key| KeyPolicy::asked(key.reveal()));
        // Roles without an API answer probes, to anyone who reaches them and under any name: they name no tenant, job or key.
        // Without keys, the name in the request is what tells a page in the user's browser from the user.
        // A server with a key of its own listens on this machine only, and has no other name either.
        let hosts = if role.serves_the_api() && (matches!(keys, KeyPolicy::None) || settings.has_own_key) {
            HostPolicy::Local
        } else {
            HostPolicy::Any
        };
        let gate = Gate { hosts, keys, patience: Patience::default(), meter, readiness: readiness.clone() };
        let keyring = settings.secret_key.clone().map(Arc::new);
        Self { role, settings, tasks, metrics, readiness, vitals, gate, keyring }
    }

    async fn bind(&self) -> Result<Server, BindError> {
        if self.role.serves_the_api() {
            Server::bind(self.settings.listen).await
        } else {
            Server::bind_for(self.settings.health_listen, "--health-listen").await
        }
    }

    fn http(&self, server: Server, router: Router) -> ServerPart {
        let (serve, tasks) = (self.settings.serve.clone(), self.tasks.clone());
        part("http", |shutdown| async move {
            server.serve(router, serve, shutdown, tasks).await;
            Ok(Drained::default())
        })
    }

    /// The store, with every call counted and timed.
    fn metered<S: ?Sized>(&self, store: Arc<S>) -> Arc<Intercepted<S, StoreMeter>> {
        Arc::new(Intercepted::new(store, StoreMeter::new(Arc::clone(&self.metrics))))
    }

    /// What is served, where jobs come in, and what runs beside it.
    fn role(&self, opened: &store::RoleStore) -> anyhow::Result<Roles> {
        let output = OutputHub::new(self.settings.output.clone());
        let (router, intake, mut parts) = self.parts_of_role(opened, output)?;
        if orphans::is_first_process() || (self.role.runs_jobs() && self.settings.commands.allow) {
            parts.push(part("orphans", |shutdown| async move {
                orphans::bury(shutdown).await;
                Ok(Drained::default())
            }));
        }
        Ok((router, intake, parts))
    }

    fn parts_of_role(&self, opened: &store::RoleStore, output: OutputHub) -> anyhow::Result<Roles> {
        let shared = &opened.shared;
        let transport = if self.role.uses_a_broker() { BrokerParts::open(self, shared)? } else { None };
        let transport = transport.as_ref();
        Ok(match self.role {
            Role::Dev => {
                let (router, intake, mut parts) = api::parts(self, shared, output.clone());
                parts.extend(upkeep::parts(self, shared));
                parts.extend(leading::parts(self, shared, &opened.open));
                parts.extend(self.transport_parts(transport, shared)?);
                parts.push(worker::part_of(self, shared, transport, output)?);
                (router, Some(intake), parts)
            }
            Role::Api => {
                let (router, intake, parts) = api::parts(self, shared, output);
                (router, Some(intake), parts)
            }
            Role::Worker => {
                let mut parts = upkeep::parts(self, shared);
                parts.extend(self.transport_parts(transport, shared)?);
                parts.push(worker::part_of(self, shared, transport, output)?);
                (self.probes(), None, parts)
            }
            Role::Relay => (self.probes(), None, self.transport_parts(transport, shared)?),
            Role::Scheduler => {
                let mut parts = upkeep::parts(self, shared);
                parts.extend(leading::parts(self, shared, &opened.open));
                (self.probes(), None, parts)
            }
        })
    }

    /// What stands between the store and the workers, where there is a broker.
    fn transport_parts(&self, transport: Option<&BrokerParts>, shared: &StorePorts) -> anyhow::Result<Vec<ServerPart>> {
        let Some(transport) = transport else { return Ok(Vec::new()) };
        let (mut parts, mut readings) = (vec![transport.keeper()], None);
        if self.role.announces() {
            let (relay, of_relay) = transport.relay(self, shared)?;
            parts.extend(relay);
            readings = Some(of_relay);
        }
        transport.report(self, readings);
        Ok(parts)
    }

    /// What is said about tenants, for parts that hold them to it.
    fn tenants(&self, shared: &StorePorts) -> Arc<Tenants> {
        let config = tenants::Config { limits: self.settings.tenant_limits.clone(), ..tenants::Config::default() };
        Arc::new(Tenants::new(Arc::clone(&shared.tenancy) as Arc<dyn TenantStore>, config))
    }

    fn probes(&self) -> Router {
        probes(self.vitals.clone(), self.gate.clone())
    }
}

impl ServerPart {
    fn start(self, shutdown: &Shutdown, tasks: &Tasks) -> RunningPart {
        let Self { name, run } = self;
        RunningPart { name, task: tasks.spawn(name, run(shutdown.clone())) }
    }
}

fn part<F>(name: &'static str, run: impl FnOnce(Shutdown) -> F + Send + 'static) -> ServerPart
where
    F: Future<Output = anyhow::Result<Drained>> + Send + 'static,
{
    ServerPart { name, run: Box::new(|shutdown| Box::pin(run(shutdown))) }
}

/// What a part that holds no jobs has drained.
fn nothing((): ()) -> Drained {
    Drained::default()
}
