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

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::fair::{Candidate, Front, Offer, Round as Turn, Turns};
use foreman_core::job::QueueName;
use foreman_core::ports::{ClaimRequest, Queues, is_fragile};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId, Timestamp, fair};
use rusqlite::{OptionalExtension, Row};
use uuid::Uuid;

use super::skipped::{LinePart, Skipped};
use crate::disabled::DisabledTenants;
use crate::error::Fault;
use crate::order::Weights;
use crate::rows::{ReadyRow, job_row_columns};
use crate::write::Write;

/// So many lines of a lane and route are looked at together: about half a millisecond of the writer.
const AT_ONCE: usize = 256;

/// So many lines of a lane and route that nobody may take from are passed over in one claim: about two milliseconds of the writer.
/// The next claim goes on behind them; what others have come to last is looked at all the same.
const CLOSED_AT_ONCE: usize = 8 * AT_ONCE;

/// So many jobs of a line are read ahead while it may be another line's turn.
const AHEAD: usize = 16;

/// So many of a tenant's latest lines are looked at where there are too many lines for all of them.
const LATEST: usize = 4;

/// What is known of a line before it is read: its first, whether another tenant has ever come to it, and V.
macro_rules! found {
    () => {
        "SELECT queue, key, job, tenant,
         EXISTS (SELECT 1 FROM line_shares AS share
                 WHERE share.queue = ready.queue AND share.lane = ready.lane AND share.route = ready.route
                 AND share.tenant <> ready.tenant),
         (SELECT v FROM line_fronts AS front
          WHERE front.queue = ready.queue AND front.lane = ready.lane AND front.route = ready.route)
         FROM ready INDEXED BY ready_in_order "
    };
}

/// The next line after a queue.
const NEXT_LINE: &str = concat!(
    found!(),
    "WHERE lane = ?1 AND route = ?2 AND queue > ?3 AND key IS NOT NULL ORDER BY queue, key, job LIMIT 1"
);

/// The line of a queue.
const LINE_OF: &str =
    concat!(found!(), "WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL ORDER BY key, job LIMIT 1");

/// What comes in a line after one of its places.
const REST_OF_LINE: &str = concat!(
    "SELECT ",
    job_row_columns!(),
    ", key FROM ready INDEXED BY ready_in_order
     WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL AND (key, job) > (?4, ?5) ORDER BY key, job"
);

/// The next tenant that has ever come to a line.
const NEXT_TENANT: &str = "SELECT tenant FROM line_shares INDEXED BY line_shares_by_time
     WHERE lane = ?1 AND route = ?2 AND tenant > ?3 ORDER BY tenant LIMIT 1";

/// The lines that a tenant has come to last.
const LATEST_OF: &str = "SELECT queue FROM line_shares INDEXED BY line_shares_by_time
     WHERE lane = ?1 AND route = ?2 AND tenant = ?3 ORDER BY given_at DESC LIMIT ?4";

const ANY_PAUSED: &str = "SELECT 1 FROM queues INDEXED BY queues_paused WHERE paused_at IS NOT NULL LIMIT 1";

const PAUSED_IN: &str = "SELECT tenant FROM queues INDEXED BY queues_paused WHERE queue = ?1 AND paused_at IS NOT NULL";

/// What one claim leaves for the next.
#[derive(Default)]
pub(crate) struct Rotation {
    places: Mutex<HashMap<(Lane, Route), CyclePlace>>,
    turns: Mutex<Turns>,
    skipped: Arc<Skipped>,
    disabled: DisabledTenants,
}

/// After which queue, and after which tenant's latest lines, the next claim goes on, where there were more lines than one
/// claim looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CyclePlace {
    queue: Option<QueueName>,
    tenant: Option<TenantId>,
}

impl Rotation {
    fn place(&self, lane: Lane, route: &Route) -> CyclePlace {
        lock(&self.places).get(&(lane, route.clone())).cloned().unwrap_or_default()
    }

    fn keep(&self, lane: Lane, route: Route, place: CyclePlace) {
        if place == CyclePlace::default() {
            lock(&self.places).remove(&(lane, route));
        } else {
            lock(&self.places).insert((lane, route), place);
        }
    }
}

impl Rotation {
    /// Queues went: what was known of their lines does not hold for the next of their name.
    pub fn forget_lines(&self) {
        self.skipped.forget();
    }

