//! What a job does when it runs: call a URL, run a command, call a task by name, or tell somebody how a job ended.

mod command;
pub(crate) mod http;
mod route;
mod task;
mod webhook;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::sealed::{Keyring, Place};
use crate::secret_map::SecretMap;

pub use command::{CommandTarget, ENV_PLACE, ExitCodes, Program};
pub use http::{HEADERS_PLACE, HttpTarget};
pub use route::Route;
pub use task::TaskTarget;
pub use webhook::{Addressee, WebhookTarget};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Http(HttpTarget),
    Command(CommandTarget),
    Task(TaskTarget),
    /// Made by Foreman, never by a client.
    Webhook(WebhookTarget),
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
