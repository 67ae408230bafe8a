//! Takes messages of one topic out of Kafka and puts them into the inbox.
//!
//! It is a thread, because librdkafka wants to be asked all the time: whoever does not ask for longer than `max.poll.interval.ms` is
//! taken out of the group without a word. So nothing here waits for anything else. When enough messages wait in the inbox the
//! partitions are paused, and it goes on asking.
//!
//! Offsets are committed behind what is settled, never ahead. On a rebalance, what is settled is committed before partitions go, and
//! what was not offered is let go; their next owner has it delivered. A consumer that cannot go on is closed and made anew.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use foreman_runtime::Backoff;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{ClientConfig, ClientContext, Message, Offset, TopicPartitionList};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::client::{Ears, millis, settings};
use crate::config::{Config, GroupProtocol};
use crate::error::Error;
use crate::feed::Arrivals;
use crate::message;
use crate::parking::parked;
use crate::topics::TopicKind;

/// So long one question waits for a message. What the dispatcher settled and made room for is looked at in between.
const ASK: Duration = Duration::from_millis(100);

/// So many messages are taken before anything else is looked at.
const AT_ONCE: usize = 256;

/// So long the last commit may take when it is closed.
const LAST_COMMIT: Duration = Duration::from_secs(2);

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
    Again(String),
}

impl Fetch {
    pub fn new(config: Arc<Config>, kind: TopicKind, arrivals: Arc<Arrivals>) -> Self {
        let topic = config.topic(kind);
        let is_classic = config.protocol == GroupProtocol::Classic;
        Self { config, kind, topic, arrivals, is_classic, is_nameless: false, unheard: (0, 2) }
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
                End::Again(why) => warn!("making the consumer of {} again: {why}", self.topic),
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
        let context = FetchContext::new(self.kind, self.topic.clone(), Arc::clone(&self.arrivals));
        let consumer: BaseConsumer<FetchContext> =
            match FromClientConfigAndContext::from_config_and_context(&self.settings(), context) {
                Ok(consumer) => consumer,
                Err(error) => return End::Again(error.to_string()),
            };
        if let Err(error) = consumer.subscribe(&[&self.topic]) {
            return End::Again(error.to_string());
        }
        let mut commit_at = Instant::now() + self.config.commit_every;
        let mut check_at = Instant::now() + self.config.check_every;
        let mut heard = 0;
        let end = loop {
            if !matches!(stop.try_recv(), Err(TryRecvError::Empty)) {
                break End::Stopped;
            }
            self.pause_or_resume(&consumer);
            let now = Instant::now();
            if now >= commit_at {
                commit_at = now + self.config.commit_every;
                commit(&consumer, self.kind, &self.arrivals);
            }
            if now >= check_at {
                check_at = now + self.config.check_every;
                if let Some(end) = self.look_at_lag(&consumer, std::mem::take(&mut heard)) {
                    break end;
                }
            }
            match self.take(&consumer) {
                Ok(count) => heard += count,
                Err(error) => {
                    if let Some(end) = self.judge(&consumer, &error) {
                        break end;
                    }
                }
            }
        };
        self.leave(consumer);
        end
    }

