//! The lines of a lane: which queues have something due for a route, and whose turn it is.
//!
//! A line is what is due in one lane for one route in one queue, in the order of its keys. A claim skips through the claim
//! index from one line to the next, so that it costs what the lines with something in them cost, however many queues have
//! ever been named; then tenants take turns until it is full ([`foreman_core::fair`]). Of each line every tenant's first is on
//! offer, as far as the claim looks ([`foreman_core::fair::window`]). A line that one tenant has to itself is read only when
//! its turn comes; one that several share is read before, up to V and beyond it.
//!
//! One claim looks at no more than [`AT_ONCE`] lines of a lane and route. Up to so many it sees them all, and the order is
//! exact. With more of them it goes round: each claim looks at the next [`AT_ONCE`], and beside them at the lines that each
//! tenant has come to last. So nobody hides another tenant's single job among queues without number, and every line has its
//! turn once in a round. Lanes stay strict all the same, for each lane is looked at for itself: a job of a lower lane is
//! never taken in place of one of a higher lane. A claim that is not full after its share looks at the next one, so it never
//! comes back with nothing while anything is due. Lines that nobody may take from (its tenants have paused it, have no room, or
//! are disabled) are passed over and do not count; how single tenants are passed over is told in [`super::skipped`].
//!
//! There is one exception to both: a claim passes over no more than [`CLOSED_AT_ONCE`] such lines of a lane and route. What is due
//! behind them waits for the claims that follow, each of which goes on where the one before stopped.
//!
//! Where the next claim goes on, and how far tenants have come, is kept in memory. It is lost with the process and starts
//! anew.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use foreman_core::Lane;
use foreman_core::fair::{self, Candidate, Round as Turn, Turns};
use foreman_core::job::QueueName;
use foreman_core::ports::{ClaimRequest, Queues};
use foreman_core::target::Route;

use super::closed::{Closing, Everywhere};
use super::cycle::LineCycle;
use super::find::{LINE_OF, find};
use super::line::LaneLine;
use super::rotation::{CyclePlace, Rotation};
use super::skipped::{LookEnd, WALK};
use crate::error::Fault;
use crate::order::Weights;
use crate::rows::ReadyRow;
use crate::write::Write;

/// So many lines of a lane and route are looked at together: about half a millisecond of the writer.
pub(super) const AT_ONCE: usize = 256;

/// So many lines of a lane are looked into in vain by one claim.
const IN_VAIN: usize = 4 * AT_ONCE;

/// So many lines of a lane and route that nobody may take from are passed over in one claim: about two milliseconds of the writer.
/// The next claim goes on behind them; what others have come to last is looked at all the same.
pub(super) const CLOSED_AT_ONCE: usize = 8 * AT_ONCE;

/// So many jobs of a line are read ahead while it may be another line's turn, according to how many lines there are.
const AHEAD: std::ops::RangeInclusive<usize> = 4..=16;

/// The lines of one lane that a request may take from.
pub(super) struct LaneLines<'t> {
    lane: Lane,
    limit: usize,
    closing: Closing,
    source: Source,
    lines: Vec<LaneLine>,
    known: HashSet<(Route, QueueName)>,
    /// Lines of which all that was read is taken.
    drained: Vec<usize>,
    turn: Turn<'t>,
    weights: Weights,
    /// How many jobs may still be passed over.
    walk: usize,
    /// It stopped before it had seen everything.
    is_unfinished: bool,
}

/// Where lines come from.
enum Source {
    Rounds(Vec<LineCycle>),
    Named(Vec<(Route, QueueName)>),
}

impl<'t> LaneLines<'t> {
    pub fn of(
        lane: Lane,
        request: &ClaimRequest,
        limit: usize,
        (is_any_paused, everywhere): (bool, &Arc<Everywhere>),
        rotation: &Rotation,
        turns: &'t Turns,
    ) -> Self {
        let routes: BTreeSet<&Route> = request.routes.iter().collect();
        let source = match &request.queues {
            Queues::All => Source::Rounds(
                routes.into_iter().map(|route| LineCycle::from(route.clone(), rotation.place(lane, route))).collect(),
            ),
            Queues::Named(names) => {
                let names: BTreeSet<&QueueName> = names.iter().collect();
                let pairs =
                    routes.iter().flat_map(|route| names.iter().map(|name| ((*route).clone(), (*name).clone())));
                Source::Named(pairs.collect())
            }
        };
        let everywhere = Arc::clone(everywhere);
        Self {
            lane,
            limit,
            closing: Closing { is_any_paused, everywhere, skipped: Arc::clone(&rotation.skipped) },
            source,
            lines: Vec::new(),
            known: HashSet::new(),
            drained: Vec::new(),
            turn: Turn::new(turns.lane(lane)),
            weights: Weights::default(),
            walk: WALK,
            is_unfinished: false,
        }
    }

