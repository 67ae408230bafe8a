//! What recent claims have taken, so that a settlement need not read it again.
//!
//! A row of `held` never changes, and the number of a claim is never given twice: what was taken under a number is what a
//! settlement under that number finds, if it finds anything. Whether it does is asked of the table, by the delete of the row. So
//! an entry may be missing or outlived, and nothing follows from it but a look at the table. Entries are made once the claim is
//! committed and go with their settlement, or when newer ones need the room.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use foreman_core::{Fence, JobId};

use crate::rows::JobRow;

/// So many entries fill a half. There are two: when the young one is full it becomes the old one, and what was old is forgotten.
const HALF: usize = 8_192;

#[derive(Default)]
pub(crate) struct ClaimedRows(Mutex<Halves>);

#[derive(Default)]
struct Halves {
    young: HashMap<JobId, (Fence, JobRow)>,
    old: HashMap<JobId, (Fence, JobRow)>,
}

impl ClaimedRows {
    pub fn keep(&self, fence: Fence, job_rows: impl IntoIterator<Item = JobRow>) {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for job_row in job_rows {
            if halves.young.len() >= HALF {
                halves.old = std::mem::take(&mut halves.young);
            }
            halves.young.insert(job_row.job, (fence, job_row));
        }
    }

    /// The row of each, in the order given.
    pub fn take(&self, wanted: impl Iterator<Item = (Fence, JobId)>) -> Vec<Option<JobRow>> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut take = |(fence, job): (Fence, JobId)| {
            let found = halves.young.remove(&job).or_else(|| halves.old.remove(&job));
            found.filter(|(claim, _)| *claim == fence).map(|(_, job_row)| job_row)
        };
        wanted.map(&mut take).collect()
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::job::QueueName;
    use foreman_core::storage::Counters;
    use foreman_core::target::Route;
    use foreman_core::{Lane, TenantId, Timestamp};

    use super::*;

    fn a_row() -> JobRow {
        JobRow {
            job: JobId::fresh(),
            tenant: TenantId::default(),
            queue: QueueName::default(),
            route: Route::http(),
            lane: Lane::Normal,
            kind: None,
            run_at: Timestamp::from_micros(1),
            expires_at: None,
            counters: Counters::default(),
        }
    }

    #[test]
    fn what_was_taken_is_known_under_its_own_claim_alone() {
        let (claimed, row) = (ClaimedRows::default(), a_row());
        claimed.keep(Fence(7), [row.clone()]);
        assert!(claimed.take([(Fence(6), row.job)].into_iter())[0].is_none(), "another claim");
        claimed.keep(Fence(7), [row.clone()]);
        let found = claimed.take([(Fence(7), row.job), (Fence(7), JobId::fresh()), (Fence(7), row.job)].into_iter());
        let found: Vec<Option<JobId>> = found.into_iter().map(|found| found.map(|found| found.job)).collect();
        assert_eq!(found, [Some(row.job), None, None], "and once");
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let (claimed, last) = (ClaimedRows::default(), a_row());
        claimed.keep(Fence(1), (0..3 * HALF).map(|_| a_row()));
        claimed.keep(Fence(1), [last.clone()]);
        let kept = { claimed.0.lock().map(|halves| halves.young.len() + halves.old.len()).unwrap_or_default() };
        assert!(kept <= 2 * HALF, "{kept}");
        assert!(claimed.take([(Fence(1), last.job)].into_iter())[0].is_some(), "the latest are");
    }
}
