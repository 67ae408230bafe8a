//! Schedules that this version cannot read: passed over, and said so once.
//!
//! A later version knows fields that this one does not. One row of it in a list, or among those that are due, must harm none of the
//! others.

use std::collections::HashSet;
use std::sync::Mutex;

use tokio_postgres::Row;
use tracing::error;
use uuid::Uuid;

use crate::error::Fault;

/// Schedules that could not be read, so that each is told of once.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<HashSet<Uuid>>);

/// So many are remembered; more are not told of.
const MOST_TOLD: usize = 1_000;

impl Unreadable {
    /// What was read, if it could be.
    pub fn pass_by<T>(&self, row: &Row, read: Result<T, Fault>) -> Option<T> {
        let fault = match read {
            Ok(value) => return Some(value),
            Err(fault) => fault,
        };
        let id: Uuid = row.try_get(0).unwrap_or_default();
        let mut told = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(id) {
            error!(schedule.id = %id, "schedule {id} does not fire, because it cannot be read: {fault}");
        }
        None
    }
}
