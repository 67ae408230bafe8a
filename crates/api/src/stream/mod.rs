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
use crate::gate::caller::Caller;
use crate::problem::Problem;
use crate::request::params::Params;
use crate::serve::WritePatience;
use asked::{StreamParams, StreamRequest};
pub use cursor::Cursors;
use filter::Rights;
use follow::Following;
pub use hub::{Hub, StreamCounts};
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

/// The `data:` of an event; `event:` names its type.
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

/// Stream events live.
///
/// Server-sent events, each with `event:`, `id:` and one line of JSON as `data:`.
///
/// - `job` (`JobEvent`): a job changed its state. Every final state is sent; changes in between may be merged, which
///   `sequence`, a count of a job's changes from 1, shows.
/// - `schedule` (`ScheduleEvent`): a schedule ticked, or was created, changed or deleted. Only sent to keys that also
///   have the scope `schedules:read`.
/// - `worker` (`WorkerEvent`): a worker started, is draining, stopped or died. For operators only.
/// - `queue` (`QueueEvent`): a queue was paused or resumed.
/// - `snapshot` (`SnapshotEvent`): the `job` events before it were the current state; changes follow. A change that is
///   already part of the snapshot may be sent again; `sequence` tells which is newer.
/// - `heartbeat` (`HeartbeatEvent`): at the start and every 15 s. A client that receives nothing for 40 s should
///   reconnect.
/// - `reset` (`ResetEvent`): the cursor cannot be resumed, and the stream continues from now; reload your data.
///
/// With a filter on `job`, `kind` or `tag` only `job` events are sent; a filter on `queue` also keeps the `queue`
/// events of those queues. A client that was disconnected, for whatever reason, sends the last `id:` it received as
/// `Last-Event-ID` or as `after` and misses nothing; `Last-Event-ID` takes precedence.
///
/// Authenticate with a key in `Authorization`, with the session cookie on a page of this server, or with a ticket,
/// which opens the stream once if you cannot send headers; never with a key in the URL.
#[utoipa::path(get, path = "/api/v1/stream", tag = "stream", operation_id = "stream", params(StreamParams,
    ("Last-Event-ID" = Option<String>, Header, description = "The `id:` of the last event received; takes precedence \
        over `after`")),
    responses(
        (status = 200, description = "Events, until the client or the server disconnects",
            body = StreamEvent, content_type = "text/event-stream"),
        (status = 400, description = "A parameter is unknown or invalid, or the URL contains a key",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "The tenant has too many open streams",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Params(params): Params<StreamParams>,
) -> Result<Response, Problem> {
    let asked = StreamRequest::read(params, &headers)?;
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
