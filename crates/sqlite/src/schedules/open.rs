//! Which jobs of a schedule are not final.
//!
//! That is asked of the two places a job can be open in. Ids ascend, so what is older than everything that waits or is held
//! is final without a look: a schedule with a long past costs no more than one with none.

use foreman_core::ports::OPEN_JOBS_AMONG;
use foreman_core::{JobId, ScheduleId};
use rusqlite::{Connection, Statement};
use uuid::Uuid;

use super::bound;
use crate::error::Fault;

const OLDEST: &str = "SELECT min(job) FROM (SELECT min(job) AS job FROM ready UNION ALL SELECT min(job) FROM held)";

/// The question of [`open_jobs`].
pub(super) const OPEN: &str = "SELECT job FROM (
         SELECT job FROM ticks INDEXED BY ticks_fired
         WHERE schedule = ?1 AND job IS NOT NULL AND job >= ?2 ORDER BY job DESC LIMIT ?3
     ) AS fired
     WHERE EXISTS (SELECT 1 FROM ready WHERE ready.job = fired.job)
           OR EXISTS (SELECT 1 FROM held WHERE held.job = fired.job)
     LIMIT ?4";

/// The oldest job that waits or is held. It holds for a whole transaction that only submits.
#[derive(Clone, Copy)]
pub(super) struct Oldest(Option<Uuid>);

impl Oldest {
    pub fn look(sql: &Connection) -> Result<Self, Fault> {
        Ok(Self(sql.prepare_cached(OLDEST)?.query_row([], |row| row.get(0))?))
    }
}

/// At most `limit` jobs of a schedule's latest ticks that are not final, the latest first.
pub(super) fn open_jobs(
    statement: &mut Statement<'_>,
    schedule: ScheduleId,
    oldest: Oldest,
    limit: usize,
) -> Result<Vec<JobId>, Fault> {
    let Oldest(Some(oldest)) = oldest else { return Ok(Vec::new()) };
    let asked = (schedule.0, oldest, bound(OPEN_JOBS_AMONG), bound(limit));
    let open = statement.query_map(asked, |row| row.get(0).map(JobId))?;
    Ok(open.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedules::bare::Bare;

    #[test]
    fn open_jobs_are_found_by_searches() {
        let bare = Bare::new();
        for question in [OPEN, OLDEST] {
            let plan = bare.plan(question);
            // What a search has found may be gone through.
            let scanned: Vec<_> = plan.iter().filter(|it| it.starts_with("SCAN") && *it != "SCAN fired").collect();
            assert!(scanned.is_empty(), "{plan:?}");
        }
        let fired = "SEARCH ticks USING COVERING INDEX ticks_fired (schedule=? AND job>?)";
        assert!(bare.plan(OPEN).iter().any(|step| step == fired));
    }

    #[test]
    fn a_long_past_costs_nothing_whatever_came_of_it() {
        let cost = |past: i64| {
            let mut bare = Bare::new();
            let id = ScheduleId::fresh();
            for n in 0..past {
                // Half of them fired and final, half of them skipped.
                let job = (n % 2 == 0).then(|| JobId::fresh().0);
                let row = (id.0, n, job);
                bare.sql
                    .execute("INSERT INTO ticks (schedule, nominal, state, at, job) VALUES (?1, ?2, '', 0, ?3)", row)
                    .expect("fits");
            }
            // Somebody else's job waits.
            bare.plant(1);
            bare.fire_next();
            let (open, steps) = bare.steps(|bare| {
                let mut statement = bare.sql.prepare(OPEN).expect("it is SQL");
                let oldest = Oldest::look(&bare.sql).expect("the store answers");
                open_jobs(&mut statement, id, oldest, 1).expect("the store answers")
            });
            assert_eq!(open, []);
            steps
        };
        let (none, long) = (cost(0), cost(2_000));
        assert!(long <= none + none / 4, "{long} steps with a long past, {none} without one");
    }
}
