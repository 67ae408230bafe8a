//! How many jobs this worker holds: what was claimed and neither settled nor taken away.
//!
//! Claims and settlements are seen as they are answered. What was cancelled, or went back without a word of ours, is found
//! missing at the next heartbeat, which tells what is still held.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreman_core::ports::OpenJob;

#[derive(Default)]
pub struct HeldJobs(Mutex<HeldSample>);

#[derive(Default)]
struct HeldSample {
    /// With the number of the look before which it was claimed.
    jobs: HashMap<OpenJob, u64>,
    looks: u64,
}

impl HeldJobs {
    pub fn claimed(&self, jobs: impl IntoIterator<Item = OpenJob>) {
        let mut seen = self.lock();
        let looks = seen.looks;
        seen.jobs.extend(jobs.into_iter().map(|job| (job, looks)));
    }

    pub fn settled(&self, jobs: impl IntoIterator<Item = OpenJob>) {
        let mut seen = self.lock();
        for job in jobs {
            seen.jobs.remove(&job);
        }
    }

    /// A look begins: what is claimed from now on may be missing in its answer.
    pub fn look(&self) -> u64 {
        let mut seen = self.lock();
        seen.looks += 1;
        seen.looks
    }

    /// The answer to a look.
    pub fn found(&self, look: u64, held: &[OpenJob]) {
        let held: HashSet<&OpenJob> = held.iter().collect();
        self.lock().jobs.retain(|job, since| *since >= look || held.contains(job));
    }

    /// A new session holds nothing.
    pub fn clear(&self) {
        self.lock().jobs.clear();
    }

    pub fn count(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Whole after every line that holds the lock.
    fn lock(&self) -> MutexGuard<'_, HeldSample> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::{Fence, JobId};

    use super::*;

    fn job(fence: i64) -> OpenJob {
        OpenJob { fence: Fence(fence), job: JobId::fresh() }
    }

    #[test]
    fn what_is_claimed_counts_until_it_is_settled_or_found_missing() {
        let held = HeldJobs::default();
        let (first, second, third) = (job(1), job(1), job(2));
        held.claimed([first, second]);
        held.claimed([first]);
        assert_eq!(held.count(), 2, "a claim that is answered twice counts once");
        held.settled([first]);
        assert_eq!(held.count(), 1);
        let look = held.look();
        held.claimed([third]);
        held.found(look, &[]);
        assert_eq!(held.count(), 1, "the second was cancelled; the third was claimed while we looked");
        held.clear();
        assert_eq!(held.count(), 0);
    }
}
