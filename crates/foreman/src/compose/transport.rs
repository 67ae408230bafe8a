//! How workers learn of due jobs: they ask the store, or a relay tells them through Kafka.
//!
//! With `kafka.brokers` the relay of this process sends announcements, its worker takes them, and a keeper creates and checks the
//! topics. Kafka may be away at any time, also at the start: nothing here waits for it. What the process says of it:
//!
//! | Kafka | `/readyz` |
//! |---|---|
//! | topics as they should be | ready |
//! | topics missing or wrong | not ready, with the reason |
//! | no broker responds, or they refuse the credentials | ready, degraded: workers claim by order, submissions go on |
//! | the brokers deny a right, on a topic or a group | the same, with the rights to grant |

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use foreman_core::ports::{AnnounceStore, JobQuery};
use foreman_engine::relay::RelayReadings;
use foreman_engine::worker::{BrokerFeed, Drained};
use foreman_engine::{Reconciler, Relay};
use foreman_kafka::{BrokerState, Error, Kafka, KafkaFeed, ParkInStore};
use foreman_runtime::Shutdown;
use tokio::time::sleep;
use tracing::warn;

use super::{ServerPart, StorePorts, Wiring, clock, nothing, part};

/// For the last offsets, after the last claim has an answer.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The same when the process should be gone by now.
const LEAVE_AT_ONCE: Duration = Duration::from_millis(200);

/// The brokers, for a process that sends to them or is fed by them.
pub(super) struct BrokerParts {
    kafka: Kafka,
    announced: Arc<dyn AnnounceStore>,
}

impl BrokerParts {
    /// `None`: there is no broker, and the store is asked.
    pub fn open(wiring: &Wiring<'_>, shared: &StorePorts) -> anyhow::Result<Option<Self>> {
        let Some(config) = wiring.settings.kafka.config(wiring.role.name()) else { return Ok(None) };
        let announced =
            shared.announced.clone().context("this store knows no broker: set DATABASE_URL, or unset KAFKA_BROKERS")?;
        let kafka = Kafka::new(config, wiring.tasks.clone()).context("[kafka]")?;
        wiring.metrics.set_broker(kafka.health());
        Ok(Some(Self { kafka, announced }))
    }

    /// Creates the topics and looks after them.
    pub fn keeper(&self) -> ServerPart {
        let keeper = self.kafka.keeper();
        part("topic keeper", |shutdown| async move {
            keeper.run(shutdown).await;
            Ok(Drained::default())
        })
    }

    /// What a worker is fed by.
    pub fn feed(&self) -> anyhow::Result<(BrokerFeed, Arc<KafkaFeed>)> {
        let feed = Arc::new(self.kafka.feed(Arc::new(ParkInStore(Arc::clone(&self.announced))))?);
        let announced = Arc::clone(&self.announced);
        Ok((BrokerFeed { feed: Arc::clone(&feed) as _, announced }, feed))
    }

    /// What announces, and takes back what came to nothing.
    pub fn relay(&self, wiring: &Wiring<'_>, shared: &StorePorts) -> anyhow::Result<(Vec<ServerPart>, RelayReadings)> {
        let config = wiring.settings.kafka.relay.clone();
        let relay = Relay::new(
            Arc::clone(&self.announced),
            Arc::clone(&shared.store) as Arc<dyn JobQuery>,
            Arc::new(self.kafka.publisher()?),
            shared.wakeups.as_ref(),
            wiring.tasks.clone(),
            config.clone(),
        )
        .limited_by(wiring.tenants(shared));
        let readings = relay.readings();
        wiring.metrics.set_relay(readings.clone());
        let reconciler = Reconciler::new(Arc::clone(&self.announced), clock(), config, readings.clone());
        let parts = vec![
            part("relay", |shutdown| async move { Ok(relay.run(shutdown).await.map(nothing)?) }),
            part("reconciler", |shutdown| async move { Ok(reconciler.run(shutdown).await.map(nothing)?) }),
        ];
        Ok((parts, readings))
    }

    /// Says how it is with the broker to whoever asks whether this process is well. `relay`: of a process that sends.
    pub fn report(&self, wiring: &Wiring<'_>, relay: Option<RelayReadings>) {
        let health = self.kafka.health();
        wiring.vitals.set_broker(move || {
            condition(&health.state(), relay.as_ref().is_some_and(|relay| relay.get().trouble.is_some()))
        });
    }
}

/// Waits until the consumer groups are left. The worker has ended, and what it has to say must still be heard: what is missing
/// here costs other workers some seconds, and nothing is lost.
pub(super) async fn leave(feed: Arc<KafkaFeed>, shutdown: Shutdown) {
    let too_late = async {
        shutdown.aborting().await;
        sleep(LEAVE_AT_ONCE).await;
    };
    tokio::select! {
        biased;
        () = feed.close(LEAVE_WITHIN) => {}
        () = too_late => warn!("no time is left to leave the consumer groups: Kafka gives our partitions to others when it misses us"),
    }
}

/// `is_stuck`: the relay of this process sends, and the brokers do not take it.
fn condition(state: &BrokerState, is_stuck: bool) -> Result<Option<String>, String> {
    match &state.topics {
        Ok(()) => {
            if let Some(denial) = state.denial() {
                return Ok(Some(format!("degraded: {denial}; workers claim from the database meanwhile")));
            }
            Ok(is_stuck.then(|| "degraded: the brokers do not accept messages; jobs wait in the database".to_owned()))
        }
        Err(Error::Refused(_)) => Ok(Some(
            "degraded: the brokers refuse this client; check its credentials and certificates. Workers claim from the database \
             meanwhile"
                .into(),
        )),
        // What a client says of brokers may name hosts; the log has it.
        Err(Error::Unreachable(_) | Error::Client(_)) => {
            Ok(Some("degraded: no broker responds; workers claim from the database meanwhile".into()))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use foreman_kafka::{Health, Right};

    use super::*;

    #[test]
    fn only_wrong_topics_make_a_process_unready() {
        let state = |topics, denied| BrokerState { topics, denied, ..Health::default().state() };
        let group = || vec![Right::ReadGroup("foreman.workers.high".into())];
        assert_eq!(condition(&state(Ok(()), Vec::new()), false), Ok(None));
        for (state, is_stuck, words) in [
            (state(Ok(()), Vec::new()), true, "do not accept messages"),
            (state(Ok(()), group()), false, "deny this client READ on group foreman.workers.high"),
            (state(Err(Error::Refused("at host-7".into())), group()), false, "refuse this client"),
            (state(Err(Error::Unreachable("at host-7".into())), Vec::new()), true, "no broker responds"),
        ] {
            let said = condition(&state, is_stuck).expect("ready").expect("degraded");
            assert!(said.starts_with("degraded: ") && said.contains(words) && !said.contains("host-7"), "{said}");
        }
        let missing = Error::Topics("topic foreman.jobs.high: it does not exist".into());
        assert!(condition(&state(Err(missing), Vec::new()), false).expect_err("not ready").contains("does not exist"));
    }
}
