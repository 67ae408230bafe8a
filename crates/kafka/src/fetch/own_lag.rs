//! How far this process is behind in the partitions that it has.
//!
//! Brokers that are slow take seconds to answer, and a consumer that asks for no message meanwhile delays jobs. So a look has a
//! thread of its own, for as long as it takes; it ends within three times [`LIMIT`].

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, Scope};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};
use tracing::debug;

use super::context::FetchContext;
use crate::feed::Arrivals;
use crate::topics::TopicKind;

/// How long one answer of the brokers may take.
const LIMIT: Duration = Duration::from_secs(1);

pub(super) struct OwnLag {
    /// Messages that are not settled.
    pub unsettled: u64,
    /// Those of them that have not arrived.
    pub unheard: u64,
}

/// Looks from another thread, and sends what it found.
pub(super) fn look<'scope>(
    scope: &'scope Scope<'scope, '_>,
    consumer: &'scope BaseConsumer<FetchContext>,
    kind: TopicKind,
    topic: &str,
    arrivals: &Arc<Arrivals>,
) -> Option<Receiver<KafkaResult<OwnLag>>> {
    let (answer, answered) = channel();
    let (topic, arrivals) = (topic.to_owned(), Arc::clone(arrivals));
    let name = format!("kafka lag {}", kind.as_str());
    let started = Builder::new().name(name).spawn_scoped(scope, move || {
        // Where nobody waits for it any more, the consumer is on its way out.
        let _ = answer.send(own_lag(consumer, kind, &topic, &arrivals));
    });
    match started {
        Ok(_) => Some(answered),
        Err(error) => {
            debug!("no thread for a look at the lag: {error}");
            None
        }
    }
}

fn own_lag(
    consumer: &BaseConsumer<FetchContext>,
    kind: TopicKind,
    topic: &str,
    arrivals: &Arrivals,
) -> KafkaResult<OwnLag> {
    let partitions = arrivals.inbox().partitions(kind);
    let mut lag = OwnLag { unsettled: 0, unheard: 0 };
    if partitions.is_empty() {
        return Ok(lag);
    }
    let mut asked = TopicPartitionList::with_capacity(partitions.len());
    for partition in &partitions {
        asked.add_partition(topic, *partition);
    }
    let committed = consumer.committed_offsets(asked.clone(), LIMIT)?;
    let at = |offset| -> KafkaResult<TopicPartitionList> {
        let mut asked = asked.clone();
        asked.set_all_offsets(offset)?;
        consumer.offsets_for_times(asked, LIMIT)
    };
    let ends = at(Offset::End)?;
    let mut firsts = None;
    for end in ends.elements() {
        let Offset::Offset(end_offset) = end.offset() else { continue };
        let found = arrivals.inbox().positions(kind, end.partition());
        let (next, position) = if let Some(positions) = found {
            positions
        } else if let Some(offset) = offset_in(&committed, topic, end.partition()) {
            (offset, offset)
        } else {
            // Nothing was ever taken from it. They are asked for together, for each answer may take its time.
            if firsts.is_none() {
                firsts = Some(at(Offset::Beginning)?);
            }
            let first = firsts.as_ref().and_then(|firsts| offset_in(firsts, topic, end.partition())).unwrap_or(0);
            (first, first)
        };
        lag.unsettled += (end_offset - position).max(0) as u64;
        lag.unheard += (end_offset - next).max(0) as u64;
    }
    Ok(lag)
}

fn offset_in(list: &TopicPartitionList, topic: &str, partition: i32) -> Option<i64> {
    match list.find_partition(topic, partition)?.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    }
}
