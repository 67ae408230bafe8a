//! Runs jobs: takes them from the store, makes attempts, records how they ended.
//!
//! Any number of workers may run, in any number of processes. Each lives one session at a time; the store keeps a job in
//! one session's hands only. A worker whose session is no longer valid (it could not renew it, or was found dead) stops
//! its work and begins a new life under a new session. The old session is wound down beside it (`ending.rs`): outcomes
//! that were not recorded yet are sent until the store has answered for them, and what is left is handed back.
//!
//! ```text
//!   register ─▶ dispatch, attempt, settle … ─▶ drain ─▶ flush ─▶ end          heartbeats all along
//!       ▲                  │
//!       └── session lost ──┘ stop the work ─▶ flush ─▶ end                    as soon as the store answers
//! ```
//!
//! A worker that dies leaves its session unrenewed: the sweeper lapses it and its jobs run elsewhere. A worker that stops
//! in good order hands everything back at once, and an interrupted attempt is not spent.

mod attempt;
mod dispatcher;
mod ending;
mod forgotten;
mod running;
mod seats;
mod session;
mod shares;

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::SessionId;
use foreman_core::job::QueueName;
use foreman_core::ports::{AnnounceStore, Feed, SessionInfo, Store, Topic, Wakeups};
use foreman_core::target::Route;
use foreman_runtime::{Shutdown, Stop, Task, TaskFailed, Tasks};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

pub use crate::pool::Drained;
use crate::pool::Pool;
use crate::settle::{self, RefusedOutcomes, Settler};
use crate::target::Targets;
use crate::tenants::Tenants;
use attempt::AttemptContext;
use dispatcher::Dispatcher;
use ending::{OldSessions, WorkerEnding};
use session::Session;

/// What a runner may need beyond its stop grace to come back.
const A_LITTLE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What people recognise this worker by, such as `host-1`.
    pub name: String,
    /// Attempts that run at once.
    pub slots: usize,
    /// Which queues are served. Empty: all.
    pub queues: Vec<QueueName>,
    /// Unrenewed for so long, a session may be lapsed by others.
    pub session_ttl: Duration,
    /// How often a session is renewed.
    pub heartbeat: Duration,
    /// So long before its TTL ends an unrenewed session stops its own work.
    pub fence_margin: Duration,
    /// How often to look for work when no wake-up came, give or take a fifth; seldomer while there is none.
    pub poll: Duration,
    /// One pick in so many goes to each lower lane first; 0: strict priority.
    pub guard: u64,
    /// How long running work may go on after draining began, before it is told to stop.
    pub drain_grace: Duration,
    /// How long work that was told to stop may take.
    pub stop_grace: Duration,
    /// How long recording the last outcomes and ending the session may each take.
    pub flush_grace: Duration,
    /// After a fragile job has waited for so long, the pool is now and then left to run dry.
    pub fragile_patience: Duration,
    /// While more work waits, how long to wait at least for half of the slots before claiming; longer where claims take longer.
    pub linger: Duration,
    /// How long one store call may take.
    pub call_timeout: Duration,
    pub settle: settle::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "worker".into(),
            slots: 32,
            queues: Vec::new(),
            session_ttl: Duration::from_secs(15),
            heartbeat: Duration::from_secs(5),
            fence_margin: Duration::from_secs(2),
            poll: Duration::from_secs(1),
            guard: 16,
            drain_grace: Duration::from_secs(20),
            stop_grace: Duration::from_secs(5),
            flush_grace: Duration::from_secs(3),
            fragile_patience: Duration::from_secs(30),
            linger: Duration::from_millis(1),
            call_timeout: Duration::from_secs(5),
            settle: settle::Config::default(),
        }
    }
}

impl Config {
    fn session_info(&self, tasks: Vec<String>, consumes: Option<Vec<Route>>) -> SessionInfo {
        SessionInfo {
            id: SessionId::fresh(),
            worker: self.name.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            slots: u32::try_from(self.slots).unwrap_or(u32::MAX),
            queues: self.queues.iter().map(ToString::to_string).collect(),
            tasks,
            consumes,
            ttl: self.session_ttl,
        }
    }

    /// How long a runner that was told to stop may take to return, before it is dropped.
    fn runner_grace(&self) -> Duration {
        self.stop_grace + A_LITTLE
    }
}

/// Why a worker ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] crate::outage::Error),
    /// A bug: logged where it was caught.
    #[error(transparent)]
    Task(#[from] TaskFailed),
}

