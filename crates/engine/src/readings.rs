//! What the bookkeeper has counted and seen, for metrics: never computed when somebody scrapes.
//!
//! The counts are of what this process booked since it started: each move of a job is booked once, by the process that leads, so a
//! sum over processes is right. How deep queues are is what the last look saw, at most about a minute ago; only the process that
//! leads knows, and forgets it with its term.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::ports::{Depth, WaitingCounts};
use foreman_core::statistics::{BucketEntry, Slot, Tally};

/// How all queues together are named that are not named. A queue that a user calls so is summed with them.
pub const OTHER: &str = "other";

/// Told by the bookkeeper, read by anyone.
#[derive(Clone, Debug, Default)]
pub struct Readings(Arc<Mutex<ReadingsSnapshot>>);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingsSnapshot {
    /// Of the user's jobs, of all tenants and queues together.
    pub tally: Tally,
    /// The busiest queues, each with the jobs of all tenants. Empty while this process does not lead.
    pub queues: Vec<QueueReading>,
    /// All others together; `None` where this process does not lead, or there are no others.
    pub others: Option<QueueReading>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueReading {
    /// Empty for all others together.
    pub queue: String,
    pub waiting: WaitingCounts,
    pub running: u64,
    /// How long the oldest due job had been waiting.
    pub oldest_wait: Option<Duration>,
}

impl QueueReading {
    fn add(&mut self, depth: &QueueReading) {
        self.waiting.scheduled += depth.waiting.scheduled;
        self.waiting.pending += depth.waiting.pending;
        self.waiting.retrying += depth.waiting.retrying;
        self.running += depth.running;
        self.oldest_wait = self.oldest_wait.max(depth.oldest_wait);
    }
}

impl Readings {
    pub fn get(&self) -> ReadingsSnapshot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// These were booked.
    pub fn count(&self, entries: &[BucketEntry]) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Each move is in four entries; this is the one of all the user's queues together.
        for entry in entries.iter().filter(|entry| entry.queue.is_none() && entry.slot == Slot::Minute) {
            seen.tally.add(&entry.tally);
        }
    }

    /// How deep queues are. The `most` with most jobs due or running are told by name.
    pub fn see(&self, depths: &[Depth], most: usize) {
        let mut of_queues: BTreeMap<&str, QueueReading> = BTreeMap::new();
        for Depth { queue, waiting, running, oldest_wait, .. } in depths {
            let name = queue.as_str();
            let one =
                QueueReading { queue: name.into(), waiting: *waiting, running: *running, oldest_wait: *oldest_wait };
            match of_queues.get_mut(name) {
                Some(sum) => sum.add(&one),
                None => drop(of_queues.insert(name, one)),
            }
        }
        let mut queues: Vec<QueueReading> = of_queues.into_values().collect();
        // By name where they are equal: the order they come in.
        queues.sort_by_key(|one| std::cmp::Reverse((one.waiting.pending + one.running, one.waiting.total())));
        let mut rest: Vec<QueueReading> = queues.extract_if(.., |one| one.queue == OTHER).collect();
        rest.extend(queues.split_off(most.min(queues.len())));
        let others = (!rest.is_empty()).then(|| {
            let mut others = QueueReading::default();
            for one in &rest {
                others.add(one);
            }
            others
        });
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.queues, seen.others) = (queues, others);
    }

    /// This process does not lead, and does not know.
    pub fn forget(&self) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.queues, seen.others) = (Vec::new(), None);
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::TenantId;
    use foreman_core::job::QueueName;

    use super::*;

    fn depth(tenant: &str, queue: &str, pending: u64, oldest: Option<u64>) -> Depth {
        Depth {
            tenant: TenantId::new(tenant),
            queue: QueueName::from_stored(queue),
            waiting: WaitingCounts { pending, scheduled: 1, retrying: 0 },
            running: 1,
            oldest_wait: oldest.map(Duration::from_secs),
        }
    }

    #[test]
    fn the_busiest_queues_are_named_and_the_others_summed() {
        let readings = Readings::default();
        let depths = [
            depth("a", "mail", 5, Some(10)),
            depth("b", "mail", 1, Some(70)),
            depth("a", "video", 3, None),
            depth("a", "rare", 0, Some(900)),
            depth("a", "seldom", 1, Some(3)),
        ];
        readings.see(&depths, 2);
        let seen = readings.get();
        let named: Vec<_> =
            seen.queues.iter().map(|one| (one.queue.as_str(), one.waiting.pending, one.running)).collect();
        assert_eq!(named, [("mail", 6, 2), ("video", 3, 1)]);
        assert_eq!(seen.queues[0].oldest_wait, Some(Duration::from_secs(70)), "of whatever tenant");
        let others = seen.others.expect("two others");
        assert_eq!((others.waiting.pending, others.waiting.scheduled, others.running), (1, 2, 2));
        assert_eq!(others.oldest_wait, Some(Duration::from_mins(15)), "an old job is not lost among the others");
        readings.see(&[depth("a", OTHER, 9, None), depth("a", "mail", 1, None), depth("a", "rare", 0, None)], 1);
        let (named, others) = (readings.get().queues, readings.get().others.expect("two others"));
        assert_eq!((named[0].queue.as_str(), others.waiting.pending, others.running), ("mail", 9, 2));
        readings.see(&depths, 10);
        assert_eq!((readings.get().queues.len(), readings.get().others), (4, None));
        readings.see(&depths, 0);
        assert_eq!((readings.get().queues.len(), readings.get().others.map(|others| others.running)), (0, Some(5)));
        readings.forget();
        assert_eq!((readings.get().queues.len(), readings.get().others), (0, None));
    }

    #[test]
    fn a_job_is_counted_once_however_many_buckets_it_is_in() {
        let readings = Readings::default();
        let entry = |queue: Option<&str>, slot, completed| BucketEntry {
            tenant: TenantId::default(),
            queue: queue.map(QueueName::from_stored),
            slot,
            at: foreman_core::Timestamp::from_micros(0),
            tally: Tally { completed, ..Tally::default() },
        };
        let both = [Slot::Minute, Slot::Hour].map(|slot| [entry(Some("q"), slot, 1), entry(None, slot, 1)]);
        readings.count(&both.concat());
        readings.count(&[entry(None, Slot::Minute, 2)]);
        assert_eq!(readings.get().tally.completed, 3);
    }
}
