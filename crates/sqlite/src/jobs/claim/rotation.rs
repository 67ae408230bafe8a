//! What one claim leaves for the next: where it stopped, whose turn it was, and what it passed over. It is kept in memory, is lost
//! with the process and starts anew.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::fair::Turns;
use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use uuid::Uuid;

use super::skipped::Skipped;
use crate::disabled::DisabledTenants;
use crate::error::Fault;
use crate::order::Weights;
use crate::rows::{JobRow, ReadyRow};
use crate::write::Write;

/// What one claim leaves for the next.
#[derive(Default)]
pub(crate) struct Rotation {
    places: Mutex<HashMap<(Lane, Route), CyclePlace>>,
    turns: Mutex<Turns>,
    pub(super) skipped: Arc<Skipped>,
    disabled: DisabledTenants,
    /// After which of the jobs that must run alone the next claim looks, where there were more than one claim looks at.
    fragile: Mutex<Option<FragilePlace>>,
}

/// A place among the jobs that must run alone: queue, route, lane, key and job.
pub(super) type FragilePlace = (String, String, i64, i64, JobId);

/// After which queue, and after which tenant's latest lines, the next claim goes on, where there were more lines than one
/// claim looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CyclePlace {
    pub queue: Option<QueueName>,
    pub tenant: Option<TenantId>,
}

impl Rotation {
    pub(super) fn place(&self, lane: Lane, route: &Route) -> CyclePlace {
        lock(&self.places).get(&(lane, route.clone())).cloned().unwrap_or_default()
    }

    pub(super) fn keep(&self, lane: Lane, route: Route, place: CyclePlace) {
        if place == CyclePlace::default() {
            lock(&self.places).remove(&(lane, route));
        } else {
            lock(&self.places).insert((lane, route), place);
        }
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> MutexGuard<'_, HashMap<(Lane, Route), CyclePlace>> {
        lock(&self.places)
    }

    /// Queues went: what was known of their lines does not hold for the next of their name.
    pub fn forget_lines(&self) {
        self.skipped.forget();
    }

    pub(super) fn fragile_place(&self) -> FragilePlace {
        let beginning = || (String::new(), String::new(), -1, i64::MIN, JobId(Uuid::nil()));
        lock(&self.fragile).clone().unwrap_or_else(beginning)
    }

    pub(super) fn keep_fragile_place(&self, place: Option<FragilePlace>) {
        *lock(&self.fragile) = place;
    }

    /// A tenant has resumed a queue.
    pub fn resumed(&self) {
        self.skipped.resumed();
    }

    /// Whose turn it is. Claims come one after the other; nobody else holds it for longer than a line takes.
    pub fn turns(&self) -> MutexGuard<'_, Turns> {
        lock(&self.turns)
    }

    pub fn disabled(&self) -> &DisabledTenants {
        &self.disabled
    }

    /// These were claimed in their turn.
    pub fn took(&self, write: &Write<'_>, chosen: &[ReadyRow]) -> Result<(), Fault> {
        let (mut turns, mut weights) = (lock(&self.turns), Weights::default());
        let is_alike = |one: &ReadyRow, other: &ReadyRow| {
            let (one, other) = (&one.job_row, &other.job_row);
            (one.lane, &one.tenant, &one.queue, &one.route) == (other.lane, &other.tenant, &other.queue, &other.route)
        };
        for run in chosen.chunk_by(is_alike) {
            let JobRow { lane, route, queue, tenant, .. } = &run[0].job_row;
            turns.took_run(*lane, route, queue, tenant, weights.of(write.sql, tenant)?, run.len());
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
