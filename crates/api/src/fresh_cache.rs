//! A cache of what the store said in the last seconds, so that it is not queried for every request.
//!
//! An answer is used for so long after the question was *put*, so nothing that is used is ever older than that, however
//! long the store took. "There is none" is an answer too. Whoever asks the same while a question is under way waits for that
//! one; it is a task of its own, so that a client that leaves does not take the others' answer along.
//!
//! Each process has its own and tells nobody: what changed elsewhere is seen when the answer has aged. While the store is
//! away what is fresh is used, and then there is nothing to use.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::ports::StoreError;
use foreman_runtime::Tasks;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::{Instant, timeout_at};

use crate::problem::{Kind, Problem};

/// An answer that takes longer comes too late to be used.
const PATIENCE: Duration = Duration::from_secs(4);

/// So many are remembered; the oldest make room.
const MOST: usize = 10_000;

pub(crate) struct FreshCache<K, V> {
    tasks: Tasks,
    /// An answer is used for so long.
    fresh: Duration,
    /// A question under way is joined for so long.
    joined: Duration,
    most: usize,
    entries: Mutex<HashMap<K, FreshEntry<V>>>,
}

#[derive(Clone)]
struct FreshEntry<V> {
    asked: Instant,
    answer: Shared<BoxFuture<'static, Result<V, Failed>>>,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Task(String),
    #[error("the store did not answer in time")]
    Late,
}

impl From<Failed> for Problem {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Store(error) => error.into(),
            Failed::Task(why) => Problem::internal(why),
            Failed::Late => {
                let problem =
                    Problem::new(Kind::StoreUnavailable, "the store is busy or unreachable; send the request again");
                Problem { cause: Some(failed.to_string()), ..problem }
            }
        }
    }
}

/// An answer, and how old it is at most.
#[derive(Debug)]
pub(crate) struct CachedAnswer<V> {
    pub value: V,
    pub age: Duration,
}

impl<V: Clone> FreshEntry<V> {
    fn is_usable(&self, fresh: Duration, joined: Duration) -> bool {
        match self.answer.peek() {
            None => self.asked.elapsed() < joined,
            Some(Ok(_)) => self.asked.elapsed() < fresh,
            Some(Err(_)) => false,
        }
    }
}

