//! The bookkeeper on the reference store: every move is counted once.

use std::cell::RefCell;
use std::io::Write;
use std::sync::{Arc, Once};
use std::time::Duration;

use foreman_core::job::{QueueName, Start};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    Begin, ChangeLog, FollowerName, Followers, JobStore, Range, Retention, StatisticsStore, StoreError, Upkeep,
};
use foreman_core::statistics::{Slot, Tally};
use foreman_core::{NewJob, Report, TenantId, Timestamp, Verdict};
use foreman_engine::bookkeeper::{Config, ReadingsSnapshot};
use foreman_engine::{Bookkeeper, Follower, LoopError};
use foreman_runtime::leadership::{self, AlwaysLeader};
use foreman_runtime::{Leadership, Stop, Task};
use tokio::time::{Instant, sleep};
use tracing::Level;

use crate::post::{completed, end_all, ended, us};
use crate::scene::{Scene, job, job_with, until, until_async};
use crate::script::{Act, Verb, away};

const MOMENT: Duration = Duration::from_secs(3);

/// So long that whatever happens before it, a wake-up caused.
fn patient() -> Config {
    Config { poll: Duration::from_hours(1), ..Config::default() }
}

/// Everything as small as can be, so that every seam is crossed.
fn narrow() -> Config {
    Config { step: 3, most_buckets: 5, ..Config::default() }
}

fn bookkeeper(scene: &Scene, config: Config) -> Follower<Bookkeeper> {
    Follower::new(Bookkeeper::new(scene.store(), config), scene.store(), scene.wakeups())
}

fn start(scene: &Scene, config: Config) -> Task<Result<(), LoopError>> {
    scene.tasks.spawn("bookkeeper", bookkeeper(scene, config).run(scene.stop.shutdown()))
}

fn ever(slot: Slot, queue: Option<&str>) -> Range {
    let (from, to) = (Timestamp::from_micros(0), Timestamp::from_micros(i64::MAX));
    Range { slot, from, to, queue: queue.map(QueueName::from_stored) }
}

async fn total(scene: &Scene, tenant: &TenantId, slot: Slot, queue: Option<&str>) -> Tally {
    let mut total = Tally::default();
    for bucket in scene.store.inner.statistics(tenant, &ever(slot, queue), 100_000).await.unwrap() {
        total.add(&bucket.tally);
    }
    total
}

/// All of ours, the same in minutes and in hours.
async fn all(scene: &Scene) -> Tally {
    let (minutes, hours) = (total(scene, &us(), Slot::Minute, None).await, total(scene, &us(), Slot::Hour, None).await);
    assert_eq!(minutes, hours);
    minutes
}

