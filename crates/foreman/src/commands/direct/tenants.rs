//! Tenants, past every server.

use std::time::Duration;

use anyhow::bail;
use foreman_client::{ListDocument, SecretDocument, TenantDocument, TenantPatchDocument};
use foreman_core::ports::{CreateTenantAnswer, DeleteTenantAnswer, NewTenant, TenantUpdate, UpdateTenantAnswer};
use foreman_core::sealed::Place;
use foreman_core::signing::{SigningKeys, SigningSecret};
use foreman_core::tenant::{SIGNING_PLACE, Tenant, TenantSettings};
use foreman_core::webhook::OVERLAP;
use foreman_core::{EditId, TenantId};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{Direct, no_tenant, page, tenant_id};

/// Somebody else changes the same tenant at the same moment; not so often.
const TRIES: usize = 5;

impl Direct {
    pub async fn create_tenant(&self, id: &str, patch: &Map<String, Value>) -> anyhow::Result<TenantDocument> {
        let id = tenant_id(id)?;
        let settings = patched(&TenantSettings::default(), patch)?;
        let new = NewTenant { edit: EditId::fresh(), id: id.clone(), settings };
        match self.tenancy.create_tenant(&new).await? {
            CreateTenantAnswer::Created(tenant) => {
                self.note(&id, "tenant.create", object(&id), 201).await?;
                Ok(self.document(tenant))
            }
            CreateTenantAnswer::Taken => {
                bail!("the tenant id {id} is in use or was used before; ids are never reused")
            }
        }
    }

    pub async fn tenant(&self, id: &str) -> anyhow::Result<TenantDocument> {
        let id = tenant_id(id)?;
        Ok(self.document(self.seen(&id, None).await?))
    }

    pub async fn tenants(&self, limit: usize, after: Option<&str>) -> anyhow::Result<ListDocument<TenantDocument>> {
        let after = after.map(tenant_id).transpose()?;
        let found = self.tenancy.tenants(after.as_ref(), limit + 1).await?;
        for tenant in found.unreadable {
            warn!(%tenant, "tenant {tenant} is left out of the list: this version cannot read its settings");
        }
        Ok(page(found.readable.into_iter().map(|tenant| self.document(tenant)).collect(), limit, |tenant| {
            tenant.id.clone()
        }))
    }

    pub async fn update_tenant(
        &self,
        id: &str,
        patch: &Map<String, Value>,
        version: Option<i64>,
    ) -> anyhow::Result<TenantDocument> {
        let id = tenant_id(id)?;
        let tenant = self.change(&id, version, |settings| patched(settings, patch)).await?;
        self.note(&id, "tenant.update", object(&id), 200).await?;
        Ok(self.document(tenant))
    }

    pub async fn delete_tenant(&self, id: &str, version: Option<i64>) -> anyhow::Result<()> {
        let id = tenant_id(id)?;
        for _ in 0..TRIES {
            let seen = self.seen(&id, version).await?.version;
            match self.tenancy.delete_tenant(&id, seen).await? {
                DeleteTenantAnswer::Deleted => return self.note(&id, "tenant.delete", object(&id), 204).await,
                DeleteTenantAnswer::Stale => {}
                DeleteTenantAnswer::Gone => return Err(no_tenant(&id)),
                DeleteTenantAnswer::Enabled => {
                    bail!("the tenant {id} is enabled; disable it first: foreman tenants update {id} --disable")
                }
                DeleteTenantAnswer::InUse => bail!("the tenant {id} still has jobs or schedules; delete them first"),
                DeleteTenantAnswer::Permanent => bail!("the tenant {id} cannot be deleted: every server has it"),
            }
        }
        bail!("the tenant {id} kept changing at the same time; run the command again")
    }

    pub async fn rotate_tenant_secret(&self, id: &str, overlap: Option<Duration>) -> anyhow::Result<SecretDocument> {
        let id = tenant_id(id)?;
        let ring = self.keyring()?;
        let secret = SigningSecret::fresh();
        let sealed = ring.seal(Place { tenant: &id, name: SIGNING_PLACE }, &secret.text());
        let now = self.now().await?;
        self.change(&id, None, |settings| {
            let signing = settings.signing.rotated(sealed.clone(), now, overlap.unwrap_or(OVERLAP));
            Ok(TenantSettings { signing, ..settings.clone() })
        })
        .await?;
        self.note(&id, "signing-secret.rotate", signing_of(&id), 200).await?;
        Ok(secret.document())
    }

