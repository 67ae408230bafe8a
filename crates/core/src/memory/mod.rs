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

use crate::audit::{Act, Entry};
use crate::id::{ClaimToken, EntryId, JobId, ScheduleId, SessionId, TenantId, WebhookId};
use crate::job::{NewJob, QueueName};
use crate::key::{KeyHash, KeyId, KeyRecord};
use crate::ports::{
    AtTheDoor, CreateKeyAnswer, CreateTenantAnswer, DeleteTenantAnswer, KeyStore, NewKey, NewTenant, ReplaceKeyAnswer,
    Replacement, RevokeKeyAnswer, TenantPage, TenantStore, TenantUpdate, UpdateTenantAnswer,
};
use crate::ports::{
    AttemptPage, Audit, CancelAnswer, ChangeLog, Changes, ClaimAnswer, ClaimRequest, CreateAnswer, Cursor,
    DeleteAnswer, Due, DueSchedules, Edit, EditAnswer, Endpoints, Fired, Firing, Heartbeat, JobFilter, JobQuery,
    JobStore, JobSummary, JobView, Leader, OpenJob, Page, Position, PruneKind, PruneStep, Pulse, QueueView,
    RedriveAnswer, RemoveAnswer, Retention, ScheduleStore, ScheduleView, Seen, SessionInfo, SessionStore, SessionView,
    Settled, Settlement, StoreError, Submitted, TickView, Upkeep, WaitingTask, Wakeups,
};
use crate::ports::{
    AuditTrail, CreateWebhookAnswer, Delivery, DeliveryNote, NewDelivery, NewWebhook, Posted, Round,
    UpdateWebhookAnswer, WebhookStore, WebhookUpdate,
};
use crate::ports::{
    Bucket, Counted, Depth, FailureGroups, HeldView, Labels, NewPass, Overdue, Pass, PassStore, Range, StateCounts,
    StatisticsStore, Stretch,
};
use crate::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use crate::state::State;
use crate::statistics::{Known, Tally};
use crate::tenant::Tenant;
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
impl SessionStore for Store {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        self.write(|places, now| places.register(session, now));
        Ok(())
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        Ok(self.write(|places, now| places.heartbeat(session, given_up, now)))
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        Ok(self.read(|places, _| places.open_jobs(session)))
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        Ok(self.write(|places, _| places.drain(session)))
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        Ok(self.write(|places, now| places.end(session, now)))
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        Ok(self.read(Places::pulses))
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        Ok(self.write(|places, now| places.lapse(pulse, now)))
    }
}

#[async_trait]
impl Upkeep for Store {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        Ok(self.write(|places, now| places.promote(limit, now)))
    }

    async fn prune_kind(
        &self,
        _leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError> {
        Ok(Some(self.write(|places, now| places.prune(kind, retention, limit, now))))
    }
}

#[async_trait]
impl JobQuery for Store {
    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        Ok(self.read(|places, now| places.get(tenant, id, now)))
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError> {
        Ok(self.read(|places, _| places.attempts_of(tenant, id, skip)))
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError> {
        Ok(self.read(|places, now| places.list(tenant, filter, after, limit, now)))
    }

    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError> {
        Ok(self.read(|places, now| places.count(tenant, filter, now)))
    }

    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        Ok(self.read(|places, _| places.waiting(tenant).min(enough)))
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        Ok(self.read(|places, _| places.running()))
    }

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError> {
        Ok(self.read(|places, now| places.queue_views(tenant, now)))
    }

    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        Ok(self.read(|places, _| places.session_views()))
    }

    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError> {
        Ok(self.read(|places, now| places.states(tenant, enough, now)))
    }

    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<Counted, StoreError> {
        Ok(self.read(|places, _| places.ended_since(tenant, state, since, enough)))
    }

    async fn waiting_tasks(
        &self,
        tenant: &TenantId,
        limit: usize,
        enough: u64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        Ok(self.read(|places, now| places.waiting_tasks(tenant, limit, enough, now)))
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError> {
        Ok(self.read(|places, _| places.failure_groups(tenant, states, limit, enough)))
    }

    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError> {
        Ok(self.read(|places, _| places.held_by(session, limit)))
    }

    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError> {
        Ok(self.read(|places, _| places.labels(jobs)))
    }

    async fn audit(&self) -> Result<Audit, StoreError> {
        Ok(self.read(|places, _| places.audit()))
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
impl PassStore for Store {
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError> {
        Ok(self.write(|places, now| places.passes.issue(pass, now)))
    }

    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        Ok(self.read(|places, now| places.passes.get(hash, now)))
    }

    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        Ok(self.write(|places, now| places.passes.spend(hash, now)))
    }

    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        Ok(self.write(|places, now| places.passes.revoke(hash, now)))
    }
}

#[async_trait]
impl ChangeLog for Store {
    async fn head(&self) -> Result<Position, StoreError> {
        Ok(self.read(|places, _| places.head()))
    }

    async fn start(&self) -> Result<Position, StoreError> {
        Ok(self.read(|places, _| places.log_start()))
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        Ok(self.read(|places, _| places.changes(after, limit)))
    }
}

#[async_trait]
impl ScheduleStore for Store {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_schedule(new, now)))
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        Ok(self.read(|places, now| places.schedule(tenant, key, now)))
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        Ok(self.read(|places, now| places.schedules(tenant, after, limit, now)))
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        Ok(self.read(|places, now| places.overdue(tenant, enough, now)))
    }

    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError> {
        Ok(self.write(|places, now| places.edit_schedule(tenant, edit, now)))
    }

    async fn delete_schedule(&self, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Result<DeleteAnswer, StoreError> {
        Ok(self.write(|places, now| places.delete_schedule(tenant, id, seen, now)))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        Ok(self.read(|places, now| places.due_schedules(limit, now)))
    }

    /// There are no terms: one process has it for itself.
    async fn fire(&self, _leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        Ok(Some(self.write(|places, now| firings.iter().map(|firing| places.fire(firing, now)).collect())))
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        Ok(self.read(|places, now| places.ticks(schedule, before, limit, now)))
    }
}

#[async_trait]
impl TenantStore for Store {
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_tenant(new, now)))
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        Ok(self.read(|places, _| places.tenant(id)))
    }

    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError> {
        Ok(self.read(|places, _| places.tenants(after, limit)))
    }

    async fn update_tenant(&self, update: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.update_tenant(update, now)))
    }

    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.delete_tenant(id, version, now)))
    }
}

#[async_trait]
impl KeyStore for Store {
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_key(new, now)))
    }

    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        Ok(self.read(|places, _| places.api_key(tenant, id)))
    }

    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        Ok(self.read(|places, _| places.api_keys(tenant, after, limit)))
    }

    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError> {
        Ok(self.read(|places, now| places.look_up_key(id, now)))
    }

    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.revoke_key(tenant, id, now)))
    }

    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.replace_key(tenant, replacement, now)))
    }

    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError> {
        self.write(|places, now| places.note_keys_used(ids, now));
        Ok(())
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

#[async_trait]
impl AuditTrail for Store {
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError> {
        self.write(|places, now| places.keep_act(id, act, now));
        Ok(())
    }

    async fn trail(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        Ok(self.read(|places, _| places.trail(tenant, before, limit)))
    }
}
