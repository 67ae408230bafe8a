//! `foreman keys`.

use foreman_client::{Client, MadeKeyDocument, NewKeyDocument, RotateKeyDocument};

use super::gather::gather;
use crate::cli::{KeysCommand, ListKeys};
use crate::exit::Exit;
use crate::render::{Screen, key_list, now};

pub async fn run(command: KeysCommand, tenant: &str, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    match command {
        KeysCommand::Create(asked) => {
            let new = NewKeyDocument {
                name: asked.name,
                scopes: asked.scopes,
                expires_at: asked.expiry.expires_at,
                expires_in: asked.expiry.expires_in,
            };
            let made = client.create_key(tenant, &new).await?;
            let words =
                format!("created key {} of tenant {tenant} with the scopes {}", made.about.id, made.about.scopes);
            shown_once(&made, &words, screen)
        }
        KeysCommand::List(asked) => list(&asked, tenant, client, screen).await,
        KeysCommand::Revoke { ids } => {
            for id in &ids {
                client.revoke_key(tenant, id).await?;
                screen.talk(format!("key {id} revoked; takes effect everywhere within five seconds"));
            }
            Ok(Exit::Done)
        }
        KeysCommand::Rotate(asked) => {
            let how = RotateKeyDocument {
                grace: asked.grace,
                expires_at: asked.expiry.expires_at,
                expires_in: asked.expiry.expires_in,
            };
            let made = client.rotate_key(tenant, &asked.id, &how).await?;
            let until = made.replaces.as_ref().and_then(|old| old.expires_at);
            let until = until.map_or_else(String::new, |time| format!(", which stays valid until {time}"));
            let words = format!("key {} replaces {}{until}", made.about.id, asked.id);
            shown_once(&made, &words, screen)
        }
    }
}

fn shown_once(made: &MadeKeyDocument, words: &str, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(made)?;
    } else {
        screen.line(&made.key)?;
        screen.talk(format!("{words}; the key is not shown again"));
    }
    Ok(Exit::Done)
}

async fn list(asked: &ListKeys, tenant: &str, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let wanted = if asked.all { usize::MAX } else { asked.limit.get() };
    let found = gather(wanted, async |limit, after| Ok(client.keys(tenant, limit, after).await?)).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk(format!("tenant {tenant} has no keys; create one with `foreman keys create`"));
    } else {
        screen.line(key_list(screen, &found.items, now()))?;
        if found.next.is_some() {
            screen.talk(format!("showing the first {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}
