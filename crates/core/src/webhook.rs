//! Webhooks: who wants to be told of what, and the message they are sent.
//!
//! A delivery is a job like any other, in a queue of its own: signed, retried and, when all fails, dead. Its job is made by the
//! courier from the change log, in the transaction that moves the courier's place there, so that every ending of a job is told
//! once to everyone who asked, whoever dies when. See `docs/decisions` for why it is not made by the statement that ends the job.

mod delivery;
mod event;
mod message;
mod spec;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{TenantId, WebhookId};
use crate::signing::SigningKeys;
use crate::time::Timestamp;

pub use delivery::{Dispatch, TIMEOUT, Wish};
pub use event::{Event, Events, NotAnEvent};
pub use foreman_protocol::webhook::{Disabled, WebhookPatch, WebhookSpec};
pub use message::{About, Ending, Message};

/// The queue of all deliveries. Names that begin like it are not for users.
pub const QUEUE: &str = "foreman.webhooks";
/// Queues named so are Foreman's own: nobody submits to them, and nobody is told what happens in them.
pub const RESERVED: &str = "foreman.";
/// The kind of a delivery, to filter by.
pub const KIND: &str = "foreman.webhook";
/// Tags named so are Foreman's own.
pub const RESERVED_TAGS: &str = "foreman:";
/// The tag under which stores find the jobs that asked for a callback. It stands in no document.
pub const CALLBACK_TAG: &str = "foreman:callback";

/// How long an endpoint may fail without a single success before it is disabled.
pub const PATIENCE: Duration = Duration::from_hours(24 * 5);
/// How long the old secret goes on signing when nobody says otherwise.
pub const OVERLAP: Duration = Duration::from_hours(24);
/// Endpoints of one tenant.
pub const MOST_ENDPOINTS: u64 = 50;

/// An endpoint as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub settings: WebhookSettings,
    pub signing: SigningKeys,
    /// Since when every delivery has failed; none while they arrive.
    pub failing_since: Option<Timestamp>,
    /// Rises with every change by somebody, from 1; not with its health.
    pub version: i64,
    pub created_at: Timestamp,
    pub edited_at: Timestamp,
}

impl Webhook {
    /// Where its secrets are sealed for.
    pub fn place_name(id: WebhookId) -> String {
        format!("webhook/{id}/secret")
    }
}

/// What its owner says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    pub url: url::Url,
    pub events: Events,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Why it is sent nothing; none while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
}

impl WebhookSettings {
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    pub fn wants(&self, event: Event) -> bool {
        self.is_enabled() && self.events.contain(event)
    }
}
