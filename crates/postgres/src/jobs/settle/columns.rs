//! Settlements column by column, as `sql/leave/settle_final.sql` and `settle_mixed.sql` want them.

use foreman_core::Fence;
use uuid::Uuid;

use super::PlacedEnd;
use crate::value::{Arg, Bits, Interval, Time};

/// What both statements are told of each job; a column that is the same for all has one element.
#[derive(Default)]
pub(super) struct Columns<'a> {
    claims: Vec<i64>,
    masks: Vec<Bits>,
    which: Vec<i32>,
    places: Vec<i32>,
    tenants: Vec<&'a str>,
    queues: Vec<&'a str>,
    kinds: Vec<Option<&'a str>>,
    run_at: Vec<Time>,
    attempts: Vec<i32>,
    spent: Vec<i32>,
    crashes: Vec<i32>,
    moves: Vec<i32>,
    states: Vec<&'a str>,
    reports: Vec<&'a str>,
    error_groups: Vec<Option<&'a str>>,
    outcomes: Vec<&'a str>,
    delays: Vec<Option<Interval>>,
    routes: Vec<&'a str>,
    lanes: Vec<i16>,
    expires_at: Vec<Option<Time>>,
}

impl<'a> Columns<'a> {
    /// Of ends in the order of claims and places.
    pub fn of(placed: &'a [PlacedEnd<'a>]) -> Self {
        let mut columns = Self::default();
        let mut last: Option<Fence> = None;
        for one in placed {
            if last != Some(one.end.fence) {
                last = Some(one.end.fence);
                columns.claims.push(one.end.fence.0);
                columns.masks.push(Bits::none(one.claim.jobs.len()));
            }
            columns.push(one);
        }
        if placed.iter().any(|one| one.end.error_group.is_some()) {
            columns.error_groups = placed.iter().map(|one| one.end.error_group.as_deref()).collect();
        }
        columns.shorten();
        columns
    }

    fn push(&mut self, one: &'a PlacedEnd<'a>) {
        let (end, job) = (one.end, one.job());
        let spent = job.counters.spent;
        if let Some(mask) = self.masks.last_mut() {
            mask.set(one.place);
        }
        self.which.push(number(self.claims.len()));
        self.places.push(number(one.place + 1));
        self.tenants.push(job.tenant.as_str());
        self.queues.push(job.queue.as_str());
        self.kinds.push(job.kind.as_deref());
        self.run_at.push(Time(job.run_at));
        self.attempts.push(number(job.counters.attempt as usize));
        self.spent.push(number(if end.refunds { spent.saturating_sub(1) } else { spent } as usize));
        self.crashes.push(number(job.counters.crashes as usize));
        self.moves.push(number(job.counters.moves as usize));
        self.states.push(end.state.map_or("", foreman_core::State::as_str));
        self.reports.push(&end.report);
        self.outcomes.push(end.outcome);
        self.delays.push(end.delay.map(Interval));
        self.routes.push(job.route.as_str());
        self.lanes.push(job.lane);
        self.expires_at.push(job.expires_at.map(Time));
    }

    fn shorten(&mut self) {
        one_for_all(&mut self.which);
        one_for_all(&mut self.tenants);
        one_for_all(&mut self.queues);
        one_for_all(&mut self.kinds);
        one_for_all(&mut self.run_at);
        one_for_all(&mut self.attempts);
        one_for_all(&mut self.spent);
        one_for_all(&mut self.crashes);
        one_for_all(&mut self.moves);
        one_for_all(&mut self.states);
        one_for_all(&mut self.reports);
        one_for_all(&mut self.outcomes);
        one_for_all(&mut self.delays);
        one_for_all(&mut self.routes);
        one_for_all(&mut self.lanes);
        one_for_all(&mut self.expires_at);
    }

    /// The parameters of `settle_final.sql`.
    pub fn common<'c>(&'c self, session: &'c Uuid, settled: &'c bool) -> [&'c dyn Arg; 17] {
        [
            session,
            &self.claims,
            &self.masks,
            &self.which,
            &self.places,
            &self.tenants,
            &self.queues,
            &self.kinds,
            &self.run_at,
            &self.attempts,
            &self.spent,
            &self.crashes,
            &self.moves,
            &self.states,
            &self.reports,
            &self.error_groups,
            settled,
        ]
    }

    /// The parameters of `settle_mixed.sql`.
    pub fn mixed<'c>(&'c self, session: &'c Uuid, settled: &'c bool) -> Vec<&'c dyn Arg> {
        let more: [&dyn Arg; 5] = [&self.outcomes, &self.delays, &self.routes, &self.lanes, &self.expires_at];
        self.common(session, settled).into_iter().chain(more).collect()
    }
}

/// Leaves one of a column that is the same for all.
fn one_for_all<T: PartialEq>(column: &mut Vec<T>) {
    if column.iter().skip(1).all(|one| column.first() == Some(one)) {
        column.truncate(1);
    }
}

/// A count as Postgres keeps it.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stands_for_all_only_where_all_are_the_same() {
        for (mut column, expected) in [(vec![], 0), (vec![7], 1), (vec![7, 7, 7], 1), (vec![7, 7, 8], 3)] {
            one_for_all(&mut column);
            assert_eq!(column.len(), expected);
        }
    }
}
