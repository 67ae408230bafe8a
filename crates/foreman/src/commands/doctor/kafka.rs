//! What the brokers tell of the topics and groups, judged as somebody who runs a fleet on them would. Nothing is created.

use foreman_kafka::{Error, GroupLag, Kafka};
use foreman_runtime::Tasks;

use super::Finding;
use crate::config::Settings;

/// Relays keep no more than this in a topic, unless `kafka.window` says more.
const LARGEST_WINDOW: usize = 10_000;

/// Nothing without brokers.
pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let Some(config) = settings.kafka.config("doctor") else { return Vec::new() };
    let brokers = config.brokers.clone();
    let kafka = match Kafka::new(config, Tasks::new()) {
        Ok(kafka) => kafka,
        Err(error) => return vec![trouble(&brokers, &error)],
    };
    let topics = kafka.topics();
    if let Err(error) = topics.check().await {
        return vec![trouble(&brokers, &error)];
    }
    let mut findings = vec![
        Finding::fine("kafka", format!("{brokers} respond")),
        Finding::fine("kafka topics", "partitions, replication and settings are as they should be"),
    ];
    match topics.lag().await {
        Ok(lags) => findings.extend(lags.iter().map(|lag| judge(lag, settings.kafka.relay.window))),
        Err(error) => findings.push(trouble(&brokers, &error)),
    }
    findings
}

fn trouble(brokers: &str, error: &Error) -> Finding {
    match error {
        Error::Topics(why) => {
            let advice = "relays and workers are not ready until this is done; docs/kafka.md describes the topics";
            Finding::alarm("kafka topics", why, advice)
        }
        error => Finding::alarm(
            "kafka",
            format!("{brokers}: {error}"),
            "jobs are accepted, and workers claim from the database meanwhile: check the addresses, the password and whether the \
             brokers run",
        ),
    }
}

/// Twice what relays may keep there can only be old.
fn judge(lag: &GroupLag, window: Option<usize>) -> Finding {
    let most = window.unwrap_or_default().max(LARGEST_WINDOW) as u64 * 2;
    let found = format!("{} messages of {} are not settled by {}", lag.messages, lag.topic, lag.group);
    Finding::judged("kafka lag", found, lag.messages > most, || {
        "relays do not keep as many there: look for a worker that has partitions of this topic and does not go on, or for someone \
         else who writes to it"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_that_no_window_explains_is_found() {
        let lag = |messages| GroupLag { topic: "jobs.low".into(), group: "workers.low".into(), messages };
        assert!(judge(&lag(20_000), None).is_fine);
        let found = judge(&lag(20_001), None);
        assert!(!found.is_fine && found.found.contains("20001 messages of jobs.low"), "{found:?}");
        assert!(judge(&lag(20_001), Some(50_000)).is_fine, "the window is larger");
    }

    #[test]
    fn topics_that_are_wrong_and_brokers_that_are_away_are_told_apart() {
        let wrong = trouble("h:9092", &Error::Topics("topic jobs.low has 3 partitions and should have 12".into()));
        assert_eq!((wrong.about, wrong.is_fine), ("kafka topics", false));
        let away = trouble("h:9092", &Error::Unreachable("timed out".into()));
        assert_eq!((away.about, away.is_fine), ("kafka", false));
        assert!(away.found.contains("h:9092"), "{away:?}");
    }
}
