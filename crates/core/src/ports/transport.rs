//! How workers learn of due jobs: by asking the store, or through a broker that carries announcements.
//!
//! A message names a job and never carries its work, so a broker may lose, double, delay or reorder messages: the claim decides. A
//! relay hands announcements to a [`Publisher`]; a worker takes them out of a [`Feed`] and claims those jobs by id. Without a
//! broker the feed is `memory::AskTheStore`: it tells the dispatcher to claim by order whenever it looks.
//!
//! What was delivered to one worker is delivered to no other while that one lives. So a worker whose feed has nothing claims by
//! order now and then: it finds what waits behind a busy or a dead one, and what a broker has lost. The messages of those jobs
//! are refused by a claim when their turn comes.

use async_trait::async_trait;

use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::lane::{Lane, LanePlan};
use crate::target::Route;

/// What one message says: this job is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    pub job: JobId,
    /// The attempts made so far; above 0 the message goes to the retry topic, and its lane still decides its priority.
    pub attempt: u32,
    pub lane: Lane,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub route: Route,
    /// As the client gave it, for the headers of the message.
    pub correlation_id: Option<String>,
}

/// Why a message was not sent, or whether it was is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the broker did not accept the message: {0}")]
pub struct PublishError(pub String);

/// The relay's side of a broker.
#[async_trait]
pub trait Publisher: Send + Sync {
    /// Sends messages and waits, no longer than its own timeout, until the broker has each of them durably. One answer for each, in
    /// the order given. A message that failed may have arrived all the same.
    async fn publish(&self, messages: &[Announcement]) -> Vec<Result<(), PublishError>>;
}

/// The worker's side of a broker: what has arrived for this process.
#[async_trait]
pub trait Feed: Send + Sync {
    /// What to claim next: at most `limit` jobs, lanes in the order of the plan. Never waits. What is offered is out of the feed
    /// until it is [settled](Feed::settled) or [put back](Feed::put_back).
    fn offer(&self, plan: &LanePlan, limit: usize) -> Offer;

    /// Returns as soon as [`Feed::offer`] may have something that it did not have when it was last called; at once if it has ids to
    /// offer. Safe to drop and call again, as in `select!`.
    async fn arrived(&self);

    /// The claim that named these is durable, or refused them: the broker need not deliver them again. Arrivals that the feed no longer
    /// knows, because they were delivered to another process meanwhile, are ignored.
    fn settled(&self, arrivals: Vec<Arrival>);

    /// These were not claimed, or nobody knows whether they were: they are offered again, before what arrived after them.
    fn put_back(&self, arrivals: Vec<Arrival>);

    /// The last claim was settled or put back: what lies here and what comes goes to other workers, while running work ends.
    fn leave(&self) {}
}

#[derive(Debug, PartialEq, Eq)]
pub enum Offer {
    /// The store knows: claim by order.
    ByOrder,
    /// Claim these, none of them twice in one offer.
    Ids(Vec<Arrival>),
    /// Nothing has arrived.
    Nothing,
}

/// One message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub job: JobId,
    /// The attempts that had been made when it was announced.
    pub attempt: u32,
    pub lane: Lane,
    /// Whose job it is, so that a worker can leave it for later where this tenant has no room.
    pub tenant: TenantId,
    /// Where the feed finds it again: what it numbers a partition with while it has it, and the offset in it.
    pub place: (u32, i64),
}
