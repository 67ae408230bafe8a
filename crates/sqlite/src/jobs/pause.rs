//! Stopping a queue from being claimed, and letting it go on.

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Note, Topic};

use super::submit::note_use;
use crate::error::Fault;
use crate::write::Write;

pub(super) fn pause(write: &Write<'_>, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    note_use(write, tenant, queue)?;
    let paused = write
        .prepared("UPDATE queues SET paused_at = ?3 WHERE queue = ?1 AND tenant = ?2 AND paused_at IS NULL")?
        .execute((queue.as_str(), tenant.as_str(), write.now.as_micros()))?;
    if paused == 1 {
        tell(write, tenant, queue, true);
    }
    Ok(paused == 1)
}

pub(super) fn resume(write: &Write<'_>, tenant: &TenantId, queue: &QueueName) -> Result<bool, Fault> {
    let resumed = write
        .prepared("UPDATE queues SET paused_at = NULL WHERE queue = ?1 AND tenant = ?2 AND paused_at IS NOT NULL")?
        .execute((queue.as_str(), tenant.as_str()))?;
    if resumed == 1 {
        tell(write, tenant, queue, false);
        note_use(write, tenant, queue)?;
    }
    // Also when it was not paused: the answer to an earlier sending may have been lost, and its ring with it.
    write.ring(Topic::Ready);
    Ok(resumed == 1)
}

fn tell(write: &Write<'_>, tenant: &TenantId, queue: &QueueName, is_paused: bool) {
    write.tell(Note::Queue { tenant: tenant.clone(), queue: queue.clone(), is_paused });
}
