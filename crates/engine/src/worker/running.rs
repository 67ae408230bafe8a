//! What runs in this session right now, and how to stop one of it.
//!
//! The store is asked regularly what the session still holds. What runs here and is no longer held there was cancelled.
//! A job claimed *after* the question was sent is not in its answer either, so each entry is numbered, and only those
//! that were known when the question was sent are judged by its answer.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::ports::OpenJob;
use tokio_util::sync::CancellationToken;

/// Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningAttempts(Arc<Mutex<RunningList>>);

#[derive(Debug, Default)]
struct RunningList {
    last: Number,
    entries: HashMap<OpenJob, RunningEntry>,
}

/// When an entry was made, by count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(u64);

#[derive(Debug)]
struct RunningEntry {
    number: Number,
    stop: CancellationToken,
    is_cancelled: Arc<AtomicBool>,
}

/// One running attempt; leaves the list when it is dropped.
#[derive(Debug)]
pub(crate) struct RunGuard {
    open: OpenJob,
    running: RunningAttempts,
    /// Cancelled when the attempt must end, for whatever reason.
    pub stop: CancellationToken,
    is_cancelled: Arc<AtomicBool>,
}

impl RunningAttempts {
    pub fn enter(&self, open: OpenJob, stop: CancellationToken) -> RunGuard {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let mut list = self.lock();
        list.last.0 += 1;
        let entry = RunningEntry { number: list.last, stop: stop.clone(), is_cancelled: Arc::clone(&is_cancelled) };
        list.entries.insert(open, entry);
        drop(list);
        RunGuard { open, running: self.clone(), stop, is_cancelled }
    }

    /// Taken before the store is asked what is held, and given to [`RunningAttempts::compare`] with its answer.
    pub fn known(&self) -> Number {
        self.lock().last
    }

    /// Stops what was running when the store was asked and is not held any more. Answers what was stopped.
    pub fn compare(&self, held: &[OpenJob], known: Number) -> Vec<OpenJob> {
        let mut list = self.lock();
        if list.entries.is_empty() {
            return Vec::new();
        }
        let held: HashSet<&OpenJob> = held.iter().collect();
        let mut stopped = Vec::new();
        for (open, entry) in &mut list.entries {
            let is_news = !entry.is_cancelled.load(Ordering::Acquire);
            if entry.number <= known && !held.contains(open) && is_news {
                entry.is_cancelled.store(true, Ordering::Release);
                entry.stop.cancel();
                stopped.push(*open);
            }
        }
        stopped
    }

    /// Of what the store has as held, what does not run here.
    pub fn missing(&self, held: &[OpenJob]) -> Vec<OpenJob> {
        let list = self.lock();
        held.iter().filter(|open| !list.entries.contains_key(open)).copied().collect()
    }

    pub fn count(&self) -> usize {
        self.lock().entries.len()
    }

    /// The list is whole after every line that holds the lock, so one that a panic poisoned is still true.
    fn lock(&self) -> MutexGuard<'_, RunningList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunGuard {
    /// The job was cancelled in the store while this attempt ran: its outcome would be refused.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.running.lock().entries.remove(&self.open);
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
    fn what_is_no_longer_held_is_stopped_and_the_rest_goes_on() {
        let running = RunningAttempts::default();
        let kept = running.enter(open(1), CancellationToken::new());
        let gone = running.enter(open(2), CancellationToken::new());
        let stopped = running.compare(&[kept.open], running.known());
        assert_eq!(stopped, [gone.open]);
        assert!(gone.is_cancelled() && gone.stop.is_cancelled());
        assert!(!kept.is_cancelled() && !kept.stop.is_cancelled());
        assert_eq!(running.compare(&[kept.open], running.known()), [], "it is stopped once");
    }

    #[test]
    fn a_job_claimed_after_the_question_was_sent_is_not_judged_by_its_answer() {
        let running = RunningAttempts::default();
        let known = running.known();
        let late = running.enter(open(1), CancellationToken::new());
        assert_eq!(running.compare(&[], known), []);
        assert!(!late.stop.is_cancelled());
    }

    #[test]
    fn what_is_held_and_does_not_run_here_is_missing() {
        let running = RunningAttempts::default();
        let (here, nowhere) = (running.enter(open(1), CancellationToken::new()), open(2));
        assert_eq!(running.missing(&[here.open, nowhere]), [nowhere]);
    }

    #[test]
    fn an_attempt_that_ended_leaves_the_list() {
        let running = RunningAttempts::default();
        let guard = running.enter(open(1), CancellationToken::new());
        assert_eq!(running.count(), 1);
        drop(guard);
        assert_eq!(running.count(), 0);
    }
}
