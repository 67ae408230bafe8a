//! Seals what is kept with the first of the master keys, so that the old one can be taken away.
//!
//! Done again, it finds less to do; one that dies half way is simply started again. Servers may run beside it as long as they know both keys. A
//! value that somebody changes at the same moment is left to the next round. Jobs that wait keep what they were sealed with: they are over,
//! or forgotten by their retention, some time later, and until then the old key stays in the ring.

use std::sync::Arc;

use anyhow::Context as _;
use foreman_core::audit::{Act, Actor};
use foreman_core::job::Work;
use foreman_core::ports::{Edit, EditAnswer, TenantUpdate, UpdateTenantAnswer, UpdateWebhookAnswer, WebhookUpdate};
use foreman_core::schedule::ScheduleSpec;
use foreman_core::sealed::{Keyring, OpenError, SealedFor};
use foreman_core::tenant::{SIGNING_PLACE, Tenant, TenantSettings};
use foreman_core::webhook::Webhook;
use foreman_core::{EditId, EntryId, TenantId};

use super::{Direct, DirectStore};
use crate::exit::usage;
use crate::secret_key;

/// Read in one question.
const PAGE: usize = 200;
/// A schedule that is just firing is edited a moment later.
const TRIES: usize = 20;

const KEPT_CHANGING: &str = "it kept changing at the same time; run the command again";

/// What was done, and what could not be.
#[derive(Debug, Default)]
pub struct Resealed {
    pub tenants: usize,
    pub webhooks: usize,
    pub schedules: usize,
    /// Whose secret it is, and why it could not be sealed anew.
    pub failed: Vec<(String, String)>,
}

impl Direct {
    pub async fn reseal(&self) -> anyhow::Result<Resealed> {
        let ring = self.keyring()?;
        let mut done = Resealed::default();
        let mut after: Option<TenantId> = None;
        loop {
            let page = self.tenancy.tenants(after.as_ref(), PAGE).await?;
            for tenant in &page.readable {
                self.reseal_tenant(tenant, &ring, &mut done).await?;
                self.reseal_webhooks(&tenant.id, &ring, &mut done).await?;
                self.reseal_schedules(&tenant.id, &ring, &mut done).await?;
            }
            for tenant in page.unreadable {
                done.failed.push((format!("tenant/{tenant}"), "this version cannot read its settings".to_owned()));
            }
            match page.readable.last() {
                Some(last) if page.readable.len() >= PAGE => after = Some(last.id.clone()),
                _ => return Ok(done),
            }
        }
    }

    async fn reseal_tenant(&self, tenant: &Tenant, ring: &Keyring, done: &mut Resealed) -> anyhow::Result<()> {
        let object = format!("tenant/{}", tenant.id);
        match self.reseal_signing(tenant, ring).await? {
            Ok(true) => {
                done.tenants += 1;
                self.note(&tenant.id, object).await?;
            }
            Ok(false) => {}
            Err(why) => done.failed.push((object, why)),
        }
        Ok(())
    }

    /// Whether there was anything to do, or why it could not be done.
    async fn reseal_signing(&self, tenant: &Tenant, ring: &Keyring) -> anyhow::Result<Result<bool, String>> {
        let id = &tenant.id;
        let mut seen = Some(tenant.clone());
        for _ in 0..TRIES {
            let Some(tenant) = seen else { return Ok(Ok(false)) };
            let signing = match tenant.settings.signing.resealed(ring, SealedFor { tenant: id, name: SIGNING_PLACE }) {
                Ok(Some(signing)) => signing,
                Ok(None) => return Ok(Ok(false)),
                Err(error) => return Ok(Err(error.to_string())),
            };
            let settings = TenantSettings { signing, ..tenant.settings };
            let update = TenantUpdate { edit: EditId::fresh(), tenant: id.clone(), version: tenant.version, settings };
            match self.tenancy.update_tenant(&update).await? {
                UpdateTenantAnswer::Updated(_) => return Ok(Ok(true)),
                UpdateTenantAnswer::Gone => return Ok(Ok(false)),
                // Read again: a secret that was created meanwhile must not be lost.
                UpdateTenantAnswer::Stale => seen = self.tenancy.tenant(id).await?,
            }
        }
        Ok(Err(KEPT_CHANGING.into()))
    }

