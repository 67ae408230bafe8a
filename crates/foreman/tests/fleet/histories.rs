//! The random histories of the store's promises, with Kafka between Postgres and those that claim.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::AnnounceSubject as _;
use foreman_conformance::chaos::{Broker, Mood, history_over};
use foreman_kafka::{Config, Kafka, ParkInStore};
use foreman_runtime::Tasks;

use crate::broker::{OwnTopics, shared};
use crate::given::team;
use crate::stage::torture;

/// Messages of a history that is over name jobs that the next store does not know.
#[tokio::test(flavor = "multi_thread")]
async fn histories_end_well_when_kafka_carries_the_work() {
    let prefix = format!("histories.{}", std::process::id());
    let config = Config { topic_prefix: prefix.clone(), group: prefix.clone(), partitions: 12, ..Config::at(shared()) };
    let kafka = Kafka::new(config, Tasks::new()).unwrap();
    kafka.topics().ensure().await.unwrap();
    let _topics = OwnTopics::of(&shared(), &prefix);
    let parking = team().await;
    let feed = Arc::new(kafka.feed(Arc::new(ParkInStore(parking.announcing()))).unwrap());
    let broker = Broker { publisher: Arc::new(kafka.publisher().unwrap()), feed: Arc::clone(&feed) as _ };
    let (moods, rounds): (&[Mood], u64) = if torture() {
        (&[Mood::Calm, Mood::Lossy, Mood::Deadly, Mood::Meddling, Mood::Everything], 20)
    } else {
        (&[Mood::Deadly, Mood::Everything], 1)
    };
    for seed in 0..rounds {
        for &mood in moods {
            let delivered = history_over(&broker, &team().await, mood, seed).await;
            assert!(delivered > 0, "nothing of the {mood:?} history of seed {seed} came through Kafka");
        }
    }
    feed.close(Duration::from_secs(10)).await;
}
