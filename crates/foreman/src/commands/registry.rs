//! Tenants, keys and the audit log: asked of a server, or, with `--direct`, of its database.

use std::time::Duration;

use foreman_client::{
    AuditDocument, Client, KeyDocument, ListDocument, MadeKeyDocument, NewKeyDocument, NewTenantDocument,
    RotateKeyDocument, RotateSecretDocument, SecretDocument, Span, TenantDocument,
};
use serde_json::{Map, Value};

use super::direct::Direct;
use crate::cli::{DirectFlags, Remote};
use crate::config::Environment;

/// The most that is given at once.
const PAGE: usize = 500;

pub enum Registry {
    Server(Client),
    Database(Box<Direct>),
}

impl Registry {
    pub async fn open(direct: &DirectFlags, remote: &Remote, environment: &Environment) -> anyhow::Result<Self> {
        if direct.direct {
            return Ok(Self::Database(Box::new(Direct::open(direct, environment).await?)));
        }
        Ok(Self::Server(remote.client(environment)?))
    }

    pub async fn close(self) {
        if let Self::Database(direct) = self {
            direct.close().await;
        }
    }

    pub async fn create_tenant(&self, id: &str, patch: Map<String, Value>) -> anyhow::Result<TenantDocument> {
        match self {
            Self::Server(client) => {
                let mut whole = patch;
                // There is nothing yet that `default` could set back.
                if let Some(Value::Object(limits)) = whole.get_mut("limits") {
                    limits.retain(|_, value| !value.is_null());
                }
                whole.insert("id".into(), id.into());
                let new: NewTenantDocument = serde_json::from_value(whole.into())?;
                Ok(client.create_tenant(&new).await?)
            }
            Self::Database(direct) => direct.create_tenant(id, &patch).await,
        }
    }

    pub async fn tenant(&self, id: &str) -> anyhow::Result<TenantDocument> {
        match self {
            Self::Server(client) => Ok(client.tenant(id).await?),
            Self::Database(direct) => direct.tenant(id).await,
        }
    }

    pub async fn tenants(&self, wanted: usize) -> anyhow::Result<ListDocument<TenantDocument>> {
        gather(wanted, async |limit, after| match self {
            Self::Server(client) => Ok(client.tenants(limit, after).await?),
            Self::Database(direct) => direct.tenants(limit, after).await,
        })
        .await
    }

    pub async fn update_tenant(
        &self,
        id: &str,
        patch: &Map<String, Value>,
        version: Option<i64>,
    ) -> anyhow::Result<TenantDocument> {
        match self {
            Self::Server(client) => Ok(client.update_tenant(id, patch, version).await?),
            Self::Database(direct) => direct.update_tenant(id, patch, version).await,
        }
    }

    pub async fn delete_tenant(&self, id: &str, version: Option<i64>) -> anyhow::Result<()> {
        match self {
            Self::Server(client) => Ok(client.delete_tenant(id, version).await?),
            Self::Database(direct) => direct.delete_tenant(id, version).await,
        }
    }

    pub async fn rotate_tenant_secret(&self, id: &str, overlap: Option<Duration>) -> anyhow::Result<SecretDocument> {
        match self {
            Self::Server(client) => {
                let how = RotateSecretDocument { overlap: overlap.map(Span) };
                Ok(client.rotate_tenant_secret(id, &how).await?)
            }
            Self::Database(direct) => direct.rotate_tenant_secret(id, overlap).await,
        }
    }

    pub async fn delete_tenant_secret(&self, id: &str) -> anyhow::Result<()> {
        match self {
            Self::Server(client) => Ok(client.delete_tenant_secret(id).await?),
            Self::Database(direct) => direct.delete_tenant_secret(id).await,
        }
    }

    pub async fn create_key(&self, tenant: &str, key: &NewKeyDocument) -> anyhow::Result<MadeKeyDocument> {
        match self {
            Self::Server(client) => Ok(client.create_key(tenant, key).await?),
            Self::Database(direct) => direct.create_key(tenant, key).await,
        }
    }

    pub async fn keys(&self, tenant: &str, wanted: usize) -> anyhow::Result<ListDocument<KeyDocument>> {
        gather(wanted, async |limit, after| match self {
            Self::Server(client) => Ok(client.keys(tenant, limit, after).await?),
            Self::Database(direct) => direct.keys(tenant, limit, after).await,
        })
        .await
    }

    pub async fn revoke_key(&self, tenant: &str, id: &str) -> anyhow::Result<()> {
        match self {
            Self::Server(client) => Ok(client.revoke_key(tenant, id).await?),
            Self::Database(direct) => direct.revoke_key(tenant, id).await,
        }
    }

    pub async fn rotate_key(&self, tenant: &str, id: &str, how: &RotateKeyDocument) -> anyhow::Result<MadeKeyDocument> {
        match self {
            Self::Server(client) => Ok(client.rotate_key(tenant, id, how).await?),
            Self::Database(direct) => direct.rotate_key(tenant, id, how).await,
        }
    }

    pub async fn audit(&self, tenant: Option<&str>, wanted: usize) -> anyhow::Result<ListDocument<AuditDocument>> {
        gather(wanted, async |limit, after| match self {
            Self::Server(client) => Ok(client.audit(tenant, limit, after).await?),
            Self::Database(direct) => direct.audit(tenant, limit, after).await,
        })
        .await
    }
}

/// Page by page, as many as were asked for.
pub async fn gather<T>(
    wanted: usize,
    page: impl AsyncFn(usize, Option<&str>) -> anyhow::Result<ListDocument<T>>,
) -> anyhow::Result<ListDocument<T>> {
    let mut found = ListDocument { items: Vec::new(), next: None };
    while found.items.len() < wanted {
        let limit = (wanted - found.items.len()).min(PAGE);
        let next = page(limit, found.next.as_deref()).await?;
        found.items.extend(next.items);
        found.next = next.next;
        if found.next.is_none() {
            break;
        }
    }
    Ok(found)
}
