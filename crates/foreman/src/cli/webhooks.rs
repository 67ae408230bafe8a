//! Arguments of `foreman webhooks`.

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args, Subcommand};
use foreman_client::{Span, WebhookPatch, WebhookSpec};

#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Create a webhook and print its signing secret, which is shown only once
    Create(CreateWebhook),
    /// List webhooks
    List(ListWebhooks),
    /// Show a webhook and its health
    Show {
        /// Webhook id
        id: String,
    },
    /// Change the given fields of a webhook
    Update(UpdateWebhook),
    /// Delete webhooks; pending deliveries are cancelled
    Delete {
        /// Webhook ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Replace the signing secret and print the new one, which is shown only once; both secrets sign for a while
    RotateSecret(RotateWebhookSecret),
    /// List the deliveries of a webhook, newest first
    Deliveries(Deliveries),
    /// Show a delivery with its message and all attempts
    Delivery {
        /// Webhook id
        webhook: String,
        /// Delivery id
        delivery: String,
    },
    /// Send a finished delivery again
    Resend {
        /// Webhook id
        webhook: String,
        /// Delivery id
        delivery: String,
    },
    /// Send a webhook.test message and print the response
    Test(TestWebhook),
}

#[derive(Debug, Args)]
pub struct CreateWebhook {
    /// URL that receives the events
    #[arg(long)]
    pub url: String,
    /// Events to subscribe to, separated by commas: job.completed, job.failed, job.dead, job.cancelled, webhook.disabled, or job.*, or *
    #[arg(long, value_delimiter = ',', default_value = "*", value_name = "EVENTS")]
    pub events: Vec<String>,
    /// Description to recognise the webhook by
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Create the webhook disabled: nothing is sent to it yet
    #[arg(long)]
    pub disabled: bool,
}

impl From<CreateWebhook> for WebhookSpec {
    fn from(given: CreateWebhook) -> Self {
        let CreateWebhook { url, events, description, disabled } = given;
        Self { url, events, description, enabled: disabled.then_some(false) }
    }
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["url", "events", "description", "enable", "disable"])))]
pub struct UpdateWebhook {
    /// Webhook id
    pub id: String,
    /// URL that receives the events
    #[arg(long)]
    pub url: Option<String>,
    /// Events to subscribe to, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "EVENTS")]
    pub events: Option<Vec<String>>,
    /// Description to recognise the webhook by
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Enable the webhook; clears the failures that disabled it
    #[arg(long, conflicts_with = "disable")]
    pub enable: bool,
    /// Disable the webhook: nothing is sent to it
    #[arg(long)]
    pub disable: bool,
    /// Change the webhook only if it has this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

impl UpdateWebhook {
    pub fn patch(&self) -> WebhookPatch {
        WebhookPatch {
            url: self.url.clone(),
            events: self.events.clone(),
            description: self.description.clone(),
            enabled: (self.enable || self.disable).then_some(self.enable),
        }
    }
}

#[derive(Debug, Args)]
pub struct ListWebhooks {
    /// Show at most this many webhooks
    #[arg(long, default_value = "50", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct RotateWebhookSecret {
    /// Webhook id
    pub id: String,
    /// How long messages are also signed with the old secret [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub overlap: Option<Span>,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    /// Webhook id
    pub webhook: String,
    /// Show at most this many deliveries
    #[arg(long, default_value = "50", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct TestWebhook {
    /// Webhook id
    pub id: String,
    /// Stop waiting for the response after this long
    #[arg(long, value_name = "DURATION", default_value = "20s")]
    pub timeout: Span,
    /// Do not wait for the response
    #[arg(long)]
    pub no_wait: bool,
}
