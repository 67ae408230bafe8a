//! `foreman webhooks`.

use std::time::Duration;

use foreman_client::{Client, DeliveryDocument, RotateSecretDocument, WebhookDocument};
use foreman_core::State;
use tokio::time::{Instant, sleep};

use super::gather::gather;
use crate::cli::{Deliveries, ListWebhooks, TestWebhook, WebhooksCommand};
use crate::exit::Exit;
use crate::render::{Screen, delivery_list, delivery_page, now, webhook_list, webhook_page};

/// Between two looks at a delivery that is on its way.
const PAUSE: Duration = Duration::from_millis(200);

pub async fn run(command: WebhooksCommand, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    match command {
        WebhooksCommand::Create(asked) => {
            let made = client.create_webhook(&asked.into()).await?;
            shown_once(&made, &format!("the signing secret of webhook {}", made.id), screen)
        }
        WebhooksCommand::List(asked) => list(&asked, client, screen).await,
        WebhooksCommand::Show { id } => show(&client.webhook(&id).await?, screen),
        WebhooksCommand::Update(asked) => {
            let webhook = client.update_webhook(&asked.id, &asked.patch(), asked.if_version).await?;
            if screen.is_json() {
                screen.json(&webhook)?;
            } else {
                screen.talk(format!("webhook {} is now at version {}", webhook.id, webhook.version));
            }
            Ok(Exit::Done)
        }
        WebhooksCommand::Delete { ids } => {
            for id in &ids {
                client.delete_webhook(id).await?;
                screen.talk(format!("webhook {id} deleted; its pending deliveries are cancelled"));
            }
            Ok(Exit::Done)
        }
        WebhooksCommand::RotateSecret(asked) => {
            let how = RotateSecretDocument { overlap: asked.overlap };
            let webhook = client.rotate_webhook_secret(&asked.id, &how).await?;
            shown_once(
                &webhook,
                &format!(
                    "the new signing secret of webhook {}; the old one stays in use during the overlap",
                    webhook.id
                ),
                screen,
            )
        }
        WebhooksCommand::Deliveries(asked) => deliveries(&asked, client, screen).await,
        WebhooksCommand::Delivery { webhook, delivery } => {
            tell_delivery(&client.delivery(&webhook, &delivery).await?, screen)
        }
        WebhooksCommand::Resend { webhook, delivery } => {
            let sent = client.resend_delivery(&webhook, &delivery).await?;
            if screen.is_json() {
                screen.json(&sent)?;
            } else {
                screen.line(&sent.id)?;
                screen.talk(format!("sending again; see: foreman webhooks delivery {webhook} {}", sent.id));
            }
            Ok(Exit::Done)
        }
        WebhooksCommand::Test(asked) => test(&asked, client, screen).await,
    }
}

/// Its secret is in this answer and in no other.
fn shown_once(webhook: &WebhookDocument, words: &str, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(webhook)?;
    } else {
        screen.line(webhook.secret.as_deref().unwrap_or_default())?;
        screen.talk(format!("{words}; it is not shown again. Subscribed to: {}", webhook.events.join(", ")));
    }
    Ok(Exit::Done)
}

fn show(webhook: &WebhookDocument, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(webhook)?;
    } else {
        screen.line(webhook_page(webhook, now()))?;
    }
    Ok(Exit::Done)
}

async fn list(asked: &ListWebhooks, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let found = gather(asked.limit.get(), async |limit, after| Ok(client.webhooks(limit, after).await?)).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no webhooks yet; create one with `foreman webhooks create`");
    } else {
        screen.line(webhook_list(screen, &found.items, now()))?;
    }
    Ok(Exit::Done)
}

async fn deliveries(asked: &Deliveries, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let page = async |limit, after: Option<&str>| Ok(client.deliveries(&asked.webhook, limit, after).await?);
    let found = gather(asked.limit.get(), page).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no deliveries yet");
    } else {
        screen.line(delivery_list(screen, &found.items, now()))?;
    }
    Ok(Exit::Done)
}

fn tell_delivery(delivery: &DeliveryDocument, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(delivery)?;
    } else {
        screen.line(delivery_page(screen, delivery, now()))?;
    }
    Ok(Exit::Done)
}

/// Done is that it arrived; a first try that failed is told at once, though more may follow.
async fn test(asked: &TestWebhook, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut sent = client.test_webhook(&asked.id).await?;
    let deadline = Instant::now() + asked.timeout.0;
    while !asked.no_wait && !was_tried(&sent) && Instant::now() < deadline {
        sleep(PAUSE).await;
        sent = client.delivery(&asked.id, &sent.id).await?;
    }
    tell_delivery(&sent, screen)?;
    Ok(match sent.state {
        _ if asked.no_wait => Exit::Done,
        Some(State::Completed) => Exit::Done,
        _ if was_tried(&sent) => Exit::Failed,
        _ => Exit::TimedOut,
    })
}

fn was_tried(delivery: &DeliveryDocument) -> bool {
    delivery.state.is_none_or(|state| state.is_final() || state == State::Retrying)
}
