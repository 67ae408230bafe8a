//! What a stream says.

use foreman_protocol::document::{
    HeartbeatEvent, JobEvent, QueueEvent, ResetEvent, ScheduleEvent, SnapshotEvent, WorkerEvent,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sse::Frame;

/// One event, and the place in the server's log that it stands at: after it, the stream can be resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    pub cursor: Option<String>,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A job is in another state now.
    Job(JobEvent),
    /// A schedule ticked, or was made, changed or removed.
    Schedule(ScheduleEvent),
    /// A worker came, drains, went or died. Only an operator is told.
    Worker(WorkerEvent),
    /// A queue was paused or resumed.
    Queue(QueueEvent),
    /// The jobs as they stood have been told; from here on comes what changes.
    Snapshot(SnapshotEvent),
    /// The server is there.
    Heartbeat(HeartbeatEvent),
    /// The cursor could not be resumed and something may have been missed: read what you follow again.
    Reset(ResetEvent),
    /// Of a later version of the server.
    Other { name: String, data: Value },
}

impl Event {
    /// As `event:` says it.
    pub fn name(&self) -> &str {
        match self {
            Event::Job(_) => "job",
            Event::Schedule(_) => "schedule",
            Event::Worker(_) => "worker",
            Event::Queue(_) => "queue",
            Event::Snapshot(_) => "snapshot",
            Event::Heartbeat(_) => "heartbeat",
            Event::Reset(_) => "reset",
            Event::Other { name, .. } => name,
        }
    }

    /// As `data:` says it.
    pub fn data(&self) -> Value {
        match self {
            Event::Job(event) => json(event),
            Event::Schedule(event) => json(event),
            Event::Worker(event) => json(event),
            Event::Queue(event) => json(event),
            Event::Snapshot(event) => json(event),
            Event::Heartbeat(event) => json(event),
            Event::Reset(event) => json(event),
            Event::Other { data, .. } => data.clone(),
        }
    }

    fn read(name: &str, data: &str) -> Self {
        let known = match name {
            "job" => parse(data, Event::Job),
            "schedule" => parse(data, Event::Schedule),
            "worker" => parse(data, Event::Worker),
            "queue" => parse(data, Event::Queue),
            "snapshot" => parse(data, Event::Snapshot),
            "heartbeat" => parse(data, Event::Heartbeat),
            "reset" => parse(data, Event::Reset),
            _ => None,
        };
        // A state that we have no word for is no reason to stop listening.
        known.unwrap_or_else(|| Event::Other {
            name: name.into(),
            data: serde_json::from_str(data).unwrap_or_else(|_| data.into()),
        })
    }
}

impl From<Frame> for StreamEvent {
    fn from(frame: Frame) -> Self {
        Self { event: Event::read(&frame.name, &frame.data), cursor: frame.id }
    }
}

fn parse<T: DeserializeOwned>(data: &str, event: impl FnOnce(T) -> Event) -> Option<Event> {
    serde_json::from_str(data).ok().map(event)
}

fn json(document: &impl Serialize) -> Value {
    // Our own documents are objects with text for keys: these always serialize.
    serde_json::to_value(document).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use foreman_protocol::State;

    use super::*;

    #[test]
    fn an_event_keeps_its_name_and_its_data() {
        let data = r#"{"at":"2026-11-15T09:00:00.000000Z","attempt":2,"id":"0197","queue":"mail","sequence":4,"state":"dead"}"#;
        let event = Event::read("job", data);
        let Event::Job(job) = &event else { panic!("{event:?}") };
        assert_eq!((job.state, job.attempt, job.sequence), (State::Dead, 2, 4));
        assert_eq!((event.name(), event.data().to_string().as_str()), ("job", data));
    }

    #[test]
    fn what_a_later_version_says_is_passed_on() {
        for (name, data) in [("weather", r#"{"rain":true}"#), ("job", r#"{"state":"dreaming"}"#), ("job", "plain")] {
            let event = Event::read(name, data);
            assert!(matches!(event, Event::Other { .. }), "{event:?}");
            assert_eq!(event.name(), name);
        }
    }
}
