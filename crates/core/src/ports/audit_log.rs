//! The audit log as it is kept: appended to, read, pruned by age; never changed.

use async_trait::async_trait;

use super::StoreError;
use super::upkeep::Leader;
use crate::audit::{Act, AuditEntry};
use crate::id::{EntryId, TenantId};

#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Sent again under the same id it is kept once.
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError>;

    /// The same by a leader: `None`, and nothing is recorded, when its term is over. A store that one process has for itself has no
    /// terms.
    async fn record_as(&self, _leader: &Leader, id: EntryId, act: &Act) -> Result<Option<()>, StoreError> {
        self.record(id, act).await.map(Some)
    }

    /// The newest first, those before `before`, at most `limit`; of all tenants when none is named.
    async fn audit_log(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;
}
