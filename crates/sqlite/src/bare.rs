//! A store on a connection alone, for tests that look at what a question costs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foreman_core::memory::ManualClock;
use rusqlite::Connection;
use uuid::Uuid;

use crate::migrate;

pub(crate) fn bare() -> Connection {
    let mut sql = Connection::open_in_memory().expect("memory is there");
    migrate::bring_up(&mut sql, Path::new("memory"), &ManualClock::new()).expect("an empty store is brought up");
    sql
}

/// How SQLite would answer it, step by step.
pub(crate) fn plan(sql: &Connection, question: &str) -> Vec<String> {
    let mut statement = sql.prepare(&format!("EXPLAIN QUERY PLAN {question}")).expect("it is SQL");
    let rows = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>();
    rows.expect("a plan is shown")
}

/// What it costs, in steps of SQLite's machine.
pub(crate) fn steps<T>(sql: &mut Connection, ask: impl FnOnce(&Connection) -> T) -> (T, usize) {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    sql.progress_handler(1, Some(count)).expect("steps can be counted");
    let answer = ask(sql);
    sql.progress_handler(0, None::<fn() -> bool>).expect("and left uncounted");
    (answer, steps.load(Ordering::Relaxed))
}

/// So many jobs of the default tenant that ended so, with an error of that group.
pub(crate) fn ended(sql: &Connection, state: &str, group: Option<&str>, count: u32) {
    ended_in(sql, "default", state, group, count);
}

/// The same in a queue of that name.
pub(crate) fn ended_in(sql: &Connection, queue: &str, state: &str, group: Option<&str>, count: u32) {
    let mut job = sql
        .prepare(
            "INSERT INTO jobs (id, tenant, queue, lane, created_at, first_run_at, work)
             VALUES (?1, 'default', ?2, 1, 1, 1, '{}')",
        )
        .expect("it is SQL");
    let mut statement = sql
        .prepare(
            "INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report,
                                   moves, error_group)
             VALUES (?1, 'default', ?2, ?5, ?3, 1, 1, 0, 1, 1, '{\"error\":\"boom\"}', 3, ?4)",
        )
        .expect("it is SQL");
    for at in 0..count {
        let id = Uuid::now_v7();
        job.execute((id, queue)).expect("a job fits");
        statement.execute((id, state, at, group, queue)).expect("an outcome fits");
    }
}
