//! Numbers over time: each move counted once, whoever dies or is overtaken on the way.

use std::time::Duration;

use super::Subject;
use super::given::{
    DAY, HOUR, MINUTE, PLENTY, SECOND, Scene, a_job, at_once, completed, dead, failed, jobs, queue, retry, tenant,
};
use super::prune::for_ever;
use foreman_core::id::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    Advance, Advanced, Begin, Bucket, Depth, Effect, FollowerName, Position, Pruned, Range, Retention, Store,
    WaitingCounts,
};
use foreman_core::statistics::{BucketEntry, Ledger, Levels, Slot, Spread, Tally};
use foreman_core::time::Timestamp;

const ANSWERS: &str = "the store answers";

/// What the bookkeeper made of a stretch of the change log.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub from: Position,
    pub to: Position,
    pub entries: Vec<BucketEntry>,
}

impl Stretch {
    pub fn advance(&self) -> Advance {
        let effect = Effect::Counts(self.entries.clone());
        Advance { follower: FollowerName::BOOKKEEPER, from: self.from, to: self.to, effect }
    }
}

async fn bookkeeper(scene: &Scene<'_>) -> Position {
    position(&*scene.store).await
}

/// The bookkeeper's.
pub async fn position(store: &dyn Store) -> Position {
    let position = store.follow(None, &FollowerName::BOOKKEEPER, Begin::Start).await.expect(ANSWERS);
    position.expect("nobody's term is over")
}

/// Books as whoever wants to and needs no election.
async fn book(store: &dyn Store, stretch: &Stretch) -> Advanced {
    store.advance(None, &stretch.advance()).await.expect(ANSWERS).expect("nobody's term is over")
}

/// Adds these without moving the bookkeeper.
async fn add(scene: &Scene<'_>, entries: Vec<BucketEntry>) {
    let place = bookkeeper(scene).await;
    assert_eq!(book(&*scene.store, &Stretch { from: place, to: place, entries }).await, Advanced::Done);
}

/// So many submitted to a queue of the default tenant in the minute of that moment; to all together without one.
fn submitted(queue: Option<&str>, at: Timestamp, count: u64) -> BucketEntry {
    BucketEntry {
        tenant: TenantId::default(),
        queue: queue.map(super::given::queue),
        slot: Slot::Minute,
        at: Slot::Minute.of(at),
        tally: Tally { submitted: count, ..Tally::default() },
    }
}

fn minutes(from: Timestamp, to: Timestamp, queue: Option<&str>) -> Range {
    Range { slot: Slot::Minute, from, to, queue: queue.map(super::given::queue) }
}

/// All there ever was of the default tenant.
fn ever(slot: Slot, queue: Option<&str>) -> Range {
    let (from, to) = (Timestamp::from_micros(i64::MIN / 4), Timestamp::from_micros(i64::MAX / 4));
    Range { slot, ..minutes(from, to, queue) }
}

async fn read(scene: &Scene<'_>, range: &Range) -> Vec<Bucket> {
    scene.store.statistics(&TenantId::default(), range, PLENTY).await.expect(ANSWERS)
}

async fn by_queue(scene: &Scene<'_>, range: &Range, limit: usize) -> Vec<(QueueName, Tally)> {
    scene.store.statistics_by_queue(&TenantId::default(), range, limit).await.expect(ANSWERS)
}

fn counts(buckets: &[Bucket]) -> Vec<(Timestamp, u64)> {
    buckets.iter().map(|bucket| (bucket.at, bucket.tally.submitted)).collect()
}

fn summed(buckets: &[Bucket]) -> Tally {
    buckets.iter().fold(Tally::default(), |mut sum, bucket| {
        sum.add(&bucket.tally);
        sum
    })
}

