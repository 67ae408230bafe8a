//! `foreman doctor`: looks at the store, and says what needs attention and what to do about it.
//!
//! It reads only, and beside a server that may be running. Exit code 0 when nothing needs attention, 1 when something does.

mod postgres;
mod sqlite;

use comfy_table::{Cell, Color};
use serde_json::{Value, json};

use crate::cli::Doctor;
use crate::config::{self, Environment, StoreKind};
use crate::exit::{Exit, usage};
use crate::render::{Screen, Table};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// What was looked at, in a word or two.
    about: &'static str,
    found: String,
    /// What to do; `None` when it is fine.
    advice: Option<String>,
}

impl Finding {
    fn fine(about: &'static str, found: impl Into<String>) -> Self {
        Self { about, found: found.into(), advice: None }
    }

    /// Fine unless `doubtful`, and then what to do.
    fn judged(about: &'static str, found: impl Into<String>, doubtful: bool, advice: impl FnOnce() -> String) -> Self {
        Self { about, found: found.into(), advice: doubtful.then(advice) }
    }
}

pub fn run(doctor: &Doctor, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    let settings = config::load_store(&doctor.flags, environment)?.settings;
    let findings = match settings.store {
        StoreKind::Memory => return Err(usage("there is nothing to look at: the store is memory")),
        StoreKind::Sqlite => sqlite::examine(&settings)?,
        StoreKind::Postgres => super::wait_for(postgres::examine(&settings))?,
    };
    let is_fine = findings.iter().all(|finding| finding.advice.is_none());
    if screen.is_json() {
        let items: Vec<Value> = findings
            .iter()
            .map(|it| json!({ "about": it.about, "found": it.found, "ok": it.advice.is_none(), "advice": it.advice }))
            .collect();
        screen.json(&json!({ "ok": is_fine, "findings": items }))?;
    } else {
        print(&findings, screen)?;
    }
    Ok(if is_fine { Exit::Done } else { Exit::Failed })
}

/// A schema that is newer and no longer serves this binary is not looked at in the first place.
fn version(found: i64, known: i64) -> String {
    if found > known {
        format!("version {found}, newer than this binary, which knows up to {known}; it still serves it")
    } else {
        format!("version {found}")
    }
}

fn print(findings: &[Finding], screen: &Screen) -> anyhow::Result<()> {
    let mut table = Table::new(screen, &["", "about", "found"]);
    for finding in findings {
        // Never by colour alone: the word is there too.
        let (word, colour) = if finding.advice.is_some() { ("look", Color::Red) } else { ("ok", Color::Green) };
        let word = if screen.is_coloured() { Cell::new(word).fg(colour) } else { Cell::new(word) };
        table.row(vec![word, Cell::new(finding.about), Cell::new(&finding.found)]);
    }
    screen.line(table)?;
    let advice: Vec<&Finding> = findings.iter().filter(|finding| finding.advice.is_some()).collect();
    if advice.is_empty() {
        screen.line("\nnothing needs attention")?;
    } else {
        screen.line("\nWhat to do:")?;
        for finding in advice {
            screen.line(format!("  {}: {}", finding.about, finding.advice.as_deref().unwrap_or_default()))?;
        }
    }
    Ok(())
}
