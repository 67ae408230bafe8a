//! What a stream says, a line each that can be read alone.

use foreman_client::{Event, ScheduleEvent, ScheduleWhat};
use foreman_core::{State, Timestamp};
use serde_json::{Value, json};

use super::job::cut;
use super::{Screen, colour};

/// For a person; `None`: nothing has changed.
pub fn event_line(screen: &Screen, event: &Event) -> Option<String> {
    Some(match event {
        Event::Job(job) => {
            let state = painted(screen, job.state);
            let (at, id, queue, attempt) = (moment(job.at), &job.id, cut(&job.queue), job.attempt);
            let attempt = if attempt == 0 { String::new() } else { format!("  attempt {attempt}") };
            format!("{at}  job       {id}  {state}  {queue}{attempt}")
        }
        Event::Schedule(schedule) => {
            format!("{}  schedule  {}  {}", moment(schedule.at), cut(&schedule.name), happened(schedule))
        }
        Event::Worker(worker) => {
            let (at, name, state) = (moment(worker.at), cut(&worker.worker), worker.state.as_str());
            format!("{at}  worker    {name}  {state}")
        }
        Event::Queue(queue) => {
            let what = if queue.paused { "paused" } else { "resumed" };
            format!("{}  queue     {}  {what}", moment(queue.at), cut(&queue.name))
        }
        Event::Other { name, data } => format!("{}  {}", cut(name), cut(&data.to_string())),
        Event::Snapshot(_) | Event::Heartbeat(_) | Event::Reset(_) => return None,
    })
}

/// For a program: everything but that the server is still there.
pub fn event_json(cursor: Option<&str>, event: &Event) -> Option<Value> {
    match event {
        Event::Heartbeat(_) => None,
        event => Some(json!({"event": event.name(), "id": cursor, "data": event.data()})),
    }
}

fn happened(schedule: &ScheduleEvent) -> String {
    match schedule.what {
        ScheduleWhat::Tick => {
            let tick = schedule.tick.map_or("ticked", foreman_client::TickState::as_str);
            let mut text = tick.to_owned();
            if let Some(at) = schedule.scheduled_for {
                text.push_str(&format!(" for {}", moment(at)));
            }
            if let Some(job) = &schedule.job {
                text.push_str(&format!("  job {job}"));
            }
            text
        }
        ScheduleWhat::Created => "created".into(),
        ScheduleWhat::Updated => "updated".into(),
        ScheduleWhat::Paused => "paused".into(),
        ScheduleWhat::Resumed => "resumed".into(),
        ScheduleWhat::Deleted => "deleted".into(),
    }
}

/// To the millisecond: nobody reads further.
fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, rest)) if rest.len() > 3 && rest.is_char_boundary(3) => format!("{seconds}.{}Z", &rest[..3]),
        _ => text,
    }
}

/// As wide as the longest of them, so that what follows stands in a column.
fn painted(screen: &Screen, state: State) -> String {
    use comfy_table::Color;
    let word = format!("{:<9}", state.as_str());
    let code = match colour(state).filter(|_| screen.is_coloured()) {
        Some(Color::Green) => 32,
        Some(Color::Red) => 31,
        Some(Color::Yellow) => 33,
        Some(Color::Cyan) => 36,
        Some(Color::DarkGrey) => 90,
        _ => return word,
    };
    format!("\u{1b}[{code}m{word}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use foreman_client::{JobEvent, QueueEvent, TickState};

    use super::*;

    const AT: &str = "2026-11-15T09:00:00.123456Z";

    fn job(state: State, attempt: u32) -> Event {
        let at = AT.parse().expect("valid");
        Event::Job(JobEvent { id: "0197".into(), state, queue: "mail".into(), attempt, at, sequence: 3 })
    }

    fn screen(is_coloured: bool) -> Screen {
        Screen { output: crate::cli::Output::Table, is_coloured, can_animate: false }
    }

    #[test]
    fn every_change_is_a_line_that_reads_alone() {
        let plain = |event: &Event| event_line(&screen(false), event);
        assert_eq!(
            plain(&job(State::Completed, 2)).expect("a change"),
            "2026-11-15T09:00:00.123Z  job       0197  completed  mail  attempt 2"
        );
        assert_eq!(
            plain(&job(State::Pending, 0)).expect("a change"),
            "2026-11-15T09:00:00.123Z  job       0197  pending    mail"
        );
        let at = AT.parse().expect("valid");
        let queue = Event::Queue(QueueEvent { name: "mail".into(), paused: true, at });
        assert_eq!(plain(&queue).expect("a change"), "2026-11-15T09:00:00.123Z  queue     mail  paused");
        let tick = Event::Schedule(ScheduleEvent {
            id: "0198".into(),
            name: "nightly\n\u{1b}[31m".into(),
            what: ScheduleWhat::Tick,
            at,
            tick: Some(TickState::Fired),
            scheduled_for: Some("2026-11-15T09:00:00Z".parse().expect("valid")),
            job: Some("0199".into()),
        });
        assert_eq!(
            plain(&tick).expect("a change"),
            "2026-11-15T09:00:00.123Z  schedule  nightly  [31m  fired for 2026-11-15T09:00:00.000Z  job 0199"
        );
    }

    #[test]
    fn colour_is_for_terminals_alone() {
        assert!(event_line(&screen(true), &job(State::Dead, 1)).expect("a change").contains("\u{1b}[31mdead"));
        assert!(!event_line(&screen(false), &job(State::Dead, 1)).expect("a change").contains('\u{1b}'));
    }

    #[test]
    fn a_program_is_told_the_name_the_id_and_the_data() {
        let line = event_json(Some("1-5"), &job(State::Dead, 1)).expect("a change");
        assert_eq!(
            (&line["event"], &line["id"], &line["data"]["state"]),
            (&"job".into(), &"1-5".into(), &"dead".into())
        );
        let beat = Event::Heartbeat(foreman_client::HeartbeatEvent { at: AT.parse().expect("valid") });
        assert_eq!(event_json(Some("1-5"), &beat), None);
    }
}
