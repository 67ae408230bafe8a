//! Jobs, as a list and one by one.

use std::fmt::Write as _;

use comfy_table::Cell;
use foreman_client::{AttemptDocument, CommandSpec, FailureGroupDocument, JobDocument};
use foreman_core::Timestamp;
use foreman_core::document::Asked;

use super::{Screen, Table, age};

/// What does not fit into a row of a list is in `jobs show`.
const LIST_TEXT: usize = 60;

pub fn job_list(screen: &Screen, jobs: &[JobDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["id", "state", "queue", "target", "attempts", "age", "error"]);
    for job in jobs {
        table.row(vec![
            Cell::new(&job.id),
            table.state(job.state),
            Cell::new(&job.queue),
            Cell::new(cut(&what(&job.asked))),
            Cell::new(format!("{}/{}", job.spent, job.max_attempts)),
            Cell::new(age(job.created_at, now)),
            Cell::new(cut(job.error.as_deref().unwrap_or_default())),
        ]);
    }
    table.to_string()
}

/// Failed and dead jobs by their errors. A number with a plus: at least so many.
pub fn group_list(screen: &Screen, groups: &[FailureGroupDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["group", "state", "jobs", "last", "queue", "kind", "error"]);
    for group in groups {
        table.row(vec![
            Cell::new(group.group.as_deref().unwrap_or("-")),
            table.state(group.state),
            Cell::new(format!("{}{}", group.count, if group.estimate { "+" } else { "" })),
            Cell::new(relative(group.last_at, now)),
            Cell::new(&group.queue),
            Cell::new(group.kind.as_deref().unwrap_or("-")),
            Cell::new(cut(group.error.as_deref().unwrap_or_default())),
        ]);
    }
    table.to_string()
}

/// One job: its fields line by line, then its attempts.
pub fn job_page(screen: &Screen, job: &JobDocument, now: Timestamp) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<16} {value}");
        }
    };
    let when = |time: Timestamp| format!("{time} ({})", relative(time, now));
    let asked = &job.asked;
    field("id", Some(job.id.clone()));
    field("state", Some(job.state.to_string()));
    for hint in &job.hints {
        field("hint", Some(hint.detail.clone()));
    }
    field("error", job.error.clone());
    field("target", Some(what(asked)));
    field("kind", asked.kind.clone().filter(|kind| asked.task.as_ref() != Some(kind)));
    field("queue", Some(job.queue.clone()));
    field("priority", Some(job.priority.to_string()));
    field(
        "attempts",
        Some(format!("{} of {} used, the latest is number {}", job.spent, job.max_attempts, job.attempt)),
    );
    field("crashes", (job.crashes > 0).then(|| job.crashes.to_string()));
    field("timeout", asked.timeout.map(|span| span.to_string()));
    field("created", Some(when(job.created_at)));
    field("run at", (job.run_at != job.created_at).then(|| when(job.run_at)));
    field("expires", asked.expires_at.map(when));
    field("started", job.started_at.map(when));
    field("finished", job.finished_at.map(when));
    field("tags", (!asked.tags.is_empty()).then(|| asked.tags.join(", ")));
    field("correlation", asked.correlation_id.clone());
    field("idempotency key", asked.idempotency_key.clone());
    field("callback", asked.callback_url.clone());
    field("headers", asked.headers.as_ref().filter(|it| !it.is_empty()).map(pairs));
    field("env", asked.env.as_ref().filter(|it| !it.is_empty()).map(pairs));
    field("cwd", asked.cwd.clone());
    field("payload", asked.payload.as_ref().map(ToString::to_string));
    field("body", asked.body.as_ref().map(|body| format!("{body:?}")));
    if let Some(attempts) = job.attempts.as_ref().filter(|attempts| !attempts.is_empty()) {
        let _ = write!(text, "\n{}", attempt_table(screen, attempts, now));
        let total = job.attempts_total.unwrap_or_default();
        if total > attempts.len() as u64 {
            let _ = write!(text, "\nshowing the latest {} of {total} attempts", attempts.len());
        }
    }
    text.trim_end().to_owned()
}

fn attempt_table(screen: &Screen, attempts: &[AttemptDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["attempt", "outcome", "started", "took", "worker", "fence", "result"]);
    for attempt in attempts {
        table.row(vec![
            Cell::new(attempt.number),
            Cell::new(attempt.outcome.map_or("running", foreman_core::outcome::AttemptOutcome::as_str)),
            Cell::new(attempt.started_at.map_or_else(String::new, |time| relative(time, now))),
            Cell::new(took(attempt)),
            Cell::new(attempt.worker.as_deref().unwrap_or_default()),
            Cell::new(attempt.fence.map_or_else(String::new, |fence| fence.to_string())),
            Cell::new(cut(&came_back(attempt))),
        ]);
    }
    table.to_string()
}

fn took(attempt: &AttemptDocument) -> String {
    let measured = attempt.duration_ms.map(std::time::Duration::from_millis);
    let between = attempt.started_at.zip(attempt.finished_at).map(|(from, to)| to.since(from));
    measured.or(between).map_or_else(String::new, super::elapsed)
}

fn came_back(attempt: &AttemptDocument) -> String {
    if let Some(error) = &attempt.error {
        return error.clone();
    }
    if let Some(response) = &attempt.response {
        return format!("status {} {}", response.status, response.body);
    }
    match &attempt.output {
        Some(output) => match (output.exit_code, output.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => String::new(),
        },
        None => String::new(),
    }
}

/// What the job does, in one line.
pub fn what(asked: &Asked) -> String {
    match (&asked.url, &asked.command, &asked.task) {
        (Some(url), _, _) => match asked.method.as_deref() {
            None | Some("POST") => url.clone(),
            Some(method) => format!("{method} {url}"),
        },
        (None, Some(CommandSpec::Shell(line)), _) => line.clone(),
        (None, Some(CommandSpec::Argv(argv)), _) => argv.join(" "),
        (None, None, Some(task)) => format!("task {task}"),
        // Only Foreman's own jobs name no target of their own.
        (None, None, None) => "webhook delivery".into(),
    }
}

pub(super) fn relative(time: Timestamp, now: Timestamp) -> String {
    if time > now { age(time, now) } else { format!("{} ago", age(time, now)) }
}

fn pairs(map: &std::collections::BTreeMap<String, String>) -> String {
    map.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn cut(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.chars().count() <= LIST_TEXT {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(LIST_TEXT - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_becomes_one_line_that_shows_it_was_cut() {
        assert_eq!(cut("one\ntwo"), "one two");
        let long = cut(&"ä".repeat(100));
        assert_eq!(long.chars().count(), LIST_TEXT);
        assert!(long.ends_with('…'));
    }
}
