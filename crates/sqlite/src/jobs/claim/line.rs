//! One line of a lane as a claim sees it: what was found of it, and what was read.

use std::sync::Arc;

use foreman_core::fair::{self, Candidate, Front, Offer, Round as Turn};
use foreman_core::job::QueueName;
use foreman_core::ports::is_fragile;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId, Timestamp};
use uuid::Uuid;

use super::closed::{ClosedTenants, Closing, is_open_to_anyone, paused_in};
use super::skipped::LinePart;
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
        if closing.is_any_paused {
            self.closed.here = paused_in(write, &self.queue)?;
        }
        self.closed.everywhere = Arc::clone(&closing.everywhere);
        if self.closed.is_empty() {
            return Ok(Some(self));
        }
        if !is_open_to_anyone(write, &self.queue, &closing.everywhere)? {
            return Ok(None);
        }
        self.part = closing.skipped.part(write, (lane, &self.route, &self.queue), self.time, &self.closed)?;
        Ok(Some(self))
    }

    /// What there is to read of it, before anything of it was.
    fn begin(&self) -> Vec<Section> {
        let begin = self.part.after.end().unwrap_or((i64::MIN, JobId(Uuid::nil())));
        let last = self.part.last;
        let section = |read_to, last| Section { read_to, last, is_read_out: false };
        if self.is_shared {
            vec![section(begin, last.min(self.time)), section((self.time, JobId(Uuid::max())), last)]
        } else {
            vec![section(begin, last)]
        }
    }

    /// Reads on until so many that may start are at hand: of what lies up to V, and of what lies beyond it.
    pub fn read_on(&mut self, write: &Write<'_>, lane: Lane, (up_to, beyond): (usize, usize)) -> Result<(), Fault> {
        let mut sections = std::mem::take(&mut self.sections);
        if sections.is_empty() {
            sections = self.begin();
        }
        for (section, count) in sections.iter_mut().zip([up_to, beyond]) {
            self.read_section(write, lane, section, count)?;
        }
        self.sections = sections;
        Ok(())
    }

    fn read_section(
        &mut self,
        write: &Write<'_>,
        lane: Lane,
        section: &mut Section,
        count: usize,
    ) -> Result<(), Fault> {
        let mut at_hand = self.at_hand(section).count();
        if section.is_read_out || at_hand >= count {
            return Ok(());
        }
        let mut statement = write.prepared(REST_OF_LINE)?;
        let (key, job) = section.read_to;
        let mut rows = statement.query((lane.rank(), self.route.as_str(), self.queue.as_str(), key, job.0))?;
        while at_hand < count {
            let row = rows.next()?;
            let waiting = row.map(ReadyRow::try_from).transpose()?;
            let Some(waiting) = waiting.filter(|waiting| waiting.key.unwrap_or_default() <= section.last) else {
                section.is_read_out = true;
                break;
            };
            let place = (waiting.key.unwrap_or_default(), waiting.job_row.job);
            // `crashes` is compared here and not in the statement: a fragile job is rare, and the scan stays on its index.
            if !is_fragile(waiting.job_row.counters.crashes) && self.may_start(&waiting, write.now) {
                if !self.is_met {
                    self.front = fair::front(self.time, place.0);
                    self.is_met = true;
                }
                let (tenant, is_returned) = (waiting.job_row.tenant.clone(), self.is_returned(&waiting));
                self.waiting.add(place, Candidate { tenant, is_returned, item: waiting });
                at_hand += 1;
            } else if !self.closed.is_empty() && !self.is_met && place.0 < self.time {
                let tenant = &waiting.job_row.tenant;
                self.part.after.add(place, self.closed.has(tenant).then_some(tenant));
            }
            section.read_to = place;
        }
        Ok(())
    }

    /// What was read of a section and is not taken yet.
    fn at_hand(&self, section: &Section) -> impl Iterator<Item = &(i64, JobId)> {
        let is_beyond = self.is_shared && section.last > self.time;
        let (last, time) = (section.last, self.time);
        self.waiting.positions().filter(move |(key, _)| *key <= last && !(is_beyond && *key <= time))
    }

    /// Of a section all that was read is taken, and there may be more of it.
    pub fn is_drained(&self) -> bool {
        self.sections.iter().any(|section| !section.is_read_out && self.at_hand(section).next().is_none())
    }

    /// Neither past its start-by, which the promoter has not seen yet, nor of a tenant that has paused it or has no room.
    fn may_start(&self, waiting: &ReadyRow, now: Timestamp) -> bool {
        waiting.job_row.expires_at.is_none_or(|time| time > now) && !self.closed.has(&waiting.job_row.tenant)
    }

    /// Offers the first of each tenant that has none on offer. Before it is read that is what was found of it.
    pub fn offer(&mut self, number: usize, turn: &mut Turn<'_>) {
        let line = fair::Line { number, route: &self.route, queue: &self.queue, front: self.front };
        if self.sections.is_empty() {
            let (key, job, tenant) = &self.first;
            turn.offer(line, Offer { tenant, key: *key, job: *job });
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