    /// Whose turn it is. Claims come one after the other; nobody else holds it for longer than a line takes.
    pub fn turns(&self) -> MutexGuard<'_, Turns> {
        lock(&self.turns)
    }

    pub fn disabled(&self) -> &DisabledTenants {
        &self.disabled
    }

    /// These were claimed in their turn.
    pub fn took(&self, write: &Write<'_>, chosen: &[ReadyRow]) -> Result<(), Fault> {
        let (mut turns, mut weights) = (lock(&self.turns), Weights::default());
        for ReadyRow { job_row, .. } in chosen {
            let weight = weights.of(write.sql, &job_row.tenant)?;
            turns.took(job_row.lane, &job_row.route, &job_row.queue, &job_row.tenant, weight);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
}

/// What keeps jobs from being taken.
struct Closing {
    is_any_paused: bool,
    everywhere: Arc<Everywhere>,
    skipped: Arc<Skipped>,
}

/// Tenants of which nothing is taken, whatever the queue.
#[derive(Debug, Default)]
pub(super) struct Everywhere {
    /// They have no room.
    full: HashSet<TenantId>,
    disabled: Arc<HashSet<TenantId>>,
}

impl Everywhere {
    pub fn of(request: &ClaimRequest, disabled: Arc<HashSet<TenantId>>) -> Self {
        let full = request.rooms.iter().filter(|room| room.jobs == 0).map(|room| room.tenant.clone()).collect();
        Self { full, disabled }
    }

    pub fn has(&self, tenant: &TenantId) -> bool {
        self.full.contains(tenant) || self.disabled.contains(tenant)
    }

    fn is_empty(&self) -> bool {
        self.full.is_empty() && self.disabled.is_empty()
    }
}

/// Tenants of which nothing of a line is taken.
#[derive(Debug, Default)]
pub(super) struct ClosedTenants {
    /// They have paused it.
    here: HashSet<TenantId>,
    everywhere: Arc<Everywhere>,
}

impl ClosedTenants {
    pub fn has(&self, tenant: &TenantId) -> bool {
        self.here.contains(tenant) || self.everywhere.has(tenant)
    }

    fn is_empty(&self) -> bool {
        self.here.is_empty() && self.everywhere.is_empty()
    }
}

/// Where lines come from.
enum Source {
    Rounds(Vec<LineCycle>),
    Named(Vec<(Route, QueueName)>),
}

struct LaneLine {
    queue: QueueName,
    route: Route,
    /// V.
    time: i64,
    /// What its keys are compared with.
    front: i64,
    /// Whose the first is, as far as is known before it is read.
    first: (i64, JobId, TenantId),
    /// Another tenant has come to it too.
    is_shared: bool,
    closed: ClosedTenants,
    /// What of it has to be read for the others.
    part: LinePart,
    /// How far it was read: up to V and beyond it where it is shared, all of it as one where it is not. Empty: not yet.
    sections: Vec<Section>,
    /// One that may start was read.
    is_met: bool,
    waiting: Front<ReadyRow>,
}

/// A stretch of a line that is read from its beginning.
#[derive(Clone, Copy, Debug)]
struct Section {
    read_to: (i64, JobId),
    /// Its last key.
    last: i64,
    is_read_out: bool,
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
        }
    }

    /// The next `room` due jobs that need not run alone.
    pub fn take(&mut self, write: &Write<'_>, room: usize, chosen: &mut Vec<ReadyRow>) -> Result<(), Fault> {
        let full = chosen.len() + room;
        while chosen.len() < full {
            match self.next(write, full - chosen.len())? {
                Some(waiting) => chosen.push(waiting),
                None if self.look_further(write)? => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Lets the next claim go on where this one stopped.
    pub fn remember(self, rotation: &Rotation) {
        for line in self.lines.iter().filter(|line| !line.closed.is_empty()) {
            rotation.skipped.remember((self.lane, &line.route, &line.queue), &line.part.after);
        }
        let Source::Rounds(rounds) = self.source else { return };
        for round in rounds {
            let place = if round.is_over {
                CyclePlace::default()
            } else {
                CyclePlace { queue: round.at, tenant: round.tenant }
            };
            rotation.keep(self.lane, round.route, place);
        }
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
        let ahead = if self.turn.is_empty() { room } else { room.min(AHEAD) };
        let line = &mut self.lines[number];
        line.read_on(write, self.lane, (ahead, ahead))?;
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
        for number in before..self.lines.len() {
            let line = &mut self.lines[number];
            if line.is_shared || line.closed.has(&line.first.2) {
                let (up_to, beyond) = fair::window(self.limit);
                line.read_on(write, self.lane, (up_to.min(AHEAD), beyond.min(AHEAD)))?;
            }
            line.offer(number, &mut self.turn);
        }
        Ok(self.lines.len() > before)
    }
}

impl LaneLine {
    /// Lines that nobody can take from are passed over.
    fn unless_closed(mut self, write: &Write<'_>, lane: Lane, closing: &Closing) -> Result<Option<Self>, Fault> {
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
    fn read_on(&mut self, write: &Write<'_>, lane: Lane, (up_to, beyond): (usize, usize)) -> Result<(), Fault> {
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
    fn is_drained(&self) -> bool {
        self.sections.iter().any(|section| !section.is_read_out && self.at_hand(section).next().is_none())
    }

    /// Neither past its start-by, which the promoter has not seen yet, nor of a tenant that has paused it or has no room.
    fn may_start(&self, waiting: &ReadyRow, now: Timestamp) -> bool {
        waiting.job_row.expires_at.is_none_or(|time| time > now) && !self.closed.has(&waiting.job_row.tenant)
    }

    /// Offers the first of each tenant that has none on offer. Before it is read that is what was found of it.
    fn offer(&mut self, number: usize, turn: &mut Turn<'_>) {
        let line = fair::Line { number, route: &self.route, queue: &self.queue, front: self.front };
        if self.sections.is_empty() {
            let (key, job, tenant) = &self.first;
            turn.offer(line, Offer { tenant, key: *key, job: *job });
            return;
        }
        self.waiting.offer(line, turn);
    }

    /// RawClaim back through no fault of its own.
    fn is_returned(&self, waiting: &ReadyRow) -> bool {
        let counters = waiting.job_row.counters;
        let counts = (counters.attempt, counters.spent, counters.crashes);
        fair::is_returned(waiting.key.unwrap_or_default(), self.time, counts)
    }
}

/// Once through all lines of a lane and route, from some place to the end and from the beginning to that place.
struct LineCycle {
    route: Route,
    from: Option<QueueName>,
    at: Option<QueueName>,
    /// After which tenant the latest lines are looked at next.
    tenant: Option<TenantId>,
    has_wrapped: bool,
    is_over: bool,
    /// Lines that may still be passed over.
    closed_left: usize,
}

impl LineCycle {
    fn from(route: Route, CyclePlace { queue: from, tenant }: CyclePlace) -> Self {
        Self {
            route,
            at: from.clone(),
            tenant,
            has_wrapped: from.is_none(),
            from,
            is_over: false,
            closed_left: CLOSED_AT_ONCE,
        }
    }

    /// The queues that tenants have come to last, of as many tenants as a claim looks at; none where all lines are seen.
    fn latest(&mut self, write: &Write<'_>, lane: Lane) -> Result<Vec<QueueName>, Fault> {
        let mut queues = Vec::new();
        if self.is_over {
            return Ok(queues);
        }
        for _ in 0..AT_ONCE {
            let after = self.tenant.as_ref().map_or("", TenantId::as_str);
            let next: Option<String> = write
                .prepared(NEXT_TENANT)?
                .query_row((lane.rank(), self.route.as_str(), after), |row| row.get(0))
                .optional()?;
            self.tenant = next.map(TenantId::new);
            let Some(tenant) = &self.tenant else { break };
            let mut statement = write.prepared(LATEST_OF)?;
            let mut rows = statement.query((lane.rank(), self.route.as_str(), tenant.as_str(), LATEST as i64))?;
            while let Some(row) = rows.next()? {
                queues.push(QueueName::from_stored(&row.get::<_, String>(0)?));
            }
        }
        Ok(queues)
    }

    fn next(&mut self, write: &Write<'_>, lane: Lane) -> Result<Option<LaneLine>, Fault> {
        while !self.is_over {
            // No queue has an empty name.
            let after = self.at.as_ref().map_or("", QueueName::as_str);
            let line = find(write, NEXT_LINE, lane, &self.route, after)?;
            let line =
                line.filter(|line| !(self.has_wrapped && self.from.as_ref().is_some_and(|from| line.queue > *from)));
            if let Some(line) = line {
                self.at = Some(line.queue.clone());
                return Ok(Some(line));
            }
            self.is_over = self.has_wrapped;
            self.has_wrapped = true;
            self.at = None;
        }
        Ok(None)
    }
}

fn find(
    write: &Write<'_>,
    sql: &'static str,
    lane: Lane,
    route: &Route,
    queue: &str,
) -> Result<Option<LaneLine>, Fault> {
    let read = |row: &Row<'_>| {
        let (time, first): (i64, i64) = (row.get::<_, Option<i64>>(5)?.unwrap_or_default(), row.get(1)?);
        Ok(LaneLine {
            queue: QueueName::from_stored(row.get_ref(0)?.as_str()?),
            route: route.clone(),
            time,
            front: fair::front(time, first),
            first: (first, JobId(row.get(2)?), TenantId::new(row.get_ref(3)?.as_str()?)),
            is_shared: row.get(4)?,
            closed: ClosedTenants::default(),
            part: LinePart::whole(),
            sections: Vec::new(),
            is_met: false,
            waiting: Front::default(),
        })
    };
    Ok(write.prepared(sql)?.query_row((lane.rank(), route.as_str(), queue), read).optional()?)
}

/// Whether anybody has paused anything.
pub(super) fn is_any_paused(write: &Write<'_>) -> Result<bool, Fault> {
    Ok(write.prepared(ANY_PAUSED)?.exists([])?)
}

pub(super) fn is_paused(write: &Write<'_>, queue: &QueueName, tenant: &TenantId) -> Result<bool, Fault> {
    let mut statement =
        write.prepared("SELECT 1 FROM queues WHERE queue = ?1 AND tenant = ?2 AND paused_at IS NOT NULL")?;
    Ok(statement.exists((queue.as_str(), tenant.as_str()))?)
}

fn paused_in(write: &Write<'_>, queue: &QueueName) -> Result<HashSet<TenantId>, Fault> {
    let mut statement = write.prepared(PAUSED_IN)?;
    let mut rows = statement.query([queue.as_str()])?;
    let mut tenants = HashSet::new();
    while let Some(row) = rows.next()? {
        tenants.insert(TenantId::new(row.get::<_, String>(0)?));
    }
    Ok(tenants)
}

/// Whether a tenant of this queue has not paused it, has room and is not disabled.
fn is_open_to_anyone(write: &Write<'_>, queue: &QueueName, everywhere: &Everywhere) -> Result<bool, Fault> {
    let mut statement = write.prepared("SELECT tenant FROM queues WHERE queue = ?1 AND paused_at IS NULL")?;
    let mut rows = statement.query([queue.as_str()])?;
    while let Some(row) = rows.next()? {
        if !everywhere.has(&TenantId::new(row.get::<_, String>(0)?)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use foreman_conformance::given::{a_job, by_order};
    use foreman_core::job::NewJob;
    use foreman_core::memory::ManualClock;
    use foreman_core::ports::Headroom;
    use foreman_core::{Clock, SessionId};
    use rusqlite::Connection;

    use super::*;
    use crate::jobs::claim::{RawClaim, claim};
    use crate::jobs::submit;
    use crate::migrate;

    struct Bare {
        sql: Connection,
        clock: ManualClock,
        session: SessionId,
        rotation: Rotation,
    }

    impl Bare {
        fn new() -> Self {
            let (mut sql, clock) = (Connection::open_in_memory().expect("memory is there"), ManualClock::new());
            migrate::bring_up(&mut sql, Path::new("memory"), &clock).expect("an empty store is brought up");
            let session = SessionId::fresh();
            sql.execute(
                "INSERT INTO sessions VALUES (?1, 'w', 1, '1', 1, '[]', 1, 'live', 1, 1, 1, 1, NULL, NULL)",
                [session.0],
            )
            .expect("a session fits");
            Self { sql, clock, session, rotation: Rotation::default() }
        }

        fn write<T>(&self, verb: impl FnOnce(&Write<'_>) -> Result<T, Fault>) -> T {
            let write = Write::new(&self.sql, self.clock.now());
            let answer = verb(&write).expect("the verb succeeds");
            write.finish().expect("the change is written");
            answer
        }

        fn submit(&self, jobs: &[NewJob]) {
            let prepared = submit::prepare(jobs).expect("jobs are written down");
            self.write(|write| submit::submit(write, &prepared));
        }

        /// One job in each of so many queues.
        fn fill(&self, queues: usize) {
            let jobs: Vec<NewJob> = (0..queues).map(|n| a_job().queued(&format!("full-{n}")).build()).collect();
            self.submit(&jobs);
        }

        /// Queues that have served and are empty now.
        fn empty(&self, queues: usize) {
            for n in 0..queues {
                let name = format!("empty-{n}");
                self.sql.execute("INSERT INTO queues VALUES (?1, 'default', NULL, 1)", [&name]).expect("fits");
                self.sql.execute("INSERT INTO line_fronts VALUES (?1, 1, 'http', 1)", [&name]).expect("fits");
                self.sql
                    .execute("INSERT INTO line_shares VALUES (?1, 1, 'http', 'default', 1, 1)", [&name])
                    .expect("fits");
            }
        }

        fn claim(&self, limit: usize) -> usize {
            self.claim_but(&[], limit)
        }

        /// These have no room.
        fn claim_but(&self, full: &[&str], limit: usize) -> usize {
            let rooms = full.iter().map(|tenant| Headroom { tenant: TenantId::new(*tenant), jobs: 0 }).collect();
            let request = ClaimRequest { rooms, ..by_order(self.session, limit) };
            match self.write(|write| claim(write, &request, &self.rotation)) {
                RawClaim::Claimed { jobs, .. } => jobs.len(),
                RawClaim::Nothing { .. } | RawClaim::SessionGone => 0,
            }
        }

        /// What one claim costs, in steps of SQLite's machine. The statements are at hand by then.
        fn steps(&mut self) -> usize {
            assert_eq!(self.claim(1), 1, "there is something to take");
            let (taken, steps) = self.counted(|bare| bare.claim(1));
            assert_eq!(taken, 1, "there is something to take");
            steps
        }

        fn counted(&mut self, claim: impl FnOnce(&Self) -> usize) -> (usize, usize) {
            let steps = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&steps);
            let count = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                false
            };
            self.sql.progress_handler(1, Some(count)).expect("steps can be counted");
            let taken = claim(self);
            self.sql.progress_handler(0, None::<fn() -> bool>).expect("and left uncounted");
            (taken, steps.load(Ordering::Relaxed))
        }

        /// So many of a tenant's, in one queue.
        fn crowd(&self, tenant: &str, count: usize) {
            let jobs: Vec<NewJob> = (0..count).map(|_| a_job().of(tenant).build()).collect();
            self.submit(&jobs);
        }
    }

    fn plan(sql: &Connection, question: &str) -> Vec<String> {
        let mut statement = sql.prepare(&format!("EXPLAIN QUERY PLAN {question}")).expect("it is SQL");
        let rows = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>();
        rows.expect("a plan is shown")
    }

    #[test]
    fn lines_are_found_by_searches_of_the_index() {
        let bare = Bare::new();
        let besides = [
            "SEARCH front USING PRIMARY KEY (queue=? AND lane=? AND route=?)",
            "SEARCH share USING PRIMARY KEY (queue=? AND lane=? AND route=?)",
        ];
        for (question, expected) in [
            (NEXT_LINE, "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue>?)"),
            (LINE_OF, "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue=? AND key>?)"),
            (
                REST_OF_LINE,
                "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue=? AND (key,job)>(?,?))",
            ),
            (
                NEXT_TENANT,
                "SEARCH line_shares USING COVERING INDEX line_shares_by_time (lane=? AND route=? AND tenant>?)",
            ),
            (
                LATEST_OF,
                "SEARCH line_shares USING COVERING INDEX line_shares_by_time (lane=? AND route=? AND tenant=?)",
            ),
            (PAUSED_IN, "SEARCH queues USING INDEX queues_paused (queue=?)"),
        ] {
            let plan: Vec<String> = plan(&bare.sql, question)
                .into_iter()
                .filter(|step| !besides.contains(&step.as_str()) && !step.starts_with("CORRELATED"))
                .collect();
            assert_eq!(plan, [expected], "{question}");
        }
    }

    #[test]
    fn a_claim_costs_the_same_however_many_queues_are_empty() {
        let (mut alone, mut among) = (Bare::new(), Bare::new());
        among.empty(2_000);
        for bare in [&alone, &among] {
            bare.fill(3);
        }
        let (alone, among) = (alone.steps(), among.steps());
        assert!(among <= alone + alone / 10, "{among} steps among empty queues, {alone} without them");
    }

    #[test]
    fn a_claim_looks_at_so_many_lines_and_no_more() {
        let (mut some, mut many) = (Bare::new(), Bare::new());
        some.fill(AT_ONCE + 44);
        many.fill(3_000);
        let (some, many) = (some.steps(), many.steps());
        assert!(many <= some + some / 10, "{many} steps over 3000 lines, {some} over {}", AT_ONCE + 44);
    }

    #[test]
    fn paused_lines_do_not_hide_what_comes_after_them() {
        let bare = Bare::new();
        bare.fill(AT_ONCE * 2);
        bare.sql.execute("UPDATE queues SET paused_at = 1", []).expect("they are paused");
        assert_eq!(bare.claim(5), 0);
        bare.submit(&[a_job().queued("z").build()]);
        assert_eq!(bare.claim(5), 1);
        bare.submit(&[a_job().queued("a").build()]);
        assert_eq!(bare.claim(5), 1);
    }

    /// What a claim costs that passes over so many, and what it took.
    fn passing(crowd: usize, others: impl Fn(&Bare)) -> (usize, usize) {
        let mut bare = Bare::new();
        // Somebody else has been in the queue.
        bare.crowd("other", 1);
        bare.claim(1);
        bare.crowd("full", crowd);
        others(&bare);
        bare.claim_but(&["full"], 1);
        bare.counted(|bare| bare.claim_but(&["full"], 1))
    }

    #[test]
    fn a_claim_does_not_walk_over_the_backlog_of_a_tenant_without_room() {
        let (few, many) = (passing(10, |_| {}), passing(2_000, |_| {}));
        assert_eq!((few.0, many.0), (0, 0), "nobody else has anything due");
        assert!(many.1 <= few.1 + few.1 / 4, "{} steps over 2000 jobs, {} over 10", many.1, few.1);
    }

    #[test]
    fn nor_when_others_have_come_past_it() {
        let others = |bare: &Bare| {
            for _ in 0..40 {
                bare.crowd("other", 50);
                assert_eq!(bare.claim_but(&["full"], 50), 50);
            }
            bare.crowd("other", 2);
        };
        let (few, many) = (passing(10, others), passing(2_000, others));
        assert_eq!((few.0, many.0), (1, 1));
        assert!(many.1 <= few.1 + few.1 / 4, "{} steps over 2000 jobs, {} over 10", many.1, few.1);
    }

    #[test]
    fn who_was_passed_over_is_served_first_when_there_is_room() {
        let bare = Bare::new();
        bare.crowd("full", 200);
        for _ in 0..10 {
            bare.crowd("other", 50);
            assert_eq!(bare.claim_but(&["full"], 50), 50);
        }
        assert_eq!(bare.claim_but(&["full"], 500), 0);
        bare.crowd("paused", 1);
        bare.crowd("full", 1);
        assert_eq!(bare.claim_but(&["paused"], 500), 201, "all of it");
        assert_eq!(bare.claim_but(&["full"], 500), 1, "and the other");
    }

    /// Whose V has begun anew is not looked for where the last one of its name ended.
    #[test]
    fn what_was_passed_over_in_a_queue_that_went_says_nothing_of_the_next() {
        let bare = Bare::new();
        bare.crowd("full", 200);
        for _ in 0..10 {
            bare.crowd("other", 50);
            assert_eq!(bare.claim_but(&["full"], 50), 50);
        }
        for table in ["ready", "queues", "line_fronts", "line_shares"] {
            bare.sql.execute(&format!("DELETE FROM {table}"), []).expect("all goes");
        }
        bare.rotation.forget_lines();
        bare.crowd("full", 1);
        bare.crowd("other", 60);
        assert_eq!(bare.claim_but(&["full"], 500), 60);
    }

    /// An earlier version gives out places and does not write them down where this one looks.
    #[test]
    fn what_an_earlier_version_left_behind_is_found_after_a_while() {
        let bare = Bare::new();
        bare.crowd("full", 200);
        bare.crowd("other", 1);
        bare.sql.execute("UPDATE ready SET key = key + (1 << 40) WHERE tenant = 'other'", []).expect("it is moved");
        let looks = (0..1_000).position(|_| bare.claim_but(&["full"], 1) == 1);
        assert!(looks.is_some_and(|looks| looks < 100), "{looks:?}");
    }

    #[test]
    fn a_round_is_forgotten_when_one_claim_sees_all_lines() {
        let bare = Bare::new();
        bare.fill(AT_ONCE + 1);
        bare.claim(1);
        assert_eq!(lock(&bare.rotation.places).len(), 1, "it stopped before the last line");
        bare.claim(1);
        bare.claim(2);
        assert!(lock(&bare.rotation.places).is_empty(), "so few are seen at once");
    }
}
