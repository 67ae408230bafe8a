//! What a job does when it runs: call a URL, run a command, call a task by name, or tell somebody how a job ended.

use std::fmt;
use std::sync::Arc;

pub use foreman_protocol::spec::ExitCodes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::sealed::{Keyring, Place};
use crate::secret_map::SecretMap;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Http(HttpTarget),
    Command(CommandTarget),
    Task(TaskTarget),
    /// Made by Foreman, never by a client.
    Webhook(WebhookTarget),
}

/// Call `url` once per attempt, with exactly this body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HttpTarget {
    pub url: url::Url,
    pub method: String,
    #[serde(default, skip_serializing_if = "SecretMap::is_empty")]
    pub headers: SecretMap,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub body: Body,
}

/// Sent as it was given: JSON to the letter, or raw text, without an envelope.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    #[default]
    None,
    Json(Box<RawValue>),
    Text(String),
}

impl Body {
    pub fn is_none(&self) -> bool {
        matches!(self, Body::None)
    }

    pub fn as_str(&self) -> &str {
        match self {
            Body::None => "",
            Body::Json(raw) => raw.get(),
            Body::Text(text) => text,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandTarget {
    pub program: Program,
    #[serde(default, skip_serializing_if = "SecretMap::is_empty")]
    pub env: SecretMap,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Given to the command on its standard input.
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub input: Body,
    #[serde(default)]
    pub exit_codes: ExitCodes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    Argv(Vec<String>),
    /// `sh -c`
    Shell(String),
}

impl Program {
    pub fn argv(&self) -> Vec<String> {
        match self {
            Program::Argv(argv) => argv.clone(),
            Program::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
        }
    }
}

/// Run by whoever knows the task's name: a Rust handler in the worker, or a worker that pulls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskTarget {
    pub name: String,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub payload: Body,
}

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

/// What the headers of a target are sealed for.
pub const HEADERS_PLACE: &str = "job/headers";
/// What the variables of a command are sealed for.
pub const ENV_PLACE: &str = "job/env";

impl Target {
    /// The values in it that may be secret, and what they are sealed for.
    fn secrets_mut(&mut self) -> Option<(&mut SecretMap, &'static str)> {
        match self {
            Target::Http(http) => Some((&mut http.headers, HEADERS_PLACE)),
            Target::Command(command) => Some((&mut command.env, ENV_PLACE)),
            Target::Task(_) | Target::Webhook(_) => None,
        }
    }

    /// Seals what may be secret in it, before it is written.
    pub fn seal(&mut self, ring: &Keyring, tenant: &crate::id::TenantId) {
        if let Some((secrets, name)) = self.secrets_mut() {
            *secrets = std::mem::take(secrets).sealed(ring, Place { tenant, name });
        }
    }

    /// Whether it may be written as it is.
    pub fn is_safe_to_keep(&self) -> bool {
        match self {
            Target::Http(http) => http.headers.is_safe_to_keep(),
            Target::Command(command) => command.env.is_safe_to_keep(),
            Target::Task(_) | Target::Webhook(_) => true,
        }
    }

    pub fn route(&self) -> Route {
        match self {
            Target::Http(http) if http.headers.is_sealed() => Route::sealed_http(),
            Target::Http(_) => Route::http(),
            Target::Command(command) if command.env.is_sealed() => Route::sealed_command(),
            Target::Command(_) => Route::command(),
            Target::Task(task) => Route::task(&task.name),
            Target::Webhook(_) => Route::webhook(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_survives_the_store_to_the_letter() {
        let payload = r#"{"b":1.0,"a":123456789012345678901234567890,"e":1e400}"#;
        let target = Target::Http(HttpTarget {
            url: "http://127.0.0.1/".parse().expect("valid"),
            method: "POST".into(),
            headers: SecretMap::default(),
            body: Body::Json(RawValue::from_string(payload.into()).expect("valid JSON")),
        });
        let stored = serde_json::to_string(&target).expect("serializes");
        let Target::Http(read) = serde_json::from_str(&stored).expect("reads") else { panic!("another target") };
        assert_eq!(read.body.as_str(), payload);
    }
}
