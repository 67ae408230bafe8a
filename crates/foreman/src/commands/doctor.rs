//! `foreman doctor`: examines the store, and Kafka and Redis where there are any, and reports what needs attention and how to fix it.
//!
//! It reads only, and beside a server that may be running. Exit code 0 when nothing needs attention, 1 when something does.

mod kafka;
#[cfg(test)]
mod planted;
mod postgres;
mod redis;
mod sqlite;

use std::time::Duration;

use comfy_table::{Cell, Color};
use foreman_core::duration::Span;
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
    /// What to do; `None` when there is nothing to do.
    advice: Option<String>,
    /// Whether it is worth an alarm; advice may also be about what could be better.
    is_fine: bool,
}

impl Finding {
    fn fine(about: &'static str, found: impl Into<String>) -> Self {
        Self { about, found: found.into(), advice: None, is_fine: true }
    }

    /// Fine, and could be better.
    fn hint(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::fine(about, found) }
    }

    fn alarm(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { is_fine: false, ..Self::hint(about, found, advice) }
    }

    /// Fine unless `doubtful`, and then what to do.
    fn judged(about: &'static str, found: impl Into<String>, doubtful: bool, advice: impl FnOnce() -> String) -> Self {
        if doubtful { Self::alarm(about, found, advice()) } else { Self::fine(about, found) }
    }
}

pub fn run(doctor: &Doctor, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    let settings = config::load_store(&doctor.flags, environment)?.settings;
    let findings = match settings.store {
        StoreKind::Memory => return Err(usage("doctor needs a database, and the store is memory")),
        StoreKind::Sqlite => sqlite::examine(&settings)?,
        StoreKind::Postgres => super::wait_for(async {
            let mut findings = postgres::examine(&settings).await?;
            findings.extend(kafka::examine(&settings).await);
            findings.extend(redis::examine(&settings).await);
            anyhow::Ok(findings)
        })?,
    };
    let is_fine = findings.iter().all(|finding| finding.is_fine);
    if screen.is_json() {
        let items: Vec<Value> = findings
            .iter()
            .map(|it| json!({ "about": it.about, "found": it.found, "ok": it.is_fine, "advice": it.advice }))
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
        format!("version {found}, newer than this binary, which knows up to {known}; still compatible")
    } else {
        format!("version {found}")
    }
}

/// Each kind of pruning is finished every minute or so, and that is noted every ten. Noted last so long ago, it falls behind.
const LONG_UNPRUNED: Duration = Duration::from_hours(1);

/// From the kinds of pruning, and how long ago each was last finished.
fn pruning(kinds: &[(String, Duration)], is_anyone_pruning: bool) -> Finding {
    let behind: Vec<&(String, Duration)> = kinds.iter().filter(|(_, ago)| *ago > LONG_UNPRUNED).collect();
    let found = if kinds.is_empty() {
        "not finished yet".to_owned()
    } else if behind.is_empty() {
        "up to date".to_owned()
    } else {
        let each = behind.iter().map(|(kind, ago)| format!("{kind} {} ago", Span(Duration::from_secs(ago.as_secs()))));
        format!("last finished: {}", each.collect::<Vec<_>>().join(", "))
    };
    Finding::judged("pruning", found, is_anyone_pruning && !behind.is_empty(), || {
        "data past its retention is not being removed: see the log of the leading scheduler and its metric foreman_prune_behind_seconds".into()
    })
}

fn print(findings: &[Finding], screen: &Screen) -> anyhow::Result<()> {
    let mut table = Table::new(screen, &["", "check", "result"]);
    for finding in findings {
        // Never by colour alone: the word is there too.
        let (word, colour) = if finding.is_fine { ("ok", Color::Green) } else { ("warn", Color::Red) };
        let word = if screen.is_coloured() { Cell::new(word).fg(colour) } else { Cell::new(word) };
        table.row(vec![word, Cell::new(finding.about), Cell::new(&finding.found)]);
    }
    screen.line(table)?;
    let (hints, alarms): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().filter(|finding| finding.advice.is_some()).partition(|finding| finding.is_fine);
    if alarms.is_empty() {
        screen.line("\nnothing needs attention")?;
    }
    for (title, findings) in [("To do:", alarms), ("Suggestions:", hints)] {
        if findings.is_empty() {
            continue;
        }
        screen.line(format!("\n{title}"))?;
        for finding in findings {
            screen.line(format!("  {}: {}", finding.about, finding.advice.as_deref().unwrap_or_default()))?;
        }
    }
    Ok(())
}
