//! Tenants and keys in the reference store, with a count of the questions, a switch for faults and a gate before changes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use foreman_core::audit::{Act, Entry};
use foreman_core::key::{KeyHash, KeyId, KeyRecord};
use foreman_core::ports::{
    AtTheDoor, AuditTrail, CreateKeyAnswer, CreateTenantAnswer, CreateWebhookAnswer, DeleteTenantAnswer, Delivery,
    DeliveryNote, Endpoints, KeyStore, Leader, NewDelivery, NewKey, NewPass, NewTenant, NewWebhook, Pass, PassStore,
    Position, Posted, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer, Round, StoreError, TenantPage, TenantStore,
    TenantUpdate, UpdateTenantAnswer, UpdateWebhookAnswer, WebhookStore, WebhookUpdate,
};
use foreman_core::tenant::Tenant;
use foreman_core::webhook::Webhook;
use foreman_core::{EntryId, JobId, TenantId, Timestamp, WebhookId, memory};
use tokio::sync::Semaphore;

type Answer<T> = Result<T, StoreError>;

pub struct Registry {
    pub inner: memory::Store,
    pub looked_up: AtomicUsize,
    pub noted: AtomicUsize,
    passes: AtomicUsize,
    /// Changes of tenants that have begun.
    pub changes: AtomicUsize,
    /// Closed: a change of a tenant waits before it is made.
    pub gate: Semaphore,
    fault: Mutex<Option<StoreError>>,
    trail_fault: Mutex<Option<StoreError>>,
}

impl Registry {
    pub fn new(inner: memory::Store) -> Self {
        Self {
            inner,
            looked_up: AtomicUsize::new(0),
            noted: AtomicUsize::new(0),
            passes: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
            gate: Semaphore::new(1_000),
            fault: Mutex::default(),
            trail_fault: Mutex::default(),
        }
    }

    pub fn set(&self, fault: Option<StoreError>) {
        *self.fault.lock().unwrap() = fault;
    }

    pub fn set_trail(&self, fault: Option<StoreError>) {
        *self.trail_fault.lock().unwrap() = fault;
    }

    pub fn looked_up(&self) -> usize {
        self.looked_up.load(Ordering::SeqCst)
    }

    /// How often somebody asked whose a session is.
    pub fn passes_asked(&self) -> usize {
        self.passes.load(Ordering::SeqCst)
    }

