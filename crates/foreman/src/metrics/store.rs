//! A store that counts: passes everything on, and notes what was answered.
//!
//! It decides nothing and keeps nothing back; with it or without it the store does the same. A call that its caller gives
//! up is counted as such: what became of it is not known here either.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    AttemptPage, Audit, Bucket, CancelAnswer, ChangeLog, Changes, ClaimAnswer, ClaimRequest, CreateAnswer, Cursor,
    DeleteAnswer, Depth, Due, DueSchedules, Edit, EditAnswer, FailureGroups, Fired, Firing, Heartbeat, HeldView,
    JobFilter, JobQuery, JobStore, JobSummary, JobView, Labels, Leader, OpenJob, Overdue, Page, Position, Posted,
    PruneKind, PruneStep, Pulse, QueueView, Range, RedriveAnswer, RemoveAnswer, Retention, ScheduleStore, ScheduleView,
    Seen, SessionInfo, SessionStore, SessionView, Settled, Settlement, Standing, StateCounts, StatisticsStore, Store,
    StoreError, Stretch, Submitted, TickView, Upkeep, WaitingTask,
};
use foreman_core::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use foreman_core::statistics::{Known, Tally};
use foreman_core::{ClaimToken, JobId, NewJob, ScheduleId, SessionId, State, TenantId, Timestamp};
use tokio::time::Instant;

use super::Metrics;

pub struct Counted {
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
}

impl Counted {
    pub fn new(store: Arc<dyn Store>, metrics: Arc<Metrics>) -> Self {
        Self { store, metrics }
    }

    async fn call<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut given_up = GivenUp { metrics: &self.metrics, verb, is_over: false };
        let start = Instant::now();
        let answer = call.await;
        given_up.is_over = true;
        self.metrics.store_calls.get_or_create(&[("verb", verb)]).observe(start.elapsed().as_secs_f64());
        if let Err(error) = &answer {
            self.metrics.store_errors.get_or_create(&[("verb", verb), ("kind", kind(error))]).inc();
        }
        answer
    }
}

/// How often each of a few words comes up in a batch: its counter is then looked for once, and not for each job.
fn tally<Word: PartialEq>(words: impl Iterator<Item = Word>) -> Vec<(Word, u64)> {
    let mut counts: Vec<(Word, u64)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts
}

/// Notices a call that is dropped before its answer.
struct GivenUp<'a> {
    metrics: &'a Metrics,
    verb: &'static str,
    is_over: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.metrics.store_errors.get_or_create(&[("verb", self.verb), ("kind", "given_up")]).inc();
        }
    }
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) | StoreError::Internal(_) => "unavailable",
        StoreError::Full(_) => "full",
        StoreError::Damaged(_) => "damaged",
        StoreError::Broken(_) => "broken",
        StoreError::Closed => "closed",
    }
}

#[async_trait]
impl JobStore for Counted {
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        let answers = self.call("submit", self.store.submit(jobs)).await?;
        let words = answers.iter().map(|answer| match answer {
            Submitted::Accepted(_) => "accepted",
            Submitted::Duplicate(_) => "duplicate",
            Submitted::KeyReused(_) => "key_reused",
        });
        for (word, count) in tally(words) {
            self.metrics.submitted.get_or_create(&[("answer", word)]).inc_by(count);
        }
        Ok(answers)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
        let answer = self.call("claim", self.store.claim(request)).await?;
        if let ClaimAnswer::Claimed(claim) = &answer {
            self.metrics.claims.inc();
            self.metrics.claimed.inc_by(claim.jobs.len() as u64);
            self.metrics.held.claimed(claim.jobs.iter().map(|held| OpenJob { fence: held.fence, job: held.job.id }));
        }
        Ok(answer)
    }

    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let answers = self.call("settle", self.store.settle(session, settlements)).await?;
        let words = settlements.iter().zip(&answers).map(|(settlement, answer)| {
            let word = match answer {
                Settled::Now => "now",
                Settled::Before => "before",
                Settled::Fenced => "fenced",
            };
            (settlement.verdict.name().as_str(), word)
        });
        for ((outcome, word), count) in tally(words) {
            self.metrics.outcomes.get_or_create(&[("outcome", outcome), ("answer", word)]).inc_by(count);
            if word == "fenced" {
                self.metrics.outcomes_fenced.inc_by(count);
            }
        }
        self.metrics.held.settled(settlements.iter().map(|it| OpenJob { fence: it.fence, job: it.job }));
        Ok(answers)
    }

    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError> {
        self.call("cancel", self.store.cancel(tenant, ids)).await
    }

    async fn cancel_as(
        &self,
        leader: &Leader,
        tenant: &TenantId,
        ids: &[JobId],
    ) -> Result<Option<Vec<Option<CancelAnswer>>>, StoreError> {
        self.call("cancel", self.store.cancel_as(leader, tenant, ids)).await
    }

    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
        self.call("redrive", self.store.redrive(tenant, ids)).await
    }

    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError> {
        self.call("remove", self.store.remove(tenant, ids)).await
    }

    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        self.call("pause", self.store.pause(tenant, queue)).await
    }

    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        self.call("resume", self.store.resume(tenant, queue)).await
    }
}

