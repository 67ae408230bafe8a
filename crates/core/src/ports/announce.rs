//! The store's side of announcing: which due jobs a broker has been told of.
//!
//! The row in `ready` is the outbox. A relay marks due rows as announced, together with one row that names the batch, and commits;
//! only then it sends, so that no lock is held over the network. When the broker has answered, the batch is acknowledged, and what
//! failed is unmarked. A mark promises nothing: a job may be claimed whether it has one or not, and leaves `ready` with it. A
//! batch that nobody acknowledged (its relay died), and jobs that still wait long after their batch, are unmarked by
//! [`AnnounceStore::reannounce`], so a broker may lose everything.
//!
//! A port of its own, and no part of [`Store`](super::Store): a store that serves one machine needs no broker and has none of it.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::jobs::{Headroom, Queues};
use super::transport::Announcement;
use crate::lane::{Lane, LanePlan};
use crate::target::Route;
use crate::time::Timestamp;

#[async_trait]
pub trait AnnounceStore: Send + Sync {
    /// Marks due jobs that are not announced, in the order in which a claim would take them, and notes the batch. It passes over
    /// what a claim would pass over (paused, disabled, expired, tenants without room), jobs that must run alone, and jobs that were
    /// refused or failed to be sent and whose pause is not over. The order moves on as if the jobs were claimed. `None`: there was
    /// nothing to announce. Of several calls at once no two mark the same job.
    async fn announce(&self, request: &AnnounceRequest) -> Result<Option<AnnouncedBatch>, StoreError>;

    /// The broker has answered for a batch. `failed` are places in it that it did not accept: they are unmarked, and announced again
    /// after a pause that grows. Sent again it changes nothing, and neither does a batch that is forgotten.
    async fn acknowledge(&self, batch: BatchNumber, failed: &[usize]) -> Result<(), StoreError>;

    /// How many announced jobs still wait, lane by lane: of all batches, whichever relay has announced them. Exact while they are
    /// few; of many, a sample is counted and the rest inferred.
    async fn outstanding(&self) -> Result<LaneCounts, StoreError>;

    /// Unmarks what still waits of batches that nobody acknowledged within `unanswered`, or that are older than `unclaimed`, and
    /// forgets these batches. A bounded number of batches for each call; answers how many jobs will be announced again. Call again
    /// until that is none.
    async fn reannounce(&self, unanswered: Duration, unclaimed: Duration) -> Result<usize, StoreError>;

    /// What waits to be announced, for metrics: counted up to a bound. What is paused, disabled or must run alone waits for
    /// something else and does not count.
    async fn unannounced(&self, request: &AnnounceRequest) -> Result<Unannounced, StoreError>;

    /// The sessions that take their work from a broker, live and in time.
    async fn consumers(&self) -> Result<Vec<Consumer>, StoreError>;

    /// Keeps messages that could not be read, each cut to [`PARKED_BYTES`]. Sent again with the same place it changes nothing.
    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError>;

    /// Parked messages, the newest first; `before` is the last one of the page before.
    async fn parked(&self, before: Option<i64>, limit: usize) -> Result<Vec<ParkedView>, StoreError>;
}

/// How long a job that was refused while it waited, or could not be sent, is not announced again, by how often that has happened: a
/// second, twice as long each time, a minute at most.
pub fn pause_after(refusals: u32) -> Duration {
    Duration::from_secs(1 << refusals.saturating_sub(1).min(6)).min(Duration::from_mins(1))
}

/// So much is kept of a parked message's bytes, of its key, and of the reason.
pub const PARKED_BYTES: usize = 64 * 1024;

/// So many parked messages are kept at most: the newest.
pub const PARKED_KEPT: usize = 10_000;

#[derive(Clone, Debug)]
pub struct AnnounceRequest {
    /// How many of each lane, in this order.
    pub plan: LanePlan,
    pub limit: usize,
    pub queues: Queues,
    pub routes: Vec<Route>,
    /// Tenants that are near their limit of running jobs. What is announced of theirs and waits takes of their room.
    pub rooms: Vec<Headroom>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNumber(pub i64);

/// What was marked together. The place of a job in it is its identity towards [`AnnounceStore::acknowledge`].
#[derive(Debug)]
pub struct AnnouncedBatch {
    pub number: BatchNumber,
    pub jobs: Vec<Announcement>,
    /// There may be more: not everything was looked at, or the limit was reached.
    pub has_more: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    pub high: usize,
    pub normal: usize,
    pub low: usize,
}

impl LaneCounts {
    pub fn of(self, lane: Lane) -> usize {
        match lane {
            Lane::High => self.high,
            Lane::Normal => self.normal,
            Lane::Low => self.low,
        }
    }

    pub fn add(&mut self, lane: Lane, count: usize) {
        match lane {
            Lane::High => self.high += count,
            Lane::Normal => self.normal += count,
            Lane::Low => self.low += count,
        }
    }

    pub fn total(self) -> usize {
        self.high + self.normal + self.low
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unannounced {
    pub jobs: u64,
    /// There are more than were counted.
    pub is_more: bool,
    /// Since when the oldest of those that were counted has been due.
    pub oldest: Option<Timestamp>,
}

/// What a worker that takes its work from a broker can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    pub slots: u32,
    pub queues: Queues,
    pub routes: Vec<Route>,
}

/// A message that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedMessage {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub key: Option<Vec<u8>>,
    /// As they came, or the first of them.
    pub bytes: Vec<u8>,
    /// How many bytes it had when it came.
    pub size: u64,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedView {
    pub number: i64,
    pub parked_at: Timestamp,
    /// As it was kept.
    pub message: ParkedMessage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_after_a_refusal_doubles_up_to_a_minute() {
        let pauses: Vec<u64> = [1, 2, 3, 6, 7, 8, u32::MAX].map(|refusals| pause_after(refusals).as_secs()).into();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60, 60]);
    }
}
