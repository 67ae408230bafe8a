//! A fleet's Kafka as a test needs it: topics of its own, workers, messages, and a look at what the brokers say.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::transport::a_job;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{Announcement, Arrival, Feed, Offer, ParkedMessage, Publisher, StoreError};
use foreman_core::{JobId, Lane};
use foreman_kafka::{BrokerState, Config, Kafka, KafkaFeed, KafkaPublisher, Parking, TopicKind};
use foreman_runtime::{Stop, Tasks};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Headers as _;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Message as _, Offset, TopicPartitionList};
use tokio::time::{Instant, sleep, timeout};

use crate::broker::{OwnTopics, shared};

/// Generous: whatever happens at all happens much sooner.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Settings under which waits are short, with topics that no other test has.
pub fn config(brokers: &str, partitions: i32) -> Config {
    let own = JobId::fresh().0.simple().to_string();
    Config {
        topic_prefix: format!("test.{own}"),
        group: format!("test.{own}"),
        partitions,
        delivery_timeout: Duration::from_secs(8),
        session_timeout: Duration::from_secs(6),
        commit_every: Duration::from_millis(100),
        check_every: Duration::from_secs(1),
        request_timeout: Duration::from_secs(3),
        ..Config::at(brokers)
    }
}

/// One process of the fleet, as far as Kafka goes.
pub struct Site {
    pub config: Config,
    pub kafka: Kafka,
    pub tasks: Tasks,
    stop: Stop,
    topics: Option<OwnTopics>,
}

impl Site {
    /// With its topics there. On the shared broker they go with it.
    pub async fn of(config: Config) -> Self {
        let mut site = Self::bare(config);
        site.kafka.topics().ensure().await.expect("topics can be created");
        if site.config.brokers == shared() {
            site.topics = Some(OwnTopics::of(&site.config.brokers, &site.config.topic_prefix));
        }
        site
    }

    pub fn bare(config: Config) -> Self {
        let tasks = Tasks::new();
        let kafka = Kafka::new(config.clone(), tasks.clone()).expect("the settings are good");
        Self { config, kafka, tasks, stop: Stop::new(), topics: None }
    }

    /// Its topics are looked after from now on.
    pub fn keep_topics(&self) {
        drop(self.tasks.spawn("topic keeper", self.kafka.keeper().run(self.stop.shutdown())));
    }

    pub fn state(&self) -> BrokerState {
        self.kafka.health().state()
    }

    pub fn publisher(&self) -> KafkaPublisher {
        self.kafka.publisher().expect("a publisher can be made")
    }

    pub fn feed(&self, parking: &Arc<Drawer>) -> KafkaFeed {
        let parking: Arc<dyn Parking> = Arc::<Drawer>::clone(parking);
        self.kafka.feed(parking).expect("a feed can be made")
    }

    /// Waits until it has so many partitions of every topic.
    pub async fn has_partitions(&self, count: usize) {
        self.until("the partitions", |state| state.fetches.iter().all(|fetch| fetch.assigned == count)).await;
    }

