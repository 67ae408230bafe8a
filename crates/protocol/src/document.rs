//! What the HTTP API says, as types: written by the API, read by the client and the command line.
//!
//! People script against these names. A field is added, never renamed.

mod audit;
mod live;
mod overview;
mod parked;
mod schedule;
mod statistics;
mod tenant;
mod webhook;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::attempt::AttemptOutcome;
use crate::duration::Span;
use crate::lane::Lane;
use crate::session::SessionState;
use crate::spec::{JobSpec, Mistake};
use crate::state::State;
use crate::time::Timestamp;
pub use audit::AuditDocument;
pub use live::{
    HeartbeatEvent, JobEvent, QueueEvent, ResetEvent, ResetReason, ScheduleEvent, ScheduleWhat, SnapshotEvent,
    TicketDocument, WorkerEvent,
};
pub use overview::{
    AttentionDocument, AttentionKind, CountDocument, FailureGroupDocument, FailureGroupsDocument, HeldDocument,
    OldestWaitingDocument, OverviewDocument, WorkersDocument,
};
pub use parked::ParkedDocument;
pub use schedule::{PreviewDocument, ScheduleDocument, ScheduleFields, ScheduleState, TickDocument};
pub use statistics::{BucketDocument, QueueStatisticsDocument, SpreadDocument, StatisticsDocument, TallyDocument};
pub use tenant::{
    KeyDocument, KeyState, LimitDocument, MadeKeyDocument, NewKeyDocument, NewTenantDocument, RotateKeyDocument,
    RotateSecretDocument, SecretDocument, TenantDocument, TenantPatchDocument, Unlimited, WhoamiDocument,
};
pub use webhook::{DeliveryDocument, WebhookDocument};

/// A job: its submitted fields and its state. In a list, `payload`, `body`, `headers`, `env`, `cwd`, `exit_codes` and
/// `attempts` are left out, and a command or an error of more than 1,000 characters is truncated and ends in `…`; read
/// the job to get them in full.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobDocument {
    pub id: String,
    pub state: State,
    pub queue: String,
    pub priority: Lane,
    /// The number of the latest attempt; it never decreases.
    pub attempt: u32,
    pub max_attempts: u32,
    /// Attempts that count against `max_attempts`; interrupted ones do not.
    pub spent: u32,
    /// How often a worker died while it was running this job.
    pub crashes: u32,
    /// The number of its changes, from 1: `sequence` of its latest event on the stream.
    #[serde(default)]
    pub sequence: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub run_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub started_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// Why the latest attempt failed.
    pub error: Option<String>,
    /// The schedule whose tick created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The nominal time of that tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub scheduled_for: Option<Timestamp>,
    #[serde(flatten)]
    pub asked: Asked,
    /// The latest attempts, oldest first, at most 25 and about a megabyte. Only when a single job is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<AttemptDocument>>,
    /// The number of attempts so far. If there are more than 200, the first 20 and the latest are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_total: Option<u64>,
    /// If there are older attempts than those in `attempts`: the `cursor` for their first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_next: Option<String>,
    /// What keeps it from running, as far as the server knows. Only when a single job is read or submitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintDocument>,
}

/// A hint about a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HintDocument {
    pub kind: HintKind,
    /// A sentence.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HintKind {
    /// No connected worker has a handler for the job's task.
    NoWorker,
    /// A later server knows more hints than this client.
    #[serde(other)]
    Unknown,
}

/// The part of a job document that repeats the submitted fields.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Asked {
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<crate::spec::CommandSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub payload: Option<AnyJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<crate::spec::ExitCodes>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub timeout: Option<Span>,
    pub backoff: Option<crate::spec::BackoffSpec>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    pub idempotency_key: Option<String>,
    pub callback_url: Option<String>,
    pub correlation_id: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
}

/// One attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptDocument {
    /// 0 if the job ended without an attempt.
    pub number: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub started_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// `null` while it runs.
    pub outcome: Option<AttemptOutcome>,
    pub worker: Option<String>,
    /// The number of the claim it ran under, as sent to the target in `Foreman-Fence`.
    pub fence: Option<i64>,
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<crate::attempt::HttpReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<crate::attempt::CommandReport>,
}

impl JobDocument {
    /// Where it stands, without what was asked, what came back and why: for who may change jobs and not read them.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self {
            error: None,
            schedule: None,
            scheduled_for: None,
            asked: Asked::default(),
            attempts: None,
            attempts_total: None,
            attempts_next: None,
            ..self
        }
    }
}

