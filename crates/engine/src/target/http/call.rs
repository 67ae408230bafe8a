//! Makes one call: judged by the egress policy, on a kept wire or a new one, its answer read up to a limit.
//!
//! Whoever puts requests together (jobs that call a URL, deliveries of webhooks) shares one of these, and with it the
//! connections, the rules and the limits.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use foreman_core::egress::{EgressRefusal, Policy};
use foreman_core::outcome::{AttemptEnd, Report};
use url::Url;

use super::Config;
use super::answer::{self, BodyRead, Head, HttpAnswer};
use super::connect::{Authority, ConnectError, Connector};
use super::pool::{ConnectionPool, SendError, Wire};
use super::request::{HttpRequest, Outgoing};
use crate::target::{Try, TryEnding};

pub struct HttpClient {
    config: Config,
    connector: Connector,
    pool: ConnectionPool,
    egress: RwLock<Arc<Policy>>,
}

/// What the status of an answer means.
pub(in crate::target) type Judge = fn(u16, Option<Duration>) -> AttemptEnd;

/// Why a call has no answer.
enum CallFailure {
    /// It was not let out, and would not be the next time.
    Refused(EgressRefusal),
    /// For a reason that may have passed by the next time.
    Lost(String),
}

impl From<ConnectError> for CallFailure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(refused) => Self::Refused(refused),
            other => Self::Lost(other.to_string()),
        }
    }
}

impl HttpClient {
    pub fn new(config: Config) -> Self {
        let connector = Connector::new(&config);
        let pool = ConnectionPool::new(&config);
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

    /// Calls `url` once, and lets `judge` say what the status of the answer means.
    pub(in crate::target) async fn call(
        &self,
        url: &Url,
        outgoing: Outgoing,
        attempt: &Try,
        judge: Judge,
    ) -> TryEnding {
        let Outgoing { authority, request } = outgoing;
        let policy = self.egress();
        if let Err(error) = policy.judge_url(url) {
            return refused(&authority, attempt, &error);
        }
        let sent = tokio::select! {
            biased;
            sent = self.send(&authority, &policy, request) => sent,
            () = attempt.stop.cancelled() => return stopped(&authority),
        };
        let (mut wire, head) = match sent {
            Ok(answered) => answered,
            Err(CallFailure::Refused(error)) => return refused(&authority, attempt, &error),
            Err(CallFailure::Lost(error)) => return TryEnding::again(error),
        };
        let mut answer = HttpAnswer::begin(head, &self.config);
        let read = tokio::select! {
            biased;
            read = answer.read(&mut wire) => Some(read),
            () = attempt.stop.cancelled() => None,
        };
        match read {
            Some(read) => {
                if matches!(read, BodyRead::Whole) && wire.is_reusable().await {
                    self.pool.put(authority.clone(), wire);
                }
                answer.end(&authority, &read, judge)
            }
            None => answer.end_stopped(&authority),
        }
    }

    /// Puts the request on a wire and waits for the head of the answer.
    async fn send(
        &self,
        authority: &Authority,
        policy: &Policy,
        mut request: HttpRequest,
    ) -> Result<(Wire, Head), CallFailure> {
        while let Some(mut wire) = self.pool.take(authority, |peer| authority.judge(policy, peer).is_ok()) {
            match wire.send(request).await {
                Ok(head) => return Ok((wire, head)),
                Err(SendError::Unsent { request: untouched, .. }) => request = *untouched,
                Err(SendError::Lost(error)) => {
                    // It may have acted on the request, so it is not sent again. But a server that closes a connection
                    // it offered to keep will do so again: do not keep one to it for a while.
                    self.pool.distrust(authority);
                    return Err(CallFailure::Lost(answer::lost(authority, &error)));
                }
            }
        }
        let lost = |error: &hyper::Error| CallFailure::Lost(answer::lost(authority, error));
        let (stream, peer) = self.connector.connect(authority, policy).await?;
        let mut wire = Wire::open(stream, peer, self.config.read_limit).await.map_err(|error| lost(&error))?;
        match wire.send(request).await {
            Ok(head) => Ok((wire, head)),
            Err(SendError::Unsent { error, .. } | SendError::Lost(error)) => Err(lost(&error)),
        }
    }
}

fn stopped(authority: &Authority) -> TryEnding {
    TryEnding { ended: AttemptEnd::Interrupted, report: Report::error(format!("stopped before {authority} answered")) }
}

/// Whoever asked is told that much and no more; the reason is the operator's to know.
fn refused(authority: &Authority, attempt: &Try, error: &EgressRefusal) -> TryEnding {
    let (id, tenant) = (attempt.job.id, &attempt.job.tenant);
    tracing::warn!(job.id = %id, %tenant, "blocked the request of job {id} to {authority}: {}", error.reason());
    TryEnding::failed(error.to_string())
}
