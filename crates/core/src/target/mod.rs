//! What a job does when it runs: call a URL, run a command, call a task by name, or deliver a message about a job.
//!
//! A kind of target is one file here and one in `engine/src/target`, which runs it. The file here answers every question
//! that the rest of Foreman asks about a target ([`TargetKind`]), reads what a client writes ([`TargetSyntax`]) and says what lists
//! show ([`outline`]). Other rooms call the methods of [`Target`] and never look at its variants; a test holds that
//! (`foreman/tests/architecture/targets.rs`).
//!
//! To add a kind, write its file, then add its variant to [`Target`] and [`TargetOutline`] and a line to the `match`es
//! beside them. If clients can write it, add its fields to [`JobSpec`] and a line to [`SYNTAXES`].

mod command;
mod http;
mod outline;
mod route;
mod task;
mod webhook;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use command::{CommandOutline, CommandTarget, ENV_PLACE, ExitCodes, Program};
pub use http::{HEADERS_PLACE, HttpOutline, HttpTarget};
pub use outline::TargetOutline;
pub use route::Route;
pub use task::{TaskOutline, TaskTarget};
pub use webhook::{Addressee, WebhookOutline, WebhookTarget};

use crate::id::{TenantId, WebhookId};
use crate::limits::Limits;
use crate::retry::{Backoff, Pace};
use crate::sealed::{Keyring, OpenError, SealedFor};
use crate::secret_map::SecretMap;
use crate::spec::{JobSpec, Mistakes};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Http(HttpTarget),
    Command(CommandTarget),
    Task(TaskTarget),
    /// Made by Foreman, never by a client.
    Webhook(WebhookTarget),
}

/// What is asked of a kind of target. What has a default is asked of every kind, and few have something to say.
trait TargetKind {
    fn route(&self) -> Route;

    fn body(&self) -> &Body;

    fn defaults(&self) -> Defaults;

    /// Writes into `spec` what a client would have written, without the body.
    fn describe(&self, spec: &mut JobSpec);

    fn outline(&self) -> TargetOutline;

    fn content_bytes(&self) -> usize {
        self.body().as_str().len()
    }

    fn fixed_label(&self) -> Option<&str> {
        None
    }

    fn url(&self) -> Option<&url::Url> {
        None
    }

    fn secrets(&self) -> Option<TargetSecrets<'_>> {
        None
    }

    fn secrets_mut(&mut self) -> Option<&mut SecretMap> {
        None
    }

    fn voids_secrets_of(&self, _kept: &Target) -> Option<&'static str> {
        None
    }

    fn pace(&self, backoff: Backoff) -> Pace {
        Pace::Backoff(backoff)
    }

    fn command(&self) -> Option<&CommandTarget> {
        None
    }

    fn endpoint(&self) -> Option<WebhookId> {
        None
    }
}

/// The values of a target that may be secret.
#[derive(Clone, Copy, Debug)]
pub struct TargetSecrets<'t> {
    pub values: &'t SecretMap,
    /// The field of a job that has them, such as `headers`.
    pub field: &'static str,
    /// What they are encrypted for.
    pub name: &'static str,
}

impl TargetSecrets<'_> {
    pub fn place<'p>(&self, tenant: &'p TenantId) -> SealedFor<'p> {
        SealedFor { tenant, name: self.name }
    }
}

/// How hard a job is tried that does not say so itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    pub max_attempts: u32,
    pub backoff: Backoff,
    pub timeout: Duration,
}

impl Default for Defaults {
    /// While it is not known what the job does.
    fn default() -> Self {
        http::DEFAULTS
    }
}

/// Whether a client wrote a field.
type IsGiven = fn(&JobSpec) -> bool;

/// A kind of target as a client writes it.
pub(crate) struct TargetSyntax {
    /// The field that chooses this kind.
    pub field: &'static str,
    pub is_given: IsGiven,
    /// The other fields that only this kind has, as pointers.
    pub own: &'static [(&'static str, IsGiven)],
    /// Takes its fields out of the spec. What is wrong with them is added to the mistakes.
    pub read: fn(JobSpec, Body, &Limits, &mut Mistakes) -> Option<Target>,
    /// The values that may be secret.
    pub secrets: fn(&mut JobSpec) -> Option<&mut BTreeMap<String, String>>,
}

