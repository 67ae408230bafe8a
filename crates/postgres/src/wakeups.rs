//! "Look now", to every process that shares the database.
//!
//! A ring is heard in this process at once, and by the others through NOTIFY: after the commit it tells of, on a connection of
//! its own, the first at once and then, while rings go on, at most one message per 10 ms with all that was rung meanwhile. That the
//! log has grown is told one message after a job that fell due. (NOTIFY
//! inside the transactions themselves takes a lock of the whole server at every commit, which cost two thirds of the throughput.)
//!
//! Rings are hints: one that is lost, because its process died, costs a poll's wait and nothing else. What could not be sent is
//! sent when the database answers again, and whoever was away hears every bell once when it is back. One's own messages are told
//! by their sender and not heard twice.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{RungTopics, StoreError, Topic, Wakeups};
use foreman_runtime::{Backoff, Debounce, Shutdown};
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::{debug, warn};

use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError, Remedy};
use crate::tls;

/// A connection that says nothing is asked whether it still hears, once in so many times as long as an answer may take.
const QUIET: u32 = 6;

/// Rings here at once, and elsewhere soon.
#[derive(Clone)]
pub struct PgWakeups {
    shared: Arc<SharedWakeups>,
}

struct SharedWakeups {
    local: Arc<LocalWakeups>,
    rung: RungTopics,
    wake: Notify,
    pool: Pool,
    channel: String,
    /// Who sends, to be told from the others.
    sender: String,
    /// How long an answer of the server may take. The keepalive of the network tells of a machine that is gone, not of a proxy or
    /// a server that takes what we send and never answers.
    limit: Duration,
}

/// Carries rings from and to the other processes, while it runs.
pub struct Bell {
    shared: Arc<SharedWakeups>,
    address: tokio_postgres::Config,
    tls: MakeRustlsConnect,
    /// How old the connection that listens may become.
    oldest: Duration,
}

impl PgWakeups {
    /// The bell must run for the others to hear and be heard.
    pub fn new(config: &Config) -> Result<(Bell, Self), OpenError> {
        connection::check_schema(&config.schema)?;
        let shared = Arc::new(SharedWakeups {
            local: Arc::new(LocalWakeups::new()),
            rung: RungTopics::default(),
            wake: Notify::new(),
            pool: connection::direct_pool(config)?,
            channel: channel(&config.schema),
            sender: format!("{:016x}", rand::random::<u64>()),
            limit: config.connect_timeout,
        });
        let bell = Bell {
            shared: Arc::clone(&shared),
            address: connection::direct(config)?,
            tls: tls::connector(config)?,
            oldest: connection::oldest(config),
        };
        Ok((bell, Self { shared }))
    }

    /// What this process hears: for whoever carries rings in another way as well.
    pub fn local(&self) -> Arc<LocalWakeups> {
        Arc::clone(&self.shared.local)
    }

    /// Sends what was rung last, when the bell runs no more: what a process hands back as it stops is picked up at once.
    pub async fn flush(&self) {
        self.shared.flush().await;
    }
}

impl Wakeups for PgWakeups {
    fn ring(&self, topic: Topic) {
        self.shared.local.ring(topic);
        self.shared.rung.add(topic);
        self.shared.wake.notify_one();
    }

    fn listen(&self, topic: Topic) -> watch::Receiver<u64> {
        self.shared.local.listen(topic)
    }
}

/// Where the messages of a schema are heard.
pub(crate) fn channel(schema: &str) -> String {
    format!("foreman_{schema}")
}

/// A message that no process takes for its own.
pub(crate) fn message(topic: Topic) -> String {
    format!("- {}", topic.name())
}

impl SharedWakeups {
    /// All that is left.
    async fn flush(&self) {
        while !self.rung.is_empty() && self.send().await {}
    }

