//! What all Kafka clients of this process have in common: brokers, timeouts, security, and where their log lines go.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, ClientContext};
use tracing::{debug, info, warn};

use crate::config::Config;
use crate::health::Health;

/// Between two tries to connect, at most: a broker that is back is used soon.
const RECONNECT: Duration = Duration::from_secs(1);

pub(crate) fn settings(config: &Config) -> ClientConfig {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", &config.brokers);
    client.set("client.id", &config.client_id);
    client.set("socket.timeout.ms", millis(config.request_timeout.max(Duration::from_secs(1))));
    client.set("socket.connection.setup.timeout.ms", millis(config.request_timeout.max(Duration::from_secs(1))));
    client.set("socket.keepalive.enable", "true");
    client.set("reconnect.backoff.ms", "50");
    client.set("reconnect.backoff.max.ms", millis(RECONNECT));
    // Topics that were deleted, created or given more partitions are noticed within this.
    client.set("topic.metadata.refresh.interval.ms", "15000");
    client.set("allow.auto.create.topics", "false");
    // Brokers close idle connections; that is no news.
    client.set("log.connection.close", "false");
    client.set_log_level(RDKafkaLogLevel::Info);
    config.security.apply(&mut client);
    client
}

pub(crate) fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

/// What a client reports by itself: its log lines, and what becomes of its connections.
pub(crate) struct ClientEvents {
    pub health: Arc<Health>,
}

impl ClientEvents {
    pub fn log(level: RDKafkaLogLevel, facility: &str, text: &str) {
        match level {
            // A broker that is away is said so by `error`, once for all of them and not for each try.
            _ if facility == "FAIL" => debug!(target: "foreman_kafka", "{text}"),
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical | RDKafkaLogLevel::Error => {
                warn!(target: "foreman_kafka", "{facility}: {text}");
            }
            RDKafkaLogLevel::Warning => warn!(target: "foreman_kafka", "{facility}: {text}"),
            RDKafkaLogLevel::Notice => info!(target: "foreman_kafka", "{facility}: {text}"),
            RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => debug!(target: "foreman_kafka", "{facility}: {text}"),
        }
    }

    pub fn error(&self, error: &KafkaError, reason: &str) {
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AllBrokersDown) => self.health.lost("no broker can be reached"),
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {
                self.health.refused(format!("the brokers refuse this client: {reason}"));
            }
            Some(RDKafkaErrorCode::SSL) => self.health.refused(format!("TLS with the brokers fails: {reason}")),
            // One broker of several, or one request: the client tries again by itself.
            _ => debug!(target: "foreman_kafka", "{error}: {reason}"),
        }
    }
}

/// For clients that neither publish nor consume.
impl ClientContext for ClientEvents {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        ClientEvents::log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        ClientEvents::error(self, &error, reason);
    }
}

impl rdkafka::consumer::ConsumerContext for ClientEvents {}
