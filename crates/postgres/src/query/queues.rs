//! How full each queue is, how long its oldest job has been waiting, and how fast it goes.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{QueueView, WaitingCounts};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::number;
use crate::value::{Arg, Interval};
use crate::write::Transaction;

pub(crate) const KNOWN: &str = "SELECT queue, paused_at IS NOT NULL FROM queues WHERE tenant = $1::text ORDER BY queue";
pub(crate) const WAITING: &str = "SELECT queue, count(*) FILTER (WHERE run_at > foreman_now() AND attempt = 0),
           count(*) FILTER (WHERE run_at <= foreman_now()),
           count(*) FILTER (WHERE run_at > foreman_now() AND attempt > 0),
           foreman_now() - min(run_at) FILTER (WHERE run_at <= foreman_now())
    FROM ready WHERE tenant = $1::text GROUP BY queue";
pub(crate) const RUNNING: &str = "SELECT queue, count(*) FROM held WHERE tenant = $1::text GROUP BY queue";
/// Of users and of Foreman itself: each by an index of its own.
pub(crate) const FINISHED: &str = "SELECT queue, count(*) FROM outcomes
    WHERE tenant = $1::text AND state IN ('completed', 'failed', 'dead', 'cancelled')
      AND finished_at > foreman_now() - interval '1 minute' AND left(queue, 8) <> 'foreman.' GROUP BY queue
    UNION ALL
    SELECT queue, count(*) FROM outcomes
    WHERE tenant = $1 AND state IN ('completed', 'failed', 'dead', 'cancelled')
      AND finished_at > foreman_now() - interval '1 minute' AND left(queue, 8) = 'foreman.' GROUP BY queue";

type Views = BTreeMap<String, QueueView>;

pub(super) async fn queues(tx: &Transaction, tenant: &TenantId) -> Result<Vec<QueueView>, Fault> {
    let tenant = tenant.as_str();
    let args: [&dyn Arg; 1] = [&tenant];
    let answers = tx.all(&[KNOWN, WAITING, RUNNING, FINISHED].map(|sql| (sql, &args[..]))).await?;
    let mut views = known(&answers[0])?;
    each(&answers[1], &mut views, |view, row| {
        view.waiting =
            WaitingCounts { scheduled: number(row, 1)?, pending: number(row, 2)?, retrying: number(row, 3)? };
        view.oldest_wait = row.try_get::<_, Option<Interval>>(4)?.map(|span: Interval| -> Duration { span.0 });
        Ok(())
    })?;
    each(&answers[2], &mut views, |view, row| {
        view.running = number(row, 1)?;
        Ok(())
    })?;
    each(&answers[3], &mut views, |view, row| {
        view.finished_last_minute = number(row, 1)?;
        Ok(())
    })?;
    Ok(views.into_values().collect())
}

fn known(rows: &[Row]) -> Result<Views, Fault> {
    rows.iter()
        .map(|row| {
            let name: String = row.try_get(0)?;
            let view = QueueView {
                queue: QueueName::from_stored(&name),
                is_paused: row.try_get(1)?,
                waiting: WaitingCounts::default(),
                running: 0,
                oldest_wait: None,
                finished_last_minute: 0,
            };
            Ok((name, view))
        })
        .collect()
}

fn each(
    rows: &[Row],
    views: &mut Views,
    mut fill: impl FnMut(&mut QueueView, &Row) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for row in rows {
        let name: &str = row.try_get(0)?;
        if let Some(view) = views.get_mut(name) {
            fill(view, row)?;
        }
    }
    Ok(())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[FINISHED, KNOWN, RUNNING, WAITING];
