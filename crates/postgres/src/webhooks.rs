//! Webhooks as they are kept, and what is listed of their deliveries.
//!
//! Endpoints are changed like tenants: by the version that was seen, compared under the row's lock, with the id of the edit left
//! there. Their health is written beside that by the courier (`health.rs`), and deliveries are made in the transaction that moves
//! the courier (`post.rs`). A process that dies half way leaves all as it was.
//!
//! An endpoint that cannot be read, because a later version has written it, fails whatever asks for it, and is named. The courier is
//! told its id: it makes deliveries for it that a worker of the later version sends.

pub(crate) mod deliveries;
pub(crate) mod health;
pub(crate) mod post;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateWebhookAnswer, Delivery, DeliveryNote, Endpoints, Leader, NewDelivery, NewWebhook, StoreError,
    UpdateWebhookAnswer, WebhookStore, WebhookUpdate,
};
use foreman_core::webhook::Webhook;
use foreman_core::{JobId, TenantId, WebhookId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::{Cells, json};
use crate::value::bound;
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "webhooks.id, webhooks.tenant, webhooks.settings, webhooks.signing, webhooks.failing_since, webhooks.version,
       webhooks.created_at, webhooks.edited_at, webhooks.edited_by"
    };
}
pub(crate) use columns;

/// Those who make endpoints of one tenant wait for each other, so that none makes one too many.
pub(crate) const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock(hashtext('webhooks'), hashtext($1::text))";
/// After [`ONE_BY_ONE`]: of what those before have made nothing is overlooked.
pub(crate) const CREATE: &str =
    "INSERT INTO webhooks (id, tenant, settings, enabled, signing, version, created_at, edited_at)
    SELECT $1::uuid, $2::text, $3::text, $4::boolean, $5::text, 1, foreman_now(), foreman_now()
    WHERE (SELECT count(*) FROM webhooks AS own WHERE own.tenant = $2) < $6::bigint
    ON CONFLICT (id) DO NOTHING";
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
/// Whoever waits here for somebody else's change compares with what that one has left. One that is enabled begins its health
/// anew.
pub(crate) const UPDATE: &str = "UPDATE webhooks
    SET settings = $4::text, enabled = $5::boolean, signing = $6::text,
        failing_since = CASE WHEN $5 AND NOT enabled THEN NULL ELSE failing_since END,
        well_at = CASE WHEN $5 AND NOT enabled THEN foreman_now() ELSE well_at END,
        version = version + 1, edited_at = foreman_now(), edited_by = $7::uuid
    WHERE tenant = $1::text AND id = $2::uuid AND version = $3::bigint AND edited_by IS DISTINCT FROM $7";
pub(crate) const DELETE: &str = "DELETE FROM webhooks WHERE tenant = $1::text AND id = $2::uuid RETURNING 1";
/// By the tag that stands in no document.
pub(crate) const WITH_CALLBACK: &str = "SELECT job FROM job_tags WHERE job = ANY ($1::uuid[]) AND tag = $2::text";

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        let (settings, signing) = (json(&new.settings)?, json(&new.signing)?);
        transact!(self, data, Write, |tx| create(&tx, new, &settings, &signing).await)
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        look!(self, Look, |tx| one(&tx, tenant, id).await)
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        look!(self, Look, |tx| list(&tx, tenant, after, limit).await)
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        look!(self, Look, |tx| enabled(&tx, tenants).await)
    }

    async fn update_webhook(&self, asked: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        let (settings, signing) = (json(&asked.settings)?, json(&asked.signing)?);
        transact!(self, data, Write, |tx| update(&tx, asked, &settings, &signing).await)
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        let unlisted = transact!(self, data, Write, |tx| delete(&tx, tenant, id).await)?;
        deliveries::unlist_rest(self, tenant, Some(id), unlisted.unwrap_or_default()).await;
        Ok(unlisted.is_some())
    }

    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
        health::note(self, None, notes).await.map(Option::unwrap_or_default)
    }

    async fn note_deliveries_as(
        &self,
        leader: &Leader,
        notes: &[DeliveryNote],
    ) -> Result<Option<Vec<Webhook>>, StoreError> {
        health::note(self, Some(leader), notes).await
    }

    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError> {
        post::post_one(self, delivery).await
    }

    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        look!(self, Look, |tx| with_callback(&tx, jobs).await)
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        look!(self, Look, |tx| deliveries::list(&tx, tenant, webhook, before, limit).await)
    }

    async fn delivery(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        job: JobId,
    ) -> Result<Option<Delivery>, StoreError> {
        look!(self, Look, |tx| deliveries::one(&tx, tenant, webhook, job).await)
    }
}

/// From the columns of [`columns`], the first of a row.
pub(crate) fn read(row: &Row) -> Result<Webhook, Fault> {
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
const EDITED_BY: usize = 8;

async fn create(
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

async fn one(tx: &Transaction, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, Fault> {
    tx.row(BY_ID, &[&tenant.as_str(), &id.0]).await?.as_ref().map(read).transpose()
}

async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    after: Option<WebhookId>,
    limit: usize,
) -> Result<Vec<Webhook>, Fault> {
    // No endpoint has the first of all ids.
    let after = after.map_or(Uuid::nil(), |after| after.0);
    tx.rows(LIST, &[&tenant.as_str(), &after, &bound(limit)]).await?.iter().map(read).collect()
}

async fn enabled(tx: &Transaction, tenants: &[TenantId]) -> Result<Endpoints, Fault> {
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

async fn update(
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
async fn delete(tx: &Transaction, tenant: &TenantId, id: WebhookId) -> Result<Option<usize>, Fault> {
    if tx.row(DELETE, &[&tenant.as_str(), &id.0]).await?.is_none() {
        return Ok(None);
    }
    deliveries::unlist(tx, tenant, Some(id)).await.map(Some)
}

async fn with_callback(tx: &Transaction, jobs: &[JobId]) -> Result<Vec<JobId>, Fault> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    let rows = tx.rows(WITH_CALLBACK, &[&ids, &foreman_core::webhook::CALLBACK_TAG]).await?;
    let asked: std::collections::HashSet<JobId> =
        rows.iter().map(|row| Ok(JobId(row.try_get(0)?))).collect::<Result<_, Fault>>()?;
    Ok(jobs.iter().copied().filter(|job| asked.contains(job)).collect())
}

/// For the test that prepares every statement: those of this file and of each file below it.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    &[BY_ID, CREATE, DELETE, ENABLED, LIST, ONE_BY_ONE, UPDATE, WITH_CALLBACK],
    deliveries::STATEMENTS,
    health::STATEMENTS,
    post::STATEMENTS,
];