/// What the bookkeeper does: reads on, counts, and books what it made of it.
async fn keep_books(store: &dyn Store, rows: usize) -> Option<Advanced> {
    let from = position(store).await;
    let changes = store.changes(from, rows).await.expect(ANSWERS);
    if changes.rows.is_empty() {
        return None;
    }
    let mut ledger = Ledger::default();
    for moved in changes.moved() {
        ledger.count(moved);
    }
    Some(book(store, &Stretch { from, to: changes.position, entries: ledger.entries() }).await)
}

pub async fn the_bookkeeper_begins_at_the_start_of_the_log(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert!(bookkeeper(&scene).await <= scene.start().await);
    let id = scene.submit(a_job()).await;
    let place = bookkeeper(&scene).await;
    let moved = scene.moved_since(place).await;
    assert_eq!(moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), [id], "it has everything before it");
    assert_eq!(read(&scene, &ever(Slot::Minute, None)).await, []);
}

pub async fn a_life_is_counted_from_the_log(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().queued("mail")).await;
    scene.advance(SECOND * 4).await;
    let proof = scene.claim_job(session, id).await;
    scene.advance(SECOND * 2).await;
    scene.end_attempt(proof, retry(Duration::ZERO)).await;
    scene.run(session, id, completed()).await;
    for verdict in [failed("no"), dead("never")] {
        let id = scene.submit(a_job().queued("mail")).await;
        scene.run(session, id, verdict).await;
    }
    let waiting = scene.submit(a_job().queued("other")).await;
    scene.cancel(waiting).await;
    while keep_books(&*scene.store, 2).await.is_some() {}
    assert_eq!(bookkeeper(&scene).await, scene.head().await);
    for slot in Slot::ALL {
        let mail: Vec<Bucket> = read(&scene, &ever(slot, Some("mail"))).await;
        let sum = summed(&mail);
        assert_eq!((sum.submitted, sum.started, sum.retried, sum.completed), (3, 4, 1, 1), "{slot:?}");
        assert_eq!((sum.failed, sum.dead, sum.cancelled, sum.ended()), (1, 1, 0, 3));
        assert_eq!((sum.wait.count, sum.wait.max(), sum.run.count), (4, Some(SECOND * 4), 4));
        assert_eq!(sum.run.max(), Some(SECOND * 2));
        let all = summed(&read(&scene, &ever(slot, None)).await);
        assert_eq!((all.submitted, all.started, all.cancelled, all.ended()), (4, 4, 1, 4), "all together");
        assert!(mail.iter().all(|bucket| bucket.at == slot.of(bucket.at)));
    }
}

pub async fn what_is_booked_is_added_to_what_is_there(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    let spread = |took: u64| Spread { count: 2, sum_us: took, max_us: took, classes: vec![0, 1, 0, 1] };
    let tally = |n: u64| Tally {
        submitted: n,
        started: n + 1,
        completed: n + 2,
        failed: n + 3,
        dead: n + 4,
        cancelled: n + 5,
        retried: n + 6,
        wait: spread(n * 10),
        run: spread(n * 100),
        waiting: Some(n),
        running: None,
        last: None,
    };
    let mut expected = Tally::default();
    for n in [7, 3, u64::from(u32::MAX) * 1_000] {
        add(&scene, vec![BucketEntry { tally: tally(n), ..submitted(Some("mail"), now, 0) }]).await;
        expected.add(&tally(n));
    }
    let found = read(&scene, &ever(Slot::Minute, Some("mail"))).await;
    assert_eq!(found, [Bucket { at: Slot::Minute.of(now), tally: expected }]);
    assert_eq!(read(&scene, &ever(Slot::Hour, Some("mail"))).await, []);
    assert_eq!(read(&scene, &ever(Slot::Minute, None)).await, [], "all together are booked for themselves");
}

pub async fn a_bucket_named_twice_in_one_stretch_gets_both(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    add(&scene, vec![submitted(None, now, 2), submitted(Some("mail"), now, 1), submitted(None, now, 5)]).await;
    assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(Slot::Minute.of(now), 7)]);
}

