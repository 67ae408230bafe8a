//! `foreman schedules import`: the lines of a crontab become schedules.
//!
//! Every line is judged before anything is written. Each schedule is put by its name, so an import that broke off, or that is done
//! again after the crontab was changed, ends with the same schedules; those of lines that are gone stay, for nobody said that they go.

use comfy_table::Cell;
use foreman_client::{Client, ScheduleSpec, Timestamp};
use foreman_core::TenantId;
use foreman_core::limits::Limits;
use foreman_core::schedule::Judge as _;
use serde::Serialize;

use crate::cli::Import;
use crate::commands::job;
use crate::crontab::{self, CrontabEntry, LineRemark};
use crate::exit::{Exit, usage};
use crate::render::{Screen, Table, now, what};

/// A line that can be written.
#[derive(Serialize)]
struct Understood {
    line: usize,
    description: String,
    next_fire_at: Option<Timestamp>,
    remarks: Vec<String>,
    /// Whether it was created or replaced; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<&'static str>,
    schedule: ScheduleSpec,
}

pub async fn run(asked: &Import, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let given = if asked.file == "-" { "-".to_owned() } else { format!("@{}", asked.file) };
    let text = job::contents(given, "import")?;
    let read = crontab::read(&text, asked.system, asked.timezone.as_deref());
    for LineRemark { line, text } in &read.ignored {
        screen.talk(format!("line {line}: {text}"));
    }
    let mut mistakes = read.mistakes;
    let mut understood = Vec::new();
    for entry in read.entries {
        match judge(entry) {
            Ok(entry) => understood.push(entry),
            Err(said) => mistakes.push(said),
        }
    }
    mistakes.sort_by_key(|said| said.line);
    for LineRemark { line, text } in &mistakes {
        screen.talk(format!("line {line}: {text}"));
    }
    if !mistakes.is_empty() && !asked.keep_going {
        if asked.dry_run {
            show(&understood, screen)?;
        }
        let lines = if mistakes.len() == 1 { "a line" } else { "some lines" };
        return Err(usage(format!(
            "{lines} of {} cannot be imported; nothing was written (--keep-going skips such lines)",
            asked.file
        )));
    }
    if !asked.dry_run {
        for entry in &mut understood {
            let schedule = client.replace_schedule(&entry.schedule, None).await.map_err(|error| {
                anyhow::Error::from(error).context(format!("line {}: {}", entry.line, entry.schedule.name))
            })?;
            entry.done = Some(if schedule.version == 1 { "created" } else { "replaced" });
            entry.next_fire_at = schedule.next_fire_at;
        }
    }
    show(&understood, screen)?;
    tell_zone(asked, &understood, screen);
    Ok(if mistakes.is_empty() { Exit::Done } else { Exit::Failed })
}

/// As the server would, with the limits that a server has unless it is set otherwise.
fn judge(entry: CrontabEntry) -> Result<Understood, LineRemark> {
    let now = now();
    let judged = entry.spec.judge(&TenantId::default(), &Limits::default(), now, now);
    let judged = judged.map_err(|invalid| {
        let details: Vec<String> = invalid.mistakes.into_iter().map(|mistake| mistake.detail).collect();
        LineRemark { line: entry.line, text: details.join("; ") }
    })?;
    Ok(Understood {
        line: entry.line,
        description: judged.rule.timing.describe(),
        next_fire_at: judged.rule.first_after(now),
        remarks: entry.remarks,
        done: None,
        schedule: entry.spec,
    })
}

fn show(understood: &[Understood], screen: &Screen) -> anyhow::Result<()> {
    if screen.is_json() {
        return screen.json(&understood);
    }
    if understood.is_empty() {
        screen.talk("nothing to import");
        return Ok(());
    }
    let mut table = Table::new(screen, &["line", "name", "when", "next", "command", "result"]);
    for entry in understood {
        let asked = foreman_core::document::Asked::from(entry.schedule.job.clone());
        table.row(vec![
            Cell::new(entry.line),
            Cell::new(&entry.schedule.name),
            Cell::new(&entry.description),
            Cell::new(entry.next_fire_at.map_or_else(|| "never".into(), |next| next.to_string())),
            Cell::new(what(&asked)),
            Cell::new(entry.done.unwrap_or("not written (dry run)")),
        ]);
    }
    screen.line(table)?;
    for entry in understood {
        for remark in &entry.remarks {
            screen.talk(format!("line {}: {remark}", entry.line));
        }
    }
    Ok(())
}

/// Cron reads a crontab in the zone of its machine; a schedule does not depend on a machine.
fn tell_zone(asked: &Import, understood: &[Understood], screen: &Screen) {
    let is_without = |entry: &Understood| {
        entry.schedule.timezone.is_none() && !entry.schedule.cron.as_deref().unwrap_or_default().starts_with("@every")
    };
    if asked.timezone.is_none() && understood.iter().any(is_without) {
        screen.talk("lines without CRON_TZ are read in UTC; use --timezone to change this");
    }
}
