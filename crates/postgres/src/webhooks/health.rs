//! How deliveries went, and the endpoints that are disabled for it.
//!
//! The rows of the endpoints are locked in the order of their ids, and the notes are judged on what was locked, one after the
//! other: two who note at once wait for each other, as they do for an edit. Notes come twice and out of order, and the times of
//! the tries decide; what says nothing new is not written.

use std::collections::BTreeMap;

use foreman_core::ports::{DeliveryNote, Leader, StoreError, Went};
use foreman_core::webhook::{Disabled, PATIENCE, Webhook};
use foreman_core::{Timestamp, WebhookId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::row::{EDITED_BY, columns, read};
use crate::error::Fault;
use crate::rows::{Cells, json};
use crate::upkeep::leads;
use crate::value::Time;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

pub(crate) const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    ", webhooks.well_at FROM webhooks
    WHERE webhooks.tenant = ANY ($1::text[]) AND webhooks.id = ANY ($2::uuid[]) AND webhooks.enabled
    ORDER BY webhooks.id FOR NO KEY UPDATE"
);
/// Health is no edit: whoever has seen the endpoint may still change it.
pub(crate) const NOTE: &str = "UPDATE webhooks SET failing_since = noted.failing_since, well_at = noted.well_at
    FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS noted (id, failing_since, well_at)
    WHERE webhooks.id = noted.id";
/// This is one: nobody enables it again without having seen that.
pub(crate) const DISABLE: &str = concat!(
    "UPDATE webhooks
    SET settings = disabled.settings, enabled = false, version = version + 1, edited_at = foreman_now(), edited_by = NULL
    FROM unnest($1::uuid[], $2::text[]) AS disabled (id, settings) WHERE webhooks.id = disabled.id
    RETURNING ",
    columns!()
);

/// `None` when the leader's term is over.
pub(super) async fn note(
    store: &PostgresStore,
    leader: Option<&Leader>,
    notes: &[DeliveryNote],
) -> Result<Option<Vec<Webhook>>, StoreError> {
    if notes.is_empty() {
        return Ok(Some(Vec::new()));
    }
    transact!(store, data, Write, |tx| match leads(&tx, leader).await {
        Ok(true) => note_all(&tx, notes).await.map(Some),
        Ok(false) => Ok(None),
        Err(fault) => Err(fault),
    })
}

async fn note_all(tx: &Transaction, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, Fault> {
    let ids: Vec<Uuid> = notes.iter().map(|note| note.webhook.0).collect();
    let tenants: Vec<&str> = notes.iter().map(|note| note.tenant.as_str()).collect();
    let rows = tx.rows(LOCK, &[&tenants, &ids]).await?;
    let mut patients: BTreeMap<WebhookId, Patient> = BTreeMap::new();
    for row in &rows {
        match Patient::new(row) {
            Ok(patient) => drop(patients.insert(patient.webhook.id, patient)),
            // Of a later version, which will note how it goes on.
            Err(Fault::Store(StoreError::Damaged(_))) => {}
            Err(fault) => return Err(fault),
        }
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
    /// The latest arrival, or when it was enabled.
    well_at: Option<Timestamp>,
    has_changed: bool,
}

impl Patient {
    /// From a row of [`LOCK`].
    fn new(row: &Row) -> Result<Self, Fault> {
        let webhook = read(row)?;
        let cells = Cells { row, table: "webhooks", id: webhook.id };
        Ok(Self { well_at: cells.maybe_time(EDITED_BY + 1, "well_at")?, webhook, has_changed: false })
    }

    fn is_disabled_by(&mut self, note: &DeliveryNote) -> bool {
        let webhook = &mut self.webhook;
        let is_old = self.well_at.is_some_and(|well_at| note.at <= well_at);
        if webhook.tenant != note.tenant || !webhook.settings.is_enabled() || is_old {
            return false;
        }
        let why = match note.went {
            Went::Arrived => {
                self.well_at = Some(note.at);
                // Unless all of that came after it.
                webhook.failing_since = webhook.failing_since.filter(|since| *since > note.at);
                self.has_changed = true;
                return false;
            }
            Went::Gone => Disabled::Gone,
            Went::Failed => {
                let since = webhook.failing_since.map_or(note.at, |since| since.min(note.at));
                self.has_changed |= webhook.failing_since != Some(since);
                webhook.failing_since = Some(since);
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
    let changed: Vec<&Patient> = patients.values().filter(|patient| patient.has_changed).collect();
    let ids: Vec<Uuid> = changed.iter().map(|patient| patient.webhook.id.0).collect();
    let since: Vec<Option<Time>> = changed.iter().map(|patient| patient.webhook.failing_since.map(Time)).collect();
    let well_at: Vec<Option<Time>> = changed.iter().map(|patient| patient.well_at.map(Time)).collect();
    if !ids.is_empty() {
        tx.rows(NOTE, &[&ids, &since, &well_at]).await?;
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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[DISABLE, LOCK, NOTE];