#[async_trait]
impl SessionStore for Counted {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        self.call("register", self.store.register(session)).await?;
        // A life that ends in good order says so; one that begins while another is open has lost that one.
        if self.metrics.begin_session() {
            self.metrics.sessions_lost.inc();
        }
        self.metrics.held.clear();
        Ok(())
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        let look = self.metrics.held.look();
        let answer = self.call("heartbeat", self.store.heartbeat(session, given_up)).await?;
        if let Heartbeat::Renewed { held } = &answer {
            self.metrics.beat();
            self.metrics.held.found(look, held);
        }
        Ok(answer)
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        let look = self.metrics.held.look();
        let held = self.call("held", self.store.held(session)).await?;
        self.metrics.held.found(look, &held);
        Ok(held)
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        self.call("drain", self.store.drain(session)).await
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        let returned = self.call("end", self.store.end(session)).await?;
        self.metrics.end_session();
        Ok(returned)
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        self.call("pulses", self.store.pulses()).await
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        let lapsed = self.call("lapse", self.store.lapse(pulse)).await?;
        if let Some(jobs) = lapsed {
            self.metrics.sessions_lapsed.inc();
            self.metrics.jobs_lapsed.inc_by(jobs as u64);
        }
        Ok(lapsed)
    }
}

#[async_trait]
impl Upkeep for Counted {
    async fn promote(&self, limit: usize) -> Result<Due, StoreError> {
        let due = self.call("promote", self.store.promote(limit)).await?;
        self.metrics.promoted.inc_by(due.promoted as u64);
        self.metrics.expired.inc_by(due.expired as u64);
        Ok(due)
    }

    async fn prune_kind(
        &self,
        leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError> {
        let step = self.call("prune", self.store.prune_kind(leader, kind, retention, limit)).await?;
        let removed = step.map_or(0, |step| step.removed as u64);
        match kind {
            PruneKind::Jobs => drop(self.metrics.pruned.inc_by(removed)),
            PruneKind::Ticks => drop(self.metrics.ticks_pruned.inc_by(removed)),
            _ => {}
        }
        Ok(step)
    }
}

#[async_trait]
impl JobQuery for Counted {
    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        self.call("waiting", self.store.waiting(tenant, enough)).await
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        self.call("running", self.store.running()).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.call("ping", self.store.ping()).await
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        self.call("get", self.store.get(tenant, id)).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError> {
        self.call("attempts", self.store.attempts(tenant, id, skip)).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError> {
        self.call("list", self.store.list(tenant, filter, after, limit)).await
    }

    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError> {
        self.call("count", self.store.count(tenant, filter)).await
    }

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError> {
        self.call("queues", self.store.queues(tenant)).await
    }

    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        self.call("sessions", self.store.sessions()).await
    }

    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError> {
        self.call("states", self.store.states(tenant, enough)).await
    }

    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<foreman_core::ports::Counted, StoreError> {
        self.call("ended_since", self.store.ended_since(tenant, state, since, enough)).await
    }

    async fn waiting_tasks(
        &self,
        tenant: &TenantId,
        limit: usize,
        enough: u64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        self.call("waiting_tasks", self.store.waiting_tasks(tenant, limit, enough)).await
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError> {
        self.call("failure_groups", self.store.failure_groups(tenant, states, limit, enough)).await
    }

    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError> {
        self.call("held_by", self.store.held_by(session, limit)).await
    }

    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError> {
        self.call("labels", self.store.labels(jobs)).await
    }

    async fn audit(&self) -> Result<Audit, StoreError> {
        self.call("audit", self.store.audit()).await
    }
}

#[async_trait]
impl ChangeLog for Counted {
    async fn head(&self) -> Result<Position, StoreError> {
        self.call("head", self.store.head()).await
    }

