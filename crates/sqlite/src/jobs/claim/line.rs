//! One line of a lane as a claim sees it: what was found of it, and what was read.

use foreman_core::fair::{self, Candidate, Front, LineCandidate, Round as Turn};
use foreman_core::job::QueueName;
use foreman_core::ports::is_fragile;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use uuid::Uuid;

use super::closed::{ClosedTenants, Closing, is_open_to_anyone};
use super::skipped::{LinePart, LinePlace, LookEnd};
use crate::error::Fault;
use crate::rows::{ReadyRow, job_row_columns};
use crate::write::Write;

/// What comes in a line after one of its places.
pub(super) const REST_OF_LINE: &str = concat!(
    "SELECT ",
    job_row_columns!(),
    ", key FROM ready INDEXED BY ready_in_order
     WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL AND (key, job) > (?4, ?5) ORDER BY key, job"
);

pub(super) struct LaneLine {
    pub queue: QueueName,
    pub route: Route,
    /// V.
    pub time: i64,
    /// What its keys are compared with.
    pub front: i64,
    /// Whose the first is, as far as is known before it is read.
    pub first: (i64, JobId, TenantId),
    /// Another tenant has come to it too.
    pub is_shared: bool,
    pub closed: ClosedTenants,
    /// What of it has to be read for the others.
    pub part: LinePart,
    /// How far it was read: up to V and beyond it where it is shared, all of it as one where it is not. Empty: not yet.
    pub sections: Vec<Section>,
    /// One that may start was read.
    pub is_met: bool,
    /// Where it was left because enough was passed over.
    pub stopped: Option<LinePlace>,
    pub waiting: Front<ReadyRow>,
}

/// A stretch of a line that is read from its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    read_to: (i64, JobId),
    /// Its last key.
    last: i64,
    is_read_out: bool,
}

impl LaneLine {
    /// Lines that nobody can take from are passed over.
    pub fn unless_closed(mut self, write: &Write<'_>, lane: Lane, closing: &Closing) -> Result<Option<Self>, Fault> {
        self.closed = ClosedTenants::of(write, &self.queue, closing)?;
        if !self.closed.is_empty() && !is_open_to_anyone(write, &self.queue, &closing.everywhere)? {
            return Ok(None);
        }
        self.part = closing.skipped.part(write, (lane, &self.route, &self.queue), self.time, &mut self.closed)?;
        Ok(Some(self))
    }

    /// One tenant has it to itself, and nothing of it is passed over.
    pub fn is_free(&self) -> bool {
        !self.is_shared && self.closed.is_empty()
    }

    /// Whether the first that was found may be anybody else's.
    pub fn is_read_at_once(&mut self, write: &Write<'_>) -> Result<bool, Fault> {
        Ok(self.is_shared || self.closed.why(write, &self.queue, &self.first.2)?.is_some())
    }

    /// What there is to read of it, before anything of it was.
    fn begin(&self) -> Vec<Section> {
        let start = self.part.after.end().unwrap_or((i64::MIN, JobId(Uuid::nil())));
        let start = self.part.resumed.map_or(start, |resumed| start.max(resumed));
        let last = self.part.last;
        let section = |read_to: LinePlace, last| Section { read_to, last, is_read_out: read_to.0 > last };
        if self.is_shared {
            let at_v = (self.time, JobId(Uuid::max()));
            vec![section(start, last.min(self.time)), section(at_v.max(start), last)]
        } else {
            vec![section(start, last)]
        }
    }

    /// Reads on until so many that may start are at hand: of what lies up to V, and of what lies beyond it. `walk`: how many may
    /// still be passed over.
    pub fn read_on(
        &mut self,
        write: &Write<'_>,
        lane: Lane,
        (up_to, beyond): (usize, usize),
        walk: &mut usize,
    ) -> Result<(), Fault> {
        let mut sections = self.take_sections();
        for (section, count) in sections.iter_mut().zip([up_to, beyond]) {
            let at_hand = self.at_hand(section).count();
            let mut found = Vec::new();
            self.read_section(write, lane, section, count.saturating_sub(at_hand), walk, &mut found)?;
            for waiting in found {
                let (tenant, is_returned) = (waiting.job_row.tenant.clone(), self.is_returned(&waiting));
                self.waiting.add(place_of(&waiting), Candidate { tenant, is_returned, item: waiting });
            }
        }
        self.sections = sections;
        Ok(())
    }

    /// Reads the next so many that may start, of a line that has nobody to be compared with.
    pub fn read_alone(
        &mut self,
        write: &Write<'_>,
        lane: Lane,
        count: usize,
        walk: &mut usize,
        chosen: &mut Vec<ReadyRow>,
    ) -> Result<(), Fault> {
        let mut sections = self.take_sections();
        for section in &mut sections {
            self.read_section(write, lane, section, count, walk, chosen)?;
        }
        self.sections = sections;
        Ok(())
    }

