//! Stopping a queue from being claimed, and letting it go on.

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::Topic;

use crate::error::Fault;
use crate::write::Transaction;

pub(crate) const PAUSE: &str = "INSERT INTO queues AS known (queue, tenant, paused_at, used_at)
    VALUES ($1::text, $2::text, foreman_now(), foreman_now())
    ON CONFLICT (queue, tenant) DO UPDATE SET paused_at = excluded.paused_at, used_at = excluded.used_at WHERE known.paused_at IS NULL
    RETURNING queue";
pub(crate) const RESUME: &str = "UPDATE queues SET paused_at = NULL, used_at = foreman_now()
    WHERE queue = $1::text AND tenant = $2::text AND paused_at IS NOT NULL RETURNING queue";

pub(super) async fn pause(tx: &Transaction, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    Ok(tx.row(PAUSE, &[&queue.as_str(), &tenant.as_str()]).await?.is_some())
}

pub(super) async fn resume(tx: &Transaction, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    let resumed = tx.row(RESUME, &[&queue.as_str(), &tenant.as_str()]).await?;
    // Also when it was not paused: the answer to an earlier sending may have been lost, and its ring with it.
    tx.ring(Topic::Ready);
    Ok(resumed.is_some())
}