    async fn last(&self) -> Result<Position, StoreError> {
        self.call("last", self.store.last()).await
    }

    async fn start(&self) -> Result<Position, StoreError> {
        self.call("start", self.store.start()).await
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        self.call("changes", self.store.changes(after, limit)).await
    }
}

#[async_trait]
impl StatisticsStore for Counted {
    async fn bookkeeper(&self) -> Result<Position, StoreError> {
        self.call("bookkeeper", self.store.bookkeeper()).await
    }

    async fn book(&self, leader: Option<&Leader>, stretch: &Stretch) -> Result<Option<Posted>, StoreError> {
        self.call("book", self.store.book(leader, stretch)).await
    }

    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        self.call("depths", self.store.depths()).await
    }

    async fn known_depths(&self) -> Result<Vec<Known>, StoreError> {
        self.call("known_depths", self.store.known_depths()).await
    }

    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        self.call("statistics", self.store.statistics(tenant, range, limit)).await
    }

    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError> {
        self.call("statistics_by_queue", self.store.statistics_by_queue(tenant, range, limit)).await
    }
}

#[async_trait]
impl ScheduleStore for Counted {
    async fn count_schedules(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        self.call("count_schedules", self.store.count_schedules(tenant, enough)).await
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.call("time", self.store.time()).await
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        self.call("create_schedule", self.store.create_schedule(new)).await
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        self.call("schedule", self.store.schedule(tenant, key)).await
    }

    async fn standing(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<Standing>, StoreError> {
        self.call("standing", self.store.standing(tenant, key)).await
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        self.call("schedules", self.store.schedules(tenant, after, limit)).await
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        self.call("overdue", self.store.overdue(tenant, enough)).await
    }

    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError> {
        self.call("edit_schedule", self.store.edit_schedule(tenant, edit)).await
    }

    async fn delete_schedule(&self, tenant: &TenantId, id: ScheduleId, seen: Seen) -> Result<DeleteAnswer, StoreError> {
        self.call("delete_schedule", self.store.delete_schedule(tenant, id, seen)).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        self.call("due_schedules", self.store.due_schedules(limit)).await
    }

    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        let fired = self.call("fire", self.store.fire(leader, firings)).await?;
        let jobs = fired.iter().flatten().map(|fired| match fired {
            Fired::Done(jobs) => jobs.len() as u64,
            Fired::Stale | Fired::CancelFirst(_) => 0,
        });
        self.metrics.schedules_fired.inc_by(jobs.sum());
        Ok(fired)
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        self.call("ticks", self.store.ticks(schedule, before, limit)).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreman_api::Meter as _;
    use foreman_core::memory::{self, LocalWakeups, ManualClock};

    use super::*;
    use crate::role::Role;

    fn info() -> SessionInfo {
        SessionInfo {
            id: SessionId::fresh(),
            worker: "w".into(),
            pid: 1,
            version: "0".into(),
            slots: 1,
            queues: Vec::new(),
            tasks: Vec::new(),
            ttl: Duration::from_secs(15),
        }
    }

    #[tokio::test]
    async fn a_session_that_is_followed_by_another_without_an_end_was_lost() {
        let inner = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let metrics = Arc::new(Metrics::new(Role::Worker));
        let store = Counted::new(Arc::new(inner), Arc::clone(&metrics));
        let (first, second, third) = (info(), info(), info());
        store.register(&first).await.expect("registered");
        store.end(first.id).await.expect("ended");
        store.register(&second).await.expect("registered");
        assert_eq!(metrics.sessions_lost.get(), 0);
        store.register(&third).await.expect("registered");
        assert_eq!(metrics.sessions_lost.get(), 1);
        let text = metrics.text();
        assert!(text.contains("foreman_store_call_seconds_count{verb=\"register\"} 3"), "{text}");
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_is_counted() {
        let inner = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let metrics = Arc::new(Metrics::new(Role::Worker));
        let store = Counted::new(Arc::new(inner), Arc::clone(&metrics));
        let hanging = store.call::<()>("submit", std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(5), hanging).await.is_err());
        let text = metrics.text();
        assert!(text.contains("foreman_store_errors_total{verb=\"submit\",kind=\"given_up\"} 1"), "{text}");
    }
}