async fn is_at_the_end(scene: &Scene) -> bool {
    let position = scene.store.inner.follow(None, &FollowerName::BOOKKEEPER, Begin::Start).await.unwrap();
    position == Some(scene.store.inner.head().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_move_is_counted_in_its_queue_in_its_tenant_and_in_its_time() {
    let scene = Scene::new();
    let bookkeeper = start(&scene, patient());
    for verdict in [completed(), Verdict::Failed(Report::error("no")), Verdict::Dead(Report::error("spent"))] {
        ended(&scene, verdict).await;
    }
    let cancelled = scene.submitted("").await;
    scene.store.inner.cancel(&us(), &[cancelled]).await.unwrap();
    ended(&scene, Verdict::Retry { delay: Duration::from_hours(9), report: Report::default() }).await;
    let theirs = foreman_core::NewJob {
        tenant: TenantId::new("other"),
        ..job_with("", |work| {
            work.queue = QueueName::from_stored("mail");
        })
    };
    scene.submit(&[theirs]).await;
    sleep(MOMENT).await;
    let ours = all(&scene).await;
    assert_eq!((ours.submitted, ours.started), (5, 4));
    assert_eq!((ours.completed, ours.failed, ours.dead, ours.cancelled, ours.retried), (1, 1, 1, 1, 1));
    assert_eq!((ours.wait.count, ours.run.count), (4, 4));
    assert_eq!(total(&scene, &us(), Slot::Minute, Some("default")).await, ours);
    let other = TenantId::new("other");
    assert_eq!(total(&scene, &other, Slot::Minute, None).await.submitted, 1);
    assert_eq!(total(&scene, &other, Slot::Hour, Some("mail")).await.submitted, 1);
    scene.stop.drain();
    bookkeeper.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_begins_with_what_happened_before_it() {
    let scene = Scene::new();
    ended(&scene, completed()).await;
    let _bookkeeper = start(&scene, patient());
    sleep(MOMENT).await;
    assert_eq!(all(&scene).await.completed, 1);
}

#[tokio::test(start_paused = true)]
async fn however_often_it_dies_and_is_not_answered_each_move_is_counted_once() {
    let scene = Scene::new();
    let jobs: Vec<_> = (0..300).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    assert_eq!(end_all(&scene, &completed()).await, 300);
    // Some writes are done and not answered, some not done, some late; and now and then it dies where it stands.
    for n in 0..200 {
        match n % 5 {
            0 => scene.store.next(Verb::Advance, Act::LoseAnswer),
            2 => scene.store.next(Verb::Advance, away()),
            _ => scene.store.next(Verb::Advance, Act::Delay(Duration::from_millis(3))),
        }
    }
    let busy = Config { every: Duration::from_millis(1), ..narrow() };
    for life in 0..40 {
        let task = start(&scene, busy.clone());
        sleep(Duration::from_millis(50 + 7 * life)).await;
        task.abort();
        let _ = task.await;
    }
    scene.store.heal();
    let _bookkeeper = start(&scene, busy);
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    let counted = all(&scene).await;
    assert_eq!((counted.submitted, counted.started, counted.completed), (300, 300, 300));
}

#[tokio::test(start_paused = true)]
async fn two_at_once_count_everything_once() {
    let scene = Scene::new();
    let _one = start(&scene, narrow());
    let _other = start(&scene, narrow());
    scene.store.always(Verb::Advance, Act::Delay(Duration::from_millis(11)));
    for _ in 0..20 {
        let jobs: Vec<_> = (0..20).map(|_| job("")).collect();
        scene.submit(&jobs).await;
        end_all(&scene, &completed()).await;
        sleep(Duration::from_millis(300)).await;
    }
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    sleep(Duration::from_mins(1)).await;
    let counted = all(&scene).await;
    assert_eq!((counted.submitted, counted.completed), (400, 400));
}

#[tokio::test(start_paused = true)]
async fn a_busy_log_costs_a_write_a_second() {
    let scene = Scene::new();
    let _bookkeeper = start(&scene, patient());
    for _ in 0..200 {
        ended(&scene, completed()).await;
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(5)).await;
    let books = scene.store.calls(Verb::Advance);
    assert!((5..=15).contains(&books), "{books} writes in ten seconds");
    assert_eq!(all(&scene).await.completed, 200);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_log_costs_no_write_at_all() {
    let scene = Scene::new();
    let _bookkeeper = start(&scene, Config::default());
    sleep(Duration::from_mins(10)).await;
    assert_eq!(scene.store.calls(Verb::Advance), 0);
}

#[tokio::test(start_paused = true)]
async fn much_of_many_queues_is_written_in_parts() {
    let scene = Scene::new();
    let many: Vec<_> =
        (0..200).map(|n| job_with("", |work| work.queue = QueueName::from_stored(&format!("queue-{n}")))).collect();
    for jobs in many.chunks(2) {
        scene.submit(jobs).await;
    }
    let _bookkeeper = start(&scene, Config { most_buckets: 50, ..patient() });
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    // Two queues of a row are four buckets; together with all queues in one there are never more than 54 in a write.
    let books = scene.store.calls(Verb::Advance);
    assert!(books >= 8, "{books} writes");
    assert_eq!(all(&scene).await.submitted, 200);
    let by_queue = scene.store.inner.statistics_by_queue(&us(), &ever(Slot::Minute, None), 1_000).await.unwrap();
    assert_eq!(by_queue.len(), 200);
    assert!(by_queue.iter().all(|(_, tally)| tally.submitted == 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_takes_long_is_followed_by_a_pause_and_nothing_is_lost_in_it() {
    let scene = Scene::new();
    scene.store.always(Verb::Advance, Act::Delay(Duration::from_secs(1)));
    let bookkeeper = start(&scene, patient());
    for _ in 0..600 {
        ended(&scene, completed()).await;
        sleep(Duration::from_millis(50)).await;
    }
    let books = scene.store.calls(Verb::Advance);
    assert!((2..=4).contains(&books), "{books} writes of a second each in half a minute");
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    assert_eq!(all(&scene).await.completed, 600);
    scene.stop.drain();
    bookkeeper.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_holds_more_while_writes_are_quick_and_little_after_one_that_failed() {
    let scene = Scene::new();
    let submit = async |from: u32| {
        let of = |n: u32| NewJob { tenant: TenantId::new(format!("tenant-{n}")), ..job("") };
        let jobs: Vec<NewJob> = (from..from + 2_000).map(of).collect();
        for some in jobs.chunks(10) {
            scene.submit(some).await;
        }
    };
    submit(0).await;
    let bookkeeper = start(&scene, patient());
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    // Of each tenant four buckets, by a few rows of the log more than there is room for; how deep they are comes after it.
    let booked = scene.store.booked();
    assert!(booked[0] <= 540 && booked[1] > 1_900 && booked[1] <= 2_040 && booked[2] > 2_040, "{booked:?}");
    sleep(Duration::from_mins(2)).await;
    let _ = scene.store.booked();
    scene.store.next(Verb::Advance, away());
    submit(2_000).await;
    until_async("all is counted", async || is_at_the_end(&scene).await).await;
    let booked = scene.store.booked();
    assert!(booked[0] <= 540, "it begins small again: {booked:?}");
    scene.stop.drain();
    bookkeeper.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn how_deep_queues_are_is_looked_at_once_a_minute_and_noted_when_it_changed() {
    let scene = Scene::new();
    scene.submit(&[job(""), job("")]).await;
    let _bookkeeper = start(&scene, Config::default());
    sleep(MOMENT).await;
    assert_eq!(all(&scene).await.waiting, Some(2));
    scene.submit(&[job("")]).await;
    sleep(MOMENT).await;
    assert_eq!((all(&scene).await.waiting, scene.store.calls(Verb::Depths)), (Some(2), 1));
    sleep(Duration::from_mins(10)).await;
    let buckets = scene.store.inner.statistics(&us(), &ever(Slot::Minute, None), 100).await.unwrap();
    let depths: Vec<_> = buckets.iter().map(|bucket| bucket.tally.waiting).collect();
    assert_eq!(depths, [Some(2), Some(3)]);
    let looks = scene.store.calls(Verb::Depths);
    assert!((10..=12).contains(&looks), "one in each minute: {looks}");
}

#[tokio::test(start_paused = true)]
async fn queues_in_which_nothing_happens_cost_nothing() {
    const TENANTS: u32 = 500;
    let scene = Scene::new();
    let sleeping = |n: u32| NewJob {
        tenant: TenantId::new(format!("tenant-{n}")),
        start: Start::After(Duration::from_hours(24 * 90)),
        ..job("")
    };
    let jobs: Vec<NewJob> = (0..TENANTS).map(sleeping).collect();
    for some in jobs.chunks(10) {
        scene.submit(some).await;
    }
    let first = start(&scene, Config { most_buckets: 100, ..Config::default() });
    sleep(Duration::from_secs(30)).await;
    let booked = scene.store.booked();
    // What was submitted, and how deep that made queues: of each tenant one queue and all together, by minute and by hour.
    assert_eq!(booked.iter().sum::<usize>(), 2 * 4 * TENANTS as usize, "{booked:?}");
    assert!(booked.iter().all(|count| *count <= 140), "a few in each write: {booked:?}");
    sleep(Duration::from_hours(3)).await;
    assert_eq!(scene.store.booked().iter().sum::<usize>(), 0, "nothing has changed");
    scene.stop.drain();
    first.await.unwrap().unwrap();

    // Nobody counts, and one is cancelled.
    let cancelled = &jobs[7];
    scene.store.inner.cancel(&cancelled.tenant, &[cancelled.id]).await.unwrap();
    let stop = Stop::new();
    let second = scene.tasks.spawn("bookkeeper", bookkeeper(&scene, Config::default()).run(stop.shutdown()));
    sleep(Duration::from_mins(3)).await;
    // The cancellation itself and how deep that left the queue share their buckets, unless a minute ended in between.
    let booked: usize = scene.store.booked().iter().sum();
    assert!((8..=10).contains(&booked), "{booked}");
    let depth = async |tenant: &TenantId| {
        let buckets = scene.store.inner.statistics(tenant, &ever(Slot::Minute, None), 100).await.unwrap();
        buckets.last().and_then(|bucket| bucket.tally.waiting)
    };
    assert_eq!((depth(&cancelled.tenant).await, depth(&jobs[8].tenant).await), (Some(0), Some(1)));
    stop.drain();
    second.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_it_counts_and_sees_is_there_for_metrics() {
    let scene = Scene::new();
    scene.submit(&[job(""), job("")]).await;
    let bookkeeper = bookkeeper(&scene, Config::default());
    let readings = bookkeeper.follow().readings();
    assert_eq!(readings.get(), ReadingsSnapshot::default());
    let _running = scene.tasks.spawn("bookkeeper", bookkeeper.run(scene.stop.shutdown()));
    sleep(MOMENT).await;
    let seen = readings.get();
    assert_eq!((seen.tally.submitted, seen.queues.len(), seen.others), (2, 1, None));
    assert_eq!((seen.queues[0].queue.as_str(), seen.queues[0].waiting.pending), ("default", 2));
    end_all(&scene, &Verdict::Dead(Report::error("spent"))).await;
    sleep(Duration::from_mins(2)).await;
    let seen = readings.get();
    assert_eq!((seen.tally.dead, seen.tally.started, seen.tally.run.count), (2, 2, 2));
    assert_eq!(seen.queues, [], "nothing waits any more");
    scene.submit(&[job("")]).await;
    scene.store.always(Verb::Depths, away());
    sleep(Duration::from_mins(2)).await;
    assert_eq!((readings.get().tally.submitted, readings.get().queues), (3, Vec::new()), "not known, so not shown");
}

#[tokio::test(start_paused = true)]
async fn that_nobody_can_tell_how_deep_queues_are_stops_no_counting() {
    let scene = Scene::new();
    scene.store.always(Verb::Depths, away());
    let _bookkeeper = start(&scene, patient());
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    let counted = all(&scene).await;
    assert_eq!((counted.completed, counted.waiting), (1, None));
    // A store that hangs there is asked once a minute, and counted on meanwhile.
    scene.store.heal();
    scene.store.always(Verb::Depths, Act::Hang);
    let before = scene.store.calls(Verb::Depths);
    for _ in 0..5 {
        ended(&scene, completed()).await;
        sleep(Duration::from_mins(1)).await;
    }
    assert_eq!(all(&scene).await.completed, 6);
    assert!(scene.store.calls(Verb::Depths) <= before + 6, "{}", scene.store.calls(Verb::Depths));
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_was_lost_costs_one_period() {
    let scene = Scene::new();
    let deaf = Arc::new(LocalWakeups::new());
    let bookkeeper = Follower::new(Bookkeeper::new(scene.store(), Config::default()), scene.store(), deaf);
    let _bookkeeper = scene.tasks.spawn("bookkeeper", bookkeeper.run(scene.stop.shutdown()));
    sleep(Duration::from_secs(1)).await;
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(7)).await;
    assert_eq!(all(&scene).await.completed, 1);
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let bookkeeper = start(&scene, Config::default());
    until("it has looked", || scene.store.calls(Verb::Changes) > 0).await;
    sleep(MOMENT).await;
    let begun = Instant::now();
    scene.stop.drain();
    bookkeeper.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_what_it_holds() {
    let scene = Scene::new();
    scene.store.always(Verb::Changes, Act::Delay(Duration::from_secs(3)));
    ended(&scene, completed()).await;
    let bookkeeper = start(&scene, patient());
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    bookkeeper.await.unwrap().unwrap();
    assert_eq!(all(&scene).await.completed, 1);
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Verb::Advance, Act::Hang);
    ended(&scene, completed()).await;
    let bookkeeper = start(&scene, patient());
    sleep(MOMENT).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!bookkeeper.is_finished());
    scene.stop.abort();
    bookkeeper.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_survives_an_outage() {
    let scene = Scene::new();
    for verb in [Verb::Changes, Verb::Follow, Verb::Advance, Verb::Depths, Verb::Time] {
        scene.store.always(verb, away());
    }
    let _bookkeeper = start(&scene, patient());
    ended(&scene, completed()).await;
    sleep(Duration::from_hours(1)).await;
    scene.store.heal();
    sleep(Duration::from_secs(8)).await;
    assert_eq!(all(&scene).await.completed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_in_which_nothing_can_be_read_ends_it() {
    let scene = Scene::new();
    ended(&scene, completed()).await;
    scene.store.always(Verb::Changes, Act::Fail(StoreError::Damaged("page 7".into())));
    let error = start(&scene, patient()).await.unwrap().unwrap_err();
    assert!(matches!(error.source, StoreError::Damaged(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_row_that_cannot_be_read_is_passed_by() {
    let scene = Scene::new();
    ended(&scene, completed()).await;
    scene.submitted("").await;
    scene.store.spoil_row(scene.store.inner.head().await.unwrap());
    assert_eq!(end_all(&scene, &completed()).await, 1);
    let _bookkeeper = start(&scene, patient());
    sleep(MOMENT).await;
    let counted = all(&scene).await;
    assert_eq!((counted.submitted, counted.completed), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_counts() {
    let scene = Scene::new();
    let office = Leadership::new(Arc::new(AlwaysLeader::default()), "books", leadership::Config::default());
    let (lead, elections) = (office.lead(), Stop::new());
    let led = bookkeeper(&scene, patient()).led_by("books", lead);
    let task = scene.tasks.spawn("bookkeeper", led.run(scene.stop.shutdown()));
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    assert_eq!(scene.store.calls(Verb::Changes), 0, "nobody was elected");
    let elected = scene.tasks.spawn("leadership", office.run(elections.shutdown()));
    until_async("it is counted", async || all(&scene).await.completed == 1).await;
    // The store has heard of a later term.
    scene.store.depose_before(u64::MAX);
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(all(&scene).await.completed, 1, "a deposed leader writes nothing");
    assert!(scene.store.calls(Verb::Advance) < 60, "nor does it hammer: {}", scene.store.calls(Verb::Advance));
    scene.stop.drain();
    task.await.unwrap().unwrap();
    elections.drain();
    let _ = elected.await;
}

#[tokio::test(start_paused = true)]
async fn its_lag_is_the_age_of_what_is_uncounted() {
    let scene = Scene::new();
    let bookkeeper = bookkeeper(&scene, patient()).timed_by(scene.clock());
    let lag = bookkeeper.lag();
    ended(&scene, completed()).await;
    sleep(Duration::from_mins(20)).await;
    scene.store.always(Verb::Changes, Act::Delay(Duration::from_secs(5)));
    let _task = scene.tasks.spawn("bookkeeper", bookkeeper.run(scene.stop.shutdown()));
    sleep(Duration::from_secs(7)).await;
    assert!(lag.get() >= Duration::from_mins(20), "{:?}", lag.get());
    sleep(Duration::from_secs(20)).await;
    assert!(lag.get().is_zero(), "{:?}", lag.get());
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_cut_off_before_it_was_counted_is_told_of_once() {
    Log::start();
    let scene = Scene::new();
    ended(&scene, completed()).await;
    sleep(Duration::from_hours(48)).await;
    let retention = Retention { changes: Duration::from_hours(1), ..Retention::default() };
    assert!(scene.store.inner.prune(&retention, 1_000).await.unwrap().changes > 0);
    ended(&scene, completed()).await;
    // Nothing it writes arrives at first, so that it looks for its place again and again.
    scene.store.always(Verb::Advance, away());
    let _bookkeeper = start(&scene, patient());
    sleep(Duration::from_mins(5)).await;
    assert!(scene.store.calls(Verb::Follow) > 3);
    scene.store.heal();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(all(&scene).await.completed, 1);
    assert_eq!(Log::text().matches("was deleted before the bookkeeper read it").count(), 1, "{}", Log::text());
}

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What this thread warns of.
///
/// One subscriber for the whole process: with one per thread, whether a line is wanted at all is decided by whoever comes
/// by it first, and that may be a test that listens to nothing.
struct Log;

impl Log {
    fn start() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing_subscriber::fmt().with_max_level(Level::WARN).with_ansi(false).with_writer(|| Log).init();
        });
        LOG.take();
    }

    fn text() -> String {
        String::from_utf8(LOG.with_borrow(Clone::clone)).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
