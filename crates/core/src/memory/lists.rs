//! Pages of jobs, queues, sessions and changes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::places::Places;
use crate::id::{JobId, TenantId};
use crate::ports::{Changes, Cursor, JobFilter, JobView, Page, Position, QueueView, SessionView, WaitingCounts};
use crate::state::State;
use crate::time::Timestamp;

impl Places {
    pub fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
        now: Timestamp,
    ) -> Page<JobView> {
        let mut found: Vec<Cursor> =
            self.matching(tenant, filter, now).map(|id| self.place_in_list(id, filter)).collect();
        found.sort_unstable_by_key(|cursor| std::cmp::Reverse((cursor.at, cursor.id)));
        if let Some(after) = after {
            found.retain(|cursor| (cursor.at, cursor.id) < (after.at, after.id));
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = if more { found.last().copied() } else { None };
        Page { items: found.into_iter().map(|cursor| self.view(cursor.id, now)).collect(), next }
    }

    pub fn count(&self, tenant: &TenantId, filter: &JobFilter, now: Timestamp) -> u64 {
        self.matching(tenant, filter, now).count() as u64
    }

    pub fn waiting(&self, tenant: &TenantId) -> u64 {
        self.ready.keys().filter(|id| self.job(**id).tenant == *tenant).count() as u64
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
                    && filter.queue.as_ref().is_none_or(|queue| work.queue == *queue)
                    && filter.kind.as_ref().is_none_or(|kind| work.kind.as_ref() == Some(kind))
                    && filter.tag.as_ref().is_none_or(|tag| work.tags.contains(tag))
                    && filter.correlation_id.as_ref().is_none_or(|id| work.correlation_id.as_ref() == Some(id))
                    && filter.created_after.is_none_or(|time| job.created_at >= time)
                    && filter.created_before.is_none_or(|time| job.created_at < time)
                    && filter.state.is_none_or(|state| self.is_in(job.id, state, now))
            })
            .map(|job| job.id)
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
                running: self.open_jobs(row.info.id).len() as u64,
                started_at: row.started_at,
                renewed_at: row.renewed_at,
            })
            .collect();
        views.sort_by_key(|view| (!view.state.is_alive(), std::cmp::Reverse((view.started_at, view.id))));
        views
    }

    pub fn changes(&self, after: Position, limit: usize) -> Changes {
        let mut changes = Changes { moved: Vec::new(), position: after };
        for (position, (_, moved)) in self.log.range(Position(after.0 + 1)..).take(limit) {
            changes.moved.extend(moved.iter().cloned());
            changes.position = *position;
        }
        changes
    }
}
