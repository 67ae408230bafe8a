//! A job as a client writes it, and the judgement that makes a [`NewJob`] of it.
//!
//! Everything wrong is reported at once, each mistake with a pointer to where it stands and how to put it right.

pub(crate) mod fields;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::duration::Span;
use crate::id::{JobId, TenantId};
use crate::job::{Idempotency, NewJob, Start, Work};
use crate::lane::Lane;
use crate::limits::Limits;
use crate::object;
use crate::secret_map::MASK;
use crate::target::{Body, ExitCodes, Target, WRITTEN};
use crate::time::Timestamp;
pub(crate) use fields::Mistakes;

/// The fields of a job. Exactly one of `url`, `command` and `task` says what it does; everything else has a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Call this URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Run this command: an array is argv, a string is a line for `sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSpec>,
    /// Run the task with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Any JSON: the request body, the task's argument, or the command's standard input, passed on byte for byte.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub payload: Option<Box<RawValue>>,
    /// Raw text instead of `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The request method: POST, PUT, PATCH, GET, DELETE or HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Environment variables of the command, in addition to those the worker passes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// The command's working directory, an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Which exit codes complete and which fail the command; others are retried.
    #[serde(default, deserialize_with = "object::optional", skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<ExitCodes>,
    /// A label to filter by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Letters, digits, `.`, `_`, `-`, up to 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Lane>,
    /// Start no earlier than this time; a time in the past means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub run_at: Option<Timestamp>,
    /// Start no earlier than this long after submission, such as `90s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "1h30m"))]
    pub delay: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max_attempts: Option<u32>,
    #[serde(default, deserialize_with = "object::optional", skip_serializing_if = "Option::is_none")]
    pub backoff: Option<BackoffSpec>,
    /// The time limit of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
    pub timeout: Option<Span>,
    /// Start no later than this: a job that has not started by then fails with the error `expired`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// Makes the submission safe to repeat for 24 hours; the same as the header `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Receives a signed message when the job is final (see webhooks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged, expecting = "`command` is a string for `sh -c`, or an array of strings")]
pub enum CommandSpec {
    Shell(String),
    Argv(Vec<String>),
}

/// Fields left out keep the target's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BackoffSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "10s"))]
    pub base: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "1h"))]
    pub cap: Option<Span>,
}

/// `"payload": null` is a payload; a missing one is not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// What is wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("; "))]
pub struct Invalid {
    pub mistakes: Vec<Mistake>,
}

/// One mistake and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{pointer}{}{detail}", if pointer.is_empty() { "" } else { ": " })]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Mistake {
    /// A JSON pointer, such as `/url`.
    pub pointer: String,
    pub detail: String,
}

impl JobSpec {
    /// Judges the job, and gives it its id.
    pub fn validate(self, tenant: &TenantId, limits: &Limits, now: Timestamp) -> Result<NewJob, Invalid> {
        let mut mistakes = Mistakes::default();
        let start = self.start(limits, now, &mut mistakes);
        let expires_at = fields::expires_at(self.expires_at, start, now, &mut mistakes);
        let queue = fields::queue(self.queue.as_deref(), &mut mistakes);
        let tags = fields::tags(self.tags.clone().unwrap_or_default(), &mut mistakes);
        let correlation_id = fields::text("/correlation_id", self.correlation_id.clone(), 200, &mut mistakes);
        let callback_url =
            self.callback_url.clone().filter(|url| fields::url("/callback_url", url, limits, &mut mistakes).is_some());
        let idempotency_key = fields::text("/idempotency_key", self.idempotency_key.clone(), 255, &mut mistakes);
        let kind = fields::text("/kind", self.kind.clone(), 128, &mut mistakes);
        let (max_attempts, backoff, timeout) = (self.max_attempts, self.backoff, self.timeout);
        let lane = self.priority.unwrap_or_default();
        let target = self.target(limits, &mut mistakes);
        let defaults = target.as_ref().map(Target::defaults).unwrap_or_default();
        let kind = fields::kind(kind, target.as_ref(), &mut mistakes);
        let max_attempts = fields::max_attempts(max_attempts.unwrap_or(defaults.max_attempts), limits, &mut mistakes);
        let backoff = fields::backoff(backoff.unwrap_or_default(), defaults.backoff, &mut mistakes);
        let timeout = fields::timeout(timeout.map_or(defaults.timeout, |span| span.0), limits, &mut mistakes);
        let target = match target {
            Some(target) if mistakes.is_empty() => target,
            _ => return Err(mistakes.into_invalid()),
        };
        let work = Work {
            target,
            kind,
            queue,
            lane,
            max_attempts,
            backoff,
            timeout,
            expires_at,
            callback_url,
            correlation_id,
            tags,
            idempotency_key: idempotency_key.clone(),
            occasion: None,
        };
        let idempotency = idempotency_key.map(|key| Idempotency {
            key,
            fingerprint: fingerprint(&work, start),
            former: Vec::new(),
            keep: limits.idempotency_keep,
        });
        Ok(NewJob { id: JobId::fresh(), tenant: tenant.clone(), work: Arc::new(work), start, idempotency })
    }

