//! The random histories of the store's promises, with Kafka between Postgres and those that claim.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::chaos::{Broker, Mood, history_over};
use foreman_conformance::{AnnounceSubject, Subject, TenancySubject};
use foreman_core::memory::{LocalWakeups, ManualClock};
use foreman_core::ports::{AnnounceStore, Store, Tenancy, Wakeups};
use foreman_core::{Clock, Timestamp};
use foreman_kafka::{Config, Kafka, ParkInStore};
use foreman_postgres::PostgresStore;
use foreman_runtime::Tasks;

use crate::broker::shared;
use crate::stage::{Database, torture};

/// A store in a database of its own, with its clock in the test's hands.
struct Team {
    store: PostgresStore,
    clock: Arc<ManualClock>,
    wakeups: Arc<LocalWakeups>,
}

impl Team {
    async fn new() -> Self {
        let database = Database::fresh().await;
        let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let config =
            foreman_postgres::Config { clock: Some(clock.clone()), ..foreman_postgres::Config::at(&database.url) };
        let store = PostgresStore::open(config, wakeups.clone()).await.unwrap();
        Self { store, clock, wakeups }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.store.close();
    }
}

#[async_trait]
impl Subject for Team {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn wakeups(&self) -> Arc<dyn Wakeups> {
        self.wakeups.clone()
    }

    async fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

impl TenancySubject for Team {
    fn tenancy(&self) -> Arc<dyn Tenancy> {
        Arc::new(self.store.clone())
    }
}

impl AnnounceSubject for Team {
    fn announcing(&self) -> Arc<dyn AnnounceStore> {
        Arc::new(self.store.clone())
    }
}

/// Messages of a history that is over name jobs that the next store does not know.
#[tokio::test(flavor = "multi_thread")]
async fn histories_end_well_when_kafka_carries_the_work() {
    let prefix = format!("histories.{}", std::process::id());
    let config = Config { topic_prefix: prefix.clone(), group: prefix, partitions: 12, ..Config::at(shared()) };
    let kafka = Kafka::new(config, Tasks::new()).unwrap();
    kafka.topics().ensure().await.unwrap();
    let parking = Team::new().await;
    let feed = Arc::new(kafka.feed(8, Arc::new(ParkInStore(parking.announcing()))).unwrap());
    let broker = Broker { publisher: Arc::new(kafka.publisher().unwrap()), feed: Arc::clone(&feed) as _ };
    let moods = [Mood::Calm, Mood::Lossy, Mood::Deadly, Mood::Meddling, Mood::Everything];
    let rounds = if torture() { 20 } else { 1 };
    for seed in 0..rounds {
        for mood in moods {
            let delivered = history_over(&broker, &Team::new().await, mood, seed).await;
            assert!(delivered > 0, "nothing of the {mood:?} history of seed {seed} came through Kafka");
        }
    }
    feed.close(Duration::from_secs(10)).await;
}
