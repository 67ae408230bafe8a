//! Schedules, their ticks and their previews.

use std::fmt::Write as _;

use comfy_table::Cell;
use foreman_client::{PreviewItem, ScheduleDocument, TickDocument, TickReason, TickState};
use foreman_core::Timestamp;
use foreman_core::document::Asked;

use super::job::{cut, relative, what};
use super::{Screen, Table};

pub fn schedule_list(screen: &Screen, schedules: &[ScheduleDocument], now: Timestamp) -> String {
    let mut table = Table::new(screen, &["name", "state", "when", "next", "last", "target"]);
    for schedule in schedules {
        table.row(vec![
            Cell::new(&schedule.name),
            Cell::new(schedule.state.as_str()),
            Cell::new(cut(&schedule.description)),
            Cell::new(schedule.next_fire_at.map_or_else(|| "-".into(), |next| relative(next, now))),
            Cell::new(schedule.last_tick.as_ref().map_or_else(|| "-".into(), |tick| last(tick, now))),
            Cell::new(cut(&what(&Asked::from(schedule.job.clone())))),
        ]);
    }
    table.to_string()
}

/// One schedule, line by line.
pub fn schedule_page(schedule: &ScheduleDocument, now: Timestamp) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<16} {value}");
        }
    };
    let when = |time: Timestamp| format!("{time} ({})", relative(time, now));
    field("name", Some(schedule.name.clone()));
    field("id", Some(schedule.id.clone()));
    field("state", Some(schedule.state.as_str().into()));
    field("version", Some(schedule.version.to_string()));
    field("when", Some(schedule.description.clone()));
    field("cron", schedule.cron.clone());
    field("every", schedule.every.map(|span| span.to_string()));
    field("at", schedule.at.map(|time| time.to_string()));
    field("timezone", schedule.timezone.clone());
    field("next fire", schedule.next_fire_at.map(when));
    field("held tick", schedule.held_for.map(when));
    field("last tick", schedule.last_tick.as_ref().map(|tick| format!("{}: {}", when(tick.nominal), became(tick))));
    field("job", Some(what(&Asked::from(schedule.job.clone()))));
    field("queue", schedule.job.queue.clone());
    field("missed", schedule.missed.as_ref().map(word));
    field("missed max", schedule.missed_max.map(|most| most.to_string()));
    field("overlap", schedule.overlap.as_ref().map(word));
    field("dst gap", schedule.dst_gap.as_ref().map(word));
    field("dst overlap", schedule.dst_overlap.as_ref().map(word));
    field("jitter", schedule.jitter.map(|span| span.to_string()));
    field("start at", schedule.start_at.map(|time| time.to_string()));
    field("end at", schedule.end_at.map(|time| time.to_string()));
    field("created", Some(when(schedule.created_at)));
    field("updated", (schedule.updated_at != schedule.created_at).then(|| when(schedule.updated_at)));
    text.trim_end().to_owned()
}

pub fn tick_list(screen: &Screen, ticks: &[TickDocument]) -> String {
    let mut table = Table::new(screen, &["tick", "result", "job", "decided at"]);
    for tick in ticks {
        table.row(vec![
            Cell::new(tick.nominal),
            Cell::new(became(tick)),
            Cell::new(tick.job.as_deref().unwrap_or("-")),
            Cell::new(tick.at),
        ]);
    }
    table.to_string()
}

pub fn preview_list(screen: &Screen, items: &[PreviewItem]) -> String {
    let mut table = Table::new(screen, &["local", "utc", "note"]);
    for item in items {
        table.row(vec![
            Cell::new(&item.local),
            Cell::new(short(item.at)),
            Cell::new(item.note.as_deref().unwrap_or_default()),
        ]);
    }
    table.to_string()
}

fn last(tick: &TickDocument, now: Timestamp) -> String {
    format!("{} {}", cut(&became(tick)), relative(tick.at, now))
}

/// `fired, job completed`, `skipped: missed, 12 ticks until …`.
fn became(tick: &TickDocument) -> String {
    let mut text = match tick.state {
        TickState::Fired => match tick.job_state {
            Some(state) => format!("fired, job {state}"),
            None => "fired, job deleted".into(),
        },
        state => state.as_str().to_owned(),
    };
    match tick.reason {
        Some(TickReason::ByHand) => text.push_str(" (run manually)"),
        Some(TickReason::Missed) => text.push_str(": missed"),
        Some(TickReason::Overlap) => text.push_str(": an earlier job had not finished"),
        Some(TickReason::Deleted) => text.push_str(": the schedule was deleted"),
        Some(TickReason::TooManyWaiting) => text.push_str(": the tenant reached its queued_jobs or queue_names limit"),
        None => {}
    }
    if let Some(last) = tick.last.filter(|last| *last != tick.nominal) {
        match tick.count {
            Some(count) => text.push_str(&format!(", {count} ticks until {last}")),
            None => text.push_str(&format!(", many ticks until {last}")),
        }
    }
    text
}

/// Whole seconds without their fraction.
fn short(time: Timestamp) -> String {
    time.to_string().replace(".000000Z", "Z")
}

/// The word that the API takes for it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_tells_what_became_of_it() {
        let time: Timestamp = "2026-11-15T09:00:00Z".parse().expect("a time");
        let tick = TickDocument {
            nominal: time,
            state: TickState::Fired,
            reason: None,
            at: time,
            job: Some("1".into()),
            job_state: Some(foreman_core::State::Completed),
            last: None,
            count: Some(1),
        };
        assert_eq!(became(&tick), "fired, job completed");
        let by_hand = TickDocument { reason: Some(TickReason::ByHand), job_state: None, ..tick.clone() };
        assert_eq!(became(&by_hand), "fired, job deleted (run manually)");
        let last = Some(time.plus(std::time::Duration::from_mins(1)));
        let missed =
            TickDocument { state: TickState::Skipped, reason: Some(TickReason::Missed), last, count: Some(61), ..tick };
        assert_eq!(became(&missed), "skipped: missed, 61 ticks until 2026-11-15T09:01:00.000000Z");
        assert_eq!(short(time), "2026-11-15T09:00:00Z");
    }
}
