//! Taking what is expected without having looked: for a worker with nothing to do that was just woken for a job.
//!
//! Such a claim is nearly always for a single job of the line that the last one was in. So a process remembers where its
//! latest small claims took jobs, and a claim in whose session nothing runs asks for what has come there since, before any
//! look: the statement that takes is the usual one (`sql/claim/by_order.sql`), and a round trip and the look fall away.
//!
//! It may take few jobs, and only where several times as many slots are free. So nobody's turn is lost by it: whatever else
//! waits finds a slot too, by the claim that follows at once (`Claim::has_more`), which looks as always. What is expected and
//! not there costs a round trip, and is not expected again until a look has found something.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foreman_core::JobId;
use uuid::Uuid;

use super::choice::Runs;
use super::floor::LineName;
use crate::value::bound;

/// So many lines are remembered, the latest ones.
const LINES: usize = 4;
/// A claim of more than so many is no sign of a system at rest.
const FEW: usize = 8;
/// Of each line it takes so small a part of the slots that are free.
const PART: usize = 8;

/// A line and the key of the last job that was taken there. Nothing that is due before it is missed for long: it is left to looks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExpectedLine {
    line: LineName,
    after: i64,
}

/// Where the next job is expected: the line served last comes last.
#[derive(Default)]
pub(crate) struct ExpectedJobs(Mutex<Vec<ExpectedLine>>);

impl ExpectedJobs {
    /// What a claim of so many jobs took, line by line.
    pub fn served(&self, taken: &[(LineName, i64)], jobs: usize) {
        let mut lines = self.lock();
        if jobs > FEW {
            lines.clear();
            return;
        }
        for (line, key) in taken {
            let known = lines.iter().position(|known| known.line == *line).map(|place| lines.remove(place));
            let after = known.map_or(*key, |known| known.after.max(*key));
            lines.push(ExpectedLine { line: line.clone(), after });
        }
        let surplus = lines.len().saturating_sub(LINES);
        lines.drain(..surplus);
    }

    /// Nothing had come where it was expected.
    pub fn missed(&self) {
        self.lock().clear();
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The runs to take for a claim of so many in these lanes, for these routes; none where that is no good idea.
    pub(super) fn runs(&self, wanted: usize, lanes: &[i16], routes: &[&str]) -> Option<Runs> {
        let each = wanted / (PART * LINES);
        let mut runs = Runs::default();
        let lines = self.lock();
        let is_asked = |known: &&ExpectedLine| {
            let (lane, route, _) = &known.line;
            lanes.contains(lane) && routes.contains(&route.as_str())
        };
        for ExpectedLine { line: (lane, route, queue), after } in lines.iter().filter(is_asked) {
            runs.lanes.push(*lane);
            runs.routes.push(route.as_str().into());
            runs.queues.push(queue.as_str().into());
            runs.fronts.push(*after);
            runs.numbers.push(bound(each.min(FEW)));
            runs.firsts.push(*after);
            runs.first_jobs.push(JobId(Uuid::nil()).0);
            runs.untils.push(i64::MAX);
            runs.until_jobs.push(Uuid::max());
        }
        (each > 0 && !runs.numbers.is_empty()).then_some(runs)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ExpectedLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::job::QueueName;
    use foreman_core::target::Route;

    use super::*;

    fn line(queue: &str) -> LineName {
        (1, Route::http(), QueueName::from_stored(queue))
    }

    fn queues(expected: &ExpectedJobs, wanted: usize) -> Vec<(String, i64, i64)> {
        let Some(runs) = expected.runs(wanted, &[0, 1, 2], &["http"]) else { return Vec::new() };
        let named = runs.queues.into_iter().zip(runs.firsts).zip(runs.numbers);
        named.map(|((queue, first), number)| (queue, first, number)).collect()
    }

    #[test]
    fn the_next_job_is_expected_where_the_latest_were() {
        let expected = ExpectedJobs::default();
        assert!(expected.runs(512, &[1], &["http"]).is_none(), "nothing is known");
        for (queue, key) in [("a", 5), ("b", 7), ("a", 3), ("c", 1), ("d", 1), ("e", 1)] {
            expected.served(&[(line(queue), key)], 1);
        }
        let found: Vec<_> = queues(&expected, 512).into_iter().map(|(queue, first, _)| (queue, first)).collect();
        assert_eq!(found, [("a".into(), 5), ("c".into(), 1), ("d".into(), 1), ("e".into(), 1)], "four, and never back");
        assert!(expected.runs(512, &[0, 2], &["http"]).is_none(), "the lane is not asked for");
        assert!(expected.runs(512, &[1], &["command"]).is_none(), "nor is the route");
        expected.missed();
        assert_eq!(queues(&expected, 512), []);
    }

    #[test]
    fn it_takes_a_small_part_of_the_slots_that_are_free() {
        let expected = ExpectedJobs::default();
        expected.served(&[(line("a"), 1)], 1);
        for (wanted, number) in [(31, None), (32, Some(1)), (64, Some(2)), (512, Some(8))] {
            assert_eq!(queues(&expected, wanted).first().map(|(_, _, number)| *number), number, "of {wanted}");
        }
        expected.served(&[(line("a"), 2)], 9);
        assert_eq!(queues(&expected, 512), [], "much was waiting");
    }
}
