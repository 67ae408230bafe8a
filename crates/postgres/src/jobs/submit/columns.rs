//! What a submission writes, column by column, as its statements want it.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_core::ports::USE_IS_NOTED_EVERY;
use foreman_core::storage::NewJobRow;
use foreman_core::{JobId, Lane, Timestamp};
use uuid::Uuid;

use super::{OPEN_LANES, OPEN_QUEUES, WAIT};
use crate::error::Fault;
use crate::rows::rank;
use crate::value::{Arg, Interval, Time};
use crate::write::{Query, Transaction};

/// Use of a queue that was noted so lately need not be noted again. Sooner than [`USE_IS_NOTED_EVERY`], after which an unused
/// queue may be removed: what was noted so lately is there until whoever looked has long committed.
pub(super) const USED_LATELY: Duration = Duration::from_secs(USE_IS_NOTED_EVERY.as_secs() / 2);

/// Empty where no work is large, as is usual.
pub(super) fn outlines<'a>(jobs: &[&'a NewJobRow]) -> Vec<Option<&'a str>> {
    if jobs.iter().all(|job| job.outline.is_none()) {
        return Vec::new();
    }
    jobs.iter().map(|job| job.outline.as_deref()).collect()
}

/// As its column keeps it.
pub(super) fn max_attempts(job: &NewJobRow) -> i32 {
    i32::try_from(job.max_attempts).unwrap_or(i32::MAX)
}

/// The queues of tenants, and the lanes in them, that a batch puts something into.
#[derive(Default)]
pub(crate) struct UsedQueues<'a> {
    queues: BTreeSet<(&'a str, &'a str)>,
    lanes: BTreeSet<(i16, &'a str)>,
}

impl<'a> UsedQueues<'a> {
    pub fn add(&mut self, queue: &'a str, tenant: &'a str, lane: Lane) {
        self.queues.insert((queue, tenant));
        self.lanes.insert((rank(lane), queue));
    }

    /// Notes that they are used, and opens those that are new.
    pub async fn write(&self, tx: &Transaction) -> Result<(), Fault> {
        if !self.queues.is_empty() {
            tx.all(&self.columns().args().steps()).await?;
        }
        Ok(())
    }

    pub(super) fn columns(&self) -> QueueColumns<'a> {
        let (queues, tenants) = self.queues.iter().copied().unzip();
        let (lanes, lines) = self.lanes.iter().copied().unzip();
        QueueColumns { queues, tenants, lines, lanes, every: Interval(USED_LATELY) }
    }
}

/// The same, column by column.
pub(super) struct QueueColumns<'a> {
    queues: Vec<&'a str>,
    tenants: Vec<&'a str>,
    lines: Vec<&'a str>,
    lanes: Vec<i16>,
    every: Interval,
}

impl QueueColumns<'_> {
    pub fn args(&self) -> OpenArgs<'_> {
        OpenArgs { queues: [&self.queues, &self.tenants, &self.every], lanes: [&self.lines, &self.lanes] }
    }
}

pub(super) struct OpenArgs<'a> {
    queues: [&'a dyn Arg; 3],
    lanes: [&'a dyn Arg; 2],
}

impl OpenArgs<'_> {
    pub fn steps(&self) -> Vec<Query<'_>> {
        vec![(OPEN_QUEUES, &self.queues), (OPEN_LANES, &self.lanes)]
    }
}

#[derive(Default)]
pub(super) struct Tags<'a> {
    pub tenants: Vec<&'a str>,
    pub names: Vec<&'a str>,
    pub jobs: Vec<Uuid>,
}

impl<'a> Tags<'a> {
    pub fn of(jobs: &'a [NewJobRow]) -> Self {
        let mut tags = Self::default();
        for job in jobs {
            tags.push(job);
        }
        tags
    }

    /// As [`super::TAG`] wants them.
    pub fn args(&self) -> [&dyn Arg; 3] {
        [&self.tenants, &self.names, &self.jobs]
    }

    pub fn push(&mut self, job: &'a NewJobRow) {
        for tag in &job.tags {
            self.tenants.push(job.tenant.as_str());
            self.names.push(tag);
            self.jobs.push(job.id.0);
        }
    }
}

/// Rows for `ready`, column by column.
#[derive(Default)]
pub(crate) struct ReadyColumns<'a> {
    pub ids: Vec<Uuid>,
    tenants: Vec<&'a str>,
    queues: Vec<&'a str>,
    routes: Vec<&'a str>,
    lanes: Vec<i16>,
    kinds: Vec<Option<&'a str>>,
    run_at: Vec<Option<Time>>,
    expires_at: Vec<Option<Time>>,
    attempts: Vec<i32>,
    moves: Vec<i32>,
    keys: Vec<Option<i64>>,
}

impl<'a> ReadyColumns<'a> {
    pub fn push(
        &mut self,
        id: JobId,
        tenant: &'a str,
        queue: &'a str,
        route: &'a str,
        lane: Lane,
        kind: Option<&'a str>,
    ) {
        self.ids.push(id.0);
        self.tenants.push(tenant);
        self.queues.push(queue);
        self.routes.push(route);
        self.lanes.push(rank(lane));
        self.kinds.push(kind);
    }

    /// More of a row; without a time it may run now.
    pub fn when(&mut self, run_at: Option<Timestamp>, expires_at: Option<Timestamp>, key: Option<i64>) {
        self.run_at.push(run_at.map(Time));
        self.expires_at.push(expires_at.map(Time));
        self.keys.push(key);
    }

    /// The rest of it: tries so far, and moves with this one.
    pub fn counted(&mut self, attempt: u32, moves: u32) {
        self.attempts.push(i32::try_from(attempt).unwrap_or(i32::MAX));
        self.moves.push(i32::try_from(moves).unwrap_or(i32::MAX));
    }

    pub fn args(&self) -> [&dyn Arg; 11] {
        [
            &self.ids,
            &self.tenants,
            &self.queues,
            &self.routes,
            &self.lanes,
            &self.kinds,
            &self.run_at,
            &self.expires_at,
            &self.attempts,
            &self.keys,
            &self.moves,
        ]
    }

    pub async fn write(&self, tx: &Transaction) -> Result<(), Fault> {
        if !self.ids.is_empty() {
            tx.rows(WAIT, &self.args()).await?;
        }
        Ok(())
    }
}
