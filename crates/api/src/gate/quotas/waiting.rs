//! How many of a tenant's jobs wait, as counted in the store a moment ago, and what was submitted here since.
//!
//! Counting takes time where much waits, so it is done seldom where there is plenty of room, and never for more than a small part of
//! the time.

use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::ports::StoreError;
use tokio::time::Instant;

use crate::app::App;

/// Near the limit: so seldom is it counted anew. Who was refused asks again after this.
pub(super) const LOOKED_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// With room for twice as much.
const PLENTY_OF_ROOM: Duration = Duration::from_secs(10);
/// Counting takes at most one part in so many of the time.
const SMALL_PART: u32 = 20;

#[derive(Default)]
pub(super) struct WaitingJobs {
    counted: Option<WaitingCount>,
}

struct WaitingCount {
    count: u64,
    at: Instant,
    took: Duration,
    submitted_since: u64,
}

impl WaitingJobs {
    /// Whether so many more may wait; they then count.
    pub async fn has_room(&mut self, app: &App, tenant: &TenantId, more: u64, most: u64) -> Result<bool, StoreError> {
        if !self.counted.as_ref().is_some_and(|counted| counted.is_believed(more, most)) {
            let began = Instant::now();
            let count = app.store.waiting(tenant, most.saturating_add(1)).await?;
            self.counted = Some(WaitingCount { count, at: Instant::now(), took: began.elapsed(), submitted_since: 0 });
        }
        let Some(counted) = &mut self.counted else { return Ok(false) };
        let fits = counted.with(more) <= most;
        if fits {
            counted.submitted_since += more;
        }
        Ok(fits)
    }
}

impl WaitingCount {
    fn with(&self, more: u64) -> u64 {
        self.count.saturating_add(self.submitted_since).saturating_add(more)
    }

    fn is_believed(&self, more: u64, most: u64) -> bool {
        let usual = if self.with(more) <= most / 2 { PLENTY_OF_ROOM } else { LOOKED_AGAIN_AFTER };
        self.at.elapsed() < usual.max(self.took * SMALL_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64, took: Duration) -> WaitingCount {
        WaitingCount { count, at: Instant::now(), took, submitted_since: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_is_believed_longer_where_there_is_plenty_of_room() {
        let (few, many) = (counted(10, Duration::ZERO), counted(90, Duration::ZERO));
        tokio::time::advance(LOOKED_AGAIN_AFTER).await;
        assert!(few.is_believed(1, 100) && !many.is_believed(1, 100));
        assert!(!few.is_believed(50, 100), "what is asked for counts");
        tokio::time::advance(PLENTY_OF_ROOM).await;
        assert!(!few.is_believed(1, 100));
    }

    #[tokio::test(start_paused = true)]
    async fn counting_takes_a_small_part_of_the_time() {
        let dear = counted(100, Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(19)).await;
        assert!(dear.is_believed(1, 100));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!dear.is_believed(1, 100));
    }
}
