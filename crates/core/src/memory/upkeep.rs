//! What falls due, expires, or has outlived its retention.

use std::time::Duration;

use async_trait::async_trait;

use super::Store;
use super::places::{OutcomeRow, Places, WaitingJob};
use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::outcome::Report;
use crate::ports::{
    Due, FollowerName, Leader, Position, PruneKind, PruneStep, Retention, SessionState, StoreError, UNREAD_KEPT,
    USE_IS_NOTED_EVERY, Upkeep,
};
use crate::state::State;
use crate::statistics::MINUTES_KEPT;
use crate::time::Timestamp;

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

impl Places {
    pub fn promote(&mut self, limit: usize, now: Timestamp) -> Due {
        let expired: Vec<JobId> = first_until(&self.expiring, now).take(limit).collect();
        for id in &expired {
            let waiting = self.take(*id).expect("what expires is in `ready`");
            self.finish(*id, expired_outcome(&waiting, now));
        }
        let due: Vec<JobId> = first_until(&self.later, now).take(limit).collect();
        for id in &due {
            let waiting = self.take(*id).expect("what is due later is in `ready`");
            self.put_back(*id, (waiting.run_at, waiting.expires_at), waiting.counters, None, now);
        }
        let next = [self.later.first(), self.expiring.first()].into_iter().flatten().map(|(time, _)| *time).min();
        Due { promoted: due.len(), expired: expired.len(), next, next_in: next.map(|time| time.since(now)) }
    }

    pub fn prune(&mut self, kind: PruneKind, retention: &Retention, limit: usize, now: Timestamp) -> PruneStep {
        let removed = match kind {
            PruneKind::Partitions => return PruneStep { is_done: true, ..PruneStep::default() },
            PruneKind::Jobs => self.prune_jobs(retention, limit, now),
            PruneKind::Keys => self.prune_keys(limit, now),
            PruneKind::Changes => return self.prune_changes(retention.changes, limit, now),
            PruneKind::Sessions => self.prune_sessions(now.minus(retention.sessions), limit),
            PruneKind::Queues => self.prune_queues(now.minus(retention.queues).minus(USE_IS_NOTED_EVERY), limit, now),
            PruneKind::Lines => self.forget_lines(now.minus(retention.queues).minus(USE_IS_NOTED_EVERY), limit),
            PruneKind::Ticks => self.prune_ticks(now.minus(retention.ticks), limit),
            PruneKind::Deliveries => self.prune_deliveries(now.minus(retention.deliveries), limit),
            PruneKind::Audit => self.prune_trail(now.minus(retention.audit), limit),
            PruneKind::Statistics => {
                let minutes = retention.statistics.min(MINUTES_KEPT);
                self.books.prune(now.minus(minutes), now.minus(retention.statistics), limit)
            }
            PruneKind::Passes => self.passes.prune(now, limit),
            PruneKind::Parked => self.announced.prune(now.minus(retention.parked), limit),
        };
        PruneStep::of(removed, limit)
    }

    fn prune_jobs(&mut self, retention: &Retention, limit: usize, now: Timestamp) -> usize {
        let old: Vec<JobId> = self
            .outcomes
            .iter()
            .filter(|(_, outcome)| {
                let keep = match outcome.state {
                    State::Completed => retention.completed,
                    State::Failed => retention.failed,
                    State::Cancelled => retention.cancelled,
                    State::Dead => retention.dead,
                    State::Scheduled | State::Pending | State::Running | State::Retrying => None,
                };
                keep.is_some_and(|keep| outcome.finished_at.plus(keep) <= now)
            })
            .map(|(id, _)| *id)
            .take(limit)
            .collect();
        for id in &old {
            self.forget(*id);
        }
        old.len()
    }

    fn prune_keys(&mut self, limit: usize, now: Timestamp) -> usize {
        let keys: Vec<_> =
            self.keys.iter().filter(|(_, row)| row.expires_at <= now).map(|(key, _)| key.clone()).take(limit).collect();
        for key in &keys {
            self.keys.remove(key);
        }
        keys.len()
    }

    fn prune_changes(&mut self, keep: Duration, limit: usize, now: Timestamp) -> PruneStep {
        let mut held_by = None;
        let mut old = Vec::new();
        for (position, _) in self.log.iter().take_while(|(_, row)| row.at.plus(keep) <= now).take(limit) {
            held_by = self.kept_for(*position, now);
            if held_by.is_some() {
                break;
            }
            old.push(*position);
        }
        for position in &old {
            self.log.remove(position);
        }
        PruneStep { held_by, ..PruneStep::of(old.len(), limit) }
    }

    /// For which follower a row of the log is kept.
    fn kept_for(&self, position: Position, now: Timestamp) -> Option<FollowerName> {
        let is_due = self.log.get(&position).is_none_or(|row| row.at.plus(UNREAD_KEPT) <= now);
        self.unread_by(position).filter(|_| !is_due).cloned()
    }

    fn prune_sessions(&mut self, until: Timestamp, limit: usize) -> usize {
        let sessions: Vec<_> = self
            .sessions
            .iter()
            .filter(|(_, row)| matches!(row.state, SessionState::Ended | SessionState::Dead))
            .filter(|(_, row)| row.renewed_at <= until)
            .map(|(id, _)| *id)
            .take(limit)
            .collect();
        for id in &sessions {
            self.sessions.remove(id);
        }
        sessions.len()
    }

    /// Of the queues longest unused: those with nothing in them go, the others are in use as of now.
    fn prune_queues(&mut self, until: Timestamp, limit: usize, now: Timestamp) -> usize {
        let mut unused: Vec<(Timestamp, QueueName, TenantId)> = self
            .queues
            .iter()
            .filter(|(place, used_at)| **used_at <= until && !self.paused.contains(*place))
            .map(|((tenant, queue), used_at)| (*used_at, queue.clone(), tenant.clone()))
            .collect();
        unused.sort();
        let mut pruned = 0;
        for (_, queue, tenant) in unused.into_iter().take(limit) {
            if self.has_jobs_in(&tenant, &queue) {
                self.queues.insert((tenant, queue), now);
            } else {
                self.forget_queue(&tenant, &queue);
                pruned += 1;
            }
        }
        pruned
    }

    fn has_jobs_in(&self, tenant: &TenantId, queue: &QueueName) -> bool {
        let held = self.claims.values().flat_map(|claim| &claim.open);
        let mut jobs = self.ready.keys().chain(held).filter_map(|id| self.jobs.get(id));
        jobs.any(|job| job.tenant == *tenant && job.work.queue == *queue)
    }
}

fn first_until(times: &std::collections::BTreeSet<(Timestamp, JobId)>, now: Timestamp) -> impl Iterator<Item = JobId> {
    times.iter().take_while(move |(time, _)| *time <= now).map(|(_, id)| *id)
}

fn expired_outcome(waiting: &WaitingJob, now: Timestamp) -> OutcomeRow {
    OutcomeRow {
        state: State::Failed,
        finished_at: now,
        run_at: waiting.run_at,
        counters: waiting.counters,
        attempt: None,
        report: Report::error("expired"),
    }
}
