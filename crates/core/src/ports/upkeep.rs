//! What must be done regularly, by anyone, any number at once: promote what falls due, expire, prune.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::followers::FollowerName;
use crate::time::Timestamp;

#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Gives waiting jobs that have fallen due their place in the order, and fails those whose `expires_at` has passed
    /// with error `expired`; at most `limit` of each. Call again while it was busy.
    async fn promote(&self, limit: usize) -> Result<Due, StoreError>;

    /// One step of one kind: removes what has outlived its retention, at most `limit` rows, and remembers where it stopped. Call
    /// again until it is done. `None`, and nothing is removed, when the leader's term is over; a store that one process has for
    /// itself has no terms.
    async fn prune_kind(
        &self,
        leader: Option<&Leader>,
        kind: PruneKind,
        retention: &Retention,
        limit: usize,
    ) -> Result<Option<PruneStep>, StoreError>;

    /// Every kind once: each removes at most `limit` rows. Call again while it was busy.
    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        for kind in PruneKind::ALL {
            // A step may look at a part of a large store, and find nothing there.
            while let Some(step) = self.prune_kind(None, kind, retention, limit).await? {
                pruned.add(kind, step.removed);
                if step.is_done || step.removed > 0 {
                    break;
                }
            }
        }
        Ok(pruned)
    }
}

/// What is pruned. Each kind has transactions and a time limit of its own, so that one that is slow or fails holds up no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PruneKind {
    /// Not removed, but part of the same upkeep: the coming weeks are created, and weeks that are empty dropped.
    Partitions,
    Keys,
    Changes,
    Sessions,
    Queues,
    /// What is known of the order of jobs of one task in a queue, which is in use for other tasks.
    Lines,
    Ticks,
    Deliveries,
    Audit,
    Statistics,
    Passes,
    /// Messages of a broker that could not be read.
    Parked,
    Jobs,
}

impl PruneKind {
    /// In the order of a round: what others depend on first, what takes longest last.
    pub const ALL: [PruneKind; 13] = [
        PruneKind::Partitions,
        PruneKind::Keys,
        PruneKind::Changes,
        PruneKind::Sessions,
        PruneKind::Queues,
        PruneKind::Lines,
        PruneKind::Ticks,
        PruneKind::Deliveries,
        PruneKind::Audit,
        PruneKind::Statistics,
        PruneKind::Passes,
        PruneKind::Parked,
        PruneKind::Jobs,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            PruneKind::Partitions => "partitions",
            PruneKind::Keys => "keys",
            PruneKind::Changes => "changes",
            PruneKind::Sessions => "sessions",
            PruneKind::Queues => "queues",
            PruneKind::Lines => "lines",
            PruneKind::Ticks => "ticks",
            PruneKind::Deliveries => "deliveries",
            PruneKind::Audit => "audit",
            PruneKind::Statistics => "statistics",
            PruneKind::Passes => "passes",
            PruneKind::Parked => "parked",
            PruneKind::Jobs => "jobs",
        }
    }
}

impl std::fmt::Display for PruneKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one step of pruning did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneStep {
    pub removed: usize,
    /// Nothing more of this kind has outlived its retention.
    pub is_done: bool,
    /// Of the change log: a follower for which more is kept than the retention says, because it has not read it. The one that is
    /// furthest behind.
    pub held_by: Option<FollowerName>,
}

impl PruneStep {
    /// A step that would have removed more than `limit`, had there been more.
    pub fn of(removed: usize, limit: usize) -> Self {
        Self { removed, is_done: removed < limit, held_by: None }
    }
}

/// A store notes in a table of its own, for `foreman doctor`, when each kind was last done, at most this often.
pub const DONE_IS_NOTED_EVERY: Duration = Duration::from_mins(10);

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
    /// Entries of the audit log.
    pub audit: Duration,
    /// Numbers per minute and per hour.
    pub statistics: Duration,
    /// Messages of a broker that could not be read; the newest [`PARKED_KEPT`](super::PARKED_KEPT) at most.
    pub parked: Duration,
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
            parked: DAY * 14,
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
    /// A tenant's places in the order of jobs of one task in one queue, when nothing of the task is due there. Kept as long as
    /// unused queues.
    pub lines: usize,
    pub ticks: usize,
    pub deliveries: usize,
    pub audit: usize,
    pub statistics: usize,
    /// Passes that are good for nothing any more.
    pub passes: usize,
    pub parked: usize,
}

impl Pruned {
    fn add(&mut self, kind: PruneKind, removed: usize) {
        let count = match kind {
            // Of partitions nothing is counted: what was in them was counted as jobs.
            PruneKind::Partitions => return,
            PruneKind::Keys => &mut self.keys,
            PruneKind::Changes => &mut self.changes,
            PruneKind::Sessions => &mut self.sessions,
            PruneKind::Queues => &mut self.queues,
            PruneKind::Lines => &mut self.lines,
            PruneKind::Ticks => &mut self.ticks,
            PruneKind::Deliveries => &mut self.deliveries,
            PruneKind::Audit => &mut self.audit,
            PruneKind::Statistics => &mut self.statistics,
            PruneKind::Passes => &mut self.passes,
            PruneKind::Parked => &mut self.parked,
            PruneKind::Jobs => &mut self.jobs,
        };
        *count += removed;
    }

    pub fn was_busy(&self, limit: usize) -> bool {
        let rest = [self.lines, self.ticks, self.deliveries, self.audit, self.statistics, self.passes, self.parked];
        [self.jobs, self.keys, self.changes, self.sessions, self.queues]
            .into_iter()
            .chain(rest)
            .any(|count| count >= limit)
    }
}
