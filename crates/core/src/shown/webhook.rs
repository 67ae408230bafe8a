//! Webhooks and their deliveries.

use crate::document::{DeliveryDocument, WebhookDocument};
use crate::ports::{Delivery, JobView};
use crate::time::Timestamp;
use crate::webhook::Webhook;

impl Webhook {
    /// Without its secret.
    pub fn document(self, now: Timestamp) -> WebhookDocument {
        WebhookDocument {
            id: self.id.to_string(),
            url: self.settings.url.to_string(),
            events: self.settings.events.iter().map(|event| event.to_string()).collect(),
            description: self.settings.description,
            enabled: self.settings.disabled.is_none(),
            disabled: self.settings.disabled,
            failing_since: self.failing_since,
            secrets: self.signing.count(now),
            version: self.version,
            created_at: self.created_at,
            updated_at: self.edited_at,
            secret: None,
        }
    }
}

impl Delivery {
    /// With its job: one delivery that is read. Without: a row of a list.
    pub fn document(&self, view: Option<JobView>, with_job: bool) -> DeliveryDocument {
        let is_over = view.as_ref().is_none_or(|view| view.state.is_final());
        let answered = |view: &JobView| {
            let mut latest = view.attempts.records.iter().rev();
            latest.find_map(|attempt| attempt.report.response.as_ref().map(|answer| answer.status))
        };
        DeliveryDocument {
            id: self.job.to_string(),
            webhook: self.webhook.to_string(),
            message_id: crate::signing::MessageId::of_job(self.job).to_string(),
            event: self.event.to_string(),
            about: self.about.map(|id| id.to_string()),
            state: view.as_ref().map(|view| view.state),
            attempt: view.as_ref().map(|view| view.attempt),
            status: view.as_ref().and_then(answered),
            error: view.as_ref().and_then(|view| view.error.clone()),
            created_at: self.created_at,
            next_attempt_at: view.as_ref().filter(|_| !is_over).map(|view| view.run_at),
            finished_at: view.as_ref().and_then(|view| view.finished_at),
            job: view.filter(|_| with_job).map(|view| view.document(true)),
        }
    }
}
