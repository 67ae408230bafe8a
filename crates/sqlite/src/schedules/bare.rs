//! Schedules on a connection alone, for tests that count what a statement costs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foreman_conformance::timetable::every_minute;
use foreman_core::memory::ManualClock;
use foreman_core::ports::{DueSchedule, DueSchedules, Firing, NewTick, TickAct};
use foreman_core::schedule::Overlap;
use foreman_core::{Clock, ScheduleId};
use rusqlite::Connection;

use super::edit::ScheduleCreation;
use super::{due, fire};
use crate::disabled::DisabledTenants;
use crate::error::Fault;
use crate::migrate;
use crate::readers::ReadSnapshot;
use crate::unreadable::Unreadable;
use crate::write::Write;

pub(super) struct Bare {
    pub sql: Connection,
    pub unreadable: Unreadable,
    clock: ManualClock,
}

impl Bare {
    pub fn new() -> Self {
        let (mut sql, clock) = (Connection::open_in_memory().expect("memory is there"), ManualClock::new());
        sql.set_prepared_statement_cache_capacity(160);
        migrate::bring_up(&mut sql, Path::new("memory"), &clock).expect("an empty store is brought up");
        Self { sql, unreadable: Unreadable::default(), clock }
    }

    pub fn write<T>(&self, verb: impl FnOnce(&Write<'_>) -> Result<T, Fault>) -> T {
        let write = Write::new(&self.sql, self.clock.now());
        let answer = verb(&write).expect("the verb succeeds");
        write.finish().expect("the change is written");
        answer
    }

    pub fn due(&self, limit: usize) -> DueSchedules {
        let read = ReadSnapshot { sql: &self.sql, now: self.clock.now() };
        due::due(&read, limit, &self.unreadable, &DisabledTenants::default()).expect("the store answers")
    }

    /// So many more, due in a minute for the first time.
    pub fn plant(&self, count: usize) {
        let before = self.ids().len();
        for n in 0..count {
            let new = every_minute(&format!("s{}", before + n)).build(self.clock.now());
            let creation = ScheduleCreation::prepare(&new).expect("it is written down");
            self.write(|write| creation.create(write));
        }
    }

    /// In the order in which they were made.
    pub fn ids(&self) -> Vec<ScheduleId> {
        let mut statement = self.sql.prepare("SELECT id FROM schedules ORDER BY rowid").expect("it is SQL");
        let ids = statement.query_map([], |row| row.get(0).map(ScheduleId)).expect("the store answers");
        ids.collect::<Result<_, _>>().expect("ids are ids")
    }

    /// What the scheduler would make of what is due.
    pub fn firings(&self, overlap: Overlap) -> Vec<Firing> {
        let firing = |DueSchedule { schedule, seen }: DueSchedule| {
            let nominal = seen.next.expect("it is due");
            let act = TickAct::Fire(schedule.job_at(nominal, Duration::ZERO));
            let next = Some(nominal.plus(Duration::from_mins(1)));
            Firing { schedule: schedule.id, seen, overlap, release: None, ticks: vec![NewTick { nominal, act }], next }
        };
        self.due(usize::MAX).due.into_iter().map(firing).collect()
    }

    /// Lets time pass until something is due, and fires it.
    pub fn fire_next(&self) {
        self.advance_to_next();
        let prepared = fire::prepare(&self.firings(Overlap::Allow)).expect("jobs are written down");
        self.write(|write| fire::fire(write, &prepared));
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub fn advance_to_next(&self) {
        self.clock.advance(self.due(0).next_in.expect("there is a next tick"));
    }

    /// What it costs, in steps of SQLite's machine, preparing its statements left aside.
    pub fn steps<T>(&mut self, verb: impl FnOnce(&Self) -> T) -> (T, usize) {
        let steps = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&steps);
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        self.sql.progress_handler(1, Some(count)).expect("steps can be counted");
        let answer = verb(self);
        self.sql.progress_handler(0, None::<fn() -> bool>).expect("and left uncounted");
        (answer, steps.load(Ordering::Relaxed))
    }

    pub fn plan(&self, question: &str) -> Vec<String> {
        let mut statement = self.sql.prepare(&format!("EXPLAIN QUERY PLAN {question}")).expect("it is SQL");
        let rows = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>();
        rows.expect("a plan is shown")
    }
}
