//! A job's work as lists show it: without its content.
//!
//! A payload, headers, variables and a command line may take a megabyte, and a list has hundreds of jobs. An outline has what a
//! person recognises a job by, and its size is bounded by the limits of its fields; the command is cut. It is read from the
//! stored JSON of the work itself, whose content is skipped, or from the JSON of the outline, which stores keep beside work that is
//! [large](LARGE): they do not read that work for a list.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::Asked;
use crate::duration::Span;
use crate::job::{Occasion, QueueName, Work};
use crate::lane::Lane;
use crate::retry::Backoff;
use crate::spec::BackoffSpec;
use crate::target::TargetOutline;
use crate::time::Timestamp;

/// Work whose JSON has more bytes than this is stored with its outline beside it.
pub const LARGE: usize = 4 * 1024;

/// So many characters of an error are shown.
const ERROR: usize = 1_000;
/// So much of a report's JSON is read to find its error: an error of [`ERROR`] characters with every one escaped.
pub const REPORT_HEAD: usize = 8 * 1024;

/// See [`Work`], whose fields these are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    pub target: TargetOutline,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub queue: QueueName,
    pub lane: Lane,
    pub max_attempts: u32,
    pub backoff: Backoff,
    #[serde(with = "crate::job::span")]
    pub timeout: Duration,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occasion: Option<Occasion>,
}

impl Outline {
    /// From the JSON of the work, or of an outline of it.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let outline: Self = serde_json::from_str(json)?;
        Ok(Self { target: outline.target.cut(), ..outline })
    }

    /// What it calls: its own URL, and whoever is told of its end.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.target.url().into_iter().chain(self.callback_url.as_deref())
    }

    /// What is stored beside work with this JSON; `None` where the work itself is small enough to be read for a list.
    pub fn beside(work: &Work, json: &str) -> Option<Self> {
        (json.len() > LARGE).then(|| Self::from(work))
    }
}

impl From<&Work> for Outline {
    fn from(work: &Work) -> Self {
        Self {
            target: TargetOutline::from(&work.target),
            kind: work.kind.clone(),
            queue: work.queue.clone(),
            lane: work.lane,
            max_attempts: work.max_attempts,
            backoff: work.backoff,
            timeout: work.timeout,
            expires_at: work.expires_at,
            callback_url: work.callback_url.clone(),
            correlation_id: work.correlation_id.clone(),
            tags: work.tags.clone(),
            idempotency_key: work.idempotency_key.clone(),
            occasion: work.occasion.clone(),
        }
    }
}

/// The first `most` characters, with an ellipsis in place of the rest. What was cut stays as it is.
pub(crate) fn cut(text: &mut String, most: usize) {
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
}

/// An error as lists show it.
pub fn listed_error(error: Option<&str>) -> Option<String> {
    error.map(|error| {
        let mut error = error.to_owned();
        cut(&mut error, ERROR);
        error
    })
}

/// The error in the first [`REPORT_HEAD`] characters of a report's JSON, as lists show it. It is the first field of a report, so
/// that the rest, which may be what a command printed, need not be read.
pub fn error_in(report: &str) -> Result<Option<String>, serde_json::Error> {
    let Some(text) = report.strip_prefix("{\"error\":") else { return Ok(None) };
    let whole = |text: &str| String::deserialize(&mut serde_json::Deserializer::from_str(text));
    let error = match whole(text) {
        // The report is longer than what was read of it, and so is its error: it is ended before an escape that was cut.
        Err(error) if error.is_eof() => {
            let head = |most: usize| text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end]);
            let length = text.chars().count();
            (0..=12).find_map(|less| whole(&format!("{}\"", head(length.saturating_sub(less)))).ok()).ok_or(error)?
        }
        read => read?,
    };
    Ok(listed_error(Some(&error)))
}

/// What was asked, without its content.
impl From<&Outline> for Asked {
    fn from(outline: &Outline) -> Self {
        let mut asked = Self {
            kind: outline.kind.clone(),
            timeout: Some(Span(outline.timeout)),
            backoff: Some(BackoffSpec {
                base: Some(Span(outline.backoff.base)),
                factor: Some(outline.backoff.factor),
                cap: Some(Span(outline.backoff.cap)),
            }),
            expires_at: outline.expires_at,
            idempotency_key: outline.idempotency_key.clone(),
            callback_url: outline.callback_url.clone(),
            correlation_id: outline.correlation_id.clone(),
            tags: outline.tags.clone(),
            ..Self::default()
        };
        outline.target.describe(&mut asked);
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::TenantId;
    use crate::limits::Limits;
    use crate::outcome::{CommandReport, Report};
    use crate::spec::{JobSpec, Validate as _};

    fn work(spec: &serde_json::Value) -> Work {
        let spec: JobSpec = serde_json::from_str(&spec.to_string()).expect("a job");
        let job = spec.validate(&TenantId::default(), &Limits::default(), Timestamp::from_micros(1)).expect("valid");
        Work::clone(&job.work)
    }

    #[test]
    fn an_outline_is_the_same_from_the_work_its_json_and_its_own_json() {
        let long = "x".repeat(5_000);
        for spec in [
            serde_json::json!({"url": "http://127.0.0.1/a", "payload": {"hush": long}, "headers": {"x-a": "hush"}, "tags": ["a"]}),
            serde_json::json!({"url": "http://127.0.0.1/a", "body": long, "method": "PUT", "correlation_id": "c"}),
            serde_json::json!({"command": ["echo", "hello"], "env": {"A": "hush"}, "payload": "hush", "kind": "k"}),
            serde_json::json!({"command": format!("echo {long}")}),
            serde_json::json!({"command": vec!["x"; 5_000]}),
            serde_json::json!({"command": ["echo", long, "more"]}),
            serde_json::json!({"task": "mail", "payload": [1, 2, 3], "idempotency_key": "i"}),
        ] {
            let work = work(&spec);
            let outline = Outline::from(&work);
            let json = serde_json::to_string(&work).expect("plain");
            assert_eq!(Outline::read(&json).expect("reads"), outline, "{spec}");
            let own = serde_json::to_string(&outline).expect("plain");
            assert_eq!(Outline::read(&own).expect("reads"), outline, "{spec}");
            assert!(own.len() < LARGE, "{} bytes", own.len());
            assert!(!own.contains("hush"), "{own}");
            assert_eq!(Outline::beside(&work, &json).is_some(), json.len() > LARGE);
        }
    }

    #[test]
    fn the_error_of_a_report_is_found_at_its_beginning() {
        let printed = CommandReport { stdout: "x".repeat(100_000), ..CommandReport::default() };
        for error in
            ["plain", "", "quoted \" \\ \n \u{1}", "ü", &"ü".repeat(2_000), &"\u{1}".repeat(2_000), &"\\".repeat(9_000)]
        {
            let report = Report { error: Some(error.into()), output: Some(printed.clone()), ..Report::default() };
            let json = serde_json::to_string(&report).expect("plain");
            let head: String = json.chars().take(REPORT_HEAD).collect();
            let found = error_in(&head).expect("reads");
            assert_eq!(found, listed_error(Some(error)), "{}", &error[..error.len().min(20)]);
            assert_eq!(found, listed_error(found.as_deref()), "cut once and for all");
        }
        let report = Report { output: Some(printed), ..Report::default() };
        let head: String = serde_json::to_string(&report).expect("plain").chars().take(REPORT_HEAD).collect();
        assert_eq!(error_in(&head).expect("reads"), None);
        assert_eq!(error_in("{}").expect("reads"), None);
    }
}
