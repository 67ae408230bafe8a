//! "Look now", through Redis.
//!
//! A ring is heard in this process at once, and by the others as a message: the first at once and then, while rings go on, at
//! most one per 10 ms for each topic. While Redis does not take a message it goes the other way, through the database, at once;
//! every process listens to both. A process that cannot listen to Redis says so through the database, and the others then ring both
//! ways until it has been silent about it for a while. Redis keeps no message: a process that was away looks at everything once
//! when it notices and once when it listens again, and a poll backs up the rest, so that a ring that is lost costs at most a poll's
//! wait.
//!
//! The connection that listens is its own. One that says nothing is asked whether it still hears; one that does not answer is
//! replaced. A message of anybody who can write to Redis makes loops look, and no more than that: it carries no data.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{RungTopics, Topic, Wakeups};
use foreman_runtime::{Backoff, Debounce, Shutdown};
use futures_util::StreamExt as _;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::connect::LinkFault;
use crate::link::{Away, RedisLink, RedisUse};

/// The connection that listens is asked whether it does, this often.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// How long the answer may take: it stands behind every message that came before.
const LISTENER_LIMIT: Duration = Duration::from_secs(1);

/// How long a process that said that it hears nothing is believed. It says so again at each try to listen, every 2 s or so.
const BELIEVED: Duration = Duration::from_secs(15);

/// Rings here at once, and elsewhere soon.
#[derive(Clone)]
pub struct RedisWakeups {
    shared: Arc<CarriedWakeups>,
}

struct CarriedWakeups {
    link: RedisLink,
    local: Arc<LocalWakeups>,
    /// Who carries what Redis does not.
    instead: Arc<dyn Wakeups>,
    rung: RungTopics,
    wake: Notify,
    channel: String,
    /// Who sends, to be told from the others.
    sender: String,
    unheard: Mutex<Unheard>,
}

/// What other processes say of their listening, which comes through the database.
struct Unheard {
    said: watch::Receiver<u64>,
    believed_until: Instant,
}

/// Carries rings from and to the other processes, while it runs.
pub struct WakeupCarrier {
    shared: Arc<CarriedWakeups>,
}

impl RedisWakeups {
    /// `local` is what this process listens to, and `instead` rings it as well. The carrier must run for the others to hear
    /// and be heard.
    pub fn new(link: RedisLink, local: Arc<LocalWakeups>, instead: Arc<dyn Wakeups>) -> (WakeupCarrier, Self) {
        let unheard = Mutex::new(Unheard { said: local.listen(Topic::Unheard), believed_until: Instant::now() });
        let shared = Arc::new(CarriedWakeups {
            channel: link.key("wakeups"),
            link,
            local,
            instead,
            rung: RungTopics::default(),
            wake: Notify::new(),
            sender: format!("{:016x}", rand::random::<u64>()),
            unheard,
        });
        (WakeupCarrier { shared: Arc::clone(&shared) }, Self { shared })
    }
}

impl Wakeups for RedisWakeups {
    fn ring(&self, topic: Topic) {
        self.shared.local.ring(topic);
        self.shared.rung.add(topic);
        self.shared.wake.notify_one();
    }

    fn listen(&self, topic: Topic) -> watch::Receiver<u64> {
        self.shared.local.listen(topic)
    }
}

impl CarriedWakeups {
    /// What is to be sent now, in one message.
    async fn send(&self) {
        let rung = self.rung.take_next();
        if rung.is_empty() {
            return;
        }
        let names: Vec<&str> = rung.iter().map(|topic| topic.name()).collect();
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(&self.channel).arg(format!("{} {}", self.sender, names.join(" ")));
        let sent: Result<i64, Away> = self.link.ask(RedisUse::Wakeups, &publish).await;
        if sent.is_err() || self.is_anyone_cut_off() {
            // Those who hear it twice look once more.
            for topic in rung {
                self.instead.ring(topic);
            }
        }
    }

    /// A message: who sent it, and what was rung. A name that is not known comes from a later version, and is not for us.
    fn hear(&self, message: &str) {
        let mut words = message.split(' ');
        if words.next() == Some(self.sender.as_str()) {
            return;
        }
        // Whoever writes to Redis may write anything: no more than there are topics.
        for topic in words.take(2 * Topic::ALL.len()).filter_map(Topic::named) {
            self.local.ring(topic);
        }
    }

    /// Whether a process said lately that it hears nothing through Redis.
    fn is_anyone_cut_off(&self) -> bool {
        // Every line that holds the lock leaves it whole.
        let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if unheard.said.has_changed().unwrap_or(false) {
            unheard.said.mark_unchanged();
            unheard.believed_until = now + BELIEVED;
        }
        now < unheard.believed_until
    }
}

impl WakeupCarrier {
    /// Until draining.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::select! {
            biased;
            () = shutdown.draining() => {}
            () = self.send() => {}
            () = self.listen() => {}
        }
        while !self.shared.rung.is_empty() {
            self.shared.send().await;
        }
    }

    async fn send(&self) {
        let mut debounce = Debounce::of_wakeups();
        loop {
            self.shared.wake.notified().await;
            self.shared.send().await;
            debounce.pause(|| !self.shared.rung.is_empty()).await;
            if !self.shared.rung.is_empty() {
                self.shared.wake.notify_one();
            }
        }
    }

    async fn listen(&self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        let mut is_up = self.shared.link.watch();
        loop {
            let ended = self.listen_once(&mut backoff).await;
            if backoff.failures() == 0 {
                warn!("not receiving wake-ups through Redis until it answers again: {ended}");
            }
            self.shared.instead.ring(Topic::Unheard);
            let (is_first, pause) = (backoff.failures() == 0, backoff.next());
            // When the link is found again, there is somebody to listen to.
            is_up.mark_unchanged();
            tokio::select! {
                () = sleep(pause) => {}
                _ = is_up.wait_for(|is_up| *is_up), if !*self.shared.link.watch().borrow() => {}
            }
            if is_first {
                // What was rung before the others knew.
                self.shared.local.ring_all();
            }
        }
    }

    /// Until the connection is lost, and why it was.
    async fn listen_once(&self, backoff: &mut Backoff) -> LinkFault {
        let pubsub = match self.shared.link.dialer().subscribe(&self.shared.channel).await {
            Ok(pubsub) => pubsub,
            Err(fault) => return fault,
        };
        backoff.reset();
        // Whatever was rung while nobody listened.
        self.shared.local.ring_all();
        let (mut ask, mut messages) = pubsub.split();
        let hear = async {
            while let Some(message) = messages.next().await {
                if let Ok(text) = std::str::from_utf8(message.get_payload_bytes()) {
                    self.shared.hear(text);
                }
            }
            LinkFault::Closed
        };
        let ask = async {
            loop {
                sleep(ASKED_EVERY).await;
                match timeout(LISTENER_LIMIT, ask.ping::<redis::Value>()).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return LinkFault::Redis(error),
                    Err(_) => return LinkFault::Late(LISTENER_LIMIT),
                }
            }
        };
        tokio::select! {
            fault = hear => fault,
            fault = ask => fault,
        }
    }
}
