//! Webhooks as they are typed.

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args, Subcommand};
use foreman_client::{Span, WebhookPatch, WebhookSpec};

#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Make an endpoint and print its secret: this is the one moment in which it is shown
    Create(CreateWebhook),
    /// List endpoints
    List(ListWebhooks),
    /// Show an endpoint and how it fares
    Show {
        /// The endpoint
        id: String,
    },
    /// Change only what is given
    Update(UpdateWebhook),
    /// Remove endpoints; what is on its way to them is given up
    Delete {
        /// The endpoints
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Change an endpoint's secret for another, which is shown once; the old one signs too for a while
    RotateSecret(RotateWebhookSecret),
    /// List what was sent to an endpoint, the newest first
    Deliveries(Deliveries),
    /// Show one delivery with its message and all its tries
    Delivery {
        /// The endpoint
        webhook: String,
        /// The delivery
        delivery: String,
    },
    /// Send a delivery that arrived or was given up once more
    Resend {
        /// The endpoint
        webhook: String,
        /// The delivery
        delivery: String,
    },
    /// Send an endpoint a message of the type webhook.test, and say how that went
    Test(TestWebhook),
}

#[derive(Debug, Args)]
pub struct CreateWebhook {
    /// Where messages are sent
    #[arg(long)]
    pub url: String,
    /// Which, separated by commas: job.completed, job.failed, job.dead, job.cancelled, webhook.disabled, or job.*, or *
    #[arg(long, value_delimiter = ',', default_value = "*", value_name = "EVENTS")]
    pub events: Vec<String>,
    /// What people recognise it by
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Send it nothing yet
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
    /// The endpoint
    pub id: String,
    /// Where messages are sent
    #[arg(long)]
    pub url: Option<String>,
    /// Which, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "EVENTS")]
    pub events: Option<Vec<String>>,
    /// What people recognise it by
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Send it messages again; one that was disabled for its failures begins anew
    #[arg(long, conflicts_with = "disable")]
    pub enable: bool,
    /// Send it nothing
    #[arg(long)]
    pub disable: bool,
    /// Change it only if it is at this version
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
    /// At most this many
    #[arg(long, default_value = "50", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct RotateWebhookSecret {
    /// The endpoint
    pub id: String,
    /// How long the old one signs too [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub overlap: Option<Span>,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    /// The endpoint
    pub webhook: String,
    /// At most this many
    #[arg(long, default_value = "50", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct TestWebhook {
    /// The endpoint
    pub id: String,
    /// Give up waiting for its first answer after this long
    #[arg(long, value_name = "DURATION", default_value = "20s")]
    pub timeout: Span,
    /// Do not wait for its answer
    #[arg(long)]
    pub no_wait: bool,
}
