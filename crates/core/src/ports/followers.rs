//! Followers of the change log: readers that write something of their own, exactly once, for what they read.
//!
//! A follower has a name and one position in the log. [`Followers::advance`] writes its effect only while the position is where
//! the follower believes it to be, and moves it in the same transaction. So of two processes that run the same follower one is
//! overtaken and writes nothing, and an advance whose answer was lost and that is sent again is overtaken by itself. Only an advance
//! that moves nothing, from a position to the same one, is written as often as it is sent: its effect must bear that.
//!
//! The pruner keeps what any follower has not read, for [`UNREAD_KEPT`] at most, and says which follower that is
//! ([`super::PruneStep::held_by`]). A follower that is not wanted any more is dismissed, or it would hold the log back.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use super::changes::Position;
use super::upkeep::Leader;
use super::webhooks::NewDelivery;
use crate::statistics::BucketEntry;

/// A follower that is further behind than this has lost what lies before: a log does not grow for ever.
pub const UNREAD_KEPT: Duration = Duration::from_hours(24 * 7);

/// What the courier is called: in the store, in metrics and in logs.
pub const COURIER: &str = "courier";
/// The same of the bookkeeper.
pub const BOOKKEEPER: &str = "bookkeeper";

#[async_trait]
pub trait Followers: Send + Sync {
    /// A follower's position. A follower that the store does not know is added at `begin`, and from then on the log is kept for it.
    /// `None`, and nothing is added, when the leader's term is over.
    async fn follow(
        &self,
        leader: Option<&Leader>,
        follower: &FollowerName,
        begin: Begin,
    ) -> Result<Option<Position>, StoreError>;

    /// Writes the effect and moves the follower, in one transaction. `None`, and nothing is done, when the leader's term is over.
    async fn advance(&self, leader: Option<&Leader>, advance: &Advance) -> Result<Option<Advanced>, StoreError>;

    /// Removes a follower: nothing is kept for it, and it begins anew when it follows again. `None`, and it stays, when the leader's
    /// term is over.
    async fn dismiss(&self, leader: Option<&Leader>, follower: &FollowerName) -> Result<Option<()>, StoreError>;
}

/// What a follower is called in the store, in logs and in metrics.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FollowerName(Cow<'static, str>);

impl FollowerName {
    /// Makes deliveries for webhooks.
    pub const COURIER: FollowerName = FollowerName::new(COURIER);
    /// Counts, for charts and metrics.
    pub const BOOKKEEPER: FollowerName = FollowerName::new(BOOKKEEPER);

    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// As a store has it: perhaps that of a follower which only a later version has.
    pub fn from_stored(name: String) -> Self {
        Self(Cow::Owned(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FollowerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a new follower begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the oldest change that the log still has.
    Start,
    /// With the next change.
    End,
}

/// What a follower made of a stretch of the log. With `from` equal to `to` it writes and does not move.
#[derive(Clone, Debug)]
pub struct Advance {
    pub follower: FollowerName,
    pub from: Position,
    pub to: Position,
    pub effect: Effect,
}

/// What is written together with a follower's move.
#[derive(Clone, Debug, Default)]
pub enum Effect {
    #[default]
    Nothing,
    /// Jobs that deliver messages, and what is listed of them.
    Deliveries(Vec<NewDelivery>),
    /// Added to the statistics. What an entry about a minute says last of how deep a queue was
    /// ([`crate::statistics::Tally::last`]) is kept beside, unless later is known.
    Counts(Vec<BucketEntry>),
}

impl Effect {
    pub fn is_empty(&self) -> bool {
        match self {
            Effect::Nothing => true,
            Effect::Deliveries(deliveries) => deliveries.is_empty(),
            Effect::Counts(entries) => entries.is_empty(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    Done,
    /// The follower was elsewhere. Nothing was written.
    Overtaken,
}
