//! Rows of the log as the text of events.

use foreman_core::document::{
    HeartbeatEvent, JobEvent, QueueEvent, ResetEvent, ResetReason, ScheduleEvent, ScheduleWhat, SnapshotEvent,
    WorkerEvent,
};
use foreman_core::ports::{ChangeRow, JobSummary, Moved, Note};
use foreman_core::{TenantId, Timestamp};
use serde::Serialize;

use super::cursor::{Cursors, LogCursor};
use super::filter::{Rights, StreamFilter};

/// Events, ready to be sent.
pub(super) struct Text {
    cursors: Cursors,
    pub bytes: Vec<u8>,
    pub events: u64,
}

/// Who it is for.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub tenant: &'v TenantId,
    pub filter: &'v StreamFilter,
    pub rights: Rights,
}

impl View<'_> {
    fn sees(self, note: &Note) -> bool {
        let is_allowed = match note {
            Note::Worker { .. } => self.rights.workers,
            Note::Tick { .. } | Note::Schedule { .. } => self.rights.schedules && note.tenant() == Some(self.tenant),
            Note::Queue { .. } => note.tenant() == Some(self.tenant),
            Note::Unknown => false,
        };
        is_allowed && self.filter.takes_note(note)
    }

    /// As far as the log tells.
    fn sees_move(self, moved: &Moved) -> bool {
        moved.tenant == *self.tenant && self.filter.takes_move(moved)
    }
}

impl Text {
    pub fn new(cursors: &Cursors) -> Self {
        Self { cursors: cursors.clone(), bytes: Vec::new(), events: 0 }
    }

    /// What somebody sees of a row, without its first `told` entries.
    pub fn row(&mut self, row: &ChangeRow, view: View<'_>, told: usize) {
        for (entry, moved) in row.moved.iter().enumerate().skip(told).filter(|(_, moved)| view.sees_move(moved)) {
            self.job(moved, LogCursor::in_row(row, entry));
        }
        let notes = row.notes.iter().enumerate().map(|(entry, note)| (entry + row.moved.len(), note));
        for (entry, note) in notes.skip_while(|(entry, _)| *entry < told).filter(|(_, note)| view.sees(note)) {
            self.note(note, row.at, LogCursor::in_row(row, entry));
        }
    }

    pub fn job(&mut self, moved: &Moved, cursor: LogCursor) {
        let step = moved.step;
        let data = JobEvent {
            id: moved.id.to_string(),
            state: step.state,
            queue: moved.queue.as_str().to_owned(),
            attempt: step.attempt,
            at: moved.at,
            sequence: step.sequence,
        };
        self.write("job", cursor, &data);
    }

    /// A job as it stands.
    pub fn standing(&mut self, summary: &JobSummary, cursor: LogCursor) {
        let data = JobEvent {
            id: summary.id.to_string(),
            state: summary.state,
            queue: summary.outline.queue.as_str().to_owned(),
            attempt: summary.attempt,
            at: summary.finished_at.or(summary.started_at).unwrap_or(summary.created_at),
            sequence: summary.sequence,
        };
        self.write("job", cursor, &data);
    }

    fn note(&mut self, note: &Note, at: Timestamp, cursor: LogCursor) {
        match note {
            Note::Tick { schedule, name, nominal, state, job, .. } => {
                let data = ScheduleEvent {
                    id: schedule.to_string(),
                    name: name.clone(),
                    what: ScheduleWhat::Tick,
                    at,
                    tick: Some(*state),
                    scheduled_for: Some(*nominal),
                    job: job.map(|job| job.to_string()),
                };
                self.write("schedule", cursor, &data);
            }
            Note::Schedule { schedule, name, became, .. } => {
                let data = ScheduleEvent {
                    id: schedule.to_string(),
                    name: name.clone(),
                    what: (*became).into(),
                    at,
                    tick: None,
                    scheduled_for: None,
                    job: None,
                };
                self.write("schedule", cursor, &data);
            }
            Note::Worker { session, worker, state } => {
                let data = WorkerEvent { id: session.to_string(), worker: worker.clone(), state: *state, at };
                self.write("worker", cursor, &data);
            }
            Note::Queue { queue, is_paused, .. } => {
                let data = QueueEvent { name: queue.as_str().to_owned(), paused: *is_paused, at };
                self.write("queue", cursor, &data);
            }
            Note::Unknown => {}
        }
    }

    pub fn snapshot(&mut self, jobs: u64, complete: bool, at: Timestamp, cursor: LogCursor) {
        self.write("snapshot", cursor, &SnapshotEvent { jobs, complete, at });
    }

    pub fn heartbeat(&mut self, at: Timestamp, cursor: LogCursor) {
        self.write("heartbeat", cursor, &HeartbeatEvent { at });
    }

    pub fn reset(&mut self, reason: ResetReason, at: Timestamp, cursor: LogCursor) {
        let detail = match reason {
            ResetReason::Expired => {
                "the events after this cursor have been deleted; the stream continues from now, so reload your data"
            }
            ResetReason::Unknown => {
                "this cursor is not from this server's log; the stream continues from now, so reload your data"
            }
        };
        self.write("reset", cursor, &ResetEvent { reason, detail: detail.to_owned(), at });
    }

    /// How long to wait before coming back.
    pub fn retry(&mut self, millis: u64) {
        self.bytes.extend_from_slice(format!("retry: {millis}\n\n").as_bytes());
    }

