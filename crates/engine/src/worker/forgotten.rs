//! Finds jobs that the store has as held by this session and that nobody in this process knows of.
//!
//! A job that is held is known here at any time: it is in a claim call under way, or runs, or its outcome is on its way
//! to the store. Should a bug, a panic or a lost answer ever break that chain, nothing would end the job for as long as the
//! session is renewed. So each heartbeat compares what the store has as held with what is known. A job that is missing twice
//! in a row is handed back under its fence, refunded.
//!
//! The answer to a heartbeat may show jobs of a claim call whose own answer has not come yet. Claim calls are counted:
//! a job is judged only after every call that was begun by the time it was first missed has ended, for then its jobs are
//! known. A job that was settled while the answer was under way may be handed back in vain: its fence is refused.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use foreman_core::ports::OpenJob;

/// Claim calls, counted. One dispatcher makes them, one after the other.
#[derive(Debug, Default)]
pub(crate) struct ClaimCalls {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl ClaimCalls {
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// The jobs of every call so far are known, or the calls are given up.
    pub fn end_all(&self) {
        self.ended.store(self.begun(), Ordering::SeqCst);
    }

    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }
}

/// What the last heartbeat missed.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    /// Each with the number of claim calls that were begun when it was first missed.
    missed: HashMap<OpenJob, u64>,
}

impl Forgotten {
    /// Takes in what a heartbeat has found held and not known, with the claim calls that had ended before that was compared and
    /// those that are begun by now. Answers what is to be handed back.
    pub fn judge(&mut self, unknown: &[OpenJob], ended: u64, begun: u64) -> Vec<OpenJob> {
        let before = std::mem::take(&mut self.missed);
        let mut forgotten = Vec::new();
        for job in unknown {
            let since = before.get(job).copied();
            if since.is_some_and(|since| ended >= since) {
                forgotten.push(*job);
            }
            // Until it is known or gone: there may be no room to hand it back right now.
            self.missed.insert(*job, since.unwrap_or(begun));
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foreman_core::{Fence, JobId};

    fn open(fence: i64) -> OpenJob {
        OpenJob { fence: Fence(fence), job: JobId::fresh() }
    }

    #[test]
    fn what_is_missed_twice_in_a_row_is_handed_back() {
        let (mut forgotten, job, other) = (Forgotten::default(), open(1), open(2));
        assert_eq!(forgotten.judge(&[job], 7, 7), []);
        assert_eq!(forgotten.judge(&[], 8, 8), [], "it was known again");
        assert_eq!(forgotten.judge(&[job, other], 9, 9), []);
        assert_eq!(forgotten.judge(&[job], 9, 9), [job]);
        assert_eq!(forgotten.judge(&[job], 9, 9), [job], "there was no room");
    }

    #[test]
    fn a_job_is_not_judged_while_a_claim_call_from_before_is_under_way() {
        let (mut forgotten, job) = (Forgotten::default(), open(1));
        assert_eq!(forgotten.judge(&[job], 3, 4), []);
        assert_eq!(forgotten.judge(&[job], 3, 4), [], "the fourth has not ended");
        assert_eq!(forgotten.judge(&[job], 4, 9), [job], "it is not in the fourth, and the later ones came after");
    }
}
