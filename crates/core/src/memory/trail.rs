//! The audit trail.

use super::places::Places;
use crate::audit::{Act, Entry};
use crate::id::{EntryId, TenantId};
use crate::time::Timestamp;

impl Places {
    pub fn keep_act(&mut self, id: EntryId, act: &Act, now: Timestamp) {
        self.trail.entry(id).or_insert_with(|| Entry { id, at: now, act: act.clone() });
    }

    pub fn trail(&self, tenant: Option<&TenantId>, before: Option<EntryId>, limit: usize) -> Vec<Entry> {
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
