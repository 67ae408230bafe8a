//! How far the consumer groups are behind, whoever is in them: for `foreman doctor`, and for processes that consume nothing.
//!
//! A worker knows the lag of its own partitions without this ([`crate::FetchState::lag`]).

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::time::{Instant, sleep};

use crate::client::{ClientEvents, settings};
use crate::error::Error;
use crate::topics::{TopicKind, Topics, unreachable_by};

/// Between two questions to a broker that does not know yet what it leads.
const A_MOMENT: Duration = Duration::from_millis(50);

/// What a group has not settled of its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLag {
    pub topic: String,
    pub group: String,
    pub messages: u64,
}

impl Topics {
    /// Topic by topic, in the order of [`TopicKind::ALL`]. Asks the brokers, with a connection of its own for each group.
    pub async fn lag(&self) -> Result<Vec<GroupLag>, Error> {
        let mut lags = Vec::new();
        for kind in TopicKind::ALL {
            let (topic, group) = (self.config.topic(kind), self.config.group_of(kind));
            let Some(found) = self.describe(&topic).await? else {
                return Err(Error::Topics(format!("topic {topic} does not exist")));
            };
            let give_up = Instant::now() + self.config.request_timeout;
            let messages = loop {
                match self.ask_lag(&topic, &group, found.partitions).await? {
                    Ok(messages) => break messages,
                    Err(error) if is_moving(&error) && Instant::now() < give_up => sleep(A_MOMENT).await,
                    Err(error) => return Err(unreachable_by(&error)),
                }
            };
            lags.push(GroupLag { topic, group, messages });
        }
        Ok(lags)
    }

    async fn ask_lag(&self, topic: &str, group: &str, partitions: i32) -> Result<KafkaResult<u64>, Error> {
        let mut client: ClientConfig = settings(&self.config);
        client.set("group.id", group);
        let (events, timeout) = (ClientEvents { health: self.health() }, self.config.request_timeout);
        let mut list = TopicPartitionList::new();
        list.add_partition_range(topic, 0, partitions - 1);
        let asked = self.tasks.spawn_blocking("kafka lag", move || -> KafkaResult<u64> {
            // It asks about the group and is no member of it.
            let consumer: BaseConsumer<ClientEvents> = client.create_with_context(events)?;
            let committed = consumer.committed_offsets(list.clone(), timeout)?;
            let at = |offset| -> KafkaResult<TopicPartitionList> {
                let mut list = list.clone();
                list.set_all_offsets(offset)?;
                consumer.offsets_for_times(list, timeout)
            };
            Ok(behind(&committed, &at(Offset::Beginning)?, &at(Offset::End)?))
        });
        asked.await.map_err(|error| Error::Client(error.to_string()))
    }
}

/// The partition has just been created, or goes to another broker: its new leader answers in a moment.
fn is_moving(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{LeaderNotAvailable, NotLeaderForPartition, UnknownPartition, UnknownTopicOrPartition};
    matches!(
        error.rdkafka_error_code(),
        Some(LeaderNotAvailable | NotLeaderForPartition | UnknownPartition | UnknownTopicOrPartition)
    )
}

/// Where nothing was committed, everything that is there is not settled.
fn behind(committed: &TopicPartitionList, first: &TopicPartitionList, end: &TopicPartitionList) -> u64 {
    let offset_in =
        |list: &TopicPartitionList, topic: &str, partition| match list.find_partition(topic, partition)?.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        };
    let mut messages = 0;
    for partition in end.elements() {
        let Offset::Offset(end) = partition.offset() else { continue };
        let first = offset_in(first, partition.topic(), partition.partition()).unwrap_or(end);
        // Messages that Kafka has deleted are nobody's lag.
        let settled = offset_in(committed, partition.topic(), partition.partition()).unwrap_or(first).max(first);
        messages += (end - settled).max(0) as u64;
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_committed_or_is_deleted_is_counted_as_it_is() {
        let list = |offsets: &[Option<i64>]| {
            let mut list = TopicPartitionList::new();
            for (partition, offset) in offsets.iter().enumerate() {
                let offset = offset.map_or(Offset::Invalid, Offset::Offset);
                list.add_partition_offset("topic", partition as i32, offset).expect("an offset");
            }
            list
        };
        let first = list(&[Some(0), Some(40), Some(40), Some(0)]);
        let end = list(&[Some(10), Some(50), Some(50), Some(0)]);
        let committed = list(&[Some(7), None, Some(20), None]);
        assert_eq!(behind(&committed, &first, &end), 3 + 10 + 10);
    }
}
