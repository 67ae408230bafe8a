//! What an endpoint is sent: the shape of Standard Webhooks (`type`, `timestamp`, `data`).

use serde::{Deserialize, Serialize};

use super::Event;
use crate::document::{AttemptDocument, JobDocument};
use crate::id::WebhookId;
use crate::state::State;
use crate::time::Timestamp;

/// Made once, with the delivery's job, and sent to the letter at every try.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "job.completed"))]
    pub event: Event,
    /// When it happened.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub timestamp: Timestamp,
    pub data: About,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum About {
    Job {
        /// As `GET /api/v1/jobs/{id}` shows it, without its attempts.
        job: Box<JobDocument>,
        outcome: Ending,
        /// Counts the endings of this job, from 1: it has a second one only if it was run again after the first.
        sequence: u32,
    },
    Webhook {
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        webhook: WebhookId,
        /// In one sentence.
        detail: String,
    },
}

/// How a job ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Ending {
    pub state: State,
    pub error: Option<String>,
    /// The try that ended it; none when it ended while it waited.
    pub attempt: Option<AttemptDocument>,
}
