//! Fair order between tenants inside one queue and lane.
//!
//! Start-time fair queuing: a job that falls due takes the key `max(V, its tenant's last key) + 1/weight`, where V is
//! the highest key claimed so far in that queue and lane. A claim then takes the smallest keys: one index scan, and a
//! tenant's burst of 100,000 queues behind another tenant's single job. V moves with service, never with the clock: a
//! clock runs ahead of a slow lane and would put a newcomer behind the whole burst.

/// One job of a tenant of weight 1. Keys are whole numbers, so that they compare alike in every store.
pub const UNIT: i64 = 1 << 20;

/// The keys of `count` jobs that fall due together, and the tenant's last key afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    first: i64,
    step: i64,
    count: usize,
}

impl Keys {
    /// `virtual_time` is V of the queue and lane, `last` the tenant's last key there (0 when it never had one).
    pub fn reserve(virtual_time: i64, last: i64, weight: u32, count: usize) -> Self {
        let step = (UNIT / i64::from(weight.max(1))).max(1);
        Self { first: virtual_time.max(last) + step, step, count }
    }

    pub fn last(self) -> i64 {
        self.first + self.step * (self.count.max(1) as i64 - 1)
    }

    pub fn iter(self) -> impl Iterator<Item = i64> {
        (0..self.count as i64).map(move |n| self.first + self.step * n)
    }
}

/// How far a key lies behind the front of its own queue and lane.
///
/// Keys of two queues cannot be compared as they are: each queue counts its own service, and a new queue would go ahead
/// of one that has served a million until it had served as many.
pub fn behind(key: i64, virtual_time: i64) -> i64 {
    key.saturating_sub(virtual_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_job_goes_ahead_of_another_tenants_burst() {
        let burst: Vec<i64> = Keys::reserve(0, 0, 1, 100_000).iter().collect();
        // Three of the burst have been served when the other tenant arrives.
        let single = Keys::reserve(burst[2], 0, 1, 1).last();
        assert_eq!(burst.iter().filter(|key| **key < single).count(), 3);
    }

    #[test]
    fn a_heavier_tenant_gets_its_share() {
        let heavy: Vec<i64> = Keys::reserve(0, 0, 3, 30).iter().collect();
        let light: Vec<i64> = Keys::reserve(0, 0, 1, 30).iter().collect();
        let served_heavy = heavy.iter().filter(|key| **key < light[9]).count();
        assert!((29..=30).contains(&served_heavy), "{served_heavy}");
    }

    #[test]
    fn a_tenant_that_was_idle_saves_nothing_up() {
        assert_eq!(Keys::reserve(50 * UNIT, 2 * UNIT, 1, 1).last(), 51 * UNIT);
    }
}
