//! Which waiting jobs a broker has been told of.
//!
//! The mark lies on the waiting job, so that it ends when the job leaves `ready` and none is there when it returns. A batch
//! names its jobs, and counts those alone that still bear its own mark.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;

use super::Store;
use super::places::{Places, line_of};
use crate::id::{ClaimToken, JobId, SessionId, TenantId};
use crate::job::QueueName;
use crate::ports::{
    AnnounceRequest, AnnounceStore, AnnouncedBatch, Announcement, BatchNumber, ClaimRequest, Company, Consumer,
    Headroom, LaneCounts, PARKED_BYTES, PARKED_KEPT, ParkedMessage, ParkedView, Queues, Refusal, RefusedJob,
    SessionState, StoreError, Unannounced, WantedJobs, pause_after,
};
use crate::time::Timestamp;

/// So many batches are forgotten by one call.
const FORGOTTEN_AT_ONCE: usize = 16;

/// So many jobs are counted that wait to be announced.
const ENOUGH: u64 = 10_000;

/// What is known of the announcement of a waiting job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub batch: Option<BatchNumber>,
    /// How often it was refused, or could not be sent, since it came.
    refusals: u32,
    /// Not announced before.
    not_before: Option<Timestamp>,
}

impl Mark {
    fn refused(&mut self, now: Timestamp) {
        self.batch = None;
        self.refusals = self.refusals.saturating_add(1);
        self.not_before = Some(now.plus(pause_after(self.refusals)));
    }
}

/// Among which jobs to choose.
#[derive(Clone, Copy)]
pub(super) enum Candidates {
    All,
    Unannounced,
    /// Neither announced nor in a pause.
    Announceable,
}

impl Candidates {
    pub fn has(self, mark: &Mark, now: Timestamp) -> bool {
        match self {
            Candidates::All => true,
            Candidates::Unannounced => mark.batch.is_none(),
            Candidates::Announceable => mark.batch.is_none() && mark.not_before.is_none_or(|time| time <= now),
        }
    }
}

/// Batches, and messages that could not be read.
#[derive(Default)]
pub(super) struct AnnouncedJobs {
    batches: BTreeMap<BatchNumber, BatchRow>,
    last_batch: i64,
    parked: BTreeMap<i64, ParkedView>,
    last_parked: i64,
}

struct BatchRow {
    at: Timestamp,
    is_acknowledged: bool,
    jobs: Vec<JobId>,
}

#[async_trait]
impl AnnounceStore for Store {
    async fn announce(&self, request: &AnnounceRequest) -> Result<Option<AnnouncedBatch>, StoreError> {
        Ok(self.write(|places, now| places.announce(request, now)))
    }

    async fn acknowledge(&self, batch: BatchNumber, failed: &[usize]) -> Result<(), StoreError> {
        self.write(|places, now| places.acknowledge(batch, failed, now));
        Ok(())
    }

    async fn outstanding(&self) -> Result<LaneCounts, StoreError> {
        Ok(self.write(|places, _| places.outstanding()))
    }

    async fn reannounce(&self, unanswered: Duration, unclaimed: Duration) -> Result<usize, StoreError> {
        Ok(self.write(|places, now| places.reannounce(now.minus(unanswered), now.minus(unclaimed))))
    }

    async fn unannounced(&self, request: &AnnounceRequest) -> Result<Unannounced, StoreError> {
        Ok(self.read(|places, now| places.unannounced(request, now)))
    }

    async fn consumers(&self) -> Result<Vec<Consumer>, StoreError> {
        Ok(self.read(Places::consumers))
    }

    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError> {
        self.write(|places, now| messages.iter().for_each(|message| places.announced.park(message, now)));
        Ok(())
    }

    async fn parked(&self, before: Option<i64>, limit: usize) -> Result<Vec<ParkedView>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let page = |places: &Places| {
            places.announced.parked.range(..before).rev().take(limit).map(|(_, view)| view.clone()).collect()
        };
        Ok(self.read(|places, _| page(places)))
    }
}