    async fn reseal_webhooks(&self, tenant: &TenantId, ring: &Keyring, done: &mut Resealed) -> anyhow::Result<()> {
        let mut after = None;
        loop {
            let webhooks = self.tenancy.webhooks(tenant, after, PAGE).await?;
            let Some(last) = webhooks.last() else { return Ok(()) };
            after = Some(last.id);
            for webhook in webhooks {
                let object = format!("webhook/{}", webhook.id);
                match self.reseal_webhook(&webhook, ring).await? {
                    Ok(true) => {
                        done.webhooks += 1;
                        self.note(tenant, object).await?;
                    }
                    Ok(false) => {}
                    Err(why) => done.failed.push((object, why)),
                }
            }
        }
    }

    /// Whether there was anything to do, or why it could not be done.
    async fn reseal_webhook(&self, webhook: &Webhook, ring: &Keyring) -> anyhow::Result<Result<bool, String>> {
        let (tenant, id) = (&webhook.tenant, webhook.id);
        let name = Webhook::place_name(id);
        let mut seen = Some(webhook.clone());
        for _ in 0..TRIES {
            let Some(webhook) = seen else { return Ok(Ok(false)) };
            let signing = match webhook.signing.resealed(ring, SealedFor { tenant, name: &name }) {
                Ok(Some(signing)) => signing,
                Ok(None) => return Ok(Ok(false)),
                Err(error) => return Ok(Err(error.to_string())),
            };
            let (version, settings) = (webhook.version, webhook.settings);
            let update = WebhookUpdate {
                edit: EditId::fresh(),
                tenant: tenant.clone(),
                webhook: id,
                version,
                settings,
                signing,
            };
            match self.tenancy.update_webhook(&update).await? {
                UpdateWebhookAnswer::Updated(_) => return Ok(Ok(true)),
                UpdateWebhookAnswer::Gone => return Ok(Ok(false)),
                UpdateWebhookAnswer::Stale => seen = self.tenancy.webhook(tenant, id).await?,
            }
        }
        Ok(Err(KEPT_CHANGING.into()))
    }

    async fn reseal_schedules(&self, tenant: &TenantId, ring: &Keyring, done: &mut Resealed) -> anyhow::Result<()> {
        let mut after = None;
        loop {
            let schedules = self.store.schedules(tenant, after.as_ref(), PAGE).await?;
            let Some(last) = schedules.last() else { return Ok(()) };
            after = Some(last.schedule.name.clone());
            for view in schedules {
                let object = format!("schedule/{}", view.schedule.name);
                let work = match resealed_work(&view.schedule.work, tenant, ring) {
                    Ok(None) => continue,
                    Ok(Some(work)) => Arc::new(work),
                    Err(error) => {
                        done.failed.push((object, error.to_string()));
                        continue;
                    }
                };
                let edit = Edit {
                    id: EditId::fresh(),
                    schedule: view.schedule.id,
                    seen: view.seen,
                    spec: Arc::new(hidden(&view.schedule.spec)),
                    work,
                    is_paused: view.is_paused,
                    next: view.seen.next,
                };
                match self.store.edit_schedule(tenant, &edit).await? {
                    EditAnswer::Edited(_) => {
                        done.schedules += 1;
                        self.note(tenant, object).await?;
                    }
                    _ => done
                        .failed
                        .push((object, "it was firing or being changed at that moment; run the command again".into())),
                }
            }
        }
    }

    /// What a server with these settings seals with.
    fn keyring(&self) -> anyhow::Result<Keyring> {
        if let Some(ring) = &self.settings.secret_key {
            return Ok(ring.clone());
        }
        if let DirectStore::Sqlite(_) = self.open {
            // Says why it was not read.
            secret_key::kept(&secret_key::place(&self.settings))?;
        }
        Err(usage(
            "secrets are encrypted, and no key is configured: set FOREMAN_SECRET_KEY to the same value as on the servers",
        ))
    }

    /// It is done: now it is written down.
    async fn note(&self, tenant: &TenantId, object: String) -> anyhow::Result<()> {
        let (tenant, action) = (tenant.clone(), "secret.reseal".to_owned());
        let act = Act { tenant, actor: Actor::Direct, action, object, status: 200, request: None, peer: None };
        self.tenancy
            .record(EntryId::fresh(), &act)
            .await
            .context("the change was made, but could not be written to the audit log")
    }
}

/// An earlier version kept there what was written.
fn hidden(spec: &ScheduleSpec) -> ScheduleSpec {
    let mut spec = spec.clone();
    foreman_core::spec::mask(&mut spec.job);
    spec
}

/// Its headers or variables under the first key; what an earlier version kept in the clear is sealed too.
fn resealed_work(work: &Work, tenant: &TenantId, ring: &Keyring) -> Result<Option<Work>, OpenError> {
    let mut work = work.clone();
    if !work.target.reseal(ring, tenant)? {
        return Ok(None);
    }
    Ok(Some(work))
}