/// A broker, as a worker sees it.
#[derive(Clone)]
pub struct BrokerFeed {
    /// What has arrived for this process.
    pub feed: Arc<dyn Feed>,
    /// Which workers take their work from the broker.
    pub announced: Arc<dyn AnnounceStore>,
}

pub struct Worker {
    store: Arc<dyn Store>,
    wakeups: Arc<dyn Wakeups>,
    targets: Targets,
    tasks: Tasks,
    tenants: Option<Arc<Tenants>>,
    refused: RefusedOutcomes,
    broker: Option<BrokerFeed>,
    config: Arc<Config>,
}

impl Worker {
    pub fn new(
        store: Arc<dyn Store>,
        wakeups: Arc<dyn Wakeups>,
        targets: Targets,
        tasks: Tasks,
        config: Config,
    ) -> Self {
        let (tenants, refused) = (None, RefusedOutcomes::default());
        Self { store, wakeups, targets, tasks, tenants, refused, broker: None, config: Arc::new(config) }
    }

    /// Takes no more jobs of a tenant than these say may run, shares its slots between them, and stops the work of those that are
    /// disabled. Without it, there is one tenant, and nobody is limited.
    #[must_use]
    pub fn limited_by(self, tenants: Arc<Tenants>) -> Self {
        Self { tenants: Some(tenants), ..self }
    }

    /// Takes the jobs that a broker names, and claims by order only what is not announced to every worker.
    #[must_use]
    pub fn fed_by(self, broker: BrokerFeed) -> Self {
        Self { broker: Some(broker), ..self }
    }

    /// Outcomes that the store refuses, whenever somebody asks.
    pub fn refused_outcomes(&self) -> RefusedOutcomes {
        self.refused.clone()
    }

    /// Works until draining, then finishes or hands back what it holds. Aborting stops the running work at once.
    pub async fn run(self, shutdown: Shutdown) -> Result<Drained, Error> {
        let mut old = OldSessions::new(self.tasks.clone(), shutdown.clone(), &self.config);
        let last = self.live(&shutdown, &mut old).await;
        let before = old.leave().await;
        last.map(|last| Drained {
            finished: last.finished + before.finished,
            handed_back: last.handed_back + before.handed_back,
            abandoned: last.abandoned + before.abandoned,
        })
    }

    /// One life after the other.
    async fn live(&self, shutdown: &Shutdown, old: &mut OldSessions) -> Result<Drained, Error> {
        // From now on relays count on this worker.
        let consumes = self.broker.is_some().then(|| self.targets.routes());
        let info = || self.config.session_info(self.targets.tasks(), consumes.clone());
        while let Some(session) = Session::register(&self.store, &self.config, info, shutdown).await? {
            let life = Life::begin(self, session, shutdown);
            match life.run(shutdown).await? {
                After::Drained(drained) => return Ok(drained),
                After::Lost(ending, drained) => {
                    info!(worker.name = self.config.name, "worker {} starts a new session", self.config.name);
                    old.wind_down(*ending, drained);
                }
            }
        }
        Ok(Drained::default())
    }
}

/// One session and everything that belongs to it.
struct Life {
    /// What it is fed by.
    feed: Option<Arc<dyn Feed>>,
    session: Arc<Session>,
    pool: Pool<Tasks>,
    config: Arc<Config>,
    ending: WorkerEnding,
    heart: Task<()>,
    listener: Task<()>,
    watcher: Task<()>,
    dispatcher: Task<Result<usize, Error>>,
}

/// Runs a part of a life that the session cannot do without: when it panics, the session is lost.
async fn lost_with<T>(lost: CancellationToken, part: impl Future<Output = T>) -> T {
    let lost = lost.drop_guard();
    let done = part.await;
    lost.disarm();
    done
}

enum After {
    Drained(Drained),
    /// The session is no longer valid; its work is stopped, and this became of it.
    Lost(Box<WorkerEnding>, Drained),
}

