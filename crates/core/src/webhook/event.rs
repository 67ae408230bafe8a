//! What can be told, and what an endpoint wants to hear.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    JobCompleted,
    JobFailed,
    JobDead,
    JobCancelled,
    /// Another endpoint of the tenant was disabled.
    WebhookDisabled,
    /// Somebody tries an endpoint out; it is sent whatever the endpoint wants.
    WebhookTest,
}

impl Event {
    pub const ALL: [Event; 6] = [
        Event::JobCompleted,
        Event::JobFailed,
        Event::JobDead,
        Event::JobCancelled,
        Event::WebhookDisabled,
        Event::WebhookTest,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Event::JobCompleted => "job.completed",
            Event::JobFailed => "job.failed",
            Event::JobDead => "job.dead",
            Event::JobCancelled => "job.cancelled",
            Event::WebhookDisabled => "webhook.disabled",
            Event::WebhookTest => "webhook.test",
        }
    }

    /// What is told of a job that reached this state: only endings.
    pub fn of(state: State) -> Option<Self> {
        match state {
            State::Completed => Some(Event::JobCompleted),
            State::Failed => Some(Event::JobFailed),
            State::Dead => Some(Event::JobDead),
            State::Cancelled => Some(Event::JobCancelled),
            State::Scheduled | State::Pending | State::Running | State::Retrying => None,
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEvent {
    #[error("there is no event {text:?}; the events are {}, and `job.*` or `*` for several", Events::ALL)]
    Unknown { text: String },
    #[error("an endpoint needs at least one event: {}, or `*`", Events::ALL)]
    Empty,
}

impl FromStr for Event {
    type Err = NotAnEvent;

    fn from_str(text: &str) -> Result<Self, NotAnEvent> {
        let found = Self::ALL.into_iter().find(|event| event.as_str() == text);
        found.ok_or_else(|| NotAnEvent::Unknown { text: text.into() })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// At least one event. A wildcard is written out when it is read: an event that a later version adds comes to nobody unasked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    pub const ALL: Events = {
        let (mut bits, mut next) = (0, 0);
        while next < Event::ALL.len() {
            bits |= Event::ALL[next].bit();
            next += 1;
        }
        Events(bits)
    };

    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.into_iter().filter(move |event| self.contain(*event))
    }

    pub fn contain(self, event: Event) -> bool {
        self.0 & event.bit() != 0
    }

    /// Each an event, or a wildcard such as `job.*`.
    pub fn parse<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Self, NotAnEvent> {
        let mut bits = 0;
        for part in parts {
            let before = part.strip_suffix('*').filter(|before| before.is_empty() || before.ends_with('.'));
            let matching = |event: &Event| match before {
                Some(before) => event.as_str().starts_with(before),
                None => event.as_str() == part,
            };
            let found = Event::ALL.into_iter().filter(matching).fold(0, |bits, event| bits | event.bit());
            if found == 0 {
                return Err(NotAnEvent::Unknown { text: part.into() });
            }
            bits |= found;
        }
        if bits == 0 { Err(NotAnEvent::Empty) } else { Ok(Self(bits)) }
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Event::as_str).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = Vec::<String>::deserialize(deserializer)?;
        Self::parse(parts.iter().map(String::as_str)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(parts: &[&str]) -> Result<String, NotAnEvent> {
        Events::parse(parts.iter().copied()).map(|events| events.to_string())
    }

    #[test]
    fn every_event_survives_its_text_and_its_json() {
        for event in Event::ALL {
            assert_eq!(event.as_str().parse(), Ok(event));
            let json = serde_json::to_string(&event).expect("plain");
            assert_eq!(serde_json::from_str::<Event>(&json).expect("an event"), event);
        }
        assert_eq!(Events::ALL.iter().count(), Event::ALL.len());
    }

    #[test]
    fn a_wildcard_means_what_begins_like_it() {
        assert_eq!(events(&["job.*"]), Ok("job.completed, job.failed, job.dead, job.cancelled".into()));
        assert_eq!(events(&["*"]), Ok(Events::ALL.to_string()));
        assert_eq!(events(&["job.dead", "job.dead"]), Ok("job.dead".into()));
        for wrong in ["job*", "j*", "**", "job.", "job", "", "job.*.x", "Job.dead", "schedule.*"] {
            assert!(matches!(events(&[wrong]), Err(NotAnEvent::Unknown { .. })), "{wrong:?}");
        }
        assert_eq!(events(&[]), Err(NotAnEvent::Empty));
    }

    #[test]
    fn endings_are_told_and_nothing_else() {
        for state in State::ALL {
            assert_eq!(Event::of(state).is_some(), state.is_final(), "{state}");
        }
    }
}
