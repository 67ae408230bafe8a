//! The lines of a lane: which queues have something due for a route, and whose turn it is.
//!
//! A line is what is due in one lane for one route in one queue, in the order of its keys. A claim skips through the claim
//! index from one line to the next, so that it costs what the lines with something in them cost, however many queues have
//! ever been named; then it takes the job nearest to the front of its queue, from whichever line that is, until it is full.
//!
//! One claim looks at no more than [`AT_ONCE`] lines of a lane and route. Up to so many it sees them all, and the order is
//! exact. With more of them it goes round: each claim looks at the next [`AT_ONCE`], and takes the nearest to the front
//! among those. Lanes stay strict all the same, for each lane is looked at for itself: a job of a lower lane is never taken
//! in place of one of a higher lane. What is no longer exact is whose turn it is between queues of one lane; every line has
//! its turn once in a round. A claim that is not full after its share looks at the next one, so it never comes back with
//! nothing while anything is due. Lines of queues that are paused are passed over and do not count.
//!
//! Where the next claim goes on is kept in memory, by lane and route. It is lost with the process and starts anew.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use foreman_core::job::QueueName;
use foreman_core::ports::{ClaimRequest, Queues, is_fragile};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId, Timestamp, fair};
use rusqlite::{OptionalExtension, Row};
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::{Waiting, traveller_columns};
use crate::write::Write;

/// So many lines of a lane and route are looked at together: about half a millisecond of the writer.
const AT_ONCE: usize = 256;

/// So many jobs of a line are read ahead while other lines may be nearer to the front.
const AHEAD: usize = 16;

/// The first of the next line after a queue, and V of its queue.
const NEXT_LINE: &str = "SELECT queue, key, job,
     (SELECT v FROM lanes WHERE lanes.queue = ready.queue AND lanes.lane = ready.lane)
     FROM ready INDEXED BY ready_in_order
     WHERE lane = ?1 AND route = ?2 AND queue > ?3 AND key IS NOT NULL ORDER BY queue, key, job LIMIT 1";

/// The first of the line of a queue, and V of that queue.
const LINE_OF: &str = "SELECT queue, key, job,
     (SELECT v FROM lanes WHERE lanes.queue = ready.queue AND lanes.lane = ready.lane)
     FROM ready INDEXED BY ready_in_order
     WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL ORDER BY key, job LIMIT 1";

/// What comes in a line after one of its places.
const REST_OF_LINE: &str = concat!(
    "SELECT ",
    traveller_columns!(),
    ", key FROM ready INDEXED BY ready_in_order
     WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL AND (key, job) > (?4, ?5) ORDER BY key, job"
);

const ANY_PAUSED: &str = "SELECT 1 FROM queues INDEXED BY queues_paused WHERE paused_at IS NOT NULL LIMIT 1";

const PAUSED_IN: &str = "SELECT tenant FROM queues INDEXED BY queues_paused WHERE queue = ?1 AND paused_at IS NOT NULL";

/// After which queue the next claim goes on, where there were more lines than one claim looks at.
#[derive(Default)]
pub(crate) struct Rotation(Mutex<HashMap<(Lane, Route), QueueName>>);

impl Rotation {
    fn place(&self, lane: Lane, route: &Route) -> Option<QueueName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(lane, route.clone())).cloned()
    }

    fn keep(&self, lane: Lane, route: Route, place: Option<QueueName>) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match place {
            Some(queue) => places.insert((lane, route), queue),
            None => places.remove(&(lane, route)),
        };
    }
}

/// The lines of one lane that a request may take from.
pub(super) struct LaneLines {
    lane: Lane,
    is_any_paused: bool,
    source: Source,
    lines: Vec<Line>,
    /// The next of each line, the nearest to its queue's front on top; or, where that has not been read, what it cannot be
    /// nearer than.
    nearest: BinaryHeap<Reverse<(i64, JobId, usize)>>,
}

/// Where lines come from.
enum Source {
    Rounds(Vec<Round>),
    Named(Vec<(Route, QueueName)>),
}

struct Line {
    queue: QueueName,
    route: Route,
    /// V of its queue in this lane.
    front: i64,
    /// Who has paused it.
    paused: HashSet<TenantId>,
    /// The key and id of the last that was read.
    read_to: (i64, JobId),
    is_read_out: bool,
    ahead: VecDeque<Waiting>,
}