    fn start(&self, limits: &Limits, now: Timestamp, mistakes: &mut Mistakes) -> Start {
        let start = match (self.run_at, self.delay) {
            (Some(_), Some(_)) => {
                mistakes.add("/delay", "give `run_at` or `delay`, not both");
                return Start::Now;
            }
            (Some(time), None) if time <= now => Start::Now,
            (Some(time), None) => Start::At(time),
            (None, Some(Span(Duration::ZERO)) | None) => Start::Now,
            (None, Some(Span(delay))) => Start::After(delay),
        };
        if start.run_at(now) > now.plus(limits.horizon) {
            let field = if self.run_at.is_some() { "/run_at" } else { "/delay" };
            mistakes.add(field, "is more than a year ahead; keep it within a year");
        }
        start
    }

    fn target(mut self, limits: &Limits, mistakes: &mut Mistakes) -> Option<Target> {
        let body = match (self.payload.take(), self.body.take()) {
            (Some(_), Some(_)) => {
                mistakes.add("/body", "give `payload` or `body`, not both");
                Body::None
            }
            (Some(json), None) => Body::Json(json),
            (None, Some(text)) => Body::Text(text),
            (None, None) => Body::None,
        };
        fields::body_size(&body, limits, mistakes);
        let mut given = WRITTEN.iter().filter(|kind| (kind.is_given)(&self));
        let kind = match (given.next(), given.next()) {
            (Some(kind), None) => kind,
            (None, _) => {
                mistakes.add("", "has no target: give exactly one of `url`, `command` and `task`");
                return None;
            }
            (Some(_), Some(_)) => {
                mistakes.add("", "has more than one target: give exactly one of `url`, `command` and `task`");
                return None;
            }
        };
        for other in WRITTEN.iter().filter(|other| other.field != kind.field) {
            for (pointer, _) in other.own.iter().filter(|(_, is_given)| is_given(&self)) {
                mistakes.add(*pointer, format!("is for `{}`, not for `{}`", other.field, kind.field));
            }
        }
        (kind.read)(self, body, limits, mistakes)
    }

    /// Hides every value that may be secret.
    pub fn mask(&mut self) {
        for kind in &WRITTEN {
            for value in (kind.secrets)(self).into_iter().flat_map(BTreeMap::values_mut) {
                MASK.clone_into(value);
            }
        }
    }
}

/// The same submission has the same fingerprint, whenever it is sent.
fn fingerprint(work: &Work, start: Start) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Maps inside are ordered, so equal work is equal text.
    hash.update(serde_json::to_vec(work).expect("work is plain data with text keys"));
    hash.update(format!("{start:?}"));
    hash.finalize().into()
}

/// Turns accepted work back into what a client would write: for "edit and run again", and for showing it.
impl From<&Work> for JobSpec {
    fn from(work: &Work) -> Self {
        let mut spec = JobSpec {
            kind: work.kind.clone(),
            queue: Some(work.queue.to_string()),
            priority: Some(work.lane),
            max_attempts: Some(work.max_attempts),
            backoff: Some(BackoffSpec {
                base: Some(Span(work.backoff.base)),
                factor: Some(work.backoff.factor),
                cap: Some(Span(work.backoff.cap)),
            }),
            timeout: Some(Span(work.timeout)),
            expires_at: work.expires_at,
            idempotency_key: work.idempotency_key.clone(),
            callback_url: work.callback_url.clone(),
            correlation_id: work.correlation_id.clone(),
            tags: (!work.tags.is_empty()).then(|| work.tags.clone()),
            ..JobSpec::default()
        };
        work.target.describe(&mut spec);
        spec
    }
}

#[cfg(test)]
mod tests;
