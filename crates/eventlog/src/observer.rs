//! What a worker tells whoever runs it: for metrics and alerts. Called inside the loops, so it must be quick and must not block.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use crate::failure::FailureKind;

/// Every method has an empty default: implement those that you need.
pub trait Observer: Send + Sync {
    /// A batch ended, well or not. Batches that found nothing to read are not reported.
    fn batch(&self, _batch: &BatchReport<'_>) {}
    /// The worker has told the others that it is alive.
    fn heartbeat(&self, _worker: Uuid, _is_leader: bool) {}
    /// The registration of the worker was removed while it ran: it has stopped its consumers and registers again.
    fn registration_lost(&self, _worker: Uuid) {}
    /// Readers wait for transactions that have appended and not ended.
    fn standstill(&self, _standstill: &Standstill) {}
    /// A consumer or shard was paused after a failure. It stays so until someone resumes it.
    fn paused(&self, _pause: &PauseReport<'_>) {}
    /// An event was parked by its poison handler, and its consumer goes on after it.
    fn parked(&self, _poison: &PauseReport<'_>) {}
    /// The leader has given consumers to workers: who has what now.
    fn rebalanced(&self, _owners: &BTreeMap<(String, i32), Uuid>) {}
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// How a batch ended.
#[derive(Clone, Debug)]
pub struct BatchReport<'a> {
    pub consumer: &'a str,
    pub shard: i32,
    /// The checkpoint before it, and after it if it succeeded.
    pub from: i64,
    pub to: i64,
    /// Up to where the log could be read.
    pub frontier: i64,
    /// Events that were handled.
    pub events: usize,
    pub took: Duration,
    pub is_detached: bool,
    pub error: Option<(FailureKind, &'a str)>,
}

impl BatchReport<'_> {
    /// How many positions are left. About as many events, because positions have gaps.
    pub fn lag(&self) -> i64 {
        (self.frontier - self.to).max(0)
    }
}

/// Who keeps readers from going on, and since when.
#[derive(Clone, Debug)]
pub struct Standstill {
    /// Readers see everything up to here.
    pub frontier: i64,
    /// The last position that was drawn.
    pub head: i64,
    pub lasts: Duration,
    pub holders: Vec<Holder>,
}

/// A transaction that has appended and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// Readers stop here because of it.
    pub announced: i64,
    /// None for a prepared transaction.
    pub pid: Option<i32>,
    pub application_name: Option<String>,
    pub user: Option<String>,
    pub client_addr: Option<String>,
    /// Such as `active` or `idle in transaction`.
    pub state: Option<String>,
    pub open_secs: Option<f64>,
    /// Of a prepared transaction.
    pub prepared_gid: Option<String>,
    /// The last statement, if this user may see it.
    pub query: Option<String>,
}

/// Which event a consumer could not handle.
#[derive(Clone, Debug)]
pub struct PauseReport<'a> {
    pub consumer: &'a str,
    pub shard: i32,
    pub position: i64,
    pub event_id: Uuid,
    pub event_type: &'a str,
    pub failures: i32,
    pub error: &'a str,
}
