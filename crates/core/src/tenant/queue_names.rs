//! In how many queues jobs of one tenant may wait: what one process knows about that.
//!
//! Each queue with waiting jobs takes storage of its own, so its names have a limit. How many there are is counted in the
//! store, which takes a moment for each name, so a submission is hardly ever counted for:
//! - a name that passed within the last seconds passes again;
//! - a process lets a few names pass between two counts, a hundredth of the limit at most, each as often as it is met anew;
//! - a count is believed for a while, like that of waiting jobs;
//! - where there is no room, the store is asked whether jobs wait in just these queues: they need none. It is not asked so
//!   often that it takes more than a small part of the time; until then a name that is not known is refused.
//!
//! So every process may exceed the limit by those few, by what is submitted in the moments between two counts, and by names
//! that passed and ran empty within the last seconds. Nothing is kept but numbers of this process, and they are bounded; one
//! that starts begins with the few that pass uncounted.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::id::TenantId;
use crate::job::QueueName;
use crate::ports::{JobQuery, StoreError};

/// A name that passed is not asked about for so long.
const KNOWN_FOR: Duration = Duration::from_secs(10);
/// So many names are known; beyond it all are forgotten.
const MOST_KNOWN: usize = 1_000;
/// So many names, and no more than this part of the limit, pass between two counts.
const UNCOUNTED: u64 = 100;
const PART_UNCOUNTED: u64 = 100;
/// With room for twice as many a count is believed for so long.
const PLENTY_OF_ROOM: Duration = Duration::from_secs(10);
/// Counting takes at most one part in so many of the time, and so does looking.
const SMALL_PART: u32 = 20;

#[derive(Default)]
pub struct QueueNames {
    /// Hashes of names that passed, or in which jobs waited, since then.
    known: HashSet<u64>,
    known_since: Option<Instant>,
    hasher: RandomState,
    counted: Option<NameCount>,
    /// Names that passed since the count.
    passed: u64,
    /// When the store was last asked about some names, and how long that took.
    looked: Option<(Instant, Duration)>,
}

struct NameCount {
    count: u64,
    at: Instant,
    took: Duration,
}

/// What becomes of the others where one queue is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// They are let in.
    Apart,
    /// They are refused with it, and take no room.
    Together,
}

/// A name that is not known, with its hash.
type Unknown<'q> = (u64, &'q QueueName);

impl QueueNames {
    /// Near the limit names are counted anew so seldom. Who was refused asks again after this.
    pub const COUNTED_AGAIN_AFTER: Duration = Duration::from_secs(1);

