//! How things stand, told before what changes.
//!
//! Its events carry a cursor from before the first look, and the log is read on from there: what changes between two looks, or
//! while the snapshot is being sent, comes afterwards, perhaps a second time. A client that is cut off half way has no cursor
//! after the snapshot, and is shown it again. A tenant's snapshots are made one after the other.

use foreman_core::job::QueueName;
use foreman_core::ports::{Cursor, JobFilter, JobSummary, Store, StoreError};
use foreman_core::{TenantId, Timestamp};
use tokio::sync::OwnedSemaphorePermit;

use super::cursor::{Cursors, LogCursor};
use super::event::Text;
use super::filter::StreamFilter;
use super::hub::StreamVisit;

/// So many jobs are told, where none is named.
const MOST: u64 = 1_000;
/// So many are looked at for them: lists of several queues, kinds or tags are sifted here.
const LOOKED_AT: usize = 10_000;
const PAGE: usize = 500;

/// A snapshot under way.
#[derive(Default)]
pub(super) struct Snapshot {
    after: Option<Cursor>,
    looked_at: usize,
    jobs: u64,
    /// Held until the snapshot has been told.
    turn: Option<OwnedSemaphorePermit>,
}

/// For whom, and where they stand.
pub(super) struct SnapshotScene<'s> {
    pub visit: &'s StreamVisit,
    pub store: &'s dyn Store,
    pub cursors: &'s Cursors,
    pub tenant: &'s TenantId,
    pub filter: &'s StreamFilter,
    pub cursor: LogCursor,
    pub now: Timestamp,
}

impl Snapshot {
    /// The next part of it, and whether it was the last. One that is dropped, or fails, half way is begun again.
    pub async fn next(&mut self, scene: SnapshotScene<'_>) -> Result<(Text, bool), StoreError> {
        if self.turn.is_none() {
            self.turn = scene.visit.snapshot_turn().await;
        }
        let mut text = Text::new(scene.cursors);
        let unshown = LogCursor::unshown(scene.cursor.position);
        if let Some(jobs) = &scene.filter.jobs {
            let mut views = Vec::new();
            for job in jobs {
                views.extend(scene.store.get(scene.tenant, *job).await?.map(JobSummary::from));
            }
            let told = views.iter().filter(|view| takes(scene.filter, view));
            told.for_each(|view| text.standing(view, unshown));
            text.snapshot(text.events, true, scene.now, scene.cursor);
            return Ok((text, true));
        }
        let page = scene.store.list(scene.tenant, &listed(scene.filter), self.after.as_ref(), PAGE).await?;
        self.looked_at += page.items.len();
        for view in page.items.iter().filter(|view| takes(scene.filter, view)) {
            if self.jobs == MOST {
                text.snapshot(self.jobs, false, scene.now, scene.cursor);
                return Ok((text, true));
            }
            text.standing(view, unshown);
            self.jobs += 1;
        }
        self.after = page.next;
        let is_last = self.after.is_none() || self.looked_at >= LOOKED_AT;
        let is_complete = self.after.is_none() && !leaves_some_out(scene.filter);
        if is_last {
            text.snapshot(self.jobs, is_complete, scene.now, scene.cursor);
        }
        Ok((text, is_last))
    }
}

fn takes(filter: &StreamFilter, summary: &JobSummary) -> bool {
    let outline = &summary.outline;
    filter.takes(summary.id, &outline.queue) && filter.takes_labels(outline.kind.as_deref(), &outline.tags)
}

/// A list has Foreman's own queues only where it is of one of them alone.
fn leaves_some_out(filter: &StreamFilter) -> bool {
    filter.queues.as_ref().is_some_and(|queues| queues.len() > 1 && queues.iter().any(QueueName::is_internal))
}

/// What the store can sift by itself.
fn listed(filter: &StreamFilter) -> JobFilter {
    fn only<T: Clone>(list: Option<&Vec<T>>) -> Option<T> {
        match list.map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            _ => None,
        }
    }
    JobFilter {
        queue: only(filter.queues.as_ref()),
        kind: only(filter.kinds.as_ref()),
        tag: only(filter.tags.as_ref()),
        ..JobFilter::default()
    }
}
