//! How a server lives: starts, hears a signal, stops in good order, and leaves.
//!
//! ```text
//!   serving ─SIGTERM─▶ not ready ─▶ intake closed, work drains ─▶ abort: hand back ─▶ store closed ─▶ exit
//!                      │ not_ready  │ grace − reserve             │ reserve
//!   a second signal skips to the abort; a third one leaves on the spot
//! ```
//!
//! There is one deadline, `shutdown.grace` from the first signal, for requests, work and the store together. A thread of
//! its own watches over it: when something is wedged so badly that the runtime no longer turns, it ends the process a
//! second later. A process that is killed at any point of this loses nothing that was accepted: on SQLite the next one finds
//! the lock free, and returns what this one held; on Postgres the others notice that it is silent.
//!
//! A role whose database is away at the start waits for it, answers probes meanwhile, and can be stopped while it waits.
//!
//! SIGHUP, from a terminal that closes, and SIGINT mean the same as SIGTERM.

mod signals;
mod watchdog;

use std::net::SocketAddr;
use std::time::Duration;

use foreman_engine::worker::Drained;
use foreman_runtime::{Stop, Tasks};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use crate::compose::{self, Composed, PartResult, RunningPart};
use crate::config::Settings;
use crate::demo::Demo;
use crate::exit::ServerExit;
use crate::role::Role;
use signals::Signals;
pub use signals::interrupted;
use watchdog::Watchdog;

/// After the deadline, for whoever is about to leave anyway.
const LAST_SECOND: Duration = Duration::from_secs(1);

/// Runs a server until it is told to stop. `listening` is called once it serves.
pub async fn run(
    role: Role,
    settings: &Settings,
    demo: Option<Demo>,
    listening: impl FnOnce(SocketAddr),
) -> anyhow::Result<ServerExit> {
    // Before anything is opened: a signal during the start must not find the default handler.
    let mut signals = Signals::listen()?;
    let watchdog = Watchdog::start()?;
    let tasks = Tasks::new();
    let stop = Stop::new();
    let shutdown = stop.shutdown();
    let composing = compose::compose(role, settings, &tasks, &shutdown);
    let Some(mut server) = begin(composing, settings, &mut signals, &stop, &tasks).await? else {
        return Ok(ServerExit::Drained);
    };
    let mut parts = RunningParts::new(server.start(&shutdown, &tasks));
    info!(listen = %server.address, "serving as {role} on http://{}", server.address);
    listening(server.address);
    if let Some(demo) = demo {
        // No part: a server without its demo is still a server.
        let playing = demo.run(server.address, settings.clone(), shutdown.clone());
        drop(tasks.spawn("demo", playing));
    }

    let failure = tokio::select! {
        biased;
        // A signal came while the server was being made.
        () = shutdown.draining() => None,
        signal = signals.next() => {
            info!("received {signal}: stopping within {} s", settings.shutdown.grace.as_secs());
            None
        }
        name = parts.one_failed() => Some(anyhow::anyhow!("the {name} stopped unexpectedly; the server cannot run without it")),
    };
    let exit = Stopping { role, settings, server: &server, stop: &stop, tasks: &tasks, watchdog: &watchdog }
        .run(&mut parts, &mut signals)
        .await;
    watchdog.done();
    match failure {
        Some(failure) => Err(failure),
        None => Ok(exit),
    }
}

/// Makes the server. A signal meanwhile ends the wait for a database; what has been opened by then stops in good order.
/// `None`: it was told to stop before there was anything to stop.
async fn begin(
    composing: impl Future<Output = anyhow::Result<Option<Composed>>>,
    settings: &Settings,
    signals: &mut Signals,
    stop: &Stop,
    tasks: &Tasks,
) -> anyhow::Result<Option<Composed>> {
    let mut composing = std::pin::pin!(composing);
    let composed = tokio::select! {
        composed = &mut composing => composed,
        signal = signals.next() => {
            info!("received {signal}: stopping within {} s", settings.shutdown.grace.as_secs());
            stop.drain();
            composing.await
        }
    };
    if !matches!(composed, Ok(Some(_))) {
        // Whoever answered probes while we waited.
        stop.abort();
        let _ = tasks.wait(LAST_SECOND).await;
    }
    composed
}

/// The parts that run, and what became of their work.
struct RunningParts {
    running: FuturesUnordered<futures_util::future::BoxFuture<'static, (&'static str, PartResult)>>,
    drained: Drained,
    has_failed: bool,
}