    /// Lets jobs into these queues as far as the tenant may have jobs waiting in `most`; those that would be too many are the
    /// answer, the last ones asked for. Room was taken for what was let in, whether it is used or not.
    pub async fn admit<'q, S: JobQuery + ?Sized>(
        &mut self,
        store: &S,
        tenant: &TenantId,
        asked: impl IntoIterator<Item = &'q QueueName>,
        (most, batch): (u64, Batch),
        now: impl Fn() -> Instant,
    ) -> Result<Vec<QueueName>, StoreError> {
        let (new, refused) = self.judge(store, tenant, asked, most, now).await?;
        if refused.is_empty() || batch == Batch::Apart {
            self.pass(&new);
        }
        Ok(refused)
    }

    /// Which of the names are new and may pass, and which are refused.
    async fn judge<'q, S: JobQuery + ?Sized>(
        &mut self,
        store: &S,
        tenant: &TenantId,
        asked: impl IntoIterator<Item = &'q QueueName>,
        most: u64,
        now: impl Fn() -> Instant,
    ) -> Result<(Vec<Unknown<'q>>, Vec<QueueName>), StoreError> {
        let mut new = self.unknown(asked, now());
        if new.is_empty() || self.passed + new.len() as u64 <= self.uncounted(most) {
            return Ok((new, Vec::new()));
        }
        if !self.is_believed(new.len() as u64, most, now()) {
            let began = now();
            let count = store.waiting_queues(tenant, most.saturating_add(1)).await?;
            self.counted = Some(NameCount { count, at: now(), took: now().saturating_duration_since(began) });
            self.passed = 0;
        }
        let mut refused = Vec::new();
        if self.with(new.len() as u64) > most {
            let began = now();
            if self.may_look(began) {
                let names: Vec<QueueName> = new.iter().map(|(_, name)| (*name).clone()).collect();
                let waiting: HashSet<QueueName> = store.waiting_in(tenant, &names).await?.into_iter().collect();
                self.looked = Some((now(), now().saturating_duration_since(began)));
                for (hash, _) in new.extract_if(.., |(_, name)| waiting.contains(*name)) {
                    self.know(hash);
                }
            }
            let room = usize::try_from(most.saturating_sub(self.with(0))).unwrap_or(usize::MAX);
            refused.extend(new.drain(room.min(new.len())..).map(|(_, name)| name.clone()));
        }
        Ok((new, refused))
    }

    fn may_look(&self, now: Instant) -> bool {
        self.looked.is_none_or(|(at, took)| now.saturating_duration_since(at) >= took * SMALL_PART)
    }

    /// Those that are not known, each once.
    fn unknown<'q>(&mut self, asked: impl IntoIterator<Item = &'q QueueName>, now: Instant) -> Vec<Unknown<'q>> {
        if self.known_since.is_none_or(|since| now.saturating_duration_since(since) >= KNOWN_FOR) {
            // Its room goes with it: there may be a set for each of very many tenants.
            self.known = HashSet::new();
            self.known_since = Some(now);
        }
        let (mut unknown, mut seen): (Vec<Unknown<'q>>, HashSet<u64>) = (Vec::new(), HashSet::new());
        let mut last = None;
        for name in asked {
            // Neighbours mostly are alike.
            if last.replace(name) == Some(name) {
                continue;
            }
            let hash = self.hasher.hash_one(name.as_str());
            if !self.known.contains(&hash) && seen.insert(hash) {
                unknown.push((hash, name));
            }
        }
        unknown
    }

    fn pass(&mut self, names: &[Unknown<'_>]) {
        self.passed = self.passed.saturating_add(names.len() as u64);
        for (hash, _) in names {
            self.know(*hash);
        }
    }

    fn know(&mut self, hash: u64) {
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(hash);
    }

    /// How many may pass between two counts.
    fn uncounted(&self, most: u64) -> u64 {
        let room = self.counted.as_ref().map_or(most, |counted| most.saturating_sub(counted.count));
        (most / PART_UNCOUNTED).min(UNCOUNTED).min(room)
    }

    /// How many there are with so many more.
    fn with(&self, more: u64) -> u64 {
        let counted = self.counted.as_ref().map_or(0, |counted| counted.count);
        counted.saturating_add(self.passed).saturating_add(more)
    }

    fn is_believed(&self, more: u64, most: u64, now: Instant) -> bool {
        let Some(counted) = &self.counted else { return false };
        let usual = if self.with(more) <= most / 2 { PLENTY_OF_ROOM } else { Self::COUNTED_AGAIN_AFTER };
        now.saturating_duration_since(counted.at) < usual.max(counted.took * SMALL_PART)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::memory::{self, LocalWakeups, ManualClock};
    use crate::ports::intercept::{Call, Hook, Intercepted};

    /// The queues in which jobs wait, and how often they were counted and looked for.
    #[derive(Default)]
    struct Waiting {
        queues: Mutex<HashSet<QueueName>>,
        counts: Mutex<usize>,
        looks: Mutex<usize>,
    }

    impl Hook for Waiting {
        async fn waiting_queues(&self, _: &TenantId, enough: u64, _: impl Call<u64>) -> Result<u64, StoreError> {
            *self.counts.lock().expect("no call panics") += 1;
            Ok(enough.min(self.queues.lock().expect("no call panics").len() as u64))
        }

        async fn waiting_in(
            &self,
            _: &TenantId,
            asked: &[QueueName],
            _: impl Call<Vec<QueueName>>,
        ) -> Result<Vec<QueueName>, StoreError> {
            *self.looks.lock().expect("no call panics") += 1;
            let queues = self.queues.lock().expect("no call panics");
            Ok(asked.iter().filter(|name| queues.contains(*name)).cloned().collect())
        }
    }

    struct Scene {
        store: Intercepted<memory::Store, Waiting>,
        names: QueueNames,
        at: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let inner = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
            let store = Intercepted::new(Arc::new(inner), Waiting::default());
            Self { store, names: QueueNames::default(), at: tokio::time::Instant::now().into_std() }
        }

        /// Which of these are refused; jobs wait in the others from then on.
        async fn submit(&mut self, asked: &[&str], most: u64) -> Vec<String> {
            let asked: Vec<QueueName> = asked.iter().map(|name| QueueName::from_stored(name)).collect();
            let (at, tenant) = (self.at, TenantId::default());
            let refused = self
                .names
                .admit(&self.store, &tenant, &asked, (most, Batch::Apart), || at)
                .await
                .expect("the store answers");
            let mut queues = self.store.queues.lock().expect("no call panics");
            queues.extend(asked.into_iter().filter(|name| !refused.contains(name)));
            refused.iter().map(|name| name.as_str().to_owned()).collect()
        }

        fn asked(&self) -> (usize, usize) {
            (*self.store.counts.lock().expect("no call panics"), *self.store.looks.lock().expect("no call panics"))
        }

        fn runs_empty(&self, name: &str) {
            self.store.queues.lock().expect("no call panics").remove(&QueueName::from_stored(name));
        }
    }

    const NONE: [&str; 0] = [];

    #[tokio::test]
    async fn so_many_names_and_no_more_until_one_is_free() {
        let mut scene = Scene::new();
        assert_eq!(scene.submit(&["a", "b", "a", "c"], 3).await, NONE);
        assert_eq!(scene.submit(&["b", "d", "c", "e"], 3).await, ["d", "e"], "the last ones, and not those with jobs");
        assert_eq!(scene.submit(&["c"], 3).await, NONE);
        scene.runs_empty("b");
        assert_eq!(scene.submit(&["d"], 3).await, ["d"], "a count is believed for a moment");
        scene.at += QueueNames::COUNTED_AGAIN_AFTER;
        assert_eq!(scene.submit(&["d", "e"], 3).await, ["e"]);
    }

    #[tokio::test]
    async fn names_that_others_have_opened_pass_at_the_limit() {
        let mut scene = Scene::new();
        let names: Vec<String> = (0..500).map(|n| format!("queue-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        scene
            .store
            .queues
            .lock()
            .expect("no call panics")
            .extend(names.iter().map(|name| QueueName::from_stored(name)));
        for name in &names {
            assert_eq!(scene.submit(&[name], 500).await, NONE);
        }
        assert_eq!(scene.submit(&["one-more"], 500).await, ["one-more"]);
        let (counts, looks) = scene.asked();
        assert_eq!(counts, 1, "a look costs less");
        assert_eq!(scene.submit(&names, 500).await, NONE);
        assert_eq!(scene.asked(), (counts, looks), "they are known");
        scene.at += KNOWN_FOR;
        for name in &names {
            scene.runs_empty(name);
        }
        assert_eq!(scene.submit(&["one-more"], 500).await, NONE);
    }

    #[tokio::test]
    async fn who_uses_the_same_names_is_hardly_ever_counted() {
        let mut scene = Scene::new();
        for _ in 0..20 {
            assert_eq!(scene.submit(&["a", "b", "c", "d", "e"], 10_000).await, NONE);
            scene.at += KNOWN_FOR;
        }
        assert_eq!(scene.asked(), (0, 0));
        assert_eq!(scene.submit(&["a"], 10_000).await, NONE);
        assert_eq!(scene.asked(), (1, 0));
    }

    #[tokio::test]
    async fn names_that_never_come_again_are_counted_however_slowly_they_come() {
        let mut scene = Scene::new();
        let mut passed = 0;
        for n in 0..2_000 {
            passed += usize::from(scene.submit(&[&format!("queue-{n}")], 1_000).await.is_empty());
            scene.at += Duration::from_mins(1);
        }
        assert_eq!(passed, 1_000);
        assert!(scene.names.known.len() <= MOST_KNOWN);
    }

    #[tokio::test]
    async fn counting_takes_a_small_part_of_the_time() {
        let mut scene = Scene::new();
        let counted = NameCount { count: 3, at: scene.at, took: Duration::from_secs(1) };
        scene.names.counted = Some(counted);
        scene.at += Duration::from_secs(19);
        assert_eq!((scene.submit(&["a"], 3).await, scene.asked()), (vec!["a".to_owned()], (0, 1)));
        scene.at += Duration::from_secs(1);
        assert_eq!((scene.submit(&["a"], 3).await, scene.asked()), (Vec::new(), (1, 1)));
    }

    #[tokio::test]
    async fn looking_takes_a_small_part_of_the_time() {
        let mut scene = Scene::new();
        scene.names.counted = Some(NameCount { count: 3, at: scene.at, took: Duration::from_mins(1) });
        scene.names.looked = Some((scene.at, Duration::from_secs(1)));
        scene.at += Duration::from_secs(19);
        assert_eq!((scene.submit(&["a"], 3).await, scene.asked()), (vec!["a".to_owned()], (0, 0)));
        scene.at += Duration::from_secs(1);
        assert_eq!((scene.submit(&["a"], 3).await, scene.asked()), (vec!["a".to_owned()], (0, 1)));
    }

    #[tokio::test]
    async fn what_was_refused_as_a_whole_took_no_room() {
        let mut scene = Scene::new();
        let (tenant, limit) = (TenantId::default(), (2, Batch::Together));
        let asked = ["a", "b", "c", "d"].map(QueueName::from_stored);
        for _ in 0..3 {
            let refused = scene.names.admit(&scene.store, &tenant, &asked, limit, || scene.at).await;
            assert_eq!(refused.expect("the store answers"), asked[2..], "however often it is sent again");
            scene.at += QueueNames::COUNTED_AGAIN_AFTER;
        }
        let admitted = scene.names.admit(&scene.store, &tenant, &asked[2..], limit, || scene.at).await;
        assert_eq!(admitted.expect("the store answers"), []);
    }

    #[tokio::test]
    async fn none_means_none() {
        let mut scene = Scene::new();
        assert_eq!(scene.submit(&["a"], 0).await, ["a"]);
        assert_eq!(scene.submit(&[], 0).await, NONE);
    }
}