impl Places {
    fn announce(&mut self, request: &AnnounceRequest, now: Timestamp) -> Option<AnnouncedBatch> {
        let rooms = self.rooms_left(&request.rooms);
        let (chosen, _) = self.choose(&as_claim(request, rooms), Candidates::Announceable, now);
        if chosen.is_empty() {
            return None;
        }
        self.announced.last_batch += 1;
        let number = BatchNumber(self.announced.last_batch);
        let has_more = chosen.len() >= request.limit;
        let jobs = chosen.iter().map(|id| self.mark(*id, number)).collect();
        self.announced.batches.insert(number, BatchRow { at: now, is_acknowledged: false, jobs: chosen });
        Some(AnnouncedBatch { number, jobs, has_more })
    }

    /// What is announced and waits is about to run.
    fn rooms_left(&self, rooms: &[Headroom]) -> Vec<Headroom> {
        let announced_of = |tenant: &TenantId| {
            self.ready.iter().filter(|(id, row)| row.mark.batch.is_some() && self.jobs[id].tenant == *tenant).count()
        };
        let left = |room: &Headroom| {
            let announced = u32::try_from(announced_of(&room.tenant)).unwrap_or(u32::MAX);
            Headroom { tenant: room.tenant.clone(), jobs: room.jobs.saturating_sub(announced) }
        };
        rooms.iter().map(left).collect()
    }

    fn mark(&mut self, id: JobId, number: BatchNumber) -> Announcement {
        let job = self.job(id);
        let waiting = self.ready.get_mut(&id).expect("chosen from `ready` under the same lock");
        waiting.mark.batch = Some(number);
        let (key, attempt) = (waiting.key, waiting.counters.attempt);
        if let Some(key) = key {
            self.served(line_of(&job), key, true);
        }
        let (route, weight) = (job.work.target.route(), self.tenants.weight(&job.tenant));
        self.turns.took(job.work.lane, &route, &job.work.queue, &job.tenant, weight);
        Announcement {
            job: id,
            attempt,
            lane: job.work.lane,
            tenant: job.tenant,
            queue: job.work.queue.clone(),
            route,
            correlation_id: job.work.correlation_id.clone(),
        }
    }

    fn acknowledge(&mut self, number: BatchNumber, failed: &[usize], now: Timestamp) {
        let Some(batch) = self.announced.batches.get_mut(&number).filter(|batch| !batch.is_acknowledged) else {
            return;
        };
        batch.is_acknowledged = true;
        for id in failed.iter().filter_map(|place| batch.jobs.get(*place)) {
            if let Some(waiting) = self.ready.get_mut(id).filter(|waiting| waiting.mark.batch == Some(number)) {
                waiting.mark.refused(now);
            }
        }
    }

    fn outstanding(&mut self) -> LaneCounts {
        let mut counts = LaneCounts::default();
        let mut waiting_of: BTreeMap<BatchNumber, usize> = BTreeMap::new();
        for (number, batch) in &self.announced.batches {
            for id in batch.jobs.iter().filter(|id| self.is_marked(**id, *number)) {
                counts.add(self.jobs[id].work.lane, 1);
                *waiting_of.entry(*number).or_default() += 1;
            }
        }
        self.announced.batches.retain(|number, batch| !batch.is_acknowledged || waiting_of.contains_key(number));
        counts
    }

    fn is_marked(&self, id: JobId, number: BatchNumber) -> bool {
        self.ready.get(&id).is_some_and(|waiting| waiting.mark.batch == Some(number))
    }

    fn reannounce(&mut self, unanswered: Timestamp, unclaimed: Timestamp) -> usize {
        let is_over = |batch: &BatchRow| batch.at <= unclaimed || !batch.is_acknowledged && batch.at <= unanswered;
        let over = self.announced.batches.iter().filter(|(_, batch)| is_over(batch));
        let over: Vec<BatchNumber> = over.map(|(number, _)| *number).take(FORGOTTEN_AT_ONCE).collect();
        let mut unmarked = 0;
        for number in over {
            let Some(batch) = self.announced.batches.remove(&number) else { continue };
            for id in batch.jobs {
                if let Some(waiting) = self.ready.get_mut(&id).filter(|waiting| waiting.mark.batch == Some(number)) {
                    waiting.mark.batch = None;
                    unmarked += 1;
                }
            }
        }
        unmarked
    }

