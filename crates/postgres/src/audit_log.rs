//! The audit log as it is kept: appended to, read, pruned by age; never changed.
//!
//! An act is known by its id: sent again, or by two at once, it is there once.

use async_trait::async_trait;
use foreman_core::TenantId;
use foreman_core::audit::{Act, AuditEntry};
use foreman_core::id::EntryId;
use foreman_core::ports::{AuditLog, Leader, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::{Cells, json};
use crate::upkeep::leads;
use crate::value::bound;
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

pub(crate) const KEEP: &str = "INSERT INTO audit_trail (id, tenant, at, act)
    VALUES ($1::uuid, $2::text, foreman_now(), $3::text) ON CONFLICT (id) DO NOTHING";
pub(crate) const OF_ALL: &str = "SELECT id, at, act FROM audit_trail WHERE id < $1::uuid
    ORDER BY id DESC LIMIT $2::bigint";
pub(crate) const OF_ONE: &str = "SELECT id, at, act FROM audit_trail WHERE tenant = $3::text AND id < $1::uuid
    ORDER BY id DESC LIMIT $2::bigint";
pub(crate) const CUT_AUDIT_LOG: &str = "DELETE FROM audit_trail WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM audit_trail WHERE at <= foreman_now() - $2::interval ORDER BY at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

#[async_trait]
impl AuditLog for PostgresStore {
    async fn record(&self, id: EntryId, act: &Act) -> Result<(), StoreError> {
        let (text, tenant) = (json(act)?, act.tenant.as_str());
        transact!(self, data, Write, |tx| tx.rows(KEEP, &[&id.0, &tenant, &text]).await.map(|_| ()))
    }

    async fn record_as(&self, leader: &Leader, id: EntryId, act: &Act) -> Result<Option<()>, StoreError> {
        let (text, tenant) = (json(act)?, act.tenant.as_str());
        transact!(self, data, Write, |tx| match leads(&tx, Some(leader)).await {
            Ok(true) => tx.rows(KEEP, &[&id.0, &tenant, &text]).await.map(|_| Some(())),
            Ok(false) => Ok(None),
            Err(fault) => Err(fault),
        })
    }

    async fn audit_log(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        look!(self, Look, |tx| list(&tx, tenant, before, limit).await)
    }
}

async fn list(
    tx: &Transaction,
    tenant: Option<&TenantId>,
    before: Option<EntryId>,
    limit: usize,
) -> Result<Vec<AuditEntry>, Fault> {
    // No entry has the last of all ids.
    let (before, limit) = (before.map_or(Uuid::max(), |before| before.0), bound(limit));
    let rows = match tenant {
        Some(tenant) => tx.rows(OF_ONE, &[&before, &limit, &tenant.as_str()]).await?,
        None => tx.rows(OF_ALL, &[&before, &limit]).await?,
    };
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<AuditEntry, Fault> {
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit("audit_trail", "id", "unknown", error))?;
    let cells = Cells { row, table: "audit_trail", id: EntryId(id) };
    Ok(AuditEntry { id: cells.id, at: cells.time(1, "at")?, act: cells.json(2, "act")? })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CUT_AUDIT_LOG, KEEP, OF_ALL, OF_ONE];