    fn check(&self) -> Answer<()> {
        self.fault.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl TenantStore for Registry {
    async fn create_tenant(&self, new: &NewTenant) -> Answer<CreateTenantAnswer> {
        self.check()?;
        self.inner.create_tenant(new).await
    }
    async fn tenant(&self, id: &TenantId) -> Answer<Option<Tenant>> {
        self.check()?;
        self.inner.tenant(id).await
    }
    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Answer<TenantPage> {
        self.check()?;
        self.inner.tenants(after, limit).await
    }
    async fn update_tenant(&self, update: &TenantUpdate) -> Answer<UpdateTenantAnswer> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let _open = self.gate.acquire().await.unwrap();
        self.check()?;
        self.inner.update_tenant(update).await
    }
    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Answer<DeleteTenantAnswer> {
        self.check()?;
        self.inner.delete_tenant(id, version).await
    }
}

#[async_trait]
impl KeyStore for Registry {
    async fn create_key(&self, new: &NewKey) -> Answer<CreateKeyAnswer> {
        self.check()?;
        self.inner.create_key(new).await
    }
    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Answer<Option<KeyRecord>> {
        self.check()?;
        self.inner.key(tenant, id).await
    }
    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Answer<Vec<KeyRecord>> {
        self.check()?;
        self.inner.keys(tenant, after, limit).await
    }
    async fn look_up_key(&self, id: &KeyId) -> Answer<Option<AtTheDoor>> {
        self.looked_up.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        self.inner.look_up_key(id).await
    }
    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Answer<RevokeKeyAnswer> {
        self.check()?;
        self.inner.revoke_key(tenant, id).await
    }
    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Answer<ReplaceKeyAnswer> {
        self.check()?;
        self.inner.replace_key(tenant, replacement).await
    }
    async fn note_keys_used(&self, ids: &[KeyId]) -> Answer<()> {
        self.noted.fetch_add(ids.len(), Ordering::SeqCst);
        self.check()?;
        self.inner.note_keys_used(ids).await
    }
}

#[async_trait]
impl PassStore for Registry {
    async fn issue_pass(&self, pass: &NewPass) -> Answer<Timestamp> {
        self.check()?;
        self.inner.issue_pass(pass).await
    }
    async fn pass(&self, hash: &KeyHash) -> Answer<Option<Pass>> {
        self.passes.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        self.inner.pass(hash).await
    }
    async fn spend_ticket(&self, hash: &KeyHash) -> Answer<Option<Pass>> {
        self.check()?;
        self.inner.spend_ticket(hash).await
    }
    async fn revoke_pass(&self, hash: &KeyHash) -> Answer<bool> {
        self.check()?;
        self.inner.revoke_pass(hash).await
    }
}

#[async_trait]
impl AuditTrail for Registry {
    async fn record(&self, id: EntryId, act: &Act) -> Answer<()> {
        self.check()?;
        if let Some(error) = self.trail_fault.lock().unwrap().clone() {
            return Err(error);
        }
        self.inner.record(id, act).await
    }
    async fn trail(&self, tenant: Option<&TenantId>, before: Option<EntryId>, limit: usize) -> Answer<Vec<Entry>> {
        self.check()?;
        self.inner.trail(tenant, before, limit).await
    }
}

#[async_trait]
impl WebhookStore for Registry {
    async fn create_webhook(&self, new: &NewWebhook) -> Answer<CreateWebhookAnswer> {
        self.check()?;
        self.inner.create_webhook(new).await
    }
    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Answer<Option<Webhook>> {
        self.check()?;
        self.inner.webhook(tenant, id).await
    }
    async fn webhooks(&self, tenant: &TenantId, after: Option<WebhookId>, limit: usize) -> Answer<Vec<Webhook>> {
        self.check()?;
        self.inner.webhooks(tenant, after, limit).await
    }
    async fn webhooks_of(&self, tenants: &[TenantId]) -> Answer<Endpoints> {
        self.check()?;
        self.inner.webhooks_of(tenants).await
    }
    async fn update_webhook(&self, update: &WebhookUpdate) -> Answer<UpdateWebhookAnswer> {
        self.check()?;
        self.inner.update_webhook(update).await
    }
    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Answer<bool> {
        self.check()?;
        self.inner.delete_webhook(tenant, id).await
    }
    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Answer<Vec<Webhook>> {
        self.check()?;
        self.inner.note_deliveries(notes).await
    }
    async fn courier(&self) -> Answer<Position> {
        self.check()?;
        self.inner.courier().await
    }
    async fn dismiss_courier(&self) -> Answer<()> {
        self.check()?;
        self.inner.dismiss_courier().await
    }
    async fn post(&self, leader: Option<&Leader>, round: &Round) -> Answer<Option<Posted>> {
        self.check()?;
        self.inner.post(leader, round).await
    }
    async fn post_one(&self, delivery: &NewDelivery) -> Answer<()> {
        self.check()?;
        self.inner.post_one(delivery).await
    }
    async fn with_callback(&self, jobs: &[JobId]) -> Answer<Vec<JobId>> {
        self.check()?;
        self.inner.with_callback(jobs).await
    }
    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Answer<Vec<Delivery>> {
        self.check()?;
        self.inner.deliveries(tenant, webhook, before, limit).await
    }
    async fn delivery(&self, tenant: &TenantId, webhook: WebhookId, job: JobId) -> Answer<Option<Delivery>> {
        self.check()?;
        self.inner.delivery(tenant, webhook, job).await
    }
}
