//! Webhooks and their deliveries as the API tells of them.

use serde::{Deserialize, Serialize};

use super::JobDocument;
use crate::state::State;
use crate::time::Timestamp;
use crate::webhook::Disabled;

/// A webhook endpoint. Its secret is shown only in the response that created it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDocument {
    pub id: String,
    pub url: String,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>, example = json!(["job.completed", "job.dead"])))]
    pub events: Vec<String>,
    pub description: String,
    pub enabled: bool,
    /// Why it is disabled.
    pub disabled: Option<Disabled>,
    /// The time since when every delivery has failed; `null` while deliveries succeed.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub failing_since: Option<Timestamp>,
    /// The number of secrets that sign now: two during a rotation.
    pub secrets: usize,
    /// Increases with every change; the `ETag` is this number.
    pub version: i64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
    /// Shown only when the webhook is created or its secret is rotated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"))]
    pub secret: Option<String>,
}

/// One message to an endpoint: pending, delivered or failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryDocument {
    /// The state of the delivery, which is a job itself.
    pub id: String,
    pub webhook: String,
    /// As sent in `webhook-id`; the same for every attempt.
    pub message_id: String,
    pub event: String,
    /// The job the message is about.
    pub about: Option<String>,
    /// `null` if its job is past its retention period.
    pub state: Option<State>,
    pub attempt: Option<u32>,
    /// The endpoint's latest response.
    pub status: Option<u16>,
    pub error: Option<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The time of the next attempt; `null` if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_attempt_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The complete job, with the message and the attempts. Only when a single delivery is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobDocument>,
}

impl DeliveryDocument {
    /// Where it stands, without the message and what was answered: for who may change jobs and not read them.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self { status: None, error: None, job: None, ..self }
    }
}
