//! How full each queue is, how long its oldest job has been waiting, and how fast it goes.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_core::job::QueueName;
use foreman_core::ports::{QueueView, WaitingCounts};
use foreman_core::{State, TenantId, Timestamp};
use rusqlite::{Connection, Row};

use crate::error::Fault;
use crate::readers::ReadSnapshot;

type Views = BTreeMap<String, QueueView>;

pub(super) fn queues(read: &ReadSnapshot<'_>, tenant: &TenantId) -> Result<Vec<QueueView>, Fault> {
    let mut views = known(read.sql, tenant)?;
    count_waiting(read, tenant, &mut views)?;
    count_running(read.sql, tenant, &mut views)?;
    count_finished(read, tenant, &mut views)?;
    Ok(views.into_values().collect())
}

fn known(sql: &Connection, tenant: &TenantId) -> Result<Views, Fault> {
    let mut statement = sql.prepare_cached("SELECT queue, paused_at IS NOT NULL FROM queues WHERE tenant = ?1")?;
    let rows = statement.query_map([tenant.as_str()], |row| {
        let name: String = row.get(0)?;
        let view = QueueView {
            queue: QueueName::from_stored(&name),
            is_paused: row.get(1)?,
            waiting: WaitingCounts::default(),
            running: 0,
            oldest_wait: None,
            finished_last_minute: 0,
        };
        Ok((name, view))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn count_waiting(read: &ReadSnapshot<'_>, tenant: &TenantId, views: &mut Views) -> Result<(), Fault> {
    let sql = "SELECT queue, count(*) FILTER (WHERE run_at > ?2 AND attempt = 0),
                      count(*) FILTER (WHERE run_at <= ?2), count(*) FILTER (WHERE run_at > ?2 AND attempt > 0),
                      min(run_at) FILTER (WHERE run_at <= ?2)
               FROM ready WHERE tenant = ?1 GROUP BY queue";
    each(read.sql, sql, (tenant.as_str(), read.now.as_micros()), views, |view, row| {
        view.waiting =
            WaitingCounts { scheduled: number(row, 1)?, pending: number(row, 2)?, retrying: number(row, 3)? };
        let oldest: Option<i64> = row.get(4)?;
        view.oldest_wait = oldest.map(|time| read.now.since(Timestamp::from_micros(time)));
        Ok(())
    })
}

fn count_running(sql: &Connection, tenant: &TenantId, views: &mut Views) -> Result<(), Fault> {
    let question = "SELECT queue, count(*) FROM held WHERE tenant = ?1 GROUP BY queue";
    each(sql, question, (tenant.as_str(),), views, |view, row| {
        view.running = number(row, 1)?;
        Ok(())
    })
}

fn count_finished(read: &ReadSnapshot<'_>, tenant: &TenantId, views: &mut Views) -> Result<(), Fault> {
    let minute_ago = read.now.minus(Duration::from_mins(1));
    let sql = "SELECT queue, count(*) FROM outcomes INDEXED BY outcomes_by_state
               WHERE tenant = ?1 AND state = ?2 AND finished_at > ?3 GROUP BY queue";
    for state in State::FINAL {
        each(read.sql, sql, (tenant.as_str(), state.as_str(), minute_ago.as_micros()), views, |view, row| {
            view.finished_last_minute += number(row, 1)?;
            Ok(())
        })?;
    }
    Ok(())
}

fn each(
    sql: &Connection,
    question: &str,
    values: impl rusqlite::Params,
    views: &mut Views,
    mut fill: impl FnMut(&mut QueueView, &Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = sql.prepare_cached(question)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        if let Some(view) = views.get_mut(&name) {
            fill(view, row)?;
        }
    }
    Ok(())
}

fn number(row: &Row<'_>, place: usize) -> Result<u64, Fault> {
    Ok(u64::try_from(row.get::<_, i64>(place)?).unwrap_or_default())
}
