//! Which hosts a tenant's jobs call, minute by minute: with very many, a server of jobs is a scanner of networks.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);

/// The hosts of the minute under way. Only a hash of each is kept, and no more of them than the limit.
#[derive(Default)]
pub(super) struct RecentHosts {
    began: Option<Instant>,
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl RecentHosts {
    /// Notes these, all or none. When they are too many: how long until the next minute begins.
    pub fn admit<'h>(&mut self, hosts: impl Iterator<Item = &'h str>, most: u64) -> Result<(), Duration> {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= WINDOW {
            self.began = Some(Instant::now());
            self.seen.clear();
        }
        let new: HashSet<u64> =
            hosts.map(|host| self.hasher.hash_one(host)).filter(|host| !self.seen.contains(host)).collect();
        if (self.seen.len() + new.len()) as u64 > most && !new.is_empty() {
            return Err(WINDOW.saturating_sub(began.elapsed()));
        }
        self.seen.extend(new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn so_many_hosts_a_minute_and_then_again_so_many() {
        let mut hosts = RecentHosts::default();
        assert_eq!(hosts.admit(["a", "b", "a"].into_iter(), 2), Ok(()));
        assert_eq!(hosts.admit(["b"].into_iter(), 2), Ok(()), "a host that was called already is none too many");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(hosts.admit(["b", "c"].into_iter(), 2), Err(Duration::from_secs(40)));
        assert_eq!(hosts.admit(["a"].into_iter(), 2), Ok(()), "what was refused was not noted");
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(hosts.admit(["c", "d"].into_iter(), 2), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn none_means_none_and_a_job_without_a_host_is_fine() {
        let mut hosts = RecentHosts::default();
        assert!(hosts.admit(["a"].into_iter(), 0).is_err());
        assert_eq!(hosts.admit([].into_iter(), 0), Ok(()));
    }
}
