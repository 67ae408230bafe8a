//! The audit trail as it is kept: appended to, read, pruned by age; never changed.

use async_trait::async_trait;

use super::StoreError;
use crate::audit::{Act, Entry};
use crate::id::{EntryId, TenantId};

#[async_trait]
pub trait AuditTrail: Send + Sync {
    /// Sent again under the same id it is kept once.
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError>;

    /// The newest first, those before `before`, at most `limit`; of all tenants when none is named.
    async fn trail(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;
}
