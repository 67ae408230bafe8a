//! Whose jobs a claim leaves alone: of tenants that have paused the queue, have no room for another running job, or are disabled.
//!
//! A queue may be paused by any number of tenants: each is asked for when a job of it is met, and not before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::ClaimRequest;

use super::skipped::Skipped;
use crate::error::Fault;
use crate::write::Write;

/// So many tenants of a queue are looked at to find one that can be served. Where there are more, the queue is looked into.
const TENANTS_AT_ONCE: usize = 256;

const ANY_PAUSED: &str = "SELECT 1 FROM queues INDEXED BY queues_paused WHERE paused_at IS NOT NULL LIMIT 1";

pub(super) const ANY_PAUSED_IN: &str =
    "SELECT 1 FROM queues INDEXED BY queues_paused WHERE queue = ?1 AND paused_at IS NOT NULL LIMIT 1";

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

    pub fn is_disabled(&self, tenant: &TenantId) -> bool {
        self.disabled.contains(tenant)
    }

    pub fn is_full(&self, tenant: &TenantId) -> bool {
        self.full.contains(tenant)
    }

    fn is_empty(&self) -> bool {
        self.full.is_empty() && self.disabled.is_empty()
    }
}

/// Why nothing of a tenant's is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It has paused the queue.
    Here,
    /// It has no room, or is disabled.
    Everywhere,
}

/// Tenants of which nothing of a line is taken.
#[derive(Debug, Default)]
pub(super) struct ClosedTenants {
    /// Somebody has paused the queue.
    is_paused_by_any: bool,
    /// Whether these have, as far as was asked.
    asked: HashMap<TenantId, bool>,
    everywhere: Arc<Everywhere>,
}

impl ClosedTenants {
    pub fn of(write: &Write<'_>, queue: &QueueName, closing: &Closing) -> Result<Self, Fault> {
        let is_paused_by_any = closing.is_any_paused && write.prepared(ANY_PAUSED_IN)?.exists([queue.as_str()])?;
        Ok(Self { is_paused_by_any, asked: HashMap::new(), everywhere: Arc::clone(&closing.everywhere) })
    }

    /// Why nothing of this tenant's is taken, unless it is.
    pub fn why(&mut self, write: &Write<'_>, queue: &QueueName, tenant: &TenantId) -> Result<Option<Closed>, Fault> {
        if self.is_paused_by_any && self.is_paused_by(write, queue, tenant)? {
            return Ok(Some(Closed::Here));
        }
        Ok(self.has_everywhere(tenant).then_some(Closed::Everywhere))
    }

    pub fn has_everywhere(&self, tenant: &TenantId) -> bool {
        self.everywhere.has(tenant)
    }

    fn is_paused_by(&mut self, write: &Write<'_>, queue: &QueueName, tenant: &TenantId) -> Result<bool, Fault> {
        if let Some(is_paused) = self.asked.get(tenant) {
            return Ok(*is_paused);
        }
        let is_paused = is_paused(write, queue, tenant)?;
        self.asked.insert(tenant.clone(), is_paused);
        Ok(is_paused)
    }

    pub fn is_empty(&self) -> bool {
        !self.is_paused_by_any && self.everywhere.is_empty()
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

/// Whether a tenant of this queue has not paused it, has room and is not disabled, as far as a look at some of them tells.
pub(super) fn is_open_to_anyone(write: &Write<'_>, queue: &QueueName, everywhere: &Everywhere) -> Result<bool, Fault> {
    let mut statement = write.prepared("SELECT tenant, paused_at IS NULL FROM queues WHERE queue = ?1 LIMIT ?2")?;
    let (mut rows, mut seen) = (statement.query((queue.as_str(), TENANTS_AT_ONCE as i64))?, 0);
    while let Some(row) = rows.next()? {
        seen += 1;
        if row.get(1)? && !everywhere.has(&TenantId::new(row.get::<_, String>(0)?)) {
            return Ok(true);
        }
    }
    Ok(seen == TENANTS_AT_ONCE)
}
