//! `foreman migrate`: brings the store's schema to this version.
//!
//! `foreman dev` does the same when it starts. The other roles refuse an older schema, so that whoever deploys decides when it
//! changes: first this, then the roles. Any number may migrate at once; one does it, the others wait and find nothing to do.

use anyhow::Context as _;
use comfy_table::Cell;
use foreman_core::Timestamp;
use serde_json::{Value, json};

use crate::cli::{Migrate, MigrateCommand};
use crate::compose::clock;
use crate::config::{self, Environment, Settings, StoreKind, without_password};
use crate::exit::{Exit, usage};
use crate::render::{Screen, Table};

/// One migration of either store.
struct Known {
    version: i64,
    name: String,
    applied_at: Option<Timestamp>,
}

pub fn run(given: &Migrate, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    let settings = config::load_store(&given.flags, environment)?.settings;
    if settings.store == StoreKind::Memory {
        return Err(usage("there is nothing to migrate: the store is memory"));
    }
    let known = known(&settings)?;
    if given.command == Some(MigrateCommand::Status) {
        return status(&known, screen);
    }
    let place = place(&settings);
    let waiting: Vec<&Known> = known.iter().filter(|it| it.applied_at.is_none()).collect();
    if given.dry_run {
        if screen.is_json() {
            let waiting: Vec<Value> = waiting.iter().map(|it| row(it)).collect();
            screen.json(&json!({ "would_apply": waiting }))?;
        } else if waiting.is_empty() {
            screen.talk(format!("{place} is up to date"));
        } else {
            for it in waiting {
                screen.line(format!("would apply {} {}", it.version, it.name))?;
            }
        }
        return Ok(Exit::Done);
    }
    let applied = up(&settings)?;
    if screen.is_json() {
        screen.json(&json!({ "applied": applied }))?;
    } else if applied.is_empty() {
        screen.talk(format!("{place} is up to date"));
    } else {
        for it in known.iter().filter(|it| applied.contains(&it.version)) {
            screen.line(format!("applied {} {}", it.version, it.name))?;
        }
    }
    Ok(Exit::Done)
}

fn known(settings: &Settings) -> anyhow::Result<Vec<Known>> {
    if settings.store == StoreKind::Postgres {
        let config = database(settings)?;
        let known = super::wait_for(async { Ok(foreman_postgres::migrate::status(&config).await?) })?;
        let same = |it: foreman_postgres::migrate::Status| Known {
            version: it.version,
            name: it.name.to_owned(),
            applied_at: it.applied_at,
        };
        return Ok(known.into_iter().map(same).collect());
    }
    let known = foreman_sqlite::migrate::status(&settings.sqlite.path)?;
    let same = |it: foreman_sqlite::migrate::Status| Known {
        version: it.version,
        name: it.name.to_owned(),
        applied_at: it.applied_at,
    };
    Ok(known.into_iter().map(same).collect())
}

fn up(settings: &Settings) -> anyhow::Result<Vec<i64>> {
    if settings.store == StoreKind::Postgres {
        let config = database(settings)?;
        return super::wait_for(async { Ok(foreman_postgres::migrate::up(&config).await?) });
    }
    Ok(foreman_sqlite::migrate::up(&settings.sqlite, clock().as_ref())?)
}

fn database(settings: &Settings) -> anyhow::Result<foreman_postgres::Config> {
    settings.postgres("migrate").context("no database is named")
}

/// Where it is, for people.
fn place(settings: &Settings) -> String {
    match (&settings.database.url, settings.store) {
        (Some(url), StoreKind::Postgres) => without_password(url.reveal()),
        _ => settings.sqlite.path.display().to_string(),
    }
}

fn status(known: &[Known], screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        let rows: Vec<Value> = known.iter().map(row).collect();
        screen.json(&json!({ "items": rows, "next": null }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(screen, &["version", "name", "applied"]);
    for it in known {
        let applied = it.applied_at.map_or_else(|| "waits".into(), |time| time.to_string());
        table.row(vec![Cell::new(it.version), Cell::new(&it.name), Cell::new(applied)]);
    }
    screen.line(table)?;
    Ok(Exit::Done)
}

fn row(it: &Known) -> Value {
    json!({ "version": it.version, "name": it.name, "applied_at": it.applied_at })
}
