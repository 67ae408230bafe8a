//! Delivers a message about a job.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Send a message to whoever asked to be told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookTarget {
    pub to: Addressee,
    pub event: crate::webhook::Event,
    #[serde(default, skip_serializing_if = "crate::webhook::Wish::is_known")]
    pub wish: crate::webhook::Wish,
    /// The message, to the letter.
    pub body: Box<RawValue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressee {
    /// As it is when the try begins: its URL, its secrets, and whether it is enabled.
    Webhook(crate::id::WebhookId),
    /// A job's `callback_url`.
    Callback(url::Url),
}
