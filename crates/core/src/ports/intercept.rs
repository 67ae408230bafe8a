//! The store ports, implemented once around another store and a hook.
//!
//! The store that is measured in production, and the stores of tests that fail, hang, lose answers or count calls, are hooks. A
//! hook sees every call on its way: [`Hook::around`] is given the verb and the call itself, which does nothing until it is
//! awaited. So it can wait first, refuse, measure, look at the answer or drop it. A hook that needs what a verb was given, or
//! what it answers, overrides the method of that name:
//!
//! ```
//! # use foreman_core::ports::intercept::{Call, Hook, Verb};
//! # use foreman_core::ports::{ClaimAnswer, ClaimRequest, StoreError};
//! struct LosesClaims;
//!
//! impl Hook for LosesClaims {
//!     async fn claim(&self, _: &ClaimRequest, call: impl Call<ClaimAnswer>) -> Result<ClaimAnswer, StoreError> {
//!         self.around(Verb::Claim, call).await?;
//!         Err(StoreError::Unavailable("the answer was lost".into()))
//!     }
//! }
//! ```
//!
//! The list at the end of this file names every method of every port once. It makes the verbs, the methods of [`Hook`] and the
//! implementations of the ports; a line that differs from its port does not compile, and a test finds a method without a
//! line. Calls are not boxed again: an intercepted call costs what async-trait costs for one more implementation.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{
    Advance, Advanced, AnnounceRequest, AnnounceStore, AnnouncedBatch, AtTheDoor, AttemptPage, AuditLog, BatchNumber,
    Begin, Bucket, CancelAnswer, Census, ChangeLog, Changes, ClaimAnswer, ClaimRequest, Consumer, Counted,
    CreateAnswer, CreateKeyAnswer, CreateTenantAnswer, CreateWebhookAnswer, Cursor, DeleteAnswer, DeleteTenantAnswer,
    Delivery, DeliveryNote, Depth, Due, DueSchedules, Edit, EditAnswer, Endpoints, FailureGroups, Fired, Firing,
    FollowerName, Followers, Heartbeat, HeldView, JobFilter, JobQuery, JobStore, JobSummary, JobView, KeyStore, Labels,
    LaneCounts, Leader, NewDelivery, NewKey, NewPass, NewTenant, NewWebhook, OpenJob, Overdue, Page, ParkedMessage,
    ParkedView, Pass, PassStore, Position, PruneKind, PruneStep, Pulse, QueueView, Range, RedriveAnswer, RemoveAnswer,
    ReplaceKeyAnswer, Replacement, Retention, RevokeKeyAnswer, ScheduleHead, ScheduleStore, ScheduleView, SeenSchedule,
    SessionInfo, SessionStore, SessionView, Settled, Settlement, StateCounts, StatisticsStore, StoreError, Submitted,
    TenantPage, TenantStore, TenantUpdate, TickView, Unannounced, UpdateTenantAnswer, UpdateWebhookAnswer, Upkeep,
    WaitingTask, WebhookStore, WebhookUpdate,
};
use crate::audit::{Act, AuditEntry};
use crate::id::{ClaimToken, EntryId, JobId, ScheduleId, SessionId, TenantId, WebhookId};
use crate::job::{NewJob, QueueName};
use crate::key::{KeyHash, KeyId, KeyRecord};
use crate::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use crate::state::State;
use crate::statistics::{SampledLevel, Tally};
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::webhook::Webhook;

/// A store with a hook around every call. It implements each port that the inner store implements, and dereferences to its
/// hook, so that a test can speak to both.
pub struct Intercepted<S: ?Sized, H> {
    /// The store without the hook.
    pub inner: Arc<S>,
    hook: H,
}

impl<S: ?Sized, H: Hook> Intercepted<S, H> {
    pub fn new(inner: Arc<S>, hook: H) -> Self {
        Self { inner, hook }
    }
}

impl<S: ?Sized, H: Clone> Clone for Intercepted<S, H> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), hook: self.hook.clone() }
    }
}

impl<S: ?Sized, H> Deref for Intercepted<S, H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.hook
    }
}

/// A call to the inner store. It has not begun; awaiting it makes it.
pub trait Call<T>: Future<Output = Result<T, StoreError>> + Send {}

impl<T, F: Future<Output = Result<T, StoreError>> + Send> Call<T> for F {}

macro_rules! name_of {
    ($method:ident) => {
        stringify!($method)
    };
    ($method:ident $name:literal) => {
        $name
    };
}