pub async fn a_stretch_moves_the_bookkeeper(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let from = bookkeeper(&scene).await;
    scene.submit(a_job()).await;
    let to = scene.head().await;
    assert_eq!(book(&*scene.store, &Stretch { from, to, entries: Vec::new() }).await, Advanced::Done);
    assert_eq!(bookkeeper(&scene).await, to, "with nothing to add too");
    assert_eq!(scene.head().await, to, "and the log does not grow by it");
}

pub async fn a_stretch_from_elsewhere_adds_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (from, now) = (bookkeeper(&scene).await, scene.now().await);
    scene.submit(a_job()).await;
    let first = scene.head().await;
    scene.submit(a_job()).await;
    let to = scene.head().await;
    let entries = vec![submitted(None, now, 1)];
    let ahead = Stretch { from: first, to, entries: entries.clone() };
    assert_eq!(book(&*scene.store, &ahead).await, Advanced::Overtaken, "it has not been there yet");
    assert_eq!(bookkeeper(&scene).await, from);
    let stretch = Stretch { from, to: first, entries: entries.clone() };
    assert_eq!(book(&*scene.store, &stretch).await, Advanced::Done);
    let late = Stretch { from, to, entries };
    assert_eq!(book(&*scene.store, &late).await, Advanced::Overtaken, "another was faster");
    assert_eq!(bookkeeper(&scene).await, first);
    assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(Slot::Minute.of(now), 1)]);
}

/// The answer was lost: the same stretch is sent again.
pub async fn a_stretch_sent_again_is_counted_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (from, now) = (bookkeeper(&scene).await, scene.now().await);
    scene.submit(a_job()).await;
    let stretch = Stretch { from, to: scene.head().await, entries: vec![submitted(None, now, 1)] };
    assert_eq!(book(&*scene.store, &stretch).await, Advanced::Done);
    assert_eq!(book(&*scene.store, &stretch).await, Advanced::Overtaken, "by itself");
    assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(Slot::Minute.of(now), 1)]);
}

pub async fn of_bookkeepers_at_once_one_counts(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    for round in 1..=8 {
        let from = bookkeeper(&scene).await;
        scene.submit(a_job()).await;
        let to = scene.head().await;
        let answers = at_once((0..4).map(|_| {
            let (store, entries) = (subject.store(), vec![submitted(None, now, 1), submitted(Some("mail"), now, 1)]);
            async move { book(&*store, &Stretch { from, to, entries }).await }
        }))
        .await;
        assert_eq!(answers.iter().filter(|answer| **answer == Advanced::Done).count(), 1, "{answers:?}");
        assert_eq!(bookkeeper(&scene).await, to);
        assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(Slot::Minute.of(now), round)]);
    }
}