    /// The next `room` due jobs that need not run alone.
    pub fn take(&mut self, write: &Write<'_>, room: usize, chosen: &mut Vec<ReadyRow>) -> Result<(), Fault> {
        let (begun, full) = (chosen.len(), chosen.len() + room);
        if self.lines.is_empty() && !self.look_further(write)? {
            return Ok(());
        }
        if self.has_only_one() {
            return self.lines[0].read_alone(write, self.lane, room, &mut self.walk, chosen);
        }
        while chosen.len() < full {
            match self.next(write, full - chosen.len())? {
                Some(waiting) => chosen.push(waiting),
                None if self.lines.len() > IN_VAIN + 2 * (chosen.len() - begun) => {
                    self.is_unfinished = true;
                    break;
                }
                None if self.look_further(write)? => {}
                None => break,
            }
        }
        Ok(())
    }

    /// There is one line, and nothing to compare its jobs with: they are taken as they come.
    fn has_only_one(&self) -> bool {
        let is_all = match &self.source {
            Source::Rounds(rounds) => rounds.iter().all(|round| round.is_over),
            Source::Named(pairs) => pairs.is_empty(),
        };
        is_all && matches!(&self.lines[..], [line] if line.is_free())
    }

    /// Lets the next claim go on where this one stopped; true when it stopped before it had seen everything.
    pub fn remember(self, rotation: &Rotation) -> bool {
        let mut is_unfinished = self.is_unfinished;
        for line in &self.lines {
            let end = line.end();
            is_unfinished |= matches!(end, LookEnd::Stopped(_));
            // Of a line that nobody is kept from, the end says nothing.
            let end = if end == LookEnd::End && line.closed.is_empty() { LookEnd::Found } else { end };
            rotation.skipped.remember((self.lane, &line.route, &line.queue), &line.part, end);
        }
        let Source::Rounds(rounds) = self.source else { return is_unfinished };
        for round in rounds {
            let place = if round.is_over {
                CyclePlace::default()
            } else {
                CyclePlace { queue: round.at, tenant: round.tenant }
            };
            rotation.keep(self.lane, round.route, place);
        }
        is_unfinished
    }

    /// The one of the lines at hand whose turn it is.
    fn next(&mut self, write: &Write<'_>, room: usize) -> Result<Option<ReadyRow>, Fault> {
        while let Some(number) = self.drained.pop() {
            self.read_on(write, number, room)?;
        }
        while let Some((number, job)) = self.turn.choose() {
            let line = &mut self.lines[number];
            if line.sections.is_empty() {
                self.read_on(write, number, room)?;
                continue;
            }
            let Some(Candidate { tenant, item: waiting, .. }) = line.waiting.take(job) else { continue };
            self.turn.took(&line.route, &line.queue, &tenant, self.weights.of(write.sql, &tenant)?);
            let of = fair::Line { number, route: &line.route, queue: &line.queue, front: line.front };
            line.waiting.offer_next(&tenant, of, &mut self.turn);
            if line.is_drained() {
                self.drained.push(number);
            }
            return Ok(Some(waiting));
        }
        Ok(None)
    }

    /// As many as may be needed before it is another line's turn.
    fn read_on(&mut self, write: &Write<'_>, number: usize, room: usize) -> Result<(), Fault> {
        let ahead = if self.turn.is_empty() { room } else { room.min(ahead(room, self.lines.len())) };
        let line = &mut self.lines[number];
        line.read_on(write, self.lane, (ahead, ahead), &mut self.walk)?;
        line.offer(number, &mut self.turn);
        Ok(())
    }

    /// Finds more lines; `false` when there are none.
    fn look_further(&mut self, write: &Write<'_>) -> Result<bool, Fault> {
        let before = self.lines.len();
        match &mut self.source {
            Source::Rounds(rounds) => {
                for round in rounds {
                    let enough = self.lines.len() + AT_ONCE;
                    while self.lines.len() < enough && round.closed_left > 0 {
                        let Some(line) = round.next(write, self.lane)? else { break };
                        if self.known.insert((line.route.clone(), line.queue.clone())) {
                            match line.unless_closed(write, self.lane, &self.closing)? {
                                Some(line) => self.lines.push(line),
                                None => round.closed_left -= 1,
                            }
                        }
                    }
                    for queue in round.latest(write, self.lane)? {
                        if !self.known.insert((round.route.clone(), queue.clone())) {
                            continue;
                        }
                        if let Some(line) = find(write, LINE_OF, self.lane, &round.route, queue.as_str())? {
                            self.lines.extend(line.unless_closed(write, self.lane, &self.closing)?);
                        }
                    }
                }
            }
            Source::Named(pairs) => {
                for (route, queue) in pairs.drain(..) {
                    if let Some(line) = find(write, LINE_OF, self.lane, &route, queue.as_str())? {
                        self.lines.extend(line.unless_closed(write, self.lane, &self.closing)?);
                    }
                }
            }
        }
        let ((up_to, beyond), ahead) = (fair::window(self.limit), ahead(self.limit, self.lines.len() - before));
        for number in before..self.lines.len() {
            let line = &mut self.lines[number];
            if line.is_read_at_once(write)? {
                line.read_on(write, self.lane, (up_to.min(ahead), beyond.min(ahead)), &mut self.walk)?;
            }
            line.offer(number, &mut self.turn);
        }
        Ok(self.lines.len() > before)
    }
}

/// How many of each of so many lines are read when so many jobs are wanted: twice its share, for some lines have less.
fn ahead(wanted: usize, lines: usize) -> usize {
    (2 * wanted / lines.max(1)).clamp(*AHEAD.start(), *AHEAD.end())
}
