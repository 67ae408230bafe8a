//! `foreman migrate`: brings the database file to this version. The server does the same when it starts.

use comfy_table::Cell;
use foreman_sqlite::migrate;
use serde_json::{Value, json};

use crate::cli::{Migrate, MigrateCommand};
use crate::compose::clock;
use crate::config::{self, Environment, StoreKind};
use crate::exit::{Exit, usage};
use crate::render::{Screen, Table};

pub fn run(given: &Migrate, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    let settings = config::load(&given.flags, environment)?.settings;
    if settings.store == StoreKind::Memory {
        return Err(usage("there is nothing to migrate: the store is memory"));
    }
    let path = &settings.sqlite.path;
    let known = migrate::status(path)?;
    if given.command == Some(MigrateCommand::Status) {
        return status(&known, screen);
    }
    let waiting: Vec<&migrate::Status> = known.iter().filter(|it| it.applied_at.is_none()).collect();
    if given.dry_run {
        if screen.is_json() {
            let waiting: Vec<Value> = waiting.iter().map(|it| row(it)).collect();
            screen.json(&json!({ "would_apply": waiting }))?;
        } else if waiting.is_empty() {
            screen.talk(format!("{} is up to date", path.display()));
        } else {
            for it in waiting {
                screen.line(format!("would apply {} {}", it.version, it.name))?;
            }
        }
        return Ok(Exit::Done);
    }
    let applied = migrate::up(&settings.sqlite, clock().as_ref())?;
    if screen.is_json() {
        screen.json(&json!({ "applied": applied }))?;
    } else if applied.is_empty() {
        screen.talk(format!("{} is up to date", path.display()));
    } else {
        for it in known.iter().filter(|it| applied.contains(&it.version)) {
            screen.line(format!("applied {} {}", it.version, it.name))?;
        }
    }
    Ok(Exit::Done)
}

fn status(known: &[migrate::Status], screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        let rows: Vec<Value> = known.iter().map(row).collect();
        screen.json(&json!({ "items": rows, "next": null }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(screen, &["version", "name", "applied"]);
    for it in known {
        let applied = it.applied_at.map_or_else(|| "waits".into(), |time| time.to_string());
        table.row(vec![Cell::new(it.version), Cell::new(it.name), Cell::new(applied)]);
    }
    screen.line(table)?;
    Ok(Exit::Done)
}

fn row(it: &migrate::Status) -> Value {
    json!({ "version": it.version, "name": it.name, "applied_at": it.applied_at })
}
