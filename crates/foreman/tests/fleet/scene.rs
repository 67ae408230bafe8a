//! A fleet on a database and a broker, and what may be done to its topics.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreman_client::Client;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use crate::broker::OwnTopics;
use crate::stage::binary::Said;
use crate::stage::{Allowed, Checker, Database, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, until};

pub struct Scene {
    pub database: Database,
    pub target: Target,
    pub fleet: Fleet,
    brokers: String,
    prefix: String,
    /// The last to go: processes that still run would create them again.
    topics: OwnTopics,
}

impl Scene {
    /// One API and one scheduler, and so many of those that Kafka stands between.
    pub async fn start(brokers: &str, relays: usize, workers: usize) -> Self {
        Self::start_with(brokers, relays, workers, &[]).await
    }

    pub async fn start_with(brokers: &str, relays: usize, workers: usize, variables: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("fleet.{}.{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (database, target) = (Database::fresh().await, Target::start().await);
        let mut all = vec![
            ("KAFKA_BROKERS", brokers),
            ("FOREMAN_KAFKA_TOPICS", prefix.as_str()),
            ("FOREMAN_KAFKA_GROUP", prefix.as_str()),
            ("FOREMAN_KAFKA_DELIVERY_TIMEOUT", "2s"),
            ("FOREMAN_KAFKA_UNANSWERED_AFTER", "4s"),
            ("FOREMAN_KAFKA_UNCLAIMED_AFTER", "4s"),
            ("FOREMAN_KAFKA_RECONCILE_EVERY", "200ms"),
            ("FOREMAN_KAFKA_CHECK_EVERY", "500ms"),
        ];
        all.extend(variables);
        let mut fleet = Fleet::new(&database, Pace::Quick, &all);
        for _ in 0..relays {
            fleet.add(Role::Relay, &[]).await;
        }
        fleet.start_plan(Plan { api: 1, worker: workers, scheduler: 1 }, &["--slots", "8"]).await;
        let topics = OwnTopics::of(brokers, &prefix);
        Self { database, target, fleet, brokers: brokers.into(), prefix, topics }
    }

    pub fn client(&self) -> Client {
        self.fleet.client()
    }

    pub fn load(&self, clients: usize, pause: Duration, mix: Mix) -> Load {
        Load::start(&self.fleet.addresses(), &self.target, clients, pause, mix)
    }

    /// The sum over all processes of a role.
    pub async fn metric(&self, role: Role, name: &str) -> f64 {
        let mut sum = 0.0;
        for process in self.fleet.of(role) {
            sum += process.metric(name).await.unwrap_or_default();
        }
        sum
    }

    /// The same of one series, `name{label="value"}`.
    pub async fn series(&self, role: Role, series: &str) -> f64 {
        let mut sum = 0.0;
        for process in self.fleet.of(role) {
            sum += process.series(series).await.unwrap_or_default();
        }
        sum
    }

    /// Jobs that a message named, of all that the workers have started.
    pub async fn through_kafka(&self) -> f64 {
        self.series(Role::Worker, "foreman_jobs_claimed_total{named_by=\"broker\"}").await
    }

    /// Nothing waits to be announced, nothing that was announced waits, and no message is left to be settled.
    pub async fn until_drained(&self) {
        until("the backlog and the lag are gone", async || {
            for worker in self.fleet.of(Role::Worker) {
                // Not there until it is known.
                let lag = worker.metric("foreman_kafka_lag").await?;
                if lag > 0.0 {
                    return None;
                }
            }
            let mut left = 0.0;
            for name in ["foreman_relay_backlog", "foreman_relay_outstanding"] {
                left += self.metric(Role::Relay, name).await;
            }
            (left < 1.0).then_some(())
        })
        .await;
    }

    /// Work comes through Kafka, so what follows is about that.
    pub async fn until_it_flows(&self) {
        until("workers claim what was announced", async || {
            let url = self.target.url(crate::stage::Answer::Ok);
            let job = self.client().submit(&crate::stage::call(&url)).await.ok()?;
            let done = self.client().wait(&job.id, Some(Duration::from_secs(10))).await.ok()?;
            let sent = self.metric(Role::Relay, "foreman_relay_acknowledged_total").await;
            let taken = self.metric(Role::Worker, "foreman_kafka_partitions").await;
            // Every partition of the four topics is somebody's.
            (done.state.is_final() && sent > 0.0 && taken >= 48.0).then_some(())
        })
        .await;
        self.forget().await;
    }

    /// As if nothing had run yet: the checker knows only what a load has submitted.
    async fn forget(&self) {
        let filter = foreman_client::FilterDocument::default();
        for job in self.target.calls() {
            self.target.forget(&job.job);
        }
        until("what has run is deleted", async || {
            self.client().bulk_delete(filter.clone(), false).await.ok()?;
            let sql = self.database.connect("looker").await;
            let row = sql.query_one("SELECT count(*) FROM jobs", &[]).await.ok()?;
            (row.get::<_, i64>(0) == 0).then_some(())
        })
        .await;
    }

    pub async fn check(&self, load: Load, allowed: Allowed) {
        let tally = load.stop().await;
        let checker = Checker { fleet: &self.fleet, database: &self.database, target: &self.target };
        checker.check(&tally, allowed).await;
    }

    pub fn fault(&mut self, fault: Fault) {
        self.fleet.faults.count(fault);
    }

    fn client_settings(&self) -> ClientConfig {
        let mut settings = ClientConfig::new();
        settings.set("bootstrap.servers", &self.brokers);
        settings
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.client_settings().create().unwrap()
    }

    /// So many in each of them, as an operator adds them.
    pub async fn add_partitions(&self, wanted: usize) {
        let topics = self.topics.names();
        let more: Vec<NewPartitions<'_>> = topics.iter().map(|topic| NewPartitions::new(topic, wanted)).collect();
        let added = self.admin().create_partitions(&more, &AdminOptions::new()).await.unwrap();
        assert!(added.iter().all(Result::is_ok), "{added:?}");
    }

    /// How many messages there have ever been in a topic.
    pub fn sent(&self, lane: &str) -> i64 {
        let consumer: BaseConsumer = self.client_settings().create().unwrap();
        let (topic, patience) = (format!("{}.{lane}", self.prefix), Duration::from_secs(20));
        let metadata = consumer.fetch_metadata(Some(&topic), patience).unwrap();
        let partitions = metadata.topics()[0].partitions().iter();
        partitions.map(|partition| consumer.fetch_watermarks(&topic, partition.id(), patience).unwrap().1).sum()
    }

    /// What `foreman doctor` says of this fleet; what is given later counts.
    pub async fn doctor(&self, settings: &[(&str, &str)]) -> Said {
        let own = [("brokers", self.brokers.as_str()), ("topics", &self.prefix), ("group", &self.prefix)];
        let all = own.iter().chain(settings).map(|(name, value)| format!("kafka.{name}={value}"));
        let words: Vec<String> = all.flat_map(|setting| ["--set".to_owned(), setting]).collect();
        let words = ["doctor", "-o", "json"].into_iter().chain(words.iter().map(String::as_str));
        self.database.foreman(Path::new("/"), &words.collect::<Vec<_>>()).await
    }

    /// All of them, with everything in them.
    pub async fn delete_topics(&mut self) {
        let admin = self.admin();
        let topics = self.topics.names();
        let names = topics.each_ref().map(String::as_str);
        let deleted = admin.delete_topics(&names, &AdminOptions::new()).await.unwrap();
        assert!(deleted.iter().any(Result::is_ok), "{deleted:?}");
        self.fault(Fault::TopicsDeleted);
    }

    /// A message that no relay has sent.
    pub fn forge(&mut self, lane: &str, bytes: &[u8]) {
        self.forge_many(lane, bytes, 1);
    }

    pub fn forge_many(&mut self, lane: &str, bytes: &[u8], count: usize) {
        let producer: BaseProducer = self.client_settings().create().unwrap();
        let topic = format!("{}.{lane}", self.prefix);
        for _ in 0..count {
            producer.send(BaseRecord::<[u8], [u8]>::to(&topic).payload(bytes)).expect("there is room");
        }
        producer.flush(Duration::from_secs(20)).expect("the broker takes it");
        self.fault(Fault::MessageForged);
    }
}
