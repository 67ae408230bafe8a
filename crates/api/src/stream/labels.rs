//! What people call jobs, remembered for a while: the log says neither kind nor tags.
//!
//! Asked for only when somebody filters by them. Whoever asks for the same while a question is under way waits for that one; it
//! is a task of its own, so that a client that leaves does not take the others' answer along. A job's labels never change: an
//! answer is forgotten only to make room, and "there is none" because the job is gone for good.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::JobId;
use foreman_core::ports::{Labels, Store, StoreError};
use foreman_runtime::Tasks;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::Instant;

const KEPT: Duration = Duration::from_mins(5);
const MOST: usize = 20_000;

type LabelsResult = Result<Arc<HashMap<JobId, Arc<Labels>>>, StoreError>;

pub(crate) struct KnownLabels {
    store: Arc<dyn Store>,
    tasks: Tasks,
    most: usize,
    entries: Mutex<HashMap<JobId, LabelLookup>>,
}

#[derive(Clone)]
struct LabelLookup {
    asked: Instant,
    /// Of all that were asked for together.
    answer: Shared<BoxFuture<'static, LabelsResult>>,
}

impl LabelLookup {
    fn is_good(&self) -> bool {
        self.asked.elapsed() < KEPT && !matches!(self.answer.peek(), Some(Err(_)))
    }
}

impl KnownLabels {
    pub fn new(store: Arc<dyn Store>, tasks: Tasks) -> Self {
        Self { store, tasks, most: MOST, entries: Mutex::default() }
    }

    /// Those of these jobs that are still there.
    pub async fn of(&self, jobs: &[JobId]) -> Result<HashMap<JobId, Arc<Labels>>, StoreError> {
        let mut found = HashMap::new();
        for (job, entry) in self.entries(jobs) {
            if let Some(labels) = entry.answer.await?.get(&job) {
                found.insert(job, Arc::clone(labels));
            }
        }
        Ok(found)
    }

    fn entries(&self, jobs: &[JobId]) -> Vec<(JobId, LabelLookup)> {
        let mut known = self.lock();
        // Taken before room is made: what is put aside then is answered all the same.
        let (mut answers, mut wanted) = (Vec::with_capacity(jobs.len()), Vec::new());
        for job in jobs {
            match known.get(job).filter(|entry| entry.is_good()) {
                Some(entry) => answers.push((*job, entry.clone())),
                None => wanted.push(*job),
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() {
            if known.len() + wanted.len() > self.most {
                known.retain(|_, entry| entry.is_good());
            }
            if known.len() + wanted.len() > self.most {
                known.clear();
            }
            let entry = LabelLookup { asked: Instant::now(), answer: self.ask(wanted.clone()) };
            answers.extend(wanted.iter().map(|job| (*job, entry.clone())));
            known.extend(wanted.into_iter().map(|job| (job, entry.clone())));
        }
        answers
    }

    fn ask(&self, jobs: Vec<JobId>) -> Shared<BoxFuture<'static, LabelsResult>> {
        let store = Arc::clone(&self.store);
        let asked = self.tasks.spawn("labels", async move {
            let labels = store.labels(&jobs).await?;
            Ok(Arc::new(labels.into_iter().map(|labels| (labels.job, Arc::new(labels))).collect()))
        });
        let answer = async move {
            // A panic is logged where it was caught; to whoever asked, it is a store that does not answer.
            asked.await.unwrap_or_else(|failed| Err(StoreError::Unavailable(failed.to_string())))
        };
        answer.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, LabelLookup>> {
        // Nothing in here can panic half way through a change.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::memory::{self, LocalWakeups, ManualClock};

    use super::*;

    #[tokio::test]
    async fn what_is_known_is_answered_though_room_is_made_for_others() {
        let store = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let known = KnownLabels { most: 4, ..KnownLabels::new(Arc::new(store), Tasks::new()) };
        let ids: Vec<JobId> = (0..5).map(|_| JobId::fresh()).collect();
        for some in [&ids[..3], &[ids[0], ids[3], ids[4]], &ids[..]] {
            let entries = known.entries(some);
            let is_answered = |job: &JobId| entries.iter().any(|(answered, _)| answered == job);
            assert!(some.iter().all(is_answered), "{} of {}", entries.len(), some.len());
        }
    }
}
