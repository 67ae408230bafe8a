//! A row of `webhooks`, and the questions that find one.

use foreman_core::ports::Endpoints;
use foreman_core::webhook::Webhook;
use foreman_core::{EditId, TenantId, Timestamp, WebhookId};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::unreadable::Unreadable;

/// The columns of a [`StoredWebhook`], in its order of reading.
macro_rules! webhook_columns {
    () => {
        "id, tenant, version, failing_since, created_at, edited_at, settings, signing, edited_by, well_at"
    };
}

/// An endpoint, and what is known of it beside.
pub(super) struct StoredWebhook {
    pub webhook: Webhook,
    pub edited_by: Option<EditId>,
    /// When it was last known to be well.
    pub well_at: Option<Timestamp>,
}

fn stored(row: &Row<'_>) -> Result<StoredWebhook, Fault> {
    let webhook = webhook(row)?;
    let cells = Cells { row, table: "webhooks", id: webhook.id };
    Ok(StoredWebhook { edited_by: cells.edit(8, "edited_by")?, well_at: cells.maybe_time(9, "well_at")?, webhook })
}

fn webhook(row: &Row<'_>) -> Result<Webhook, Fault> {
    let cells = Cells { row, table: "webhooks", id: WebhookId(row.get(0)?) };
    Ok(Webhook {
        id: cells.id,
        tenant: cells.tenant(1)?,
        version: cells.get(2, "version")?,
        failing_since: cells.maybe_time(3, "failing_since")?,
        created_at: cells.time(4, "created_at")?,
        edited_at: cells.time(5, "edited_at")?,
        settings: cells.json(6, "settings")?,
        signing: cells.json(7, "signing")?,
    })
}

fn called(row: &Row<'_>) -> (String, i64) {
    (format!("webhook {}", row.get::<_, Uuid>(0).unwrap_or_default()), row.get(2).unwrap_or_default())
}

pub(super) fn find(sql: &Connection, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, Fault> {
    Ok(find_stored(sql, tenant, id)?.map(|stored| stored.webhook))
}

pub(super) fn find_stored(sql: &Connection, tenant: &TenantId, id: WebhookId) -> Result<Option<StoredWebhook>, Fault> {
    let mut statement = sql.prepare_cached(BY_ID)?;
    let mut rows = statement.query((tenant.as_str(), id.0))?;
    rows.next()?.map(stored).transpose()
}

/// The same for who goes on without it when it cannot be read.
pub(super) fn find_readable(
    sql: &Connection,
    tenant: &TenantId,
    id: WebhookId,
    unreadable: &Unreadable,
) -> Result<Option<StoredWebhook>, Fault> {
    let mut statement = sql.prepare_cached(BY_ID)?;
    let mut rows = statement.query((tenant.as_str(), id.0))?;
    match rows.next()? {
        Some(row) => unreadable.left_out(|| called(row), stored(row)),
        None => Ok(None),
    }
}

const BY_ID: &str = concat!("SELECT ", webhook_columns!(), " FROM webhooks WHERE tenant = ?1 AND id = ?2");

/// Reads on until the page is full: what is left out does not shorten it, for a short page would look like the last.
pub(super) fn list(
    sql: &Connection,
    tenant: &TenantId,
    after: Option<WebhookId>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<Webhook>, Fault> {
    let mut statement = sql.prepare_cached(concat!(
        "SELECT ",
        webhook_columns!(),
        " FROM webhooks WHERE tenant = ?1 AND id > ?2 ORDER BY id"
    ))?;
    // Every id comes after the first one, which is none.
    let mut rows = statement.query((tenant.as_str(), after.map_or(Uuid::nil(), |after| after.0)))?;
    let mut webhooks = Vec::new();
    while webhooks.len() < limit {
        let Some(row) = rows.next()? else { break };
        webhooks.extend(unreadable.left_out(|| called(row), webhook(row))?);
    }
    Ok(webhooks)
}

pub(super) fn enabled_of(sql: &Connection, tenants: &[TenantId], unreadable: &Unreadable) -> Result<Endpoints, Fault> {
    let mut found = Endpoints::default();
    let mut statement =
        sql.prepare_cached(concat!("SELECT ", webhook_columns!(), " FROM webhooks WHERE tenant = ?1 ORDER BY id"))?;
    for tenant in tenants {
        let mut rows = statement.query([tenant.as_str()])?;
        while let Some(row) = rows.next()? {
            match unreadable.left_out(|| called(row), webhook(row))? {
                Some(webhook) if webhook.settings.is_enabled() => found.readable.push(webhook),
                Some(_) => {}
                // Whether it is enabled cannot be read either.
                None => found.unreadable.push((tenant.clone(), WebhookId(row.get(0)?))),
            }
        }
    }
    Ok(found)
}
