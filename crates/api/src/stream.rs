//! `GET /api/v1/stream`: what happens, as it happens.

mod asked;
mod tickets;

use axum::response::Response;
use foreman_core::document::{
    HeartbeatEvent, JobEvent, ProblemDocument, QueueEvent, ResetEvent, ScheduleEvent, SnapshotEvent, WorkerEvent,
};

use crate::params::Params;
use crate::problem::{Kind, Problem};
use asked::StreamParams;
pub(crate) use tickets::*;

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
pub(crate) async fn stream(Params(_): Params<StreamParams>) -> Result<Response, Problem> {
    Err(Problem::new(Kind::Overloaded, "the stream is not served yet"))
}
