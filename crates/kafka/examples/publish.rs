//! How fast the publisher is, as a ratio to a bare producer with the same settings, in turns on the same broker.
//!
//! ```text
//! scripts/with-services --kafka cargo run -p foreman-kafka --example publish -- 100000
//! ```
//!
//! The bare side sends bytes that were made before, with a key and without headers, and waits for its acknowledgements. Ours encodes each
//! announcement, adds its headers and answers for each; in batches of 500, eight at a time, as a relay sends them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use foreman_conformance::transport::a_job;
use foreman_core::ports::{Announcement, Publisher};
use foreman_core::{JobId, Lane};
use foreman_kafka::{Config, Kafka, TopicKind};
use foreman_runtime::Tasks;
use rdkafka::ClientConfig;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use tokio::time::Instant;

const BATCH: usize = 500;
const AT_ONCE: usize = 8;
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the scripts say where their broker is")]
    let brokers = std::env::var("FOREMAN_TEST_KAFKA").context("run it with scripts/with-services --kafka")?;
    let count = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse()).context("a number of messages")?;
    let config = Config { topic_prefix: format!("bench.{}", JobId::fresh()), ..Config::at(brokers) };
    let kafka = Kafka::new(config.clone(), Tasks::new())?;
    kafka.topics().ensure().await?;
    let publisher = Arc::new(kafka.publisher()?);
    let bare = bare_producer(&config)?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let ours = ours(&publisher, count).await?;
        let theirs = theirs(&bare, &config.topic(TopicKind::Low), count)?;
        println!("publisher {ours:8.0}/s   bare producer {theirs:8.0}/s   ratio {:.2}", ours / theirs);
        ratios.push(ours / theirs);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio of {ROUNDS} rounds: {:.2}", ratios[ROUNDS / 2]);
    Ok(())
}

fn announcements(count: usize) -> Vec<Announcement> {
    std::iter::repeat_with(|| a_job(Lane::Normal)).take(count).collect()
}

async fn ours(publisher: &Arc<impl Publisher + 'static>, count: usize) -> Result<f64> {
    let jobs = announcements(count);
    let batches: Vec<&[Announcement]> = jobs.chunks(BATCH).collect();
    let began = Instant::now();
    let lanes = (0..AT_ONCE).map(|lane| {
        let (publisher, batches) = (Arc::clone(publisher), batches.iter().skip(lane).step_by(AT_ONCE));
        async move {
            let mut sent = 0;
            for batch in batches {
                sent += publisher.publish(batch).await.iter().filter(|answer| answer.is_ok()).count();
            }
            sent
        }
    });
    let mut lanes = lanes.map(Box::pin).collect::<Vec<_>>();
    let mut sent = 0;
    // Polled together: each waits for its own batch only.
    std::future::poll_fn(|context| {
        lanes.retain_mut(|lane| match lane.as_mut().poll(context) {
            std::task::Poll::Ready(count) => {
                sent += count;
                false
            }
            std::task::Poll::Pending => true,
        });
        if lanes.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    ensure!(sent == count, "{sent} of {count} were acknowledged");
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

fn bare_producer(config: &Config) -> Result<ThreadedProducer<DefaultProducerContext>> {
    let mut client = ClientConfig::new();
    for (name, value) in [
        ("bootstrap.servers", config.brokers.as_str()),
        ("acks", "all"),
        ("enable.idempotence", "true"),
        ("compression.type", config.compression.as_str()),
        ("linger.ms", "1"),
        ("queue.buffering.max.messages", "10000"),
        ("partitioner", "random"),
    ] {
        client.set(name, value);
    }
    Ok(client.create()?)
}

fn theirs(producer: &ThreadedProducer<DefaultProducerContext>, topic: &str, count: usize) -> Result<f64> {
    // As long as an announcement, and no easier to compress.
    let payload = |job: JobId| [&job.0.as_bytes()[..], b"\x01\x02 default default http, some words"].concat();
    let jobs = std::iter::repeat_with(JobId::fresh).take(count);
    let messages: Vec<(String, Vec<u8>)> = jobs.map(|job| (job.to_string(), payload(job))).collect();
    let began = Instant::now();
    for (key, payload) in &messages {
        let mut record = BaseRecord::to(topic).key(key).payload(payload);
        while let Err((error, back)) = producer.send(record) {
            ensure!(error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull), "{error}");
            std::thread::park_timeout(Duration::from_millis(1));
            record = back;
        }
    }
    producer.flush(Duration::from_secs(30))?;
    Ok(count as f64 / began.elapsed().as_secs_f64())
}
