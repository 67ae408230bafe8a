//! Webhooks and their deliveries as the API tells of them.

use serde::{Deserialize, Serialize};

use super::JobDocument;
use crate::ports::{Delivery, JobView};
use crate::state::State;
use crate::time::Timestamp;
use crate::webhook::{Disabled, Webhook};

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

impl WebhookDocument {
    pub fn new(webhook: Webhook, now: Timestamp) -> Self {
        Self {
            id: webhook.id.to_string(),
            url: webhook.settings.url.to_string(),
            events: webhook.settings.events.iter().map(|event| event.to_string()).collect(),
            description: webhook.settings.description,
            enabled: webhook.settings.disabled.is_none(),
            disabled: webhook.settings.disabled,
            failing_since: webhook.failing_since,
            secrets: webhook.signing.count(now),
            version: webhook.version,
            created_at: webhook.created_at,
            updated_at: webhook.edited_at,
            secret: None,
        }
    }
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

    /// With its job: one delivery that is read. Without: a row of a list.
    pub fn new(delivery: &Delivery, view: Option<JobView>, with_job: bool) -> Self {
        let is_over = view.as_ref().is_none_or(|view| view.state.is_final());
        let answered = |view: &JobView| {
            let mut latest = view.attempts.records.iter().rev();
            latest.find_map(|attempt| attempt.report.response.as_ref().map(|answer| answer.status))
        };
        Self {
            id: delivery.job.to_string(),
            webhook: delivery.webhook.to_string(),
            message_id: crate::signing::MessageId::of_job(delivery.job).to_string(),
            event: delivery.event.to_string(),
            about: delivery.about.map(|id| id.to_string()),
            state: view.as_ref().map(|view| view.state),
            attempt: view.as_ref().map(|view| view.attempt),
            status: view.as_ref().and_then(answered),
            error: view.as_ref().and_then(|view| view.error.clone()),
            created_at: delivery.created_at,
            next_attempt_at: view.as_ref().filter(|_| !is_over).map(|view| view.run_at),
            finished_at: view.as_ref().and_then(|view| view.finished_at),
            job: view.filter(|_| with_job).map(|view| JobDocument::new(view, true)),
        }
    }
}
