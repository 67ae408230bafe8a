//! The order of tasks that nobody uses any more.
//!
//! Looked through by the key, a thousand rows in a statement, from where the last one stopped; once an hour, for they are kept for
//! weeks. Where this process has got to is known to it alone: another one begins at the beginning, and finds less to remove.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::ports::{PruneStep, Retention, StoreError, USE_IS_NOTED_EVERY};

use crate::error::Fault;
use crate::schedules::read::NOW;
use crate::value::{Interval, Time, bound};
use crate::write::Transaction;

pub(crate) const CUT_LINES: &str = include_str!("sql/cut_lines.sql");

/// Rows looked at by one statement.
const LOOKED_AT: usize = 1_000;
/// Between two looks through all of them.
const EVERY: Duration = Duration::from_hours(1);

#[derive(Default)]
pub(crate) struct LineCleanup(Mutex<CleanupPlace>);

/// How far this process has got.
#[derive(Clone, Default)]
pub(crate) struct CleanupPlace {
    after: (String, i16, String, String),
    done_at: Option<Timestamp>,
}

impl LineCleanup {
    /// It was committed.
    pub fn reached(&self, place: CleanupPlace) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// One step, and where it stopped. It removes at most `limit`, looking at no more than that.
    pub async fn prune(
        &self,
        tx: &Transaction,
        retention: &Retention,
        limit: usize,
    ) -> Result<(PruneStep, CleanupPlace), Fault> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let row = tx.row(NOW, &[]).await?.ok_or_else(|| StoreError::Broken("the database returned no time".into()))?;
        let now = row.try_get::<_, Time>(0)?.0;
        if place.done_at.is_some_and(|done_at| done_at.plus(EVERY) > now) {
            return Ok((PruneStep { is_done: true, ..PruneStep::default() }, place));
        }
        let most = limit.min(LOOKED_AT);
        let unused = Interval(retention.queues.saturating_add(USE_IS_NOTED_EVERY));
        let (queue, lane, route, tenant) = &place.after;
        let row = tx.row(CUT_LINES, &[&bound(most), &unused, queue, lane, route, tenant]).await?;
        let (removed, looked_at) = match &row {
            Some(row) => {
                place.after = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
                (row.try_get::<_, i64>(4)?, row.try_get::<_, i64>(5)?)
            }
            None => (0, 0),
        };
        let is_done = looked_at < bound(most);
        if is_done {
            place = CleanupPlace { done_at: Some(now), ..CleanupPlace::default() };
        }
        let removed = usize::try_from(removed).unwrap_or_default();
        Ok((PruneStep { removed, is_done, ..PruneStep::default() }, place))
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CUT_LINES];
