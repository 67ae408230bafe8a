//! The rules of the protocol, each of which can be taken away to prove that the conformance suites notice.

use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A claim carries which of its jobs are still open, and every verb acts on open jobs only.
    OpenJobs,
    /// A claim takes nothing unless its session is live.
    SessionChecked,
    /// The sweeper looks again under the lock before it lapses a session.
    SweepLooksAgain,
    /// Only claims of given-up calls are released.
    Tokens,
    /// Given-up calls are looked for at every heartbeat.
    GivenUpEachTime,
    /// A settlement sent again is told from a zombie's.
    SettleRemembers,
    /// Settling names the claim and the session.
    FenceChecksSession,
    NumbersNeverReused,
    /// Cancelling a held job writes its outcome at once.
    CancelSettles,
    /// A refund lowers `spent`, never the attempt's number.
    AttemptNeverFalls,
    /// A claim by id obeys the same conditions as one by order.
    ByIdObeysDue,
    RedriveRemovesOutcome,
    CountedAtClaim,
    FragileAlone,
    KeysAreFair,
    /// A tick is fired only while the schedule is what the firing was computed from.
    FiringCompares,
    /// An edit takes place only while the schedule is what was seen and nothing of it is due.
    EditsCompare,
    /// A tick that is there already makes no second job.
    TickOnce,
    /// A claim takes no more of a tenant's jobs than it has room for.
    RoomsObeyed,
    /// A follower writes its effect only while its position is where it began.
    AdvanceCompares,
    /// The log is kept until every follower has read it.
    PruneWaitsForFollowers,
    /// How a try went says nothing about an endpoint that was well after it.
    OldNotesPass,
}

/// Which rules are in force: all of them, but for what a test took away.
#[derive(Debug, Default)]
pub(super) struct Rules {
    taken_away: HashSet<Rule>,
}

impl Rules {
    pub fn has(&self, rule: Rule) -> bool {
        !self.taken_away.contains(&rule)
    }

    #[cfg(feature = "removable-rules")]
    pub fn take_away(&mut self, rule: Rule) {
        self.taken_away.insert(rule);
    }
}
