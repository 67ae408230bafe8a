//! Webhooks, and what was sent to them.

use std::fmt::Write as _;

use comfy_table::Cell;
use foreman_client::{DeliveryDocument, WebhookDocument};
use foreman_core::Timestamp;
use foreman_core::webhook::Disabled;

use super::job::{cut, relative};
use super::{Screen, Table, job_page};

pub fn webhook_list(screen: &Screen, webhooks: &[WebhookDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["webhook", "state", "url", "events", "created"]);
    for webhook in webhooks {
        table.row(vec![
            Cell::new(&webhook.id),
            Cell::new(state(webhook, now)),
            Cell::new(cut(&webhook.url)),
            Cell::new(cut(&webhook.events.join(","))),
            Cell::new(relative(webhook.created_at, now)),
        ]);
    }
    table.to_string()
}

/// One endpoint, line by line.
pub fn webhook_page(webhook: &WebhookDocument, now: Timestamp) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<16} {value}");
        }
    };
    let when = |time: Timestamp| format!("{time} ({})", relative(time, now));
    field("webhook", Some(webhook.id.clone()));
    field("state", Some(state(webhook, now)));
    field("url", Some(webhook.url.clone()));
    field("events", Some(webhook.events.join(", ")));
    field("description", Some(webhook.description.clone()).filter(|text| !text.is_empty()));
    field("secrets", Some(webhook.secrets.to_string()));
    field("version", Some(webhook.version.to_string()));
    field("failing since", webhook.failing_since.map(when));
    field("created", Some(when(webhook.created_at)));
    field("updated", (webhook.updated_at != webhook.created_at).then(|| when(webhook.updated_at)));
    text.trim_end().to_owned()
}

fn state(webhook: &WebhookDocument, now: Timestamp) -> String {
    match (webhook.disabled, webhook.failing_since) {
        (Some(Disabled::ByOwner), _) => "disabled".into(),
        (Some(Disabled::Gone), _) => "disabled: the endpoint returned 410".into(),
        (Some(Disabled::Failing), _) => "disabled: deliveries failed for five days".into(),
        (None, Some(since)) => format!("failing since {}", relative(since, now)),
        (None, None) => "enabled".into(),
    }
}

pub fn delivery_list(screen: &Screen, deliveries: &[DeliveryDocument], now: Timestamp) -> String {
    let mut table =
        Table::new(screen, &["delivery", "event", "job", "state", "attempts", "response", "created", "next"]);
    for delivery in deliveries {
        table.row(vec![
            Cell::new(&delivery.id),
            Cell::new(&delivery.event),
            Cell::new(delivery.about.as_deref().unwrap_or("-")),
            delivery.state.map_or_else(|| Cell::new("pruned"), |state| table.state(state)),
            Cell::new(delivery.attempt.map_or_else(|| "-".into(), |attempt| attempt.to_string())),
            Cell::new(answer(delivery)),
            Cell::new(relative(delivery.created_at, now)),
            Cell::new(delivery.next_attempt_at.map_or_else(|| "-".into(), |time| relative(time, now))),
        ]);
    }
    table.to_string()
}

/// One delivery, then the job that it is.
pub fn delivery_page(screen: &Screen, delivery: &DeliveryDocument, now: Timestamp) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<16} {value}");
        }
    };
    field("delivery", Some(delivery.id.clone()));
    field("webhook", Some(delivery.webhook.clone()));
    field("message id", Some(delivery.message_id.clone()));
    field("event", Some(delivery.event.clone()));
    field("job", delivery.about.clone());
    field("state", Some(delivery.state.map_or("unknown: its job was pruned", foreman_core::State::as_str).to_owned()));
    field("attempts", delivery.attempt.map(|attempt| attempt.to_string()));
    field("last response", Some(answer(delivery)).filter(|answer| answer != "-"));
    field("created", Some(relative(delivery.created_at, now)));
    field("next attempt", delivery.next_attempt_at.map(|time| relative(time, now)));
    let mut text = text.trim_end().to_owned();
    if let Some(job) = &delivery.job {
        text.push_str("\n\n");
        text.push_str(&job_page(screen, job, now));
    }
    text
}

fn answer(delivery: &DeliveryDocument) -> String {
    match (delivery.status, &delivery.error) {
        (Some(status), _) => status.to_string(),
        (None, Some(error)) => cut(error),
        (None, None) => "-".into(),
    }
}
