//! Numbers about jobs over time: what is counted, and how a stretch of the change log becomes numbers.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

pub use foreman_protocol::statistics::Slot;
use serde::{Deserialize, Serialize};

use crate::id::TenantId;
use crate::job::QueueName;
use crate::ports::{Bucket, Depth, Moved, Range};
use crate::state::State;
use crate::time::Timestamp;

/// Minutes are kept for so long, or for the retention of statistics where that is shorter; hours for that retention.
pub const MINUTES_KEPT: Duration = Duration::from_hours(48);

/// What is added to one bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketEntry {
    pub tenant: TenantId,
    /// None: all queues together.
    pub queue: Option<QueueName>,
    pub slot: Slot,
    pub at: Timestamp,
    pub tally: Tally,
}

/// The numbers of one bucket. Kept as JSON; a field is added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub submitted: u64,
    /// Attempts begun.
    pub started: u64,
    pub completed: u64,
    pub failed: u64,
    pub dead: u64,
    pub cancelled: u64,
    /// Attempts after which the job was not final.
    pub retried: u64,
    /// From due to started.
    pub wait: Spread,
    /// How long attempts ran.
    pub run: Spread,
    /// The most that were seen waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// The highest number of running jobs seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// What was seen last. Queues are sampled once a minute, and a sample that equals the one before is not written:
    /// until the next one they are as deep as this says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Level>,
}

/// How deep a queue was, or all of a tenant's together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// When it was sampled, in microseconds since 1970.
    pub at_us: i64,
    pub waiting: u64,
    pub running: u64,
}

impl Level {
    pub fn is_empty(&self) -> bool {
        self.waiting == 0 && self.running == 0
    }
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.submitted += other.submitted;
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.dead += other.dead;
        self.cancelled += other.cancelled;
        self.retried += other.retried;
        self.wait.add(&other.wait);
        self.run.add(&other.run);
        self.waiting = self.waiting.max(other.waiting);
        self.running = self.running.max(other.running);
        self.last = self.last.into_iter().chain(other.last).max_by_key(|level| level.at_us);
    }

    /// How deep it was at the end, as far as that was sampled. A version that kept no `last` sampled every minute.
    pub fn level(&self, at: Timestamp) -> Option<Level> {
        let seen = || Some(Level { at_us: at.as_micros(), waiting: self.waiting?, running: self.running? });
        self.last.or_else(seen)
    }

    /// Of a time in which nothing happened and something waited or ran.
    pub fn idle(level: Level) -> Self {
        Self { waiting: Some(level.waiting), running: Some(level.running), ..Self::default() }
    }

    /// Jobs that reached a final state.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.dead + self.cancelled
    }

    pub fn count(&mut self, moved: &Moved) {
        let step = moved.step;
        match step.state {
            // The first move of all is the submission.
            State::Scheduled | State::Pending if step.sequence == 1 => self.submitted += 1,
            State::Scheduled | State::Pending | State::Retrying => self.retried += u64::from(step.took.is_some()),
            State::Running => {
                self.started += 1;
                self.wait.note(step.took);
            }
            State::Completed => self.completed += 1,
            State::Failed => self.failed += 1,
            State::Dead => self.dead += 1,
            State::Cancelled => self.cancelled += 1,
        }
        if step.state != State::Running {
            self.run.note(step.took);
        }
    }
}

/// Upper ends of the classes that durations are counted in, in milliseconds; one more is open to the end.
const CLASSES: [u64; 18] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000];

/// How durations were spread: enough to tell a mean, a maximum and about where half or most of them lay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    pub count: u64,
    pub sum_us: u64,
    pub max_us: u64,
    /// How many in each class; the empty ones at the end are left out.
    pub classes: Vec<u64>,
}

impl Spread {
    fn note(&mut self, took: Option<Duration>) {
        let Some(took) = took else { return };
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = CLASSES.partition_point(|end| end * 1_000 < micros);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(micros);
        self.max_us = self.max_us.max(micros);
    }

