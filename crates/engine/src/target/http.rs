//! Calls a URL: one request per attempt, and what came back.
//!
//! **One request.** An attempt puts at most one request on the wire. Nothing is followed (a redirect is an answer like
//! any other), nothing is asked of a proxy, no cookie is kept, nothing is inflated, and nothing is sent twice behind the
//! attempt's back: there is no hidden retry, for only the server knows whether it acted on the first. The one thing
//! tried again is a kept connection that turns out to be closed *before* the request was written to it; see [`pool`].
//!
//! **Both ends are hostile.** Where the URL points was asked for by a client, and what answers may hang, drip, lie about
//! its length or never stop. Reading stops at 64 KiB, 4 KiB are kept, and time is kept by whoever called: when the try is
//! stopped, the request is dropped where it is and its connection with it.
//!
//! **Not everywhere.** [`Config::egress`] says where an attempt may go. The URL is judged at every attempt, then every
//! address of its name, then whoever a connection was made to, and a kept connection again when it is taken; see
//! [`connect`]. What is refused has failed, for no second try would be allowed either.
//!
//! **Signed, where the tenant has a secret for it**: by Standard Webhooks, over the body as it is sent, under an id that is the
//! same at every try. Secrets and sealed headers are opened for each attempt ([`Vault`]).
//!
//! Any number of attempts share one runner. If the process dies while a request is under way, the target may have acted
//! on it, and it will be asked again: it is told the same `Idempotency-Key` both times.

mod answer;
mod call;
mod connect;
mod dial;
mod pool;
mod request;
mod resolve;
mod retry_after;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::egress::Policy;
use foreman_core::outcome::classify_status;
use foreman_core::redact::KnownSecrets;
use foreman_core::sealed::SealedFor;
use foreman_core::signing::SigningPurpose;
use foreman_core::target::{HEADERS_PLACE, HttpTarget, Route};
use foreman_core::{Target, Timestamp};
use foreman_runtime::clock;
use rustls::pki_types::CertificateDer;

pub use self::call::HttpClient;
pub(super) use self::request::Outgoing;
use super::{Runner, Try, TryEnding};
use crate::vault::Vault;

#[derive(Clone, Debug)]
pub struct Config {
    /// To find the name, open the connection and agree on TLS, all together.
    pub connect_timeout: Duration,
    /// How long a connection is kept for the next attempt. Short, because a server that closes an idle connection just as
    /// a request is sent on it makes an attempt fail for nothing: common servers wait 2 s (gunicorn) or 5 s (Node,
    /// Apache, uvicorn). Under load connections are used again within milliseconds.
    pub idle_timeout: Duration,
    pub max_idle_per_host: usize,
    pub max_idle: usize,
    /// Bytes of an answer that are read before the connection is dropped.
    pub read_limit: usize,
    /// Bytes of an answer that are kept with the attempt.
    pub keep_limit: usize,
    pub trust: Trust,
    /// Where a request may go. As it comes, everywhere.
    pub egress: Policy,
    /// The servers to ask for names, and nobody else: not the machine's file of hosts, not its search list. Empty: the
    /// machine's resolver, as every other program on it does.
    pub dns_servers: Vec<SocketAddr>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(1),
            max_idle_per_host: 256,
            max_idle: 512,
            read_limit: 64 * 1024,
            keep_limit: 4 * 1024,
            trust: Trust::Platform,
            egress: Policy::everything(),
            dns_servers: Vec::new(),
        }
    }
}

/// Who may vouch for a server. There is no way to turn the question off.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Whom this machine trusts.
    #[default]
    Platform,
    /// These and nobody else.
    Only(Vec<CertificateDer<'static>>),
}

pub struct HttpRunner {
    caller: Arc<HttpClient>,
    vault: Vault,
}

impl HttpRunner {
    pub fn new(config: Config) -> Self {
        Self { caller: Arc::new(HttpClient::new(config)), vault: Vault::default() }
    }

    /// Opens the headers of jobs, and signs for their tenants, with this.
    #[must_use]
    pub fn with_vault(self, vault: Vault) -> Self {
        Self { vault, ..self }
    }

    /// What makes its calls, to be shared with others that call.
    pub fn caller(&self) -> Arc<HttpClient> {
        Arc::clone(&self.caller)
    }

    /// Puts other rules in force. An attempt under way keeps those it began with; connections that were kept are judged
    /// by the new ones.
    pub fn set_egress(&self, policy: Policy) {
        self.caller.set_egress(policy);
    }

    /// The request with everything in it and what of it is secret, or how the attempt ends without one.
    async fn outgoing(&self, target: &HttpTarget, attempt: &Try) -> Result<(Outgoing, KnownSecrets), TryEnding> {
        let (job, now) = (&attempt.job, Timestamp::from_micros(clock::now()));
        let place = SealedFor { tenant: &job.tenant, name: HEADERS_PLACE };
        let headers = self.vault.open(&target.headers, place);
        let headers =
            headers.map_err(|error| TryEnding::again(format!("cannot decrypt the headers of the job: {error}")))?;
        let mut outgoing =
            Outgoing::of_job(target, &headers, attempt).map_err(|error| TryEnding::failed(error.to_string()))?;
        let secrets = self.vault.secrets_of(&job.tenant, SigningPurpose::Push, now).await;
        let secrets = secrets.map_err(|error| TryEnding::again(format!("cannot sign the request: {error}")))?;
        outgoing.sign(&secrets, job.id, now, target.body.as_str().as_bytes());
        Ok((outgoing, KnownSecrets::of(&headers)))
    }
}

#[async_trait]
impl Runner for HttpRunner {
    fn routes(&self) -> Vec<Route> {
        vec![Route::http(), Route::sealed_http()]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let Target::Http(target) = &attempt.job.work.target else { return TryEnding::misrouted("http", attempt) };
        match self.outgoing(target, attempt).await {
            Ok((outgoing, known)) => {
                let mut ending = self.caller.call(&target.url, outgoing, attempt, classify_status).await;
                ending.report.hide(&known);
                ending
            }
            Err(ending) => ending,
        }
    }
}
