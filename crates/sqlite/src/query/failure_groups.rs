//! Jobs that failed or died, by state and error. Foreman's own jobs are left out.
//!
//! The groups are found by skipping through their index from one to the next, and of each no more is looked at than is
//! counted: ten thousand equal failures cost little more than one.
//!
//! The index has the groups of each state in the order of their hashes. Where a state has more than are looked at, those of its
//! newest jobs are looked at too, and it is said that there are others: what is failing now is never left to chance.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use foreman_core::error_group::ErrorGroup;
use foreman_core::job::QueueName;
use foreman_core::ports::{Counted, FailureGroup, FailureGroups};
use foreman_core::{JobId, Report, State, TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Fault;
use crate::rows::Cells;

/// So many groups of a state are looked at as they come, and so many of the newest: about a tenth of a second of one reader, each.
const MOST: usize = 2_000;

const NEXT: &str = "SELECT error_group FROM outcomes INDEXED BY failures_of_users
     WHERE tenant = ?1 AND state = ?3 AND state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.'
       AND error_group > ?2 ORDER BY error_group LIMIT 1";

/// Those that the newest of a state are of, the most frequent first, then the latest. Each of these jobs is looked up, so they are not many.
const NEWEST: &str = "SELECT error_group FROM (
         SELECT error_group, finished_at FROM outcomes INDEXED BY outcomes_of_users
         WHERE tenant = ?1 AND state = ?3 AND substr(queue, 1, 8) <> 'foreman.'
         ORDER BY finished_at DESC, job DESC LIMIT 10000)
     WHERE error_group IS NOT NULL GROUP BY error_group ORDER BY count(*) DESC, max(finished_at) DESC LIMIT ?2";

/// `IS`, for those of before have none.
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM outcomes INDEXED BY failures_of_users
     WHERE tenant = ?1 AND state = ?3 AND state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.'
       AND error_group IS ?2 LIMIT ?4)";

const FIRST_AT: &str = "SELECT finished_at FROM outcomes INDEXED BY failures_of_users
     WHERE tenant = ?1 AND state = ?3 AND state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.'
       AND error_group IS ?2 ORDER BY finished_at LIMIT 1";

const LAST_AT: &str = "SELECT finished_at FROM outcomes INDEXED BY failures_of_users
     WHERE tenant = ?1 AND state = ?3 AND state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.'
       AND error_group IS ?2 ORDER BY finished_at DESC LIMIT 1";

const LAST: &str = "SELECT job, finished_at, queue, kind, report FROM outcomes INDEXED BY failures_of_users
     WHERE tenant = ?1 AND state = ?3 AND state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.'
       AND error_group IS ?2 ORDER BY finished_at DESC, job DESC LIMIT 1";

pub(super) fn failure_groups(
    sql: &Connection,
    tenant: &TenantId,
    states: &[State],
    limit: usize,
    enough: u64,
) -> Result<FailureGroups, Fault> {
    let (mut sizes, mut saw_all) = (Vec::new(), true);
    for state in states {
        let (names, saw_all_of_it) = candidates(sql, tenant, *state)?;
        saw_all &= saw_all_of_it;
        for name in [None].into_iter().chain(names.into_iter().map(Some)) {
            sizes.extend(size(sql, tenant, *state, name, enough)?);
        }
    }
    sizes.sort_by_key(|size| Reverse((size.counted.count, size.last_at)));
    let is_complete = saw_all && sizes.len() <= limit;
    sizes.truncate(limit);
    let mut groups = Vec::with_capacity(sizes.len());
    for size in &sizes {
        groups.extend(group(sql, tenant, size)?);
    }
    Ok(FailureGroups { groups, is_complete })
}

/// The groups of a state to look at, and whether these are all.
fn candidates(sql: &Connection, tenant: &TenantId, state: State) -> Result<(BTreeSet<String>, bool), Fault> {
    let mut names = BTreeSet::new();
    let mut next = sql.prepare_cached(NEXT)?;
    loop {
        let after = names.last().map_or("", String::as_str);
        let place = (tenant.as_str(), after, state.as_str());
        let found: Option<String> = next.query_row(place, |row| row.get(0)).optional()?;
        match found {
            None => return Ok((names, true)),
            Some(_) if names.len() == MOST => break,
            Some(name) => names.insert(name),
        };
    }
    let most = i64::try_from(MOST).unwrap_or(i64::MAX);
    let mut newest = sql.prepare_cached(NEWEST)?;
    for name in newest.query_map((tenant.as_str(), most, state.as_str()), |row| row.get(0))? {
        names.insert(name?);
    }
    Ok((names, false))
}

