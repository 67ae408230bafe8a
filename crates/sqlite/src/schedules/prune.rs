//! Ticks that have outlived their retention.
//!
//! A reader finds them, for it may have to look past many that stay: the latest of every schedule, held ones, and those
//! whose job is not final. The writer removes what is still over. A job can only have come back by a re-drive; and what is
//! not the latest never becomes it, for the latest stays.

use std::time::Duration;

use rusqlite::params;
use uuid::Uuid;

use super::bound;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::write::Write;

const OLD: &str = "SELECT schedule, nominal FROM ticks INDEXED BY ticks_by_time
     WHERE at <= ?1 AND state <> 'held'
           AND NOT EXISTS (SELECT 1 FROM ready WHERE ready.job = ticks.job)
           AND NOT EXISTS (SELECT 1 FROM held WHERE held.job = ticks.job)
           AND (EXISTS (SELECT 1 FROM ticks AS later
                        WHERE later.schedule = ticks.schedule AND later.nominal > ticks.nominal)
                OR NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.id = ticks.schedule))
     ORDER BY at LIMIT ?2";

pub(crate) struct OldTicks(Vec<(Uuid, i64)>);

impl OldTicks {
    pub fn find(read: &ReadSnapshot<'_>, keep: Duration, limit: usize) -> Result<Self, Fault> {
        let mut statement = read.sql.prepare_cached(OLD)?;
        let until = read.now.minus(keep).as_micros();
        let rows = statement.query_map((until, bound(limit)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self(rows.collect::<Result<_, _>>()?))
    }

    pub fn prune(&self, write: &Write<'_>) -> Result<usize, Fault> {
        let mut statement = write.prepared(
            "DELETE FROM ticks WHERE schedule = ?1 AND nominal = ?2 AND state <> 'held'
                   AND NOT EXISTS (SELECT 1 FROM ready WHERE ready.job = ticks.job)
                   AND NOT EXISTS (SELECT 1 FROM held WHERE held.job = ticks.job)",
        )?;
        let mut pruned = 0;
        for (schedule, nominal) in &self.0 {
            pruned += statement.execute(params![schedule, nominal])?;
        }
        Ok(pruned)
    }
}
