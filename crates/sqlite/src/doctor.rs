//! What a look at the file from outside tells, without taking its lock and without changing it: a foreman may be running on it.

use std::path::Path;

use foreman_core::Timestamp;

use crate::census::look_into;
use crate::error::{Fault, OpenError};

/// What was found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// Of the data file.
    pub bytes: u64,
    /// Of the log beside it, which is folded into the file from time to time.
    pub wal_bytes: u64,
    /// The last process that had the file for itself, if it is known.
    pub last_holder: Option<u32>,
    pub waiting: u64,
    pub held: u64,
    /// When the job that has waited longest could have run.
    pub oldest_due: Option<Timestamp>,
    /// Which kind of pruning was last finished when.
    pub pruned: Vec<(String, Timestamp)>,
}

pub fn examine(path: &Path, now: Timestamp) -> Result<Examination, OpenError> {
    let connection = look_into(path)?;
    let size = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map_or(0, |about| about.len())
    };
    let facts = connection
        .query_row(
            "SELECT (SELECT count(*) FROM ready), (SELECT count(*) FROM held),
                    (SELECT min(run_at) FROM ready WHERE run_at <= ?1 AND NOT EXISTS (
                        SELECT 1 FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                        AND queues.paused_at IS NOT NULL))",
            [now.as_micros()],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?)),
        )
        .map_err(|error| OpenError::from_fault(path, Fault::Sql(error)))?;
    let pruned = connection
        .prepare("SELECT kind, done_at FROM upkeep ORDER BY done_at, kind")
        .and_then(|mut statement| {
            let rows = statement.query_map([], |row| Ok((row.get(0)?, Timestamp::from_micros(row.get(1)?))))?;
            rows.collect::<Result<_, _>>()
        })
        .map_err(|error| OpenError::from_fault(path, Fault::Sql(error)))?;
    let last_holder = std::fs::read_to_string(path.with_file_name("foreman.lock")).ok();
    Ok(Examination {
        bytes: size(""),
        wal_bytes: size("-wal"),
        last_holder: last_holder.and_then(|text| text.trim().parse().ok()),
        waiting: facts.0.unsigned_abs(),
        held: facts.1.unsigned_abs(),
        oldest_due: facts.2.map(Timestamp::from_micros),
        pruned,
    })
}