impl Life {
    fn begin(worker: &Worker, session: Arc<Session>, shutdown: &Shutdown) -> Self {
        let Worker { store, wakeups, targets, tasks, tenants, refused, broker, config } = worker;
        let settling = Stop::new();
        let jobs: Arc<dyn foreman_core::ports::JobStore> = Arc::clone(store) as _;
        let (settler, settle) = Settler::new(jobs, session.id, config.settle.clone());
        let settler = settler.shown_in(refused);
        let pool = Pool::new(config.slots, tasks.clone());
        let context = Arc::new(AttemptContext {
            targets: targets.clone(),
            settle: settle.clone(),
            lost: session.lost.clone(),
            grace: config.runner_grace(),
        });
        let dispatcher = Dispatcher::new(
            Arc::clone(store),
            wakeups.as_ref(),
            Arc::clone(&session),
            pool.clone(),
            context,
            Arc::clone(config),
            shutdown.clone(),
        )
        .limited_by(tenants.clone())
        .fed_by(broker.as_ref());
        let watch = dispatcher.seats().watch(tenants.clone(), Arc::clone(&session));
        let settler = tasks.spawn("settler", lost_with(session.lost.clone(), settler.run(settling.shutdown())));
        Self {
            heart: tasks.spawn("heartbeat", Arc::clone(&session).beat(settle.clone())),
            listener: tasks.spawn("cancellations", Arc::clone(&session).listen(wakeups.listen(Topic::Cancelled))),
            watcher: tasks.spawn("disabled tenants", lost_with(session.lost.clone(), watch)),
            dispatcher: tasks.spawn("dispatcher", dispatcher.run()),
            ending: WorkerEnding::new(Arc::clone(&session), Arc::clone(config), settle, settling, settler),
            session,
            pool,
            feed: broker.as_ref().map(|broker| Arc::clone(&broker.feed)),
            config: Arc::clone(config),
        }
    }

    async fn run(mut self, shutdown: &Shutdown) -> Result<After, Error> {
        let dispatched = tokio::select! {
            biased;
            // At once, not when the dispatcher has noticed: the work must have stopped before anyone else may take it.
            () = self.session.lost.cancelled() => None,
            ended = &mut self.dispatcher => Some(ended),
        };
        if self.session.is_lost() {
            return self.stop_lost(dispatched, shutdown).await;
        }
        // It ended by itself: because the worker drains, or because it cannot go on.
        let dispatched = dispatched.unwrap_or(Ok(Ok(0)));
        if let Some(feed) = &self.feed {
            feed.leave();
        }
        let marked = self.session.drain(self.config.flush_grace);
        let (mut drained, ()) = tokio::join!(self.stop_work(shutdown), marked);
        if self.session.is_lost() {
            return self.stop_lost(Some(dispatched), shutdown).await;
        }
        drained.handed_back += dispatched.as_ref().map_or(0, |done| *done.as_ref().unwrap_or(&0));
        let drained = self.ending.at_once(drained).await;
        self.session.over.cancel();
        self.heart.await?;
        self.listener.await?;
        self.watcher.await?;
        dispatched??;
        info!(
            finished = drained.finished,
            handed_back = drained.handed_back,
            abandoned = drained.abandoned,
            "worker {} drained: {} finished, {} handed back, {} abandoned",
            self.config.name,
            drained.finished,
            drained.handed_back,
            drained.abandoned
        );
        Ok(After::Drained(drained))
    }

    /// Waits for running work until its grace or the shutdown's deadline is over, then stops it.
    async fn stop_work(&self, shutdown: &Shutdown) -> Drained {
        let deadline = async {
            tokio::select! {
                biased;
                () = shutdown.aborting() => {}
                () = self.session.lost.cancelled() => {}
                () = sleep(self.config.drain_grace) => {}
            }
        };
        self.stop_work_at(deadline).await
    }

    async fn stop_work_at(&self, deadline: impl Future<Output = ()>) -> Drained {
        let deadline = async {
            deadline.await;
            // Work that has ended and only waits for room to say so would be dropped with what it has to say.
            self.ending.settle.make_room(self.config.slots);
        };
        self.pool.shutdown(deadline, || sleep(self.config.runner_grace() + A_LITTLE)).await
    }

    /// The session is no longer valid, and others may have its jobs: its work is stopped. Whether its outcomes still count is for
    /// the store to say.
    async fn stop_lost(
        self,
        dispatched: Option<Result<Result<usize, Error>, TaskFailed>>,
        shutdown: &Shutdown,
    ) -> Result<After, Error> {
        let drained = self.stop_work_at(ready(())).await;
        // One of these may be why the session is lost: its panic is logged where it was caught, and the next life begins
        // without it.
        let _ = self.heart.await;
        let _ = self.listener.await;
        let _ = self.watcher.await;
        let dispatched = match dispatched {
            Some(ended) => ended,
            None => self.dispatcher.await,
        };
        if shutdown.is_draining() || !matches!(dispatched, Ok(Ok(_))) {
            let drained = self.ending.at_once(drained).await;
            dispatched??;
            return Ok(After::Drained(drained));
        }
        Ok(After::Lost(Box::new(self.ending), drained))
    }
}
