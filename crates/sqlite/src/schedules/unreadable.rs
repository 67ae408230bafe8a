//! Schedules that this version cannot read: passed over, and said so once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use foreman_core::ports::StoreError;
use rusqlite::Row;
use tracing::error;
use uuid::Uuid;

use crate::error::Fault;

/// So many are remembered. What comes after them is passed over in silence: by then the log has said enough.
const MOST: usize = 1_000;

/// Those the log has spoken of, by id and version: an edit makes another of it.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<HashSet<(Uuid, i64)>>);

impl Unreadable {
    /// What was read of a row of [`schedule_columns`](super::row::schedule_columns); `None` when its content does not fit.
    /// Any other fault stays one.
    pub fn left_out<T>(&self, row: &Row<'_>, read: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(Fault::Store(StoreError::Damaged(why))) => {
                self.say(row, &why);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    fn say(&self, row: &Row<'_>, why: &str) {
        let id: Uuid = row.get(0).unwrap_or_default();
        let name: String = row.get(2).unwrap_or_default();
        let version: i64 = row.get(3).unwrap_or_default();
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST && said.insert((id, version)) {
            error!(
                schedule.id = %id,
                schedule.name = %name,
                "schedule {name} is passed over: this version cannot read it: {why}"
            );
        }
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
