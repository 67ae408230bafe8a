//! Making, changing and deleting an endpoint.
//!
//! All three can be sent again: a creation is known by the endpoint's id, a change by its own, and what is deleted is gone.

use foreman_core::ports::{CreateWebhookAnswer, NewWebhook, StoreError, UpdateWebhookAnswer, WebhookUpdate};
use foreman_core::signing::SigningKeys;
use foreman_core::webhook::{Webhook, WebhookSettings};
use foreman_core::{TenantId, WebhookId};
use rusqlite::params;

use super::row;
use crate::error::Fault;
use crate::write::Write;

/// An endpoint about to be made, as its row wants it.
pub(super) struct WebhookCreation {
    new: NewWebhook,
    settings: String,
    signing: String,
}

impl WebhookCreation {
    pub fn prepare(new: &NewWebhook) -> Result<Self, StoreError> {
        let (settings, signing) = (settings_text(new.id, &new.settings)?, signing_text(new.id, &new.signing)?);
        Ok(Self { new: new.clone(), settings, signing })
    }

    pub fn create(&self, write: &Write<'_>) -> Result<CreateWebhookAnswer, Fault> {
        let new = &self.new;
        if let Some(webhook) = row::find(write.sql, &new.tenant, new.id)? {
            return Ok(CreateWebhookAnswer::Created(webhook));
        }
        if count(write, &new.tenant)? >= new.at_most {
            return Ok(CreateWebhookAnswer::TooMany);
        }
        write
            .prepared(
                "INSERT INTO webhooks (tenant, id, version, created_at, edited_at, settings, signing)
                 VALUES (?1, ?2, 1, ?3, ?3, ?4, ?5)",
            )?
            .execute(params![new.tenant.as_str(), new.id.0, write.now.as_micros(), self.settings, self.signing,])?;
        look(write, &new.tenant, new.id).map(CreateWebhookAnswer::Created)
    }
}

fn count(write: &Write<'_>, tenant: &TenantId) -> Result<u64, Fault> {
    let mut statement = write.prepared("SELECT count(*) FROM webhooks WHERE tenant = ?1")?;
    let count: i64 = statement.query_row([tenant.as_str()], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// A change, as the row wants it.
pub(super) struct WebhookChange {
    update: WebhookUpdate,
    settings: String,
    signing: String,
}

impl WebhookChange {
    pub fn prepare(update: &WebhookUpdate) -> Result<Self, StoreError> {
        let id = update.webhook;
        let (settings, signing) = (settings_text(id, &update.settings)?, signing_text(id, &update.signing)?);
        Ok(Self { update: update.clone(), settings, signing })
    }

    pub fn change(&self, write: &Write<'_>) -> Result<UpdateWebhookAnswer, Fault> {
        let WebhookUpdate { tenant, webhook: id, .. } = &self.update;
        let Some(stored) = row::find_stored(write.sql, tenant, *id)? else { return Ok(UpdateWebhookAnswer::Gone) };
        if stored.edited_by == Some(self.update.edit) {
            return Ok(UpdateWebhookAnswer::Updated(stored.webhook));
        }
        let webhook = stored.webhook;
        if webhook.version != self.update.version {
            return Ok(UpdateWebhookAnswer::Stale);
        }
        // One that is enabled again is well: its health begins anew.
        let is_fresh = !webhook.settings.is_enabled() && self.update.settings.is_enabled();
        write
            .prepared(
                "UPDATE webhooks SET version = version + 1, edited_at = ?3, edited_by = ?4, settings = ?5, signing = ?6,
                        failing_since = CASE WHEN ?7 THEN NULL ELSE failing_since END,
                        well_at = CASE WHEN ?7 THEN ?3 ELSE well_at END
                 WHERE tenant = ?1 AND id = ?2",
            )?
            .execute(params![
                tenant.as_str(),
                id.0,
                write.now.as_micros(),
                self.update.edit.0,
                self.settings,
                self.signing,
                is_fresh,
            ])?;
        look(write, tenant, *id).map(UpdateWebhookAnswer::Updated)
    }
}

/// The endpoint with what is listed of its deliveries. Their jobs stay.
pub(super) fn delete(write: &Write<'_>, tenant: &TenantId, id: WebhookId) -> Result<bool, Fault> {
    let deleted =
        write.prepared("DELETE FROM webhooks WHERE tenant = ?1 AND id = ?2")?.execute((tenant.as_str(), id.0))?;
    write.prepared("DELETE FROM deliveries WHERE tenant = ?1 AND webhook = ?2")?.execute((tenant.as_str(), id.0))?;
    Ok(deleted == 1)
}

/// One that was found or made in this transaction.
fn look(write: &Write<'_>, tenant: &TenantId, id: WebhookId) -> Result<Webhook, Fault> {
    row::find(write.sql, tenant, id)?
        .ok_or_else(|| Fault::misfit("webhooks", "id", id, "gone between two looks of one transaction"))
}

pub(super) fn settings_text(id: WebhookId, settings: &WebhookSettings) -> Result<String, StoreError> {
    serde_json::to_string(settings).map_err(|error| broken(id, &error))
}

fn signing_text(id: WebhookId, signing: &SigningKeys) -> Result<String, StoreError> {
    serde_json::to_string(signing).map_err(|error| broken(id, &error))
}

fn broken(id: WebhookId, error: &serde_json::Error) -> StoreError {
    StoreError::Broken(format!("webhook {id} cannot be written down: {error}"))
}