    fn unannounced(&self, request: &AnnounceRequest, now: Timestamp) -> Unannounced {
        let (asked, mut seen) = (as_claim(request, Vec::new()), Unannounced::default());
        for (id, waiting) in self.ready.iter().filter(|(_, waiting)| waiting.mark.batch.is_none()) {
            if !self.may_take(*id, &asked, now) || self.is_fragile(*id) {
                continue;
            }
            if seen.jobs == ENOUGH {
                seen.is_more = true;
                break;
            }
            seen.jobs += 1;
            seen.oldest = Some(seen.oldest.map_or(waiting.run_at, |oldest| oldest.min(waiting.run_at)));
        }
        seen
    }

    fn consumers(&self, now: Timestamp) -> Vec<Consumer> {
        let is_here = |row: &&super::places::SessionRow| {
            row.state == SessionState::Live && row.renewed_at.plus(row.info.ttl) > now
        };
        let consumer = |row: &super::places::SessionRow| {
            let names: Vec<QueueName> = row.info.queues.iter().map(|name| QueueName::from_stored(name)).collect();
            Some(Consumer {
                slots: row.info.slots,
                queues: if names.is_empty() { Queues::All } else { Queues::Named(names) },
                routes: row.info.consumes.clone()?,
            })
        };
        self.sessions.values().filter(is_here).filter_map(consumer).collect()
    }

    /// Those that were refused while they wait are announced again, each after its pause.
    pub fn unmark_refused(&mut self, refused: &[RefusedJob], now: Timestamp) {
        let waiting = refused.iter().filter(|one| matches!(one.why, Refusal::Waits(_)));
        let waiting: BTreeSet<JobId> = waiting.map(|one| one.job).collect();
        for id in waiting {
            if let Some(row) = self.ready.get_mut(&id).filter(|row| row.mark.batch.is_some()) {
                row.mark.refused(now);
            }
        }
    }
}

impl AnnouncedJobs {
    fn park(&mut self, message: &ParkedMessage, now: Timestamp) {
        let place = |of: &ParkedMessage| (of.topic.clone(), of.partition, of.offset);
        if self.parked.values().any(|view| place(&view.message) == place(message)) {
            return;
        }
        let mut message = message.clone();
        message.bytes.truncate(PARKED_BYTES);
        if let Some(key) = &mut message.key {
            key.truncate(PARKED_BYTES);
        }
        message.reason.truncate(message.reason.floor_char_boundary(PARKED_BYTES));
        self.last_parked += 1;
        let number = self.last_parked;
        self.parked.insert(number, ParkedView { number, parked_at: now, message });
    }

    pub fn prune(&mut self, until: Timestamp, limit: usize) -> usize {
        let newest = self.parked.keys().rev().nth(PARKED_KEPT).copied();
        let is_old = |view: &ParkedView| view.parked_at <= until || newest.is_some_and(|first| view.number <= first);
        let old: Vec<i64> =
            self.parked.values().filter(|view| is_old(view)).map(|view| view.number).take(limit).collect();
        for number in &old {
            self.parked.remove(number);
        }
        old.len()
    }
}

/// A choice as a claim by order would make it.
fn as_claim(request: &AnnounceRequest, rooms: Vec<Headroom>) -> ClaimRequest {
    ClaimRequest {
        session: SessionId(uuid::Uuid::nil()),
        token: ClaimToken(uuid::Uuid::nil()),
        wanted: WantedJobs::Unannounced { plan: request.plan.clone(), limit: request.limit },
        queues: request.queues.clone(),
        routes: request.routes.clone(),
        company: Company::Others,
        rooms,
    }
}
