//! Tenants, their keys, and who did what.

use std::fmt::Write as _;

use comfy_table::Cell;
use foreman_client::{AuditDocument, KeyDocument, TenantDocument};
use foreman_core::Timestamp;
use serde_json::Value;

use super::job::{cut, relative};
use super::{Screen, Table};

pub fn tenant_list(screen: &Screen, tenants: &[TenantDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["tenant", "state", "weight", "commands", "own limits", "signing", "created"]);
    for tenant in tenants {
        table.row(vec![
            Cell::new(&tenant.id),
            Cell::new(state(tenant)),
            Cell::new(tenant.weight.get()),
            Cell::new(or_dash(cut(&tenant.commands.to_string()))),
            Cell::new(or_dash(cut(&limits(&tenant.limits).join(" ")))),
            Cell::new(if tenant.signs { "yes" } else { "no" }),
            Cell::new(relative(tenant.created_at, now)),
        ]);
    }
    table.to_string()
}

/// One tenant, line by line.
pub fn tenant_page(tenant: &TenantDocument, now: Timestamp) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<26} {value}");
    };
    let when = |time: Timestamp| format!("{time} ({})", relative(time, now));
    field("tenant", tenant.id.clone());
    field("state", state(tenant).into());
    field("version", tenant.version.to_string());
    field("weight", tenant.weight.get().to_string());
    field("commands", or_dash(tenant.commands.to_string()));
    field("variables", or_dash(tenant.variables.to_string()));
    field("signing", if tenant.signs { "yes" } else { "no" }.into());
    let own = limits(&tenant.limits);
    for limit in limits(&tenant.limits_in_force) {
        let (name, value) = limit.split_once('=').unwrap_or((&limit, ""));
        let note = if own.contains(&limit) { " (set for this tenant)" } else { "" };
        field(name, format!("{value}{note}"));
    }
    field("created", when(tenant.created_at));
    if tenant.updated_at != tenant.created_at {
        field("updated", when(tenant.updated_at));
    }
    text.trim_end().to_owned()
}

fn state(tenant: &TenantDocument) -> &'static str {
    if tenant.disabled { "disabled" } else { "enabled" }
}

/// `schedules=7`, in the order of the document.
fn limits(limits: &impl serde::Serialize) -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::to_value(limits) else { return Vec::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.iter().map(|(name, value)| format!("{name}={}", text(value))).collect()
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".into() } else { text }
}

pub fn key_list(screen: &Screen, keys: &[KeyDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["key", "state", "name", "scopes", "created", "expires", "last used"]);
    let when = |time: Option<Timestamp>| time.map_or_else(|| "-".into(), |time| relative(time, now));
    for key in keys {
        table.row(vec![
            Cell::new(&key.id),
            Cell::new(key.state),
            Cell::new(or_dash(cut(&key.name))),
            Cell::new(key.scopes),
            Cell::new(relative(key.created_at, now)),
            Cell::new(when(key.expires_at)),
            Cell::new(when(key.last_used_at)),
        ]);
    }
    table.to_string()
}

pub fn audit_list(screen: &Screen, entries: &[AuditDocument]) -> String {
    let mut table = Table::new(screen, &["time", "tenant", "actor", "action", "object", "status", "client"]);
    for entry in entries {
        table.row(vec![
            Cell::new(entry.at),
            Cell::new(&entry.tenant),
            Cell::new(&entry.actor),
            Cell::new(&entry.action),
            Cell::new(cut(&entry.object)),
            Cell::new(entry.status),
            Cell::new(entry.peer.as_deref().unwrap_or("-")),
        ]);
    }
    table.to_string()
}
