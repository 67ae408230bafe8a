//! A relay's side of Kafka: sends announcements and says of each whether the brokers have it.
//!
//! Messages are batched and on their way side by side, also those of several calls. Each is tried again by the client until it is
//! acknowledged by every replica in sync, or until its time is over: so it survives a broker that restarts. Whatever happens, a call
//! has its answers within `delivery_timeout` and a second. A message whose answer is an error may have arrived all the same, or still
//! arrive: one that had to wait for room in the client's queue has its own time from then on. It reads nothing and keeps nothing: two relays do not
//! disturb each other, and of one that dies the store knows which batches were not answered.
//!
//! An idempotent producer that has lost count (its brokers forgot it, or a topic was created again at a bad moment) accepts nothing any
//! more. It is then replaced; what it had on its way is answered with an error.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{Announcement, PublishError, Publisher};
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext, Message as _};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::warn;

use crate::client::{ClientEvents, millis, settings};
use crate::config::Config;
use crate::error::Error;
use crate::health::Health;
use crate::message;
use crate::right::{Right, lacking_to_publish};
use crate::topics::{TopicKind, key};

/// While the client's queue is full, it is looked at so often.
const QUEUE_NAP: Duration = Duration::from_millis(5);

/// So many messages are handed over before other tasks have their turn.
const AT_ONCE: usize = 200;

type Client = ThreadedProducer<Reports>;

pub struct KafkaPublisher {
    config: Arc<Config>,
    topics: [String; TopicKind::ALL.len()],
    health: Arc<Health>,
    client: Mutex<Arc<Client>>,
}

/// Where the answers of one call come together.
struct PublishCall {
    answers: Mutex<Vec<Option<Result<(), PublishError>>>>,
    left: AtomicUsize,
    complete: Notify,
}

/// Goes along with a message and comes back with its answer.
struct MessageTag {
    call: Arc<PublishCall>,
    place: usize,
}

impl PublishCall {
    fn of(count: usize) -> Arc<Self> {
        let answers = Mutex::new(vec![None; count]);
        Arc::new(Self { answers, left: AtomicUsize::new(count), complete: Notify::new() })
    }

    fn answer(&self, place: usize, answer: Result<(), PublishError>) {
        // Every line that holds the lock leaves it whole.
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // After the batch was given up there is no place left: whoever comes then is not waited for.
        let Some(place) = answers.get_mut(place) else { return };
        let was = place.replace(answer);
        drop(answers);
        if was.is_none() && self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.complete.notify_one();
        }
    }

    async fn wait(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            // One waits, and what is rung before it waits is kept.
            self.complete.notified().await;
        }
    }

    /// All answers; what has none by now failed.
    fn take(&self) -> Vec<Result<(), PublishError>> {
        let answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        let missing = || Err(PublishError("no broker answered in time".into()));
        answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
    }
}

/// Hears what became of messages, in the client's thread.
struct Reports {
    events: ClientEvents,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        ClientEvents::log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.events.error(&error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<MessageTag>;

    fn delivery(&self, result: &DeliveryResult<'_>, tag: Box<MessageTag>) {
        let health = &self.events.health;
        match result {
            Ok(message) if health.is_denied() => {
                health.granted(&[Right::Write(message.topic().to_owned()), Right::IdempotentWrite]);
            }
            Ok(_) => {}
            Err((error, message)) => {
                let code = error.rdkafka_error_code();
                if let Some(right) = code.and_then(|code| lacking_to_publish(code, message.topic())) {
                    health.denied(right);
                }
            }
        }
        let answer = result.as_ref().map(|_| ()).map_err(|(error, _)| PublishError(error.to_string()));
        tag.call.answer(tag.place, answer);
    }
}

impl KafkaPublisher {
    pub(crate) fn new(config: Arc<Config>, health: Arc<Health>) -> Result<Self, Error> {
        let client = Mutex::new(Arc::new(make(&config, &health)?));
        Ok(Self { topics: TopicKind::ALL.map(|kind| config.topic(kind)), config, health, client })
    }

    fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands one message to the client, waiting for room in its queue. `Err`: it was not handed over.
    async fn hand_over(
        &self,
        message: &Announcement,
        tag: Box<MessageTag>,
        give_up: Instant,
    ) -> Result<(), (PublishError, Box<MessageTag>)> {
        let topic = &self.topics[TopicKind::of(message).place()];
        let (payload, key) = (message::encode(message), key(message.job));
        let mut record =
            BaseRecord::with_opaque_to(topic, tag).payload(&payload).key(&key).headers(message::headers(message));
        loop {
            let client = self.client();
            let Err((error, back)) = client.send(record) else { return Ok(()) };
            record = back;
            match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::QueueFull) if Instant::now() < give_up => sleep(QUEUE_NAP).await,
                Some(RDKafkaErrorCode::Fatal) if self.renew(&client) && Instant::now() < give_up => {}
                _ => return Err((PublishError(error.to_string()), record.delivery_opaque)),
            }
        }
    }

    /// Replaces a client that accepts nothing any more. `false`: it cannot be, now.
    fn renew(&self, broken: &Arc<Client>) -> bool {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&client, broken) {
            // Another call has done so.
            return true;
        }
        let (code, reason) = broken.client().fatal_error().unwrap_or((RDKafkaErrorCode::Fatal, String::new()));
        match make(&self.config, &self.health) {
            Ok(new) => {
                if code == RDKafkaErrorCode::ClusterAuthorizationFailed {
                    self.health.denied(Right::IdempotentWrite);
                } else {
                    warn!("replaced the Kafka producer: {code}: {reason}");
                }
                self.health.renewed.fetch_add(1, Ordering::Relaxed);
                discard(std::mem::replace(&mut *client, Arc::new(new)));
                true
            }
            Err(error) => {
                warn!("could not replace the Kafka producer: {error}");
                false
            }
        }
    }
}

