//! Opens a connection to where the policy allows one, and says which step of it failed.
//!
//! A name is resolved once, every address it has is judged, and the connection is made to one of these addresses: between
//! the check and the use nobody asks again, so a name server that answers differently the second time gains nothing. One
//! refused address refuses them all. When the connection stands, its other end is judged once more, before a byte is
//! sent; the name in the URL remains what the server is asked for and has to prove by its certificate.
//!
//! Finding the name, connecting and agreeing on TLS share one timeout. What is said about a failure names host and port
//! and never path, query or headers, for those carry secrets.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use foreman_core::egress::{EgressRefusal, Policy};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower::{BoxError, ServiceExt, service_fn};

use super::dial::dial;
use super::resolve::Resolver;
use super::{Config, Trust};

pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Where a request goes: what a connection is made to, and kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Authority {
    pub(super) is_tls: bool,
    /// As in a URL: an IPv6 address stands in brackets.
    pub(super) host: Arc<str>,
    /// The host, where it is an address. Taken out of the parsed URL, so that nothing is parsed twice.
    pub(super) literal: Option<IpAddr>,
    pub(super) port: u16,
}

impl Authority {
    /// Whether this authority may be called at this address.
    pub(super) fn judge(&self, policy: &Policy, address: IpAddr) -> Result<(), EgressRefusal> {
        match self.literal {
            Some(_) => policy.judge_address(address),
            None => policy.judge_resolved(&self.host, address),
        }
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    Refused(#[from] EgressRefusal),
    #[error("cannot resolve {host}: {reason}")]
    Resolve { host: Arc<str>, reason: String },
    #[error("cannot connect to {authority}: {reason}")]
    Connect { authority: Authority, reason: String },
    #[error("TLS handshake with {authority} failed: {reason}")]
    Tls { authority: Authority, reason: String },
}

pub(super) struct Connector {
    timeout: Duration,
    resolver: Resolver,
    /// A machine without certificates can still call http: it is the https attempt that fails, and says why.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Connector {
    pub(super) fn new(config: &Config) -> Self {
        let tls = client_config(&config.trust).map(Arc::new).map_err(|error| error.to_string());
        if let Err(error) = &tls {
            tracing::warn!("jobs with https targets cannot run: {error}");
        }
        let resolver = Resolver::new(&config.dns_servers, config.connect_timeout);
        Self { timeout: config.connect_timeout, resolver, tls }
    }

    /// A connection, and who is at its other end.
    pub(super) async fn connect(
        &self,
        authority: &Authority,
        policy: &Policy,
    ) -> Result<(Stream, IpAddr), ConnectError> {
        let deadline = Instant::now() + self.timeout;
        let unconnected = |reason| ConnectError::Connect { authority: authority.clone(), reason };
        let without_tls = |reason| ConnectError::Tls { authority: authority.clone(), reason };
        let tls = if authority.is_tls { Some(self.tls.clone().map_err(without_tls)?) } else { None };

        let addresses = self.addresses(authority, deadline).await?;
        for address in &addresses {
            authority.judge(policy, address.ip())?;
        }
        let tcp = self.in_time(deadline, dial(&addresses)).await.map_err(unconnected)?;
        let peer = tcp.peer_addr().map_err(|_| unconnected("it was closed at once".into()))?.ip();
        authority.judge(policy, peer)?;
        // Without it the request goes out all the same.
        let _ = tcp.set_nodelay(true);

        let stream = match tls {
            None => MaybeHttpsStream::Http(TokioIo::new(tcp)),
            Some(tls) => self.in_time(deadline, agree(authority, tcp, tls)).await.map_err(without_tls)?,
        };
        Ok((stream, peer))
    }

    async fn addresses(&self, authority: &Authority, deadline: Instant) -> Result<Vec<SocketAddr>, ConnectError> {
        let found = match authority.literal {
            Some(address) => vec![address],
            None => self
                .in_time(deadline, self.resolver.addresses(&authority.host))
                .await
                .map_err(|reason| ConnectError::Resolve { host: Arc::clone(&authority.host), reason })?,
        };
        Ok(found.into_iter().map(|address| SocketAddr::new(address, authority.port)).collect())
    }

    async fn in_time<T, E: Into<BoxError>>(
        &self,
        deadline: Instant,
        step: impl Future<Output = Result<T, E>>,
    ) -> Result<T, String> {
        match tokio::time::timeout_at(deadline, step).await {
            Ok(done) => done.map_err(|error| root_cause(error.into().as_ref())),
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
        }
    }
}

/// Speaks TLS on a connection that stands.
async fn agree(authority: &Authority, tcp: TcpStream, tls: Arc<ClientConfig>) -> Result<Stream, BoxError> {
    let uri = format!("https://{authority}/").parse::<http::Uri>()?;
    let mut tcp = Some(TokioIo::new(tcp));
    let opened = service_fn(move |_: http::Uri| {
        let taken = tcp.take().ok_or_else(|| io::Error::other("the connection was asked for twice"));
        std::future::ready(taken)
    });
    HttpsConnector::from((opened, tls)).oneshot(uri).await
}

/// The provider is named here, so that nothing has to be installed for the whole process.
fn client_config(trust: &Trust) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Platform => builder.try_with_platform_verifier()?,
        Trust::Only(certificates) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates {
                roots.add(certificate.clone())?;
            }
            builder.with_root_certificates(roots)
        }
    };
    // No protocol is offered by ALPN: HTTP/1.1 it is, where one attempt is one request on one connection.
    Ok(builder.with_no_client_auth())
}

/// The innermost error says what happened; those around it only say that something did.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
