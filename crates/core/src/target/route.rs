//! Who can run a job.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Who can run a job: part of the claim, so that a worker takes only what it can run and a backlog that nobody serves
/// is not walked over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Route(Arc<str>);

impl Route {
    /// How the names of routes begin that belong to one task each: there may be any number of them.
    pub const TASK: &str = "task:";

    pub fn http() -> Self {
        Self("http".into())
    }

    pub fn command() -> Self {
        Self("command".into())
    }

    /// An HTTP call with sealed headers: a worker of an earlier version, which cannot open them, does not know this
    /// route and leaves the job alone.
    pub fn sealed_http() -> Self {
        Self("http+sealed".into())
    }

    /// A command with sealed variables, for the same reason.
    pub fn sealed_command() -> Self {
        Self("command+sealed".into())
    }

    pub fn webhook() -> Self {
        Self("webhook".into())
    }

    pub fn task(name: &str) -> Self {
        Self(format!("{}{name}", Self::TASK).into())
    }

    /// The name of the task, where this is the route of one.
    pub fn as_task(&self) -> Option<&str> {
        self.0.strip_prefix("task:")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads back what a store kept.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
