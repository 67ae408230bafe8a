//! Takes messages of one topic out of Kafka and puts them into the inbox.
//!
//! It is a thread, because librdkafka wants to be asked all the time: a consumer that does not ask for longer than
//! `max.poll.interval.ms` is taken out of the group without a word. So nothing here waits for anything else. When enough
//! messages wait in the inbox the partitions are paused, and it goes on asking.
//!
//! Offsets are committed behind what is settled, never ahead. On a rebalance, what is settled is committed before partitions go, and
//! what was not offered is let go; their next owner has it delivered. A consumer that cannot go on is closed and replaced; so is one
//! that the brokers deny a right, for its partitions belong with a worker that has it.

mod context;
mod own_lag;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::Scope;
use std::time::Duration;

use foreman_runtime::Backoff;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::{ClientConfig, Message};
use tokio::time::Instant;
use tracing::{debug, warn};

use self::context::{FetchContext, commit};
use self::own_lag::OwnLag;
use crate::client::{millis, settings};
use crate::config::{Config, GroupProtocol};
use crate::error::Error;
use crate::feed::Arrivals;
use crate::message;
use crate::parking::parked;
use crate::right::{Right, lacking_to_consume};
use crate::topics::TopicKind;

/// So long one question waits for a message. What the dispatcher settled and made room for is looked at in between.
const ASK: Duration = Duration::from_millis(100);

/// So many messages are taken before anything else is looked at.
const AT_ONCE: usize = 256;

/// So long the last commit may take when it is closed.
const LAST_COMMIT: Duration = Duration::from_secs(2);

/// A consumer that has met no denial until its second look at the lag has all rights that it needs.
const LOOKS_WITH_RIGHTS: u32 = 2;

/// Between two tries to make a consumer, from this to that.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Ends its fetch when it is dropped.
pub(crate) struct FetchHandle(
    #[expect(dead_code, reason = "it says by being dropped what it has to say")] Sender<Infallible>,
);

pub(crate) struct Fetch {
    config: Arc<Config>,
    kind: TopicKind,
    topic: String,
    group: String,
    /// Those without which nothing is consumed.
    rights: [Right; 2],
    arrivals: Arc<Arrivals>,
    /// The brokers do not know the other group protocol.
    is_classic: bool,
    /// Another process has our static name.
    is_nameless: bool,
    /// Looks at the lag that found messages but none that arrived, one after another, and how many are too many.
    unheard: (u32, u32),
}

/// Why a consumer ended.
enum End {
    Stopped,
    /// Not before an operator has granted it.
    Denied(Right),
    Again(String),
}

impl Fetch {
    pub fn new(config: Arc<Config>, kind: TopicKind, arrivals: Arc<Arrivals>) -> Self {
        let (topic, group) = (config.topic(kind), config.group_of(kind));
        let rights = [Right::ReadGroup(group.clone()), Right::Read(topic.clone())];
        let is_classic = config.protocol == GroupProtocol::Classic;
        Self { config, kind, topic, group, rights, arrivals, is_classic, is_nameless: false, unheard: (0, 2) }
    }

