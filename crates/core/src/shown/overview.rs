//! What somebody wants to see first.

use crate::document::{CountDocument, FailureGroupDocument, FailureGroupsDocument, HeldDocument};
use crate::ports::{Counted, FailureGroup, FailureGroups, HeldView};

impl From<Counted> for CountDocument {
    fn from(counted: Counted) -> Self {
        Self { count: counted.count, estimate: counted.is_estimate }
    }
}

impl From<FailureGroups> for FailureGroupsDocument {
    fn from(found: FailureGroups) -> Self {
        let items = found.groups.into_iter().map(FailureGroupDocument::from).collect();
        Self { items, next: None, complete: found.is_complete }
    }
}

impl From<FailureGroup> for FailureGroupDocument {
    fn from(group: FailureGroup) -> Self {
        Self {
            state: group.state,
            group: group.group.map(String::from),
            error: group.error,
            count: group.counted.count,
            estimate: group.counted.is_estimate,
            first_at: group.first_at,
            last_at: group.last_at,
            kind: group.kind,
            queue: group.queue.to_string(),
            job: group.sample.to_string(),
        }
    }
}

impl From<HeldView> for HeldDocument {
    fn from(view: HeldView) -> Self {
        Self {
            id: view.job.to_string(),
            tenant: view.tenant.to_string(),
            queue: view.queue.to_string(),
            kind: view.kind,
            attempt: view.attempt,
            started_at: view.started_at,
        }
    }
}
