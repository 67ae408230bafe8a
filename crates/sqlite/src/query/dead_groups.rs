//! Dead jobs by their errors.
//!
//! The groups are found by skipping through their index from one to the next, and of each no more is looked at than is
//! counted: ten thousand equal failures cost little more than one.

use foreman_core::error_group::ErrorGroup;
use foreman_core::job::QueueName;
use foreman_core::ports::{Counted, DeadGroup};
use foreman_core::{JobId, Report, TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Fault;
use crate::rows::Cells;

/// So many groups are looked at. With more of them, errors that never repeat, the largest of some are shown: about a tenth of
/// a second of one reader.
const MOST: usize = 2_000;

const NEXT: &str = "SELECT error_group FROM outcomes INDEXED BY outcomes_dead_groups
     WHERE tenant = ?1 AND state = 'dead' AND error_group > ?2 ORDER BY error_group LIMIT 1";

/// `IS`, for those of before have none.
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM outcomes INDEXED BY outcomes_dead_groups
     WHERE tenant = ?1 AND state = 'dead' AND error_group IS ?2 LIMIT ?3)";

const FIRST: &str = "SELECT finished_at FROM outcomes INDEXED BY outcomes_dead_groups
     WHERE tenant = ?1 AND state = 'dead' AND error_group IS ?2 ORDER BY finished_at LIMIT 1";

const LAST: &str = "SELECT job, finished_at, queue, kind, report FROM outcomes INDEXED BY outcomes_dead_groups
     WHERE tenant = ?1 AND state = 'dead' AND error_group IS ?2 ORDER BY finished_at DESC, job DESC LIMIT 1";

pub(super) fn dead_groups(
    sql: &Connection,
    tenant: &TenantId,
    limit: usize,
    enough: u64,
) -> Result<Vec<DeadGroup>, Fault> {
    let mut groups: Vec<DeadGroup> = group(sql, tenant, None, enough)?.into_iter().collect();
    let mut after = String::new();
    while groups.len() < MOST {
        let Some(name) = next(sql, tenant, &after)? else { break };
        groups.extend(group(sql, tenant, Some(&name), enough)?);
        after = name;
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.counted.count, group.last_at)));
    groups.truncate(limit);
    Ok(groups)
}

fn next(sql: &Connection, tenant: &TenantId, after: &str) -> Result<Option<String>, Fault> {
    let mut statement = sql.prepare_cached(NEXT)?;
    Ok(statement.query_row((tenant.as_str(), after), |row| row.get(0)).optional()?)
}

fn group(sql: &Connection, tenant: &TenantId, name: Option<&str>, enough: u64) -> Result<Option<DeadGroup>, Fault> {
    let place = (tenant.as_str(), name);
    let first: Option<i64> = sql.prepare_cached(FIRST)?.query_row(place, |row| row.get(0)).optional()?;
    let Some(first) = first else { return Ok(None) };
    let one_more = i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1);
    let count: i64 = sql.prepare_cached(COUNT)?.query_row((place.0, place.1, one_more), |row| row.get(0))?;
    let mut statement = sql.prepare_cached(LAST)?;
    let mut rows = statement.query(place)?;
    let last = |row| sampled(row, name, Timestamp::from_micros(first), Counted::up_to(count.unsigned_abs(), enough));
    rows.next()?.map(last).transpose()
}

/// From the row of its last.
fn sampled(row: &Row<'_>, name: Option<&str>, first_at: Timestamp, counted: Counted) -> Result<DeadGroup, Fault> {
    let cells = Cells::of_job(row, "outcomes", 0)?;
    let group: Option<ErrorGroup> = match name.map(str::parse) {
        None => None,
        Some(Ok(group)) => Some(group),
        Some(Err(why)) => return Err(Fault::misfit("outcomes", "error_group", cells.id, why)),
    };
    let report: Report = cells.report(4)?;
    let queue: QueueName = cells.queue(2)?;
    let sample: JobId = cells.id;
    let last_at = cells.time(1, "finished_at")?;
    Ok(DeadGroup { group, counted, first_at, last_at, sample, error: report.error, queue, kind: cells.get(3, "kind")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare, ended, plan, steps};

    const GROUP: &str = "0123456789abcdef";

    #[test]
    fn groups_are_found_by_searches_of_their_index() {
        let sql = bare();
        let of_group = "SEARCH outcomes USING COVERING INDEX outcomes_dead_groups (tenant=? AND error_group=?)";
        for (question, expected) in [
            (NEXT, "SEARCH outcomes USING COVERING INDEX outcomes_dead_groups (tenant=? AND error_group>?)"),
            (COUNT, of_group),
            (FIRST, of_group),
            (LAST, "SEARCH outcomes USING INDEX outcomes_dead_groups (tenant=? AND error_group=?)"),
        ] {
            let plan = plan(&sql, question);
            assert!(plan.iter().any(|step| step == expected), "{question}: {plan:?}");
            let others: Vec<_> = plan.iter().filter(|step| step.contains("outcomes") && *step != expected).collect();
            assert!(others.is_empty() && !plan.iter().any(|step| step.contains("TEMP B-TREE")), "{question}: {plan:?}");
        }
    }

    #[test]
    fn a_group_costs_what_is_counted_of_it_however_large_it_is() {
        let cost = |size: u32| {
            let mut sql = bare();
            ended(&sql, "dead", Some(GROUP), size);
            ended(&sql, "dead", None, size);
            ended(&sql, "completed", None, size);
            let ask = |sql: &Connection| dead_groups(sql, &TenantId::default(), 10, 20).expect("the store answers");
            let (groups, steps) = steps(&mut sql, ask);
            assert_eq!(groups.len(), 2);
            assert!(groups.iter().all(|group| group.counted == Counted { count: 20, is_estimate: true }));
            steps
        };
        let (small, large) = (cost(50), cost(3_000));
        assert!(large <= small + small / 10, "{large} steps of 3000, {small} of 50");
    }

    #[test]
    fn errors_that_never_repeat_are_looked_at_up_to_a_number() {
        let sql = bare();
        for number in 0..MOST + 100 {
            ended(&sql, "dead", Some(&format!("{number:016x}")), 1);
        }
        let groups = dead_groups(&sql, &TenantId::default(), usize::MAX, 10).expect("the store answers");
        assert_eq!(groups.len(), MOST);
    }
}
