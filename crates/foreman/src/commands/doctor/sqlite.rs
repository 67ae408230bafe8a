//! What a file tells of itself.

use std::path::Path;
use std::time::Duration;

use foreman_core::duration::Span;
use foreman_sqlite::{doctor, migrate};

use super::Finding;
use crate::config::Settings;
use crate::exit::usage;
use crate::render::now;

/// A log that is not folded into its file for so long is being kept open by somebody who reads.
const LONG_LOG: u64 = 256 << 20;
/// A job that could run and did not for so long: there are too few slots, or nobody runs at all.
const LONG_WAIT: Duration = Duration::from_mins(5);

pub(super) fn examine(settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let path = &settings.sqlite.path;
    if !path.exists() {
        return Err(usage(format!("{} does not exist; check --data-dir", path.display())));
    }
    let known = migrate::status(path)?;
    let waiting: Vec<String> =
        known.iter().filter(|it| it.applied_at.is_none()).map(|it| it.version.to_string()).collect();
    let mut findings = vec![Finding::fine("file", path.display().to_string())];
    if !waiting.is_empty() {
        findings.push(Finding::judged("schema", format!("missing migrations: {}", waiting.join(", ")), true, || {
            "start `foreman dev`, which migrates on start, or run `foreman migrate`".into()
        }));
        return Ok(findings);
    }
    let facts = doctor::examine(path, now())?;
    let newest = known.last().map_or(0, |it| it.version);
    findings.push(Finding::fine("schema", super::version(newest, migrate::LATEST)));
    findings.push(Finding::fine("size", size(facts.bytes)));
    findings.push(Finding::judged("log", size(facts.wal_bytes), facts.wal_bytes > LONG_LOG, || {
        "a long-running reader, such as a backup, prevents a checkpoint of the write-ahead log: wait for it to finish, or end it".into()
    }));
    findings.push(match foreman_sqlite::shared_file_system(path) {
        Some(kind) => Finding::alarm("file system", kind, crate::config::LOCAL_DISK),
        None => Finding::fine("file system", "local"),
    });
    findings.push(Finding::fine(
        "in use by",
        match facts.last_holder {
            Some(pid) if lives(pid) => format!("process {pid}"),
            _ => "no process".into(),
        },
    ));
    let is_running = facts.last_holder.is_some_and(lives);
    let pruned: Vec<_> = facts.pruned.iter().map(|(kind, at)| (kind.clone(), now().since(*at))).collect();
    findings.push(super::pruning(&pruned, is_running));
    findings.push(Finding::fine("jobs", format!("{} waiting, {} held", facts.waiting, facts.held)));
    let oldest = facts.oldest_due.map(|due| now().since(due));
    findings.push(Finding::judged(
        "oldest due job",
        oldest.map_or_else(|| "none".into(), |wait| format!("waiting for {}", Span(whole(wait)))),
        oldest.is_some_and(|wait| wait > LONG_WAIT),
        || "start `foreman dev`, give it more slots (--slots), or check which queues it serves (--queues)".into(),
    ));
    Ok(findings)
}

/// Where the system tells; elsewhere nobody does.
fn lives(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn whole(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
