//! Rows that this version cannot read: passed over, and said so once.
//!
//! A later version knows fields that this one does not. One row of it in a list, or among those that a loop works through,
//! must harm none of the others.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use foreman_core::ports::StoreError;
use tracing::error;

use crate::error::Fault;

/// So many are remembered. What comes after them is passed over in silence: by then the log has said enough.
const MOST: usize = 1_000;

/// Those the log has spoken of, by what they are called and their version: an edit makes another of it.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<HashSet<(String, i64)>>);

impl Unreadable {
    /// What was read of a row; `None` when its content does not fit. Any other fault stays one. `name` says what the row is,
    /// such as `schedule daily`.
    pub fn left_out<T>(
        &self,
        name: impl FnOnce() -> (String, i64),
        read: Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(Fault::Store(StoreError::Damaged(why))) => {
                self.say(name(), &why);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    fn say(&self, row: (String, i64), why: &impl Display) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST && !said.contains(&row) {
            error!("skipped {}: this version cannot read it: {why}", row.0);
            said.insert(row);
        }
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
