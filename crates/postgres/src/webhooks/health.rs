//! How deliveries went, and the endpoints that are disabled for it.
//!
//! The rows of the endpoints are locked in the order of their ids, and the notes are judged on what was locked, one after the
//! other: two who note at once wait for each other, as they do for an edit. What changes nothing is not written: an endpoint
//! to which all arrives, or that goes on failing, costs a look.

use std::collections::BTreeMap;

use foreman_core::WebhookId;
use foreman_core::ports::{DeliveryNote, StoreError, Went};
use foreman_core::webhook::{Disabled, PATIENCE, Webhook};
use uuid::Uuid;

use super::{columns, read};
use crate::error::Fault;
use crate::rows::json;
use crate::value::Time;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

pub(crate) const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM webhooks WHERE webhooks.tenant = ANY ($1::text[]) AND webhooks.id = ANY ($2::uuid[]) AND webhooks.enabled
    ORDER BY webhooks.id FOR NO KEY UPDATE"
);
/// Health is no edit: whoever has seen the endpoint may still change it.
pub(crate) const NOTE: &str = "UPDATE webhooks SET failing_since = noted.failing_since
    FROM unnest($1::uuid[], $2::timestamptz[]) AS noted (id, failing_since) WHERE webhooks.id = noted.id";
/// This is one: nobody enables it again without having seen that.
pub(crate) const DISABLE: &str = concat!(
    "UPDATE webhooks
    SET settings = disabled.settings, enabled = false, version = version + 1, edited_at = foreman_now(), edited_by = NULL
    FROM unnest($1::uuid[], $2::text[]) AS disabled (id, settings) WHERE webhooks.id = disabled.id
    RETURNING ",
    columns!()
);

pub(super) async fn note(store: &PostgresStore, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    transact!(store, data, Write, |tx| note_all(&tx, notes).await)
}

async fn note_all(tx: &Transaction, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, Fault> {
    let ids: Vec<Uuid> = notes.iter().map(|note| note.webhook.0).collect();
    let tenants: Vec<&str> = notes.iter().map(|note| note.tenant.as_str()).collect();
    let rows = tx.rows(LOCK, &[&tenants, &ids]).await?;
    let mut patients: BTreeMap<WebhookId, Patient> = BTreeMap::new();
    for row in &rows {
        let webhook = read(row)?;
        patients.insert(webhook.id, Patient { was_failing_since: webhook.failing_since, webhook });
    }
    let mut disabled = Vec::new();
    for note in notes {
        if patients.get_mut(&note.webhook).is_some_and(|patient| patient.is_disabled_by(note)) {
            disabled.push(note.webhook);
        }
    }
    write_health(tx, &patients).await?;
    disable(tx, &patients, &disabled).await
}

/// An endpoint that was enabled when its row was locked.
struct Patient {
    webhook: Webhook,
    was_failing_since: Option<foreman_core::Timestamp>,
}

impl Patient {
    fn is_disabled_by(&mut self, note: &DeliveryNote) -> bool {
        let webhook = &mut self.webhook;
        if webhook.tenant != note.tenant || !webhook.settings.is_enabled() {
            return false;
        }
        let why = match note.went {
            Went::Arrived => {
                webhook.failing_since = None;
                return false;
            }
            Went::Gone => Disabled::Gone,
            Went::Failed => {
                let since = *webhook.failing_since.get_or_insert(note.at);
                if note.at < since.plus(PATIENCE) {
                    return false;
                }
                Disabled::Failing
            }
        };
        webhook.settings.disabled = Some(why);
        true
    }
}

async fn write_health(tx: &Transaction, patients: &BTreeMap<WebhookId, Patient>) -> Result<(), Fault> {
    let changed = || patients.values().filter(|patient| patient.webhook.failing_since != patient.was_failing_since);
    let ids: Vec<Uuid> = changed().map(|patient| patient.webhook.id.0).collect();
    let since: Vec<Option<Time>> = changed().map(|patient| patient.webhook.failing_since.map(Time)).collect();
    if !ids.is_empty() {
        tx.rows(NOTE, &[&ids, &since]).await?;
    }
    Ok(())
}

/// As they stand now, in the order in which they were disabled.
async fn disable(
    tx: &Transaction,
    patients: &BTreeMap<WebhookId, Patient>,
    disabled: &[WebhookId],
) -> Result<Vec<Webhook>, Fault> {
    if disabled.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = disabled.iter().map(|id| id.0).collect();
    let settings: Vec<String> = disabled
        .iter()
        .filter_map(|id| patients.get(id))
        .map(|patient| json(&patient.webhook.settings))
        .collect::<Result<_, _>>()?;
    let rows = tx.rows(DISABLE, &[&ids, &settings]).await?;
    let mut webhooks: Vec<Webhook> = rows.iter().map(read).collect::<Result<_, _>>()?;
    webhooks.sort_by_key(|webhook| disabled.iter().position(|id| *id == webhook.id));
    Ok(webhooks)
}
