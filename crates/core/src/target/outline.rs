//! What lists show of a target: without its content, and cut where it may be long.
//!
//! Read from the JSON of a [`super::Target`] too, whose content is skipped: the variants and the names of the fields are
//! the same.

use serde::{Deserialize, Serialize};

use super::{CommandOutline, HttpOutline, TaskOutline, WebhookOutline};
use crate::document::Asked;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetOutline {
    Http(HttpOutline),
    Command(CommandOutline),
    Task(TaskOutline),
    Webhook(WebhookOutline),
}

impl TargetOutline {
    /// See [`super::Target::url`].
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Http(http) => Some(&http.url),
            Self::Command(_) | Self::Task(_) | Self::Webhook(_) => None,
        }
    }

    /// See [`super::Target::command`].
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    /// Writes into `asked` what a client would have written.
    pub(crate) fn describe(&self, asked: &mut Asked) {
        match self {
            Self::Http(http) => http.describe(asked),
            Self::Command(command) => command.describe(asked),
            Self::Task(task) => task.describe(asked),
            Self::Webhook(webhook) => webhook.describe(asked),
        }
    }

    #[must_use]
    pub(crate) fn cut(mut self) -> Self {
        if let Self::Command(command) = &mut self {
            command.cut();
        }
        self
    }
}
