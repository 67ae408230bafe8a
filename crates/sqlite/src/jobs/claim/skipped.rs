//! What a claim passes over: the backlog of tenants that have paused a queue, have no room for another running job, or are
//! disabled, and jobs past their start-by that the promoter has not seen yet.
//!
//! Such a backlog may be long (100,000 jobs are 150 ms of the one writer to walk over), it stands in the way of everybody
//! else in its line, and it is met by every claim. So a line is read from where the last claim found that its beginning is
//! all theirs, and no further than those who can be served were ever given a place. One look passes over a bounded number of
//! jobs ([`WALK`]); the next one goes on where it stopped.
//!
//! The beginning stays theirs, whoever comes: nobody is let in before V ([`foreman_core::fair`]), and what is remembered lies
//! before it. It is good only while all of them are still passed over. It is lost with the process, and found again.
//!
//! A binary of an earlier version gives out places without a word about it. It cannot run beside this one. So a line is read
//! to its end once in the life of a process before what was written down of its places is trusted.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};

use super::closed::{Closed, ClosedTenants};
use crate::error::Fault;
use crate::write::Write;

/// A place in a line.
pub(super) type LinePlace = (i64, JobId);

/// So many jobs are passed over by one look at a lane: about four milliseconds of the writer.
pub(super) const WALK: usize = 4_096;

/// A shorter stretch is walked over.
const LONG: usize = 32;

/// So many lines are remembered. With more of them all is forgotten, and found again.
const MOST: usize = 1_024;

/// So many tenants are looked at to find one that can be served. Where there are more, all of the line is read.
const SHARES_AT_ONCE: usize = 256;

/// The tenants that were given places beyond V, the last place first.
pub(super) const SHARES_BEYOND: &str = "SELECT tenant, last_key FROM line_shares INDEXED BY line_shares_by_key
     WHERE queue = ?1 AND lane = ?2 AND route = ?3 AND last_key > ?4 ORDER BY last_key DESC LIMIT ?5";

/// The beginning of a line, as far as it is theirs alone.
#[derive(Clone, Debug, Default)]
pub(super) struct SkippedStretch {
    /// Its last place.
    to: Option<LinePlace>,
    /// Those who have no room or are disabled.
    theirs: HashSet<TenantId>,
    /// Some have paused the queue. They are not named: any number of tenants may have.
    has_paused: bool,
    /// How often a queue had been resumed when it was begun.
    resumes: u64,
    rows: usize,
}

impl SkippedStretch {
    fn at(resumes: u64) -> Self {
        Self { resumes, ..Self::default() }
    }

    /// One more, next to those before it. Why it is closed, unless it is nobody's turn for another reason.
    pub fn add(&mut self, place: LinePlace, tenant: &TenantId, why: Option<Closed>) {
        self.to = Some(place);
        self.rows += 1;
        match why {
            Some(Closed::Here) => self.has_paused = true,
            Some(Closed::Everywhere) if !self.theirs.contains(tenant) => {
                self.theirs.insert(tenant.clone());
            }
            _ => {}
        }
    }

    /// Whether all of it is still passed over, in a line whose V is `time`.
    fn is_good(&self, time: i64, resumes: u64, closed: &ClosedTenants) -> bool {
        self.to.is_some_and(|(key, _)| key < time)
            && !(self.has_paused && self.resumes != resumes)
            && self.theirs.iter().all(|tenant| closed.has_everywhere(tenant))
    }

    pub fn end(&self) -> Option<LinePlace> {
        self.to
    }
}

type LineName = (Lane, Route, QueueName);

/// What claims have found, line by line.
#[derive(Debug, Default)]
pub(crate) struct Skipped(Mutex<KnownLines>);

#[derive(Debug, Default)]
struct KnownLines {
    stretches: HashMap<LineName, SkippedStretch>,
    /// Where the last look stopped because it had passed over enough. The next look goes on there.
    stopped: HashMap<LineName, LinePlace>,
    /// These were read to their end.
    checked: HashSet<LineName>,
    /// How often a queue was resumed.
    resumes: u64,
}

