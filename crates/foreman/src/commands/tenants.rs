//! `foreman tenants`.

use foreman_client::{Client, NewTenantDocument, RotateSecretDocument, TenantDocument};
use serde_json::{Map, Value};

use super::gather::gather;
use crate::cli::{DeleteTenants, ListTenants, TenantsCommand};
use crate::exit::{Exit, usage};
use crate::render::{Screen, now, tenant_list, tenant_page};

pub async fn run(command: TenantsCommand, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    match command {
        TenantsCommand::Create(asked) => {
            let mut patch = asked.flags.patch();
            if asked.disabled {
                patch.insert("disabled".into(), true.into());
            }
            let tenant = client.create_tenant(&new_tenant(&asked.id, patch)?).await?;
            let words = format!(
                "created tenant {0}; create its first key with: foreman keys create --tenant {0} --scopes jobs:read,jobs:write",
                tenant.id
            );
            written(&tenant, &words, screen)
        }
        TenantsCommand::List(asked) => list(&asked, client, screen).await,
        TenantsCommand::Show { id } => {
            let tenant = client.tenant(&id).await?;
            if screen.is_json() {
                screen.json(&tenant)?;
            } else {
                screen.line(tenant_page(&tenant, now()))?;
            }
            Ok(Exit::Done)
        }
        TenantsCommand::Update(asked) => {
            let tenant = client.update_tenant(&asked.id, &asked.patch(), asked.if_version).await?;
            let words = if asked.disable {
                format!(
                    "tenant {} is disabled: no job starts, no schedule fires and no webhook is sent; within five seconds its keys \
                     are rejected and its running attempts are stopped",
                    tenant.id
                )
            } else {
                format!("tenant {} is now at version {}", tenant.id, tenant.version)
            };
            written(&tenant, &words, screen)
        }
        TenantsCommand::Delete(asked) => delete(&asked, client, screen).await,
        TenantsCommand::RotateSecret(asked) => {
            let secret =
                client.rotate_tenant_secret(&asked.id, &RotateSecretDocument { overlap: asked.overlap }).await?;
            if screen.is_json() {
                screen.json(&secret)?;
            } else {
                screen.line(&secret.secret)?;
                for (what, secret) in
                    [("targets verify with", &secret.push_secret), ("callbacks verify with", &secret.callback_secret)]
                {
                    if let Some(secret) = secret {
                        screen.talk(format!("{what} {secret}"));
                    }
                }
                screen.talk("these secrets are not shown again");
            }
            Ok(Exit::Done)
        }
        TenantsCommand::DeleteSecret { id } => {
            client.delete_tenant_secret(&id).await?;
            screen.talk(format!("requests of tenant {id} are no longer signed"));
            Ok(Exit::Done)
        }
    }
}

fn new_tenant(id: &str, patch: Map<String, Value>) -> anyhow::Result<NewTenantDocument> {
    let mut whole = patch;
    // There is nothing yet that `default` could set back.
    if let Some(Value::Object(limits)) = whole.get_mut("limits") {
        limits.retain(|_, value| !value.is_null());
    }
    whole.insert("id".into(), id.into());
    Ok(serde_json::from_value(whole.into())?)
}

fn written(tenant: &TenantDocument, words: &str, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(tenant)?;
    } else {
        screen.line(&tenant.id)?;
        screen.talk(words);
    }
    Ok(Exit::Done)
}

async fn list(asked: &ListTenants, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let wanted = if asked.all { usize::MAX } else { asked.limit.get() };
    let found = gather(wanted, async |limit, after| Ok(client.tenants(limit, after).await?)).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else {
        screen.line(tenant_list(screen, &found.items, now()))?;
        if found.next.is_some() {
            screen.talk(format!("showing the first {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}

async fn delete(asked: &DeleteTenants, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    if asked.ids.len() > 1 && asked.if_version.is_some() {
        return Err(usage("--if-version works only with a single tenant"));
    }
    for id in &asked.ids {
        client.delete_tenant(id, asked.if_version).await?;
        screen.talk(format!("tenant {id} and its keys deleted; the id cannot be reused"));
    }
    Ok(Exit::Done)
}
