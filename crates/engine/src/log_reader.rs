//! Reading the change log, past what cannot be read.
//!
//! A row that this version cannot read would stop all that come after it for ever. It is passed by, loudly: whoever follows the log
//! is told of everything else.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{ChangeLog, Changes, Position, StoreError};
use tracing::error;

use crate::outage::bounded;

/// So far a way around an unreadable row is looked for at once.
const LONGEST_WAY: i64 = 10_000;

/// One who follows the log.
pub(crate) struct LogReader {
    /// Who passes by what it cannot read.
    pub who: &'static str,
    pub log: Arc<dyn ChangeLog>,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl LogReader {
    /// What came after a place, at most so many rows.
    pub async fn read(&self, after: Position, step: usize) -> Result<Changes, StoreError> {
        match self.changes(after, step).await {
            Err(StoreError::Damaged(_)) => {}
            answer => return answer,
        }
        // Row by row, so that nothing is passed by but what cannot be read.
        let why = match self.changes(after, 1).await {
            Err(StoreError::Damaged(why)) => why,
            answer => return answer,
        };
        let position = self.behind_unreadable(after, &why).await?;
        let who = self.who;
        error!(
            loop.name = who,
            position = position.0,
            "the {who} skipped an unreadable row of the change log with all its changes: {why}"
        );
        Ok(Changes { rows: Vec::new(), position, is_full: true })
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        bounded(self.call_timeout, self.log.changes(after, limit.max(1))).await
    }

    /// The place of the last of the unreadable rows that come next.
    async fn behind_unreadable(&self, after: Position, why: &str) -> Result<Position, StoreError> {
        let head = bounded(self.call_timeout, self.log.head()).await?;
        let last = head.0.min(after.0.saturating_add(LONGEST_WAY));
        for place in after.0..last {
            let next = Position(place + 1);
            match self.changes(next, 1).await {
                Ok(_) => return Ok(next),
                Err(StoreError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // Not one row that can be read on all that way: that is no odd row, that is a damaged store.
        Err(StoreError::Damaged(why.to_owned()))
    }
}
