//! API keys.

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use crate::id::TenantId;
use crate::key::{KeyId, KeyRecord};
use crate::ports::{
    AtTheDoor, CreateKeyAnswer, KeyStore, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer, StoreError,
};
use crate::time::Timestamp;

#[async_trait]
impl KeyStore for Store {
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.create_key(new, now)))
    }

    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        Ok(self.read(|places, _| places.api_key(tenant, id)))
    }

    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        Ok(self.read(|places, _| places.api_keys(tenant, after, limit)))
    }

    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError> {
        Ok(self.read(|places, now| places.look_up_key(id, now)))
    }

    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.revoke_key(tenant, id, now)))
    }

    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, StoreError> {
        Ok(self.write(|places, now| places.replace_key(tenant, replacement, now)))
    }

    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError> {
        self.write(|places, now| places.note_keys_used(ids, now));
        Ok(())
    }
}

impl Places {
    pub fn create_key(&mut self, new: &NewKey, now: Timestamp) -> CreateKeyAnswer {
        if self.tenant(&new.tenant).is_none() {
            return CreateKeyAnswer::NoTenant;
        }
        if let Some(key) = self.api_keys.get(&new.id) {
            let is_same = key.hash == new.hash && key.tenant == new.tenant;
            return if is_same { CreateKeyAnswer::Created(key.clone()) } else { CreateKeyAnswer::IdTaken };
        }
        let key = KeyRecord {
            id: new.id.clone(),
            tenant: new.tenant.clone(),
            name: new.name.clone(),
            hash: new.hash,
            scopes: new.scopes,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        };
        self.api_keys.insert(new.id.clone(), key.clone());
        CreateKeyAnswer::Created(key)
    }

    pub fn api_key(&self, tenant: &TenantId, id: &KeyId) -> Option<KeyRecord> {
        self.api_keys.get(id).filter(|key| key.tenant == *tenant).cloned()
    }

    pub fn api_keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Vec<KeyRecord> {
        let own = self.api_keys.values().filter(|key| key.tenant == *tenant);
        own.filter(|key| after.is_none_or(|after| key.id > *after)).take(limit).cloned().collect()
    }

    pub fn look_up_key(&self, id: &KeyId, now: Timestamp) -> Option<AtTheDoor> {
        let key = self.api_keys.get(id)?.clone();
        let tenant = self.tenant(&key.tenant)?;
        Some(AtTheDoor { key, tenant, now })
    }

    fn own_key_mut(&mut self, tenant: &TenantId, id: &KeyId) -> Option<&mut KeyRecord> {
        self.api_keys.get_mut(id).filter(|key| key.tenant == *tenant)
    }

    pub fn revoke_key(&mut self, tenant: &TenantId, id: &KeyId, now: Timestamp) -> RevokeKeyAnswer {
        let Some(key) = self.own_key_mut(tenant, id) else { return RevokeKeyAnswer::Gone };
        key.revoked_at.get_or_insert(now);
        RevokeKeyAnswer::Revoked(key.clone())
    }

    pub fn replace_key(&mut self, tenant: &TenantId, replacement: &Replacement, now: Timestamp) -> ReplaceKeyAnswer {
        let taken = self.api_keys.get(&replacement.id).cloned();
        let Some(old) = self.own_key_mut(tenant, &replacement.old) else { return ReplaceKeyAnswer::Gone };
        match (&old.replaced_by, taken) {
            (Some(by), Some(new)) if *by == replacement.id && new.hash == replacement.hash => {
                return ReplaceKeyAnswer::Replaced { old: old.clone(), new };
            }
            (Some(by), _) => return ReplaceKeyAnswer::AlreadyReplaced(by.clone()),
            (None, _) if old.is_live(now).is_err() => return ReplaceKeyAnswer::NotLive(old.clone()),
            (None, Some(_)) => return ReplaceKeyAnswer::IdTaken,
            (None, None) => {}
        }
        let end = now.plus(replacement.grace);
        let new = KeyRecord {
            id: replacement.id.clone(),
            hash: replacement.hash,
            created_at: now,
            expires_at: replacement.expires_at,
            last_used_at: None,
            ..old.clone()
        };
        old.expires_at = Some(old.expires_at.map_or(end, |expires_at| expires_at.min(end)));
        old.replaced_by = Some(replacement.id.clone());
        let old = old.clone();
        self.api_keys.insert(replacement.id.clone(), new.clone());
        ReplaceKeyAnswer::Replaced { old, new }
    }

    pub fn note_keys_used(&mut self, ids: &[KeyId], now: Timestamp) {
        for id in ids {
            if let Some(key) = self.api_keys.get_mut(id) {
                key.last_used_at = key.last_used_at.max(Some(now));
            }
        }
    }
}
