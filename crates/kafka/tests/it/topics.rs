//! Topics: created where they are missing, checked where they are there.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::Lane;
use foreman_core::ports::Feed as _;
use foreman_kafka::{Config, Error, Kafka, TopicKind};
use foreman_runtime::Tasks;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use tokio::time::{Instant, timeout};

use crate::broker::shared;
use crate::stage::{PATIENCE, Site, config, publish, some_jobs, take};

fn admin() -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", shared()).create().expect("a client can be made")
}

async fn setting(topic: &str, name: &str) -> Option<String> {
    let asked = [ResourceSpecifier::Topic(topic)];
    let mut found = admin().describe_configs(&asked, &AdminOptions::new()).await.expect("the broker answers");
    found.remove(0).expect("the topic is there").get(name)?.value.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_topics_are_created_as_the_settings_say() {
    let config = Config { retention: Duration::from_hours(2), replication: Some(1), ..config(&shared(), 12) };
    let site = Site::bare(config);
    let missing = site.kafka.topics().check().await.expect_err("there are none").to_string();
    assert!(missing.contains("does not exist") && missing.contains("kafka-topics.sh --create"), "{missing}");
    // Two processes that start at once.
    let other = Site::bare(site.config.clone());
    let (topics, others) = (site.kafka.topics(), other.kafka.topics());
    let (one, two) = tokio::join!(topics.ensure(), others.ensure());
    one.and(two).expect("both find them");
    for kind in TopicKind::ALL {
        assert_eq!(setting(&site.topic(kind), "retention.ms").await.as_deref(), Some("7200000"));
    }
    site.kafka.topics().check().await.expect("they are as they should be");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_topics_is_said_with_what_to_do() {
    let site = Site::of(config(&shared(), 2)).await;
    let with = async |change: fn(Config) -> Config| {
        let site = Site::bare(change(site.config.clone()));
        site.kafka.topics().ensure().await.expect_err("they are not as it wants them").to_string()
    };
    let more = with(|config| Config { partitions: 5, ..config }).await;
    assert!(more.contains("has 2 partitions and should have 5") && more.contains("--alter --topic"), "{more}");
    let safer = with(|config| Config { replication: Some(3), ..config }).await;
    assert!(safer.contains("has replication 1 and should have 3"), "{safer}");
    Site::bare(Config { partitions: 1, ..site.config.clone() }).kafka.topics().ensure().await.expect("more is fine");
    for (name, value, said) in
        [("compression.type", "zstd", "cannot read"), ("cleanup.policy", "compact", "would ever go")]
    {
        let topic = site.topic(TopicKind::Low);
        let change = AlterConfig::new(ResourceSpecifier::Topic(&topic)).set(name, value);
        admin().alter_configs(&[change], &AdminOptions::new()).await.expect("the broker answers");
        // The broker that answers learns of it a moment later.
        let give_up = Instant::now() + PATIENCE;
        let wrong = loop {
            match site.kafka.topics().ensure().await {
                Err(error) => break error.to_string(),
                Ok(()) => assert!(Instant::now() < give_up, "{name} is not looked at"),
            }
        };
        assert!(wrong.contains(&topic) && wrong.contains(said), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keeper_creates_what_was_deleted_and_says_how_it_is() {
    let site = Site::bare(config(&shared(), 1));
    assert!(site.state().problem().is_some(), "nobody has looked yet");
    site.keep_topics();
    site.until("the topics", |state| state.problem().is_none()).await;
    site.delete_topics().await;
    let give_up = Instant::now() + PATIENCE;
    while site.kafka.topics().check().await.is_err() {
        assert!(Instant::now() < give_up, "they are not created again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_broker_is_nothing_hangs_and_it_is_said() {
    // Nobody listens there: the port is given back at once.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let kafka = Kafka::new(Config { request_timeout: Duration::from_secs(1), ..config(&address, 1) }, Tasks::new());
    let kafka = kafka.expect("a process starts without Kafka");
    let found = timeout(PATIENCE, kafka.topics().ensure()).await.expect("it is bounded");
    assert!(matches!(found, Err(Error::Unreachable(_))), "{found:?}");
    assert!(!kafka.health().state().is_connected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_workers_have_not_settled_is_their_lag() {
    let site = Site::of(config(&shared(), 2)).await;
    let lag = async || -> Vec<u64> {
        site.kafka.topics().lag().await.expect("the broker answers").iter().map(|lag| lag.messages).collect()
    };
    assert_eq!(lag().await, [0, 0, 0, 0]);
    publish(&site.publisher(), &some_jobs(Lane::Normal, 7)).await;
    assert_eq!(lag().await, [0, 7, 0, 0], "nobody has ever committed anything");
    let feed = site.feed(&Arc::default());
    let mut taken = take(&feed, 7).await;
    site.until("its own lag", |state| state.fetches[TopicKind::Normal as usize].lag == Some(7)).await;
    let running = taken.pop();
    feed.settled(taken);
    feed.settled(running.into_iter().collect());
    site.until("no lag", |state| state.fetches[TopicKind::Normal as usize].lag == Some(0)).await;
    feed.close(PATIENCE).await;
    assert_eq!(lag().await, [0, 0, 0, 0]);
}