impl KnownLines {
    fn forget(&mut self) {
        *self = Self { resumes: self.resumes, ..Self::default() };
    }
}

/// The part of a line that is read.
#[derive(Clone, Debug)]
pub(super) struct LinePart {
    pub after: SkippedStretch,
    /// Where the look before this one stopped.
    pub resumed: Option<LinePlace>,
    /// The last key that is read.
    pub last: i64,
}

impl LinePart {
    pub fn whole() -> Self {
        Self { after: SkippedStretch::default(), resumed: None, last: i64::MAX }
    }
}

impl Skipped {
    /// Where those who are not `closed` can be, in a line whose V is `time`.
    pub fn part(
        &self,
        write: &Write<'_>,
        (lane, route, queue): (Lane, &Route, &QueueName),
        time: i64,
        closed: &mut ClosedTenants,
    ) -> Result<LinePart, Fault> {
        let (after, resumed, is_checked) = {
            let mut known = self.lock();
            if closed.is_empty() && known.stretches.is_empty() && known.stopped.is_empty() {
                return Ok(LinePart { after: SkippedStretch::at(known.resumes), ..LinePart::whole() });
            }
            let name = (lane, route.clone(), queue.clone());
            let after = known.stretches.get(&name).filter(|stretch| stretch.is_good(time, known.resumes, closed));
            let after = after.cloned().unwrap_or_else(|| SkippedStretch::at(known.resumes));
            (after, known.stopped.remove(&name), known.checked.contains(&name))
        };
        let is_bounded = is_checked && !closed.is_empty();
        let last = if is_bounded { last_place(write, (lane, route, queue), time, closed)? } else { i64::MAX };
        Ok(LinePart { after, resumed, last })
    }

    pub fn remember(&self, (lane, route, queue): (Lane, &Route, &QueueName), part: &LinePart, end: LookEnd) {
        let is_long = part.after.rows >= LONG;
        if !is_long && end == LookEnd::Found {
            return;
        }
        let mut known = self.lock();
        if known.stretches.len() >= MOST || known.stopped.len() >= MOST || known.checked.len() >= MOST {
            known.forget();
        }
        let name = (lane, route.clone(), queue.clone());
        match end {
            LookEnd::Stopped(place) => {
                known.stopped.insert(name.clone(), place);
            }
            LookEnd::End => {
                known.checked.insert(name.clone());
            }
            LookEnd::Found => {}
        }
        if is_long {
            known.stretches.insert(name, part.after.clone());
        }
    }

    /// V of a queue that goes begins anew with the next of its name.
    pub fn forget(&self) {
        self.lock().forget();
    }

    /// A tenant has resumed a queue: what was passed over may be its own.
    pub fn resumed(&self) {
        self.lock().resumes += 1;
    }

    fn lock(&self) -> MutexGuard<'_, KnownLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a look at a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookEnd {
    /// It found what it was looking for.
    Found,
    /// It had passed over enough.
    Stopped(LinePlace),
    /// There was no more.
    End,
}

/// The last key that anybody was given who is not `closed`; V, where nobody was given one beyond it.
fn last_place(
    write: &Write<'_>,
    (lane, route, queue): (Lane, &Route, &QueueName),
    time: i64,
    closed: &mut ClosedTenants,
) -> Result<i64, Fault> {
    let mut statement = write.prepared(SHARES_BEYOND)?;
    let asked = (queue.as_str(), lane.rank(), route.as_str(), time, SHARES_AT_ONCE as i64);
    let (mut rows, mut seen) = (statement.query(asked)?, 0);
    while let Some(row) = rows.next()? {
        seen += 1;
        if closed.why(write, queue, &TenantId::new(row.get::<_, String>(0)?))?.is_none() {
            return Ok(row.get(1)?);
        }
    }
    Ok(if seen < SHARES_AT_ONCE { time } else { i64::MAX })
}
