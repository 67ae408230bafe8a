//! Webhooks, and the list of deliveries.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use super::rules::Rule;
use crate::id::{EditId, JobId, TenantId, WebhookId};
use crate::ports::{
    CreateWebhookAnswer, Delivery, DeliveryNote, Endpoints, NewDelivery, NewWebhook, StoreError, UpdateWebhookAnswer,
    WebhookStore, WebhookUpdate, Went,
};
use crate::time::Timestamp;
use crate::webhook::{Disabled, PATIENCE, Webhook};

#[async_trait]
impl WebhookStore for Store {
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_webhook(new, now)))
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        Ok(self.read(|places, _| places.webhook(tenant, id)))
    }

    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.read(|places, _| places.webhooks(tenant, after, limit)))
    }

    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError> {
        Ok(Endpoints { readable: self.read(|places, _| places.webhooks_of(tenants)), unreadable: Vec::new() })
    }

    async fn update_webhook(&self, update: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError> {
        Ok(self.write(|places, now| places.update_webhook(update, now)))
    }

    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError> {
        Ok(self.write(|places, _| places.delete_webhook(tenant, id)))
    }

    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.write(|places, now| notes.iter().filter_map(|note| places.note_delivery(note, now)).collect()))
    }

    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError> {
        self.write(|places, now| places.deliver(delivery, now));
        Ok(())
    }

    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        Ok(self.read(|places, _| places.with_callback(jobs)))
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        Ok(self.read(|places, _| places.deliveries(tenant, webhook, before, limit)))
    }

    async fn delivery(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        job: JobId,
    ) -> Result<Option<Delivery>, StoreError> {
        Ok(self.read(|places, _| places.delivery(tenant, webhook, job)))
    }
}

#[derive(Default)]
pub(super) struct WebhookTable {
    rows: BTreeMap<WebhookId, WebhookRow>,
    deliveries: BTreeMap<JobId, (TenantId, Delivery)>,
}

struct WebhookRow {
    webhook: Webhook,
    edited_by: Option<EditId>,
    /// When it was last known to be well: the latest arrival, or when it was enabled. What is older says nothing any more.
    well_at: Option<Timestamp>,
}

impl Places {
    pub fn create_webhook(&mut self, new: &NewWebhook, now: Timestamp) -> CreateWebhookAnswer {
        if let Some(row) = self.webhooks.rows.get(&new.id) {
            return CreateWebhookAnswer::Created(row.webhook.clone());
        }
        let own = self.webhooks.rows.values().filter(|row| row.webhook.tenant == new.tenant).count();
        if own as u64 >= new.at_most {
            return CreateWebhookAnswer::TooMany;
        }
        let webhook = Webhook {
            id: new.id,
            tenant: new.tenant.clone(),
            settings: new.settings.clone(),
            signing: new.signing.clone(),
            failing_since: None,
            version: 1,
            created_at: now,
            edited_at: now,
        };
        self.webhooks.rows.insert(new.id, WebhookRow { webhook: webhook.clone(), edited_by: None, well_at: None });
        CreateWebhookAnswer::Created(webhook)
    }

    pub fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Option<Webhook> {
        let row = self.webhooks.rows.get(&id)?;
        (row.webhook.tenant == *tenant).then(|| row.webhook.clone())
    }

    pub fn webhooks(&self, tenant: &TenantId, after: Option<WebhookId>, limit: usize) -> Vec<Webhook> {
        let own = self.webhooks.rows.values().map(|row| &row.webhook).filter(|webhook| webhook.tenant == *tenant);
        own.filter(|webhook| after.is_none_or(|after| webhook.id > after)).take(limit).cloned().collect()
    }

    pub fn webhooks_of(&self, tenants: &[TenantId]) -> Vec<Webhook> {
        let enabled =
            self.webhooks.rows.values().map(|row| &row.webhook).filter(|webhook| webhook.settings.is_enabled());
        enabled.filter(|webhook| tenants.contains(&webhook.tenant)).cloned().collect()
    }

