//! Numbers over time.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use crate::id::TenantId;
use crate::job::QueueName;
use crate::ports::{Bucket, Depth, Range, StatisticsStore, StoreError, WaitingCounts};
use crate::state::State;
use crate::statistics::{BucketEntry, Level, SampledLevel, Slot, Tally, carry};
use crate::time::Timestamp;

#[async_trait]
impl StatisticsStore for Store {
    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        Ok(self.read(Places::depths))
    }

    async fn known_depths(&self) -> Result<Vec<SampledLevel>, StoreError> {
        Ok(self.read(|places, _| places.books.known_depths()))
    }

    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        Ok(self.read(|places, now| places.books.statistics(tenant, range, limit, now)))
    }

    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError> {
        Ok(self.read(|places, _| places.books.by_queue(tenant, range, limit)))
    }
}

#[derive(Default)]
pub(super) struct Books {
    tallies: BTreeMap<(Slot, Timestamp, TenantId, Option<QueueName>), Tally>,
    /// How deep queues were when last sampled; since when.
    depths: BTreeMap<(TenantId, Option<QueueName>), Level>,
}

impl Books {
    pub fn add(&mut self, entries: &[BucketEntry]) {
        for entry in entries {
            let place = (entry.slot, entry.at, entry.tenant.clone(), entry.queue.clone());
            self.tallies.entry(place).or_default().add(&entry.tally);
            self.note(entry);
        }
    }

    fn note(&mut self, entry: &BucketEntry) {
        let Some(level) = entry.tally.last.filter(|_| entry.slot == Slot::Minute) else { return };
        let place = (entry.tenant.clone(), entry.queue.clone());
        if self.depths.get(&place).is_some_and(|known| known.at_us > level.at_us) {
            return;
        }
        if level.is_empty() {
            self.depths.remove(&place);
        } else {
            self.depths.insert(place, level);
        }
    }

    pub fn known_depths(&self) -> Vec<SampledLevel> {
        let known = self.depths.iter();
        known
            .map(|((tenant, queue), level)| SampledLevel {
                tenant: tenant.clone(),
                queue: queue.clone(),
                level: *level,
            })
            .collect()
    }

    /// How deep a queue was when the range begins.
    fn before(&self, tenant: &TenantId, range: &Range) -> Option<Level> {
        let sampled = |slot: Slot, until: Timestamp| {
            let own = self.tallies.iter().filter(|((of_slot, at, of, queue), _)| {
                *of_slot == slot && *at < until && of == tenant && *queue == range.queue
            });
            own.filter_map(|((_, at, ..), tally)| tally.level(*at)).next_back()
        };
        let current = self.depths.get(&(tenant.clone(), range.queue.clone()));
        current
            .filter(|level| level.at_us <= range.from.as_micros())
            .copied()
            .or_else(|| sampled(range.slot, range.from))
            .or_else(|| sampled(Slot::Hour, Slot::Hour.of(range.from)))
    }

    pub fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize, now: Timestamp) -> Vec<Bucket> {
        let own = self.of(tenant, range).filter(|(queue, _, _)| **queue == range.queue);
        let mut buckets = own.take(limit).map(|(_, at, tally)| Bucket { at, tally: tally.clone() }).collect();
        carry(&mut buckets, range, self.before(tenant, range), now);
        buckets.truncate(limit);
        buckets
    }

    pub fn by_queue(&self, tenant: &TenantId, range: &Range, limit: usize) -> Vec<(QueueName, Tally)> {
        let mut sums: BTreeMap<QueueName, Tally> = BTreeMap::new();
        for (queue, _, tally) in self.of(tenant, range) {
            if let Some(queue) = queue.as_ref().filter(|queue| !queue.is_internal()) {
                sums.entry(queue.clone()).or_default().add(tally);
            }
        }
        for ((of, queue), level) in &self.depths {
            let Some(queue) = queue.as_ref().filter(|_| of == tenant && level.at_us <= range.from.as_micros()) else {
                continue;
            };
            if queue.is_internal() {
                continue;
            }
            sums.entry(queue.clone()).or_default().add(&Tally::idle(*level));
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(queue, tally)| (std::cmp::Reverse(tally.submitted.max(tally.ended())), queue.clone()));
        sums.truncate(limit);
        sums
    }

    fn of<'a>(
        &'a self,
        tenant: &'a TenantId,
        range: &'a Range,
    ) -> impl Iterator<Item = (&'a Option<QueueName>, Timestamp, &'a Tally)> {
        self.tallies
            .iter()
            .filter(move |((slot, at, of, _), _)| {
                *slot == range.slot && of == tenant && *at >= range.from && *at < range.to
            })
            .map(|((_, at, _, queue), tally)| (queue, *at, tally))
    }

    /// Minutes go sooner than hours.
    pub fn prune(&mut self, minutes: Timestamp, hours: Timestamp, limit: usize) -> usize {
        let until = |slot: Slot| if slot == Slot::Minute { minutes } else { hours };
        let old: Vec<_> = self.tallies.keys().filter(|place| place.1 <= until(place.0)).take(limit).cloned().collect();
        for place in &old {
            self.tallies.remove(place);
        }
        old.len()
    }
}

impl Places {
    pub fn depths(&self, now: Timestamp) -> Vec<Depth> {
        let mut depths: BTreeMap<(TenantId, QueueName), Depth> = BTreeMap::new();
        let mut depth_of = |id, note: &dyn Fn(&mut Depth)| {
            let job = self.job(id);
            let (tenant, queue) = (job.tenant.clone(), job.work.queue.clone());
            note(depths.entry((tenant.clone(), queue.clone())).or_insert_with(|| Depth {
                tenant,
                queue,
                waiting: WaitingCounts::default(),
                running: 0,
                oldest_wait: None,
            }));
        };
        for (id, waiting) in &self.ready {
            depth_of(*id, &|depth| match self.state_of(*id, now) {
                State::Scheduled => depth.waiting.scheduled += 1,
                State::Retrying => depth.waiting.retrying += 1,
                _ => {
                    depth.waiting.pending += 1;
                    depth.oldest_wait = depth.oldest_wait.max(Some(now.since(waiting.run_at)));
                }
            });
        }
        for id in self.claims.values().flat_map(|claim| &claim.open) {
            depth_of(*id, &|depth| depth.running += 1);
        }
        depths.into_values().collect()
    }
}
