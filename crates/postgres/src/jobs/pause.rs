//! Stopping a queue from being claimed, and letting it go on.

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Note, Topic, USE_IS_NOTED_EVERY};

use super::submit::OPEN_QUEUES;
use crate::error::Fault;
use crate::value::Interval;
use crate::write::Transaction;

pub(crate) const PAUSE: &str = "UPDATE queues SET paused_at = foreman_now()
    WHERE queue = $1::text AND tenant = $2::text AND paused_at IS NULL RETURNING queue";
pub(crate) const RESUME: &str = "UPDATE queues SET paused_at = NULL
    WHERE queue = $1::text AND tenant = $2::text AND paused_at IS NOT NULL RETURNING queue";

pub(super) async fn pause(tx: &Transaction, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    note_use(tx, tenant, queue).await?;
    let paused = tx.row(PAUSE, &[&queue.as_str(), &tenant.as_str()]).await?;
    if paused.is_some() {
        tx.tell(Note::Queue { tenant: tenant.clone(), queue: queue.clone(), is_paused: true });
    }
    Ok(paused.is_some())
}

pub(super) async fn resume(tx: &Transaction, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    let resumed = tx.row(RESUME, &[&queue.as_str(), &tenant.as_str()]).await?;
    // Also when it was not paused: the answer to an earlier sending may have been lost, and its ring with it.
    tx.ring(Topic::Ready);
    if resumed.is_some() {
        tx.tell(Note::Queue { tenant: tenant.clone(), queue: queue.clone(), is_paused: false });
        note_use(tx, tenant, queue).await?;
    }
    Ok(resumed.is_some())
}

async fn note_use(tx: &Transaction, tenant: &TenantId, queue: &QueueName) -> Result<(), Fault> {
    tx.rows(OPEN_QUEUES, &[&vec![queue.as_str()], &vec![tenant.as_str()], &Interval(USE_IS_NOTED_EVERY)]).await?;
    Ok(())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[PAUSE, RESUME];
