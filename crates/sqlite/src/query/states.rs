//! How many of a tenant's jobs are in each state, counted no further than enough: the history is not walked over. Foreman's own
//! jobs are left out.

use foreman_core::ports::{Counted, StateCounts};
use foreman_core::{State, TenantId, Timestamp};
use rusqlite::{Connection, Params};

use crate::error::Fault;
use crate::readers::ReadSnapshot;

/// Goes through `ready`, as a count of what waits does, until there is enough.
const PENDING: &str = "SELECT count(*) FROM (SELECT 1 FROM ready WHERE tenant = ?1 AND run_at <= ?2
     AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?3)";

/// What is not due yet has no key: what is due is not looked at.
const SCHEDULED: &str = "SELECT count(*) FROM (SELECT 1 FROM ready INDEXED BY ready_later
     WHERE tenant = ?1 AND key IS NULL AND run_at > ?2 AND attempt = 0 AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?3)";

const RETRYING: &str = "SELECT count(*) FROM (SELECT 1 FROM ready INDEXED BY ready_later
     WHERE tenant = ?1 AND key IS NULL AND run_at > ?2 AND attempt > 0 AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?3)";

/// No larger than the slots of all workers.
const RUNNING: &str = "SELECT count(*) FROM (SELECT 1 FROM held WHERE tenant = ?1
     AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?2)";

const FINAL: &str = "SELECT count(*) FROM (SELECT 1 FROM outcomes INDEXED BY outcomes_of_users
     WHERE tenant = ?1 AND state = ?2 AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?3)";

const SINCE: &str = "SELECT count(*) FROM (SELECT 1 FROM outcomes INDEXED BY outcomes_of_users
     WHERE tenant = ?1 AND state = ?2 AND finished_at >= ?3 AND substr(queue, 1, 8) <> 'foreman.' LIMIT ?4)";

pub(super) fn ended_since(
    sql: &Connection,
    tenant: &TenantId,
    state: State,
    since: Timestamp,
    enough: u64,
) -> Result<Counted, Fault> {
    let one_more = i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1);
    let count = count(sql, SINCE, (tenant.as_str(), state.as_str(), since.as_micros(), one_more))?;
    Ok(Counted::up_to(count, enough))
}

pub(super) fn states(read: &ReadSnapshot<'_>, tenant: &TenantId, enough: u64) -> Result<StateCounts, Fault> {
    let one_more = i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1);
    let (tenant, now) = (tenant.as_str(), read.now.as_micros());
    let mut counts = StateCounts::default();
    for state in State::ALL {
        let count = match state {
            State::Pending => count(read.sql, PENDING, (tenant, now, one_more))?,
            State::Scheduled => count(read.sql, SCHEDULED, (tenant, now, one_more))?,
            State::Retrying => count(read.sql, RETRYING, (tenant, now, one_more))?,
            State::Running => count(read.sql, RUNNING, (tenant, one_more))?,
            State::Completed | State::Failed | State::Dead | State::Cancelled => {
                count(read.sql, FINAL, (tenant, state.as_str(), one_more))?
            }
        };
        counts.set(state, Counted::up_to(count, enough));
    }
    Ok(counts)
}

fn count(sql: &Connection, question: &str, asked: impl Params) -> Result<u64, Fault> {
    let count: i64 = sql.prepare_cached(question)?.query_row(asked, |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare, ended, plan, steps};

    #[test]
    fn final_states_and_what_is_not_due_are_found_by_searches() {
        let sql = bare();
        for (question, expected) in [
            (FINAL, "SEARCH outcomes USING COVERING INDEX outcomes_of_users (tenant=? AND state=?)"),
            (SINCE, "SEARCH outcomes USING COVERING INDEX outcomes_of_users (tenant=? AND state=? AND finished_at>?)"),
            (SCHEDULED, "SEARCH ready USING INDEX ready_later (run_at>?)"),
            (RETRYING, "SEARCH ready USING INDEX ready_later (run_at>?)"),
        ] {
            let plan = plan(&sql, question);
            assert!(plan.iter().any(|step| step == expected), "{question}: {plan:?}");
        }
    }

    #[test]
    fn a_long_history_costs_no_more_than_enough_of_it() {
        let cost = |size: u32| {
            let mut sql = bare();
            for state in State::FINAL {
                ended(&sql, state.as_str(), None, size);
            }
            let ask = |sql: &Connection| {
                let read = ReadSnapshot { sql, now: Timestamp::from_micros(1) };
                states(&read, &TenantId::default(), 20).expect("the store answers")
            };
            let (counts, steps) = steps(&mut sql, ask);
            assert!(State::FINAL.into_iter().all(|state| counts.get(state) == Counted::up_to(21, 20)));
            steps
        };
        let (short, long) = (cost(50), cost(3_000));
        assert!(long <= short + short / 10, "{long} steps over 3000, {short} over 50");
    }
}
