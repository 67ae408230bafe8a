//! Tenants, the default one from the beginning.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use crate::id::{EditId, TenantId};
use crate::ports::{
    CreateTenantAnswer, DeleteTenantAnswer, NewTenant, StoreError, TenantPage, TenantStore, TenantUpdate, Topic,
    UpdateTenantAnswer,
};
use crate::tenant::{Tenant, TenantSettings, Weight};
use crate::time::Timestamp;

#[async_trait]
impl TenantStore for Store {
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_tenant(new, now)))
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        Ok(self.read(|places, _| places.tenant(id)))
    }

    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError> {
        Ok(self.read(|places, _| places.tenants(after, limit)))
    }

    async fn update_tenant(&self, update: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.update_tenant(update, now)))
    }

    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError> {
        Ok(self.write(|places, now| places.delete_tenant(id, version, now)))
    }
}

/// Those that are there, and those that were.
pub(super) struct TenantTable(BTreeMap<TenantId, TenantRow>);

struct TenantRow {
    tenant: Tenant,
    made_by: Option<EditId>,
    edited_by: Option<EditId>,
    /// Its id is taken for ever.
    is_deleted: bool,
}

impl Default for TenantTable {
    fn default() -> Self {
        let row = TenantRow::new(TenantId::default(), TenantSettings::default(), None, Timestamp::default());
        Self(BTreeMap::from([(TenantId::default(), row)]))
    }
}

impl TenantRow {
    fn new(id: TenantId, settings: TenantSettings, made_by: Option<EditId>, now: Timestamp) -> Self {
        let tenant = Tenant { id, settings, version: 1, created_at: now, edited_at: now };
        Self { tenant, made_by, edited_by: None, is_deleted: false }
    }
}

impl TenantTable {
    /// One that nobody made weighs as much as any other.
    pub fn weight(&self, id: &TenantId) -> u32 {
        self.0.get(id).map_or_else(Weight::default, |row| row.tenant.settings.weight).get()
    }

    /// Nothing of it is claimed or fired. One that nobody made is not disabled.
    pub fn is_disabled(&self, id: &TenantId) -> bool {
        self.0.get(id).is_some_and(|row| !row.is_deleted && row.tenant.settings.is_disabled)
    }
}

impl Places {
    pub fn create_tenant(&mut self, new: &NewTenant, now: Timestamp) -> CreateTenantAnswer {
        if let Some(row) = self.tenants.0.get(&new.id) {
            let is_same = !row.is_deleted && row.made_by == Some(new.edit);
            return if is_same { CreateTenantAnswer::Created(row.tenant.clone()) } else { CreateTenantAnswer::Taken };
        }
        let row = TenantRow::new(new.id.clone(), new.settings.clone(), Some(new.edit), now);
        let tenant = row.tenant.clone();
        self.tenants.0.insert(new.id.clone(), row);
        CreateTenantAnswer::Created(tenant)
    }

    pub fn tenant(&self, id: &TenantId) -> Option<Tenant> {
        self.tenants.0.get(id).filter(|row| !row.is_deleted).map(|row| row.tenant.clone())
    }

    pub fn tenants(&self, after: Option<&TenantId>, limit: usize) -> TenantPage {
        let there = self.tenants.0.values().filter(|row| !row.is_deleted).map(|row| &row.tenant);
        let later = there.filter(|tenant| after.is_none_or(|after| tenant.id > *after));
        TenantPage { readable: later.take(limit).cloned().collect(), unreadable: Vec::new() }
    }

    pub fn update_tenant(&mut self, update: &TenantUpdate, now: Timestamp) -> UpdateTenantAnswer {
        let Some(row) = self.tenants.0.get_mut(&update.tenant).filter(|row| !row.is_deleted) else {
            return UpdateTenantAnswer::Gone;
        };
        if row.edited_by != Some(update.edit) {
            if row.tenant.version != update.version {
                return UpdateTenantAnswer::Stale;
            }
            row.tenant.settings = update.settings.clone();
            row.tenant.version += 1;
            row.tenant.edited_at = now;
            row.edited_by = Some(update.edit);
        }
        let tenant = row.tenant.clone();
        if !tenant.settings.is_disabled {
            // It may have been: what waited is due at once. Also when it is sent again, for the first ring may be lost.
            self.rung.extend([Topic::Ready, Topic::Scheduled]);
        }
        UpdateTenantAnswer::Updated(tenant)
    }

    pub fn delete_tenant(&mut self, id: &TenantId, version: i64, now: Timestamp) -> DeleteTenantAnswer {
        if *id == TenantId::default() {
            return DeleteTenantAnswer::Permanent;
        }
        let owns_something =
            self.jobs.values().any(|job| job.tenant == *id) || !self.schedules(id, None, 1, now).is_empty();
        let Some(row) = self.tenants.0.get_mut(id) else { return DeleteTenantAnswer::Gone };
        let is_as_seen = row.tenant.version == version;
        if row.is_deleted {
            return if is_as_seen { DeleteTenantAnswer::Deleted } else { DeleteTenantAnswer::Gone };
        }
        if !is_as_seen {
            return DeleteTenantAnswer::Stale;
        }
        if !row.tenant.settings.is_disabled {
            return DeleteTenantAnswer::Enabled;
        }
        if owns_something {
            return DeleteTenantAnswer::InUse;
        }
        row.is_deleted = true;
        self.api_keys.retain(|_, key| key.tenant != *id);
        self.forget_webhooks(id);
        DeleteTenantAnswer::Deleted
    }
}
