//! Whose jobs a claim leaves alone: of tenants that have paused the queue, have no room for another running job, or are disabled.

use std::collections::HashSet;
use std::sync::Arc;

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::ClaimRequest;

use super::skipped::Skipped;
use crate::error::Fault;
use crate::write::Write;

const ANY_PAUSED: &str = "SELECT 1 FROM queues INDEXED BY queues_paused WHERE paused_at IS NOT NULL LIMIT 1";

pub(super) const PAUSED_IN: &str =
    "SELECT tenant FROM queues INDEXED BY queues_paused WHERE queue = ?1 AND paused_at IS NOT NULL";

/// What keeps jobs from being taken.
pub(super) struct Closing {
    pub is_any_paused: bool,
    pub everywhere: Arc<Everywhere>,
    pub skipped: Arc<Skipped>,
}

/// Tenants of which nothing is taken, whatever the queue.
#[derive(Debug, Default)]
pub(super) struct Everywhere {
    /// They have no room.
    full: HashSet<TenantId>,
    disabled: Arc<HashSet<TenantId>>,
}

impl Everywhere {
    pub fn of(request: &ClaimRequest, disabled: Arc<HashSet<TenantId>>) -> Self {
        let full = request.rooms.iter().filter(|room| room.jobs == 0).map(|room| room.tenant.clone()).collect();
        Self { full, disabled }
    }

    pub fn has(&self, tenant: &TenantId) -> bool {
        self.full.contains(tenant) || self.disabled.contains(tenant)
    }

    fn is_empty(&self) -> bool {
        self.full.is_empty() && self.disabled.is_empty()
    }
}

/// Tenants of which nothing of a line is taken.
#[derive(Debug, Default)]
pub(super) struct ClosedTenants {
    /// They have paused it.
    pub here: HashSet<TenantId>,
    pub everywhere: Arc<Everywhere>,
}

impl ClosedTenants {
    pub fn has(&self, tenant: &TenantId) -> bool {
        self.here.contains(tenant) || self.everywhere.has(tenant)
    }

    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.everywhere.is_empty()
    }
}

/// Whether anybody has paused anything.
pub(super) fn is_any_paused(write: &Write<'_>) -> Result<bool, Fault> {
    Ok(write.prepared(ANY_PAUSED)?.exists([])?)
}

pub(super) fn is_paused(write: &Write<'_>, queue: &QueueName, tenant: &TenantId) -> Result<bool, Fault> {
    let mut statement =
        write.prepared("SELECT 1 FROM queues WHERE queue = ?1 AND tenant = ?2 AND paused_at IS NOT NULL")?;
    Ok(statement.exists((queue.as_str(), tenant.as_str()))?)
}

pub(super) fn paused_in(write: &Write<'_>, queue: &QueueName) -> Result<HashSet<TenantId>, Fault> {
    let mut statement = write.prepared(PAUSED_IN)?;
    let mut rows = statement.query([queue.as_str()])?;
    let mut tenants = HashSet::new();
    while let Some(row) = rows.next()? {
        tenants.insert(TenantId::new(row.get::<_, String>(0)?));
    }
    Ok(tenants)
}

/// Whether a tenant of this queue has not paused it, has room and is not disabled.
pub(super) fn is_open_to_anyone(write: &Write<'_>, queue: &QueueName, everywhere: &Everywhere) -> Result<bool, Fault> {
    let mut statement = write.prepared("SELECT tenant FROM queues WHERE queue = ?1 AND paused_at IS NULL")?;
    let mut rows = statement.query([queue.as_str()])?;
    while let Some(row) = rows.next()? {
        if !everywhere.has(&TenantId::new(row.get::<_, String>(0)?)) {
            return Ok(true);
        }
    }
    Ok(false)
}