    fn write(&mut self, name: &str, cursor: LogCursor, data: &impl Serialize) {
        // JSON escapes what would end the line.
        let id = self.cursors.encode(cursor);
        self.bytes.extend_from_slice(format!("event: {name}\nid: {id}\ndata: ").as_bytes());
        serde_json::to_writer(&mut self.bytes, data).expect("events are plain data, and a vector takes all of it");
        self.bytes.extend_from_slice(b"\n\n");
        self.events += 1;
    }
}

/// A move that the log alone does not decide about: its job's labels are asked for.
#[derive(Clone, Debug)]
pub(super) struct LabelCandidate {
    pub moved: Moved,
    pub cursor: LogCursor,
}

/// Those of a row.
pub(super) fn candidates(row: &ChangeRow, view: View<'_>, told: usize, into: &mut Vec<LabelCandidate>) {
    let moved = row.moved.iter().enumerate().skip(told).filter(|(_, moved)| view.sees_move(moved));
    into.extend(
        moved.map(|(entry, moved)| LabelCandidate { moved: moved.clone(), cursor: LogCursor::in_row(row, entry) }),
    );
}

#[cfg(test)]
mod tests {
    use foreman_core::job::QueueName;
    use foreman_core::ports::{Became, Position, SessionState, Step, TickState};
    use foreman_core::{JobId, ScheduleId, SessionId, State};

    use super::super::cursor::RowProgress;
    use super::*;
    use crate::gate::keys::KeyPolicy;

    fn moved(tenant: &TenantId) -> Moved {
        let step = Step { state: State::Completed, attempt: 1, sequence: 3, took: None };
        let (queue, at) = (QueueName::default(), Timestamp::from_micros(1_000_000));
        Moved { id: JobId::fresh(), tenant: tenant.clone(), queue, at, step }
    }

    fn cursors() -> Cursors {
        Cursors::new(None, &KeyPolicy::None)
    }

    fn cursor(position: i64, told: RowProgress) -> LogCursor {
        LogCursor { position: Position(position), told }
    }

    fn ids(text: &Text) -> Vec<LogCursor> {
        let text = std::str::from_utf8(&text.bytes).expect("text");
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.map(|id| cursors().decode(id).expect("a cursor")).collect()
    }

    #[test]
    fn a_row_is_told_entry_by_entry_and_to_nobody_else() {
        let (mine, theirs) = (TenantId::new("mine"), TenantId::new("theirs"));
        let queue =
            |tenant: &TenantId| Note::Queue { tenant: tenant.clone(), queue: QueueName::default(), is_paused: true };
        let tick = |tenant: &TenantId| Note::Tick {
            tenant: tenant.clone(),
            schedule: ScheduleId::fresh(),
            name: "nightly\n\ndata: forged".into(),
            nominal: Timestamp::from_micros(5),
            state: TickState::Fired,
            job: None,
        };
        let edited = Note::Schedule {
            tenant: theirs.clone(),
            schedule: ScheduleId::fresh(),
            name: "theirs".into(),
            became: Became::Deleted,
        };
        let worker = Note::Worker { session: SessionId::fresh(), worker: "w".into(), state: SessionState::Dead };
        let row = ChangeRow {
            position: Position(0x1f),
            at: Timestamp::from_micros(7),
            moved: vec![moved(&theirs), moved(&mine), moved(&theirs), moved(&mine)],
            notes: vec![queue(&theirs), queue(&mine), tick(&mine), tick(&theirs), edited, worker, Note::Unknown],
        };
        let filter = StreamFilter::default();
        let all = |schedules, workers| View { tenant: &mine, filter: &filter, rights: Rights { schedules, workers } };
        for (view, told, expected) in [
            (all(true, true), 0, vec![2, 4, 6, 7, 10]),
            (all(true, false), 0, vec![2, 4, 6, 7]),
            (all(false, true), 0, vec![2, 4, 6, 10]),
            (all(true, true), 2, vec![4, 6, 7, 10]),
            (all(true, true), 6, vec![7, 10]),
            (all(true, true), 11, vec![]),
        ] {
            let mut text = Text::new(&cursors());
            text.row(&row, view, told);
            let expected: Vec<LogCursor> =
                expected.into_iter().map(|count| cursor(0x1f, RowProgress::Entries(count))).collect();
            assert_eq!(ids(&text), expected);
            assert_eq!(text.events, expected.len() as u64);
            let text = String::from_utf8(text.bytes).expect("text");
            assert!(!text.contains("theirs"), "{text}");
            // Whatever a name is, an event is three lines and an empty one.
            assert_eq!(text.lines().count(), expected.len() * 4, "{text}");
        }
        let mut found = Vec::new();
        candidates(&row, all(true, true), 2, &mut found);
        assert_eq!(found.iter().map(|one| one.cursor).collect::<Vec<_>>(), [cursor(0x1f, RowProgress::Entries(4))]);
    }

    #[test]
    fn the_last_entry_of_a_row_leaves_nothing_of_it() {
        let mine = TenantId::default();
        let (position, at) = (Position(3), Timestamp::from_micros(1));
        let row = ChangeRow { position, at, moved: vec![moved(&mine), moved(&mine)], notes: Vec::new() };
        let (filter, rights) = (StreamFilter::default(), Rights { schedules: false, workers: false });
        let mut text = Text::new(&cursors());
        text.row(&row, View { tenant: &mine, filter: &filter, rights }, 0);
        assert_eq!(ids(&text), [cursor(3, RowProgress::Entries(1)), cursor(3, RowProgress::Whole)]);
    }
}