/// Bookkeepers follow the log while others write to it: every job is counted once.
pub async fn bookkeepers_that_follow_count_every_move_once(subject: &dyn Subject) {
    const JOBS: u64 = 40;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let writer = async {
        for _ in 0..JOBS / 4 {
            scene.submit_all(&jobs(4, &a_job())).await;
            for held in scene.claim(session, 4).await {
                scene.complete(session, held).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let bookkeepers = at_once((0..3).map(|_| {
        let store = subject.store();
        async move {
            for _ in 0..60 {
                keep_books(&*store, 3).await;
                tokio::task::yield_now().await;
            }
        }
    }));
    tokio::join!(writer, bookkeepers);
    while keep_books(&*scene.store, 10).await.is_some() {}
    let sum = summed(&read(&scene, &ever(Slot::Hour, None)).await);
    assert_eq!((sum.submitted, sum.started, sum.completed), (JOBS, JOBS, JOBS));
    assert_eq!((sum.wait.count, sum.run.count), (JOBS, JOBS));
}

pub async fn a_time_is_read_from_its_beginning_to_before_its_end(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = Slot::Minute.of(scene.now().await);
    let at = |n: u32| first.plus(MINUTE * n);
    // Out of order, and one is missing.
    for (n, count) in [(4, 5), (0, 1), (1, 2), (3, 4)] {
        add(&scene, vec![submitted(None, at(n), count)]).await;
    }
    let between = async |from, to| counts(&read(&scene, &minutes(from, to, None)).await);
    assert_eq!(between(at(0), at(5)).await, [(at(0), 1), (at(1), 2), (at(3), 4), (at(4), 5)], "the oldest first");
    assert_eq!(between(at(1), at(4)).await, [(at(1), 2), (at(3), 4)]);
    assert_eq!(between(at(0).plus(SECOND), at(1).plus(SECOND)).await, [(at(1), 2)]);
    assert_eq!(between(at(2), at(3)).await, []);
    assert_eq!(between(at(3), at(3)).await, []);
    let some = scene.store.statistics(&TenantId::default(), &minutes(at(0), at(9), None), 2).await.expect(ANSWERS);
    assert_eq!(counts(&some), [(at(0), 1), (at(1), 2)], "no more than asked for");
}

pub async fn minutes_and_hours_queues_and_tenants_are_kept_apart(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    // One moment that begins a minute and an hour.
    let at = Slot::Hour.of(scene.now().await);
    let of = |slot, tenant: &str, queue: Option<&str>, count| BucketEntry {
        slot,
        tenant: super::given::tenant(tenant),
        ..submitted(queue, at, count)
    };
    let entries = vec![
        of(Slot::Minute, "default", None, 1),
        of(Slot::Minute, "default", Some("mail"), 2),
        of(Slot::Minute, "default", Some("video"), 3),
        of(Slot::Hour, "default", None, 4),
        of(Slot::Hour, "default", Some("mail"), 5),
        of(Slot::Minute, "acme", None, 6),
        of(Slot::Minute, "acme", Some("mail"), 7),
    ];
    add(&scene, entries).await;
    for (slot, name, queue, count) in [
        (Slot::Minute, "default", None, 1),
        (Slot::Minute, "default", Some("mail"), 2),
        (Slot::Minute, "default", Some("video"), 3),
        (Slot::Hour, "default", None, 4),
        (Slot::Hour, "default", Some("mail"), 5),
        (Slot::Minute, "acme", None, 6),
        (Slot::Minute, "acme", Some("mail"), 7),
    ] {
        let found = scene.store.statistics(&tenant(name), &ever(slot, queue), PLENTY).await.expect(ANSWERS);
        assert_eq!(counts(&found), [(at, count)], "{slot:?} {name} {queue:?}");
    }
    assert_eq!(read(&scene, &ever(Slot::Hour, Some("video"))).await, []);
}

pub async fn queues_are_summed_apart_the_busiest_first(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = Slot::Minute.of(scene.now().await);
    let at = |n: u32| first.plus(MINUTE * n);
    let ended = |queue: &str, n, count| BucketEntry {
        tally: Tally { completed: count, dead: 1, ..Tally::default() },
        ..submitted(Some(queue), at(n), 0)
    };
    let theirs = BucketEntry { tenant: tenant("acme"), ..submitted(Some("theirs"), at(1), 99) };
    let hours = BucketEntry { slot: Slot::Hour, ..submitted(Some("hours"), at(1), 99) };
    let entries = vec![
        submitted(None, at(0), 100),
        submitted(Some("a"), at(0), 2),
        submitted(Some("a"), at(1), 3),
        submitted(Some("b"), at(1), 1),
        ended("b", 2, 6),
        submitted(Some("d"), at(1), 5),
        submitted(Some("c"), at(1), 5),
        submitted(Some("late"), at(3), 50),
        theirs,
        hours,
    ];
    add(&scene, entries).await;
    let found = by_queue(&scene, &minutes(at(0), at(3), None), PLENTY).await;
    let seen: Vec<_> = found.iter().map(|(queue, sum)| (queue.as_str(), sum.submitted, sum.ended())).collect();
    assert_eq!(seen, [("b", 1, 7), ("a", 5, 0), ("c", 5, 0), ("d", 5, 0)], "by what came or ended, then by name");
    let found = by_queue(&scene, &minutes(at(1), at(2), Some("b")), 2).await;
    let seen: Vec<_> = found.iter().map(|(queue, sum)| (queue.as_str(), sum.submitted)).collect();
    assert_eq!(seen, [("c", 5), ("d", 5)], "no more than asked for, and the queue of the range means nothing");
    assert_eq!(by_queue(&scene, &minutes(at(7), at(9), None), PLENTY).await, []);
}

pub async fn the_deepest_that_was_seen_is_kept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    let depth = |pending, running| Depth {
        tenant: TenantId::default(),
        queue: queue("mail"),
        waiting: WaitingCounts { pending, ..WaitingCounts::default() },
        running,
        oldest_wait: None,
    };
    for (waiting, running) in [(5, 1), (9, 0), (2, 3)] {
        let mut ledger = Ledger::default();
        ledger.sample(&[depth(waiting, running)], now);
        add(&scene, ledger.entries()).await;
    }
    for queue in [Some("mail"), None] {
        let found = read(&scene, &ever(Slot::Minute, queue)).await;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].tally.waiting, found[0].tally.running), (Some(9), Some(3)));
    }
}

