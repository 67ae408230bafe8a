//! "Look now": hints that save waiting for the next poll. They may be lost or doubled; a poll backs each of them up.

use tokio::sync::watch;

/// Rung by a store after its commit, heard by loops before they look.
pub trait Wakeups: Send + Sync {
    fn ring(&self, topic: Topic);

    /// A receiver that changes at every ring. Mark it seen *before* looking for work: what is rung while one looks then
    /// wakes the next wait.
    fn listen(&self, topic: Topic) -> watch::Receiver<u64>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A job is due, or a queue was resumed: claim.
    Ready,
    /// A job was put off, or its `expires_at` may come first: the promoter looks when the next is due.
    Waiting,
    /// A held job was cancelled: its worker looks at what it still holds.
    Cancelled,
    /// The change log has grown.
    Changed,
    /// A schedule was made or edited: its next tick may come first.
    Scheduled,
    /// A leader has resigned: its office can be had.
    Resigned,
}

impl Topic {
    pub const ALL: [Topic; 6] =
        [Topic::Ready, Topic::Waiting, Topic::Cancelled, Topic::Changed, Topic::Scheduled, Topic::Resigned];
}
