//! Who is plugged into whom.
//!
//! The one place that knows every part: which store stands behind the ports, what the worker can run, what the API is
//! given. Nothing here decides anything about a job.
//!
//! Everything is opened before anything is started, so that a start that fails has begun nothing: first the store (which
//! proves that no other process has it), then the socket.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use foreman_api::{App, Commands, Hosts, Parts, Readiness, Server, Tail};
use foreman_core::memory::{self, LocalWakeups};
use foreman_core::ports::{JobStore, SessionStore, Store, Submit, Upkeep, Wakeups};
use foreman_core::{Clock, Timestamp};
use foreman_engine::output::OutputHub;
use foreman_engine::target::Targets;
use foreman_engine::target::command::CommandRunner;
use foreman_engine::target::http::HttpRunner;
use foreman_engine::target::task::{Handlers, TaskRunner};
use foreman_engine::worker::Drained;
use foreman_engine::{Promoter, Pruner, SubmitHandle, Submitter, Sweeper, Worker};
use foreman_runtime::{Shutdown, Task, TaskFailed, Tasks};
use foreman_sqlite::SqliteStore;

use crate::config::{Settings, StoreKind};

/// A server that is composed and listens, and does nothing yet.
pub struct Composed {
    pub address: SocketAddr,
    pub readiness: Readiness,
    pub intake: SubmitHandle,
    pub store: OpenStore,
    parts: Vec<(&'static str, Part)>,
}

type Part = Box<dyn FnOnce(Shutdown) -> futures_util::future::BoxFuture<'static, anyhow::Result<Drained>> + Send>;

/// A part of the server that runs. Ends by itself only when it failed.
pub struct Running {
    pub name: &'static str,
    pub task: Task<anyhow::Result<Drained>>,
}

/// How a part ended.
pub type Ended = Result<anyhow::Result<Drained>, TaskFailed>;

/// The store, as the one who must close it sees it.
pub enum OpenStore {
    Sqlite(SqliteStore),
    Memory,
}

impl OpenStore {
    /// After this nothing is written any more, and the next process finds a file that was closed in good order.
    pub async fn close(&self) {
        match self {
            OpenStore::Sqlite(store) => store.close().await,
            OpenStore::Memory => {}
        }
    }
}

/// The wall clock, as `core` takes it.
pub fn clock() -> Arc<dyn Clock> {
    Arc::new(|| Timestamp::from_micros(foreman_runtime::clock::now()))
}

pub async fn compose(settings: &Settings, tasks: &Tasks) -> anyhow::Result<Composed> {
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let (store, open) = open_store(settings, &wakeups, tasks).await?;
    let server = match Server::bind(settings.listen).await {
        Ok(server) => server,
        Err(error) => {
            open.close().await;
            return Err(error.into());
        }
    };
    let address = server.local_addr();
    let readiness = Readiness::new();
    let output = OutputHub::new(settings.output.clone());
    let (submitter, intake) = Submitter::new(Arc::clone(&store) as Arc<dyn JobStore>, settings.submit.clone());
    let tail = Tail::new(Arc::clone(&store), wakeups.as_ref(), settings.tail.clone(), readiness.clone());
    let app = App::new(Parts {
        store: Arc::clone(&store),
        submit: Arc::new(intake.clone()) as Arc<dyn Submit>,
        waits: tail.waits(),
        output: Arc::new(output.clone()),
        clock: clock(),
        limits: settings.limits.clone(),
        bodies: settings.bodies.clone(),
        readiness: readiness.clone(),
        commands: if settings.commands.allow { Commands::Allowed } else { Commands::Refused },
        // Without keys, the name in the request is what tells a page in the user's browser from the user.
        hosts: Hosts::Local,
        tasks: tasks.clone(),
        version: env!("CARGO_PKG_VERSION"),
        dev: true,
    });
    let worker = Worker::new(
        Arc::clone(&store),
        Arc::clone(&wakeups),
        targets(settings, output),
        tasks.clone(),
        settings.worker_in_grace(),
    );
    let upkeep = Arc::clone(&store) as Arc<dyn Upkeep>;
    let promoter = Promoter::new(Arc::clone(&upkeep), wakeups, settings.promoter.clone());
    let sweeper = Sweeper::new(store as Arc<dyn SessionStore>, settings.sweeper.clone());
    let pruner = Pruner::new(upkeep, settings.pruner.clone());
    let router = foreman_api::router(app);
    let (serve, serve_tasks) = (settings.serve.clone(), tasks.clone());
    let parts = vec![
        part("submitter", |shutdown| async move { Ok(submitter.run(shutdown).await.map(nothing)?) }),
        part("tail", |shutdown| async move {
            tail.run(shutdown).await;
            Ok(Drained::default())
        }),
        part("promoter", |shutdown| async move { Ok(promoter.run(shutdown).await.map(nothing)?) }),
        part("sweeper", |shutdown| async move { Ok(sweeper.run(shutdown).await.map(nothing)?) }),
        part("pruner", |shutdown| async move { Ok(pruner.run(shutdown).await.map(nothing)?) }),
        part("worker", |shutdown| async move { Ok(worker.run(shutdown).await?) }),
        part("http", |shutdown| async move {
            server.serve(router, serve, shutdown, serve_tasks).await;
            Ok(Drained::default())
        }),
    ];
    Ok(Composed { address, readiness, intake, store: open, parts })
}

impl Composed {
    /// Starts every part.
    pub fn start(&mut self, shutdown: &Shutdown, tasks: &Tasks) -> Vec<Running> {
        let start =
            |(name, part): (&'static str, Part)| Running { name, task: tasks.spawn(name, part(shutdown.clone())) };
        std::mem::take(&mut self.parts).into_iter().map(start).collect()
    }
}

fn part<F>(name: &'static str, run: impl FnOnce(Shutdown) -> F + Send + 'static) -> (&'static str, Part)
where
    F: Future<Output = anyhow::Result<Drained>> + Send + 'static,
{
    (name, Box::new(|shutdown| Box::pin(run(shutdown))))
}

/// What a part that holds no jobs has drained.
fn nothing((): ()) -> Drained {
    Drained::default()
}

async fn open_store(
    settings: &Settings,
    wakeups: &Arc<dyn Wakeups>,
    tasks: &Tasks,
) -> anyhow::Result<(Arc<dyn Store>, OpenStore)> {
    match settings.store {
        StoreKind::Memory => Ok((Arc::new(memory::Store::new(clock(), Arc::clone(wakeups))), OpenStore::Memory)),
        StoreKind::Sqlite => {
            let (config, wakeups) = (settings.sqlite.clone(), Arc::clone(wakeups));
            // Migrating and clearing up after a crash take as long as they take: not on a thread of the runtime.
            let opened = tasks.spawn_blocking("open", move || SqliteStore::open(config, clock(), wakeups)).await?;
            let store = opened.context("could not open the store")?;
            Ok((Arc::new(store.clone()), OpenStore::Sqlite(store)))
        }
    }
}

fn targets(settings: &Settings, output: OutputHub) -> Targets {
    let targets = Targets::default()
        .with(Arc::new(HttpRunner::new(settings.http.clone())))
        .with(Arc::new(TaskRunner::new(Handlers::new())));
    if settings.commands.allow {
        targets.with(Arc::new(CommandRunner::new(settings.command_in_grace(), output)))
    } else {
        targets
    }
}