/// A sample of one queue, at a moment.
async fn sample(scene: &Scene<'_>, waiting: u64, running: u64, at: Timestamp) {
    let depth = Depth {
        tenant: TenantId::default(),
        queue: queue("mail"),
        waiting: WaitingCounts { pending: waiting, ..WaitingCounts::default() },
        running,
        oldest_wait: None,
    };
    let known = Levels::of(scene.store.known_depths().await.expect(ANSWERS));
    let depths = if (waiting, running) == (0, 0) { Vec::new() } else { vec![depth] };
    let mut ledger = Ledger::default();
    known.changes(&depths).iter().for_each(|change| ledger.see(change, at));
    add(scene, ledger.entries()).await;
}

fn waiting(buckets: &[Bucket]) -> Vec<(Timestamp, Option<u64>)> {
    buckets.iter().map(|bucket| (bucket.at, bucket.tally.waiting)).collect()
}

pub async fn an_idle_queue_is_as_deep_as_it_was_when_last_sampled(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = Slot::Hour.of(scene.now().await);
    sample(&scene, 5, 0, first).await;
    scene.advance(HOUR * 2).await;
    sample(&scene, 5, 0, first.plus(HOUR)).await;
    let known = scene.store.known_depths().await.expect(ANSWERS);
    assert_eq!(known.len(), 2, "the queue, and all together: {known:?}");
    assert!(known.iter().all(|it| (it.level.waiting, it.level.at_us) == (5, first.as_micros())), "{known:?}");
    let at = |n: u32| first.plus(MINUTE * n);
    for name in [Some("mail"), None] {
        let range = minutes(at(60), at(90), name);
        assert_eq!(
            waiting(&read(&scene, &range).await),
            [(at(60), Some(5))],
            "since before the time that is asked for"
        );
        // Something happens that does not change how deep it is.
        add(&scene, vec![submitted(name, at(70), 1)]).await;
        assert_eq!(waiting(&read(&scene, &range).await), [(at(60), Some(5)), (at(70), Some(5))]);
        assert_eq!(waiting(&read(&scene, &minutes(at(0), at(1), name)).await), [(at(0), Some(5))], "the sample itself");
        assert_eq!(read(&scene, &minutes(first.minus(HOUR), at(0), name)).await, [], "nothing is known of before");
        assert_eq!(read(&scene, &minutes(at(600), at(660), name)).await, [], "nor of what is to come");
    }
    let found = by_queue(&scene, &minutes(at(80), at(90), None), PLENTY).await;
    let seen: Vec<_> = found.iter().map(|(queue, sum)| (queue.as_str(), sum.submitted, sum.waiting)).collect();
    assert_eq!(seen, [("mail", 0, Some(5))]);
    sample(&scene, 2, 1, at(95)).await;
    let seen = waiting(&read(&scene, &minutes(at(90), at(100), Some("mail"))).await);
    assert_eq!(seen, [(at(90), Some(5)), (at(95), Some(2))], "from the sample before the time to the one in it");
    let hours = Range { slot: Slot::Hour, ..minutes(at(60), at(120), Some("mail")) };
    assert_eq!(waiting(&read(&scene, &hours).await), [(at(60), Some(5))], "the most of the hour");
}

