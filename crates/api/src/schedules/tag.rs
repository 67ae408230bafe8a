//! The `ETag` of a schedule: its version, and a part of its id.
//!
//! Versions count from 1 for every schedule, so a name that was deleted and created again gets the same ones again. A tag
//! therefore has a part of the schedule's id in it: `"3-9fbfe8da7817a116"`. A client that knows only the version, from the
//! document, may send `"3"`.

use axum::response::Response;
use foreman_core::document::ScheduleDocument;
use foreman_core::ports::ScheduleView;
use foreman_core::schedule::ScheduleKey;
use foreman_core::{ScheduleId, TenantId};
use http::StatusCode;

use super::look::not_found;
use crate::app::App;
use crate::edit::condition::{Expected, tagged};
use crate::gate::caller::Caller;
use crate::problem::{Kind, Problem};
use crate::request::json;

/// The schedule that the tag is of, when it is of one: from here on its name may come to mean another.
pub(super) async fn bound(
    expected: Expected,
    app: &App,
    tenant: &TenantId,
    key: ScheduleKey,
) -> Result<ScheduleKey, Problem> {
    let Expected::Version(_, Some(of)) = expected else { return Ok(key) };
    let standing = app.store.schedule_head(tenant, &key).await?.ok_or_else(|| not_found(&key))?;
    if part_of(standing.id) == of {
        return Ok(ScheduleKey::Id(standing.id));
    }
    let detail = format!(
        "the If-Match header belongs to an earlier schedule {key}, which was deleted; this one was created since"
    );
    Err(Problem { version: Some(standing.seen.version), ..Problem::new(Kind::PreconditionFailed, detail) })
}

/// A schedule as the answer, with its version.
pub(super) fn answer(status: StatusCode, view: ScheduleView) -> Response {
    let tag = etag(&view);
    tagged(json::answer(status, &ScheduleDocument::from(view)), tag)
}

/// The same for a caller who changed it. One who may not read schedules gets it without its job.
pub(super) fn answer_to(caller: &Caller, status: StatusCode, view: ScheduleView) -> Response {
    let (tag, mut document) = (etag(&view), ScheduleDocument::from(view));
    if !caller.reads_schedules() {
        document = document.without_content();
    }
    tagged(json::answer_change(status, document, ScheduleDocument::without_content), tag)
}

pub(super) fn etag(view: &ScheduleView) -> String {
    format!("\"{}-{:016x}\"", view.seen.version, part_of(view.schedule.id))
}

/// The random half of an id.
fn part_of(id: ScheduleId) -> u64 {
    id.0.as_u64_pair().1
}
