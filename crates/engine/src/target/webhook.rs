//! Delivers a message: to an endpoint that wants to hear of jobs, or to the `callback_url` of one.
//!
//! An endpoint is looked up at each try, for days may lie between two: the try goes to the URL it has now, is signed with the
//! secrets in force now, and is not made at all when the endpoint is gone or disabled. The message itself is sent to the
//! letter, under one id. Nothing is ever sent to an endpoint unsigned.
//!
//! 2xx is an arrival; 410 says that nobody wants it any more, and ends it; whatever else is tried again when its time has come,
//! a redirect too, which is not followed. What keeps a message from being sent here (no master key, no store) is told apart
//! from an endpoint's failure by how the error begins ([`NOT_SENT`]): the courier does not count it against the endpoint.
//!
//! Any number of deliveries run at once. A process that dies while one is under way leaves a message that may have arrived and
//! is sent again, under the same id.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::{AttemptEnd, Report};
use foreman_core::ports::WebhookStore;
use foreman_core::sealed::SealedFor;
use foreman_core::signing::{SigningPurpose, SigningSecret};
use foreman_core::target::{Addressee, Route, WebhookTarget};
use foreman_core::webhook::{Webhook, Wish};
use foreman_core::{Target, Timestamp, WebhookId};
use foreman_runtime::clock;
use url::Url;

use super::http::{HttpClient, Outgoing};
use super::{Runner, Try, TryEnding};
use crate::outage::bounded;
use crate::vault::Vault;

/// How the error of a try begins that never reached the wire, for no fault of the endpoint's.
pub(crate) const NOT_SENT: &str = "not sent: ";

/// How long to wait for what the store says about an endpoint.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(5);

pub struct WebhookRunner {
    caller: Arc<HttpClient>,
    webhooks: Arc<dyn WebhookStore>,
    vault: Vault,
}

/// Where a message goes, and what it is signed with.
struct Address {
    url: Url,
    secrets: Vec<SigningSecret>,
}

impl WebhookRunner {
    /// `caller`: as a rule that of the [`super::http::HttpRunner`].
    pub fn new(caller: Arc<HttpClient>, webhooks: Arc<dyn WebhookStore>, vault: Vault) -> Self {
        Self { caller, webhooks, vault }
    }

    async fn address(&self, target: &WebhookTarget, attempt: &Try, now: Timestamp) -> Result<Address, TryEnding> {
        match &target.to {
            Addressee::Webhook(id) => self.endpoint(*id, target, attempt, now).await,
            Addressee::Callback(url) => {
                let secrets = self.vault.secrets_of(&attempt.job.tenant, SigningPurpose::Callback, now).await;
                let secrets = secrets.map_err(|error| again(&error))?;
                Ok(Address { url: url.clone(), secrets })
            }
        }
    }

    async fn endpoint(
        &self,
        id: WebhookId,
        target: &WebhookTarget,
        attempt: &Try,
        now: Timestamp,
    ) -> Result<Address, TryEnding> {
        let tenant = &attempt.job.tenant;
        let found = bounded(LOOK_UP_TIMEOUT, self.webhooks.webhook(tenant, id)).await.map_err(|error| again(&error))?;
        let Some(webhook) = found else {
            return Err(TryEnding::failed(format!("{NOT_SENT}the webhook {id} was deleted")));
        };
        if !webhook.settings.is_enabled() {
            return Err(TryEnding::failed(format!("{NOT_SENT}the webhook {id} is disabled")));
        }
        if target.wish == Wish::Unknown && !webhook.settings.wants(target.event) {
            // It was made for an endpoint that the courier could not read. Nothing went wrong.
            return Err(TryEnding::completed(Report::default()));
        }
        let place = Webhook::place_name(id);
        let secrets = self.vault.secrets(&webhook.signing, SealedFor { tenant, name: &place }, now);
        let secrets = secrets.map_err(|error| again(&error))?;
        if secrets.is_empty() {
            return Err(again(&"the webhook has no signing secret"));
        }
        Ok(Address { url: webhook.settings.url, secrets })
    }
}

#[async_trait]
impl Runner for WebhookRunner {
    fn routes(&self) -> Vec<Route> {
        vec![Route::webhook()]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let Target::Webhook(target) = &attempt.job.work.target else { return TryEnding::misrouted("webhook", attempt) };
        let (id, now, body) = (attempt.job.id, Timestamp::from_micros(clock::now()), target.body.get());
        let Address { url, secrets } = match self.address(target, attempt, now).await {
            Ok(address) => address,
            Err(ending) => return ending,
        };
        let mut outgoing = match Outgoing::of_message(&url, body, id) {
            Ok(outgoing) => outgoing,
            Err(error) => return TryEnding::failed(error.to_string()),
        };
        outgoing.name(id);
        outgoing.sign(&secrets, id, now, body.as_bytes());
        self.caller.call(&url, outgoing, attempt, judge).await
    }
}

/// What a receiver's answer means. It may be wrong about itself for a while: only that it is gone is taken at its word.
fn judge(status: u16, retry_after: Option<Duration>) -> AttemptEnd {
    match status {
        200..=299 => AttemptEnd::Completed,
        410 => AttemptEnd::Failed,
        _ => AttemptEnd::Again { after: retry_after },
    }
}

fn again(why: &dyn std::fmt::Display) -> TryEnding {
    TryEnding::again(format!("{NOT_SENT}{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_arrival_and_a_farewell_end_a_delivery() {
        for status in 100..=999 {
            let expected = match status {
                200..=299 => AttemptEnd::Completed,
                410 => AttemptEnd::Failed,
                _ => AttemptEnd::Again { after: None },
            };
            assert_eq!(judge(status, None), expected, "{status}");
        }
    }
}