macro_rules! intercept {
    ($($port:ident {
        $($($verb:ident $($name:literal)?)? $([$same:ident])? =>
            $method:ident($($argument:ident: $given:ty),*) -> $answer:ty;)+
    })+) => {
        /// What a store was called for. Methods that do the same in another way share a verb.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verb {
            $($($($verb,)?)+)+
        }

        impl Verb {
            /// As the metrics name it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($($(Verb::$verb => name_of!($method $($name)?),)?)+)+
                }
            }
        }

        /// What happens around the calls of a store: [`Hook::around`] all of them, or one method for one of them.
        pub trait Hook: Send + Sync {
            /// Around every call whose own method is not overridden, and around those that are and pass it on to here.
            fn around<T: Send>(
                &self,
                verb: Verb,
                call: impl Call<T>,
            ) -> impl Future<Output = Result<T, StoreError>> + Send {
                let _ = verb;
                call
            }

            $($(fn $method(
                &self,
                $($argument: $given,)*
                call: impl Call<$answer>,
            ) -> impl Future<Output = Result<$answer, StoreError>> + Send {
                $(let _ = $argument;)*
                self.around(Verb::$($verb)? $($same)?, call)
            })+)+
        }

        $(#[async_trait]
        impl<S: $port + ?Sized, H: Hook> $port for Intercepted<S, H> {
            $(async fn $method(&self, $($argument: $given),*) -> Result<$answer, StoreError> {
                self.hook.$method($($argument,)* self.inner.$method($($argument),*)).await
            })+
        })+
    };
}

