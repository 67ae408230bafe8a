//! Keys as they are kept: their hash, never themselves.
//!
//! Whoever makes a key locks its tenant's row first, so that no key comes to a tenant that is being deleted; then the key's own
//! row decides: of two that make a key of one id the second finds it, and of two that replace one the second finds it replaced.
//! The locks are taken in this order everywhere. A process that dies half way leaves all as it was; what it had sent is sent
//! again and found by its id and hash.

use async_trait::async_trait;
use foreman_core::TenantId;
use foreman_core::key::{KeyHash, KeyId, KeyRecord, Scopes};
use foreman_core::ports::{
    AtTheDoor, CreateKeyAnswer, KeyStore, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer, StoreError,
};
use foreman_core::time::Timestamp;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::places::LOOKS;
use crate::rows::Cells;
use crate::schedules::read::NOW;
use crate::value::{Interval, Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look, tenants, transact};

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "api_keys.id, api_keys.tenant, api_keys.name, api_keys.hash, api_keys.scopes, api_keys.created_at,
       api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at, api_keys.replaced_by"
    };
}

/// How many these are.
const COLUMNS: usize = 10;

/// Until the end nobody deletes it; others may go on giving it keys, and changing it.
pub(crate) const LOCK_TENANT: &str = "SELECT 1 FROM tenants WHERE id = $1::text AND deleted_at IS NULL FOR KEY SHARE";
/// After [`LOCK_TENANT`], which may have found none.
pub(crate) const CREATE: &str = "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
    SELECT $1::text, $2::text, $3::text, $4::bytea, $5::text, foreman_now(), $6::timestamptz
    WHERE EXISTS (SELECT FROM tenants WHERE tenants.id = $2 AND tenants.deleted_at IS NULL)
    ON CONFLICT (id) DO NOTHING";
/// Whosever it is: an id is taken once.
pub(crate) const ANYONES: &str = concat!("SELECT ", columns!(), " FROM api_keys WHERE api_keys.id = $1::text");
pub(crate) const BY_ID: &str =
    concat!("SELECT ", columns!(), " FROM api_keys WHERE api_keys.tenant = $1::text AND api_keys.id = $2::text");
pub(crate) const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM api_keys WHERE api_keys.tenant = $1::text AND api_keys.id = $2::text FOR NO KEY UPDATE"
);
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM api_keys WHERE api_keys.tenant = $1::text AND api_keys.id > $2::text ORDER BY api_keys.id LIMIT $3::bigint"
);
/// Key, tenant and time by one statement, so that they are of one moment.
pub(crate) const AT_THE_DOOR: &str = concat!(
    "SELECT ",
    columns!(),
    ", ",
    tenants::columns!(),
    ", foreman_now() FROM api_keys JOIN tenants ON tenants.id = api_keys.tenant
    WHERE api_keys.id = $1::text AND tenants.deleted_at IS NULL"
);
pub(crate) const REVOKE: &str = concat!(
    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, foreman_now())
    WHERE tenant = $1::text AND id = $2::text RETURNING ",
    columns!()
);
pub(crate) const SUCCEED: &str = concat!(
    "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
    SELECT $3::text, old.tenant, old.name, $4::bytea, old.scopes, foreman_now(), $5::timestamptz
    FROM api_keys AS old WHERE old.tenant = $1::text AND old.id = $2::text
    ON CONFLICT (id) DO NOTHING RETURNING ",
    columns!()
);
/// It never gains time by this.
pub(crate) const GIVE_WAY: &str = concat!(
    "UPDATE api_keys SET expires_at = least(expires_at, foreman_now() + $4::interval), replaced_by = $3::text
    WHERE tenant = $1::text AND id = $2::text RETURNING ",
    columns!()
);
/// In the order of the ids, so that two never wait for each other.
pub(crate) const USED: &str = "WITH used AS MATERIALIZED (
        SELECT id FROM api_keys WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE api_keys SET last_used_at = greatest(last_used_at, foreman_now()) FROM used WHERE api_keys.id = used.id";

