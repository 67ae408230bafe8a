//! Webhooks as they are kept, and what is listed of their deliveries.
//!
//! Endpoints are changed like tenants (`edit.rs`). Their health is written beside that by the courier (`health.rs`), and deliveries are made in the transaction that moves
//! the courier (`post.rs`). A process that dies half way leaves all as it was.
//!
//! An endpoint that cannot be read, because a later version has written it, fails whatever asks for it, and is named. The courier is
//! told its id: it makes deliveries for it that a worker of the later version sends.

pub(crate) mod deliveries;
pub(crate) mod edit;
pub(crate) mod health;
pub(crate) mod post;
pub(crate) mod row;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateWebhookAnswer, Delivery, DeliveryNote, Endpoints, Leader, NewDelivery, NewWebhook, StoreError,
    UpdateWebhookAnswer, WebhookStore, WebhookUpdate,
};
use foreman_core::webhook::Webhook;
use foreman_core::{JobId, TenantId, WebhookId};

use crate::rows::json;
use crate::{PostgresStore, look, transact};

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        let (settings, signing) = (json(&new.settings)?, json(&new.signing)?);
        transact!(self, data, Write, |tx| edit::create(&tx, new, &settings, &signing).await)
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        look!(self, Look, |tx| row::one(&tx, tenant, id).await)
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        look!(self, Look, |tx| row::list(&tx, tenant, after, limit).await)
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        look!(self, Look, |tx| row::enabled(&tx, tenants).await)
    }

    async fn update_webhook(&self, asked: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        let (settings, signing) = (json(&asked.settings)?, json(&asked.signing)?);
        transact!(self, data, Write, |tx| edit::update(&tx, asked, &settings, &signing).await)
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        let unlisted = transact!(self, data, Write, |tx| edit::delete(&tx, tenant, id).await)?;
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
        look!(self, Look, |tx| post::with_callback(&tx, jobs).await)
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

/// For the test that prepares every statement: those of each file below this one.
pub(crate) const STATEMENTS: &[&[&str]] =
    &[deliveries::STATEMENTS, edit::STATEMENTS, health::STATEMENTS, post::STATEMENTS, row::STATEMENTS];