    /// One message for each topic that is to be sent now.
    async fn send(&self) -> bool {
        let rung = self.rung.take_next();
        let text: Vec<String> =
            rung.iter().map(|topic| format!("NOTIFY {}, '{} {}'", self.channel, self.sender, topic.name())).collect();
        if text.is_empty() {
            return true;
        }
        match self.say(&format!("SET LOCAL synchronous_commit = off; {}", text.join("; "))).await {
            Ok(()) => true,
            Err(error) => {
                debug!("could not wake other processes yet: {error}");
                for topic in rung {
                    self.rung.add(topic);
                }
                self.wake.notify_one();
                false
            }
        }
    }

    /// Not waiting for the disk, for which there is nothing: NOTIFY is heard only after its commit.
    async fn say(&self, text: &str) -> Result<(), StoreError> {
        let connection = self.pool.get().await.map_err(|error| connection::unavailable(&error))?;
        let fault = match timeout(self.limit, connection.batch_execute(text)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => Fault::from(error),
            Err(_) => {
                // It would not answer the next one either.
                drop(Object::take(connection));
                return Err(no_answer());
            }
        };
        if fault.remedy() == Remedy::Elsewhere {
            connection::discard(connection);
        }
        Err(fault.into())
    }

    /// A message: who sent it, and what was rung. A name that is not known comes from a later version, and is not for us.
    fn hear(&self, payload: &str) {
        let Some((sender, name)) = payload.split_once(' ') else { return };
        if sender == self.sender {
            return;
        }
        if let Some(topic) = Topic::named(name) {
            self.local.ring(topic);
        }
    }
}

impl Bell {
    /// Until draining.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::select! {
            biased;
            () = shutdown.draining() => {}
            () = self.send() => {}
            () = self.listen() => {}
        }
        self.shared.flush().await;
    }

    async fn send(&self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        // To connect takes longer than all the rest of a ring: not while somebody waits for the first one.
        drop(self.shared.pool.get().await);
        let mut debounce = Debounce::of_wakeups();
        loop {
            self.shared.wake.notified().await;
            if self.shared.send().await {
                backoff.reset();
                debounce.pause(|| !self.shared.rung.is_empty()).await;
                if !self.shared.rung.is_empty() {
                    self.shared.wake.notify_one();
                }
            } else {
                sleep(backoff.next()).await;
            }
        }
    }

    async fn listen(&self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        loop {
            let Some(ended) = self.listen_once(&mut backoff).await else { continue };
            if backoff.failures() == 0 {
                warn!("not receiving wake-ups from other processes until the database responds again: {ended}");
            }
            sleep(backoff.next()).await;
        }
    }

    /// Until the connection is lost, and why it was; `None`: it is old enough to be replaced.
    async fn listen_once(&self, backoff: &mut Backoff) -> Option<StoreError> {
        let limit = self.shared.limit;
        let (client, mut connection) = match timeout(limit, self.address.connect(self.tls.clone())).await {
            Ok(Ok(pair)) => pair,
            Ok(Err(error)) => return Some(Fault::from(error).into()),
            Err(_) => return Some(no_answer()),
        };
        let mut messages = stream::poll_fn(move |cx| connection.poll_message(cx));
        let hear = async {
            loop {
                match messages.next().await {
                    Some(Ok(AsyncMessage::Notification(said))) => self.shared.hear(said.payload()),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Fault::from(error).into(),
                    None => return StoreError::Unavailable("the connection was closed".into()),
                }
            }
        };
        let ask = async {
            let mut text = format!("LISTEN {}", self.shared.channel);
            loop {
                match timeout(limit, client.batch_execute(&text)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return Fault::from(error).into(),
                    Err(_) => return no_answer(),
                }
                if !text.is_empty() {
                    backoff.reset();
                    // Whatever was rung while nobody listened.
                    self.shared.local.ring_all();
                    text.clear();
                }
                sleep(limit * QUIET).await;
            }
        };
        tokio::select! {
            error = hear => Some(error),
            error = ask => Some(error),
            () = sleep(self.oldest) => None,
        }
    }
}

fn no_answer() -> StoreError {
    StoreError::Unavailable("the database does not answer".into())
}
