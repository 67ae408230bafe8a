//! Pages of jobs, queues, sessions and changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use crate::error_group::ErrorGroup;
use crate::id::{JobId, SessionId, TenantId};
use crate::job::QueueName;
use crate::ports::{
    AttemptPage, Census, ChangeLog, ChangeRow, Changes, Counted, Cursor, FailureGroup, FailureGroups, HeldView,
    JobFilter, JobQuery, JobSummary, JobView, Labels, Page, Position, QueueView, SessionView, StateCounts, StoreError,
    WaitingCounts, WaitingTask,
};
use crate::state::State;
use crate::time::Timestamp;

#[async_trait]
impl JobQuery for Store {
    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        Ok(self.read(|places, now| places.get(tenant, id, now)))
    }

    async fn ended_at_once(&self, jobs: &[JobId]) -> Result<Vec<JobView>, StoreError> {
        Ok(self.read(|places, now| jobs.iter().filter_map(|id| places.ended_at_once(*id, now)).collect()))
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

    async fn waiting_queues(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        Ok(self.read(|places, _| places.waiting_queues(tenant).len() as u64).min(enough))
    }

    async fn waiting_in(&self, tenant: &TenantId, queues: &[QueueName]) -> Result<Vec<QueueName>, StoreError> {
        let mut waiting = self.read(|places, _| places.waiting_queues(tenant));
        waiting.retain(|queue| queues.contains(queue));
        Ok(waiting.into_iter().collect())
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        Ok(self.read(|places, _| places.running()))
    }

    async fn fleet_slots(&self) -> Result<u64, StoreError> {
        Ok(self.read(|places, _| places.fleet_slots()))
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

    async fn census(&self) -> Result<Census, StoreError> {
        Ok(self.read(|places, _| places.census()))
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

impl Places {
    pub fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
        now: Timestamp,
    ) -> Page<JobSummary> {
        let mut found: Vec<Cursor> =
            self.matching(tenant, filter, now).map(|id| self.place_in_list(id, filter)).collect();
        found.sort_unstable_by_key(|cursor| std::cmp::Reverse((cursor.at, cursor.id)));
        if let Some(after) = after {
            found.retain(|cursor| (cursor.at, cursor.id) < (after.at, after.id));
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = if more { found.last().copied() } else { None };
        Page { items: found.into_iter().map(|cursor| self.view(cursor.id, now).into()).collect(), next }
    }

    pub fn count(&self, tenant: &TenantId, filter: &JobFilter, now: Timestamp) -> u64 {
        self.matching(tenant, filter, now).count() as u64
    }

    pub fn waiting(&self, tenant: &TenantId) -> u64 {
        self.ready.keys().filter(|id| self.job(**id).tenant == *tenant).count() as u64
    }

    pub fn waiting_queues(&self, tenant: &TenantId) -> BTreeSet<QueueName> {
        let owned = self.ready.keys().filter_map(|id| self.owned(tenant, *id));
        owned.map(|job| job.work.queue.clone()).collect()
    }

    pub fn running(&self) -> Vec<(TenantId, u64)> {
        let mut counts: BTreeMap<TenantId, u64> = BTreeMap::new();
        for id in self.claims.values().flat_map(|claim| &claim.open) {
            *counts.entry(self.job(*id).tenant).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// By the time a final state was reached when one is asked for; by id, which is by creation, otherwise.
    fn place_in_list(&self, id: JobId, filter: &JobFilter) -> Cursor {
        let at = match filter.state {
            Some(state) if state.is_final() => self.outcomes.get(&id).map(|outcome| outcome.finished_at),
            _ => None,
        };
        Cursor { at: at.unwrap_or_default(), id }
    }

    fn matching<'a>(
        &'a self,
        tenant: &'a TenantId,
        filter: &'a JobFilter,
        now: Timestamp,
    ) -> impl Iterator<Item = JobId> + 'a {
        self.jobs
            .values()
            .filter(move |job| {
                let work = &job.work;
                job.tenant == *tenant
                    && filter.takes_queue(&work.queue)
                    && filter.kind.as_ref().is_none_or(|kind| work.kind.as_ref() == Some(kind))
                    && filter.tag.as_ref().is_none_or(|tag| work.tags.contains(tag))
                    && filter.correlation_id.as_ref().is_none_or(|id| work.correlation_id.as_ref() == Some(id))
                    && filter.error_group.as_ref().is_none_or(|group| self.error_group(job.id).as_ref() == Some(group))
                    && filter.created_after.is_none_or(|time| job.created_at >= time)
                    && filter.created_before.is_none_or(|time| job.created_at < time)
                    && filter.state.is_none_or(|state| self.is_in(job.id, state, now))
            })
            .map(|job| job.id)
    }

    /// Of a final job that ended with an error.
    fn error_group(&self, id: JobId) -> Option<ErrorGroup> {
        self.outcomes.get(&id)?.report.error.as_deref().map(ErrorGroup::of)
    }

    pub fn states(&self, tenant: &TenantId, enough: u64, now: Timestamp) -> StateCounts {
        let mut counts = StateCounts::default();
        for state in State::ALL {
            let users = self.jobs.values().filter(|job| job.tenant == *tenant && !job.work.queue.is_internal());
            let count = users.filter(|job| self.is_in(job.id, state, now)).count() as u64;
            counts.set(state, Counted::up_to(count, enough));
        }
        counts
    }

    pub fn ended_since(&self, tenant: &TenantId, state: State, since: Timestamp, enough: u64) -> Counted {
        let ended = self.outcomes.iter().filter(|(_, outcome)| outcome.state == state && outcome.finished_at >= since);
        let of_users = |id: &JobId| self.owned(tenant, *id).is_some() && !self.job(*id).work.queue.is_internal();
        Counted::up_to(ended.filter(|(id, _)| of_users(id)).count() as u64, enough)
    }

    pub fn waiting_tasks(&self, tenant: &TenantId, limit: usize, enough: u64, now: Timestamp) -> Vec<WaitingTask> {
        let mut tasks: BTreeMap<(String, QueueName), u64> = BTreeMap::new();
        let owned = self.ready.iter().filter(|(id, _)| self.owned(tenant, **id).is_some());
        let enough = usize::try_from(enough).unwrap_or(usize::MAX);
        let (mut looked_at, mut is_estimate) = (0, false);
        for (id, waiting) in owned {
            if looked_at == enough {
                is_estimate = true;
                break;
            }
            looked_at += 1;
            let work = &self.job(*id).work;
            if let (Some(task), true) = (work.target.route().as_task(), waiting.run_at <= now) {
                *tasks.entry((task.to_owned(), work.queue.clone())).or_default() += 1;
            }
        }
        let found = tasks.into_iter();
        let mut found: Vec<WaitingTask> = found
            .map(|((task, queue), count)| WaitingTask { task, queue, counted: Counted { count, is_estimate } })
            .collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.counted.count));
        found.truncate(limit);
        found
    }

    pub fn failure_groups(&self, tenant: &TenantId, states: &[State], limit: usize, enough: u64) -> FailureGroups {
        type Jobs = Vec<(Timestamp, JobId)>;
        let mut groups: BTreeMap<(State, Option<ErrorGroup>), Jobs> = BTreeMap::new();
        for (id, outcome) in self.outcomes.iter().filter(|(_, outcome)| states.contains(&outcome.state)) {
            if self.owned(tenant, *id).is_some() && !self.job(*id).work.queue.is_internal() {
                groups.entry((outcome.state, self.error_group(*id))).or_default().push((outcome.finished_at, *id));
            }
        }
        let groups: Vec<FailureGroup> = groups
            .into_iter()
            .filter_map(|((state, group), jobs)| {
                let (first_at, _) = *jobs.iter().min()?;
                let (last_at, sample) = *jobs.iter().max()?;
                let job = self.job(sample);
                Some(FailureGroup {
                    state,
                    group,
                    counted: Counted::up_to(jobs.len() as u64, enough),
                    first_at,
                    last_at,
                    sample,
                    error: self.outcomes.get(&sample).and_then(|outcome| outcome.report.error.clone()),
                    queue: job.work.queue.clone(),
                    kind: job.work.kind.clone(),
                })
            })
            .collect();
        FailureGroups::largest(groups, limit, true)
    }

    pub fn held_by(&self, session: SessionId, limit: usize) -> Vec<HeldView> {
        let mut held: Vec<HeldView> = self
            .open_jobs(session)
            .into_iter()
            .map(|open| {
                let (job, claim) = (self.job(open.job), &self.claims[&open.fence]);
                HeldView {
                    job: open.job,
                    tenant: job.tenant,
                    queue: job.work.queue.clone(),
                    kind: job.work.kind.clone(),
                    attempt: claim.members[&open.job].counters.attempt,
                    started_at: claim.claimed_at,
                }
            })
            .collect();
        held.sort_by_key(|view| (view.started_at, view.job));
        held.truncate(limit);
        held
    }

    pub fn labels(&self, jobs: &[JobId]) -> Vec<Labels> {
        let known = jobs.iter().filter_map(|id| self.jobs.get(id));
        known.map(|job| Labels { job: job.id, kind: job.work.kind.clone(), tags: job.work.tags.clone() }).collect()
    }

    pub fn queue_views(&self, tenant: &TenantId, now: Timestamp) -> Vec<QueueView> {
        self.queues
            .keys()
            .filter(|(of, _)| of == tenant)
            .map(|(_, queue)| self.queue_view(tenant, queue, now))
            .collect()
    }

    fn queue_view(&self, tenant: &TenantId, queue: &crate::job::QueueName, now: Timestamp) -> QueueView {
        let mut view = QueueView {
            queue: queue.clone(),
            is_paused: self.paused.contains(&(tenant.clone(), queue.clone())),
            waiting: WaitingCounts::default(),
            running: 0,
            oldest_wait: None,
            finished_last_minute: 0,
        };
        let minute_ago = now.minus(Duration::from_mins(1));
        for job in self.jobs.values().filter(|job| job.tenant == *tenant && job.work.queue == *queue) {
            match self.state_of(job.id, now) {
                State::Scheduled => view.waiting.scheduled += 1,
                State::Retrying => view.waiting.retrying += 1,
                State::Pending => {
                    view.waiting.pending += 1;
                    let waited = self.ready.get(&job.id).map(|waiting| now.since(waiting.run_at));
                    view.oldest_wait = view.oldest_wait.max(waited);
                }
                State::Running => view.running += 1,
                State::Completed | State::Failed | State::Dead | State::Cancelled => {
                    let is_recent = self.outcomes.get(&job.id).is_some_and(|outcome| outcome.finished_at > minute_ago);
                    view.finished_last_minute += u64::from(is_recent);
                }
            }
        }
        view
    }

    pub fn fleet_slots(&self) -> u64 {
        self.sessions.values().filter(|row| row.state.is_alive()).map(|row| u64::from(row.info.slots)).sum()
    }

    pub fn session_views(&self) -> Vec<SessionView> {
        let mut views: Vec<SessionView> = self
            .sessions
            .values()
            .map(|row| SessionView {
                id: row.info.id,
                worker: row.info.worker.clone(),
                pid: row.info.pid,
                version: row.info.version.clone(),
                state: row.state,
                slots: row.info.slots,
                queues: row.info.queues.clone(),
                tasks: Some(row.info.tasks.clone()),
                running: self.open_jobs(row.info.id).len() as u64,
                started_at: row.started_at,
                renewed_at: row.renewed_at,
            })
            .collect();
        views.sort_by_key(|view| (!view.state.is_alive(), std::cmp::Reverse((view.started_at, view.id))));
        views
    }

    pub fn changes(&self, after: Position, limit: usize) -> Changes {
        let rows: Vec<ChangeRow> =
            self.log.range(Position(after.0 + 1)..).take(limit).map(|(_, row)| row.clone()).collect();
        let position = rows.last().map_or(after, |row| row.position);
        let is_full = rows.len() >= limit;
        Changes { rows, position, is_full }
    }

    /// Positions have no gaps, so what was pruned ends right before the first that is left.
    pub fn log_start(&self) -> Position {
        self.log.keys().next().map_or_else(|| self.head(), |first| Position(first.0 - 1))
    }
}
