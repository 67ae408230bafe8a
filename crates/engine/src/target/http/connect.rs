//! Opens a connection, and says which step of it failed.
//!
//! Finding the name, connecting and agreeing on TLS share one timeout. What is said about a failure names host and port
//! and never path, query or headers, for those carry secrets.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower::{BoxError, Service, ServiceExt};

use super::{Config, Trust};

pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Where a request goes: what a connection is made to, and kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) is_tls: bool,
    /// As in a URL: an IPv6 address stands in brackets.
    pub(super) host: Arc<str>,
    pub(super) port: u16,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("cannot resolve {host}: {reason}")]
    Resolve { host: Arc<str>, reason: String },
    #[error("cannot connect to {place}: {reason}")]
    Connect { place: Place, reason: String },
    #[error("cannot agree on TLS with {place}: {reason}")]
    Tls { place: Place, reason: String },
}

pub(super) struct Connector {
    timeout: Duration,
    /// A machine without certificates can still call http: it is the https attempt that fails, and says why.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Connector {
    pub(super) fn new(config: &Config) -> Self {
        let tls = client_config(&config.trust).map(Arc::new).map_err(|error| error.to_string());
        if let Err(error) = &tls {
            tracing::warn!("jobs with https targets cannot run: {error}");
        }
        Self { timeout: config.connect_timeout, tls }
    }

    pub(super) async fn connect(&self, place: &Place) -> Result<Stream, ConnectError> {
        let step = CurrentStep::default();
        let connected = match tokio::time::timeout(self.timeout, self.open(place, &step)).await {
            Ok(connected) => connected.map_err(|error| root_cause(error.as_ref())),
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
        };
        connected.map_err(|reason| match step.get() {
            Step::Resolve => ConnectError::Resolve { host: Arc::clone(&place.host), reason },
            Step::Connect => ConnectError::Connect { place: place.clone(), reason },
            Step::Tls => ConnectError::Tls { place: place.clone(), reason },
        })
    }

    async fn open(&self, place: &Place, step: &CurrentStep) -> Result<Stream, BoxError> {
        let mut http = HttpConnector::new_with_resolver(Resolver { step: step.clone() });
        http.enforce_http(false);
        http.set_nodelay(true);
        let tcp = Tcp { http, step: step.clone() };
        let uri = format!("{}://{place}/", if place.is_tls { "https" } else { "http" }).parse::<http::Uri>()?;
        if !place.is_tls {
            return Ok(MaybeHttpsStream::Http(tcp.oneshot(uri).await?));
        }
        let tls = match &self.tls {
            Ok(tls) => Arc::clone(tls),
            Err(error) => {
                step.set(Step::Tls);
                return Err(error.clone().into());
            }
        };
        HttpsConnector::from((tcp, tls)).oneshot(uri).await
    }
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

/// What connecting is busy with, known to all who take part in it, so that a timeout can say what it cut off.
#[derive(Clone, Default)]
struct CurrentStep(Arc<AtomicU8>);

#[derive(Clone, Copy)]
enum Step {
    Connect,
    Resolve,
    Tls,
}

impl CurrentStep {
    fn set(&self, step: Step) {
        self.0.store(step as u8, Ordering::Relaxed);
    }

    /// An address needs no resolving, so connecting is where one starts.
    fn get(&self) -> Step {
        match self.0.load(Ordering::Relaxed) {
            step if step == Step::Resolve as u8 => Step::Resolve,
            step if step == Step::Tls as u8 => Step::Tls,
            _ => Step::Connect,
        }
    }
}

type Pending<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Asks the machine's resolver, on a thread that may block.
#[derive(Clone)]
struct Resolver {
    step: CurrentStep,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pending<Self::Response, io::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let step = self.step.clone();
        step.set(Step::Resolve);
        Box::pin(async move {
            // The connector puts its own port in place of this one.
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if addresses.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
            }
            step.set(Step::Connect);
            Ok(addresses.into_iter())
        })
    }
}

/// A TCP connection, after which TLS is the next step.
struct Tcp {
    http: HttpConnector<Resolver>,
    step: CurrentStep,
}

impl Service<http::Uri> for Tcp {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pending<Self::Response, BoxError>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        let (connecting, step) = (self.http.call(uri), self.step.clone());
        Box::pin(async move {
            let stream = connecting.await?;
            step.set(Step::Tls);
            Ok(stream)
        })
    }
}