    fn add(&mut self, other: &Spread) {
        self.count += other.count;
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.max_us = self.max_us.max(other.max_us);
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            *mine += theirs;
        }
    }

    /// How many are in each class, with its upper end in seconds; the last is open to the end.
    pub fn by_class(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let ends = CLASSES.iter().map(|milliseconds| Duration::from_millis(*milliseconds).as_secs_f64());
        let counts = self.classes.iter().copied().chain(std::iter::repeat(0));
        ends.chain([f64::INFINITY]).zip(counts)
    }

    pub fn mean(&self) -> Option<Duration> {
        self.sum_us.checked_div(self.count).map(Duration::from_micros)
    }

    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_micros(self.max_us))
    }

    /// About the duration that so large a part of them did not exceed: exact to its class, even within it.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let wanted = (part.clamp(0.0, 1.0) * self.count as f64).max(1.0);
        let mut below = 0_u64;
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            if (below + count) as f64 >= wanted {
                let start = if class == 0 { 0 } else { CLASSES[class - 1] * 1_000 };
                let end = CLASSES.get(class).map_or(self.max_us, |end| end * 1_000).min(self.max_us).max(start);
                let within = (wanted - below as f64) / *count as f64;
                return Some(Duration::from_micros(start + ((end - start) as f64 * within) as u64));
            }
            below += count;
        }
        self.max()
    }
}

/// Gathers entries, one for each bucket that is touched.
#[derive(Debug, Default)]
pub struct Ledger {
    tallies: BTreeMap<(TenantId, Option<QueueName>, Slot, Timestamp), Tally>,
}

impl Ledger {
    /// Counts a move, for its queue and for all together, in its minute and in its hour. All together are the user's: a
    /// delivery of a webhook is counted for its queue alone.
    pub fn count(&mut self, moved: &Moved) {
        self.count_all(std::slice::from_ref(moved));
    }

    /// Counts each of them. Neighbours of one tenant, queue and moment are summed first: a row of the log has hundreds.
    pub fn count_all(&mut self, moved: &[Moved]) {
        for run in moved.chunk_by(|one, next| one.at == next.at && one.queue == next.queue && one.tenant == next.tenant)
        {
            let mut sum = Tally::default();
            for moved in run {
                sum.count(moved);
            }
            let [Moved { tenant, queue, at, .. }, ..] = run else { continue };
            let together = (!queue.is_internal()).then_some(None);
            for slot in Slot::ALL {
                for queue in [Some(queue.clone())].into_iter().chain(together.clone()) {
                    self.tallies.entry((tenant.clone(), queue, slot, slot.of(*at))).or_default().add(&sum);
                }
            }
        }
    }

    /// Notes how deep queues are at a moment; also how deep all of a tenant's are together.
    pub fn sample(&mut self, depths: &[Depth], now: Timestamp) {
        for change in Levels::default().changes(depths) {
            self.see(&change, now);
        }
    }

    /// Notes that a queue, or all of a tenant's together, is deeper or less deep than it was.
    pub fn see(&mut self, change: &DepthChange, now: Timestamp) {
        let DepthChange { tenant, queue, before, after } = change;
        for slot in Slot::ALL {
            let tally = self.tallies.entry((tenant.clone(), queue.clone(), slot, slot.of(now))).or_default();
            // What an hour began with was seen in it too.
            let seen = if slot == Slot::Hour { (before.0.max(after.0), before.1.max(after.1)) } else { *after };
            tally.waiting = tally.waiting.max(Some(seen.0));
            tally.running = tally.running.max(Some(seen.1));
            let level = Level { at_us: now.as_micros(), waiting: after.0, running: after.1 };
            tally.last = tally.last.into_iter().chain([level]).max_by_key(|level| level.at_us);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    pub fn len(&self) -> usize {
        self.tallies.len()
    }

    pub fn entries(self) -> Vec<BucketEntry> {
        let entries = self.tallies.into_iter();
        entries.map(|((tenant, queue, slot, at), tally)| BucketEntry { tenant, queue, slot, at, tally }).collect()
    }
}

/// How deep queues were when they were last sampled: those in which anything waited or ran.
#[derive(Clone, Debug, Default)]
pub struct Levels(HashMap<(TenantId, Option<QueueName>), (u64, u64)>);

/// A queue, or all of a tenant's together, is deeper or less deep than it was: so many wait, so many run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepthChange {
    pub tenant: TenantId,
    pub queue: Option<QueueName>,
    pub before: (u64, u64),
    pub after: (u64, u64),
}

/// How deep a queue, or all of a tenant's together, was when it was last sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledLevel {
    pub tenant: TenantId,
    pub queue: Option<QueueName>,
    pub level: Level,
}

