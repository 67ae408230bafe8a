//! How much a tenant has waiting and running, for its limits: counted, never kept as a number.

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Counted, WaitingTask};
use foreman_core::target::Route;

use crate::error::Fault;
use crate::rows::number;
use crate::value::{bound, one_more};
use crate::write::Transaction;

/// Through an index of its own, and no further than is asked for: what others have waiting costs nothing.
pub(crate) const WAITING: &str =
    "SELECT count(*) FROM (SELECT FROM ready WHERE ready.tenant = $1::text LIMIT $2::bigint) AS counted";
/// From one name to the next through the same index, one row of each: how many jobs wait there costs nothing.
pub(crate) const WAITING_QUEUES: &str = "WITH RECURSIVE named AS (
        (SELECT ready.queue, 1::bigint AS number FROM ready WHERE ready.tenant = $1::text ORDER BY ready.queue LIMIT 1)
        UNION ALL
        SELECT next.queue, named.number + 1
        FROM named
        CROSS JOIN LATERAL (
            SELECT ready.queue FROM ready WHERE ready.tenant = $1 AND ready.queue > named.queue
            ORDER BY ready.queue LIMIT 1
        ) AS next
        WHERE named.number < $2::bigint
    )
    SELECT count(*) FROM named WHERE named.number <= $2";
/// A look at the first job of each, through that index.
pub(crate) const WAITING_IN: &str = "SELECT asked.queue
    FROM (SELECT DISTINCT unnest($2::text[]) AS queue) AS asked
    WHERE (SELECT true FROM ready WHERE ready.tenant = $1::text AND ready.queue = asked.queue LIMIT 1)";
/// As `held` has them, without taking apart what is not asked for.
pub(crate) const RUNNING: &str = "SELECT member.tenant, count(*)
    FROM claims
    CROSS JOIN LATERAL unnest(claims.tenants) WITH ORDINALITY AS member (tenant, place)
    WHERE get_bit(claims.open, member.place::integer - 1) = 1
    GROUP BY member.tenant ORDER BY member.tenant COLLATE \"C\"";

pub(crate) const FLEET_SLOTS: &str =
    "SELECT coalesce(sum(slots), 0)::bigint AS slots FROM sessions WHERE state IN ('live', 'draining')";

/// The same stretch of it, as far as is looked at, by what runs it. How many were looked at comes with each.
pub(crate) const TASKS: &str = "WITH looked_at AS MATERIALIZED (
        SELECT ready.route, ready.queue, ready.run_at FROM ready WHERE ready.tenant = $1::text LIMIT $2::bigint
    )
    SELECT looked_at.route, looked_at.queue, count(*), (SELECT count(*) FROM looked_at)
    FROM looked_at
    WHERE looked_at.route LIKE 'task:%' AND looked_at.run_at <= foreman_now()
    GROUP BY looked_at.route, looked_at.queue
    ORDER BY count(*) DESC, looked_at.route COLLATE \"C\", looked_at.queue COLLATE \"C\" LIMIT $3::bigint";

pub(super) async fn waiting_tasks(
    tx: &Transaction,
    tenant: &TenantId,
    limit: usize,
    enough: u64,
) -> Result<Vec<WaitingTask>, Fault> {
    let rows = tx.rows(TASKS, &[&tenant.as_str(), &one_more(enough), &bound(limit)]).await?;
    rows.iter()
        .map(|row| {
            let route = Route::from_stored(row.try_get(0)?);
            // With one more than enough it is not known what else there is.
            let is_estimate = number(row, 3)? > enough;
            Ok(WaitingTask {
                task: route.as_task().unwrap_or_default().to_owned(),
                queue: QueueName::from_stored(row.try_get(1)?),
                counted: Counted { count: number(row, 2)?, is_estimate },
            })
        })
        .collect()
}

pub(super) async fn waiting(tx: &Transaction, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    count(tx, WAITING, tenant, enough).await
}

pub(super) async fn waiting_queues(tx: &Transaction, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    count(tx, WAITING_QUEUES, tenant, enough).await
}

async fn count(tx: &Transaction, sql: &'static str, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    let enough = i64::try_from(enough).unwrap_or(i64::MAX);
    let row = tx.row(sql, &[&tenant.as_str(), &enough]).await?;
    let count: i64 = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) async fn waiting_in(
    tx: &Transaction,
    tenant: &TenantId,
    queues: &[QueueName],
) -> Result<Vec<QueueName>, Fault> {
    let names: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
    let rows = tx.rows(WAITING_IN, &[&tenant.as_str(), &names]).await?;
    rows.iter().map(|row| Ok(QueueName::from_stored(row.try_get(0)?))).collect()
}

pub(super) async fn running(tx: &Transaction) -> Result<Vec<(TenantId, u64)>, Fault> {
    let rows = tx.rows(RUNNING, &[]).await?;
    rows.iter()
        .map(|row| {
            let count: i64 = row.try_get(1)?;
            Ok((TenantId::new(row.try_get::<_, &str>(0)?), u64::try_from(count).unwrap_or_default()))
        })
        .collect()
}

pub(super) async fn fleet_slots(tx: &Transaction) -> Result<u64, Fault> {
    let row = tx.row(FLEET_SLOTS, &[]).await?;
    let slots: i64 = row.map(|row| row.try_get("slots")).transpose()?.unwrap_or_default();
    Ok(slots.unsigned_abs())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[FLEET_SLOTS, RUNNING, TASKS, WAITING, WAITING_IN, WAITING_QUEUES];
