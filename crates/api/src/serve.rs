//! Takes connections and gives them to the router, for as long as each behaves.
//!
//! `axum::serve` sets no timer, so a half-sent request holds its connection for ever; here every phase of a connection has
//! its patience (see `guard.rs` for which). Beyond `max_connections`, further clients wait in the kernel's backlog.
//!
//! Draining: nothing more is accepted, idle connections are closed, requests in flight are answered, and then their
//! connections are closed too. Aborting: everything is dropped where it stands.

mod guard;
mod sent;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use foreman_runtime::{Backoff, Shutdown, Tasks};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::Service;

use crate::access::Peer;
use guard::{Activity, Guarded};
use sent::Sent;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// From the first byte of a request (or from the connection, for the first) to the end of its head.
    pub header_timeout: Duration,
    /// A connection without a request is closed after this.
    pub idle_timeout: Duration,
    /// A client that takes nothing of its answer for so long is given up.
    pub write_timeout: Duration,
    /// Connections at once; further ones wait in the kernel's backlog.
    pub max_connections: usize,
    /// Requests at once on one HTTP/2 connection.
    pub max_streams: u32,
    /// Bytes of a request's head.
    pub max_header_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            write_timeout: Duration::from_secs(30),
            max_connections: 1_024,
            max_streams: 128,
            max_header_bytes: 64 * 1024,
        }
    }
}

/// Among the extensions of an answer: whoever takes nothing of it for so long is given up, if that is sooner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WritePatience(pub Duration);

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("port {} of {} is taken: something else listens there; stop it, or choose another with {flag}", addr.port(), addr.ip())]
    Taken { addr: SocketAddr, flag: &'static str },
    #[error("listening on {addr} is not permitted; choose a port above 1023 with {flag}")]
    Denied { addr: SocketAddr, flag: &'static str },
    #[error("{addr} is not an address of this machine; choose another with {flag}")]
    NotHere { addr: SocketAddr, flag: &'static str },
    #[error("cannot listen on {addr}; choose another address with {flag}")]
    Other { addr: SocketAddr, flag: &'static str, source: io::Error },
}

impl BindError {
    fn new(addr: SocketAddr, flag: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::Taken { addr, flag },
            io::ErrorKind::PermissionDenied => Self::Denied { addr, flag },
            io::ErrorKind::AddrNotAvailable => Self::NotHere { addr, flag },
            _ => Self::Other { addr, flag, source },
        }
    }
}

/// A socket that listens and answers nobody yet.
pub struct Server {
    listener: TcpListener,
    local_addr: SocketAddr,
}

impl Server {
    pub async fn bind(addr: SocketAddr) -> Result<Self, BindError> {
        Self::bind_for(addr, "--listen").await
    }

    /// The same for an address that another flag chooses.
    pub async fn bind_for(addr: SocketAddr, flag: &'static str) -> Result<Self, BindError> {
        let named = |source| BindError::new(addr, flag, source);
        let listener = TcpListener::bind(addr).await.map_err(named)?;
        let local_addr = listener.local_addr().map_err(named)?;
        Ok(Self { listener, local_addr })
    }

    /// Where it listens: with port 0, the one that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until draining, then until the last connection is closed; at the abort that is at once.
    pub async fn serve(self, router: Router, config: Config, shutdown: Shutdown, tasks: Tasks) {
        let connections = Arc::new(Semaphore::new(config.max_connections));
        let all = u32::try_from(config.max_connections).unwrap_or(u32::MAX);
        let context = Arc::new(Context { builder: builder(&config, &tasks), config, shutdown: shutdown.clone() });
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            // A place first, then a connection: what is accepted is always served.
            let Some(permit) = until_draining(&shutdown, Arc::clone(&connections).acquire_owned()).await else { break };
            let permit = permit.expect("the semaphore is never closed");
            let Some(accepted) = until_draining(&shutdown, self.listener.accept()).await else { break };
            match accepted {
                Ok((stream, peer)) => {
                    backoff.reset();
                    let connection = serve_connection(Arc::clone(&context), stream, peer, router.clone(), permit);
                    drop(tasks.spawn("connection", connection));
                }
                // The client is gone already, or there are no more file descriptors: the latter stays for a while.
                Err(error) => {
                    let wait = backoff.next();
                    tracing::warn!("cannot accept a connection: {error}");
                    until_draining(&shutdown, tokio::time::sleep(wait)).await;
                }
            }
        }
        // Closes the socket: whoever connects now is refused at once instead of waiting for nobody.
        drop(self.listener);
        tokio::select! {
            _ = connections.acquire_many(all) => {}
            () = shutdown.aborting() => {}
        }
    }
}

async fn until_draining<T>(shutdown: &Shutdown, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = shutdown.draining() => None,
        value = future => Some(value),
    }
}

/// What every connection is served with.
struct Context {
    builder: auto::Builder<Spawner>,
    config: Config,
    shutdown: Shutdown,
}

fn builder(config: &Config, tasks: &Tasks) -> auto::Builder<Spawner> {
    let mut builder = auto::Builder::new(Spawner(tasks.clone()));
    builder
        .http1()
        .timer(TokioTimer::new())
        // hyper counts the idle time before a head as part of it, so the finer patience is the guard's; this one makes
        // hyper look at the connection while it is idle, and stands behind it.
        .header_read_timeout(config.header_timeout.max(config.idle_timeout) + Duration::from_secs(1))
        .max_buf_size(config.max_header_bytes.max(8 * 1024));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(config.max_streams)
        .max_header_list_size(u32::try_from(config.max_header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(config.idle_timeout / 2)
        // A ping waits behind what the client has still to take of its answers.
        .keep_alive_timeout(config.header_timeout.max(config.write_timeout));
    builder
}

async fn serve_connection(
    context: Arc<Context>,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    permit: OwnedSemaphorePermit,
) {
    let _permit = permit;
    // Small answers go out at once instead of waiting for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let activity = Activity::new();
    let io = TokioIo::new(Guarded::new(stream, &context.config, activity.clone()));
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let (in_flight, activity) = (activity.begin(), activity.clone());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        let answer = router.clone().call(request);
        async move {
            let answer: Result<axum::response::Response, Infallible> = answer.await;
            if let Ok(answer) = &answer
                && let Some(WritePatience(patience)) = answer.extensions().get()
            {
                activity.hurry(*patience);
            }
            let answer = answer.map(|answer| answer.map(|body| Sent::new(body, activity)));
            // Not before the answer counts as one to send, or the connection would be idle in between.
            drop(in_flight);
            answer
        }
    });
    let mut connection = std::pin::pin!(context.builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = context.shutdown.draining() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = context.shutdown.aborting() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(target: "foreman::http", "a connection ended early: {error}");
    }
}

/// Runs the requests of an HTTP/2 connection as tasks with a name.
#[derive(Clone)]
struct Spawner(Tasks);

impl<F> hyper::rt::Executor<F> for Spawner
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn("stream", future));
    }
}
