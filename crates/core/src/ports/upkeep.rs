//! What must be done regularly, by anyone, any number at once: promote what falls due, expire, prune.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::time::Timestamp;

#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Gives waiting jobs that have fallen due their place in the order, and fails those whose `expires_at` has passed
    /// with error `expired`; at most `limit` of each. Call again while it was busy.
    async fn promote(&self, limit: usize) -> Result<Due, StoreError>;

    /// Removes what has outlived its retention, at most `limit` rows of a kind. Call again while it was busy.
    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError>;

    /// The same, by whoever leads: `None`, and nothing is removed, when its term is over. A store that one process has for
    /// itself has no terms.
    async fn prune_as(
        &self,
        _leader: &Leader,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<Pruned>, StoreError> {
        self.prune(retention, limit).await.map(Some)
    }
}

/// Who writes what only a leader writes: which office it holds, and since which election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub office: String,
    pub term: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub promoted: usize,
    pub expired: usize,
    /// When the next waiting job falls due or expires, by the store's clock.
    pub next: Option<Timestamp>,
    /// How far off `next` is; zero when it is due already.
    pub next_in: Option<Duration>,
}

impl Due {
    pub fn was_busy(&self, limit: usize) -> bool {
        self.promoted >= limit || self.expired >= limit
    }
}

/// How long what is over is kept. `None`: for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    pub completed: Option<Duration>,
    pub failed: Option<Duration>,
    pub cancelled: Option<Duration>,
    pub dead: Option<Duration>,
    /// Rows of the change log.
    pub changes: Duration,
    /// Sessions that ended or lapsed.
    pub sessions: Duration,
    /// Names of queues that nothing was submitted to; at most [`USE_IS_NOTED_EVERY`] longer.
    pub queues: Duration,
    /// What became of the ticks of schedules.
    pub ticks: Duration,
    /// What is listed of the deliveries of webhooks.
    pub deliveries: Duration,
    /// Entries of the audit trail.
    pub audit: Duration,
    /// Numbers per minute and per hour.
    pub statistics: Duration,
}

/// A store notes that a queue is used at most so often, so that a submission writes nothing more than its jobs.
pub const USE_IS_NOTED_EVERY: Duration = Duration::from_hours(1);

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self {
            completed: Some(DAY * 7),
            failed: Some(DAY * 30),
            cancelled: Some(DAY * 30),
            dead: None,
            changes: DAY,
            sessions: DAY,
            queues: DAY * 30,
            ticks: DAY * 7,
            deliveries: DAY * 30,
            audit: DAY * 90,
            statistics: DAY * 30,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub jobs: usize,
    pub keys: usize,
    pub changes: usize,
    pub sessions: usize,
    /// A tenant's queues: neither paused nor used, with nothing waiting or held. The order in them starts anew.
    pub queues: usize,
    pub ticks: usize,
    pub deliveries: usize,
    pub audit: usize,
    pub statistics: usize,
    /// Passes that are good for nothing any more.
    pub passes: usize,
}

impl Pruned {
    pub fn was_busy(&self, limit: usize) -> bool {
        let rest = [self.ticks, self.deliveries, self.audit, self.statistics, self.passes];
        [self.jobs, self.keys, self.changes, self.sessions, self.queues]
            .into_iter()
            .chain(rest)
            .any(|count| count >= limit)
    }
}