/// How large a group is, and how late. This is asked of all of them, and answered by the index alone.
struct Size {
    state: State,
    name: Option<String>,
    counted: Counted,
    last_at: i64,
}

fn size(
    sql: &Connection,
    tenant: &TenantId,
    state: State,
    name: Option<String>,
    enough: u64,
) -> Result<Option<Size>, Fault> {
    let place = (tenant.as_str(), name.as_deref(), state.as_str());
    let last: Option<i64> = sql.prepare_cached(LAST_AT)?.query_row(place, |row| row.get(0)).optional()?;
    let Some(last_at) = last else { return Ok(None) };
    let one_more = i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1);
    let (tenant, group, of) = place;
    let count: i64 = sql.prepare_cached(COUNT)?.query_row((tenant, group, of, one_more), |row| row.get(0))?;
    Ok(Some(Size { state, name, counted: Counted::up_to(count.unsigned_abs(), enough), last_at }))
}

/// The rest, of those that are shown.
fn group(sql: &Connection, tenant: &TenantId, size: &Size) -> Result<Option<FailureGroup>, Fault> {
    let place = (tenant.as_str(), size.name.as_deref(), size.state.as_str());
    let first: Option<i64> = sql.prepare_cached(FIRST_AT)?.query_row(place, |row| row.get(0)).optional()?;
    let Some(first) = first else { return Ok(None) };
    let mut statement = sql.prepare_cached(LAST)?;
    let mut rows = statement.query(place)?;
    rows.next()?.map(|row| sampled(row, size, Timestamp::from_micros(first))).transpose()
}

/// From the row of its last.
fn sampled(row: &Row<'_>, size: &Size, first_at: Timestamp) -> Result<FailureGroup, Fault> {
    let cells = Cells::of_job(row, "outcomes", 0)?;
    let group: Option<ErrorGroup> = match size.name.as_deref().map(str::parse) {
        None => None,
        Some(Ok(group)) => Some(group),
        Some(Err(why)) => return Err(Fault::misfit("outcomes", "error_group", cells.id, why)),
    };
    let report: Report = cells.report(4)?;
    let queue: QueueName = cells.queue(2)?;
    let sample: JobId = cells.id;
    let last_at = cells.time(1, "finished_at")?;
    let (state, counted, kind) = (size.state, size.counted, cells.get(3, "kind")?);
    Ok(FailureGroup { state, group, counted, first_at, last_at, sample, error: report.error, queue, kind })
}

#[cfg(test)]
mod tests {
    use foreman_core::webhook::QUEUE;

    use super::*;
    use crate::bare::{bare, ended, ended_in, plan, steps};

    const GROUP: &str = "0123456789abcdef";

    #[test]
    fn groups_are_found_by_searches_of_their_index() {
        let sql = bare();
        let of_group =
            "SEARCH outcomes USING COVERING INDEX failures_of_users (tenant=? AND state=? AND error_group=?)";
        for (question, expected) in [
            (NEXT, "SEARCH outcomes USING COVERING INDEX failures_of_users (tenant=? AND state=? AND error_group>?)"),
            (COUNT, of_group),
            (FIRST_AT, of_group),
            (LAST_AT, of_group),
            (LAST, "SEARCH outcomes USING INDEX failures_of_users (tenant=? AND state=? AND error_group=?)"),
        ] {
            let plan = plan(&sql, question);
            assert!(plan.iter().any(|step| step == expected), "{question}: {plan:?}");
            let others: Vec<_> = plan.iter().filter(|step| step.contains("outcomes") && *step != expected).collect();
            assert!(others.is_empty() && !plan.iter().any(|step| step.contains("TEMP B-TREE")), "{question}: {plan:?}");
        }
    }

