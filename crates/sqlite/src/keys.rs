//! API keys: their hash, what it is good for and for how long; never the key.
//!
//! A key is made once under its id, revoked once, replaced once. Each is one operation of the one writer, so two at once
//! run one after the other, and the second finds what the first has done. What the door asks is a read: it sees whatever
//! was answered before it, and waits for nobody.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::key::{KeyHash, KeyId, KeyRecord, Scopes};
use foreman_core::ports::{
    AtTheDoor, CreateKeyAnswer, KeyStore, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer, StoreError,
};
use foreman_core::{TenantId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::SqliteStore;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::tenants;
use crate::unreadable::Unreadable;
use crate::write::Write;

#[async_trait]
impl KeyStore for SqliteStore {
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError> {
        let new = new.clone();
        self.write(move |write| create(write, &new)).await
    }

    /// One that this version cannot read is [`StoreError::Damaged`].
    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.read(move |read| Ok(find(read.sql, &id)?.filter(|key| key.tenant == tenant))).await
    }

    /// One that this version cannot read is left out, and said so in the log.
    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        let (tenant, after, unreadable) = (tenant.clone(), after.cloned(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| list(read, &tenant, after.as_ref(), limit, &unreadable)).await
    }

    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError> {
        let id = id.clone();
        self.read(move |read| look_up(read, &id)).await
    }

    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.write(move |write| revoke(write, &tenant, &id)).await
    }

    async fn replace_key(&self, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, StoreError> {
        let (tenant, replacement) = (tenant.clone(), replacement.clone());
        self.write(move |write| replace(write, &tenant, &replacement)).await
    }

    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids = ids.to_vec();
        self.write(move |write| note_used(write, &ids)).await
    }
}

/// The columns of a [`KeyRecord`], in its order of reading.
macro_rules! key_columns {
    () => {
        "api_keys.id, api_keys.tenant, api_keys.name, api_keys.hash, api_keys.scopes, api_keys.created_at,
         api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at, api_keys.replaced_by"
    };
}
/// How many they are.
const KEY_COLUMNS: usize = 10;

