//! What a claim passes over: the backlog of tenants that have paused a queue, have no room for another running job, or are
//! disabled.
//!
//! Such a backlog may be long (100,000 jobs are 150 ms of the one writer to walk over), it stands in the way of everybody
//! else in its line, and it is met by every claim. So a line is read from where the last claim found that its beginning is
//! all theirs, and no further than those who can be served were ever given a place.
//!
//! The beginning stays theirs, whoever comes: nobody is let in before V ([`foreman_core::fair`]), and what is remembered lies
//! before it. It is good only while all of them are still passed over. It is lost with the process, and found again.
//!
//! A binary of an earlier version gives out places without a word about it. What it left behind is found by the looks that
//! trust in none of this, one in [`THOROUGH`].

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};

use super::closed::ClosedTenants;
use crate::error::Fault;
use crate::write::Write;

/// A place in a line.
pub(super) type LinePlace = (i64, JobId);

/// A shorter stretch is walked over.
const LONG: usize = 32;

/// Every so many looks one goes from the beginning of a line to its end.
const THOROUGH: u32 = 64;

/// So many lines are remembered. With more of them all is forgotten, and found again.
const MOST: usize = 1_024;

const SHARES: &str = "SELECT tenant, last_key FROM line_shares WHERE queue = ?1 AND lane = ?2 AND route = ?3";

/// The beginning of a line, as far as it is theirs alone.
#[derive(Clone, Debug, Default)]
pub(super) struct SkippedStretch {
    /// Its last place.
    to: Option<LinePlace>,
    theirs: HashSet<TenantId>,
    rows: usize,
}

impl SkippedStretch {
    /// One more, next to those before it. Whose it is, unless it is nobody's turn for another reason.
    pub fn add(&mut self, place: LinePlace, whose: Option<&TenantId>) {
        self.to = Some(place);
        self.rows += 1;
        if let Some(tenant) = whose.filter(|tenant| !self.theirs.contains(*tenant)) {
            self.theirs.insert(tenant.clone());
        }
    }

    pub fn end(&self) -> Option<LinePlace> {
        self.to
    }
}

/// The stretches that claims have found, line by line.
#[derive(Debug, Default)]
pub(crate) struct Skipped(Mutex<KnownStretches>);

#[derive(Debug, Default)]
struct KnownStretches {
    stretches: HashMap<(Lane, Route, QueueName), SkippedStretch>,
    looks: u32,
}

/// The part of a line that is read.
#[derive(Clone, Debug)]
pub(super) struct LinePart {
    pub after: SkippedStretch,
    /// The last key that is read.
    pub last: i64,
}

impl LinePart {
    pub fn whole() -> Self {
        Self { after: SkippedStretch::default(), last: i64::MAX }
    }
}

impl Skipped {
    /// Where those who are not `closed` can be, in a line whose V is `time`.
    pub fn part(
        &self,
        write: &Write<'_>,
        line: (Lane, &Route, &QueueName),
        time: i64,
        closed: &ClosedTenants,
    ) -> Result<LinePart, Fault> {
        let (lane, route, queue) = line;
        let known = {
            let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            found.looks = found.looks.wrapping_add(1);
            if found.looks.is_multiple_of(THOROUGH) {
                return Ok(LinePart::whole());
            }
            found.stretches.get(&(lane, route.clone(), queue.clone())).cloned()
        };
        let is_good = |stretch: &SkippedStretch| {
            stretch.to.is_some_and(|(key, _)| key < time) && stretch.theirs.iter().all(|tenant| closed.has(tenant))
        };
        let mut last = time;
        let mut statement = write.prepared(SHARES)?;
        let mut rows = statement.query((queue.as_str(), lane.rank(), route.as_str()))?;
        while let Some(row) = rows.next()? {
            if !closed.has(&TenantId::new(row.get::<_, String>(0)?)) {
                last = last.max(row.get(1)?);
            }
        }
        Ok(LinePart { after: known.filter(is_good).unwrap_or_default(), last })
    }

    pub fn remember(&self, line: (Lane, &Route, &QueueName), stretch: &SkippedStretch) {
        if stretch.rows < LONG {
            return;
        }
        let (lane, route, queue) = line;
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.stretches.len() >= MOST {
            found.stretches.clear();
        }
        found.stretches.insert((lane, route.clone(), queue.clone()), stretch.clone());
    }

    /// V of a queue that goes begins anew with the next of its name.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stretches.clear();
    }
}
