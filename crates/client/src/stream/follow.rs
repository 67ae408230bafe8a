//! What is to be followed, and how long one is patient about it.

use std::time::Duration;

use crate::Error;

/// The server says something every 15 s. Two of these in a row do not get lost.
const SILENCE: Duration = Duration::from_secs(40);

/// Which changes. Lists of one kind are alternatives; different kinds narrow each other down. With nothing said it is
/// everything that the key may see.
#[derive(Clone, Debug)]
#[must_use = "give it to `Client::stream`"]
pub struct Follow {
    jobs: Vec<String>,
    queues: Vec<String>,
    kinds: Vec<String>,
    tags: Vec<String>,
    pub(super) snapshot: bool,
    pub(super) after: Option<String>,
    pub(super) silence: Duration,
    pub(super) patience: Option<Duration>,
}

impl Default for Follow {
    fn default() -> Self {
        Self {
            jobs: Vec::new(),
            queues: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            snapshot: false,
            after: None,
            silence: SILENCE,
            patience: None,
        }
    }
}

impl Follow {
    /// Everything that the key may see: jobs, schedules, queues, and for an operator workers.
    pub fn everything() -> Self {
        Self::default()
    }

    pub fn job(mut self, id: impl Into<String>) -> Self {
        self.jobs.push(id.into());
        self
    }

    pub fn jobs(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.jobs.extend(ids.into_iter().map(Into::into));
        self
    }

    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queues.push(name.into());
        self
    }

    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.push(kind.into());
        self
    }

    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// First the jobs as they stand (those named, else the newest thousand that match), then what changes, without a gap
    /// between.
    pub fn with_snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }

    /// From this cursor of an earlier stream on.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    /// A connection on which nothing is heard for so long is taken for broken. More than the server's 15 s, please.
    pub fn with_silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// Give up when the server has been away for so long. Without it, never.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// The query, but for the place to resume from.
    pub(super) fn query(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let lists = [("job", &self.jobs), ("queue", &self.queues), ("kind", &self.kinds), ("tag", &self.tags)];
        let mut query = Vec::new();
        for (name, values) in lists {
            if let Some(value) = values.iter().find(|value| value.contains(',') || value.trim().is_empty()) {
                return Err(Error::Setup(format!(
                    "cannot follow the {name} {value:?}: it is empty or contains a comma"
                )));
            }
            if !values.is_empty() {
                query.push((name, values.join(",")));
            }
        }
        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_followed_becomes_a_query() {
        let follow = Follow::everything().jobs(["a", "b"]).queue("mail").kind("k").tag("t").tag("u");
        let query = follow.query().expect("valid");
        let expected = [("job", "a,b"), ("queue", "mail"), ("kind", "k"), ("tag", "t,u")];
        assert_eq!(query, expected.map(|(name, value)| (name, value.to_owned())));
        assert!(Follow::default().query().expect("valid").is_empty());
    }

    #[test]
    fn what_cannot_be_written_in_a_list_is_said_before_anything_is_asked() {
        for follow in [Follow::default().tag("a,b"), Follow::default().queue(" ")] {
            assert!(matches!(follow.query(), Err(Error::Setup(_))));
        }
    }
}