impl LaneLines {
    pub fn of(lane: Lane, request: &ClaimRequest, is_any_paused: bool, rotation: &Rotation) -> Self {
        let routes: BTreeSet<&Route> = request.routes.iter().collect();
        let source = match &request.queues {
            Queues::All => Source::Rounds(
                routes.into_iter().map(|route| Round::from(route.clone(), rotation.place(lane, route))).collect(),
            ),
            Queues::Named(names) => {
                let names: BTreeSet<&QueueName> = names.iter().collect();
                let pairs =
                    routes.iter().flat_map(|route| names.iter().map(|name| ((*route).clone(), (*name).clone())));
                Source::Named(pairs.collect())
            }
        };
        Self { lane, is_any_paused, source, lines: Vec::new(), nearest: BinaryHeap::new() }
    }

    /// The next `room` due jobs that need not run alone.
    pub fn take(&mut self, write: &Write<'_>, room: usize, chosen: &mut Vec<Waiting>) -> Result<(), Fault> {
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
        let Source::Rounds(rounds) = self.source else { return };
        for round in rounds {
            let place = if round.is_over { None } else { round.at };
            rotation.keep(self.lane, round.route, place);
        }
    }

    /// The nearest to the front of the lines at hand.
    fn next(&mut self, write: &Write<'_>, room: usize) -> Result<Option<Waiting>, Fault> {
        while let Some(Reverse((.., number))) = self.nearest.pop() {
            let line = &mut self.lines[number];
            if line.ahead.is_empty() && !line.is_read_out {
                let ahead = if self.nearest.is_empty() { room } else { room.min(AHEAD) };
                line.read_on(write, self.lane, ahead)?;
                // What was known of it was only a bound.
                self.nearest.extend(line.next_place().map(|(behind, job)| Reverse((behind, job, number))));
                continue;
            }
            let next = line.ahead.pop_front();
            self.nearest.extend(line.next_place().map(|(behind, job)| Reverse((behind, job, number))));
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    /// Finds more lines; `false` when there are none.
    fn look_further(&mut self, write: &Write<'_>) -> Result<bool, Fault> {
        let before = self.lines.len();
        match &mut self.source {
            Source::Rounds(rounds) => {
                for round in rounds {
                    let enough = self.lines.len() + AT_ONCE;
                    while self.lines.len() < enough {
                        let Some(line) = round.next(write, self.lane)? else { break };
                        self.lines.extend(line.unless_paused(write, self.is_any_paused)?);
                    }
                }
            }
            Source::Named(pairs) => {
                for (route, queue) in pairs.drain(..) {
                    if let Some(line) = find(write, LINE_OF, self.lane, &route, queue.as_str())? {
                        self.lines.extend(line.unless_paused(write, self.is_any_paused)?);
                    }
                }
            }
        }
        for (number, line) in self.lines.iter().enumerate().skip(before) {
            let (key, job) = line.read_to;
            self.nearest.push(Reverse((fair::behind(key, line.front), job, number)));
        }
        // Nothing of it has been read yet; where it begins was only needed to know who is nearest.
        for line in &mut self.lines[before..] {
            line.read_to = (i64::MIN, JobId(Uuid::nil()));
        }
        Ok(self.lines.len() > before)
    }
}

impl Line {
    /// Lines that nobody can take from are passed over.
    fn unless_paused(mut self, write: &Write<'_>, is_any_paused: bool) -> Result<Option<Self>, Fault> {
        if !is_any_paused {
            return Ok(Some(self));
        }
        self.paused = paused_in(write, &self.queue)?;
        let is_open = self.paused.is_empty() || is_open_to_anyone(write, &self.queue)?;
        Ok(is_open.then_some(self))
    }

    /// Reads on until `count` that may start are at hand.
    fn read_on(&mut self, write: &Write<'_>, lane: Lane, count: usize) -> Result<(), Fault> {
        let mut statement = write.prepared(REST_OF_LINE)?;
        let (key, job) = self.read_to;
        let mut rows = statement.query((lane.rank(), self.route.as_str(), self.queue.as_str(), key, job.0))?;
        while self.ahead.len() < count {
            let Some(row) = rows.next()? else {
                self.is_read_out = true;
                break;
            };
            let waiting = Waiting::try_from(row)?;
            self.read_to = (waiting.key.unwrap_or_default(), waiting.traveller.job);
            // `crashes` is compared here and not in the statement: a fragile job is rare, and the scan stays on its index.
            if !is_fragile(waiting.traveller.counters.crashes) && self.may_start(&waiting, write.now) {
                self.ahead.push_back(waiting);
            }
        }
        Ok(())
    }

    /// Neither past its start-by, which the promoter has not seen yet, nor paused by its tenant.
    fn may_start(&self, waiting: &Waiting, now: Timestamp) -> bool {
        waiting.traveller.expires_at.is_none_or(|time| time > now) && !self.paused.contains(&waiting.traveller.tenant)
    }

    /// Its next job, or what that cannot be nearer than; none when the line is at its end.
    fn next_place(&self) -> Option<(i64, JobId)> {
        let (key, job) = match self.ahead.front() {
            Some(waiting) => (waiting.key.unwrap_or_default(), waiting.traveller.job),
            None if self.is_read_out => return None,
            None => self.read_to,
        };
        Some((fair::behind(key, self.front), job))
    }
}

/// Once through all lines of a lane and route, from some place to the end and from the beginning to that place.
struct Round {
    route: Route,
    from: Option<QueueName>,
    at: Option<QueueName>,
    has_wrapped: bool,
    is_over: bool,
}

impl Round {
    fn from(route: Route, from: Option<QueueName>) -> Self {
        Self { route, at: from.clone(), has_wrapped: from.is_none(), from, is_over: false }
    }

    fn next(&mut self, write: &Write<'_>, lane: Lane) -> Result<Option<Line>, Fault> {
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

fn find(write: &Write<'_>, sql: &'static str, lane: Lane, route: &Route, queue: &str) -> Result<Option<Line>, Fault> {
    let read = |row: &Row<'_>| {
        Ok(Line {
            queue: QueueName::from_stored(row.get_ref(0)?.as_str()?),
            route: route.clone(),
            front: row.get::<_, Option<i64>>(3)?.unwrap_or_default(),
            paused: HashSet::new(),
            read_to: (row.get(1)?, JobId(row.get(2)?)),
            is_read_out: false,
            ahead: VecDeque::new(),
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

/// Whether a tenant of this queue has not paused it.
fn is_open_to_anyone(write: &Write<'_>, queue: &QueueName) -> Result<bool, Fault> {
    let mut statement = write.prepared("SELECT 1 FROM queues WHERE queue = ?1 AND paused_at IS NULL LIMIT 1")?;
    Ok(statement.exists([queue.as_str()])?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use foreman_core::conformance::given::{a_job, by_order};
    use foreman_core::job::NewJob;
    use foreman_core::memory::ManualClock;
    use foreman_core::{Clock, SessionId};
    use rusqlite::Connection;

    use super::*;
    use crate::jobs::claim::{Taken, claim};
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
                "INSERT INTO sessions VALUES (?1, 'w', 1, '1', 1, '[]', 1, 'live', 1, 1, 1, 1, NULL)",
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
                self.sql.execute("INSERT INTO lanes VALUES (?1, 1, 1)", [&name]).expect("fits");
                self.sql.execute("INSERT INTO shares VALUES (?1, 1, 'default', 1)", [&name]).expect("fits");
            }
        }

        fn claim(&self, limit: usize) -> usize {
            let request = by_order(self.session, limit);
            match self.write(|write| claim(write, &request, &self.rotation)) {
                Taken::Claimed { jobs, .. } => jobs.len(),
                Taken::Nothing { .. } | Taken::SessionGone => 0,
            }
        }

        /// What one claim costs, in steps of SQLite's machine. The statements are at hand by then.
        fn steps(&mut self) -> usize {
            assert_eq!(self.claim(1), 1, "there is something to take");
            let steps = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&steps);
            let count = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                false
            };
            self.sql.progress_handler(1, Some(count)).expect("steps can be counted");
            assert_eq!(self.claim(1), 1, "there is something to take");
            self.sql.progress_handler(0, None::<fn() -> bool>).expect("and left uncounted");
            steps.load(Ordering::Relaxed)
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
        let lanes = "SEARCH lanes USING PRIMARY KEY (queue=? AND lane=?)";
        for (question, expected) in [
            (NEXT_LINE, "SEARCH ready USING COVERING INDEX ready_in_order (lane=? AND route=? AND queue>?)"),
            (LINE_OF, "SEARCH ready USING COVERING INDEX ready_in_order (lane=? AND route=? AND queue=? AND key>?)"),
            (
                REST_OF_LINE,
                "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue=? AND (key,job)>(?,?))",
            ),
            (PAUSED_IN, "SEARCH queues USING INDEX queues_paused (queue=?)"),
        ] {
            let plan: Vec<String> = plan(&bare.sql, question)
                .into_iter()
                .filter(|step| step != lanes && !step.starts_with("CORRELATED"))
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

    #[test]
    fn a_round_is_forgotten_when_one_claim_sees_all_lines() {
        let bare = Bare::new();
        bare.fill(AT_ONCE + 1);
        bare.claim(1);
        assert_eq!(bare.rotation.0.lock().expect("nobody panicked").len(), 1, "it stopped before the last line");
        bare.claim(1);
        bare.claim(2);
        assert!(bare.rotation.0.lock().expect("nobody panicked").is_empty(), "so few are seen at once");
    }
}