    pub async fn until(&self, what: &str, is_so: impl Fn(&BrokerState) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(&self.state()) {
            assert!(Instant::now() < give_up, "waited in vain for {what}: {:#?}", self.state());
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn topic(&self, kind: TopicKind) -> String {
        self.config.topic(kind)
    }

    pub async fn delete_topics(&self) {
        let admin: AdminClient<DefaultClientContext> = self.client().create().expect("a client can be made");
        let names: Vec<String> = TopicKind::ALL.into_iter().map(|kind| self.topic(kind)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = AdminOptions::new().operation_timeout(Some(Duration::from_secs(10)));
        for deleted in admin.delete_topics(&names, &options).await.expect("the broker answers") {
            deleted.expect("the topic was there");
        }
    }

    /// Bytes that nobody of ours would send.
    pub fn send_bytes(&self, kind: TopicKind, partition: i32, messages: &[&[u8]]) {
        let producer: BaseProducer = self.client().create().expect("a client can be made");
        let topic = self.topic(kind);
        for bytes in messages {
            let record = BaseRecord::to(&topic).partition(partition).key("a key").payload(*bytes);
            producer.send(record).map_err(|(error, _)| error).expect("it has room");
        }
        producer.flush(Duration::from_secs(10)).expect("the broker takes them");
    }

    /// What any tool would see of the first message of a topic with one partition: its key and its headers.
    pub fn first_message(&self, kind: TopicKind) -> (String, Vec<(String, String)>) {
        let consumer: BaseConsumer = self.client().set("group.id", "a tool").create().expect("a client can be made");
        let mut from = TopicPartitionList::new();
        from.add_partition_offset(&self.topic(kind), 0, Offset::Beginning).expect("an offset");
        consumer.assign(&from).expect("it is no member of a group");
        let message = consumer.poll(PATIENCE).expect("a message in time").expect("the broker answers");
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
        let headers = headers.map(|header| (header.key.to_owned(), text(header.value))).collect();
        (text(message.key()), headers)
    }

    /// What is committed of a topic, partition by partition; 0 where nothing is.
    pub fn committed(&self, kind: TopicKind) -> Vec<i64> {
        // It asks for the group's offsets and is no member of it.
        let consumer: BaseConsumer =
            self.client().set("group.id", self.config.group_of(kind)).create().expect("a client can be made");
        let mut list = TopicPartitionList::new();
        list.add_partition_range(&self.topic(kind), 0, self.config.partitions - 1);
        let committed = consumer.committed_offsets(list, Duration::from_secs(10)).expect("the broker answers");
        let offset = |offset| if let Offset::Offset(offset) = offset { offset } else { 0 };
        committed.elements().iter().map(|it| offset(it.offset())).collect()
    }

    pub async fn until_committed(&self, kind: TopicKind, total: i64) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let committed = self.committed(kind);
            if committed.iter().sum::<i64>() == total {
                return;
            }
            assert!(Instant::now() < give_up, "{committed:?} of {total} is committed");
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn client(&self) -> ClientConfig {
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", &self.config.brokers);
        client
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.drain();
    }
}

/// Where messages are kept that cannot be read: the test's own drawer, which may be stuck.
#[derive(Default)]
pub struct Drawer {
    kept: Mutex<Vec<ParkedMessage>>,
    calls: AtomicUsize,
    /// So many calls fail first.
    stuck: usize,
}

impl Drawer {
    pub fn that_is_stuck_for(calls: usize) -> Arc<Self> {
        Arc::new(Self { stuck: calls, ..Self::default() })
    }

    pub fn kept(&self) -> Vec<ParkedMessage> {
        self.kept.lock().expect("nobody panicked with it").clone()
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Parking for Drawer {
    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError> {
        if self.calls.fetch_add(1, Ordering::SeqCst) < self.stuck {
            return Err(StoreError::Unavailable("the drawer is stuck".into()));
        }
        self.kept.lock().expect("nobody panicked with it").extend_from_slice(messages);
        Ok(())
    }
}

pub fn some_jobs(lane: Lane, count: usize) -> Vec<Announcement> {
    std::iter::repeat_with(|| a_job(lane)).take(count).collect()
}

pub fn ids(jobs: &[Announcement]) -> Vec<JobId> {
    let mut ids: Vec<JobId> = jobs.iter().map(|job| job.job).collect();
    ids.sort_unstable();
    ids
}

pub fn ids_of(arrivals: &[Arrival]) -> Vec<JobId> {
    let mut ids: Vec<JobId> = arrivals.iter().map(|arrival| arrival.job).collect();
    ids.sort_unstable();
    ids
}

pub async fn publish(publisher: &dyn Publisher, jobs: &[Announcement]) {
    for answer in publisher.publish(jobs).await {
        answer.expect("the broker takes it");
    }
}

pub fn offered(feed: &dyn Feed, limit: usize) -> Vec<Arrival> {
    match feed.offer(&LanePlan::strict(limit), limit) {
        Offer::Ids(arrivals) => arrivals,
        _ => Vec::new(),
    }
}

/// Takes until it has so many.
pub async fn take(feed: &dyn Feed, count: usize) -> Vec<Arrival> {
    let mut taken = Vec::new();
    let give_up = Instant::now() + PATIENCE;
    while taken.len() < count {
        assert!(Instant::now() < give_up, "{} of {count} arrived", taken.len());
        if timeout(Duration::from_millis(500), feed.arrived()).await.is_ok() {
            taken.extend(offered(feed, count - taken.len()));
        }
    }
    taken
}