    pub async fn delete_tenant_secret(&self, id: &str) -> anyhow::Result<()> {
        let id = tenant_id(id)?;
        self.change(&id, None, |settings| Ok(TenantSettings { signing: SigningKeys::default(), ..settings.clone() }))
            .await?;
        self.note(&id, "signing-secret.delete", signing_of(&id), 204).await
    }

    /// As it stands, and at the version that was named.
    async fn seen(&self, id: &TenantId, version: Option<i64>) -> anyhow::Result<Tenant> {
        let tenant = self.tenancy.tenant(id).await?.ok_or_else(|| no_tenant(id))?;
        match version {
            Some(version) if tenant.version != version => {
                bail!("the tenant {id} has version {}, not {version}", tenant.version)
            }
            _ => Ok(tenant),
        }
    }

    /// Looks, decides and writes, and again while somebody else was faster.
    pub(super) async fn change(
        &self,
        id: &TenantId,
        version: Option<i64>,
        decide: impl Fn(&TenantSettings) -> anyhow::Result<TenantSettings>,
    ) -> anyhow::Result<Tenant> {
        for _ in 0..TRIES {
            let seen = self.seen(id, version).await?;
            let settings = decide(&seen.settings)?;
            let update = TenantUpdate { edit: EditId::fresh(), tenant: id.clone(), version: seen.version, settings };
            match self.tenancy.update_tenant(&update).await? {
                UpdateTenantAnswer::Updated(tenant) => return Ok(tenant),
                UpdateTenantAnswer::Stale => {}
                UpdateTenantAnswer::Gone => return Err(no_tenant(id)),
            }
        }
        bail!("the tenant {id} kept changing at the same time; run the command again")
    }

    fn document(&self, tenant: Tenant) -> TenantDocument {
        tenant.document(&self.settings.tenant_limits)
    }
}

fn object(id: &TenantId) -> String {
    format!("tenant/{id}")
}

fn signing_of(id: &TenantId) -> String {
    format!("signing-secret of tenant/{id}")
}

/// A JSON merge patch of what an administrator says; `null` sets a field back.
fn patched(settings: &TenantSettings, patch: &Map<String, Value>) -> anyhow::Result<TenantSettings> {
    let mut document = json!({
        "disabled": settings.is_disabled,
        "limits": settings.limits,
        "commands": settings.commands,
        "variables": settings.variables,
        "weight": settings.weight,
    });
    merge(&mut document, patch);
    let TenantPatchDocument { disabled, limits, commands, variables, weight } = serde_json::from_value(document)?;
    Ok(TenantSettings {
        is_disabled: disabled.unwrap_or_default(),
        limits: limits.unwrap_or_default(),
        commands: commands.unwrap_or_default(),
        variables: variables.unwrap_or_default(),
        weight: weight.unwrap_or_default(),
        signing: settings.signing.clone(),
    })
}

fn merge(document: &mut Value, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (value, &mut document[name]) {
            (Value::Object(inner), below) => merge(below, inner),
            (Value::Null, _) => drop(document.as_object_mut().and_then(|fields| fields.remove(name))),
            (value, place) => *place = value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::tenant::Limit;

    use super::*;

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let patch = |value: Value| value.as_object().expect("an object").clone();
        let first = patched(
            &TenantSettings::default(),
            &patch(
                json!({"limits": {"schedules": 7, "queued_jobs": "unlimited"}, "commands": ["/bin/true"], "weight": 5}),
            ),
        )
        .expect("settings");
        assert_eq!(first.limits.schedules, Some(Limit::AtMost(7)));
        let second =
            patched(&first, &patch(json!({"disabled": true, "limits": {"schedules": null}}))).expect("settings");
        assert!(second.is_disabled);
        assert_eq!((second.limits.schedules, second.limits.queued_jobs), (None, Some(Limit::Unlimited)));
        assert_eq!((second.weight, &second.commands), (first.weight, &first.commands));
        assert!(patched(&first, &patch(json!({"limits": {"schedule": 1}}))).is_err());
    }
}
