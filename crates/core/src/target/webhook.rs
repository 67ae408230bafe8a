//! Delivers a message about a job. Foreman makes these jobs itself; clients cannot write them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Body, Defaults, Route, Target, TargetKind, TargetOutline};
use crate::document::Asked;
use crate::id::WebhookId;
use crate::retry::{Backoff, DELIVERY_WAITS, Pace};
use crate::spec::JobSpec;

/// Send a message about a job to an endpoint, or to the job's `callback_url`.
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
    Webhook(WebhookId),
    /// A job's `callback_url`.
    Callback(url::Url),
}

/// As lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookOutline {
    pub to: Addressee,
}

impl TargetKind for WebhookTarget {
    fn route(&self) -> Route {
        Route::webhook()
    }

    fn body(&self) -> &Body {
        &Body::None
    }

    fn content_bytes(&self) -> usize {
        self.body.get().len()
    }

    fn defaults(&self) -> Defaults {
        super::http::DEFAULTS
    }

    fn describe(&self, spec: &mut JobSpec) {
        spec.url = self.to.callback().map(ToString::to_string);
        spec.payload = Some(self.body.clone());
    }

    fn outline(&self) -> TargetOutline {
        TargetOutline::Webhook(WebhookOutline { to: self.to.clone() })
    }

    fn pace(&self, _backoff: Backoff) -> Pace {
        Pace::Listed(&DELIVERY_WAITS)
    }

    fn endpoint(&self) -> Option<WebhookId> {
        self.to.endpoint()
    }
}

impl From<WebhookTarget> for Target {
    fn from(webhook: WebhookTarget) -> Self {
        Target::Webhook(webhook)
    }
}

impl WebhookOutline {
    pub(super) fn describe(&self, asked: &mut Asked) {
        asked.url = self.to.callback().map(ToString::to_string);
    }
}

impl Addressee {
    pub fn endpoint(&self) -> Option<WebhookId> {
        match self {
            Addressee::Webhook(id) => Some(*id),
            Addressee::Callback(_) => None,
        }
    }

    fn callback(&self) -> Option<&url::Url> {
        match self {
            Addressee::Callback(url) => Some(url),
            Addressee::Webhook(_) => None,
        }
    }
}