impl RunningParts {
    fn new(running: Vec<RunningPart>) -> Self {
        let named = |RunningPart { name, task }| -> futures_util::future::BoxFuture<'static, _> {
            Box::pin(async move { (name, task.await) })
        };
        Self { running: running.into_iter().map(named).collect(), drained: Drained::default(), has_failed: false }
    }

    /// While nobody asked it to, a part ends only because it failed.
    async fn one_failed(&mut self) -> &'static str {
        match self.running.next().await {
            Some((name, ended)) => {
                self.note(name, ended);
                name
            }
            None => std::future::pending().await,
        }
    }

    /// Until the last part has ended. Safe to drop and call again.
    async fn all_ended(&mut self) {
        while let Some((name, ended)) = self.running.next().await {
            self.note(name, ended);
        }
    }

    fn note(&mut self, name: &'static str, ended: PartResult) {
        match ended {
            Ok(Ok(drained)) => {
                self.drained.finished += drained.finished;
                self.drained.handed_back += drained.handed_back;
                self.drained.abandoned += drained.abandoned;
            }
            Ok(Err(failure)) => {
                self.has_failed = true;
                error!(part = name, "the {name} failed: {failure:#}");
            }
            Err(failure) => {
                self.has_failed = true;
                error!(part = name, "the {name} failed: {failure}");
            }
        }
    }
}

struct Stopping<'a> {
    role: Role,
    settings: &'a Settings,
    server: &'a Composed,
    stop: &'a Stop,
    tasks: &'a Tasks,
    watchdog: &'a Watchdog,
}

/// Why a phase of the stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhaseEnd {
    Done,
    /// Its time has come.
    Late,
    /// A second signal.
    Hurried,
}

impl Stopping<'_> {
    async fn run(&self, parts: &mut RunningParts, signals: &mut Signals) -> ServerExit {
        let grace = self.settings.shutdown.grace;
        let deadline = Instant::now() + grace;
        self.watchdog.leave_within(grace + LAST_SECOND);

        self.server.readiness.set_draining();
        // No balancer stands before a role without an API: it hands over at once.
        let wait = if self.role.serves_the_api() { self.settings.shutdown.not_ready } else { Duration::ZERO };
        // However long balancers are given, what runs can still be handed back.
        let abort_at = deadline - self.settings.reserve();
        let not_ready = (Instant::now() + wait).min(abort_at);
        let mut over = until(std::future::pending(), not_ready, signals).await;

        self.server.close_intake();
        self.stop.drain();
        if over != PhaseEnd::Hurried {
            over = until(parts.all_ended(), abort_at, signals).await;
        }
        if over != PhaseEnd::Done {
            self.abort(over, parts, signals, deadline).await;
        }
        self.leave(over == PhaseEnd::Done, parts, deadline).await
    }

    /// Work in flight lets go and is handed back.
    async fn abort(&self, over: PhaseEnd, parts: &mut RunningParts, signals: &mut Signals, deadline: Instant) {
        let mut deadline = deadline;
        if over == PhaseEnd::Hurried {
            warn!("received a second signal: handing back running jobs");
            deadline = deadline.min(Instant::now() + self.settings.reserve());
            self.watchdog.leave_within(deadline.saturating_duration_since(Instant::now()) + LAST_SECOND);
        } else {
            warn!("the shutdown deadline is near: handing back running jobs");
        }
        self.stop.abort();
        if until(parts.all_ended(), deadline, signals).await == PhaseEnd::Hurried {
            watchdog::leave_now("received a third signal");
        }
    }

    /// Counts what is left, and closes the store behind everybody.
    async fn leave(&self, in_time: bool, parts: &RunningParts, deadline: Instant) -> ServerExit {
        self.server.store.hush();
        let left = deadline.saturating_duration_since(Instant::now());
        // The last connections and requests end within moments of their parts; past the deadline there is still the
        // watchdog's second.
        let still_running = self.tasks.wait(left.max(LAST_SECOND / 4)).await;
        if let Err(still_running) = &still_running {
            error!("still running at exit: {still_running}");
        }
        self.server.store.close().await;
        let Drained { finished, handed_back, abandoned } = parts.drained;
        let exit = if still_running.is_err() || abandoned > 0 || parts.has_failed {
            ServerExit::Wedged
        } else if in_time || handed_back == 0 {
            // What was claimed in the moment of the signal and never started has gone back too: that interrupts nothing.
            ServerExit::Drained
        } else {
            ServerExit::HandedBack
        };
        info!(finished, handed_back, abandoned, "stopped: {finished} jobs finished, {handed_back} handed back");
        exit
    }
}

/// Waits for `work` until `late`, or until a signal.
async fn until(work: impl Future<Output = ()>, late: Instant, signals: &mut Signals) -> PhaseEnd {
    tokio::select! {
        biased;
        () = work => PhaseEnd::Done,
        () = sleep_until(late) => PhaseEnd::Late,
        _ = signals.next() => PhaseEnd::Hurried,
    }
}
