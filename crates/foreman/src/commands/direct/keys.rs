//! Keys, past every server.

use std::time::Duration;

use anyhow::{anyhow, bail};
use foreman_client::{KeyDocument, ListDocument, MadeKeyDocument, NewKeyDocument, RotateKeyDocument};
use foreman_core::key::{ApiKey, KeyId, KeyRecord, KeyRefused};
use foreman_core::ports::{CreateKeyAnswer, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer};
use foreman_core::{TenantId, Timestamp};

use super::{Direct, no_tenant, page, tenant_id};
use crate::exit::usage;

/// How long a key that was replaced goes on, when nobody says otherwise.
const GRACE: Duration = Duration::from_hours(24);
/// An id that somebody has is as good as impossible; twice in a row is a fault.
const TRIES: usize = 3;
/// As the API has it.
const LONGEST_NAME: usize = 100;

impl Direct {
    pub async fn create_key(&self, tenant: &str, asked: &NewKeyDocument) -> anyhow::Result<MadeKeyDocument> {
        let tenant = tenant_id(tenant)?;
        let name = judged_name(asked.name.clone())?;
        let now = self.now().await?;
        let expires_at = expiry(asked.expires_at, asked.expires_in.map(|span| span.0), now)?;
        for _ in 0..TRIES {
            let key = ApiKey::fresh();
            let new = NewKey {
                id: key.id().clone(),
                tenant: tenant.clone(),
                name: name.clone(),
                hash: key.hash(),
                scopes: asked.scopes,
                expires_at,
            };
            match self.tenancy.create_key(&new).await? {
                CreateKeyAnswer::Created(record) => {
                    let object = format!("key/{} ({})", record.id, record.scopes);
                    self.note(&tenant, "key.create", object, 201).await?;
                    return Ok(made(&key, record, None, now));
                }
                CreateKeyAnswer::NoTenant => return Err(no_tenant(&tenant)),
                CreateKeyAnswer::IdTaken => {}
            }
        }
        bail!("could not find an unused id for the key; try again")
    }

    pub async fn keys(
        &self,
        tenant: &str,
        limit: usize,
        after: Option<&str>,
    ) -> anyhow::Result<ListDocument<KeyDocument>> {
        let tenant = tenant_id(tenant)?;
        if self.tenancy.tenant(&tenant).await?.is_none() {
            return Err(no_tenant(&tenant));
        }
        let after = after.map(key_id).transpose()?;
        let found = self.tenancy.keys(&tenant, after.as_ref(), limit + 1).await?;
        let now = self.now().await?;
        Ok(page(found.into_iter().map(|key| key.document(now)).collect(), limit, |key| key.id.clone()))
    }

    pub async fn revoke_key(&self, tenant: &str, id: &str) -> anyhow::Result<()> {
        let (tenant, id) = (tenant_id(tenant)?, key_id(id)?);
        match self.tenancy.revoke_key(&tenant, &id).await? {
            RevokeKeyAnswer::Revoked(_) => self.note(&tenant, "key.revoke", format!("key/{id}"), 200).await,
            RevokeKeyAnswer::Gone => Err(no_key(&tenant, &id)),
        }
    }

    pub async fn rotate_key(&self, tenant: &str, id: &str, how: &RotateKeyDocument) -> anyhow::Result<MadeKeyDocument> {
        let (tenant, old) = (tenant_id(tenant)?, key_id(id)?);
        let kept = self.tenancy.key(&tenant, &old).await?.ok_or_else(|| no_key(&tenant, &old))?;
        let now = self.now().await?;
        let expires_at = expiry(how.expires_at, how.expires_in.map(|span| span.0).or_else(|| life(&kept)), now)?;
        for _ in 0..TRIES {
            let key = ApiKey::fresh();
            let replacement = Replacement {
                old: old.clone(),
                id: key.id().clone(),
                hash: key.hash(),
                expires_at,
                grace: how.grace.map_or(GRACE, |span| span.0),
            };
            match self.tenancy.replace_key(&tenant, &replacement).await? {
                ReplaceKeyAnswer::Replaced { old, new } => {
                    let object = format!("key/{} replaced by key/{}", old.id, new.id);
                    self.note(&tenant, "key.rotate", object, 201).await?;
                    return Ok(made(&key, new, Some(old), now));
                }
                ReplaceKeyAnswer::Gone => return Err(no_key(&tenant, &old)),
                ReplaceKeyAnswer::NotLive(record) => {
                    let why = record.is_live(now).err().unwrap_or(KeyRefused::Expired(now));
                    bail!("{why} and cannot be rotated; create another with `foreman keys create`")
                }
                ReplaceKeyAnswer::AlreadyReplaced(by) => bail!("the key {old} has already been replaced by {by}"),
                ReplaceKeyAnswer::IdTaken => {}
            }
        }
        bail!("could not find an unused id for the key; try again")
    }
}

/// As long as the old one was to live when it was made.
fn life(record: &KeyRecord) -> Option<Duration> {
    record.expires_at.map(|end| end.since(record.created_at))
}

fn judged_name(name: Option<String>) -> anyhow::Result<String> {
    let name = name.unwrap_or_default();
    if name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(usage(format!("--name must have at most {LONGEST_NAME} characters and no control characters")));
    }
    Ok(name)
}

fn expiry(at: Option<Timestamp>, after: Option<Duration>, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
    match at.or_else(|| after.map(|span| now.plus(span))) {
        Some(end) if end <= now => Err(usage("the expiry time is in the past; give a time in the future")),
        end => Ok(end),
    }
}

fn made(key: &ApiKey, record: KeyRecord, replaces: Option<KeyRecord>, now: Timestamp) -> MadeKeyDocument {
    MadeKeyDocument {
        key: key.text().reveal().to_owned(),
        about: record.document(now),
        replaces: replaces.map(|record| record.document(now)),
    }
}

fn key_id(text: &str) -> anyhow::Result<KeyId> {
    text.parse().map_err(|error: foreman_core::key::NotAKeyId| usage(error.to_string()))
}

fn no_key(tenant: &TenantId, id: &KeyId) -> anyhow::Error {
    anyhow!("the tenant {tenant} has no key {id}")
}
