//! Making, changing and deleting an endpoint.
//!
//! A change holds only while the endpoint is at the version that was seen, which is compared under the row's lock. All three can be
//! sent again: a creation is known by the endpoint's id, a change by its own, which it leaves in the row, and what is deleted
//! is gone.

use foreman_core::ports::{CreateWebhookAnswer, NewWebhook, UpdateWebhookAnswer, WebhookUpdate};
use foreman_core::{TenantId, WebhookId};
use uuid::Uuid;

use super::deliveries;
use super::row::{BY_ID, EDITED_BY, read};
use crate::error::Fault;
use crate::write::Transaction;

/// Those who make endpoints of one tenant wait for each other, so that none makes one too many.
pub(crate) const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock(hashtext('webhooks'), hashtext($1::text))";
/// After [`ONE_BY_ONE`]: of what those before have made nothing is overlooked.
pub(crate) const CREATE: &str =
    "INSERT INTO webhooks (id, tenant, settings, enabled, signing, version, created_at, edited_at)
    SELECT $1::uuid, $2::text, $3::text, $4::boolean, $5::text, 1, foreman_now(), foreman_now()
    WHERE (SELECT count(*) FROM webhooks AS own WHERE own.tenant = $2) < $6::bigint
    ON CONFLICT (id) DO NOTHING";
/// Whoever waits here for somebody else's change compares with what that one has left. One that is enabled begins its health
/// anew.
pub(crate) const UPDATE: &str = "UPDATE webhooks
    SET settings = $4::text, enabled = $5::boolean, signing = $6::text,
        failing_since = CASE WHEN $5 AND NOT enabled THEN NULL ELSE failing_since END,
        well_at = CASE WHEN $5 AND NOT enabled THEN foreman_now() ELSE well_at END,
        version = version + 1, edited_at = foreman_now(), edited_by = $7::uuid
    WHERE tenant = $1::text AND id = $2::uuid AND version = $3::bigint AND edited_by IS DISTINCT FROM $7";
pub(crate) const DELETE: &str = "DELETE FROM webhooks WHERE tenant = $1::text AND id = $2::uuid RETURNING 1";

pub(super) async fn create(
    tx: &Transaction,
    new: &NewWebhook,
    settings: &str,
    signing: &str,
) -> Result<CreateWebhookAnswer, Fault> {
    let (id, tenant, is_enabled) = (new.id.0, new.tenant.as_str(), new.settings.is_enabled());
    let most = i64::try_from(new.at_most).unwrap_or(i64::MAX);
    let answers = tx
        .all(&[
            (ONE_BY_ONE, &[&tenant]),
            (CREATE, &[&id, &tenant, &settings, &is_enabled, &signing, &most]),
            (BY_ID, &[&tenant, &id]),
        ])
        .await?;
    let made = answers[2].first().map(read).transpose()?;
    Ok(made.map_or(CreateWebhookAnswer::TooMany, CreateWebhookAnswer::Created))
}

pub(super) async fn update(
    tx: &Transaction,
    update: &WebhookUpdate,
    settings: &str,
    signing: &str,
) -> Result<UpdateWebhookAnswer, Fault> {
    let (tenant, id, edit) = (update.tenant.as_str(), update.webhook.0, update.edit.0);
    let is_enabled = update.settings.is_enabled();
    let answers = tx
        .all(&[
            (UPDATE, &[&tenant, &id, &update.version, &settings, &is_enabled, &signing, &edit]),
            (BY_ID, &[&tenant, &id]),
        ])
        .await?;
    let Some(row) = answers[1].first() else { return Ok(UpdateWebhookAnswer::Gone) };
    let last_edit: Option<Uuid> = row.try_get(EDITED_BY)?;
    if last_edit == Some(edit) { read(row).map(UpdateWebhookAnswer::Updated) } else { Ok(UpdateWebhookAnswer::Stale) }
}

/// How many of its deliveries went with it; none when there is no such endpoint.
pub(super) async fn delete(tx: &Transaction, tenant: &TenantId, id: WebhookId) -> Result<Option<usize>, Fault> {
    if tx.row(DELETE, &[&tenant.as_str(), &id.0]).await?.is_none() {
        return Ok(None);
    }
    deliveries::unlist(tx, tenant, Some(id)).await.map(Some)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CREATE, DELETE, ONE_BY_ONE, UPDATE];