#[async_trait]
impl Publisher for KafkaPublisher {
    async fn publish(&self, messages: &[Announcement]) -> Vec<Result<(), PublishError>> {
        let call = PublishCall::of(messages.len());
        let began = Instant::now();
        let give_up = began + self.config.delivery_timeout;
        for (place, message) in messages.iter().enumerate() {
            let tag = Box::new(MessageTag { call: Arc::clone(&call), place });
            if let Err((error, tag)) = self.hand_over(message, tag, give_up).await {
                tag.call.answer(place, Err(error));
            }
            if place % AT_ONCE == AT_ONCE - 1 {
                yield_now().await;
            }
        }
        // The client gives each message up when its time is over, which began when it was handed over: perhaps much later.
        let _ = timeout_at(began + self.config.longest_publish(), call.wait()).await;
        let answers = call.take();
        let refused = answers.iter().filter(|answer| answer.is_err()).count() as u64;
        self.health.refused.fetch_add(refused, Ordering::Relaxed);
        self.health.published.fetch_add(answers.len() as u64 - refused, Ordering::Relaxed);
        let client = self.client();
        if refused > 0 && client.client().fatal_error().is_some() {
            // Its reason is noted now, whether or not there is a next call.
            self.renew(&client);
        }
        answers
    }
}

impl Drop for KafkaPublisher {
    fn drop(&mut self) {
        discard(self.client());
    }
}

/// The end of a client blocks until its threads are gone, which no thread of a runtime should wait for.
fn discard(client: Arc<Client>) {
    let _ = std::thread::Builder::new().name("kafka producer end".into()).spawn(move || drop(client));
}

fn make(config: &Config, health: &Arc<Health>) -> Result<Client, Error> {
    let events = ClientEvents { health: Arc::clone(health) };
    Client::from_config_and_context(&producer_settings(config), Reports { events })
        .map_err(|error| Error::Client(error.to_string()))
}

fn producer_settings(config: &Config) -> ClientConfig {
    let mut client = settings(config);
    client.set("acks", "all");
    client.set("enable.idempotence", "true");
    client.set("compression.type", config.compression.as_str());
    client.set("linger.ms", millis(config.linger));
    client.set("message.timeout.ms", millis(config.delivery_timeout));
    client.set("request.timeout.ms", millis(config.request_timeout.min(config.delivery_timeout)));
    client.set("retry.backoff.ms", "50");
    client.set("retry.backoff.max.ms", "500");
    // A topic that is missing may be there in a moment: it is the message's own time that counts.
    client.set("topic.metadata.propagation.max.ms", millis(config.delivery_timeout));
    client.set("queue.buffering.max.messages", config.publish_queue.max(1).to_string());
    client.set("queue.buffering.max.kbytes", "65536");
    // The key says which job it is, not where it lies: what is announced again, because it is stuck behind a worker or on a broker that
    // is away, has to have the chance to come to another.
    client.set("partitioner", "random");
    client.set("sticky.partitioning.linger.ms", "0");
    client
}

#[cfg(test)]
mod tests {
    use foreman_conformance::transport::a_job;
    use foreman_core::{JobId, Lane};
    use foreman_runtime::Tasks;
    use rdkafka::types::RDKafkaRespErr;

    use super::*;
    use crate::kafka::Kafka;

    #[test]
    fn an_answer_that_comes_after_the_batch_was_given_up_is_nobodys() {
        let call = PublishCall::of(2);
        call.answer(0, Ok(()));
        let taken = call.take();
        assert!(taken[0].is_ok() && taken[1].is_err(), "{taken:?}");
        // In the thread of the client, which serves every other batch too.
        call.answer(1, Ok(()));
    }

    fn announcements(count: usize) -> Vec<Announcement> {
        std::iter::repeat_with(|| a_job(Lane::Normal)).take(count).collect()
    }

    /// librdkafka can be told to believe that it has met such an error; no broker can be brought to it on request.
    fn break_for_good(publisher: &KafkaPublisher) {
        let client = publisher.client();
        let error = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
        #[expect(
            unsafe_code,
            reason = "it is not among what the wrapper offers; the client lives, and the text is static"
        )]
        unsafe {
            rdkafka::bindings::rd_kafka_test_fatal_error(client.client().native_ptr(), error, c"a test".as_ptr());
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_producer_that_accepts_nothing_any_more_is_replaced() {
        #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
        let brokers = std::env::var("FOREMAN_TEST_KAFKA")
            .expect("run `make test SUITE=kafka`, or `scripts/with-services --kafka cargo test -p foreman-kafka`");
        let prefix = format!("test.{}", JobId::fresh());
        let kafka = Kafka::new(Config { topic_prefix: prefix, partitions: 1, ..Config::at(brokers) }, Tasks::new());
        let kafka = kafka.expect("the settings are good");
        kafka.topics().ensure().await.expect("topics can be created");
        let publisher = kafka.publisher().expect("a publisher can be made");
        let is_sent = async |count| publisher.publish(&announcements(count)).await.iter().all(Result::is_ok);
        assert!(is_sent(10).await);
        for times in 1..=2 {
            break_for_good(&publisher);
            // Several calls notice it at once, and one of them replaces it.
            assert_eq!(tokio::join!(is_sent(10), is_sent(10)), (true, true));
            assert_eq!(kafka.health().state().renewed, times);
        }
    }
}
