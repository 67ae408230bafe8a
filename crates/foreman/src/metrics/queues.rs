//! How deep queues are, how long jobs wait and run, and how they end, as the bookkeeper has it.
//!
//! Nothing is counted or asked for here: a scrape shows what the bookkeeper of this process last told. A process whose bookkeeper
//! never led shows counts of zero and no queue, so each number is shown by one process.

use std::sync::{Arc, OnceLock};

use foreman_core::statistics::Spread;
use foreman_engine::bookkeeper::{OTHER, QueueReading, Readings, ReadingsSnapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug)]
pub struct QueueCollector(Arc<OnceLock<Readings>>);

impl QueueCollector {
    pub fn new(readings: Arc<OnceLock<Readings>>) -> Self {
        Self(readings)
    }
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Some(seen) = self.0.get().map(Readings::get) else { return Ok(()) };
        jobs(&mut encoder, &seen)?;
        oldest(&mut encoder, &seen)?;
        ended(&mut encoder, &seen)?;
        let wait = "Time from when a job was due until its attempt started";
        spread(&mut encoder, "job_wait_seconds", wait, &seen.tally.wait)?;
        spread(&mut encoder, "job_run_seconds", "Duration of attempts", &seen.tally.run)
    }
}

/// Each with its label.
fn named(seen: &ReadingsSnapshot) -> impl Iterator<Item = (&str, &QueueReading)> {
    let queues = seen.queues.iter().map(|one| (one.queue.as_str(), one));
    queues.chain(seen.others.iter().map(|others| (OTHER, others)))
}

fn jobs(encoder: &mut DescriptorEncoder<'_>, seen: &ReadingsSnapshot) -> std::fmt::Result {
    let help = "Jobs in the busiest queues, of all tenants, as of about the last minute";
    let mut family = encoder.encode_descriptor("queue_jobs", help, None, MetricType::Gauge)?;
    for (queue, one) in named(seen) {
        for (state, count) in [
            ("scheduled", one.waiting.scheduled),
            ("pending", one.waiting.pending),
            ("retrying", one.waiting.retrying),
            ("running", one.running),
        ] {
            let count = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            count.encode(family.encode_family(&[("queue", queue), ("state", state)])?)?;
        }
    }
    Ok(())
}

fn oldest(encoder: &mut DescriptorEncoder<'_>, seen: &ReadingsSnapshot) -> std::fmt::Result {
    let help =
        "How long the oldest due job of a queue has been waiting, as of about the last minute; 0 where none is due";
    let mut family = encoder.encode_descriptor("queue_oldest_seconds", help, None, MetricType::Gauge)?;
    for (queue, one) in named(seen) {
        let age = ConstGauge::new(one.oldest_wait.unwrap_or_default().as_secs_f64());
        age.encode(family.encode_family(&[("queue", queue)])?)?;
    }
    Ok(())
}

fn ended(encoder: &mut DescriptorEncoder<'_>, seen: &ReadingsSnapshot) -> std::fmt::Result {
    let help = "Finished jobs, by state; counted only by the leader";
    let mut family = encoder.encode_descriptor("jobs_ended", help, None, MetricType::Counter)?;
    let tally = &seen.tally;
    for (state, count) in
        [("completed", tally.completed), ("failed", tally.failed), ("dead", tally.dead), ("cancelled", tally.cancelled)]
    {
        ConstCounter::new(count).encode(family.encode_family(&[("state", state)])?)?;
    }
    Ok(())
}

fn spread(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, spread: &Spread) -> std::fmt::Result {
    let mut histogram: MetricEncoder<'_> = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    let buckets: Vec<(f64, u64)> = spread.by_class().collect();
    let sum = std::time::Duration::from_micros(spread.sum_us).as_secs_f64();
    histogram.encode_histogram::<NoLabelSet>(sum, spread.count, &buckets, None)
}
