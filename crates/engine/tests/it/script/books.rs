//! Numbers over time: the same script.

use async_trait::async_trait;
use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Bucket, Depth, Leader, Position, Posted, Range, StatisticsStore, StoreError, Stretch};
use foreman_core::statistics::{Known, Tally};

use super::{Scripted, Verb};

#[async_trait]
impl StatisticsStore for Scripted {
    async fn bookkeeper(&self) -> Result<Position, StoreError> {
        self.play(Verb::Bookkeeper, self.inner.bookkeeper()).await
    }

    /// With terms, as a store that many share has them.
    async fn book(&self, leader: Option<&Leader>, stretch: &Stretch) -> Result<Option<Posted>, StoreError> {
        let call = async {
            if leader.is_some_and(|leader| leader.term < self.script.lock().unwrap().term) {
                return Ok(None);
            }
            self.script.lock().unwrap().booked.push(stretch.entries.len());
            self.inner.book(leader, stretch).await
        };
        self.play(Verb::Book, call).await
    }

    async fn depths(&self) -> Result<Vec<Depth>, StoreError> {
        self.play(Verb::Depths, self.inner.depths()).await
    }

    async fn known_depths(&self) -> Result<Vec<Known>, StoreError> {
        self.play(Verb::KnownDepths, self.inner.known_depths()).await
    }

    async fn statistics(&self, tenant: &TenantId, range: &Range, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        self.inner.statistics(tenant, range, limit).await
    }

    async fn statistics_by_queue(
        &self,
        tenant: &TenantId,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<(QueueName, Tally)>, StoreError> {
        self.inner.statistics_by_queue(tenant, range, limit).await
    }
}