pub async fn a_queue_that_was_emptied_is_not_deep_any_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = Slot::Minute.of(scene.now().await);
    let at = |n: u32| first.plus(MINUTE * n);
    sample(&scene, 5, 1, first).await;
    sample(&scene, 0, 0, at(3)).await;
    scene.advance(HOUR).await;
    assert_eq!(scene.store.known_depths().await.expect(ANSWERS), []);
    let seen = waiting(&read(&scene, &minutes(at(0), at(30), Some("mail"))).await);
    assert_eq!(seen, [(at(0), Some(5)), (at(3), Some(0))]);
    assert_eq!(read(&scene, &minutes(at(10), at(30), Some("mail"))).await, []);
    assert_eq!(by_queue(&scene, &minutes(at(10), at(30), None), PLENTY).await, []);
}

pub async fn minutes_are_kept_for_two_days_and_hours_for_their_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = Slot::Hour.of(scene.now().await);
    let hour = |entry: BucketEntry| BucketEntry { slot: Slot::Hour, at: Slot::Hour.of(entry.at), ..entry };
    for n in [0, 30, 60, 90] {
        let entry = submitted(None, first.plus(MINUTE * n), 1);
        add(&scene, vec![entry.clone(), hour(entry)]).await;
    }
    sample(&scene, 5, 0, first).await;
    let retention = Retention { statistics: DAY * 30, ..for_ever() };
    let pruned = async || {
        let mut removed = 0;
        loop {
            let step = scene.prune(&retention, 2).await;
            assert!(step.statistics <= 2, "at most so many in one step");
            removed += step.statistics;
            if step.statistics == 0 {
                return removed;
            }
        }
    };
    scene.advance(HOUR * 47).await;
    assert_eq!(pruned().await, 0, "not before two days are over");
    scene.advance(HOUR * 2 + MINUTE * 5).await;
    assert_eq!(pruned().await, 4, "three minutes of all together, and one of the queue");
    assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(first.plus(MINUTE * 90), 1)]);
    scene.advance(DAY).await;
    assert_eq!(pruned().await, 1);
    assert_eq!(read(&scene, &ever(Slot::Minute, None)).await, []);
    let hours = read(&scene, &ever(Slot::Hour, None)).await;
    assert_eq!(counts(&hours), [(first, 2), (first.plus(HOUR), 2)], "hours are all there");
    // Nothing has changed since, so this is how deep it is.
    let now = Slot::Minute.of(scene.now().await);
    let seen = waiting(&read(&scene, &minutes(now.minus(MINUTE * 9), now, Some("mail"))).await);
    assert_eq!(seen, [(now.minus(MINUTE * 9), Some(5))]);
    scene.advance(DAY * 30).await;
    assert_eq!(pruned().await, 3, "two hours of all together, one of the queue");
    let now = Slot::Minute.of(scene.now().await);
    let seen = waiting(&read(&scene, &minutes(now.minus(MINUTE * 9), now, None)).await);
    assert_eq!(seen, [(now.minus(MINUTE * 9), Some(5))], "and still it is");
}

