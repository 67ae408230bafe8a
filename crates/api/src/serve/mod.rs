//! Takes connections and gives them to the router, for as long as each behaves.
//!
//! `axum::serve` sets no timer, so a half-sent request holds its connection for ever; here every phase of a connection
//! has its patience (see `guard.rs` for which).
//!
//! When `max_connections` are open, some of those without a request are closed to make room, and a few more are taken on probation: a probe
//! is answered at once, whatever else is going on; any other request is served if a place is found within a moment, and is
//! otherwise refused with a `Retry-After`. Further clients wait in the kernel's backlog.
//!
//! Draining: nothing more is accepted, idle connections are closed, requests in flight are answered, and then their
//! connections are closed too. Aborting: everything is dropped where it stands.

mod guard;
pub(crate) mod health;
pub(crate) mod late_router;
pub(crate) mod meter;
mod sent;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use foreman_runtime::{Backoff, Shutdown, Tasks};
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tower::Service;

use crate::gate::Peer;
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
    /// Connections at once, beside a few for probes.
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

/// Connections taken on probation when all others are in use.
const SPARE: usize = 32;
/// How long a request on one of those waits for a place.
const PLACE_PATIENCE: Duration = Duration::from_secs(1);
/// A connection that has sent nothing yet is left alone for so long when places are needed.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// Those without a request are asked for their places at most this often.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// And again after this, while nobody gives up a place.
const ASKED_AGAIN: Duration = Duration::from_millis(250);
/// How many of them give up their places each time.
const GIVEN_UP_AT_ONCE: usize = 8;

/// What may be on its way to one request of HTTP/2.
const STREAM_WINDOW: u32 = 64 * 1024;
const MIB: u32 = 1024 * 1024;

/// Among the extensions of a request: how many bytes of bodies its connection has in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionBytes(pub Arc<AtomicUsize>);

/// Among the extensions of a request that is refused because no place was found for its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoPlace;

