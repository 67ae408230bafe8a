//! Webhooks, their health, and the list of their deliveries.
//!
//! Everything that changes something is one operation of the one writer. Deliveries are made in the one that moves the courier.
//!
//! An endpoint that this version cannot read harms no other: it is left out of lists, the courier is told its id alone, and
//! the log says so once. Asked for by id it is called damaged; a delete does not read it, so one can be rid of it.

mod deliveries;
mod edit;
mod health;
pub(crate) mod post;
mod row;

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateWebhookAnswer, Delivery, DeliveryNote, Endpoints, NewDelivery, NewWebhook, StoreError, UpdateWebhookAnswer,
    WebhookStore, WebhookUpdate,
};
use foreman_core::webhook::Webhook;
use foreman_core::{JobId, TenantId, WebhookId};

use crate::SqliteStore;

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        let new = edit::WebhookCreation::prepare(new)?;
        self.write(move |write| new.create(write)).await
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| row::find(read.sql, &tenant, id)).await
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        let (tenant, unreadable) = (tenant.clone(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| row::list(read.sql, &tenant, after, limit, &unreadable)).await
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        if tenants.is_empty() {
            return Ok(Endpoints::default());
        }
        let (tenants, unreadable) = (tenants.to_vec(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| row::enabled_of(read.sql, &tenants, &unreadable)).await
    }

    async fn update_webhook(&self, update: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        let update = edit::WebhookChange::prepare(update)?;
        self.write(move |write| update.change(write)).await
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        let tenant = tenant.clone();
        self.write(move |write| edit::delete(write, &tenant, id)).await
    }

    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
        if notes.is_empty() {
            return Ok(Vec::new());
        }
        let (notes, unreadable) = (notes.to_vec(), Arc::clone(&self.parts.unreadable));
        self.write(move |write| health::note(write, &notes, &unreadable)).await
    }

    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError> {
        let delivery = post::prepare(std::slice::from_ref(delivery))?;
        self.write(move |write| post::deliver(write, &delivery)).await
    }

    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = jobs.to_vec();
        self.read(move |read| post::with_callback(read.sql, &jobs)).await
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (tenant, unreadable) = (tenant.clone(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| deliveries::list(read.sql, &tenant, webhook, before, limit, &unreadable)).await
    }

    async fn delivery(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        job: JobId,
    ) -> Result<Option<Delivery>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| deliveries::find(read.sql, &tenant, webhook, job)).await
    }
}
