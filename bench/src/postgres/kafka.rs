//! Fleet size: what Kafka between Postgres and workers does to speed and latency, beside the same roles without it.
//!
//! The relay by itself is compared with a bare producer that sends as many messages of the same size to as many partitions,
//! with the same acknowledgements. Its jobs wait in the store, a session that takes everything from Kafka is registered, and
//! nobody claims: so it is the relay's own way, from rows that wait to rows that are marked and acknowledged.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use foreman_core::SessionId;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{AnnounceStore, JobQuery, Publisher, SessionInfo, SessionStore as _, Store};
use foreman_engine::relay::{self, Relay};
use foreman_kafka::{Kafka, Topics};
use foreman_runtime::{Stop, Tasks};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer as _, ThreadedProducer};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::server::Server;
use super::{drain, end_to_end_on, pick_up};
use crate::bare::Target;
use crate::floor;
use crate::jobs::{JobMaker, NOOP, task_json, url_json};
use crate::load::per_second;
use crate::postgres::fleet::Size;
use crate::report::{Figure, millis, rate};
use crate::sizes::Sizes;

const PATIENCE: Duration = Duration::from_mins(1);
const PRODUCER: &str = "bare producer: messages sent and acknowledged";
const NO_OP: &str = "no-op jobs end to end, without Kafka";
const PUSHED: &str = "HTTP jobs end to end, without Kafka";

pub async fn measure(server: &Server, brokers: &str, sizes: &Sizes) -> Result<Vec<Figure>> {
    let jobs = sizes.jobs / 2;
    let (bare, relay) = (bare_producer(brokers, jobs).await?, relay_alone(server, brokers, jobs).await?);
    let mut figures =
        vec![rate(PRODUCER, bare, None), rate("relay: jobs announced and acknowledged", relay, Some(PRODUCER))];
    let target = Target::start().await?;
    for (name, with, job, slots) in [
        (NO_OP, "no-op jobs end to end, through Kafka", task_json(NOOP), sizes.slots),
        (PUSHED, "HTTP jobs end to end, through Kafka", url_json(&target.url()), sizes.push_slots),
    ] {
        let without = end_to_end_on(server.database().await?, &job, jobs, slots).await?;
        let through = end_to_end_on(server.database().await?.through(brokers), &job, jobs, slots).await?;
        figures.extend([rate(name, without, None), rate(with, through, Some(name))]);
    }
    let what = "drain through Kafka, two workers";
    let database = server.database().await?.through(brokers);
    let size = Size { workers: 2, slots: sizes.slots, has_api: false };
    let drained = drain::drain_on(&database, what, &JobMaker::of_task(NOOP)?, jobs, size).await?;
    database.remove().await?;
    figures.push(rate(what, drained.per_second, None));
    figures.extend(drained.costs);

    let (without, _) = pick_up::idle(server, sizes.picks, sizes.slots).await?;
    let (through, _) = pick_up::idle_on(server.database().await?.through(brokers), sizes.picks, sizes.slots).await?;
    for (name, without, through) in
        [("p50", without.took.p50, through.took.p50), ("p99", without.took.p99, through.took.p99)]
    {
        let of = format!("pick-up, idle, without Kafka, {name}");
        figures.push(millis(&of, without, None));
        figures.push(millis(format!("pick-up, idle, through Kafka, {name}"), through, Some(&of)));
        figures.push(millis(format!("what Kafka adds, {name}"), through - without, None));
    }
    Ok(figures)
}

/// Where nothing else writes.
fn config(brokers: &str) -> foreman_kafka::Config {
    let name = format!("bench.{}", Uuid::new_v4().simple());
    foreman_kafka::Config { topic_prefix: name.clone(), group: name, ..foreman_kafka::Config::at(brokers) }
}

/// Messages per second.
async fn bare_producer(brokers: &str, messages: usize) -> Result<f64> {
    let (config, tasks) = (config(brokers), Tasks::new());
    let topic = config.topic_prefix.clone() + ".normal";
    let topics: Arc<Topics> = Kafka::new(config, tasks.clone())?.topics();
    topics.ensure().await?;
    let brokers = brokers.to_owned();
    let sent = tasks.spawn_blocking("bare producer", move || send_all(&brokers, &topic, messages));
    Ok(per_second(messages, sent.await??))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, and the producer has no other way to wait for room"
)]
fn send_all(brokers: &str, topic: &str, messages: usize) -> Result<Duration> {
    let mut client = ClientConfig::new();
    for (name, value) in [
        ("bootstrap.servers", brokers),
        ("acks", "all"),
        ("enable.idempotence", "true"),
        ("compression.type", "lz4"),
        ("linger.ms", "1"),
    ] {
        client.set(name, value);
    }
    let producer: ThreadedProducer<DefaultProducerContext> = client.create()?;
    // As long as an announcement, and as different from the next one.
    let rest = [b'x'; 44];
    let start = Instant::now();
    for _ in 0..messages {
        let key = Uuid::now_v7();
        let payload = [key.as_bytes().as_slice(), &rest].concat();
        let mut record = BaseRecord::to(topic).key(key.as_bytes().as_slice()).payload(&payload);
        while let Err((error, back)) = producer.send(record) {
            ensure!(
                matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull))
                    && start.elapsed() < PATIENCE,
                "the bare producer cannot send: {error}"
            );
            std::thread::sleep(Duration::from_millis(1));
            record = back;
        }
    }
    producer.flush(PATIENCE)?;
    Ok(start.elapsed())
}

/// Jobs per second, from the start of the relay until every job that waited is marked, sent and acknowledged.
async fn relay_alone(server: &Server, brokers: &str, jobs: usize) -> Result<f64> {
    let database = server.database().await?;
    let (store, tasks, stop) = (Arc::new(database.open().await?), Tasks::new(), Stop::new());
    let maker = JobMaker::of_task(NOOP)?;
    floor::fill(&(Arc::clone(&store) as Arc<dyn Store>), &maker, jobs).await?;
    store.register(&consumer(&maker)).await?;
    database.checkpoint().await?;
    let kafka = Kafka::new(config(brokers), tasks.clone())?;
    kafka.topics().ensure().await?;
    let publisher: Arc<dyn Publisher> = Arc::new(kafka.publisher()?);
    let relay = Relay::new(
        Arc::clone(&store) as Arc<dyn AnnounceStore>,
        Arc::clone(&store) as Arc<dyn JobQuery>,
        publisher,
        &LocalWakeups::new(),
        tasks.clone(),
        relay::Config { window: Some(jobs), ..relay::Config::default() },
    );
    let (readings, start) = (relay.readings(), Instant::now());
    let running = tasks.spawn("relay", relay.run(stop.shutdown()));
    while readings.get().acknowledged < jobs as u64 {
        ensure!(start.elapsed() < PATIENCE, "{} of {jobs} jobs were announced", readings.get().acknowledged);
        sleep(Duration::from_millis(2)).await;
    }
    let took = start.elapsed();
    stop.drain();
    running.await?.context("the relay")?;
    store.close();
    database.remove().await?;
    Ok(per_second(jobs, took))
}

/// A session that would take these jobs from Kafka.
fn consumer(maker: &JobMaker) -> SessionInfo {
    let route = maker.route();
    SessionInfo {
        id: SessionId::fresh(),
        worker: "bench".into(),
        pid: std::process::id(),
        version: "0".into(),
        slots: 1,
        queues: Vec::new(),
        tasks: route.as_task().map(str::to_owned).into_iter().collect(),
        consumes: Some(vec![route]),
        ttl: Duration::from_hours(1),
    }
}