    #[test]
    fn the_newest_are_found_by_time_and_not_sorted() {
        let plan = plan(&bare(), NEWEST);
        let by_time = "SEARCH outcomes USING INDEX outcomes_of_users (tenant=? AND state=?)";
        let of_outcomes: Vec<_> = plan.iter().filter(|step| step.contains("outcomes")).collect();
        assert_eq!(of_outcomes, [by_time], "{plan:?}");
        // What is sorted is what the ten thousand are of; the ten thousand themselves come in order.
        let sorted: Vec<_> = plan.iter().filter(|step| step.contains("TEMP B-TREE")).collect();
        assert_eq!(sorted, ["USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR ORDER BY"], "{plan:?}");
    }

    #[test]
    fn a_group_costs_what_is_counted_of_it_however_large_it_is() {
        let cost = |size: u32| {
            let mut sql = bare();
            ended(&sql, "dead", Some(GROUP), size);
            ended(&sql, "dead", None, size);
            ended(&sql, "failed", Some(GROUP), size);
            ended(&sql, "completed", None, size);
            ended_in(&sql, QUEUE, "dead", Some(GROUP), size);
            ended_in(&sql, QUEUE, "failed", Some("00000000deadbeef"), size);
            let ask = |sql: &Connection| {
                failure_groups(sql, &TenantId::default(), &State::FAILURES, 10, 20).expect("the store answers")
            };
            let (FailureGroups { groups, is_complete }, steps) = steps(&mut sql, ask);
            assert_eq!((groups.len(), is_complete), (3, true));
            assert!(groups.iter().all(|group| group.counted == Counted { count: 20, is_estimate: true }));
            steps
        };
        let (small, large) = (cost(50), cost(3_000));
        assert!(large <= small + small / 10, "{large} steps of 3000, {small} of 50");
    }

    /// As many jobs with an error of their own, which come first in the order of the groups.
    fn unlike(sql: &Connection, count: usize) {
        sql.execute_batch("BEGIN").expect("a transaction begins");
        for number in 0..count {
            ended(sql, "dead", Some(&format!("{number:016x}")), 1);
        }
        sql.execute_batch("COMMIT").expect("a transaction ends");
    }

    #[test]
    fn errors_that_never_repeat_are_looked_at_up_to_a_number() {
        let sql = bare();
        let ask =
            |limit| failure_groups(&sql, &TenantId::default(), &[State::Dead], limit, 10).expect("the store answers");
        unlike(&sql, MOST);
        let all = ask(usize::MAX);
        assert_eq!((all.groups.len(), all.is_complete), (MOST, true), "just as many as are looked at");
        assert!(!ask(MOST - 1).is_complete);
        sql.execute("DELETE FROM outcomes", []).expect("outcomes go");
        unlike(&sql, 3 * MOST);
        let some = ask(usize::MAX);
        assert!(!some.is_complete);
        assert!((MOST..=2 * MOST).contains(&some.groups.len()), "{} groups", some.groups.len());
    }

    /// The walk ends before it comes to it, and it is not among the very latest.
    #[test]
    fn a_large_group_behind_thousands_of_others_comes_first() {
        const LARGE: &str = "fffffffffffffff0";
        let sql = bare();
        unlike(&sql, 3 * MOST);
        ended(&sql, "dead", Some(LARGE), 300);
        let later = "UPDATE outcomes SET finished_at = finished_at + 1000 WHERE error_group <> ?1";
        assert_eq!(sql.execute(later, [LARGE]).expect("outcomes are edited"), 3 * MOST);
        let FailureGroups { groups, is_complete } =
            failure_groups(&sql, &TenantId::default(), &State::FAILURES, 100, 200).expect("the store answers");
        assert_eq!((groups.len(), is_complete), (100, false));
        assert_eq!(groups[0].group.as_ref().map(ToString::to_string).as_deref(), Some(LARGE));
        assert_eq!(groups[0].counted, Counted { count: 200, is_estimate: true });
        assert!(groups[1..].iter().all(|group| group.counted.count == 1));
    }

    /// However many have died, and of however many things.
    #[test]
    fn the_newest_are_looked_at_up_to_a_number() {
        let cost = |size: usize| {
            let mut sql = bare();
            unlike(&sql, size);
            let ask = |sql: &Connection| {
                failure_groups(sql, &TenantId::default(), &State::FAILURES, 10, 20).expect("the store answers")
            };
            steps(&mut sql, ask).1
        };
        let (small, large) = (cost(15_000), cost(45_000));
        assert!(large <= small + small / 10, "{large} steps of 45000, {small} of 15000");
    }
}
