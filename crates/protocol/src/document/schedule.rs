//! Schedules as the API tells of them.

use serde::{Deserialize, Serialize};

use crate::duration::Span;
use crate::schedule::{DstGap, DstOverlap, Missed, Overlap, ScheduleSpec, TickReason, TickState};
use crate::spec::JobSpec;
use crate::state::State;
use crate::time::Timestamp;

/// A schedule: its fields and its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScheduleDocument {
    pub id: String,
    pub name: String,
    /// Increases with every edit; the `ETag` begins with it.
    pub version: i64,
    pub state: ScheduleState,
    /// When it fires, in words.
    #[cfg_attr(feature = "openapi", schema(example = "At 09:00, in Europe/Berlin"))]
    pub description: String,
    /// The next tick; `null` if the schedule is paused or finished.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_fire_at: Option<Timestamp>,
    /// The tick that is held until the job of an earlier tick is final.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub held_for: Option<Timestamp>,
    /// The result of its latest tick.
    pub last_tick: Option<TickDocument>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 9 * * *"))]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90s"))]
    pub every: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Berlin"))]
    pub timezone: Option<String>,
    pub job: JobSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_gap: Option<DstGap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_overlap: Option<DstOverlap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
    pub jitter: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

impl ScheduleDocument {
    /// Without the job that it submits: for a caller who may change schedules and not read them.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self { job: JobSpec::default(), ..self }
    }

    /// The fields beside those that were written: what is told, and cannot be set.
    pub const TOLD: [&'static str; 9] =
        ["id", "version", "state", "description", "next_fire_at", "held_for", "last_tick", "created_at", "updated_at"];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ScheduleState {
    /// It has a next tick.
    Active,
    /// Nothing fires until it is resumed.
    Paused,
    /// It has fired for the last time.
    Finished,
}

impl ScheduleState {
    pub const fn as_str(self) -> &'static str {
        match self {
            ScheduleState::Active => "active",
            ScheduleState::Paused => "paused",
            ScheduleState::Finished => "finished",
        }
    }
}

/// The result of a tick, or of a series of missed ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TickDocument {
    /// Its nominal time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub nominal: Timestamp,
    pub state: TickState,
    pub reason: Option<TickReason>,
    /// When the result was recorded.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The job it created.
    pub job: Option<String>,
    /// The state of that job; `null` if it was deleted.
    pub job_state: Option<State>,
    /// The last tick of a series of missed ones.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last: Option<Timestamp>,
    /// How many ticks this entry covers; `null`: too many to count.
    pub count: Option<u32>,
}

/// Any of the fields of a schedule: for the preview of an incomplete one, and for a patch, where `null` removes a field.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 9 * * *"))]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90s"))]
    pub every: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Berlin"))]
    pub timezone: Option<String>,
    #[serde(default, deserialize_with = "crate::object::optional", skip_serializing_if = "Option::is_none")]
    pub job: Option<JobSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_gap: Option<DstGap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_overlap: Option<DstOverlap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
    pub jitter: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

impl From<ScheduleFields> for ScheduleSpec {
    /// What is missing is left empty, for the judgement to find.
    fn from(fields: ScheduleFields) -> Self {
        Self {
            name: fields.name.unwrap_or_default(),
            cron: fields.cron,
            every: fields.every,
            at: fields.at,
            timezone: fields.timezone,
            job: fields.job.unwrap_or_default(),
            missed: fields.missed,
            missed_max: fields.missed_max,
            overlap: fields.overlap,
            dst_gap: fields.dst_gap,
            dst_overlap: fields.dst_overlap,
            jitter: fields.jitter,
            start_at: fields.start_at,
            end_at: fields.end_at,
            paused: fields.paused,
        }
    }
}

/// What a schedule will do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreviewDocument {
    pub items: Vec<crate::schedule::PreviewItem>,
    /// When it fires, in words.
    #[cfg_attr(feature = "openapi", schema(example = "At 09:00, in Europe/Berlin"))]
    pub description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_and_what_was_written_are_all_the_fields_there_are() {
        let written = ScheduleFields {
            cron: Some("0 9 * * *".into()),
            job: Some(JobSpec { url: Some("http://127.0.0.1/".into()), ..JobSpec::default() }),
            ..ScheduleFields::default()
        };
        let spec = ScheduleSpec { name: "daily".into(), ..written.into() };
        let document = serde_json::json!({
            "id": "1", "name": spec.name, "version": 1, "state": "active", "description": "", "next_fire_at": null,
            "held_for": null, "last_tick": null, "created_at": "2026-11-15T09:00:00Z",
            "updated_at": "2026-11-15T09:00:00Z", "cron": spec.cron, "job": spec.job,
        });
        let read: ScheduleDocument = serde_json::from_value(document).expect("it can be read");
        let mut fields = serde_json::to_value(read).expect("plain data");
        let object = fields.as_object_mut().expect("an object");
        for told in ScheduleDocument::TOLD {
            assert!(object.remove(told).is_some(), "{told} is a field");
        }
        let again: ScheduleSpec = serde_json::from_value(fields).expect("what is left is what was written");
        assert_eq!((again.name.as_str(), again.cron.as_deref()), ("daily", Some("0 9 * * *")));
    }
}