fn key(row: &Row<'_>) -> Result<KeyRecord, Fault> {
    let id = KeyId::from_stored(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
    let cells = Cells { row, table: "api_keys", id };
    let hash: [u8; 32] = cells.get(3, "hash")?;
    let replaced_by: Option<String> = cells.get(9, "replaced_by")?;
    Ok(KeyRecord {
        tenant: cells.tenant(1)?,
        name: cells.get(2, "name")?,
        hash: KeyHash::from_stored(hash),
        scopes: cells.json::<Scopes>(4, "scopes")?,
        created_at: cells.time(5, "created_at")?,
        expires_at: cells.maybe_time(6, "expires_at")?,
        revoked_at: cells.maybe_time(7, "revoked_at")?,
        last_used_at: cells.maybe_time(8, "last_used_at")?,
        replaced_by: replaced_by.as_deref().map(KeyId::from_stored),
        id: cells.id,
    })
}

fn called(row: &Row<'_>) -> (String, i64) {
    // A key is never edited: it has no version.
    (format!("key {}", row.get::<_, String>(0).unwrap_or_default()), 0)
}

/// Of whatever tenant.
fn find(sql: &Connection, id: &KeyId) -> Result<Option<KeyRecord>, Fault> {
    let mut statement = sql.prepare_cached(concat!("SELECT ", key_columns!(), " FROM api_keys WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(key).transpose()
}

/// Reads on until the page is full, as of tenants.
fn list(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    after: Option<&KeyId>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<KeyRecord>, Fault> {
    let mut statement = read.sql.prepare_cached(concat!(
        "SELECT ",
        key_columns!(),
        " FROM api_keys WHERE tenant = ?1 AND id > ?2 ORDER BY id"
    ))?;
    let mut rows = statement.query((tenant.as_str(), after.map_or("", KeyId::as_str)))?;
    let mut keys = Vec::new();
    while keys.len() < limit {
        let Some(row) = rows.next()? else { break };
        keys.extend(unreadable.left_out(|| called(row), key(row))?);
    }
    Ok(keys)
}

fn look_up(read: &ReadSnapshot<'_>, id: &KeyId) -> Result<Option<AtTheDoor>, Fault> {
    let mut statement = read.sql.prepare_cached(concat!(
        "SELECT ",
        key_columns!(),
        ", tenants.id, tenants.version, tenants.created_at, tenants.edited_at, tenants.settings
         FROM api_keys JOIN tenants ON tenants.id = api_keys.tenant AND tenants.deleted_at IS NULL
         WHERE api_keys.id = ?1"
    ))?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(AtTheDoor { key: key(row)?, tenant: tenants::tenant_at(row, KEY_COLUMNS)?, now: read.now }))
}

fn create(write: &Write<'_>, new: &NewKey) -> Result<CreateKeyAnswer, Fault> {
    if !tenants::is_there(write, &new.tenant)? {
        return Ok(CreateKeyAnswer::NoTenant);
    }
    if let Some(key) = find(write.sql, &new.id)? {
        let is_same = key.hash == new.hash && key.tenant == new.tenant;
        return Ok(if is_same { CreateKeyAnswer::Created(key) } else { CreateKeyAnswer::IdTaken });
    }
    let key = KeyRecord {
        id: new.id.clone(),
        tenant: new.tenant.clone(),
        name: new.name.clone(),
        hash: new.hash,
        scopes: new.scopes,
        created_at: write.now,
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
        replaced_by: None,
    };
    insert(write, &key)?;
    Ok(CreateKeyAnswer::Created(key))
}

/// A key that nobody has used or revoked yet.
fn insert(write: &Write<'_>, key: &KeyRecord) -> Result<(), Fault> {
    let scopes = serde_json::to_string(&key.scopes)
        .map_err(|error| StoreError::Broken(format!("key {} cannot be written down: {error}", key.id)))?;
    write
        .prepared(
            "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            key.id.as_str(),
            key.tenant.as_str(),
            key.name,
            &key.hash.as_bytes()[..],
            scopes,
            key.created_at.as_micros(),
            key.expires_at.map(Timestamp::as_micros),
        ])?;
    Ok(())
}

/// The tenant's own key.
fn own(write: &Write<'_>, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, Fault> {
    Ok(find(write.sql, id)?.filter(|key| key.tenant == *tenant))
}

fn revoke(write: &Write<'_>, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, Fault> {
    write
        .prepared("UPDATE api_keys SET revoked_at = ?3 WHERE id = ?1 AND tenant = ?2 AND revoked_at IS NULL")?
        .execute((id.as_str(), tenant.as_str(), write.now.as_micros()))?;
    Ok(own(write, tenant, id)?.map_or(RevokeKeyAnswer::Gone, RevokeKeyAnswer::Revoked))
}

fn replace(write: &Write<'_>, tenant: &TenantId, replacement: &Replacement) -> Result<ReplaceKeyAnswer, Fault> {
    let Some(mut old) = own(write, tenant, &replacement.old)? else { return Ok(ReplaceKeyAnswer::Gone) };
    match (&old.replaced_by, find(write.sql, &replacement.id)?) {
        (Some(by), Some(new)) if *by == replacement.id && new.hash == replacement.hash => {
            return Ok(ReplaceKeyAnswer::Replaced { old, new });
        }
        (Some(by), _) => return Ok(ReplaceKeyAnswer::AlreadyReplaced(by.clone())),
        (None, _) if old.is_live(write.now).is_err() => return Ok(ReplaceKeyAnswer::NotLive(old)),
        (None, Some(_)) => return Ok(ReplaceKeyAnswer::IdTaken),
        (None, None) => {}
    }
    let new = KeyRecord {
        id: replacement.id.clone(),
        hash: replacement.hash,
        created_at: write.now,
        expires_at: replacement.expires_at,
        last_used_at: None,
        ..old.clone()
    };
    insert(write, &new)?;
    let end = write.now.plus(replacement.grace);
    let end = old.expires_at.map_or(end, |expires_at| expires_at.min(end));
    old.expires_at = Some(end);
    old.replaced_by = Some(new.id.clone());
    write
        .prepared("UPDATE api_keys SET expires_at = ?3, replaced_by = ?4 WHERE id = ?1 AND tenant = ?2")?
        .execute((old.id.as_str(), tenant.as_str(), end.as_micros(), new.id.as_str()))?;
    Ok(ReplaceKeyAnswer::Replaced { old, new })
}

fn note_used(write: &Write<'_>, ids: &[KeyId]) -> Result<(), Fault> {
    // A clock that went back takes nothing back.
    let mut statement =
        write.prepared("UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, ?2) <= ?2")?;
    for id in ids {
        statement.execute((id.as_str(), write.now.as_micros()))?;
    }
    Ok(())
}
