//! Which of the jobs that were seen a claim takes: through the plan of lanes, tenants in turn.

use std::collections::BTreeMap;

use foreman_core::fair::{self, Candidate, Front, LaneTurns, Round, Turns};
use foreman_core::lane::LanePlan;
use uuid::Uuid;

use super::look::{Seen, SeenLine};
use crate::rows::rank;
use crate::value::{Arg, bound};

/// Runs of jobs that lie next to each other in a line, column by column: where each begins, how many to take of it, and where
/// the next one begins.
#[derive(Default)]
pub(crate) struct Runs {
    pub lanes: Vec<i16>,
    pub routes: Vec<String>,
    pub queues: Vec<String>,
    pub fronts: Vec<i64>,
    pub numbers: Vec<i64>,
    /// The key of the first that is wanted. Nobody walks over the dead entries in front of it a second time.
    pub firsts: Vec<i64>,
    pub first_jobs: Vec<Uuid>,
    pub untils: Vec<i64>,
    pub until_jobs: Vec<Uuid>,
    /// A line gave all that was seen of it and has more: the claim is smaller, rather than out of turn.
    pub is_short: bool,
}

impl Runs {
    /// Goes through the plan with what was seen.
    pub fn choose(seen: &Seen, plan: &LanePlan, limit: usize, turns: &Turns) -> Self {
        if let (true, Some(line)) = (seen.is_one_line(), seen.lines.first()) {
            return Self::of_one_line(line, plan, limit);
        }
        let mut lanes: BTreeMap<i16, LaneScan<'_>> = BTreeMap::new();
        for line in &seen.lines {
            let scan = lanes.entry(rank(line.lane)).or_insert_with(|| LaneScan::new(turns.lane(line.lane), seen));
            scan.push(line);
        }
        let mut left = limit;
        for pick in &plan.0 {
            if let Some(scan) = lanes.get_mut(&rank(pick.lane)) {
                left -= scan.take(pick.up_to.min(left));
                // What it has more goes before all that comes after it.
                if scan.is_short {
                    break;
                }
            }
        }
        let mut runs = Self::default();
        for scan in lanes.into_values() {
            runs.is_short |= scan.is_short;
            for line in &scan.lines {
                runs.push(line);
            }
        }
        runs
    }

    /// How many jobs they are together.
    pub fn jobs(&self) -> i64 {
        self.numbers.iter().sum()
    }

    /// The parameters of `sql/claim/take.sql`.
    pub fn columns<'a>(&'a self, full: &'a dyn Arg, highest: &'a dyn Arg) -> [&'a dyn Arg; 10] {
        [
            full,
            &self.lanes,
            &self.routes,
            &self.queues,
            &self.firsts,
            &self.first_jobs,
            &self.untils,
            &self.until_jobs,
            &self.numbers,
            highest,
        ]
    }

    /// Where each ends at the latest: so far beyond V.
    pub fn highest(&self, beyond: Option<i64>) -> Vec<i64> {
        match beyond {
            Some(beyond) => self.fronts.iter().map(|v| v.saturating_add(beyond)).collect(),
            None => vec![i64::MAX; self.fronts.len()],
        }
    }

    fn of_one_line(line: &SeenLine, plan: &LanePlan, limit: usize) -> Self {
        let of_lane = plan.0.iter().filter(|pick| pick.lane == line.lane);
        let number = of_lane.map(|pick| pick.up_to).sum::<usize>().min(limit);
        let mut runs = Self::default();
        if number > 0 {
            runs.begin(line, 0);
            runs.numbers = vec![bound(number)];
        }
        runs
    }

    fn push(&mut self, scan: &LineScan<'_>) {
        let v = scan.line.v;
        let mut before: Option<usize> = None;
        let mut first_of_line = true;
        for (place, one) in scan.line.jobs.iter().enumerate() {
            if scan.is_taken[place] {
                // What lies between the two places that were looked at was not seen.
                let goes_on = before
                    .is_some_and(|before| before + 1 == place && (scan.line.jobs[before].key > v) == (one.key > v));
                if goes_on {
                    if let Some(number) = self.numbers.last_mut() {
                        *number += 1;
                    }
                } else {
                    if let (false, Some(until), Some(job)) =
                        (first_of_line, self.untils.last_mut(), self.until_jobs.last_mut())
                    {
                        (*until, *job) = (one.key, one.job.0);
                    }
                    first_of_line = false;
                    self.begin(scan.line, place);
                }
                before = Some(place);
            }
        }
    }

    fn begin(&mut self, line: &SeenLine, place: usize) {
        let first = &line.jobs[place];
        self.lanes.push(rank(line.lane));
        self.routes.push(line.route.as_str().into());
        self.queues.push(line.queue.as_str().into());
        self.fronts.push(line.v);
        self.numbers.push(1);
        self.firsts.push(first.key);
        self.first_jobs.push(first.job.0);
        self.untils.push(i64::MAX);
        self.until_jobs.push(Uuid::max());
    }
}

/// What was seen of a lane.
struct LaneScan<'s> {
    seen: &'s Seen,
    round: Round<'s>,
    lines: Vec<LineScan<'s>>,
    /// All that was seen of a line is taken, and it has more.
    has_given_out: bool,
    is_short: bool,
}

struct LineScan<'s> {
    line: &'s SeenLine,
    /// What its keys are compared with.
    front: i64,
    /// Which of its jobs this claim takes.
    is_taken: Vec<bool>,
    left: usize,
    /// Which of those may be taken next, by their place among them.
    waiting: Front<usize>,
}

impl<'s> LaneScan<'s> {
    fn new(turns: &'s LaneTurns, seen: &'s Seen) -> Self {
        Self { seen, round: Round::new(turns), lines: Vec::new(), has_given_out: false, is_short: false }
    }

    /// Adds a line and offers the first of each of its tenants.
    fn push(&mut self, line: &'s SeenLine) {
        let (front, number) = (line.front(), self.lines.len());
        let mut waiting = Front::default();
        for (place, one) in line.jobs.iter().enumerate() {
            let candidate = Candidate { tenant: one.tenant.clone(), is_returned: one.is_returned, item: place };
            waiting.add((one.key, one.job), candidate);
        }
        waiting.offer(fair::Line { number, route: &line.route, queue: &line.queue, front }, &mut self.round);
        let is_taken = vec![false; line.jobs.len()];
        self.lines.push(LineScan { line, front, is_taken, left: line.jobs.len(), waiting });
    }

    /// Chooses up to `room`; how many there were.
    fn take(&mut self, room: usize) -> usize {
        for taken in 0..room {
            if self.has_given_out {
                self.is_short = true;
                return taken;
            }
            let Some((number, job)) = self.round.choose() else { return taken };
            let LineScan { line, front, is_taken, left, waiting } = &mut self.lines[number];
            let Some(Candidate { tenant, item: place, .. }) = waiting.take(job) else { continue };
            is_taken[place] = true;
            *left -= 1;
            self.has_given_out = *left == 0 && !line.is_whole;
            self.round.took(&line.route, &line.queue, &tenant, self.seen.weight(&tenant));
            let of = fair::Line { number, route: &line.route, queue: &line.queue, front: *front };
            waiting.offer_next(&tenant, of, &mut self.round);
        }
        room
    }
}
