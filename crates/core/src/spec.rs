//! A job as a client writes it, and the judgement that makes a [`NewJob`] of it.
//!
//! Everything wrong is reported at once, each mistake with a pointer to where it stands and how to put it right.

pub(crate) mod fields;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use foreman_protocol::spec::{BackoffSpec, CommandSpec, Invalid, JobSpec, Mistake};
use sha2::{Digest, Sha256};

use crate::duration::Span;
use crate::id::{JobId, TenantId};
use crate::job::{Idempotency, NewJob, Start, Work};
use crate::limits::Limits;
use crate::secret_map::MASK;
use crate::target::{Body, SYNTAXES, Target};
use crate::time::Timestamp;
pub(crate) use fields::Mistakes;

/// What the server makes of what a client wrote.
pub trait Validate {
    /// Judges the job, and gives it its id.
    fn validate(self, tenant: &TenantId, limits: &Limits, now: Timestamp) -> Result<NewJob, Invalid>;
}

impl Validate for JobSpec {
    fn validate(self, tenant: &TenantId, limits: &Limits, now: Timestamp) -> Result<NewJob, Invalid> {
        let mut mistakes = Mistakes::default();
        let start = start(&self, limits, now, &mut mistakes);
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
        let target = target(self, limits, &mut mistakes);
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
}

/// Hides every value that may be secret.
pub fn mask(spec: &mut JobSpec) {
    for kind in &SYNTAXES {
        for value in (kind.secrets)(spec).into_iter().flat_map(BTreeMap::values_mut) {
            MASK.clone_into(value);
        }
    }
}

fn start(spec: &JobSpec, limits: &Limits, now: Timestamp, mistakes: &mut Mistakes) -> Start {
    let start = match (spec.run_at, spec.delay) {
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
        let field = if spec.run_at.is_some() { "/run_at" } else { "/delay" };
        mistakes.add(field, "is more than a year ahead; keep it within a year");
    }
    start
}

fn target(mut spec: JobSpec, limits: &Limits, mistakes: &mut Mistakes) -> Option<Target> {
    let body = match (spec.payload.take(), spec.body.take()) {
        (Some(_), Some(_)) => {
            mistakes.add("/body", "give `payload` or `body`, not both");
            Body::None
        }
        (Some(json), None) => Body::Json(json),
        (None, Some(text)) => Body::Text(text),
        (None, None) => Body::None,
    };
    fields::body_size(&body, limits, mistakes);
    let mut given = SYNTAXES.iter().filter(|kind| (kind.is_given)(&spec));
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
    for other in SYNTAXES.iter().filter(|other| other.field != kind.field) {
        for (pointer, _) in other.own.iter().filter(|(_, is_given)| is_given(&spec)) {
            mistakes.add(*pointer, format!("is for `{}`, not for `{}`", other.field, kind.field));
        }
    }
    (kind.read)(spec, body, limits, mistakes)
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