impl From<JobSpec> for Asked {
    fn from(spec: JobSpec) -> Self {
        Self {
            kind: spec.kind,
            url: spec.url,
            command: spec.command,
            task: spec.task,
            method: spec.method,
            headers: spec.headers,
            payload: spec.payload.map(AnyJson::shown),
            body: spec.body,
            env: spec.env,
            cwd: spec.cwd,
            exit_codes: spec.exit_codes,
            timeout: spec.timeout,
            backoff: spec.backoff,
            expires_at: spec.expires_at,
            idempotency_key: spec.idempotency_key,
            callback_url: spec.callback_url,
            correlation_id: spec.correlation_id,
            tags: spec.tags.unwrap_or_default(),
        }
    }
}

/// Any JSON, as it was written. Kept as text: taken apart, `[[],[],…]` needs ten times the room.
#[derive(Clone, Debug)]
pub struct AnyJson(Box<RawValue>);

impl AnyJson {
    /// A payload for people to see. One that cannot be shown as JSON (a number beyond every float, a nesting beyond reason)
    /// is shown as its text; it is sent to the letter all the same.
    fn shown(payload: Box<RawValue>) -> Self {
        if serde_json::from_str::<Readable>(payload.get()).is_ok() {
            return Self(payload);
        }
        Self::from(serde_json::Value::String(payload.get().into()))
    }

    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl From<serde_json::Value> for AnyJson {
    fn from(value: serde_json::Value) -> Self {
        Self(RawValue::from_string(value.to_string()).expect("what was a value is JSON"))
    }
}

impl std::fmt::Display for AnyJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for AnyJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// By way of a value, for what is flattened into another document has been taken apart already.
impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_json::Value::deserialize(deserializer).map(Self::from)
    }
}

/// JSON that a value can be made of, without making it.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> serde::de::Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListDocument<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueDocument {
    pub name: String,
    pub paused: bool,
    pub scheduled: u64,
    pub pending: u64,
    pub retrying: u64,
    pub running: u64,
    /// How long the oldest due job has been waiting.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub oldest_age: Option<Span>,
    /// Jobs that reached a final state, per second, over the last minute.
    pub rate: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerDocument {
    /// The session: one run of the worker process.
    pub id: String,
    pub worker: String,
    pub pid: u32,
    pub version: String,
    pub state: SessionState,
    pub slots: u32,
    pub running: u64,
    /// Empty: all queues.
    pub queues: Vec<String>,
    /// The tasks it has handlers for; `null` if its version does not report them.
    #[serde(default)]
    pub tasks: Option<Vec<String>>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub heartbeat_at: Timestamp,
}

/// The jobs that a bulk operation applies to. Without any field, all jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Only jobs that ended with an error of this group; `group` of the list of groups. It must not be `null`, which
    /// would mean all jobs.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error_group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub created_after: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub created_before: Option<Timestamp>,
}

/// The group of those who died before errors were grouped is `null`; passed on as it is, it would mean all of them.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    #[serde(deserialize_with = "crate::object::required")]
    pub filter: FilterDocument,
    /// Only count.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkAnswer {
    pub matched: u64,
    /// How many were changed; fewer than matched if some changed state meanwhile. 0 in a dry run.
    pub changed: u64,
    /// How many of the matched jobs are commands that were skipped because the key lacks `exec:command` or the server
    /// does not run commands. 0 in a dry run.
    #[serde(default)]
    pub skipped: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    pub jobs: Vec<JobSpec>,
}

/// RFC 9457. `type` is the path of a page on this server that explains the problem.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProblemDocument {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    /// The request's id, as in `X-Request-ID` and in the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// All mistakes in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Mistake>,
    /// The state of the job, if it is the reason for the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The current version, if the request expected another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The scope that the key would need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<crate::scope::Scope>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_group_of_errors_is_not_every_job() {
        let read = |text: &str| serde_json::from_str::<FilterDocument>(text);
        assert!(read(r#"{"error_group":null}"#).is_err());
        assert_eq!(read(r#"{"error_group":"x"}"#).expect("fits").error_group.as_deref(), Some("x"));
        assert_eq!(read("{}").expect("fits").error_group, None);
    }

    #[test]
    fn a_payload_that_json_cannot_show_is_shown_as_its_text() {
        let shown = |json: &str| AnyJson::shown(RawValue::from_string(json.into()).expect("JSON")).get().to_owned();
        assert_eq!(shown(r#"{"n": 1, "a":[null,true,-1,1.5,"x"]}"#), r#"{"n": 1, "a":[null,true,-1,1.5,"x"]}"#);
        assert_eq!(shown("1e400"), r#""1e400""#);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(shown(&deep), format!("{deep:?}"));
    }
}