impl Levels {
    pub fn of(known: impl IntoIterator<Item = SampledLevel>) -> Self {
        let level = |it: SampledLevel| ((it.tenant, it.queue), (it.level.waiting, it.level.running));
        Self(known.into_iter().map(level).collect())
    }

    /// What is not as it was. `depths` has every queue in which anything waits or runs.
    pub fn changes(&self, depths: &[Depth]) -> Vec<DepthChange> {
        let mut now: BTreeMap<(&TenantId, Option<&QueueName>), (u64, u64)> = BTreeMap::new();
        for depth in depths {
            // All together are the user's.
            let together = (!depth.queue.is_internal()).then_some(None);
            for queue in [Some(&depth.queue)].into_iter().chain(together) {
                let sum = now.entry((&depth.tenant, queue)).or_default();
                sum.0 += depth.waiting.total();
                sum.1 += depth.running;
            }
        }
        let emptied = self.0.keys().filter(|(tenant, queue)| !now.contains_key(&(tenant, queue.as_ref())));
        let mut emptied: Vec<_> = emptied.map(|(tenant, queue)| (tenant, queue.as_ref())).collect();
        emptied.sort_unstable();
        let places = now.into_iter().chain(emptied.into_iter().map(|place| (place, (0, 0))));
        let change = |((tenant, queue), after): ((&TenantId, Option<&QueueName>), (u64, u64))| {
            let (tenant, queue) = (tenant.clone(), queue.cloned());
            let before = self.0.get(&(tenant.clone(), queue.clone())).copied().unwrap_or_default();
            (before != after).then_some(DepthChange { tenant, queue, before, after })
        };
        places.filter_map(change).collect()
    }

    /// It was written down.
    pub fn note(&mut self, change: &DepthChange) {
        let place = (change.tenant.clone(), change.queue.clone());
        if change.after == (0, 0) {
            self.0.remove(&place);
        } else {
            self.0.insert(place, change.after);
        }
    }
}

