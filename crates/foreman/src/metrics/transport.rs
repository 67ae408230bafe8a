//! What the relay of this process has announced, and how it is with Kafka.
//!
//! Read when somebody scrapes, from what the loops and clients have noted; nothing is asked for here. A process without a
//! broker shows none of it.

use std::sync::{Arc, OnceLock};

use foreman_core::Lane;
use foreman_core::ports::LaneCounts;
use foreman_engine::relay::{RelayReadings, RelaySnapshot};
use foreman_kafka::{BrokerState, Health, TopicKind};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// What is shown of a broker.
#[derive(Debug, Default)]
pub struct TransportReadings {
    pub relay: OnceLock<RelayReadings>,
    pub broker: OnceLock<Arc<Health>>,
}

#[derive(Debug)]
pub struct TransportCollector(pub Arc<TransportReadings>);

impl Collector for TransportCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(relay) = self.0.relay.get() {
            announced(&mut encoder, &relay.get())?;
        }
        if let Some(health) = self.0.broker.get() {
            broker(&mut encoder, &health.state())?;
        }
        Ok(())
    }
}

fn announced(encoder: &mut DescriptorEncoder<'_>, seen: &RelaySnapshot) -> std::fmt::Result {
    let counters = [
        ("relay_announced", "Jobs that this relay marked as announced", seen.announced),
        ("relay_acknowledged", "Announcements that the brokers accepted", seen.acknowledged),
        ("relay_failed", "Announcements that the brokers did not accept; the jobs are announced again", seen.failed),
        (
            "relay_reannounced",
            "Announcements that this relay took back because they were not claimed in time",
            seen.reannounced,
        ),
    ];
    for (name, help, count) in counters {
        counter(encoder, name, help, count)?;
    }
    let lanes: [(&str, &str, LaneCounts); 2] = [
        ("relay_outstanding", "Announced jobs that are not claimed yet, of all relays, by priority", seen.outstanding),
        ("relay_window", "How many jobs may be announced and not claimed, by priority", seen.window),
    ];
    for (name, help, counts) in lanes {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for lane in Lane::ALL {
            whole(counts.of(lane) as u64).encode(family.encode_family(&[("priority", lane.as_str())])?)?;
        }
    }
    gauge(encoder, "relay_backlog", "Due jobs that wait to be announced, counted up to 10,000", seen.backlog.jobs)?;
    let help = "How long the oldest of these jobs has been due; 0 if there are none";
    let family = encoder.encode_descriptor("relay_backlog_age_seconds", help, None, MetricType::Gauge)?;
    ConstGauge::new(seen.backlog.age.as_secs_f64()).encode(family)?;
    let away = seen.trouble.as_ref().map_or(0.0, |(since, _)| since.as_secs_f64());
    let help = "How long the brokers have not accepted messages of this relay; 0 while they do";
    let family = encoder.encode_descriptor("relay_outage_seconds", help, None, MetricType::Gauge)?;
    ConstGauge::new(away).encode(family)
}

type Look = fn(&foreman_kafka::FetchState) -> Option<u64>;

fn broker(encoder: &mut DescriptorEncoder<'_>, state: &BrokerState) -> std::fmt::Result {
    let up = u64::from(state.is_connected);
    gauge(encoder, "kafka_connected", "1 while a broker responds to this process", up)?;
    gauge(encoder, "kafka_topics_ready", "1 while the topics are as they should be", u64::from(state.topics.is_ok()))?;
    let help = "Rights that the brokers deny to this process; 0 if it lacks none";
    gauge(encoder, "kafka_denied_rights", help, state.denied.len() as u64)?;
    counter(encoder, "kafka_rebalances", "Assignments and revocations of partitions", state.rebalances)?;
    counter(encoder, "kafka_unreadable", "Messages that could not be read", state.undecodable)?;
    counter(encoder, "kafka_parked", "Unreadable messages that were stored for an operator", state.parked)?;
    let looks: [(&str, &str, Look); 3] = [
        ("kafka_partitions", "Partitions assigned to this worker, by topic", |it| Some(it.assigned as u64)),
        ("kafka_prefetched", "Messages fetched by this worker and not yet offered, by topic", |it| {
            Some(it.waiting as u64)
        }),
        ("kafka_lag", "Messages in this worker's partitions that are not settled, by topic", |it| it.lag),
    ];
    for (name, help, look) in looks {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (kind, fetch) in TopicKind::ALL.into_iter().zip(&state.fetches) {
            if let Some(value) = look(fetch) {
                whole(value).encode(family.encode_family(&[("topic", kind.as_str())])?)?;
            }
        }
    }
    Ok(())
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: u64) -> std::fmt::Result {
    ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> std::fmt::Result {
    whole(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn whole(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use foreman_api::Meter as _;

    use crate::metrics::Metrics;
    use crate::role::Role;

    #[test]
    fn a_process_without_a_broker_shows_nothing_of_one() {
        let text = Metrics::new(Role::Worker).text();
        assert!(!text.contains("foreman_relay_") && !text.contains("foreman_kafka_"), "{text}");
    }

    #[test]
    fn a_relay_shows_what_it_announced() {
        let metrics = Metrics::new(Role::Relay);
        metrics.set_relay(super::RelayReadings::default());
        let text = metrics.text();
        for line in [
            "foreman_relay_announced_total 0",
            "foreman_relay_window{priority=\"low\"} 0",
            "foreman_relay_backlog 0",
            "foreman_relay_backlog_age_seconds 0.0",
            "foreman_relay_outage_seconds 0.0",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
    }
}