    pub fn update_webhook(&mut self, update: &WebhookUpdate, now: Timestamp) -> UpdateWebhookAnswer {
        let row = self.webhooks.rows.get_mut(&update.webhook).filter(|row| row.webhook.tenant == update.tenant);
        let Some(row) = row else { return UpdateWebhookAnswer::Gone };
        if row.edited_by != Some(update.edit) {
            if row.webhook.version != update.version {
                return UpdateWebhookAnswer::Stale;
            }
            if !row.webhook.settings.is_enabled() && update.settings.is_enabled() {
                row.webhook.failing_since = None;
                row.well_at = Some(now);
            }
            row.webhook.settings = update.settings.clone();
            row.webhook.signing = update.signing.clone();
            row.webhook.version += 1;
            row.webhook.edited_at = now;
            row.edited_by = Some(update.edit);
        }
        UpdateWebhookAnswer::Updated(row.webhook.clone())
    }

    pub fn delete_webhook(&mut self, tenant: &TenantId, id: WebhookId) -> bool {
        if self.webhook(tenant, id).is_none() {
            return false;
        }
        self.webhooks.rows.remove(&id);
        self.webhooks.deliveries.retain(|_, (_, delivery)| delivery.webhook != id);
        true
    }

    pub fn forget_webhooks(&mut self, tenant: &TenantId) {
        self.webhooks.rows.retain(|_, row| row.webhook.tenant != *tenant);
        self.webhooks.deliveries.retain(|_, (owner, _)| owner != tenant);
    }

    /// The endpoint, if this disabled it.
    pub fn note_delivery(&mut self, note: &DeliveryNote, now: Timestamp) -> Option<Webhook> {
        let passes_old_notes = self.rules.has(Rule::OldNotesPass);
        let row = self.webhooks.rows.get_mut(&note.webhook)?;
        let webhook = &mut row.webhook;
        if webhook.tenant != note.tenant || !webhook.settings.is_enabled() {
            return None;
        }
        if passes_old_notes && row.well_at.is_some_and(|well_at| note.at <= well_at) {
            return None;
        }
        let why = match note.went {
            Went::Arrived => {
                row.well_at = Some(note.at);
                // Unless all of that came after it.
                webhook.failing_since = webhook.failing_since.filter(|since| *since > note.at);
                return None;
            }
            Went::Gone => Disabled::Gone,
            Went::Failed => {
                let since = webhook.failing_since.map_or(note.at, |since| since.min(note.at));
                webhook.failing_since = Some(since);
                if note.at < since.plus(PATIENCE) {
                    return None;
                }
                Disabled::Failing
            }
        };
        webhook.settings.disabled = Some(why);
        webhook.version += 1;
        webhook.edited_at = now;
        row.edited_by = None;
        Some(webhook.clone())
    }

    pub fn deliver(&mut self, new: &NewDelivery, now: Timestamp) {
        self.submit(&new.job, now);
        let Some(webhook) = new.webhook else { return };
        let delivery = Delivery { job: new.job.id, webhook, event: new.event, about: new.about, created_at: now };
        self.webhooks.deliveries.entry(new.job.id).or_insert_with(|| (new.job.tenant.clone(), delivery));
    }

    pub fn with_callback(&self, jobs: &[JobId]) -> Vec<JobId> {
        let asked = |id: &&JobId| self.jobs.get(*id).is_some_and(|job| job.work.callback_url.is_some());
        jobs.iter().filter(asked).copied().collect()
    }

    pub fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Vec<Delivery> {
        let own = self.webhooks.deliveries.values().rev().filter(|(owner, _)| owner == tenant);
        own.map(|(_, delivery)| delivery)
            .filter(|delivery| delivery.webhook == webhook && before.is_none_or(|before| delivery.job < before))
            .take(limit)
            .cloned()
            .collect()
    }

    pub fn delivery(&self, tenant: &TenantId, webhook: WebhookId, job: JobId) -> Option<Delivery> {
        let (owner, delivery) = self.webhooks.deliveries.get(&job)?;
        (owner == tenant && delivery.webhook == webhook).then(|| delivery.clone())
    }

    pub fn prune_deliveries(&mut self, until: Timestamp, limit: usize) -> usize {
        let listed = self.webhooks.deliveries.values().map(|(_, delivery)| delivery);
        let old: Vec<JobId> =
            listed.filter(|delivery| delivery.created_at <= until).map(|delivery| delivery.job).take(limit).collect();
        for job in &old {
            self.webhooks.deliveries.remove(job);
        }
        old.len()
    }
}
