//! Who is served, whom they want told, and who did what: the same script.

use async_trait::async_trait;
use foreman_core::audit::{Act as Done, Entry};
use foreman_core::key::{KeyHash, KeyId, KeyRecord};
use foreman_core::ports::{
    AtTheDoor, AuditTrail, CreateKeyAnswer, CreateTenantAnswer, CreateWebhookAnswer, DeleteTenantAnswer, Delivery,
    DeliveryNote, Endpoints, KeyStore, Leader, NewDelivery, NewKey, NewPass, NewTenant, NewWebhook, Pass, PassStore,
    Position, Posted, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer, Round, StoreError, TenantPage, TenantStore,
    TenantUpdate, UpdateTenantAnswer, UpdateWebhookAnswer, WebhookStore, WebhookUpdate,
};
use foreman_core::tenant::Tenant;
use foreman_core::webhook::Webhook;
use foreman_core::{EntryId, JobId, TenantId, Timestamp, WebhookId};

use super::{Scripted, Verb};

#[async_trait]
impl TenantStore for Scripted {
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError> {
        self.inner.create_tenant(new).await
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        if self.script.lock().unwrap().later_tenants.contains(id) {
            return Err(StoreError::Damaged("scripted".into()));
        }
        self.play(Verb::Tenant, self.inner.tenant(id)).await
    }

    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError> {
        let call = async {
            let mut page = self.inner.tenants(after, limit).await?;
            let later = self.script.lock().unwrap().later_tenants.clone();
            let is_later = |tenant: &mut Tenant| later.contains(&tenant.id);
            page.unreadable = page.readable.extract_if(.., is_later).map(|tenant| tenant.id).collect();
            Ok(page)
        };
        self.play(Verb::Tenants, call).await
    }

    async fn update_tenant(&self, update: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError> {
        self.inner.update_tenant(update).await
    }

    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError> {
        self.inner.delete_tenant(id, version).await
    }
}

#[async_trait]
impl KeyStore for Scripted {
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError> {
        self.inner.create_key(new).await
    }

    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        self.inner.key(tenant, id).await
    }

    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        self.inner.keys(tenant, after, limit).await
    }

    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError> {
        self.inner.look_up_key(id).await
    }

    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError> {
        self.inner.revoke_key(tenant, id).await
    }

    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, StoreError> {
        self.inner.replace_key(tenant, replacement).await
    }

    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError> {
        self.inner.note_keys_used(ids).await
    }
}

#[async_trait]
impl PassStore for Scripted {
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError> {
        self.inner.issue_pass(pass).await
    }

    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        self.inner.pass(hash).await
    }

    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        self.inner.spend_ticket(hash).await
    }

    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        self.inner.revoke_pass(hash).await
    }
}

#[async_trait]
impl WebhookStore for Scripted {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        self.inner.create_webhook(new).await
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        self.inner.webhook(tenant, id).await
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        self.inner.webhooks(tenant, after, limit).await
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        let call = async {
            let is_spoilt = |tenant: &TenantId| self.script.lock().unwrap().spoilt_tenants.contains(tenant);
            let mut found = self.inner.webhooks_of(tenants).await?;
            let is_readable =
                |webhook: &Webhook| !is_spoilt(&webhook.tenant) || webhook.settings.description == "readable";
            let (readable, unreadable): (Vec<_>, Vec<_>) = found.readable.into_iter().partition(is_readable);
            found.readable = readable;
            found.unreadable = unreadable.into_iter().map(|webhook| (webhook.tenant, webhook.id)).collect();
            Ok(found)
        };
        self.play(Verb::WebhooksOf, call).await
    }

    async fn update_webhook(&self, update: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        self.inner.update_webhook(update).await
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        self.inner.delete_webhook(tenant, id).await
    }

    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
        self.play(Verb::NoteDeliveries, self.inner.note_deliveries(notes)).await
    }

    async fn courier(&self) -> Result<Position, StoreError> {
        self.play(Verb::Courier, self.inner.courier()).await
    }

    async fn dismiss_courier(&self) -> Result<(), StoreError> {
        self.inner.dismiss_courier().await
    }

    /// With terms, as a store that many share has them.
    async fn post(&self, leader: Option<&Leader>, round: &Round) -> Result<Option<Posted>, StoreError> {
        let call = async {
            if leader.is_some_and(|leader| leader.term < self.script.lock().unwrap().term) {
                return Ok(None);
            }
            self.inner.post(leader, round).await
        };
        self.play(Verb::Post, call).await
    }

    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError> {
        self.inner.post_one(delivery).await
    }

    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        self.inner.with_callback(jobs).await
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.inner.deliveries(tenant, webhook, before, limit).await
    }

    async fn delivery(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        job: JobId,
    ) -> Result<Option<Delivery>, StoreError> {
        self.inner.delivery(tenant, webhook, job).await
    }
}

#[async_trait]
impl AuditTrail for Scripted {
    async fn record(&self, id: EntryId, act: &Done) -> Result<(), StoreError> {
        self.play(Verb::Record, self.inner.record(id, act)).await
    }

    async fn trail(
        &self,
        tenant: Option<&TenantId>,
        before: Option<EntryId>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.inner.trail(tenant, before, limit).await
    }
}
