//! Webhooks: endpoints that are told how jobs end, and what became of each message.
//!
//! An endpoint's secret is told once, in the answer that made it. Where a version can be given, the call does something only if the endpoint is
//! at that version, and is refused with status 412 otherwise.

use foreman_protocol::document::{DeliveryDocument, ListDocument, RotateSecretDocument, WebhookDocument};
use foreman_protocol::webhook::{WebhookPatch, WebhookSpec};
use reqwest::Method;

use crate::call::PageQuery;
use crate::{CALL_TIMEOUT, Client, Error};

impl Client {
    pub async fn create_webhook(&self, webhook: &WebhookSpec) -> Result<WebhookDocument, Error> {
        self.post_json(&["webhooks"], webhook, CALL_TIMEOUT).await
    }

    pub async fn webhook(&self, id: &str) -> Result<WebhookDocument, Error> {
        self.get_json(&["webhooks", id], &(), CALL_TIMEOUT).await
    }

    /// One page, by id; `after` is `next` of the page before.
    pub async fn webhooks(&self, limit: usize, after: Option<&str>) -> Result<ListDocument<WebhookDocument>, Error> {
        self.get_json(&["webhooks"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// Changes only what is given.
    pub async fn update_webhook(
        &self,
        id: &str,
        patch: &WebhookPatch,
        version: Option<i64>,
    ) -> Result<WebhookDocument, Error> {
        self.send_if(Method::PATCH, &["webhooks", id], Some(patch), version).await
    }

    /// Removes the endpoint. What is on its way to it is given up.
    pub async fn delete_webhook(&self, id: &str) -> Result<(), Error> {
        self.call_blind(Method::DELETE, &["webhooks", id]).await
    }

    /// Changes its secret for another, which is in the answer; the old one signs too for a while.
    pub async fn rotate_webhook_secret(&self, id: &str, how: &RotateSecretDocument) -> Result<WebhookDocument, Error> {
        self.post_json(&["webhooks", id, "rotate-secret"], how, CALL_TIMEOUT).await
    }

    /// Sends it a message of the type `webhook.test`, whatever it wants to hear.
    pub async fn test_webhook(&self, id: &str) -> Result<DeliveryDocument, Error> {
        self.post(&["webhooks", id, "test"]).await
    }

    /// What was sent to it, the newest first; `after` is `next` of the page before.
    pub async fn deliveries(
        &self,
        webhook: &str,
        limit: usize,
        after: Option<&str>,
    ) -> Result<ListDocument<DeliveryDocument>, Error> {
        self.get_json(&["webhooks", webhook, "deliveries"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// One message with all its tries.
    pub async fn delivery(&self, webhook: &str, delivery: &str) -> Result<DeliveryDocument, Error> {
        self.get_json(&["webhooks", webhook, "deliveries", delivery], &(), CALL_TIMEOUT).await
    }

    /// Sends a message that arrived or was given up once more, under the same id.
    pub async fn resend_delivery(&self, webhook: &str, delivery: &str) -> Result<DeliveryDocument, Error> {
        self.post(&["webhooks", webhook, "deliveries", delivery, "resend"]).await
    }
}
