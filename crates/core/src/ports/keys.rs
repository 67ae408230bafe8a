//! Keys as they are kept: their hash, never themselves.
//!
//! A key's id is made with it, before it is written, so that a key whose answer was lost is sent again and made once. A
//! key is never edited: it is revoked, which cannot be taken back, or replaced, which cannot be done twice. Everything
//! but [`KeyStore::look_up_key`] names the tenant, and another tenant's key is not there.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::id::TenantId;
use crate::key::{KeyHash, KeyId, KeyRecord, Scopes};
use crate::tenant::Tenant;
use crate::time::Timestamp;

#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Sent again with the same id and hash it answers [`CreateKeyAnswer::Created`] again and changes nothing.
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError>;

    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// By id, those after `after`, at most `limit`; also those that open nothing any more.
    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError>;

    /// The one question without a tenant: who is at the door? Key, tenant and time are of one moment.
    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError>;

    /// From now on it opens nothing. Of two times the first counts.
    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError>;

    /// Makes a key that is good for the same and lets the old one expire, in one transaction. Sent again with the same id
    /// and hash it answers [`ReplaceKeyAnswer::Replaced`] again.
    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, StoreError>;

    /// These were used just now. One that is not there is passed by.
    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError>;
}

#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub tenant: TenantId,
    pub name: String,
    pub hash: KeyHash,
    pub scopes: Scopes,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateKeyAnswer {
    /// As it stands now.
    Created(KeyRecord),
    /// Another key has this id: make another.
    IdTaken,
    NoTenant,
}

/// Whose key it is, by the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtTheDoor {
    pub key: KeyRecord,
    pub tenant: Tenant,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevokeKeyAnswer {
    Revoked(KeyRecord),
    Gone,
}

#[derive(Clone, Debug)]
pub struct Replacement {
    pub old: KeyId,
    pub id: KeyId,
    pub hash: KeyHash,
    /// Of the new one.
    pub expires_at: Option<Timestamp>,
    /// How long the old one goes on, at most: it never gains time by this.
    pub grace: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceKeyAnswer {
    Replaced {
        old: KeyRecord,
        new: KeyRecord,
    },
    Gone,
    /// It is revoked or expired: there is nothing to take over.
    NotLive(KeyRecord),
    /// Somebody was faster; this is the one they made.
    AlreadyReplaced(KeyId),
    IdTaken,
}
