//! The audit log.

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use crate::audit::{Act, AuditEntry};
use crate::id::{EntryId, TenantId};
use crate::ports::{AuditLog, StoreError};
use crate::time::Timestamp;

#[async_trait]
impl AuditLog for Store {
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError> {
        self.write(|places, now| places.keep_act(id, act, now));
        Ok(())
    }

    async fn audit_log(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(self.read(|places, _| places.audit_log(tenant, before, limit)))
    }
}

impl Places {
    pub fn keep_act(&mut self, id: EntryId, act: &Act, now: Timestamp) {
        self.trail.entry(id).or_insert_with(|| AuditEntry { id, at: now, act: act.clone() });
    }

    pub fn audit_log(&self, tenant: Option<&TenantId>, before: Option<EntryId>, limit: usize) -> Vec<AuditEntry> {
        let entries = self.trail.values().rev().filter(|entry| tenant.is_none_or(|tenant| entry.act.tenant == *tenant));
        entries.filter(|entry| before.is_none_or(|before| entry.id < before)).take(limit).cloned().collect()
    }

    pub fn prune_trail(&mut self, until: Timestamp, limit: usize) -> usize {
        let old: Vec<EntryId> =
            self.trail.values().filter(|entry| entry.at <= until).map(|entry| entry.id).take(limit).collect();
        for id in &old {
            self.trail.remove(id);
        }
        old.len()
    }
}
