//! `foreman migrate`: brings the store's schema to this version.
//!
//! `foreman dev` does the same when it starts. The other roles refuse an older schema, so that whoever deploys decides when it
//! changes: first this, then the roles. Any number may migrate at once; one does it, the others wait and find nothing to do.
//! On a schema that a newer binary has made and that still serves this one there is nothing to do, and that is said.

use anyhow::Context as _;
use comfy_table::Cell;
use foreman_core::storage::MigrationStatus as Migration;
use serde_json::{Value, json};

use crate::cli::{Migrate, MigrateCommand};
use crate::compose::clock;
use crate::config::{self, Environment, Settings, StoreKind, without_password};
use crate::exit::{Exit, usage};
use crate::render::{Screen, Table};

pub fn run(given: &Migrate, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    let settings = config::load_store(&given.flags, environment)?.settings;
    if settings.store == StoreKind::Memory {
        return Err(usage("nothing to migrate: the store is memory"));
    }
    let known = known(&settings)?;
    if given.command == Some(MigrateCommand::Status) {
        return status(&known, screen);
    }
    let place = place(&settings);
    let waiting: Vec<&Migration> = known.iter().filter(|it| it.applied_at.is_none()).collect();
    if given.dry_run {
        if screen.is_json() {
            let waiting: Vec<Value> = waiting.iter().map(|it| row(it)).collect();
            screen.json(&json!({ "would_apply": waiting }))?;
        } else if waiting.is_empty() {
            screen.talk(nothing_to_do(&place, &known));
        } else {
            for it in waiting {
                screen.line(format!("would apply {} {}{}", it.version, it.name, consequence(it, &known)))?;
            }
        }
        return Ok(Exit::Done);
    }
    let applied = up(&settings)?;
    if screen.is_json() {
        screen.json(&json!({ "applied": applied }))?;
    } else if applied.is_empty() {
        screen.talk(nothing_to_do(&place, &known));
    } else {
        for it in known.iter().filter(|it| applied.contains(&it.version)) {
            screen.line(format!("applied {} {}", it.version, it.name))?;
        }
    }
    Ok(Exit::Done)
}

fn known(settings: &Settings) -> anyhow::Result<Vec<Migration>> {
    if settings.store == StoreKind::Postgres {
        let config = database(settings)?;
        return super::wait_for(async { Ok(foreman_postgres::migrate::status(&config).await?) });
    }
    Ok(foreman_sqlite::migrate::status(&settings.sqlite.path)?)
}

fn up(settings: &Settings) -> anyhow::Result<Vec<i64>> {
    if settings.store == StoreKind::Postgres {
        let config = database(settings)?;
        return super::wait_for(async { Ok(foreman_postgres::migrate::up(&config).await?) });
    }
    Ok(foreman_sqlite::migrate::up(&settings.sqlite, clock().as_ref())?)
}

fn database(settings: &Settings) -> anyhow::Result<foreman_postgres::Config> {
    settings.postgres("migrate").context("no database is configured: set DATABASE_URL")
}

/// Where it is, for people.
fn place(settings: &Settings) -> String {
    match (&settings.database.url, settings.store) {
        (Some(url), StoreKind::Postgres) => without_password(url.reveal()),
        _ => settings.sqlite.path.display().to_string(),
    }
}

fn nothing_to_do(place: &str, known: &[Migration]) -> String {
    match newer(known) {
        Some(newer) => format!("{place}: nothing to do; {newer}"),
        None => format!("{place} is up to date"),
    }
}

/// That a newer binary was here, and what that means to this one.
fn newer(known: &[Migration]) -> Option<String> {
    let found = known.iter().filter(|it| !it.is_known).map(|it| it.version).max()?;
    let ours = known.iter().filter(|it| it.is_known).map(|it| it.version).max().unwrap_or_default();
    Some(format!(
        "the schema is version {found}, created by a newer foreman; this one knows up to {ours}, and the schema is still compatible"
    ))
}

/// What a migration means to the binaries that run now.
fn consequence(it: &Migration, known: &[Migration]) -> String {
    let now = known.iter().filter(|it| it.applied_at.is_some()).map(|it| it.version).max().unwrap_or_default();
    if (1..it.serves).contains(&now) {
        format!(" (incompatible with binaries that know less than version {}: stop them first)", it.serves)
    } else {
        String::new()
    }
}

fn status(known: &[Migration], screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        let rows: Vec<Value> = known.iter().map(row).collect();
        screen.json(&json!({ "items": rows, "next": null }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(screen, &["version", "name", "applied"]);
    for it in known {
        let mut applied = it.applied_at.map_or_else(|| "pending".into(), |time| time.to_string());
        if !it.is_known {
            applied.push_str(", by a newer foreman");
        }
        table.row(vec![Cell::new(it.version), Cell::new(&it.name), Cell::new(applied)]);
    }
    screen.line(table)?;
    if let Some(newer) = newer(known) {
        screen.talk(newer);
    }
    Ok(Exit::Done)
}

fn row(it: &Migration) -> Value {
    json!({
        "version": it.version,
        "name": it.name,
        "serves": it.serves,
        "applied_at": it.applied_at,
        "known": it.is_known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(version: i64, serves: i64, is_applied: bool, is_known: bool) -> Migration {
        let applied_at = is_applied.then(|| foreman_core::Timestamp::from_micros(0));
        Migration { version, name: "it".into(), serves, applied_at, is_known }
    }

    #[test]
    fn a_migration_that_older_binaries_do_not_survive_says_so_before_it_is_applied() {
        let adds = [one(1, 1, true, true), one(2, 1, false, true)];
        assert_eq!(consequence(&adds[1], &adds), "");
        let takes = [one(1, 1, true, true), one(2, 2, false, true)];
        assert!(consequence(&takes[1], &takes).contains("less than version 2: stop them first"));
        let fresh = [one(1, 1, false, true), one(2, 2, false, true)];
        assert_eq!(consequence(&fresh[1], &fresh), "", "nobody runs on a database without a schema");
    }

    #[test]
    fn a_newer_schema_is_told_apart_from_one_that_is_up_to_date() {
        assert_eq!(nothing_to_do("there", &[one(1, 1, true, true)]), "there is up to date");
        let said = nothing_to_do("there", &[one(1, 1, true, true), one(2, 1, true, false)]);
        assert!(said.contains("is version 2") && said.contains("knows up to 1"), "{said}");
    }
}
