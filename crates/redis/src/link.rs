//! The one way to Redis, and the circuit in it.
//!
//! ```text
//!              an error of the connection, or LATE in a row without an answer
//!   up: asked, with a limit ────────────────────────────────────────▶ away: refused at once
//!         ▲                                                              │
//!         └────────── connected, and a write was answered in time ◀──────┘ a try, with growing waits
//! ```
//!
//! Whoever asks waits for `call_timeout` at most, and while Redis is away not at all: so a Redis that takes connections and
//! never answers costs a few requests that long, and then nobody. What was sent and not answered may have been done.
//!
//! The [`LinkKeeper`] connects, again and again; it also asks once in a while when nobody else does, so that what probes and
//! metrics say is true without load. Each try is a write, for a replica, a full server and one that still loads answer to a
//! ping as if nothing were wrong.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_runtime::{Backoff, Shutdown};
use redis::{Cmd, FromRedisValue, ToRedisArgs};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::config::{Config, InvalidConfig};
use crate::connect::{Connection, Dialer, LinkFault};
use crate::script::Lua;

/// So many answers in a row may be late or errors before nobody waits for one any more.
const LATE: u32 = 3;

/// When nobody asks for so long, the keeper does.
const QUIET: Duration = Duration::from_secs(1);

/// What Redis is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedisUse {
    Limits,
    Wakeups,
    Leadership,
    /// The keeper's own.
    Probe,
}

impl RedisUse {
    pub const ALL: [RedisUse; 4] = [RedisUse::Limits, RedisUse::Wakeups, RedisUse::Leadership, RedisUse::Probe];

    pub fn as_str(self) -> &'static str {
        match self {
            RedisUse::Limits => "limits",
            RedisUse::Wakeups => "wakeups",
            RedisUse::Leadership => "leadership",
            RedisUse::Probe => "probe",
        }
    }
}

/// Is told of every call.
pub trait RedisObserver: Send + Sync {
    /// Redis answered after so long.
    fn answered(&self, what: RedisUse, took: Duration);

    /// It did not, and whoever asked did without.
    fn fell_back(&self, what: RedisUse);
}

/// Redis does not answer, or not in time. Whoever asked does without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Redis does not answer")]
pub struct Away;

/// How the link is.
#[derive(Clone, Debug)]
pub struct LinkStatus {
    pub is_up: bool,
    pub since: Instant,
    /// Why it is not up.
    pub why: Option<String>,
}

/// Asks Redis. Clones share one connection.
#[derive(Clone)]
pub struct RedisLink {
    shared: Arc<LinkState>,
}

struct LinkState {
    dialer: Dialer,
    call_timeout: Duration,
    retry: Duration,
    prefix: String,
    condition: Mutex<LinkCondition>,
    /// Answers in a row that were none.
    late: AtomicU32,
    lost: Notify,
    is_up: watch::Sender<bool>,
    observer: Arc<dyn RedisObserver>,
}

enum LinkCondition {
    Up { connection: Connection, number: u64, since: Instant },
    Away { why: String, number: u64, since: Instant },
}

/// Connects, and again whenever the connection is lost, while it runs.
pub struct LinkKeeper {
    link: RedisLink,
}

impl RedisLink {
    /// Nothing is sent before the keeper runs.
    pub fn new(config: &Config, observer: Arc<dyn RedisObserver>) -> Result<(LinkKeeper, Self), InvalidConfig> {
        let shared = Arc::new(LinkState {
            dialer: Dialer::new(config)?,
            call_timeout: config.call_timeout,
            retry: config.retry,
            prefix: config.prefix.clone(),
            condition: Mutex::new(LinkCondition::Away {
                why: "not connected yet".into(),
                number: 0,
                since: Instant::now(),
            }),
            late: AtomicU32::new(0),
            lost: Notify::new(),
            is_up: watch::Sender::new(false),
            observer,
        });
        let link = Self { shared };
        Ok((LinkKeeper { link: link.clone() }, link))
    }

    pub fn status(&self) -> LinkStatus {
        match &*self.condition() {
            LinkCondition::Up { since, .. } => LinkStatus { is_up: true, since: *since, why: None },
            LinkCondition::Away { why, since, .. } => {
                LinkStatus { is_up: false, since: *since, why: Some(why.clone()) }
            }
        }
    }

