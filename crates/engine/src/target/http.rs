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
//! Any number of attempts share one runner. If the process dies while a request is under way, the target may have acted
//! on it, and it will be asked again: it is told the same `Idempotency-Key` both times.

mod answer;
mod connect;
mod dial;
mod pool;
mod request;
mod resolve;
mod retry_after;

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::Target;
use foreman_core::egress::{Policy, Refused};
use foreman_core::outcome::{Ended, Report};
use foreman_core::target::Route;
use rustls::pki_types::CertificateDer;

use self::connect::{ConnectError, Connector, Place};
use self::pool::{Pool, Wire};
use self::request::HttpRequest;
use super::{Ending, Runner, Try};

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
            max_idle_per_host: 64,
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
    config: Config,
    connector: Connector,
    pool: Pool,
    egress: RwLock<Arc<Policy>>,
}

/// Why an attempt has no answer.
enum Unanswered {
    /// It was not let out, and would not be the next time.
    Refused(Refused),
    /// For a reason that may have passed by the next time.
    Lost(String),
}

impl From<ConnectError> for Unanswered {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(refused) => Self::Refused(refused),
            other => Self::Lost(other.to_string()),
        }
    }
}

impl HttpRunner {
    pub fn new(config: Config) -> Self {
        let connector = Connector::new(&config);
        let pool = Pool::new(&config);
        let egress = RwLock::new(Arc::new(config.egress.clone()));
        Self { config, connector, pool, egress }
    }

    /// Puts other rules in force. An attempt under way keeps those it began with; connections that were kept are judged
    /// by the new ones.
    pub fn set_egress(&self, policy: Policy) {
        *self.egress.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    fn egress(&self) -> Arc<Policy> {
        Arc::clone(&self.egress.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts the request on a wire and waits for the head of the answer.
    async fn send(
        &self,
        place: &Place,
        policy: &Policy,
        mut request: HttpRequest,
    ) -> Result<(Wire, answer::Head), Unanswered> {
        while let Some(mut wire) = self.pool.take(place, |peer| place.judge(policy, peer).is_ok()) {
            match wire.send(request).await {
                Ok(head) => return Ok((wire, head)),
                Err(pool::SendError::Unsent { request: untouched, .. }) => request = *untouched,
                Err(pool::SendError::Lost(error)) => {
                    // It may have acted on the request, so it is not sent again. But a server that closes a connection
                    // it offered to keep will do so again: do not keep one to it for a while.
                    self.pool.distrust(place);
                    return Err(Unanswered::Lost(answer::lost(place, &error)));
                }
            }
        }
        let lost = |error: &hyper::Error| Unanswered::Lost(answer::lost(place, error));
        let (stream, peer) = self.connector.connect(place, policy).await?;
        let mut wire = Wire::open(stream, peer, self.config.read_limit).await.map_err(|error| lost(&error))?;
        match wire.send(request).await {
            Ok(head) => Ok((wire, head)),
            Err(pool::SendError::Unsent { error, .. } | pool::SendError::Lost(error)) => Err(lost(&error)),
        }
    }
}

#[async_trait]
impl Runner for HttpRunner {
    fn routes(&self) -> Vec<Route> {
        vec![Route::http()]
    }

    async fn run(&self, attempt: &Try) -> Ending {
        let Target::Http(target) = &attempt.job.work.target else { return Ending::misrouted("http", attempt) };
        let (place, request) = match request::build(target, attempt) {
            Ok(built) => built,
            Err(error) => return Ending::failed(error.to_string()),
        };
        let policy = self.egress();
        if let Err(error) = policy.judge_url(&target.url) {
            return refused(&place, attempt, &error);
        }
        let sent = tokio::select! {
            biased;
            sent = self.send(&place, &policy, request) => sent,
            () = attempt.stop.cancelled() => return stopped(&place),
        };
        let (mut wire, head) = match sent {
            Ok(answered) => answered,
            Err(Unanswered::Refused(error)) => return refused(&place, attempt, &error),
            Err(Unanswered::Lost(error)) => return Ending::again(error),
        };
        let mut answer = answer::Answer::begin(head, &self.config);
        let read = tokio::select! {
            biased;
            read = answer.read(&mut wire) => Some(read),
            () = attempt.stop.cancelled() => None,
        };
        match read {
            Some(read) => {
                if matches!(read, answer::Read::Whole) && wire.is_reusable().await {
                    self.pool.put(place.clone(), wire);
                }
                answer.end(&place, &read)
            }
            None => answer.end_stopped(&place),
        }
    }
}

fn stopped(place: &Place) -> Ending {
    Ending { ended: Ended::Interrupted, report: Report::error(format!("stopped before {place} answered")) }
}

/// Whoever asked is told that much and no more; the reason is the operator's to know.
fn refused(place: &Place, attempt: &Try, error: &Refused) -> Ending {
    let (id, tenant) = (attempt.job.id, &attempt.job.tenant);
    tracing::warn!(job.id = %id, %tenant, "refused to call {place} for job {id}: {}", error.reason());
    Ending::failed(error.to_string())
}