/// Among the extensions of an answer: whoever takes nothing of it for so long is given up, if that is sooner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WritePatience(pub Duration);

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("port {} of {} is already in use; stop the process that uses it, or choose another port with \
             {flag}", addr.port(), addr.ip())]
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
        let all = u32::try_from(config.max_connections).unwrap_or(u32::MAX);
        let context = Arc::new(ServeContext {
            builder: builder(&config, &tasks),
            places: Arc::new(Semaphore::new(config.max_connections)),
            spare: Arc::new(Semaphore::new(SPARE)),
            needed: Notify::new(),
            wanted: AtomicUsize::new(0),
            config,
            shutdown: shutdown.clone(),
        });
        let mut asked = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            // A place first, then a connection: what is accepted is always served.
            let Some(place) = until_draining(&shutdown, context.place(&mut asked)).await else { break };
            let Some(accepted) = until_draining(&shutdown, self.listener.accept()).await else { break };
            match accepted {
                Ok((stream, peer)) => {
                    backoff.reset();
                    let connection = serve_connection(Arc::clone(&context), stream, peer, router.clone(), place);
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
            _ = async { (context.places.acquire_many(all).await, context.spare.acquire_many(SPARE as u32).await) } => {}
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
struct ServeContext {
    builder: auto::Builder<Spawner>,
    config: Config,
    shutdown: Shutdown,
    places: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    /// Rung when all places are taken: a connection without a request gives up its own.
    needed: Notify,
    /// How many of them still may, for the last ring.
    wanted: AtomicUsize,
}

impl ServeContext {
    /// A place for the next connection, or a spare one.
    async fn place(&self, asked: &mut Instant) -> ConnectionPlace {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return ConnectionPlace { own: Some(permit), spare: None };
        }
        // Every connection hears it, and a flood of new ones must not cost much more.
        if asked.elapsed() >= ASKED_EVERY {
            self.ask_for_places();
            *asked = Instant::now();
        }
        let (places, spare) = (Arc::clone(&self.places), Arc::clone(&self.spare));
        let permit = tokio::select! {
            biased;
            own = places.acquire_owned() => ConnectionPlace { own: own.ok(), spare: None },
            spare = spare.acquire_owned() => ConnectionPlace { own: None, spare: spare.ok() },
            never = self.ask_again_and_again() => match never {},
        };
        debug_assert!(permit.own.is_some() || permit.spare.is_some(), "the semaphores are never closed");
        permit
    }
}

impl ServeContext {
    /// A few connections without a request are closed. Not all of them at once: most of a proxy's are needed again in a moment.
    fn ask_for_places(&self) {
        self.wanted.store(GIVEN_UP_AT_ONCE, Ordering::Relaxed);
        self.needed.notify_waiters();
    }

    /// A connection that was busy when it was asked may not be so a moment later.
    async fn ask_again_and_again(&self) -> Infallible {
        loop {
            tokio::time::sleep(ASKED_AGAIN).await;
            self.ask_for_places();
        }
    }

    /// Whether one more may be closed.
    fn is_wanted(&self) -> bool {
        self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
    }
}

/// What lets a connection be served.
struct ConnectionPlace {
    own: Option<OwnedSemaphorePermit>,
    /// Until it has one of its own.
    spare: Option<OwnedSemaphorePermit>,
}

/// Where a connection keeps its place.
#[derive(Clone)]
struct ConnectionSeat(Arc<Mutex<ConnectionPlace>>);

impl ConnectionSeat {
    fn new(place: ConnectionPlace) -> Self {
        Self(Arc::new(Mutex::new(place)))
    }

    fn is_spare(&self) -> bool {
        self.lock().own.is_none()
    }

    /// Finds a place for a connection on probation, if one becomes free soon enough.
    async fn find(&self, context: &ServeContext) -> bool {
        context.ask_for_places();
        let found = async {
            tokio::select! {
                permit = Arc::clone(&context.places).acquire_owned() => permit.ok(),
                never = context.ask_again_and_again() => match never {},
            }
        };
        let Ok(Some(permit)) = timeout(PLACE_PATIENCE, found).await else { return false };
        let mut place = self.lock();
        place.own.get_or_insert(permit);
        place.spare = None;
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ConnectionPlace> {
        // Nothing in here can panic half way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
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
        // What is received of a body whose request does not read it yet. All streams of a connection may have that at
        // once, or one that waits for room would keep back those that have it.
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW.saturating_mul(config.max_streams).clamp(MIB, 64 * MIB))
        .max_header_list_size(u32::try_from(config.max_header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(config.idle_timeout / 2)
        // A ping waits behind what the client has still to take of its answers.
        .keep_alive_timeout(config.header_timeout.max(config.write_timeout));
    builder
}

async fn serve_connection(
    context: Arc<ServeContext>,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    place: ConnectionPlace,
) {
    let (seat, since) = (ConnectionSeat::new(place), Instant::now());
    let bytes = ConnectionBytes::default();
    // Small answers go out at once instead of waiting for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let activity = Activity::new();
    let watched = activity.clone();
    let io = TokioIo::new(Guarded::new(stream, &context.config, activity.clone()));
    let of_service = (Arc::clone(&context), seat.clone());
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let (in_flight, activity) = (activity.begin(), activity.clone());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(bytes.clone());
        let ((context, seat), mut router) = (of_service.clone(), router.clone());
        async move {
            let is_on_probation = seat.is_spare()
                && (is_probe(request.uri().path()) || {
                    let has_none = !seat.find(&context).await;
                    if has_none {
                        request.extensions_mut().insert(NoPlace);
                    }
                    has_none
                });
            let is_http2 = request.version() == http::Version::HTTP_2;
            let mut answer: Result<axum::response::Response, Infallible> = router.call(request).await;
            if is_on_probation
                && !is_http2
                && let Ok(answer) = &mut answer
            {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
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
        () = given_up(&context, &watched, since) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = context.shutdown.aborting() => return,
            }
        }
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

/// Until others need the place of a connection that has no request.
async fn given_up(context: &ServeContext, activity: &Activity, since: Instant) {
    loop {
        context.needed.notified().await;
        let is_idle = activity.is_idle() && (activity.has_begun() || since.elapsed() >= FIRST_REQUEST);
        if is_idle && context.is_wanted() {
            return;
        }
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