/// Says how deep it was where no sample was written because nothing had changed: in buckets that have other numbers,
/// and in the first of the range. `before`: how deep it was when the range begins.
pub fn carry(buckets: &mut Vec<Bucket>, range: &Range, before: Option<Level>, now: Timestamp) {
    let mut level = before;
    for bucket in buckets.iter_mut() {
        let own = bucket.tally.level(bucket.at);
        bucket.tally.waiting = bucket.tally.waiting.or(level.map(|level| level.waiting));
        bucket.tally.running = bucket.tally.running.or(level.map(|level| level.running));
        level = own.or(level);
    }
    let Some(before) = before.filter(|level| !level.is_empty()) else { return };
    let start = range.slot.of(range.from);
    let first = if start < range.from { start.plus(range.slot.length()) } else { start };
    if first < range.to && first <= now && buckets.first().is_none_or(|bucket| bucket.at > first) {
        let (waiting, running) = (Some(before.waiting), Some(before.running));
        buckets.insert(0, Bucket { at: first, tally: Tally { waiting, running, ..Tally::default() } });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;
    use crate::ports::{Step, WaitingCounts};

    fn pending(pending: u64) -> WaitingCounts {
        WaitingCounts { pending, ..WaitingCounts::default() }
    }

    fn moved(state: State, sequence: u32, took_ms: Option<u64>, at: Timestamp) -> Moved {
        let step = Step { state, attempt: 1, sequence, took: took_ms.map(Duration::from_millis) };
        Moved { id: JobId::fresh(), tenant: TenantId::default(), queue: QueueName::default(), at, step }
    }

    #[test]
    fn a_jobs_life_is_counted_once_in_its_queue_and_once_in_all() {
        let at = Timestamp::from_micros(1_763_200_000_123_456);
        let mut ledger = Ledger::default();
        for (state, sequence, took) in [
            (State::Pending, 1, None),
            (State::Running, 2, Some(3)),
            (State::Retrying, 3, Some(40)),
            (State::Pending, 4, None),
            (State::Running, 5, Some(1)),
            (State::Completed, 6, Some(20)),
        ] {
            ledger.count(&moved(state, sequence, took, at));
        }
        let entries = ledger.entries();
        assert_eq!(entries.len(), 4);
        for entry in entries {
            let tally = entry.tally;
            assert_eq!((tally.submitted, tally.started, tally.retried, tally.completed), (1, 2, 1, 1));
            assert_eq!((tally.wait.count, tally.run.count, tally.run.max_us), (2, 2, 40_000));
            assert_eq!(tally.ended(), 1);
        }
    }

    #[test]
    fn moves_are_summed_together_as_they_are_one_by_one() {
        let at = Timestamp::from_micros(1_763_200_000_123_456);
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let mut row = Vec::new();
        for n in 0..60_u32 {
            let tenant = if n % 20 < 15 { &one } else { &other };
            let queue = QueueName::from_stored(if n < 30 { "a" } else { "b" });
            let state = if n % 7 == 0 { State::Running } else { State::Completed };
            let at = if n < 50 { at } else { at.plus(Duration::from_mins(1)) };
            row.push(Moved { tenant: tenant.clone(), queue, ..moved(state, n, Some(u64::from(n * n)), at) });
        }
        let (mut together, mut alone) = (Ledger::default(), Ledger::default());
        together.count_all(&row);
        for moved in &row {
            alone.count(moved);
        }
        assert_eq!(together.entries(), alone.entries());
    }

    #[test]
    fn deliveries_are_counted_for_their_queue_and_not_in_all_together() {
        let at = Timestamp::from_micros(1_763_200_000_123_456);
        let internal: QueueName = crate::webhook::QUEUE.parse().expect("a queue's name");
        let mut ledger = Ledger::default();
        ledger.count(&Moved { queue: internal.clone(), ..moved(State::Completed, 3, Some(5), at) });
        let depth = Depth {
            tenant: TenantId::default(),
            queue: internal.clone(),
            waiting: pending(3),
            running: 1,
            oldest_wait: None,
        };
        ledger.sample(&[depth], at);
        let entries = ledger.entries();
        assert_eq!(
            entries.iter().map(|entry| &entry.queue).collect::<Vec<_>>(),
            [&Some(internal.clone()), &Some(internal)]
        );
        assert!(entries.iter().all(|entry| (entry.tally.completed, entry.tally.waiting) == (1, Some(3))));
    }

    #[test]
    fn a_bucket_begins_at_its_full_minute_or_hour() {
        let at = Timestamp::from_micros(3_661_000_001);
        assert_eq!(Slot::Minute.of(at).as_micros(), 3_660_000_000);
        assert_eq!(Slot::Hour.of(at).as_micros(), 3_600_000_000);
        assert_eq!(Slot::Hour.of(Timestamp::from_micros(-1)).as_micros(), -3_600_000_000);
    }

    #[test]
    fn a_quantile_lies_in_its_class_and_never_beyond_the_longest() {
        let mut spread = Spread::default();
        assert_eq!(spread.quantile(0.5), None);
        for _ in 0..95 {
            spread.note(Some(Duration::from_millis(8)));
        }
        for _ in 0..5 {
            spread.note(Some(Duration::from_hours(2)));
        }
        let half = spread.quantile(0.5).expect("some");
        assert!(half > Duration::from_millis(5) && half <= Duration::from_millis(10), "{half:?}");
        let most = spread.quantile(0.99).expect("some");
        assert!(most > Duration::from_hours(1) && most <= Duration::from_hours(2), "{most:?}");
        assert_eq!(spread.max(), Some(Duration::from_hours(2)));
        let classes: Vec<(f64, u64)> = spread.by_class().collect();
        assert_eq!((classes[0], classes[3], classes[17]), ((0.001, 0), (0.01, 95), (3_600.0, 0)));
        assert_eq!(classes[18..], [(f64::INFINITY, 5)], "the last is open to the end");
        spread.note(None);
        assert_eq!(spread.count, 100);
    }

    #[test]
    fn sums_are_the_same_in_whatever_order_they_are_made() {
        let at = Timestamp::from_micros(0);
        let one = moved(State::Completed, 3, Some(5), at);
        let other = moved(State::Running, 2, Some(50_000), at);
        let tally = |moves: &[&Moved]| {
            let mut tally = Tally::default();
            for moved in moves {
                tally.count(moved);
            }
            tally
        };
        let (mut forth, mut back) = (tally(&[&one]), tally(&[&other]));
        forth.add(&tally(&[&other]));
        back.add(&tally(&[&one]));
        assert_eq!(forth, back);
        assert_eq!(forth, tally(&[&one, &other]));
    }

    fn depth_of(tenant: &str, queue: &str, waiting: u64) -> Depth {
        Depth {
            tenant: TenantId::new(tenant),
            queue: queue.parse().expect("a queue's name"),
            waiting: pending(waiting),
            running: 0,
            oldest_wait: None,
        }
    }

    #[test]
    fn only_what_changed_is_a_change() {
        let mut levels = Levels::default();
        let idle: Vec<Depth> = (0..10_000).map(|n| depth_of(&format!("t{n}"), "sleeping", 1)).collect();
        let first = levels.changes(&idle);
        assert_eq!(first.len(), 20_000, "each queue, and all of each tenant together");
        for change in &first {
            levels.note(change);
        }
        assert_eq!(levels.changes(&idle), []);
        let mut later = idle;
        later[7].waiting = pending(2);
        later.remove(8);
        let changes = levels.changes(&later);
        let seen: Vec<_> =
            changes.iter().map(|it| (it.tenant.as_str(), it.queue.is_some(), it.before.0, it.after.0)).collect();
        assert_eq!(seen, [("t7", false, 1, 2), ("t7", true, 1, 2), ("t8", false, 1, 0), ("t8", true, 1, 0)]);
    }

    #[test]
    fn a_bucket_without_a_sample_is_as_deep_as_the_one_before() {
        let at = |n: i64| Timestamp::from_micros(n * 60_000_000);
        let level = |n: i64, waiting| Level { at_us: at(n).as_micros(), waiting, running: 0 };
        let bucket = |n: i64, tally: Tally| Bucket { at: at(n), tally };
        let range = Range { slot: Slot::Minute, from: at(10), to: at(20), queue: None };
        let sampled = Tally { waiting: Some(9), running: Some(0), last: Some(level(14, 2)), ..Tally::default() };
        let mut buckets = vec![
            bucket(12, Tally { submitted: 1, ..Tally::default() }),
            bucket(14, sampled),
            bucket(16, Tally::default()),
        ];
        carry(&mut buckets, &range, Some(level(3, 5)), at(17));
        let seen: Vec<_> = buckets.iter().map(|bucket| (bucket.at, bucket.tally.waiting)).collect();
        assert_eq!(seen, [(at(10), Some(5)), (at(12), Some(5)), (at(14), Some(9)), (at(16), Some(2))]);
        for (before, now) in [(None, 17), (Some(level(3, 0)), 17), (Some(level(3, 5)), 9)] {
            let mut none = Vec::new();
            carry(&mut none, &range, before, at(now));
            assert_eq!(none, [], "nothing is known, or it was empty, or it has not begun");
        }
    }

    #[test]
    fn depth_is_the_deepest_seen_and_all_together_is_the_sum() {
        let depth = |queue: &str, waiting| Depth {
            tenant: TenantId::default(),
            queue: queue.parse().expect("a queue's name"),
            waiting: pending(waiting),
            running: 1,
            oldest_wait: None,
        };
        let now = Timestamp::from_micros(0);
        let mut ledger = Ledger::default();
        ledger.sample(&[depth("a", 5), depth("b", 7)], now);
        ledger.sample(&[depth("a", 3)], now);
        let entries = ledger.entries();
        let of = |queue: Option<&str>| {
            let is_it = |entry: &&BucketEntry| entry.queue.as_ref().map(QueueName::as_str) == queue;
            entries.iter().find(is_it).map(|entry| (entry.tally.waiting, entry.tally.running))
        };
        assert_eq!(of(Some("a")), Some((Some(5), Some(1))));
        assert_eq!(of(None), Some((Some(12), Some(2))));
    }
}
