//! A job: what was asked, as it was asked. It is never changed after it was accepted.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{JobId, TenantId};
use crate::lane::Lane;
use crate::retry::Backoff;
use crate::sealed::DerivedKey;
use crate::target::Target;
use crate::time::Timestamp;

/// What is to be done, and how hard to try.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    pub target: Target,
    /// A label to filter by; the task's name for tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub queue: QueueName,
    pub lane: Lane,
    pub max_attempts: u32,
    pub backoff: Backoff,
    /// Of one attempt.
    #[serde(with = "crate::job::span")]
    pub timeout: Duration,
    /// Start by: no attempt starts after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The tick that made it; none when somebody submitted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occasion: Option<Occasion>,
}

impl Work {
    /// What stores find it by: its tags, and whether it asked for a callback.
    pub fn index_tags(&self) -> impl Iterator<Item = &str> {
        let callback = self.callback_url.as_ref().map(|_| crate::webhook::CALLBACK_TAG);
        self.tags.iter().map(String::as_str).chain(callback)
    }
}

/// A tick of a schedule, as its job and the job's target know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occasion {
    pub schedule: String,
    /// The instant the tick belongs to, however late the job starts.
    pub nominal: Timestamp,
}

/// A job about to be accepted. Its id is made before it is written: an unknown commit is resolved by sending it again.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub tenant: TenantId,
    pub work: Arc<Work>,
    pub start: Start,
    pub idempotency: Option<Idempotency>,
}

/// When a job may first run. A delay counts from the moment the store accepts the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Now,
    At(Timestamp),
    After(Duration),
}

impl Start {
    pub fn run_at(self, now: Timestamp) -> Timestamp {
        match self {
            Start::Now => now,
            Start::At(time) => time.max(now),
            Start::After(delay) => now.plus(delay),
        }
    }
}

/// The key that makes a submission safe to repeat, with a fingerprint of what it stood for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    pub fingerprint: [u8; 32],
    /// Other fingerprints of the same content, that it may have been kept under: by the version before, or before a change of keys.
    pub former: Vec<[u8; 32]>,
    /// How long the key is remembered.
    pub keep: Duration,
}

impl Idempotency {
    /// A fingerprint of what may be secret lets whoever reads it try out guesses. Under a key it does not.
    pub fn put_under(&mut self, keys: &[DerivedKey]) {
        let Some((first, others)) = keys.split_first() else { return };
        let plain = self.fingerprint;
        self.fingerprint = first.mac(&plain);
        self.former = std::iter::once(plain).chain(others.iter().map(|key| key.mac(&plain))).collect();
    }

    /// Whether the key, as it was kept, stands for this very content.
    pub fn stands_for(&self, kept: &[u8]) -> bool {
        self.fingerprint == kept || self.former.iter().any(|former| former == kept)
    }
}

/// An accepted job.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    pub work: Arc<Work>,
    pub created_at: Timestamp,
}

/// Letters, digits, `.`, `_`, `-`, up to 64: a queue's name ends up in SQL, logs, metrics and a browser.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct QueueName(Arc<str>);

impl QueueName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads back what a store kept, without judging it again.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether Foreman put the jobs of this queue there by itself: they are not the user's.
    pub fn is_internal(&self) -> bool {
        self.0.starts_with(crate::webhook::RESERVED)
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a queue name: {text:?}; use 1 to 64 letters, digits, dots, underscores and hyphens")]
pub struct NotAQueueName {
    pub text: String,
}

impl FromStr for QueueName {
    type Err = NotAQueueName;

    fn from_str(text: &str) -> Result<Self, NotAQueueName> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if fits { Ok(Self(text.into())) } else { Err(NotAQueueName { text: text.into() }) }
    }
}

impl<'de> Deserialize<'de> for QueueName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Serde for a [`Duration`] as text.
pub(crate) mod span {
    use super::Duration;
    use crate::duration::Span;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        Span(*duration).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Span::deserialize(deserializer).map(|span| span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_name_is_what_is_safe_everywhere() {
        for good in ["default", "mail.high", "a", "A-1_b", &"q".repeat(64)] {
            assert!(good.parse::<QueueName>().is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "ä", "<script>", &"q".repeat(65), "a\n"] {
            assert!(bad.parse::<QueueName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_start_in_the_past_means_now() {
        let now = Timestamp::from_micros(1_000);
        assert_eq!(Start::At(Timestamp::from_micros(1)).run_at(now), now);
    }
}
