//! What moved, as the text of one row of the change log: jobs in runs of one tenant, queue and state.
//!
//! About 50 bytes a job instead of 200. Both SQL stores keep it so, and a row written by one version is read by the one before
//! and the one after it: what came later stands in fields of its own, which an older reader passes over.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use crate::id::{JobId, TenantId};
use crate::job::QueueName;
use crate::ports::{ChangeRow, Moved, Note, Position, Step};
use crate::state::State;
use crate::time::Timestamp;

/// What an operation has moved so far, already as text, and what else it did.
#[derive(Debug, Default)]
pub struct ChangeWriter {
    text: String,
    run: Option<OpenRun>,
    notes: Vec<Note>,
}

/// The run that jobs are being added to.
#[derive(Debug)]
struct OpenRun {
    tenant: TenantId,
    queue: QueueName,
    state: State,
    sequences: Vec<u32>,
    took: Vec<Option<Duration>>,
}

impl ChangeWriter {
    pub fn push(&mut self, job: JobId, tenant: &TenantId, queue: &QueueName, step: Step) {
        let is_same_run = self
            .run
            .as_ref()
            .is_some_and(|run| run.state == step.state && run.queue == *queue && run.tenant == *tenant);
        let mut id = [0; uuid::fmt::Simple::LENGTH];
        let id: &str = job.0.simple().encode_lower(&mut id);
        if is_same_run {
            self.text.push(',');
        } else {
            let is_first = self.text.is_empty();
            if let Some(run) = self.run.take() {
                run.close(&mut self.text);
            }
            self.text.push(if is_first { '[' } else { ',' });
            let tenant_json = serde_json::Value::from(tenant.as_str());
            let queue_json = serde_json::Value::from(queue.as_str());
            let state = step.state;
            write!(self.text, r#"{{"tenant":{tenant_json},"queue":{queue_json},"state":"{state}","jobs":["#)
                .expect("writing to a string cannot fail");
            self.run = Some(OpenRun {
                tenant: tenant.clone(),
                queue: queue.clone(),
                state,
                sequences: Vec::new(),
                took: Vec::new(),
            });
        }
        write!(self.text, r#"["{id}",{}]"#, step.attempt).expect("writing to a string cannot fail");
        if let Some(run) = &mut self.run {
            run.sequences.push(step.sequence);
            run.took.push(step.took);
        }
    }

    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// The row's texts, moves and notes, if anything happened.
    pub fn text(&self) -> Option<(String, Option<String>)> {
        let notes = (!self.notes.is_empty()).then(|| {
            serde_json::to_string(&self.notes).expect("notes are made of names, numbers and times: all of it is JSON")
        });
        let moved = match &self.run {
            Some(run) => {
                let mut text = self.text.clone();
                run.close(&mut text);
                text.push(']');
                text
            }
            None => "[]".to_owned(),
        };
        (self.run.is_some() || notes.is_some()).then_some((moved, notes))
    }
}

impl OpenRun {
    /// Ends the list of jobs and says what is known of each beside it: one number where it is the same for all.
    fn close(&self, text: &mut String) {
        text.push(']');
        let is_same = self.sequences.windows(2).all(|two| two[0] == two[1]);
        let sequences = if is_same { &self.sequences[..1] } else { &self.sequences[..] };
        push_list(text, "sequences", sequences.iter().map(|sequence| Some(u64::from(*sequence))));
        if self.took.iter().any(Option::is_some) {
            let micros = |took: &Option<Duration>| took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            push_list(text, "took_us", self.took.iter().map(micros));
        }
        text.push('}');
    }
}

fn push_list(text: &mut String, name: &str, values: impl Iterator<Item = Option<u64>>) {
    write!(text, r#","{name}":["#).expect("writing to a string cannot fail");
    for (place, value) in values.enumerate() {
        if place > 0 {
            text.push(',');
        }
        match value {
            Some(value) => write!(text, "{value}").expect("writing to a string cannot fail"),
            None => text.push_str("null"),
        }
    }
    text.push(']');
}

#[derive(Deserialize)]
struct Run {
    tenant: TenantId,
    queue: QueueName,
    state: State,
    jobs: Vec<(JobId, u32)>,
    /// One for all of them, or one for each.
    #[serde(default)]
    sequences: Vec<u32>,
    #[serde(default)]
    took_us: Vec<Option<u64>>,
}

/// Reads a row back, job by job.
pub fn read_row(
    position: Position,
    at: Timestamp,
    moved_text: &str,
    notes_text: Option<&str>,
) -> serde_json::Result<ChangeRow> {
    let mut moved = Vec::new();
    for Run { tenant, queue, state, jobs, sequences, took_us } in serde_json::from_str::<Vec<Run>>(moved_text)? {
        moved.extend(jobs.into_iter().enumerate().map(|(place, (id, attempt))| {
            let sequence = sequences.get(place).or(sequences.last()).copied().unwrap_or_default();
            let took = took_us.get(place).copied().flatten().map(Duration::from_micros);
            let step = Step { state, attempt, sequence, took };
            Moved { id, tenant: tenant.clone(), queue: queue.clone(), at, step }
        }));
    }
    let notes = notes_text.map(serde_json::from_str).transpose()?.unwrap_or_default();
    Ok(ChangeRow { position, at, moved, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(state: State, attempt: u32, sequence: u32, took: Option<u64>) -> Step {
        Step { state, attempt, sequence, took: took.map(Duration::from_micros) }
    }

    #[test]
    fn what_is_written_in_runs_is_read_back_job_by_job() {
        let (a, b) = (TenantId::new("a"), TenantId::new("b\"\\"));
        let queue = QueueName::default();
        let moves = [
            (JobId::fresh(), &a, step(State::Pending, 0, 1, None)),
            (JobId::fresh(), &a, step(State::Pending, 4, 1, None)),
            (JobId::fresh(), &b, step(State::Pending, 0, 3, None)),
            (JobId::fresh(), &b, step(State::Dead, 7, 30, Some(1_500))),
            (JobId::fresh(), &b, step(State::Dead, 7, 31, None)),
        ];
        let mut log = ChangeWriter::default();
        assert_eq!(log.text(), None);
        for (id, tenant, step) in moves {
            log.push(id, tenant, &queue, step);
        }
        let note = Note::Queue { tenant: a.clone(), queue: queue.clone(), is_paused: true };
        log.note(note.clone());
        let (at, position) = (Timestamp::from_micros(5), Position(9));
        let (text, notes) = log.text().expect("something moved");
        let read = read_row(position, at, &text, notes.as_deref()).expect("fits");
        let moved = moves
            .into_iter()
            .map(|(id, tenant, step)| Moved { id, tenant: tenant.clone(), queue: queue.clone(), at, step })
            .collect();
        assert_eq!(read, ChangeRow { position, at, moved, notes: vec![note] });
    }

    #[test]
    fn a_row_with_notes_alone_moves_nothing() {
        let mut log = ChangeWriter::default();
        let session = crate::id::SessionId::fresh();
        let note = Note::Worker { session, worker: "w".into(), state: crate::ports::SessionState::Live };
        log.note(note.clone());
        let (text, notes) = log.text().expect("something happened");
        assert_eq!(text, "[]");
        let row = read_row(Position(1), Timestamp::from_micros(1), &text, notes.as_deref()).expect("fits");
        assert_eq!((row.moved.len(), row.notes), (0, vec![note]));
    }

    #[test]
    fn rows_of_the_version_before_and_of_the_one_after_are_read() {
        let id = JobId::fresh();
        let old = format!(r#"[{{"tenant":"a","queue":"q","state":"running","jobs":[["{}",2]]}}]"#, id.0.simple());
        let row = read_row(Position(1), Timestamp::from_micros(1), &old, None).expect("fits");
        assert_eq!(row.moved[0].step, step(State::Running, 2, 0, None));
        let later = r#"[{"note":"comet","tail":3},{"note":"queue","tenant":"a","queue":"q","is_paused":false}]"#;
        let row = read_row(Position(1), Timestamp::from_micros(1), "[]", Some(later)).expect("fits");
        assert_eq!(row.notes[0], Note::Unknown);
        assert_eq!(row.notes.len(), 2);
    }
}
