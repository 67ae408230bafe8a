//! A row of `webhooks`, and the questions that find one.

use foreman_core::ports::{Endpoints, StoreError};
use foreman_core::webhook::Webhook;
use foreman_core::{TenantId, WebhookId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::bound;
use crate::write::Transaction;

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "webhooks.id, webhooks.tenant, webhooks.settings, webhooks.signing, webhooks.failing_since, webhooks.version,
       webhooks.created_at, webhooks.edited_at, webhooks.edited_by"
    };
}
pub(super) use columns;

pub(crate) const BY_ID: &str =
    concat!("SELECT ", columns!(), " FROM webhooks WHERE webhooks.tenant = $1::text AND webhooks.id = $2::uuid");
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM webhooks WHERE webhooks.tenant = $1::text AND webhooks.id > $2::uuid ORDER BY webhooks.id LIMIT $3::bigint"
);
pub(crate) const ENABLED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM webhooks WHERE webhooks.tenant = ANY ($1::text[]) AND webhooks.enabled ORDER BY webhooks.id"
);

/// From the columns of [`columns`], the first of a row.
pub(super) fn read(row: &Row) -> Result<Webhook, Fault> {
    let id: Uuid = row.try_get(0).map_err(|error| Fault::misfit("webhooks", "id", "unknown", error))?;
    let cells = Cells { row, table: "webhooks", id: WebhookId(id) };
    Ok(Webhook {
        id: cells.id,
        tenant: cells.tenant(1)?,
        settings: cells.json(2, "settings")?,
        signing: cells.json(3, "signing")?,
        failing_since: cells.maybe_time(4, "failing_since")?,
        version: cells.get(5, "version")?,
        created_at: cells.time(6, "created_at")?,
        edited_at: cells.time(7, "edited_at")?,
    })
}

/// Where `edited_by` stands among the columns.
pub(super) const EDITED_BY: usize = 8;

pub(super) async fn one(tx: &Transaction, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, Fault> {
    tx.row(BY_ID, &[&tenant.as_str(), &id.0]).await?.as_ref().map(read).transpose()
}

pub(super) async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    after: Option<WebhookId>,
    limit: usize,
) -> Result<Vec<Webhook>, Fault> {
    // No endpoint has the first of all ids.
    let after = after.map_or(Uuid::nil(), |after| after.0);
    tx.rows(LIST, &[&tenant.as_str(), &after, &bound(limit)]).await?.iter().map(read).collect()
}

pub(super) async fn enabled(tx: &Transaction, tenants: &[TenantId]) -> Result<Endpoints, Fault> {
    let tenants: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
    let mut found = Endpoints::default();
    for row in &tx.rows(ENABLED, &[&tenants]).await? {
        match read(row) {
            Ok(webhook) => found.readable.push(webhook),
            Err(Fault::Store(StoreError::Damaged(_))) => {
                found.unreadable.push((TenantId::new(row.try_get::<_, &str>(1)?), WebhookId(row.try_get(0)?)));
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(found)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[BY_ID, ENABLED, LIST];