impl<K, V> FreshCache<K, V>
where
    K: Clone + Eq + Hash,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(fresh: Duration, tasks: Tasks) -> Self {
        Self { tasks, fresh, joined: fresh, most: MOST, entries: Mutex::default() }
    }

    /// Of one question there is never a second under way while the store may still answer the first: for those whose age matters
    /// less than what they cost.
    pub fn one_at_a_time(self) -> Self {
        Self { joined: PATIENCE.max(self.fresh), ..self }
    }

    /// The answer at hand, or what `ask` brings.
    pub async fn get<F>(&self, key: &K, ask: impl FnOnce() -> F) -> Result<CachedAnswer<V>, Failed>
    where
        F: Future<Output = Result<V, StoreError>> + Send + 'static,
    {
        let entry = self.entry(key, ask);
        let answered = match entry.answer.peek() {
            Some(answered) => answered.clone(),
            None => timeout_at(entry.asked + PATIENCE, entry.answer.clone()).await.unwrap_or(Err(Failed::Late)),
        };
        Ok(CachedAnswer { value: answered?, age: entry.asked.elapsed() })
    }

    fn entry<F>(&self, key: &K, ask: impl FnOnce() -> F) -> FreshEntry<V>
    where
        F: Future<Output = Result<V, StoreError>> + Send + 'static,
    {
        let mut entries = self.lock();
        if let Some(entry) = entries.get(key).filter(|entry| entry.is_usable(self.fresh, self.joined)) {
            return entry.clone();
        }
        if entries.len() >= self.most {
            make_room(&mut entries, self.most);
        }
        let asked = Instant::now();
        let task = self.tasks.spawn("look up", ask());
        let answer = async move {
            match task.await {
                Ok(answer) => answer.map_err(Failed::from),
                Err(failed) => Err(Failed::Task(failed.to_string())),
            }
        };
        let entry = FreshEntry { asked, answer: answer.boxed().shared() };
        entries.insert(key.clone(), entry.clone());
        entry
    }

    /// Whether the last answer, of whatever age, was such; also while it is asked for.
    pub fn is_known(&self, key: &K, is_such: impl FnOnce(&V) -> bool) -> bool {
        let entry = self.lock().get(key).cloned();
        entry.is_some_and(|entry| match entry.answer.peek() {
            None => true,
            Some(Ok(value)) => is_such(value),
            Some(Err(_)) => false,
        })
    }

    /// It has changed, and this process knows.
    pub fn forget(&self, key: &K) {
        self.lock().remove(key);
    }

    /// The same for all such; those still asked for are asked for anew.
    pub fn forget_where(&self, is_such: impl Fn(&V) -> bool) {
        self.lock().retain(|_, entry| matches!(entry.answer.peek(), Some(Ok(value)) if !is_such(value)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, FreshEntry<V>>> {
        // Nothing in here can panic half way through a change.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An eighth goes at a time, the oldest, so that a flood of keys pays for the looking only now and then.
fn make_room<K: Clone + Eq + Hash, V: Clone>(entries: &mut HashMap<K, FreshEntry<V>>, most: usize) {
    let mut ages: Vec<Instant> = entries.values().map(|entry| entry.asked).collect();
    let (_, limit, _) = ages.select_nth_unstable(most / 8);
    let limit = *limit;
    entries.retain(|_, entry| entry.asked > limit);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;
    use tokio::time::{advance, sleep};

    use super::*;

    const FRESH: Duration = Duration::from_secs(3);

    /// A store that counts the questions put to it.
    #[derive(Clone)]
    struct Oracle {
        asked: Arc<AtomicUsize>,
        open: Arc<Semaphore>,
    }

    impl Oracle {
        fn new() -> Self {
            Self { asked: Arc::default(), open: Arc::new(Semaphore::new(1_000)) }
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }

        fn answer(&self, value: Result<u32, StoreError>) -> impl Future<Output = Result<u32, StoreError>> + use<> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let open = self.open.clone();
            async move {
                let _open = open.acquire().await;
                value
            }
        }
    }

    fn cache() -> FreshCache<&'static str, u32> {
        FreshCache::new(FRESH, Tasks::new())
    }

    fn away() -> StoreError {
        StoreError::Unavailable("away".into())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_used_while_it_is_fresh_and_no_longer() {
        let (cache, oracle) = (cache(), Oracle::new());
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(1))).await.expect("1").value, 1);
        advance(FRESH.checked_sub(Duration::from_millis(1)).expect("longer")).await;
        let at_hand = cache.get(&"a", || oracle.answer(Ok(2))).await.expect("1");
        assert_eq!((at_hand.value, oracle.asked()), (1, 1));
        assert!(at_hand.age < FRESH && at_hand.age >= FRESH.checked_sub(Duration::from_millis(2)).expect("longer"));
        advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(2))).await.expect("2").value, 2);
        cache.forget(&"a");
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(3))).await.expect("3").value, 3);
        cache.forget_where(|value| *value == 4);
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(4))).await.expect("3").value, 3);
        cache.forget_where(|value| *value == 3);
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(4))).await.expect("4").value, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_ask_the_same_at_once_put_one_question() {
        let (cache, oracle) = (Arc::new(cache()), Oracle::new());
        let closed = oracle.open.clone().acquire_many_owned(1_000).await.expect("open");
        let tasks = Tasks::new();
        let asking: Vec<_> = (0..100)
            .map(|_| {
                let (cache, oracle) = (cache.clone(), oracle.clone());
                tasks.spawn("ask", async move { cache.get(&"a", || oracle.answer(Ok(7))).await.map(|one| one.value) })
            })
            .collect();
        sleep(Duration::from_millis(10)).await;
        // The first goes away; the others still get what it asked for.
        asking[0].abort();
        drop(closed);
        for task in asking.into_iter().skip(1) {
            assert_eq!(task.await.expect("ran").expect("answered"), 7);
        }
        assert_eq!(oracle.asked(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_question_is_put_again_where_age_matters_and_joined_where_cost_does() {
        for (is_single, questions) in [(false, 2), (true, 1)] {
            let (cache, oracle) = (cache(), Oracle::new());
            let cache = Arc::new(if is_single { cache.one_at_a_time() } else { cache });
            let closed = oracle.open.clone().acquire_many_owned(1_000).await.expect("open");
            let tasks = Tasks::new();
            let ask = || {
                let (cache, oracle) = (cache.clone(), oracle.clone());
                tasks.spawn("ask", async move { cache.get(&"a", || oracle.answer(Ok(7))).await.map(|one| one.value) })
            };
            let first = ask();
            sleep(FRESH).await;
            let second = ask();
            sleep(Duration::from_millis(10)).await;
            drop(closed);
            assert_eq!(first.await.expect("ran").expect("answered"), 7);
            assert_eq!(second.await.expect("ran").expect("answered"), 7);
            assert_eq!(oracle.asked(), questions);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_told_and_not_remembered() {
        let (cache, oracle) = (cache(), Oracle::new());
        assert!(matches!(cache.get(&"a", || oracle.answer(Err(away()))).await, Err(Failed::Store(_))));
        assert!(!cache.is_known(&"a", |_| true));
        assert_eq!(cache.get(&"a", || oracle.answer(Ok(1))).await.expect("1").value, 1);
        assert!(cache.is_known(&"a", |value| *value == 1) && !cache.is_known(&"a", |value| *value == 2));
        // A fresh answer outlives the store's absence; an old one does not.
        assert_eq!(cache.get(&"a", || oracle.answer(Err(away()))).await.expect("1").value, 1);
        advance(FRESH).await;
        assert!(cache.is_known(&"a", |value| *value == 1), "its age does not matter here");
        assert!(cache.get(&"a", || oracle.answer(Err(away()))).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_never_answers_is_not_waited_for() {
        let (cache, oracle) = (cache(), Oracle::new());
        let _closed = oracle.open.clone().acquire_many_owned(1_000).await.expect("open");
        let began = Instant::now();
        let failed = cache.get(&"a", || oracle.answer(Ok(1))).await.expect_err("late");
        assert!(matches!(failed, Failed::Late) && began.elapsed() <= PATIENCE);
        assert_eq!(Problem::from(failed).kind, Kind::StoreUnavailable);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_remembered_than_there_is_room_for() {
        let mut cache: FreshCache<usize, u32> = FreshCache::new(FRESH, Tasks::new());
        cache.most = 64;
        let oracle = Oracle::new();
        for key in 0..1_000 {
            cache.get(&key, || oracle.answer(Ok(1))).await.expect("1");
            advance(Duration::from_micros(1)).await;
            assert!(cache.lock().len() <= 64);
        }
        assert!(cache.is_known(&999, |_| true) && !cache.is_known(&0, |_| true), "the oldest go");
    }
}
