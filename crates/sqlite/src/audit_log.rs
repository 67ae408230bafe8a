//! The audit log: appended to, read from its end, pruned by age.
//!
//! An entry is written under its own id, so that one whose answer was lost is sent again and kept once.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::audit::{Act, AuditEntry};
use foreman_core::ports::{AuditLog, StoreError};
use foreman_core::{EntryId, TenantId};
use rusqlite::Row;
use uuid::Uuid;

use crate::SqliteStore;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::unreadable::Unreadable;

#[async_trait]
impl AuditLog for SqliteStore {
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError> {
        let (tenant, act) = (act.tenant.clone(), serde_json::to_string(act));
        let act = act.map_err(|error| StoreError::Broken(format!("entry {id} cannot be written down: {error}")))?;
        self.write(move |write| {
            write
                .prepared(
                    "INSERT INTO audit_trail (id, tenant, at, act) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (id) DO NOTHING",
                )?
                .execute((id.0, tenant.as_str(), write.now.as_micros(), act))?;
            Ok(())
        })
        .await
    }

    /// One that this version cannot read is left out, and said so in the log.
    async fn audit_log(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let (tenant, unreadable) = (tenant.cloned(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| audit_log(read, tenant.as_ref(), before, limit, &unreadable)).await
    }
}

/// Reads on until the page is full: a short one would look like the last.
fn audit_log(
    read: &ReadSnapshot<'_>,
    tenant: Option<&TenantId>,
    before: Option<EntryId>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<AuditEntry>, Fault> {
    let mut statement = read.sql.prepare_cached(match tenant {
        None => "SELECT id, at, act FROM audit_trail WHERE id < ?1 ORDER BY id DESC",
        Some(_) => "SELECT id, at, act FROM audit_trail WHERE id < ?1 AND tenant = ?2 ORDER BY id DESC",
    })?;
    // Every id comes before the last one, which is none.
    let before = before.map_or(Uuid::max(), |before| before.0);
    let mut rows = match tenant {
        None => statement.query([before])?,
        Some(tenant) => statement.query((before, tenant.as_str()))?,
    };
    let mut entries = Vec::new();
    while entries.len() < limit {
        let Some(row) = rows.next()? else { break };
        entries.extend(unreadable.left_out(|| called(row), entry(row))?);
    }
    Ok(entries)
}

fn entry(row: &Row<'_>) -> Result<AuditEntry, Fault> {
    let cells = Cells { row, table: "audit_trail", id: EntryId(row.get(0)?) };
    Ok(AuditEntry { at: cells.time(1, "at")?, act: cells.json(2, "act")?, id: cells.id })
}

fn called(row: &Row<'_>) -> (String, i64) {
    (format!("entry {} of the audit log", row.get::<_, Uuid>(0).unwrap_or_default()), 0)
}
