//! The reference store: every port's promises kept in plain data structures, under one lock.
//!
//! It is what the engine's and the API's tests run on, what `foreman dev --store memory` keeps its jobs in, and the
//! shortest statement of what a store means. One lock makes every verb one transaction; what dies with the process is
//! all of it.

mod announce;
mod ask;
mod audit_log;
mod cancel;
mod claim;
mod clock;
mod followers;
mod keys;
mod limiter;
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
mod upkeep;
mod views;
mod wakeups;
mod webhooks;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::id::{JobId, SessionId, TenantId};
use crate::job::{NewJob, QueueName};
use crate::ports::{
    CancelAnswer, ClaimAnswer, ClaimRequest, JobStore, RedriveAnswer, RemoveAnswer, Settled, Settlement, StoreError,
    Submitted, Wakeups,
};
use crate::time::{Clock, Timestamp};

pub use ask::AskTheStore;
pub use clock::ManualClock;
pub use limiter::LocalLimiter;
use places::Places;
#[cfg(feature = "removable-rules")]
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
    #[cfg(feature = "removable-rules")]
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
