//! What a claim costs, in steps of the machine inside SQLite, and what it finds.

mod bounds;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foreman_conformance::given::{a_job, by_order};
use foreman_core::job::NewJob;
use foreman_core::memory::ManualClock;
use foreman_core::ports::{ClaimRequest, Headroom};
use foreman_core::{Clock, SessionId, TenantId};
use rusqlite::Connection;

use super::closed::ANY_PAUSED_IN;
use super::find::{LATEST_OF, LINE_OF, NEXT_LINE, NEXT_TENANT};
use super::line::REST_OF_LINE;
use super::lines::AT_ONCE;
use super::rotation::Rotation;
use super::scope::FRAGILE;
use super::skipped::SHARES_BEYOND;
use super::{RawClaim, claim};
use crate::error::Fault;
use crate::jobs::submit;
use crate::migrate;
use crate::write::Write;

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
            self.sql.execute("INSERT INTO line_shares VALUES (?1, 1, 'http', 'default', 1, 1)", [&name]).expect("fits");
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
        "SEARCH share USING COVERING INDEX line_shares_by_key (queue=? AND lane=? AND route=?)",
    ];
    for (question, expected) in [
        (NEXT_LINE, "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue>?)"),
        (LINE_OF, "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue=? AND key>?)"),
        (REST_OF_LINE, "SEARCH ready USING INDEX ready_in_order (lane=? AND route=? AND queue=? AND (key,job)>(?,?))"),
        (NEXT_TENANT, "SEARCH line_shares USING COVERING INDEX line_shares_by_time (lane=? AND route=? AND tenant>?)"),
        (LATEST_OF, "SEARCH line_shares USING COVERING INDEX line_shares_by_time (lane=? AND route=? AND tenant=?)"),
        (ANY_PAUSED_IN, "SEARCH queues USING INDEX queues_paused (queue=?)"),
        (
            SHARES_BEYOND,
            "SEARCH line_shares USING COVERING INDEX line_shares_by_key (queue=? AND lane=? AND route=? AND last_key>?)",
        ),
        (FRAGILE, "SEARCH ready USING INDEX ready_fragile ((queue,route,lane,key,job)>(?,?,?,?,?))"),
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
    assert_eq!(bare.rotation.places().len(), 1, "it stopped before the last line");
    bare.claim(1);
    bare.claim(2);
    assert!(bare.rotation.places().is_empty(), "so few are seen at once");
}
