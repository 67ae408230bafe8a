//! Numbers over time, and the bookkeeper's place in the log.

use std::collections::BTreeMap;

use super::places::Places;
use crate::id::TenantId;
use crate::job::QueueName;
use crate::ports::{Bucket, Depth, Position, Posted, Range, Stretch};
use crate::statistics::{Slot, Tally};
use crate::time::Timestamp;

#[derive(Default)]
pub(super) struct Books {
    bookkeeper: Position,
    tallies: BTreeMap<(Slot, Timestamp, TenantId, Option<QueueName>), Tally>,
}

impl Books {
    pub fn bookkeeper(&self) -> Position {
        self.bookkeeper
    }

    pub fn book(&mut self, stretch: &Stretch) -> Posted {
        if self.bookkeeper != stretch.from {
            return Posted::Overtaken;
        }
        self.bookkeeper = stretch.to;
        for entry in &stretch.entries {
            let place = (entry.slot, entry.at, entry.tenant.clone(), entry.queue.clone());
            self.tallies.entry(place).or_default().add(&entry.tally);
        }
        Posted::Done
    }

    pub fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Vec<Bucket> {
        let own = self.of(tenant, range).filter(|(queue, _, _)| **queue == range.queue);
        own.take(limit).map(|(_, at, tally)| Bucket { at, tally: tally.clone() }).collect()
    }

    pub fn by_queue(&self, tenant: &TenantId, range: &Range, limit: usize) -> Vec<(QueueName, Tally)> {
        let mut sums: BTreeMap<QueueName, Tally> = BTreeMap::new();
        for (queue, _, tally) in self.of(tenant, range) {
            if let Some(queue) = queue {
                sums.entry(queue.clone()).or_default().add(tally);
            }
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

    pub fn prune(&mut self, until: Timestamp, limit: usize) -> usize {
        let old: Vec<_> = self.tallies.keys().filter(|place| place.1 <= until).take(limit).cloned().collect();
        for place in &old {
            self.tallies.remove(place);
        }
        old.len()
    }
}

impl Places {
    pub fn depths(&self) -> Vec<Depth> {
        let mut depths: BTreeMap<(TenantId, QueueName), (u64, u64)> = BTreeMap::new();
        let place = |id| {
            let job = self.job(id);
            (job.tenant.clone(), job.work.queue.clone())
        };
        for id in self.ready.keys() {
            depths.entry(place(*id)).or_default().0 += 1;
        }
        for id in self.claims.values().flat_map(|claim| &claim.open) {
            depths.entry(place(*id)).or_default().1 += 1;
        }
        let depths = depths.into_iter();
        depths.map(|((tenant, queue), (waiting, running))| Depth { tenant, queue, waiting, running }).collect()
    }
}
