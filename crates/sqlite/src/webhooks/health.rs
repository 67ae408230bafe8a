//! How deliveries went, and what that makes of an endpoint.
//!
//! Notes come twice and out of order, and the times of the tries decide: what is older than the moment an endpoint was last
//! known to be well says nothing any more.

use foreman_core::Timestamp;
use foreman_core::ports::{DeliveryNote, Went};
use foreman_core::webhook::{Disabled, PATIENCE, Webhook};
use rusqlite::params;

use super::edit::settings_text;
use super::row::{self, StoredWebhook};
use crate::error::Fault;
use crate::unreadable::Unreadable;
use crate::write::Write;

/// In the order given; the endpoints that this disabled, as they stand now.
pub(super) fn note(write: &Write<'_>, notes: &[DeliveryNote], unreadable: &Unreadable) -> Result<Vec<Webhook>, Fault> {
    let mut disabled = Vec::new();
    for note in notes {
        let stored = row::find_readable(write.sql, &note.tenant, note.webhook, unreadable)?;
        let says_something = |stored: &StoredWebhook| {
            stored.webhook.settings.is_enabled() && stored.well_at.is_none_or(|well_at| note.at > well_at)
        };
        if let Some(stored) = stored.filter(says_something) {
            disabled.extend(note_one(write, stored.webhook, note)?);
        }
    }
    Ok(disabled)
}

/// The endpoint, if this disabled it.
fn note_one(write: &Write<'_>, mut webhook: Webhook, note: &DeliveryNote) -> Result<Option<Webhook>, Fault> {
    let why =
        match note.went {
            Went::Arrived => {
                // Unless all of the failing came after it.
                webhook.failing_since = webhook.failing_since.filter(|since| *since > note.at);
                write
                    .prepared("UPDATE webhooks SET failing_since = ?3, well_at = ?4 WHERE tenant = ?1 AND id = ?2")?
                    .execute((
                    webhook.tenant.as_str(),
                    webhook.id.0,
                    webhook.failing_since.map(Timestamp::as_micros),
                    note.at.as_micros(),
                ))?;
                return Ok(None);
            }
            Went::Gone => Disabled::Gone,
            Went::Failed => {
                let since = webhook.failing_since.map_or(note.at, |since| since.min(note.at));
                // An endpoint that fails goes on failing: most of the time there is nothing to write.
                if webhook.failing_since.replace(since) != Some(since) {
                    write
                        .prepared("UPDATE webhooks SET failing_since = ?3 WHERE tenant = ?1 AND id = ?2")?
                        .execute((webhook.tenant.as_str(), webhook.id.0, since.as_micros()))?;
                }
                if note.at < since.plus(PATIENCE) {
                    return Ok(None);
                }
                Disabled::Failing
            }
        };
    disable(write, webhook, why).map(Some)
}

/// A change like any other, but nobody's edit.
fn disable(write: &Write<'_>, mut webhook: Webhook, why: Disabled) -> Result<Webhook, Fault> {
    webhook.settings.disabled = Some(why);
    webhook.version += 1;
    webhook.edited_at = write.now;
    write
        .prepared(
            "UPDATE webhooks SET version = ?3, edited_at = ?4, edited_by = NULL, settings = ?5
             WHERE tenant = ?1 AND id = ?2",
        )?
        .execute(params![
            webhook.tenant.as_str(),
            webhook.id.0,
            webhook.version,
            webhook.edited_at.as_micros(),
            settings_text(webhook.id, &webhook.settings)?,
        ])?;
    Ok(webhook)
}
