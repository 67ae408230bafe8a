//! A job as a client writes it, and what the server says is wrong with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::duration::Span;
use crate::lane::Lane;
use crate::time::Timestamp;

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
    #[serde(default, deserialize_with = "crate::object::optional", skip_serializing_if = "Option::is_none")]
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
    #[serde(default, deserialize_with = "crate::object::optional", skip_serializing_if = "Option::is_none")]
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

/// Which exit codes complete a command and which fail it at once; any other code is retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ExitCodes {
    pub completed: Vec<i32>,
    pub failed: Vec<i32>,
}

impl Default for ExitCodes {
    /// 126 is "found, but cannot be run" and 127 "not found": no second try will find it.
    fn default() -> Self {
        Self { completed: vec![0], failed: vec![126, 127] }
    }
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
