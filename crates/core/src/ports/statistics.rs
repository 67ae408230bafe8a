//! How many, how long, how deep: numbers per minute and per hour, kept beside the log and not counted from jobs.
//!
//! The bookkeeper is a follower of the change log: what it counted is an effect of its move ([`super::Effect::Counts`]). It begins
//! at the start of the log.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::query::WaitingCounts;
use crate::id::TenantId;
use crate::job::QueueName;
use crate::statistics::{SampledLevel, Slot, Tally};
use crate::time::Timestamp;

#[async_trait]
pub trait StatisticsStore: Send + Sync {
    /// How many jobs wait and run in each queue of each tenant right now, and how long the oldest due one has; empty queues are left
    /// out.
    async fn depths(&self) -> Result<Vec<Depth>, StoreError>;

    /// How deep queues, and all of each tenant's together, were when last sampled; those that were empty are left out. Kept for as
    /// long as it is so, whatever the retention of statistics.
    async fn known_depths(&self) -> Result<Vec<SampledLevel>, StoreError>;

    /// A tenant's numbers of one queue, or of all together, oldest first; times without any are left out. At most `limit`. How deep
    /// they were is carried on from one sample to the next, and into the range from before it ([`crate::statistics::carry`]).
    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError>;

    /// The same summed over the time, for each queue apart; those that most was submitted to or ended in first, at most
    /// `limit`. A queue in which something has waited or run all the time, and nothing happened, is among the last. Internal queues are
    /// left out.
    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depth {
    pub tenant: TenantId,
    pub queue: QueueName,
    pub waiting: WaitingCounts,
    pub running: u64,
    /// How long the oldest due job has been waiting.
    pub oldest_wait: Option<Duration>,
}

/// From `from` on, before `to`.
#[derive(Clone, Debug)]
pub struct Range {
    pub slot: Slot,
    pub from: Timestamp,
    pub to: Timestamp,
    /// None: all together. Of no meaning where queues are told apart.
    pub queue: Option<QueueName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// When it begins.
    pub at: Timestamp,
    pub tally: Tally,
}
