//! Reading the log, past what cannot be read.

use foreman_core::ports::{Changes, Position, StoreError};
use tracing::error;

use super::Courier;
use crate::outage::bounded;

/// So far a way around an unreadable row is looked for at once.
const LONGEST_WAY: i64 = 10_000;

impl Courier {
    /// What came after a place. A row that this version cannot read would stop all that come after it for ever: it is
    /// passed by, loudly, and whoever would have been told of it is not.
    pub(super) async fn read(&self, after: Position) -> Result<Changes, StoreError> {
        match self.changes(after, self.config.step).await {
            Err(StoreError::Damaged(_)) => {}
            answer => return answer,
        }
        // Row by row, so that nothing is passed by but what cannot be read.
        let why = match self.changes(after, 1).await {
            Err(StoreError::Damaged(why)) => why,
            answer => return answer,
        };
        let position = self.behind_unreadable(after, &why).await?;
        error!(
            position = position.0,
            "a row of the change log cannot be read, and nobody is told of what it says: {why}"
        );
        Ok(Changes { rows: Vec::new(), position })
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        bounded(self.config.call_timeout, self.store.changes(after, limit.max(1))).await
    }

    /// The place of the last of the unreadable rows that come next.
    async fn behind_unreadable(&self, after: Position, why: &str) -> Result<Position, StoreError> {
        let head = bounded(self.config.call_timeout, self.store.head()).await?;
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
