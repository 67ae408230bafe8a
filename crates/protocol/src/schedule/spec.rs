//! A schedule as a client writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{DstGap, DstOverlap, Missed, Overlap};
use crate::duration::Span;
use crate::spec::{Invalid, JobSpec, Mistake};
use crate::time::Timestamp;

/// The fields of a schedule. Exactly one of `cron`, `every` and `at` sets the time; `job` is the job to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Letters, digits, `.`, `_`, `-`, up to 128. It cannot be changed.
    pub name: String,
    /// Five fields, or six with seconds first; `@daily` and the like; `@every 90s`; `TZ=Europe/Berlin 0 9 * * *`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 9 * * MON-FRI"))]
    pub cron: Option<String>,
    /// The interval between ticks in real time, counted from `start_at` or from the schedule's creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90s"))]
    pub every: Option<Span>,
    /// Once, at this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    /// An IANA time zone for `cron`. Defaults to UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Berlin"))]
    pub timezone: Option<String>,
    /// The fields of the job that every tick creates, without `run_at`, `delay`, `expires_at` and `idempotency_key`.
    #[serde(deserialize_with = "crate::object::required")]
    pub job: JobSpec,
    /// What happens to missed ticks. Defaults to `latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// The most missed ticks to fire if `missed` is `all`: 1 to 1000. Defaults to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_max: Option<u32>,
    /// What a tick does while the job of an earlier tick is not final. Defaults to `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// What happens to a local time that does not exist because the clocks go forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_gap: Option<DstGap>,
    /// What happens to a local time that occurs twice because the clocks go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_overlap: Option<DstOverlap>,
    /// Each job starts up to this long after its tick; the delay is always the same for the same tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
    pub jitter: Option<Span>,
    /// No tick before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No tick after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// A paused schedule does not fire, and its missed ticks are not made up for later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

impl ScheduleSpec {
    /// What it becomes by a patch: an object whose fields replace those of the same name, `null` removing them, and so
    /// inside `job`. Anything deeper, such as a payload, is replaced whole.
    pub fn patched(&self, patch: &RawValue) -> Result<Self, Invalid> {
        let refuse = |detail: String| Invalid { mistakes: vec![Mistake { pointer: String::new(), detail }] };
        let mut fields = fields_of(patch).map_err(|error| refuse(format!("is not a JSON object: {error}")))?;
        if let Some(job) = fields.remove("job") {
            let given = fields_of(&job).map_err(|error| refuse(format!("`job` is not a JSON object: {error}")))?;
            fields.insert("job".into(), written(&merged(&self.job, given)));
        }
        let text = written(&merged(self, fields));
        serde_json::from_str(text.get()).map_err(|error| refuse(error.to_string()))
    }
}

/// A JSON object by its fields, each to the letter.
type Fields = BTreeMap<String, Box<RawValue>>;

fn fields_of(json: &RawValue) -> serde_json::Result<Fields> {
    serde_json::from_str(json.get())
}

fn written(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a spec is plain data with text keys")
}

fn merged(old: &impl Serialize, given: Fields) -> Fields {
    let mut fields = fields_of(&written(old)).expect("a spec is written as an object");
    for (name, value) in given {
        if value.get() == "null" {
            fields.remove(&name);
        } else {
            fields.insert(name, value);
        }
    }
    fields
}