pub async fn depths_count_what_waits_and_what_runs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(scene.store.depths().await.expect(ANSWERS), []);
    let session = scene.session().await;
    let held = scene.submit(a_job().queued("mail")).await;
    scene.claim_job(session, held).await;
    let only_held = scene.submit(a_job().of("acme").queued("video")).await;
    scene.claim_job(session, only_held).await;
    scene.submit_all(&jobs(2, &a_job().queued("mail"))).await;
    scene.advance(MINUTE).await;
    scene.submit(a_job().queued("mail")).await;
    scene.submit(a_job().queued("mail").after(HOUR)).await;
    let retried = scene.submit(a_job().queued("mail").of("acme")).await;
    scene.run(session, retried, retry(HOUR)).await;
    let over = scene.submit(a_job().queued("over")).await;
    scene.run(session, over, completed()).await;
    let mut depths = scene.store.depths().await.expect(ANSWERS);
    depths.sort_by_key(|depth| (depth.tenant.clone(), depth.queue.clone()));
    let depth = |of: &str, name: &str, waiting, running, oldest_wait| Depth {
        tenant: tenant(of),
        queue: queue(name),
        waiting,
        running,
        oldest_wait,
    };
    let none = WaitingCounts::default();
    let expected = [
        depth("acme", "mail", WaitingCounts { retrying: 1, ..none }, 0, None),
        depth("acme", "video", none, 1, None),
        depth("default", "mail", WaitingCounts { scheduled: 1, pending: 3, retrying: 0 }, 1, Some(MINUTE)),
    ];
    assert_eq!(depths, expected, "empty ones are left out");
}

pub async fn numbers_are_kept_for_their_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let old = Slot::Minute.of(scene.now().await);
    add(&scene, vec![submitted(None, old, 1), submitted(Some("mail"), old, 1)]).await;
    let place = bookkeeper(&scene).await;
    let retention = Retention { statistics: DAY, ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.statistics, 0);
    scene.advance(HOUR * 23).await;
    let young = Slot::Minute.of(scene.now().await);
    add(&scene, vec![submitted(None, young, 2)]).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.statistics, 0, "not before its day is over");
    scene.advance(HOUR + MINUTE).await;
    let pruned = scene.prune(&retention, PLENTY).await;
    assert_eq!(pruned, Pruned { statistics: 2, ..Pruned::default() });
    assert_eq!(counts(&read(&scene, &ever(Slot::Minute, None)).await), [(young, 2)]);
    assert_eq!(read(&scene, &ever(Slot::Minute, Some("mail"))).await, []);
    assert_eq!(bookkeeper(&scene).await, place, "whoever counts stays where it is");
}

pub async fn at_most_so_many_numbers_are_pruned_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    add(&scene, (0..5).map(|n| submitted(None, now.plus(MINUTE * n), 1)).collect()).await;
    scene.advance(DAY * 2).await;
    let retention = Retention { statistics: DAY, ..for_ever() };
    let mut pruned = Vec::new();
    for _ in 0..4 {
        let step = scene.prune(&retention, 2).await;
        assert_eq!(step.was_busy(2), step.statistics == 2);
        pruned.push(step.statistics);
    }
    assert_eq!(pruned, [2, 2, 1, 0]);
}

pub async fn internal_queues_are_not_among_the_busiest(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let at = scene.now().await;
    add(&scene, vec![submitted(Some("mail"), at, 1), submitted(Some(foreman_core::webhook::QUEUE), at, 5)]).await;
    let told = by_queue(&scene, &ever(Slot::Minute, None), 1).await;
    assert_eq!(told.iter().map(|(queue, _)| queue.as_str()).collect::<Vec<_>>(), ["mail"]);
    let named = read(&scene, &ever(Slot::Minute, Some(foreman_core::webhook::QUEUE))).await;
    assert_eq!(counts(&named), [(Slot::Minute.of(at), 5)], "the numbers are there for whoever names it");
}