// Each line: the verb, and the method as its port declares it. The name of a verb is that of its method, unless one is given. A
// verb in brackets has its line elsewhere. `Upkeep::prune` has no line: it is made of calls of `prune_kind`.
intercept! {
    JobStore {
        Submit => submit(jobs: &[NewJob]) -> Vec<Submitted>;
        Claim => claim(request: &ClaimRequest) -> ClaimAnswer;
        Settle => settle(session: SessionId, settlements: &[Settlement]) -> Vec<Settled>;
        Cancel => cancel(tenant: &TenantId, ids: &[JobId]) -> Vec<Option<CancelAnswer>>;
        [Cancel] => cancel_as(leader: &Leader, tenant: &TenantId, ids: &[JobId]) -> Option<Vec<Option<CancelAnswer>>>;
        Redrive => redrive(tenant: &TenantId, ids: &[JobId]) -> Vec<Option<RedriveAnswer>>;
        Remove => remove(tenant: &TenantId, ids: &[JobId]) -> Vec<Option<RemoveAnswer>>;
        Pause => pause(tenant: &TenantId, queue: &QueueName) -> bool;
        Resume => resume(tenant: &TenantId, queue: &QueueName) -> bool;
    }

    SessionStore {
        Register => register(session: &SessionInfo) -> ();
        Heartbeat => heartbeat(session: SessionId, given_up: &[ClaimToken]) -> Heartbeat;
        Held => held(session: SessionId) -> Vec<OpenJob>;
        Drain => drain(session: SessionId) -> bool;
        End => end(session: SessionId) -> usize;
        Pulses => pulses() -> Vec<Pulse>;
        Lapse => lapse(pulse: Pulse) -> Option<usize>;
    }

    Upkeep {
        Promote => promote(limit: usize) -> Due;
        Prune "prune" => prune_kind(
            leader: Option<&Leader>, kind: PruneKind, retention: &Retention, limit: usize
        ) -> Option<PruneStep>;
    }

    JobQuery {
        Ping => ping() -> ();
        Get => get(tenant: &TenantId, id: JobId) -> Option<JobView>;
        EndedAtOnce => ended_at_once(jobs: &[JobId]) -> Vec<JobView>;
        Attempts => attempts(tenant: &TenantId, id: JobId, skip: usize) -> Option<AttemptPage>;
        List => list(
            tenant: &TenantId, filter: &JobFilter, after: Option<&Cursor>, limit: usize
        ) -> Page<JobSummary>;
        Count => count(tenant: &TenantId, filter: &JobFilter) -> u64;
        Waiting => waiting(tenant: &TenantId, enough: u64) -> u64;
        WaitingQueues => waiting_queues(tenant: &TenantId, enough: u64) -> u64;
        WaitingIn => waiting_in(tenant: &TenantId, queues: &[QueueName]) -> Vec<QueueName>;
        Running => running() -> Vec<(TenantId, u64)>;
        FleetSlots => fleet_slots() -> u64;
        Queues => queues(tenant: &TenantId) -> Vec<QueueView>;
        Sessions => sessions() -> Vec<SessionView>;
        States => states(tenant: &TenantId, enough: u64) -> StateCounts;
        EndedSince => ended_since(tenant: &TenantId, state: State, since: Timestamp, enough: u64) -> Counted;
        WaitingTasks => waiting_tasks(tenant: &TenantId, limit: usize, enough: u64) -> Vec<WaitingTask>;
        FailureGroups => failure_groups(
            tenant: &TenantId, states: &[State], limit: usize, enough: u64
        ) -> FailureGroups;
        HeldBy => held_by(session: SessionId, limit: usize) -> Vec<HeldView>;
        Labels => labels(jobs: &[JobId]) -> Vec<Labels>;
        Census => census() -> Census;
    }

    ChangeLog {
        Head => head() -> Position;
        Last => last() -> Position;
        Start => start() -> Position;
        Changes => changes(after: Position, limit: usize) -> Changes;
    }

    Followers {
        Follow => follow(leader: Option<&Leader>, follower: &FollowerName, begin: Begin) -> Option<Position>;
        Advance => advance(leader: Option<&Leader>, advance: &Advance) -> Option<Advanced>;
        Dismiss => dismiss(leader: Option<&Leader>, follower: &FollowerName) -> Option<()>;
    }

    ScheduleStore {
        Time => time() -> Timestamp;
        CreateSchedule => create_schedule(new: &NewSchedule) -> CreateAnswer;
        Schedule => schedule(tenant: &TenantId, key: &ScheduleKey) -> Option<ScheduleView>;
        ScheduleHead => schedule_head(tenant: &TenantId, key: &ScheduleKey) -> Option<ScheduleHead>;
        Schedules => schedules(tenant: &TenantId, after: Option<&ScheduleName>, limit: usize) -> Vec<ScheduleView>;
        CountSchedules => count_schedules(tenant: &TenantId, enough: u64) -> u64;
        Overdue => overdue(tenant: &TenantId, enough: u64) -> Overdue;
        EditSchedule => edit_schedule(tenant: &TenantId, edit: &Edit) -> EditAnswer;
        DeleteSchedule => delete_schedule(tenant: &TenantId, id: ScheduleId, seen: SeenSchedule) -> DeleteAnswer;
        DueSchedules => due_schedules(limit: usize) -> DueSchedules;
        Fire => fire(leader: Option<&Leader>, firings: &[Firing]) -> Option<Vec<Fired>>;
        Ticks => ticks(schedule: ScheduleId, before: Option<Timestamp>, limit: usize) -> Vec<TickView>;
    }

    StatisticsStore {
        Depths => depths() -> Vec<Depth>;
        KnownDepths => known_depths() -> Vec<SampledLevel>;
        Statistics => statistics(tenant: &TenantId, range: &Range, limit: usize) -> Vec<Bucket>;
        StatisticsByQueue => statistics_by_queue(
            tenant: &TenantId, range: &Range, limit: usize
        ) -> Vec<(QueueName, Tally)>;
    }

    AnnounceStore {
        Announce => announce(request: &AnnounceRequest) -> Option<AnnouncedBatch>;
        Acknowledge => acknowledge(batch: BatchNumber, failed: &[usize]) -> ();
        Outstanding => outstanding() -> LaneCounts;
        Reannounce => reannounce(unanswered: Duration, unclaimed: Duration) -> usize;
        Unannounced => unannounced(request: &AnnounceRequest) -> Unannounced;
        Consumers => consumers() -> Vec<Consumer>;
        Park => park(messages: &[ParkedMessage]) -> ();
        Parked => parked(before: Option<i64>, limit: usize) -> Vec<ParkedView>;
    }

    TenantStore {
        CreateTenant => create_tenant(new: &NewTenant) -> CreateTenantAnswer;
        Tenant => tenant(id: &TenantId) -> Option<Tenant>;
        Tenants => tenants(after: Option<&TenantId>, limit: usize) -> TenantPage;
        UpdateTenant => update_tenant(update: &TenantUpdate) -> UpdateTenantAnswer;
        DeleteTenant => delete_tenant(id: &TenantId, version: i64) -> DeleteTenantAnswer;
    }

    KeyStore {
        CreateKey => create_key(new: &NewKey) -> CreateKeyAnswer;
        Key => key(tenant: &TenantId, id: &KeyId) -> Option<KeyRecord>;
        Keys => keys(tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Vec<KeyRecord>;
        LookUpKey => look_up_key(id: &KeyId) -> Option<AtTheDoor>;
        RevokeKey => revoke_key(tenant: &TenantId, id: &KeyId) -> RevokeKeyAnswer;
        ReplaceKey => replace_key(tenant: &TenantId, replacement: &Replacement) -> ReplaceKeyAnswer;
        NoteKeysUsed => note_keys_used(ids: &[KeyId]) -> ();
    }

    PassStore {
        IssuePass => issue_pass(pass: &NewPass) -> Timestamp;
        Pass => pass(hash: &KeyHash) -> Option<Pass>;
        SpendTicket => spend_ticket(hash: &KeyHash) -> Option<Pass>;
        RevokePass => revoke_pass(hash: &KeyHash) -> bool;
    }

    WebhookStore {
        CreateWebhook => create_webhook(new: &NewWebhook) -> CreateWebhookAnswer;
        Webhook => webhook(tenant: &TenantId, id: WebhookId) -> Option<Webhook>;
        Webhooks => webhooks(tenant: &TenantId, after: Option<WebhookId>, limit: usize) -> Vec<Webhook>;
        WebhooksOf => webhooks_of(tenants: &[TenantId]) -> Endpoints;
        UpdateWebhook => update_webhook(update: &WebhookUpdate) -> UpdateWebhookAnswer;
        DeleteWebhook => delete_webhook(tenant: &TenantId, id: WebhookId) -> bool;
        NoteDeliveries => note_deliveries(notes: &[DeliveryNote]) -> Vec<Webhook>;
        [NoteDeliveries] => note_deliveries_as(leader: &Leader, notes: &[DeliveryNote]) -> Option<Vec<Webhook>>;
        PostOne => post_one(delivery: &NewDelivery) -> ();
        WithCallback => with_callback(jobs: &[JobId]) -> Vec<JobId>;
        Deliveries => deliveries(
            tenant: &TenantId, webhook: WebhookId, before: Option<JobId>, limit: usize
        ) -> Vec<Delivery>;
        Delivery => delivery(tenant: &TenantId, webhook: WebhookId, job: JobId) -> Option<Delivery>;
    }

    AuditLog {
        Record => record(id: EntryId, act: &Act) -> ();
        [Record] => record_as(leader: &Leader, id: EntryId, act: &Act) -> Option<()>;
        AuditLog => audit_log(tenant: Option<&TenantId>, before: Option<EntryId>, limit: usize) -> Vec<AuditEntry>;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::memory::{self, LocalWakeups, ManualClock};

    /// The verbs of the calls, in order; one of them is refused before it is made.
    #[derive(Default)]
    struct Recorded {
        verbs: Mutex<Vec<Verb>>,
        refused: Option<Verb>,
    }

    impl Hook for Recorded {
        async fn around<T: Send>(&self, verb: Verb, call: impl Call<T>) -> Result<T, StoreError> {
            self.verbs.lock().expect("no call panics").push(verb);
            if self.refused == Some(verb) {
                return Err(StoreError::Closed);
            }
            call.await
        }

        /// A queue that is paused says that it was.
        async fn pause(&self, _: &TenantId, _: &QueueName, call: impl Call<bool>) -> Result<bool, StoreError> {
            self.around(Verb::Pause, call).await.map(|is_new| !is_new)
        }
    }

    fn store(hook: Recorded) -> Intercepted<memory::Store, Recorded> {
        let inner = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        Intercepted::new(Arc::new(inner), hook)
    }

    #[tokio::test]
    async fn a_hook_sees_every_call_and_may_refuse_it_or_change_its_answer() {
        let store = store(Recorded { refused: Some(Verb::Resume), ..Recorded::default() });
        let (tenant, queue) = (TenantId::default(), QueueName::default());
        assert!(!store.pause(&tenant, &queue).await.expect("paused"), "the hook has the last word");
        assert!(matches!(store.resume(&tenant, &queue).await, Err(StoreError::Closed)));
        assert!(!store.inner.pause(&tenant, &queue).await.expect("asked"), "what is refused is not done");
        let leader = Leader { office: "here".into(), term: 1 };
        assert_eq!(store.cancel_as(&leader, &tenant, &[]).await.expect("cancelled"), Some(Vec::new()));
        assert_eq!(*store.verbs.lock().expect("no call panics"), [Verb::Pause, Verb::Resume, Verb::Cancel]);
    }

    #[test]
    fn a_verb_is_called_like_its_method_or_as_its_line_says() {
        assert_eq!(Verb::LookUpKey.name(), "look_up_key");
        assert_eq!(Verb::Prune.name(), "prune");
    }

    /// A method with a body of its own would otherwise be answered by that body and never reach the inner store.
    #[test]
    fn every_method_of_every_store_port_has_a_line() {
        let ports = [
            include_str!("changes.rs"),
            include_str!("followers.rs"),
            include_str!("jobs.rs"),
            include_str!("keys.rs"),
            include_str!("passes.rs"),
            include_str!("query.rs"),
            include_str!("schedules.rs"),
            include_str!("sessions.rs"),
            include_str!("statistics.rs"),
            include_str!("tenants.rs"),
            include_str!("audit_log.rs"),
            include_str!("upkeep.rs"),
            include_str!("webhooks.rs"),
        ];
        let mut methods = 0;
        for text in ports {
            let port = text.split("pub trait ").nth(1).expect("a port");
            let port = &port[..port.find("\n}").expect("its end")];
            for method in port.split("async fn ").skip(1) {
                let name = method.split('(').next().expect("a name");
                let line = format!("=> {name}(");
                assert!(name == "prune" || include_str!("intercept.rs").contains(&line), "add a line for {name}");
                methods += 1;
            }
        }
        assert!(methods > 80, "{methods} methods were found");
    }
}