    /// `alive` is dropped when it has ended.
    pub fn start(self, alive: tokio::sync::mpsc::Sender<Infallible>) -> Result<FetchHandle, Error> {
        let (handle, stop) = channel();
        let name = format!("kafka {}", self.kind.as_str());
        // Not a task: closing a consumer may hang as long as its broker does, and a runtime waits for its blocking tasks.
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let _alive = alive;
            self.run(&stop);
        });
        thread.map(|_| FetchHandle(handle)).map_err(|error| Error::Client(format!("no thread for it: {error}")))
    }

    fn run(mut self, stop: &Receiver<Infallible>) {
        let mut backoff = Backoff::new(AGAIN.0, AGAIN.1);
        loop {
            let began = Instant::now();
            match self.consume(stop) {
                End::Stopped => return,
                // Said once, and not at each try.
                End::Denied(right) => _ = self.arrivals.health.denied(right),
                End::Again(why) => warn!("replacing the consumer of {}: {why}", self.topic),
            }
            if began.elapsed() > AGAIN.1 {
                backoff.reset();
            }
            if !matches!(stop.recv_timeout(backoff.next()), Err(RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }

    fn consume(&mut self, stop: &Receiver<Infallible>) -> End {
        let context = FetchContext::new(self.kind, self.topic.clone(), self.group.clone(), Arc::clone(&self.arrivals));
        let consumer: BaseConsumer<FetchContext> =
            match FromClientConfigAndContext::from_config_and_context(&self.settings(), context) {
                Ok(consumer) => consumer,
                Err(error) => return End::Again(error.to_string()),
            };
        if let Err(error) = consumer.subscribe(&[&self.topic]) {
            return End::Again(error.to_string());
        }
        let end = std::thread::scope(|scope| {
            let end = self.fill_inbox(scope, &consumer, stop);
            self.commit_the_last(&consumer);
            end
        });
        self.leave(consumer);
        end
    }

    /// Until it is stopped, or the consumer cannot go on.
    fn fill_inbox<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        consumer: &'scope BaseConsumer<FetchContext>,
        stop: &Receiver<Infallible>,
    ) -> End {
        let mut commit_at = Instant::now() + self.config.commit_every;
        let mut check_at = Instant::now() + self.config.check_every;
        let (mut heard, mut looks) = (0, 0);
        let mut look: Option<Receiver<KafkaResult<OwnLag>>> = None;
        loop {
            if !matches!(stop.try_recv(), Err(TryRecvError::Empty)) {
                return End::Stopped;
            }
            self.pause_or_resume(consumer);
            let now = Instant::now();
            if now >= commit_at {
                commit_at = now + self.config.commit_every;
                commit(consumer, self.kind, &self.arrivals);
            }
            if now >= check_at && look.is_none() {
                check_at = now + self.config.check_every;
                look = own_lag::look(scope, consumer, self.kind, &self.topic, &self.arrivals);
            }
            if let Some(found) = look.as_ref().and_then(|look| look.try_recv().ok()) {
                (look, looks) = (None, looks + 1);
                if let Some(end) = self.looked(consumer, found, std::mem::take(&mut heard), looks) {
                    return end;
                }
            }
            match self.take(consumer) {
                Ok(count) => heard += count,
                Err(error) => {
                    if let Some(end) = self.judge(consumer, &error) {
                        return end;
                    }
                }
            }
        }
    }

    fn settings(&self) -> ClientConfig {
        let config = &self.config;
        let mut client = settings(config);
        client.set("group.id", &self.group);
        client.set("enable.auto.commit", "false");
        client.set("enable.auto.offset.store", "false");
        client.set("auto.offset.reset", "earliest");
        client.set("max.poll.interval.ms", millis(config.max_poll_interval));
        // What is fetched ahead of the inbox is lost when the topic is paused, and fetched again.
        client.set("queued.min.messages", config.lane_capacity.clamp(1, 100_000).to_string());
        client.set("queued.max.messages.kbytes", "4096");
        client.set("fetch.wait.max.ms", "500");
        // How long it rests when it has fetched that much. With the default of a second a worker would have no more than so many messages
        // of a partition in each second, and as long a wait whenever a topic was paused.
        client.set("fetch.queue.backoff.ms", "20");
        client.set("fetch.error.backoff.ms", "200");
        if self.is_classic {
            client.set("group.protocol", "classic");
            client.set("partition.assignment.strategy", "cooperative-sticky");
            client.set("session.timeout.ms", millis(config.session_timeout));
            client.set(
                "heartbeat.interval.ms",
                millis((config.session_timeout / 6).clamp(Duration::from_millis(100), Duration::from_secs(3))),
            );
        } else {
            client.set("group.protocol", "consumer");
        }
        if let Some(instance) = config.instance.as_ref().filter(|_| !self.is_nameless) {
            client.set("group.instance.id", format!("{instance}.{}", self.kind.as_str()));
        }
        client
    }

    /// Asks for a message, and then for those that are there already.
    fn take(&self, consumer: &BaseConsumer<FetchContext>) -> Result<usize, KafkaError> {
        let mut count = 0;
        let mut wait = ASK;
        while count < AT_ONCE {
            match consumer.poll(wait) {
                None => break,
                Some(Ok(message)) => self.put(&message),
                Some(Err(error)) => return Err(error),
            }
            count += 1;
            wait = Duration::ZERO;
            if self.arrivals.inbox().is_full(self.kind) {
                break;
            }
        }
        Ok(count)
    }

    fn put(&self, message: &BorrowedMessage<'_>) {
        self.arrivals.health.granted(&self.rights);
        let (partition, offset) = (message.partition(), message.offset());
        let is_ours = match message::decode(message.payload().unwrap_or_default()) {
            Ok(announced) => self.arrivals.change(|inbox| inbox.received(self.kind, partition, offset, announced)),
            Err(why) => {
                warn!("cannot read the message at offset {offset} of {}, partition {partition}: {why}", self.topic);
                self.arrivals.health.undecodable.fetch_add(1, Ordering::Relaxed);
                let is_ours = self.arrivals.change(|inbox| inbox.garbled(self.kind, parked(message, &why)));
                self.arrivals.ring_unreadable();
                is_ours
            }
        };
        if !is_ours {
            debug!("a message of {}, partition {partition}, came after the partition had gone", self.topic);
        }
    }

    fn pause_or_resume(&self, consumer: &BaseConsumer<FetchContext>) {
        let (is_full, has_room, waiting, mine) = {
            let inbox = self.arrivals.inbox();
            (
                inbox.is_full(self.kind),
                inbox.has_room(self.kind),
                inbox.waiting(self.kind),
                inbox.partitions(self.kind).len(),
            )
        };
        let context = consumer.context();
        let is_paused = context.is_paused.load(Ordering::Relaxed);
        let wanted = if is_paused { !has_room } else { is_full };
        if wanted != is_paused {
            let done =
                consumer.assignment().and_then(|all| if wanted { consumer.pause(&all) } else { consumer.resume(&all) });
            match done {
                Ok(()) => context.is_paused.store(wanted, Ordering::Relaxed),
                Err(error) => debug!("could not pause or resume {}: {error}", self.topic),
            }
        }
        self.arrivals.health.fetch(self.kind, |state| {
            state.assigned = mine;
            state.paused = if context.is_paused.load(Ordering::Relaxed) { mine } else { 0 };
            state.waiting = waiting;
        });
    }

    /// What follows from a look at our partitions. A consumer that has received nothing although messages wait, in two looks, is
    /// replaced: librdkafka can stall after its topic was deleted and created again.
    fn looked(
        &mut self,
        consumer: &BaseConsumer<FetchContext>,
        found: KafkaResult<OwnLag>,
        heard: usize,
        looks: u32,
    ) -> Option<End> {
        let lag = match found {
            Ok(lag) => lag,
            Err(error) => {
                debug!("could not ask for the lag of {}: {error}", self.topic);
                self.arrivals.health.fetch(self.kind, |state| state.lag = None);
                return None;
            }
        };
        if looks >= LOOKS_WITH_RIGHTS {
            self.arrivals.health.granted(&self.rights);
        }
        self.arrivals.health.fetch(self.kind, |state| state.lag = Some(lag.unsettled));
        let is_paused = consumer.context().is_paused.load(Ordering::Relaxed);
        if lag.unheard == 0 || heard > 0 || is_paused {
            self.unheard = if heard > 0 { (0, 2) } else { (0, self.unheard.1) };
            return None;
        }
        self.unheard.0 += 1;
        if self.unheard.0 < self.unheard.1 {
            return None;
        }
        // Where that does not help, it is done less and less often.
        self.unheard = (0, self.unheard.1.saturating_mul(2));
        Some(End::Again(format!("{} messages wait and none arrives", lag.unheard)))
    }

    /// What follows from an error: nothing, for the client goes on by itself; or the consumer is replaced.
    fn judge(&mut self, consumer: &BaseConsumer<FetchContext>, error: &KafkaError) -> Option<End> {
        let fatal = consumer.client().fatal_error();
        let code = fatal.as_ref().map(|(code, _)| *code).or_else(|| error.rdkafka_error_code());
        if let Some(right) = code.and_then(|code| lacking_to_consume(code, &self.topic, &self.group)) {
            return Some(End::Denied(right));
        }
        if let Some((code, reason)) = fatal {
            return Some(match code {
                RDKafkaErrorCode::UnsupportedVersion | RDKafkaErrorCode::UnsupportedFeature
                    if !self.is_classic && self.config.protocol == GroupProtocol::Auto =>
                {
                    self.is_classic = true;
                    End::Again(
                        "these brokers do not assign partitions (KIP-848), so the group does it among itself".into(),
                    )
                }
                RDKafkaErrorCode::FencedInstanceId | RDKafkaErrorCode::UnreleasedInstanceId if !self.is_nameless => {
                    self.is_nameless = true;
                    End::Again(
                        "another process uses the same instance name, or was killed a moment ago: joining without it"
                            .into(),
                    )
                }
                _ => End::Again(format!("{code}: {reason}")),
            });
        }
        match error.rdkafka_error_code() {
            // Deleted, or not created yet. The consumer finds it when it is there again.
            Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => {
                debug!("there is no topic {}", self.topic);
            }
            Some(RDKafkaErrorCode::PollExceeded) => {
                return Some(End::Again("this process stood still, and the group went on without it".into()));
            }
            Some(RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure) => {}
            _ => debug!("{}: {error}", self.topic),
        }
        None
    }

    /// Commits what is settled, and waits for that a little.
    fn commit_the_last(&self, consumer: &BaseConsumer<FetchContext>) {
        if let Ok(all) = consumer.assignment() {
            // What arrives from now on would only be let go again.
            let _ = consumer.pause(&all);
        }
        commit(consumer, self.kind, &self.arrivals);
        let give_up = Instant::now() + LAST_COMMIT;
        while consumer.context().commits.load(Ordering::Acquire) > 0 && Instant::now() < give_up {
            // A message that was on its way is let go: its offset is not committed.
            drop(consumer.poll(Duration::from_millis(20)));
        }
    }

    /// Leaves the group; what it had is revoked on the way.
    fn leave(&self, consumer: BaseConsumer<FetchContext>) {
        drop(consumer);
        let partitions = self.arrivals.inbox().partitions(self.kind);
        self.arrivals.change(|inbox| inbox.revoked(self.kind, &partitions));
        self.arrivals.health.fetch(self.kind, |state| *state = crate::health::FetchState::default());
    }
}
