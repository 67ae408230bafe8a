//! `GET /api/v1/stream`: what happens, as it happens.
//!
//! One reader of the change log per process (`tail.rs`) hands what it reads to the [`Hub`], and the hub to whoever watches; a
//! client that comes back reads the log itself from where it stood until it has caught up with that reader
//! (`follow.rs`). Nothing is kept about a client beyond its connection: the cursor in each event's `id:` is all there is to
//! know, and any process of a team can resume it.
//!
//! A client that does not keep up is closed and resumes; one whose key ends is closed; at the drain all are. A process that dies
//! takes its streams along, and their clients resume elsewhere.

mod asked;
mod cursor;
mod event;
mod filter;
mod follow;
mod hub;
mod labels;
mod mailbox;
mod snapshot;
mod tickets;

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{
    HeartbeatEvent, JobEvent, ProblemDocument, QueueEvent, ResetEvent, ScheduleEvent, SnapshotEvent, WorkerEvent,
};
use foreman_core::key::Scope;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::app::App;
use crate::caller::Caller;
use crate::params::Params;
use crate::problem::Problem;
use crate::serve::WritePatience;
use asked::{Asked, StreamParams};
pub use cursor::Cursors;
use filter::Rights;
use follow::Following;
pub use hub::{Counts, Hub};
pub(crate) use labels::KnownLabels;
pub(crate) use tickets::*;

/// How streams are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often a client hears that the server is there.
    pub heartbeat: Duration,
    /// A client that takes nothing for so long is closed.
    pub write_timeout: Duration,
    /// Streams of one tenant at once, in this process.
    pub per_tenant: usize,
    /// Streams of all tenants at once, in this process.
    pub per_process: usize,
    /// What may wait for one client, in pieces and in bytes; with more it is closed, and resumes.
    pub queue_pieces: usize,
    pub queue_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(15),
            write_timeout: Duration::from_secs(10),
            per_tenant: 100,
            per_process: 500,
            queue_pieces: 256,
            queue_bytes: 256 * 1024,
        }
    }
}

/// The `data:` of an event; which it is says its `event:`.
#[derive(utoipa::ToSchema)]
#[schema(as = StreamEvent)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum StreamEvent {
    Job(JobEvent),
    Schedule(ScheduleEvent),
    Worker(WorkerEvent),
    Queue(QueueEvent),
    Snapshot(SnapshotEvent),
    Heartbeat(HeartbeatEvent),
    Reset(ResetEvent),
}

/// Follow what happens, live.
///
/// Server-sent events, each with `event:`, `id:` and one line of JSON as `data:`.
///
/// - `job` (`JobEvent`): a job is in another state. Every final state is told; what happened in between may be merged, and
///   `sequence`, which counts a job's moves from 1, shows it.
/// - `schedule` (`ScheduleEvent`): a schedule ticked, or was made, changed or removed. Needs the scope `schedules:read` too, and is
///   left out without it.
/// - `worker` (`WorkerEvent`): a worker came, drains, went or died. For operators only.
/// - `queue` (`QueueEvent`): a queue was paused or resumed.
/// - `snapshot` (`SnapshotEvent`): the `job` events before it told how things stand; from here on comes what changes. A change that
///   a snapshot has told already may be told again; `sequence` tells which is newer.
/// - `heartbeat` (`HeartbeatEvent`): at the start and every 15 s. Who hears nothing for 40 s should connect again.
/// - `reset` (`ResetEvent`): the cursor cannot be resumed, and the stream goes on from now; read the lists again.
///
/// With a filter on `job`, `kind` or `tag` only `job` events are told; one on `queue` keeps the `queue` events of those queues. A
/// client that is cut off, for being slow, for a restart or for no fault of anybody's, sends the last `id:` it saw as `Last-Event-ID`
/// or as `after` and misses nothing; `Last-Event-ID` is the one that counts.
///
/// Shown by a key in `Authorization`, by the session cookie of a page of this server, or by a ticket, which opens the stream once where
/// no header can be sent; never by a key in the URL.
#[utoipa::path(get, path = "/api/v1/stream", tag = "stream", operation_id = "stream", params(StreamParams,
    ("Last-Event-ID" = Option<String>, Header, description = "The `id:` of the last event that was seen; wins over `after`")),
    responses(
        (status = 200, description = "Events, until one of the two leaves", body = StreamEvent, content_type = "text/event-stream"),
        (status = 400, description = "A parameter that does not exist or does not fit, or a key in the URL", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "The tenant has as many streams open as it may", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Params(params): Params<StreamParams>,
) -> Result<Response, Problem> {
    let asked = Asked::read(params, &headers)?;
    let rights = Rights { schedules: caller.may(Scope::SchedulesRead).is_ok(), workers: caller.is_operator() };
    let patience = app.streams.config().write_timeout;
    let following = Following::begin(app, caller, asked, rights).await?;
    let mut response = Response::new(Body::from_stream(following.into_stream()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx keeps an answer back until it has a buffer full of it, unless it is told not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response.extensions_mut().insert(WritePatience(patience));
    Ok(response)
}
