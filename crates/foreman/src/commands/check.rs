//! `foreman check`: what is in force and where it came from; with `--deep`, whether every job is in exactly one place.

use std::sync::Arc;

use anyhow::Context as _;
use comfy_table::Cell;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Census, JobQuery as _};
use foreman_core::tenant::TenantLimits;
use foreman_postgres::PostgresStore;
use serde_json::{Map, Value, json};

use crate::cli::Check;
use crate::config::{self, Environment, Loaded, Settings, StoreKind};
use crate::exit::{Exit, usage};
use crate::open_files;
use crate::render::{Screen, Table};
use crate::role::Role;

pub fn run(check: &Check, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    if check.deep {
        return deep(&config::load_store(&check.flags, environment)?.settings, screen);
    }
    let loaded = config::load(&check.flags, environment, Role::Dev)?;
    let warnings = config::warnings(&loaded.settings, open_files::raise());
    let notes = notes(check, environment);
    if screen.is_json() {
        screen.json(&document(&loaded, &warnings, &notes))?;
    } else {
        let mut table = Table::new(screen, &["setting", "value", "from"]);
        for setting in config::known() {
            let origin = loaded.origin(&setting).to_string();
            table.row(vec![Cell::new(setting.path), Cell::new(setting.show(&loaded.settings)), Cell::new(origin)]);
        }
        screen.line(table)?;
        for note in &notes {
            screen.talk(format!("note: {note}"));
        }
        for warning in &warnings {
            screen.talk(format!("warning: {warning}"));
        }
    }
    Ok(Exit::Done)
}

/// What is in force elsewhere than under `foreman dev`, whose settings are shown.
fn notes(check: &Check, environment: &Environment) -> Vec<String> {
    let Ok(Loaded { settings, .. }) = config::load(&check.flags, environment, Role::Api) else { return Vec::new() };
    let (own, every) = (&settings.own_limits, &settings.tenant_limits);
    let listed = |limits: &TenantLimits| {
        let Ok(Value::Object(limits)) = serde_json::to_value(limits) else { return String::new() };
        limits.iter().map(|(name, limit)| format!("{name} {limit}")).collect::<Vec<_>>().join(", ").replace('"', "")
    };
    let mut notes = vec![format!("`foreman api` limits each tenant to: {}", listed(every))];
    if own != every {
        notes.push(format!(
            "without FOREMAN_ADMIN_KEY, `foreman api` limits the tenant `default` only to: {}",
            listed(own)
        ));
    }
    notes
}

fn document(loaded: &Loaded, warnings: &[String], notes: &[String]) -> Value {
    let settings: Map<String, Value> = config::known()
        .iter()
        .map(|setting| {
            let (value, from) = (setting.show(&loaded.settings), loaded.origin(setting).to_string());
            (setting.path.to_owned(), json!({ "value": value, "from": from }))
        })
        .collect();
    json!({ "settings": settings, "warnings": warnings, "notes": notes })
}

/// Reads the whole store, beside servers that may be running on it.
fn deep(settings: &Settings, screen: &Screen) -> anyhow::Result<Exit> {
    let audit = match settings.store {
        StoreKind::Memory => return Err(usage("--deep needs a database, and the store is memory")),
        StoreKind::Sqlite => {
            let path = &settings.sqlite.path;
            if !path.exists() {
                return Err(usage(format!("{} does not exist; check --data-dir", path.display())));
            }
            foreman_sqlite::census_of_file(path)?
        }
        StoreKind::Postgres => super::wait_for(audit_postgres(settings))?,
    };
    if screen.is_json() {
        screen.json(&json!({
            "jobs": audit.jobs, "ready": audit.ready, "held": audit.held, "outcomes": audit.outcomes,
            "violations": audit.violations, "clean": audit.is_clean(),
        }))?;
    } else {
        screen.line(format!(
            "{} jobs: {} waiting, {} held, {} finished",
            audit.jobs, audit.ready, audit.held, audit.outcomes
        ))?;
        for violation in &audit.violations {
            screen.line(violation)?;
        }
        screen.line(if audit.is_clean() {
            "every job is in exactly one place"
        } else {
            "NOT every job is in exactly one place"
        })?;
    }
    Ok(if audit.is_clean() { Exit::Done } else { Exit::Failed })
}

async fn audit_postgres(settings: &Settings) -> anyhow::Result<Census> {
    let config = settings.postgres("check").context("no database is configured: set DATABASE_URL")?;
    // Nobody listens to what a look might ring.
    let store = PostgresStore::open(config, Arc::new(LocalWakeups::new())).await?;
    let audit = store.census().await;
    store.close();
    Ok(audit?)
}