/// The kinds that clients can write, in the order in which their mistakes are reported.
pub(crate) const SYNTAXES: [TargetSyntax; 3] = [http::SYNTAX, command::SYNTAX, task::SYNTAX];

impl Target {
    fn kind(&self) -> &dyn TargetKind {
        match self {
            Target::Http(http) => http,
            Target::Command(command) => command,
            Target::Task(task) => task,
            Target::Webhook(webhook) => webhook,
        }
    }

    fn kind_mut(&mut self) -> &mut dyn TargetKind {
        match self {
            Target::Http(http) => http,
            Target::Command(command) => command,
            Target::Task(task) => task,
            Target::Webhook(webhook) => webhook,
        }
    }

    pub fn route(&self) -> Route {
        self.kind().route()
    }

    /// What the client gave it to send or to pass on. A message that Foreman wrote is not in here.
    pub fn body(&self) -> &Body {
        self.kind().body()
    }

    /// The size of what it sends or passes on, whoever wrote it.
    pub fn content_bytes(&self) -> usize {
        self.kind().content_bytes()
    }

    pub(crate) fn defaults(&self) -> Defaults {
        self.kind().defaults()
    }

    /// The label that every job with this target has.
    pub(crate) fn fixed_label(&self) -> Option<&str> {
        self.kind().fixed_label()
    }

    /// The URL that the client wants called.
    pub fn url(&self) -> Option<&url::Url> {
        self.kind().url()
    }

    /// The program it runs on a machine of the operator, and how: for those who decide whether it may.
    pub fn command(&self) -> Option<&CommandTarget> {
        self.kind().command()
    }

    /// The webhook that it delivers to.
    pub fn endpoint(&self) -> Option<WebhookId> {
        self.kind().endpoint()
    }

    /// How long to wait between attempts, for a job with this backoff.
    pub fn pace(&self, backoff: Backoff) -> Pace {
        self.kind().pace(backoff)
    }

    /// `None`: this kind has no field that could hold a secret.
    pub fn secrets(&self) -> Option<TargetSecrets<'_>> {
        self.kind().secrets()
    }

    /// Puts other values in place of its secrets.
    pub fn set_secrets(&mut self, values: SecretMap) {
        if let Some(secrets) = self.kind_mut().secrets_mut() {
            *secrets = values;
        }
    }

    /// Why the secrets of `kept`, which this target replaces, are not for this one. `None` when they are.
    pub fn voids_secrets_of(&self, kept: &Target) -> Option<&'static str> {
        self.kind().voids_secrets_of(kept)
    }

    /// Seals what may be secret in it, before it is written.
    pub fn seal(&mut self, ring: &Keyring, tenant: &TenantId) {
        let Some(place) = self.secrets().map(|secrets| secrets.place(tenant)) else { return };
        if let Some(secrets) = self.kind_mut().secrets_mut() {
            *secrets = std::mem::take(secrets).sealed(ring, place);
        }
    }

    /// Seals it with the first key of the ring, including what an earlier version stored in the clear. `false` when there
    /// was nothing to do.
    pub fn reseal(&mut self, ring: &Keyring, tenant: &TenantId) -> Result<bool, OpenError> {
        let Some(secrets) = self.secrets() else { return Ok(false) };
        let Some(fresh) = secrets.values.resealed(ring, secrets.place(tenant))? else { return Ok(false) };
        self.set_secrets(fresh);
        Ok(true)
    }

    /// Whether it may be written as it is.
    pub fn is_safe_to_keep(&self) -> bool {
        self.secrets().is_none_or(|secrets| secrets.values.is_safe_to_keep())
    }

    /// Writes into `spec` what a client would have written. Secrets are masked.
    pub(crate) fn describe(&self, spec: &mut JobSpec) {
        self.kind().describe(spec);
        match self.body() {
            Body::None => {}
            Body::Json(json) => spec.payload = Some(json.clone()),
            Body::Text(text) => spec.body = Some(text.clone()),
        }
    }
}

impl From<&Target> for TargetOutline {
    fn from(target: &Target) -> Self {
        target.kind().outline().cut()
    }
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

#[cfg(test)]
mod tests;
