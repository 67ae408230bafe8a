//! Fair order between tenants inside one lane.
//!
//! A *line* is what is due in one lane, for one route, in one queue. Inside a line it is start-time fair queuing: a job that
//! falls due takes the key `max(V, its tenant's last key + 1/weight)`, where V is the highest key claimed so far in that line
//! ([`OrderKeys`]). A claim then takes the smallest keys: one index scan, and a tenant's burst of 100,000 queues behind another
//! tenant's single job, whatever their weights. V moves with service, never with the clock: a clock runs ahead of a slow lane
//! and would put a newcomer behind the whole burst. Every line has a V of its own: with one for all routes of a queue, a
//! single command of a tenant, claimed at once, would move V past its 100,000 pushes that wait.
//!
//! Between the lines of a lane tenants take turns ([`Turns`]), so that nobody gains by spreading jobs over many queues, and a
//! claim of one job is as fair as a claim of a hundred. Of each line every tenant's first job is on offer, so that nobody's
//! job hides another's: a tenant whose turn comes in another queue would otherwise keep everyone waiting who is behind it here.
//! Only jobs that were taken back through no fault of theirs go before all others of their line. What a claim has seen of a
//! line, and which of it is on offer, is a [`Front`].
//!
//! A claim looks for them at two places of a line: at its beginning, where those wait that were passed over, and at V, where
//! newcomers are let in and where the next job of anyone lies whose last one was just served ([`window`]).

mod front;
mod turns;

pub use front::{Candidate, Front, Position};
pub use turns::{LaneTurns, Line, LineCandidate, Round, Turns};

/// One job of a tenant of weight 1. Keys are whole numbers, so that they compare alike in every store.
pub const UNIT: i64 = 1 << 20;

/// How far a job of a tenant of such a weight moves it on.
pub fn step(weight: u32) -> i64 {
    (UNIT / i64::from(weight.max(1))).max(1)
}

/// The keys of `count` jobs that fall due together, and the tenant's last key afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderKeys {
    first: i64,
    step: i64,
    count: usize,
}

impl OrderKeys {
    /// `virtual_time` is V of the line, `last` the tenant's last key there, if it ever had one.
    ///
    /// A newcomer comes after V itself, which is the place of jobs that were taken back through no fault of theirs, and
    /// before all of a tenant whose jobs wait: the next of those lies a whole step after V.
    pub fn reserve(virtual_time: i64, last: Option<i64>, weight: u32, count: usize) -> Self {
        let step = step(weight);
        let newcomer = virtual_time + 1;
        Self { first: last.map_or(newcomer, |last| newcomer.max(last + step)), step, count }
    }

    pub fn last(self) -> i64 {
        self.first + self.step * (self.count.max(1) as i64 - 1)
    }

    pub fn iter(self) -> impl Iterator<Item = i64> {
        (0..self.count as i64).map(move |n| self.first + self.step * n)
    }
}

/// Where V of a line goes when `count` jobs are taken out of their turn, the last of them at `key`: no further than so many
/// jobs would take it. A job named by its id, or one that must run alone, may stand at the end of a long backlog, and V may
/// not pass what waits in between.
pub fn out_of_turn(virtual_time: i64, key: i64, count: usize) -> i64 {
    let most = UNIT.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
    virtual_time.max(key.min(virtual_time.saturating_add(most)))
}

/// How many jobs of a line a claim of so many looks at: of those up to V, and of those beyond it. As many as it may take; and
/// beyond V so many at least that several tenants are among them, however few it takes.
pub fn window(limit: usize) -> (usize, usize) {
    (limit.max(2), limit.max(BEYOND))
}

/// Whether a job was taken back through no fault of its own: it stands at V of that moment. Those that lie at the beginning of a
/// line go before everything else in it.
pub fn is_returned(key: i64, virtual_time: i64, (attempt, spent, crashes): (u32, u32, u32)) -> bool {
    key <= virtual_time && (attempt > spent || crashes > 0)
}

/// At least so many are looked at beyond V.
const BEYOND: usize = 4;

/// What the keys of a line are compared with, when its first job waits at `first`.
///
/// V, but never more than a job away from the first: keys that were wasted must not make a line wait for ever, nor may a line
/// whose V ran ahead go before all others until it has caught up.
pub fn front(virtual_time: i64, first: i64) -> i64 {
    virtual_time.clamp(first.saturating_sub(UNIT), first)
}

/// How far a key lies behind the [`front`] of its own line.
///
/// Keys of two lines cannot be compared as they are: each counts its own service, and a new one would go ahead of one that
/// has served a million until it had served as many.
pub fn behind(key: i64, front: i64) -> i64 {
    key.saturating_sub(front)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_job_goes_ahead_of_another_tenants_burst() {
        let burst: Vec<i64> = OrderKeys::reserve(0, None, 1, 100_000).iter().collect();
        // Three of the burst have been served when the other tenant arrives.
        let single = OrderKeys::reserve(burst[2], None, 1, 1).last();
        assert_eq!(burst.iter().filter(|key| **key < single).count(), 3);
    }

    #[test]
    fn a_single_job_goes_ahead_of_the_burst_of_the_heaviest_tenant() {
        let burst: Vec<i64> = OrderKeys::reserve(0, None, 1_000, 100_000).iter().collect();
        let single = OrderKeys::reserve(burst[99], None, 1, 1).last();
        assert_eq!(burst.iter().filter(|key| **key < single).count(), 100);
    }

    #[test]
    fn the_next_single_job_waits_for_one_of_the_burst() {
        let burst: Vec<i64> = OrderKeys::reserve(0, None, 1, 10).iter().collect();
        let first = OrderKeys::reserve(burst[2], None, 1, 1).last();
        let second = OrderKeys::reserve(first, Some(first), 1, 1).last();
        assert_eq!(burst.iter().filter(|key| **key > first && **key < second).count(), 1);
    }

    #[test]
    fn a_heavier_tenant_gets_its_share() {
        let heavy: Vec<i64> = OrderKeys::reserve(0, None, 3, 30).iter().collect();
        let light: Vec<i64> = OrderKeys::reserve(0, None, 1, 30).iter().collect();
        let served_heavy = heavy.iter().filter(|key| **key < light[9]).count();
        assert!(
            (27..=28).contains(&served_heavy),
            "three for each of the nine before it, and one that came first: {served_heavy}"
        );
    }

    #[test]
    fn a_tenant_that_was_idle_saves_nothing_up() {
        assert_eq!(OrderKeys::reserve(50 * UNIT, Some(2 * UNIT), 1, 1).last(), 50 * UNIT + 1);
    }

    #[test]
    fn what_is_taken_out_of_turn_moves_v_by_a_job_each() {
        assert_eq!(out_of_turn(5 * UNIT, 900 * UNIT, 1), 6 * UNIT);
        assert_eq!(out_of_turn(5 * UNIT, 900 * UNIT, 3), 8 * UNIT);
        assert_eq!(out_of_turn(5 * UNIT, 5 * UNIT + 7, 3), 5 * UNIT + 7, "no further than it stood");
        assert_eq!(out_of_turn(5 * UNIT, UNIT, 1), 5 * UNIT, "and never back");
    }

    #[test]
    fn the_first_of_a_line_is_at_most_a_job_behind_its_front() {
        for (time, first, expected) in [(0, 900 * UNIT, UNIT), (900 * UNIT, UNIT, 0), (UNIT, UNIT + 9, 9)] {
            assert_eq!(behind(first, front(time, first)), expected);
        }
    }
}