#[async_trait]
impl KeyStore for PostgresStore {
    async fn create_key(&self, new: &NewKey) -> Result<CreateKeyAnswer, StoreError> {
        transact!(self, data, Write, |tx| create(&tx, new).await)
    }

    async fn key(&self, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        look!(self, Look, |tx| one(&tx, tenant, id).await)
    }

    async fn keys(&self, tenant: &TenantId, after: Option<&KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        look!(self, Look, |tx| list(&tx, tenant, after, limit).await)
    }

    async fn look_up_key(&self, id: &KeyId) -> Result<Option<AtTheDoor>, StoreError> {
        look!(self, Look, |tx| at_the_door(&tx, id).await)
    }

    async fn revoke_key(&self, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, StoreError> {
        transact!(self, data, Write, |tx| revoke(&tx, tenant, id).await)
    }

    async fn replace_key(&self, tenant: &TenantId, asked: &Replacement) -> Result<ReplaceKeyAnswer, StoreError> {
        transact!(self, data, Write, |tx| replace(&tx, tenant, asked).await)
    }

    async fn note_keys_used(&self, ids: &[KeyId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = ids.iter().map(KeyId::as_str).collect();
        transact!(self, data, Hint, |tx| tx.rows(USED, &[&ids]).await.map(|_| ()))
    }
}

/// From the columns of [`columns`], the first of a row.
fn read(row: &Row) -> Result<KeyRecord, Fault> {
    let id: &str = row.try_get(0).map_err(|error| Fault::misfit("api_keys", "id", "unknown", error))?;
    let cells = Cells { row, table: "api_keys", id };
    let hash: &[u8] = cells.get(3, "hash")?;
    let hash = hash.try_into().map_err(|error| Fault::misfit("api_keys", "hash", id, error))?;
    let scopes: Scopes =
        cells.get::<&str>(4, "scopes")?.parse().map_err(|error| Fault::misfit("api_keys", "scopes", id, error))?;
    Ok(KeyRecord {
        id: KeyId::from_stored(id),
        tenant: cells.tenant(1)?,
        name: cells.get(2, "name")?,
        hash: KeyHash::from_stored(hash),
        scopes,
        created_at: cells.time(5, "created_at")?,
        expires_at: cells.maybe_time(6, "expires_at")?,
        revoked_at: cells.maybe_time(7, "revoked_at")?,
        last_used_at: cells.maybe_time(8, "last_used_at")?,
        replaced_by: cells.get::<Option<&str>>(9, "replaced_by")?.map(KeyId::from_stored),
    })
}

async fn create(tx: &Transaction, new: &NewKey) -> Result<CreateKeyAnswer, Fault> {
    let (id, tenant, scopes) = (new.id.as_str(), new.tenant.as_str(), new.scopes.to_string());
    let (hash, expires_at) = (&new.hash.as_bytes()[..], new.expires_at.map(Time));
    for _ in 0..LOOKS {
        let answers = tx
            .all(&[
                (LOCK_TENANT, &[&tenant]),
                (CREATE, &[&id, &tenant, &new.name, &hash, &scopes, &expires_at]),
                (ANYONES, &[&id]),
            ])
            .await?;
        if answers[0].is_empty() {
            return Ok(CreateKeyAnswer::NoTenant);
        }
        // Whoever had the id may have gone with its tenant since: then it is free.
        let Some(row) = answers[2].first() else { continue };
        let key = read(row)?;
        let is_ours = key.hash == new.hash && key.tenant == new.tenant;
        return Ok(if is_ours { CreateKeyAnswer::Created(key) } else { CreateKeyAnswer::IdTaken });
    }
    Err(StoreError::Broken(format!("key {id} was not created, although its id is free")).into())
}

async fn one(tx: &Transaction, tenant: &TenantId, id: &KeyId) -> Result<Option<KeyRecord>, Fault> {
    tx.row(BY_ID, &[&tenant.as_str(), &id.as_str()]).await?.as_ref().map(read).transpose()
}

async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    after: Option<&KeyId>,
    limit: usize,
) -> Result<Vec<KeyRecord>, Fault> {
    // No id is empty.
    let after = after.map_or("", KeyId::as_str);
    tx.rows(LIST, &[&tenant.as_str(), &after, &bound(limit)]).await?.iter().map(read).collect()
}

async fn at_the_door(tx: &Transaction, id: &KeyId) -> Result<Option<AtTheDoor>, Fault> {
    let row = tx.row(AT_THE_DOOR, &[&id.as_str()]).await?;
    let Some(row) = &row else { return Ok(None) };
    // Behind the five columns of the tenant.
    let now = row.try_get::<_, Time>(COLUMNS + 5)?.0;
    Ok(Some(AtTheDoor { key: read(row)?, tenant: tenants::read(row, COLUMNS)?, now }))
}

async fn revoke(tx: &Transaction, tenant: &TenantId, id: &KeyId) -> Result<RevokeKeyAnswer, Fault> {
    let row = tx.row(REVOKE, &[&tenant.as_str(), &id.as_str()]).await?;
    row.as_ref().map_or(Ok(RevokeKeyAnswer::Gone), |row| read(row).map(RevokeKeyAnswer::Revoked))
}

async fn replace(tx: &Transaction, tenant: &TenantId, asked: &Replacement) -> Result<ReplaceKeyAnswer, Fault> {
    let (tenant, old_id, id) = (tenant.as_str(), asked.old.as_str(), asked.id.as_str());
    let answers =
        tx.all(&[(LOCK_TENANT, &[&tenant]), (LOCK, &[&tenant, &old_id]), (ANYONES, &[&id]), (NOW, &[])]).await?;
    let Some(old) = answers[1].first().map(read).transpose()? else { return Ok(ReplaceKeyAnswer::Gone) };
    let taken = answers[2].first().map(read).transpose()?;
    let now: Timestamp = answers[3].first().map(|row| row.try_get::<_, Time>(0)).transpose()?.map_or_else(
        || Err(Fault::from(StoreError::Broken("the database returned no time".into()))),
        |time| Ok(time.0),
    )?;
    match (&old.replaced_by, taken) {
        (Some(by), Some(new)) if *by == asked.id && new.hash == asked.hash => {
            return Ok(ReplaceKeyAnswer::Replaced { old, new });
        }
        (Some(by), _) => return Ok(ReplaceKeyAnswer::AlreadyReplaced(by.clone())),
        (None, _) if old.is_live(now).is_err() => return Ok(ReplaceKeyAnswer::NotLive(old)),
        (None, Some(_)) => return Ok(ReplaceKeyAnswer::IdTaken),
        (None, None) => {}
    }
    let (hash, expires_at) = (&asked.hash.as_bytes()[..], asked.expires_at.map(Time));
    let new = tx.row(SUCCEED, &[&tenant, &old_id, &id, &hash, &expires_at]).await?;
    // Somebody took the id at this moment. Nothing was written.
    let Some(new) = new else { return Ok(ReplaceKeyAnswer::IdTaken) };
    let old = tx.row(GIVE_WAY, &[&tenant, &old_id, &id, &Interval(asked.grace)]).await?;
    let old = old.ok_or_else(|| Fault::misfit("api_keys", "id", old_id, "it was locked, but cannot be found"))?;
    Ok(ReplaceKeyAnswer::Replaced { old: read(&old)?, new: read(&new)? })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] =
    &[ANYONES, AT_THE_DOOR, BY_ID, CREATE, GIVE_WAY, LIST, LOCK, LOCK_TENANT, REVOKE, SUCCEED, USED];