    /// Changes whenever Redis is lost or found.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.shared.is_up.subscribe()
    }

    /// The name of a key or a channel of ours.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.shared.prefix)
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        &self.shared.dialer
    }

    /// Asks, and waits for the answer for as long as an answer may take.
    pub(crate) async fn ask<T: FromRedisValue>(&self, what: RedisUse, command: &Cmd) -> Result<T, Away> {
        let answer = match self.connection() {
            Some((connection, number)) => self.ask_on(what, command, connection, number).await,
            None => Err(Away),
        };
        if answer.is_err() {
            self.shared.observer.fell_back(what);
        }
        answer
    }

    /// Runs a script on one key.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        what: RedisUse,
        script: &Lua,
        key: &str,
        args: &[impl ToRedisArgs],
    ) -> Result<T, Away> {
        let answer = match self.connection() {
            Some((connection, number)) => {
                let known = self.answer_of(what, &script.call(key, args), connection.clone()).await;
                match known {
                    Err(LinkFault::Redis(error)) if is_unknown_script(&error) => {
                        self.ask_on(what, &script.teach(key, args), connection, number).await
                    }
                    known => self.judge(known, number),
                }
            }
            None => Err(Away),
        };
        if answer.is_err() {
            self.shared.observer.fell_back(what);
        }
        answer
    }

    async fn ask_on<T: FromRedisValue>(
        &self,
        what: RedisUse,
        command: &Cmd,
        connection: Connection,
        number: u64,
    ) -> Result<T, Away> {
        let answer = self.answer_of(what, command, connection).await;
        self.judge(answer, number)
    }

    async fn answer_of<T: FromRedisValue>(
        &self,
        what: RedisUse,
        command: &Cmd,
        mut connection: Connection,
    ) -> Result<T, LinkFault> {
        let (asked, limit) = (Instant::now(), self.shared.call_timeout);
        let answer = timeout(limit, command.query_async::<T>(&mut connection)).await;
        let answer = answer.map_err(|_| LinkFault::Late(limit))?.map_err(LinkFault::Redis);
        if answer.is_ok() {
            self.shared.observer.answered(what, asked.elapsed());
        }
        answer
    }

    /// What follows for those who ask next.
    fn judge<T>(&self, answer: Result<T, LinkFault>, number: u64) -> Result<T, Away> {
        match answer {
            Ok(answer) => {
                self.shared.late.store(0, Ordering::Relaxed);
                Ok(answer)
            }
            Err(fault) => {
                debug!("Redis did not answer: {fault}");
                let late = self.shared.late.fetch_add(1, Ordering::Relaxed) + 1;
                if late >= LATE || is_of_the_connection(&fault) {
                    self.lose(number, &fault);
                }
                Err(Away)
            }
        }
    }

    fn connection(&self) -> Option<(Connection, u64)> {
        match &*self.condition() {
            LinkCondition::Up { connection, number, .. } => Some((connection.clone(), *number)),
            LinkCondition::Away { .. } => None,
        }
    }

    /// That connection is given up, with everything that waits on it. Of many who find out only the first does.
    fn lose(&self, number: u64, fault: &LinkFault) {
        {
            let mut condition = self.condition();
            match &*condition {
                LinkCondition::Up { number: current, .. } if *current == number => {}
                _ => return,
            }
            *condition = LinkCondition::Away { why: fault.to_string(), number, since: Instant::now() };
        }
        warn!("Redis does not answer, going on without it: {fault}");
        self.shared.is_up.send_replace(false);
        self.shared.lost.notify_one();
    }

    fn found(&self, connection: Connection) {
        let now = Instant::now();
        let was_away = {
            let mut condition = self.condition();
            let (LinkCondition::Up { number, since, .. } | LinkCondition::Away { number, since, .. }) = &*condition;
            let (number, since) = (number + 1, *since);
            *condition = LinkCondition::Up { connection, number, since: now };
            now.duration_since(since)
        };
        self.shared.late.store(0, Ordering::Relaxed);
        info!("Redis answers; it did not for {}", foreman_core::duration::Span(was_away));
        self.shared.is_up.send_replace(true);
    }

    fn still_away(&self, fault: &LinkFault) {
        if let LinkCondition::Away { why, .. } = &mut *self.condition() {
            *why = fault.to_string();
        }
    }

    fn condition(&self) -> MutexGuard<'_, LinkCondition> {
        // Nothing in here can panic half way through a change.
        self.shared.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write that changes nothing for anybody.
    fn probe(&self) -> Cmd {
        let mut command = redis::cmd("SET");
        command.arg(self.key("probe")).arg(1).arg("PX").arg(1_000);
        command
    }
}

impl LinkKeeper {
    /// Until draining and beyond: whoever stops still rings. Aborting ends it.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::select! {
            biased;
            () = shutdown.aborting() => {}
            () = self.keep() => {}
        }
    }

    async fn keep(&self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), self.link.shared.retry);
        loop {
            if self.link.connection().is_some() {
                tokio::select! {
                    () = self.link.shared.lost.notified() => {}
                    () = sleep(QUIET) => {
                        let _: Result<String, Away> = self.link.ask(RedisUse::Probe, &self.link.probe()).await;
                    }
                }
                continue;
            }
            match self.try_once().await {
                Ok(connection) => {
                    backoff.reset();
                    self.link.found(connection);
                }
                Err(fault) => {
                    if backoff.failures() == 0 {
                        warn!("Redis cannot be reached, going on without it: {fault}");
                    }
                    self.link.still_away(&fault);
                    sleep(backoff.next()).await;
                }
            }
        }
    }

    /// A connection on which a write is answered in time.
    async fn try_once(&self) -> Result<Connection, LinkFault> {
        let connection = self.link.shared.dialer.connect().await?;
        let _: String = self.link.answer_of(RedisUse::Probe, &self.link.probe(), connection.clone()).await?;
        Ok(connection)
    }
}

fn is_unknown_script(error: &redis::RedisError) -> bool {
    error.kind() == redis::ErrorKind::Server(redis::ServerErrorKind::NoScript)
}

/// The next answer on it would be none either: it is gone, or leads to a server that must not or cannot be written.
fn is_of_the_connection(fault: &LinkFault) -> bool {
    use redis::ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, ReadOnly};
    let LinkFault::Redis(error) = fault else { return false };
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_unrecoverable_error()
        || matches!(error.kind(), redis::ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | ReadOnly))
}
