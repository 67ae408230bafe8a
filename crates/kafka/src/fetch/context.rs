//! What a consumer reports in the thread that asks it for messages: rebalances, and what became of commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use tracing::{debug, info};

use crate::client::ClientEvents;
use crate::feed::Arrivals;
use crate::right::Right;
use crate::topics::TopicKind;

/// Commits what is settled, without waiting. Kafka answers in the order in which it is asked, so this never moves an offset back.
pub(super) fn commit(consumer: &BaseConsumer<FetchContext>, kind: TopicKind, arrivals: &Arrivals) {
    let commits = arrivals.inbox().commits(kind);
    if commits.is_empty() {
        return;
    }
    let mut list = TopicPartitionList::with_capacity(commits.len());
    let topic = &consumer.context().topic;
    for (partition, offset) in commits {
        if list.add_partition_offset(topic, partition, Offset::Offset(offset)).is_err() {
            debug!("offset {offset} cannot be committed");
        }
    }
    match consumer.commit(&list, CommitMode::Async) {
        Ok(()) => {
            consumer.context().commits.fetch_add(1, Ordering::AcqRel);
        }
        Err(error) => {
            debug!("could not commit offsets of {topic}: {error}");
            arrivals.inbox().uncommitted(kind);
        }
    }
}

pub(super) struct FetchContext {
    events: ClientEvents,
    kind: TopicKind,
    topic: String,
    group: String,
    arrivals: Arc<Arrivals>,
    pub is_paused: AtomicBool,
    /// Commits that are not answered yet.
    pub commits: AtomicUsize,
}

impl FetchContext {
    pub fn new(kind: TopicKind, topic: String, group: String, arrivals: Arc<Arrivals>) -> Self {
        let events = ClientEvents { health: Arc::clone(&arrivals.health) };
        Self { events, kind, topic, group, arrivals, is_paused: AtomicBool::new(false), commits: AtomicUsize::new(0) }
    }
}

impl ClientContext for FetchContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        ClientEvents::log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.events.error(&error, reason);
    }
}

impl ConsumerContext for FetchContext {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let numbers = |list: &TopicPartitionList| -> Vec<i32> {
            list.elements().iter().map(TopicPartitionListElem::partition).collect()
        };
        match rebalance {
            Rebalance::Assign(list) => {
                let partitions = numbers(list);
                debug!("assigned {partitions:?} of {}", self.kind.as_str());
                self.arrivals
                    .change(|inbox| partitions.iter().for_each(|partition| _ = inbox.assigned(self.kind, *partition)));
                if !partitions.is_empty() {
                    self.arrivals.health.rebalances.fetch_add(1, Ordering::Relaxed);
                }
                self.arrivals.health.granted(&[Right::ReadGroup(self.group.clone())]);
            }
            Rebalance::Revoke(list) => {
                let partitions = numbers(list);
                debug!("revoked {partitions:?} of {}", self.kind.as_str());
                // Lost ones are another's already: what we say of them would be refused.
                if !consumer.assignment_lost() {
                    commit(consumer, self.kind, &self.arrivals);
                }
                self.arrivals.change(|inbox| inbox.revoked(self.kind, &partitions));
                if !partitions.is_empty() {
                    self.arrivals.health.rebalances.fetch_add(1, Ordering::Relaxed);
                }
            }
            Rebalance::Error(error) => info!("a rebalance of {} failed: {error}", self.kind.as_str()),
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(list) = rebalance
            && self.is_paused.load(Ordering::Relaxed)
            && consumer.pause(list).is_err()
        {
            // Then they are not, and are paused as the others when there is no room.
            self.is_paused.store(false, Ordering::Relaxed);
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        let _ = self.commits.fetch_update(Ordering::AcqRel, Ordering::Acquire, |commits| commits.checked_sub(1));
        if let Err(error) = result {
            debug!("could not commit offsets of {}: {error}", self.kind.as_str());
            self.arrivals.inbox().uncommitted(self.kind);
        }
    }
}
