//! How much of a tenant waits and is held: counted from the places themselves, never kept as a number.

use std::collections::HashSet;

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Counted, WaitingTask};
use rusqlite::Connection;

use crate::error::Fault;
use crate::readers::ReadSnapshot;

/// What runs what waits, of as much of it as is looked at.
const TASKS: &str = "WITH looked_at AS MATERIALIZED (SELECT route, queue, run_at FROM ready WHERE tenant = ?1 LIMIT ?2)
     SELECT substr(route, 6), queue, count(*), (SELECT count(*) FROM looked_at) FROM looked_at
     WHERE route >= 'task:' AND route < 'task;' AND run_at <= ?3
     GROUP BY route, queue ORDER BY count(*) DESC, route, queue LIMIT ?4";

pub(super) fn waiting_tasks(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    limit: usize,
    enough: u64,
) -> Result<Vec<WaitingTask>, Fault> {
    let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (limit, one_more) = (bound(limit as u64), bound(enough).saturating_add(1));
    let mut statement = read.sql.prepare_cached(TASKS)?;
    let tasks = statement.query_map((tenant.as_str(), one_more, read.now.as_micros(), limit), |row| {
        let (count, looked_at): (i64, i64) = (row.get(2)?, row.get(3)?);
        // With one more than enough it is not known what else there is.
        let counted = Counted { count: count.unsigned_abs(), is_estimate: looked_at == one_more };
        let queue: String = row.get(1)?;
        Ok(WaitingTask { task: row.get(0)?, queue: QueueName::from_stored(&queue), counted })
    })?;
    Ok(tasks.collect::<Result<_, _>>()?)
}

/// No further than `enough`.
pub(super) fn waiting(sql: &Connection, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    let mut statement = sql.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM ready WHERE tenant = ?1 LIMIT ?2)")?;
    let enough = i64::try_from(enough).unwrap_or(i64::MAX);
    let count: i64 = statement.query_row((tenant.as_str(), enough), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// No further than `enough`.
pub(super) fn waiting_queues(sql: &Connection, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    let text = "SELECT count(*) FROM (SELECT DISTINCT queue FROM ready WHERE tenant = ?1 LIMIT ?2)";
    let mut statement = sql.prepare_cached(text)?;
    let enough = i64::try_from(enough).unwrap_or(i64::MAX);
    let count: i64 = statement.query_row((tenant.as_str(), enough), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Those of these in which something waits: one look, however many are asked for.
pub(super) fn waiting_in(
    sql: &Connection,
    tenant: &TenantId,
    queues: &HashSet<QueueName>,
) -> Result<Vec<QueueName>, Fault> {
    let mut statement = sql.prepare_cached("SELECT DISTINCT queue FROM ready WHERE tenant = ?1")?;
    let mut rows = statement.query([tenant.as_str()])?;
    let mut found = Vec::new();
    while found.len() < queues.len()
        && let Some(row) = rows.next()?
    {
        let queue = QueueName::from_stored(&row.get::<_, String>(0)?);
        if queues.contains(&queue) {
            found.push(queue);
        }
    }
    Ok(found)
}

pub(super) fn fleet_slots(sql: &Connection) -> Result<u64, Fault> {
    let mut statement =
        sql.prepare_cached("SELECT coalesce(sum(slots), 0) FROM sessions WHERE state IN ('live', 'draining')")?;
    let slots: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(slots.unsigned_abs())
}

pub(super) fn running(sql: &Connection) -> Result<Vec<(TenantId, u64)>, Fault> {
    let mut statement = sql.prepare_cached("SELECT tenant, count(*) FROM held GROUP BY tenant ORDER BY tenant")?;
    let counts = statement.query_map([], |row| {
        let count: i64 = row.get(1)?;
        Ok((TenantId::new(row.get::<_, String>(0)?), count.unsigned_abs()))
    })?;
    Ok(counts.collect::<Result<_, _>>()?)
}