    fn take_sections(&mut self) -> Vec<Section> {
        let sections = std::mem::take(&mut self.sections);
        if sections.is_empty() { self.begin() } else { sections }
    }

    /// Adds the next `count` that may start.
    fn read_section(
        &mut self,
        write: &Write<'_>,
        lane: Lane,
        section: &mut Section,
        count: usize,
        walk: &mut usize,
        found: &mut Vec<ReadyRow>,
    ) -> Result<(), Fault> {
        if section.is_read_out || count == 0 || *walk == 0 {
            return Ok(());
        }
        let enough = found.len() + count;
        let mut statement = write.prepared(REST_OF_LINE)?;
        let (key, job) = section.read_to;
        let mut rows = statement.query((lane.rank(), self.route.as_str(), self.queue.as_str(), key, job.0))?;
        while found.len() < enough && *walk > 0 {
            let before = found.last().map_or(&self.first.2, |waiting| &waiting.job_row.tenant);
            let names = (lane, &self.route, &self.queue);
            let waiting = rows.next()?.map(|row| ReadyRow::of_line(row, names, Some(before))).transpose()?;
            let Some(waiting) = waiting.filter(|waiting| place_of(waiting).0 <= section.last) else {
                section.is_read_out = true;
                break;
            };
            section.read_to = place_of(&waiting);
            self.judge(write, waiting, walk, found)?;
        }
        if *walk == 0 && !section.is_read_out {
            self.stopped = Some(section.read_to);
        }
        Ok(())
    }

    /// Adds it to what was found if it may start, and to what is passed over if not.
    fn judge(
        &mut self,
        write: &Write<'_>,
        waiting: ReadyRow,
        walk: &mut usize,
        found: &mut Vec<ReadyRow>,
    ) -> Result<(), Fault> {
        let (place, tenant) = (place_of(&waiting), &waiting.job_row.tenant);
        let why = self.closed.why(write, &self.queue, tenant)?;
        // `crashes` is compared here and not in the statement: a fragile job is rare, and the scan stays on its index.
        let may_start = !is_fragile(waiting.job_row.counters.crashes)
            && waiting.job_row.expires_at.is_none_or(|time| time > write.now);
        if why.is_none() && may_start {
            if !self.is_met {
                self.front = fair::front(self.time, place.0);
                self.is_met = true;
            }
            found.push(waiting);
            return Ok(());
        }
        *walk -= 1;
        if !self.is_met && self.part.resumed.is_none() && place.0 < self.time {
            self.part.after.add(place, tenant, why);
        }
        Ok(())
    }

    /// What was read of a section and is not taken yet.
    fn at_hand(&self, section: &Section) -> impl Iterator<Item = &LinePlace> {
        let is_beyond = self.is_shared && section.last > self.time;
        let (last, time) = (section.last, self.time);
        self.waiting.positions().filter(move |(key, _)| *key <= last && !(is_beyond && *key <= time))
    }

    /// Of a section all that was read is taken, and there may be more of it.
    pub fn is_drained(&self) -> bool {
        self.sections.iter().any(|section| !section.is_read_out && self.at_hand(section).next().is_none())
    }

    /// How the look at it ended.
    pub fn end(&self) -> LookEnd {
        match self.stopped {
            Some(place) => LookEnd::Stopped(place),
            None if !self.sections.is_empty() && self.sections.iter().all(|section| section.is_read_out) => {
                LookEnd::End
            }
            None => LookEnd::Found,
        }
    }

    /// Offers the first of each tenant that has none on offer. Before it is read that is what was found of it.
    pub fn offer(&mut self, number: usize, turn: &mut Turn<'_>) {
        let line = fair::Line { number, route: &self.route, queue: &self.queue, front: self.front };
        if self.sections.is_empty() {
            let (key, job, tenant) = &self.first;
            turn.offer(line, LineCandidate { tenant, key: *key, job: *job });
            return;
        }
        self.waiting.offer(line, turn);
    }

    /// Taken back through no fault of its own.
    fn is_returned(&self, waiting: &ReadyRow) -> bool {
        let counters = waiting.job_row.counters;
        let counts = (counters.attempt, counters.spent, counters.crashes);
        fair::is_returned(waiting.key.unwrap_or_default(), self.time, counts)
    }
}

fn place_of(waiting: &ReadyRow) -> LinePlace {
    (waiting.key.unwrap_or_default(), waiting.job_row.job)
}
