//! The reference store: every port's promises kept in plain data structures, under one lock.
//!
//! It is what the engine's and the API's tests run on, what `foreman dev --store memory` keeps its jobs in, and the
//! shortest statement of what a store means. One lock makes every verb one transaction; what dies with the process is
//! all of it.

mod cancel;
mod claim;
mod clock;
mod keys;
mod lists;
mod passes;
mod places;
mod redrive;
mod rules;
mod schedules;
mod sessions;
mod settle;
mod statistics;
mod submit;
mod tenants;
mod trail;
mod upkeep;
mod views;
mod wakeups;
mod webhooks;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::id::{JobId, SessionId, TenantId, WebhookId};
use crate::job::{NewJob, QueueName};
use crate::ports::{
    Bucket, CancelAnswer, ClaimAnswer, ClaimRequest, CreateWebhookAnswer, Delivery, DeliveryNote, Depth, Endpoints,
    JobStore, Leader, NewDelivery, NewWebhook, Position, Posted, Range, RedriveAnswer, RemoveAnswer, Round, Settled,
    Settlement, StatisticsStore, StoreError, Stretch, Submitted, UpdateWebhookAnswer, Wakeups, WebhookStore,
    WebhookUpdate,
};
use crate::statistics::{Known, Tally};
use crate::time::{Clock, Timestamp};
use crate::webhook::Webhook;

pub use clock::ManualClock;
use places::Places;
#[cfg(feature = "conformance")]
pub use rules::Rule;
pub use wakeups::LocalWakeups;

#[derive(Clone)]
pub struct Store {
    places: Arc<Mutex<Places>>,
    clock: Arc<dyn Clock>,
    wakeups: Arc<dyn Wakeups>,
}

impl Store {
    pub fn new(clock: Arc<dyn Clock>, wakeups: Arc<dyn Wakeups>) -> Self {
        Self { places: Arc::default(), clock, wakeups }
    }

    /// The same store with one rule taken away, to prove that the suites notice.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).rules.take_away(rule);
        self
    }

    /// One transaction: everything under the lock, the bells after it.
    fn write<T>(&self, verb: impl FnOnce(&mut Places, Timestamp) -> T) -> T {
        let (answer, rung) = {
            // A panic under the lock can only come from a broken rule, which the audit will name.
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.now();
            let answer = verb(&mut places, now);
            places.commit(now);
            (answer, std::mem::take(&mut places.rung))
        };
        for topic in rung {
            self.wakeups.ring(topic);
        }
        answer
    }

    fn read<T>(&self, question: impl FnOnce(&Places, Timestamp) -> T) -> T {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        question(&places, self.clock.now())
    }
}

#[async_trait]
impl JobStore for Store {
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        Ok(self.write(|places, now| jobs.iter().map(|job| places.submit(job, now)).collect()))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
        Ok(self.write(|places, now| places.claim(request, now)))
    }

    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        Ok(self.write(|places, now| settlements.iter().map(|one| places.settle(session, one, now)).collect()))
    }

    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError> {
        Ok(self.write(|places, now| ids.iter().map(|id| places.cancel(tenant, *id, now)).collect()))
    }

    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
        Ok(self.write(|places, now| ids.iter().map(|id| places.redrive(tenant, *id, now)).collect()))
    }

    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError> {
        Ok(self.write(|places, now| ids.iter().map(|id| places.remove(tenant, *id, now)).collect()))
    }

    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        Ok(self.write(|places, now| places.pause(tenant, queue, now)))
    }

    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        Ok(self.write(|places, now| places.resume(tenant, queue, now)))
    }
}

#[async_trait]
impl StatisticsStore for Store {
    async fn bookkeeper(&self) -> Result<Position, StoreError> {
        Ok(self.read(|places, _| places.books.bookkeeper()))
    }

    /// There are no terms: one process has it for itself.
    async fn book(&self, _leader: Option<&Leader>, stretch: &Stretch) -> Result<Option<Posted>, StoreError> {
        Ok(Some(self.write(|places, _| places.books.book(stretch))))
    }

    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        Ok(self.read(Places::depths))
    }

    async fn known_depths(&self) -> Result<Vec<Known>, StoreError> {
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

#[async_trait]
impl WebhookStore for Store {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_webhook(new, now)))
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        Ok(self.read(|places, _| places.webhook(tenant, id)))
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.read(|places, _| places.webhooks(tenant, after, limit)))
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        Ok(Endpoints { readable: self.read(|places, _| places.webhooks_of(tenants)), unreadable: Vec::new() })
    }

    async fn update_webhook(&self, update: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        Ok(self.write(|places, now| places.update_webhook(update, now)))
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        Ok(self.write(|places, _| places.delete_webhook(tenant, id)))
    }

    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.write(|places, now| notes.iter().filter_map(|note| places.note_delivery(note, now)).collect()))
    }

    async fn courier(&self) -> Result<Position, StoreError> {
        Ok(self.write(|places, _| places.courier()))
    }

    async fn dismiss_courier(&self) -> Result<(), StoreError> {
        self.write(|places, _| places.dismiss_courier());
        Ok(())
    }

    /// There are no terms: one process has it for itself.
    async fn post(&self, _leader: Option<&Leader>, round: &Round) -> Result<Option<Posted>, StoreError> {
        Ok(Some(self.write(|places, now| places.post(round, now))))
    }

    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError> {
        self.write(|places, now| places.deliver(delivery, now));
        Ok(())
    }

    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        Ok(self.read(|places, _| places.with_callback(jobs)))
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        Ok(self.read(|places, _| places.deliveries(tenant, webhook, before, limit)))
    }

    async fn delivery(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        job: JobId,
    ) -> Result<Option<Delivery>, StoreError> {
        Ok(self.read(|places, _| places.delivery(tenant, webhook, job)))
    }
}