    fn settings(&self) -> ClientConfig {
        let config = &self.config;
        let mut client = settings(config);
        client.set("group.id", config.group_of(self.kind));
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

    /// What is left to settle of our partitions. A consumer that hears nothing although there is something to hear is made anew:
    /// librdkafka has had such days.
    fn look_at_lag(&mut self, consumer: &BaseConsumer<FetchContext>, heard: usize) -> Option<End> {
        let lag = match self.lag(consumer) {
            Ok(lag) => lag,
            Err(error) => {
                debug!("could not ask for the lag of {}: {error}", self.topic);
                self.arrivals.health.fetch(self.kind, |state| state.lag = None);
                return None;
            }
        };
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

    fn lag(&self, consumer: &BaseConsumer<FetchContext>) -> KafkaResult<TopicLag> {
        let partitions = self.arrivals.inbox().partitions(self.kind);
        let mut lag = TopicLag { unsettled: 0, unheard: 0 };
        if partitions.is_empty() {
            return Ok(lag);
        }
        let timeout = self.config.request_timeout.min(Duration::from_secs(1));
        let mut asked = TopicPartitionList::with_capacity(partitions.len());
        for partition in &partitions {
            asked.add_partition(&self.topic, *partition);
        }
        let committed = consumer.committed_offsets(asked.clone(), timeout)?;
        asked.set_all_offsets(Offset::End)?;
        let ends = consumer.offsets_for_times(asked, timeout)?;
        for end in ends.elements() {
            let Offset::Offset(end_offset) = end.offset() else { continue };
            let found = self.arrivals.inbox().positions(self.kind, end.partition());
            let begins_at = || committed.find_partition(&self.topic, end.partition()).map(|it| it.offset());
            let (next, position) = if let Some(positions) = found {
                positions
            } else if let Some(Offset::Offset(offset)) = begins_at() {
                (offset, offset)
            } else {
                let (low, _) = consumer.fetch_watermarks(&self.topic, end.partition(), timeout)?;
                (low, low)
            };
            lag.unsettled += (end_offset - position).max(0) as u64;
            lag.unheard += (end_offset - next).max(0) as u64;
        }
        Ok(lag)
    }

    /// What follows from an error: nothing, for the client goes on by itself; or the consumer is made anew.
    fn judge(&mut self, consumer: &BaseConsumer<FetchContext>, error: &KafkaError) -> Option<End> {
        if let Some((code, reason)) = consumer.client().fatal_error() {
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

    /// Commits what is settled, waits for that a little, and leaves the group.
    fn leave(&self, consumer: BaseConsumer<FetchContext>) {
        if let Ok(all) = consumer.assignment() {
            // What arrives from now on would only be let go again.
            let _ = consumer.pause(&all);
        }
        commit(&consumer, self.kind, &self.arrivals);
        let give_up = Instant::now() + LAST_COMMIT;
        while consumer.context().commits.load(Ordering::Acquire) > 0 && Instant::now() < give_up {
            // A message that was on its way is let go: its offset is not committed.
            drop(consumer.poll(Duration::from_millis(20)));
        }
        // Leaves the group; what it had is revoked on the way.
        drop(consumer);
        let partitions = self.arrivals.inbox().partitions(self.kind);
        self.arrivals.change(|inbox| inbox.revoked(self.kind, &partitions));
        self.arrivals.health.fetch(self.kind, |state| *state = crate::health::FetchState::default());
    }
}

struct TopicLag {
    /// Messages that are not settled, and those of them that have not arrived.
    unsettled: u64,
    unheard: u64,
}

/// Commits without waiting. Kafka answers in the order in which it is asked, so this never moves an offset back.
fn commit(consumer: &BaseConsumer<FetchContext>, kind: TopicKind, arrivals: &Arrivals) {
    let commits = arrivals.inbox().commits(kind);
    if commits.is_empty() {
        return;
    }
    let mut list = TopicPartitionList::with_capacity(commits.len());
    let topic = &consumer.context().topic;
    for (partition, offset) in commits {
        if list.add_partition_offset(topic, partition, Offset::Offset(offset)).is_err() {
            debug!("offset {offset} cannot be committed");
        }
    }
    match consumer.commit(&list, CommitMode::Async) {
        Ok(()) => {
            consumer.context().commits.fetch_add(1, Ordering::AcqRel);
        }
        Err(error) => {
            debug!("could not commit offsets of {topic}: {error}");
            arrivals.inbox().uncommitted(kind);
        }
    }
}

/// Hears of rebalances and commits, in the thread that asks for messages.
struct FetchContext {
    ears: Ears,
    kind: TopicKind,
    topic: String,
    arrivals: Arc<Arrivals>,
    is_paused: AtomicBool,
    /// Commits that are not answered yet.
    commits: AtomicUsize,
}

impl FetchContext {
    fn new(kind: TopicKind, topic: String, arrivals: Arc<Arrivals>) -> Self {
        let ears = Ears { health: Arc::clone(&arrivals.health) };
        Self { ears, kind, topic, arrivals, is_paused: AtomicBool::new(false), commits: AtomicUsize::new(0) }
    }
}

impl ClientContext for FetchContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        Ears::log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.ears.error(&error, reason);
    }
}

impl ConsumerContext for FetchContext {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let numbers = |list: &TopicPartitionList| -> Vec<i32> {
            list.elements().iter().map(TopicPartitionListElem::partition).collect()
        };
        match rebalance {
            Rebalance::Assign(list) => {
                let partitions = numbers(list);
                debug!("assigned {partitions:?} of {}", self.kind.as_str());
                self.arrivals
                    .change(|inbox| partitions.iter().for_each(|partition| _ = inbox.assigned(self.kind, *partition)));
                if !partitions.is_empty() {
                    self.arrivals.health.rebalances.fetch_add(1, Ordering::Relaxed);
                }
            }
            Rebalance::Revoke(list) => {
                let partitions = numbers(list);
                debug!("revoked {partitions:?} of {}", self.kind.as_str());
                // Lost ones are another's already: what we say of them would be refused.
                if !consumer.assignment_lost() {
                    commit(consumer, self.kind, &self.arrivals);
                }
                self.arrivals.change(|inbox| inbox.revoked(self.kind, &partitions));
                if !partitions.is_empty() {
                    self.arrivals.health.rebalances.fetch_add(1, Ordering::Relaxed);
                }
            }
            Rebalance::Error(error) => info!("a rebalance of {} failed: {error}", self.kind.as_str()),
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(list) = rebalance
            && self.is_paused.load(Ordering::Relaxed)
            && consumer.pause(list).is_err()
        {
            // Then they are not, and are paused as the others when there is no room.
            self.is_paused.store(false, Ordering::Relaxed);
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        let _ = self.commits.fetch_update(Ordering::AcqRel, Ordering::Acquire, |commits| commits.checked_sub(1));
        if let Err(error) = result {
            debug!("could not commit offsets of {}: {error}", self.kind.as_str());
            self.arrivals.inbox().uncommitted(self.kind);
        }
    }
}
