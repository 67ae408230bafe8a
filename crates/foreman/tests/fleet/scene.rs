//! A fleet on a database and a broker, and what may be done to its topics.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreman_client::Client;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use crate::stage::{Allowed, Checker, Database, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, until};

pub struct Scene {
    pub database: Database,
    pub target: Target,
    pub fleet: Fleet,
    brokers: String,
    prefix: String,
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
            ("FOREMAN_KAFKA_UNANSWERED_AFTER", "3s"),
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
        Self { database, target, fleet, brokers: brokers.into(), prefix }
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

    fn topics(&self) -> Vec<String> {
        ["high", "normal", "low", "retry"].iter().map(|lane| format!("{}.{lane}", self.prefix)).collect()
    }

    /// All of them, with everything in them.
    pub async fn delete_topics(&mut self) {
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &self.brokers).create().unwrap();
        let topics = self.topics();
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        let deleted = admin.delete_topics(&names, &AdminOptions::new()).await.unwrap();
        assert!(deleted.iter().any(Result::is_ok), "{deleted:?}");
        self.fault(Fault::TopicsDeleted);
    }

    /// A message that no relay has sent.
    pub fn forge(&mut self, lane: &str, bytes: &[u8]) {
        let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &self.brokers).create().unwrap();
        let topic = format!("{}.{lane}", self.prefix);
        producer.send(BaseRecord::<[u8], [u8]>::to(&topic).payload(bytes)).expect("there is room");
        producer.flush(Duration::from_secs(20)).expect("the broker takes it");
        self.fault(Fault::MessageForged);
    }
}
