//! One function per field: it returns what is usable and notes what is not.

use std::time::Duration;

use super::{BackoffSpec, Invalid, Mistake};
use crate::job::{QueueName, Start};
use crate::limits::Limits;
use crate::retry::Backoff;
use crate::target::{Body, Target};
use crate::time::Timestamp;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(Mistake { pointer: pointer.into(), detail: detail.into() });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn refuse_where_given(&mut self, fields: &[(&str, bool)], why: &str) {
        for (pointer, _) in fields.iter().filter(|(_, given)| *given) {
            self.add(*pointer, why);
        }
    }

    pub fn into_invalid(self) -> Invalid {
        Invalid { mistakes: self.0 }
    }
}

const MAX_URL: usize = 2_048;

pub(crate) fn url(pointer: &str, text: &str, limits: &Limits, mistakes: &mut Mistakes) -> Option<url::Url> {
    let problem = if text.len() > MAX_URL {
        format!("is longer than {MAX_URL} characters")
    } else {
        match url::Url::parse(text) {
            Err(error) => format!("is not a URL: {error}; write it like https://example.com/path"),
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                format!("has the scheme {:?}; use http or https", url.scheme())
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                "contains a user name or password; put credentials in `headers`".into()
            }
            Ok(mut url) => {
                url.set_fragment(None);
                match limits.egress.judge_url(&url) {
                    Ok(()) => return Some(url),
                    // One text for all of them: what is where inside is nobody's business.
                    Err(refused) => format!("{refused}; the operator can allow it with `egress.allow`"),
                }
            }
        }
    };
    mistakes.add(pointer, problem);
    None
}

pub(super) fn queue(given: Option<&str>, mistakes: &mut Mistakes) -> QueueName {
    given.map_or_else(QueueName::default, |text| {
        if text.starts_with(crate::webhook::RESERVED) {
            mistakes.add(
                "/queue",
                format!("names that begin with `{}` are reserved for Foreman", crate::webhook::RESERVED),
            );
        }
        text.parse().unwrap_or_else(|error: crate::job::NotAQueueName| {
            mistakes.add("/queue", error.to_string());
            QueueName::default()
        })
    })
}

pub(super) fn body_size(body: &Body, limits: &Limits, mistakes: &mut Mistakes) {
    let (size, limit) = (body.as_str().len(), limits.payload_bytes);
    if size > limit {
        let pointer = if matches!(body, Body::Json(_)) { "/payload" } else { "/body" };
        mistakes.add(
            pointer,
            format!("has {size} bytes, more than the {limit} allowed; keep large data elsewhere and send a reference"),
        );
    }
}

/// Visible text of 1 to `limit` characters.
pub(crate) fn text(pointer: &str, given: Option<String>, limit: usize, mistakes: &mut Mistakes) -> Option<String> {
    let text = given?;
    if text.is_empty() || text.chars().count() > limit || text.chars().any(char::is_control) {
        mistakes.add(pointer, format!("must be 1 to {limit} characters without control characters"));
        return None;
    }
    Some(text)
}

pub(super) fn tags(tags: Vec<String>, mistakes: &mut Mistakes) -> Vec<String> {
    if tags.len() > 20 {
        mistakes.add("/tags", format!("has {} entries, more than the 20 allowed", tags.len()));
        return Vec::new();
    }
    let mut kept: Vec<String> = Vec::with_capacity(tags.len());
    for (index, tag) in tags.into_iter().enumerate() {
        if tag.starts_with(crate::webhook::RESERVED_TAGS) {
            let reserved = crate::webhook::RESERVED_TAGS;
            mistakes
                .add(format!("/tags/{index}"), format!("tags that begin with `{reserved}` are reserved for Foreman"));
        } else if let Some(tag) = text(&format!("/tags/{index}"), Some(tag), 64, mistakes)
            && !kept.contains(&tag)
        {
            kept.push(tag);
        }
    }
    kept
}

/// A label that comes with the target cannot be chosen.
pub(super) fn kind(given: Option<String>, target: Option<&Target>, mistakes: &mut Mistakes) -> Option<String> {
    let Some(label) = target.and_then(Target::fixed_label) else { return given };
    if given.is_some_and(|kind| kind != label) {
        mistakes.add("/kind", "the kind of a task is its name; leave `kind` out");
    }
    Some(label.to_owned())
}

pub(super) fn max_attempts(given: u32, limits: &Limits, mistakes: &mut Mistakes) -> u32 {
    if !(1..=limits.max_attempts).contains(&given) {
        mistakes.add("/max_attempts", limits.max_attempts_rule());
    }
    given
}

pub(super) fn timeout(given: Duration, limits: &Limits, mistakes: &mut Mistakes) -> Duration {
    if given.is_zero() || given > limits.timeout {
        let most = crate::duration::format(limits.timeout);
        mistakes.add("/timeout", format!("must be longer than 0 and at most {most}"));
    }
    given
}

pub(super) fn backoff(given: BackoffSpec, defaults: Backoff, mistakes: &mut Mistakes) -> Backoff {
    let base = given.base.map_or(defaults.base, |span| span.0);
    let backoff = Backoff {
        base,
        factor: given.factor.unwrap_or(defaults.factor),
        // A base beyond the default cap moves the cap along; a cap that was given is kept, and judged below.
        cap: given.cap.map_or(defaults.cap.max(base), |span| span.0),
    };
    if backoff.base.is_zero() {
        mistakes.add("/backoff/base", "must be longer than 0");
    }
    if !(1.0..=100.0).contains(&backoff.factor) {
        mistakes.add("/backoff/factor", "must be between 1 and 100");
    }
    if backoff.cap < backoff.base {
        mistakes.add("/backoff/cap", "must not be shorter than `base`");
    }
    if backoff.cap > crate::retry::MAX_RETRY_AFTER {
        mistakes.add("/backoff/cap", "must be at most 1d");
    }
    backoff
}

pub(super) fn expires_at(
    given: Option<Timestamp>,
    start: Start,
    now: Timestamp,
    mistakes: &mut Mistakes,
) -> Option<Timestamp> {
    let expires_at = given?;
    if expires_at <= now {
        mistakes.add("/expires_at", "is in the past: the job could never start");
    } else if expires_at <= start.run_at(now) {
        mistakes.add("/expires_at", "is before `run_at`: the job could never start");
    }
    Some(expires_at)
}
