//! Workers come, go, freeze and are taken for dead; consumers move and nothing is done twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use foreman_eventlog::observer::{BatchReport, Observer, Standstill};
use foreman_eventlog::postgres::{
    Consumer, ConsumerOptions, DetachedConsumer, EventLog, Notifier, RoundRobin, WorkerBuilder,
};
use foreman_eventlog::{Event, Expected, Failure, NewEvent, Scope, Stream};
use foreman_runtime::{Stop, Tasks};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Transaction;
use uuid::Uuid;

use crate::given::{Given, Recorder, Running, is_torture, pool, quick, record};

fn many(builder: WorkerBuilder, count: usize) -> WorkerBuilder {
    (0..count).fold(builder, |builder, nth| builder.consumer(Recorder::new(&format!("consumer{nth:02}"))))
}

const OWNED: &str = "SELECT count(*) FROM consumer_assignments AS a JOIN worker_nodes AS w USING (worker_id)";
const UNEVEN: &str = "SELECT max(n) - min(n) FROM (SELECT count(a.worker_id) AS n FROM worker_nodes AS w
    LEFT JOIN consumer_assignments AS a USING (worker_id) GROUP BY w.worker_id) AS loads";

/// One to seven workers and back to one, while events come.
async fn scales(consumers: usize, most: usize) {
    let given = Given::new().await;
    let mut workers = Vec::new();
    let mut appended = 0;
    let mut burst = async |given: &Given| {
        for nth in 0..10 {
            given.append(&Stream::new("order", nth.to_string()), 2).await;
        }
        appended += 20;
        appended
    };
    for count in 1..=most {
        workers.push(Running::start(many(given.worker(), consumers)));
        burst(&given).await;
        given.until("SELECT count(*) FROM worker_nodes", count as i64).await;
    }
    given.until(OWNED, consumers as i64).await;
    let even = format!("SELECT CASE WHEN ({UNEVEN}) <= 1 THEN 1::bigint ELSE 0::bigint END");
    given.until(&even, 1).await;
    let total = burst(&given).await;
    given
        .until(
            &format!("SELECT count(*) FROM (SELECT 1 FROM seen GROUP BY consumer HAVING count(*) >= {total}) AS done"),
            consumers as i64,
        )
        .await;
    while workers.len() > 1 {
        workers.remove(0).stop().await;
        burst(&given).await;
    }
    let total = burst(&given).await;
    for nth in 0..consumers {
        let consumer = format!("consumer{nth:02}");
        given.seen_by(&consumer, total).await;
        given.assert_seen_exactly_once(&consumer).await;
    }
    assert_eq!(given.number(OWNED).await, consumers as i64, "the last worker has all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_consumers_on_one_to_three_workers_and_back_miss_and_repeat_nothing() {
    scales(6, if is_torture() { 7 } else { 3 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_five_consumers_on_one_to_seven_workers_and_back_miss_and_repeat_nothing() {
    scales(if is_torture() { 25 } else { 9 }, if is_torture() { 7 } else { 4 }).await;
}

#[tokio::test]
async fn a_worker_that_stops_is_replaced_at_once_and_its_batch_is_finished() {
    let given = Given::new().await;
    // Long enough that only a worker that has left in good order is replaced before the end of the test.
    let long = |builder: WorkerBuilder| {
        builder.heartbeat_interval(Duration::from_secs(20)).heartbeat_timeout(Duration::from_mins(5))
    };
    let first =
        Running::start(long(given.worker().consumer(Recorder::new("orders").taking(Duration::from_millis(300)))));
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO seen%' AND state LIKE 'idle in%'", 1).await;
    let second = Running::start(long(given.worker().consumer(Recorder::new("orders"))));
    given.until("SELECT count(*) FROM worker_nodes", 2).await;
    assert!(first.worker.is_leader() && first.worker.is_running() && !second.worker.is_leader());
    first.stop().await;
    assert_eq!(given.number("SELECT count(*) FROM seen").await, 1, "the batch in flight was finished");
    given.append(&Stream::new("order", "1"), 3).await;
    given.seen_by("orders", 4).await;
    given.assert_seen_exactly_once("orders").await;
    assert!(second.worker.is_leader());
}

#[tokio::test]
async fn a_batch_that_ignores_the_stop_is_rolled_back_at_the_deadline() {
    let given = Given::new().await;
    let builder = given.worker().shutdown_timeout(Duration::from_millis(200));
    let worker = Running::start(builder.consumer(Recorder::new("orders").taking(Duration::from_mins(1))));
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO seen%'", 1).await;
    timeout(Duration::from_secs(20), worker.stop()).await.expect("it does not wait for the handler");
    given
        .until(
            "SELECT 1 - count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
            1,
        )
        .await;
    assert_eq!(given.number("SELECT count(*) FROM seen").await, 0);
    assert_eq!(given.checkpoint("orders").await.position, 0);
}

#[tokio::test]
async fn a_worker_without_its_row_drops_its_work_and_joins_again() {
    let given = Given::new().await;
    let worker = Running::start(given.worker().consumer(Recorder::new("orders")));
    given.append(&Stream::new("order", "1"), 1).await;
    given.seen_by("orders", 1).await;
    given.client().await.batch_execute("DELETE FROM worker_nodes").await.unwrap();
    given.until("SELECT count(*) FROM worker_nodes", 1).await;
    given.append(&Stream::new("order", "1"), 1).await;
    given.seen_by("orders", 2).await;
    given.assert_seen_exactly_once("orders").await;
    worker.stop().await;
}

/// A worker that froze in the middle of a batch, and thinks when it wakes that the consumer is still its own.
#[tokio::test]
async fn a_batch_begun_under_an_older_epoch_cannot_commit() {
    let given = Given::new().await;
    let worker = Running::start(given.worker().consumer(Recorder::new("orders").taking(Duration::from_millis(500))));
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO seen%' AND state LIKE 'idle in%'", 1).await;
    // Someone puts the checkpoint elsewhere meanwhile, as the new owner would.
    given.client().await.batch_execute("UPDATE consumer_checkpoints SET last_position = 1").await.unwrap();
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT last_position FROM consumer_checkpoints", 2).await;
    let seen = given.number("SELECT min(version) FROM seen").await;
    assert_eq!((seen, given.number("SELECT count(*) FROM seen").await), (2, 1), "what the first batch wrote is gone");

    let assigned = given.number("SELECT epoch FROM consumer_assignments").await;
    given.client().await.batch_execute("UPDATE consumer_assignments SET epoch = epoch + 1").await.unwrap();
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM seen", 2).await;
    assert!(given.number("SELECT epoch FROM consumer_assignments").await > assigned);
    worker.stop().await;
}

#[tokio::test]
async fn a_handler_that_holds_its_transaction_delays_no_other_consumer() {
    let secs = if is_torture() { 20 } else { 3 };
    let given = Given::new().await;
    let slow = Recorder::new("slow").taking(Duration::from_secs(secs));
    let worker = Running::start(given.worker().consumer(slow).consumer(Recorder::new("quick")));
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO seen%' AND state LIKE 'idle in%'", 1).await;
    given.append(&Stream::new("order", "1"), 10).await;
    given.seen_by("quick", 11).await;
    assert_eq!(
        given.number("SELECT count(*) FROM seen WHERE consumer = 'slow'").await,
        0,
        "it still holds its transaction"
    );
    // A rebalance is not held up either: another consumer moves to a worker that joins.
    let second = Running::start(given.worker().consumer(Recorder::new("quick")).consumer(Recorder::new("slow")));
    given
        .until(&format!("SELECT count(*) FROM consumer_assignments WHERE worker_id = '{}'", second.worker.id()), 1)
        .await;
    drop(worker);
}

/// Every row is held by a batch nearly all the time, so a leader that only takes what is free would never move one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_that_are_catching_up_move_to_a_worker_that_joins() {
    let given = Given::new().await;
    for _ in 0..10 {
        given.append(&Stream::new("order", "1"), 1_000).await;
    }
    let busy = |builder: WorkerBuilder| {
        (0..4).fold(builder.batch_size(5), |builder, nth| {
            builder.consumer(Recorder::new(&format!("consumer{nth}")).taking(Duration::from_millis(10)))
        })
    };
    let first = Running::start(busy(given.worker()));
    given.until("SELECT min(last_position) FROM consumer_checkpoints", 1).await;
    let second = Running::start(busy(given.worker()));
    given
        .until(&format!("SELECT count(*) FROM consumer_assignments WHERE worker_id = '{}'", second.worker.id()), 2)
        .await;
    assert!(given.number("SELECT max(last_position) FROM consumer_checkpoints").await < 10_000, "they were still busy");
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn one_connection_is_enough_for_all_handlers_and_silences_nobody() {
    let given = Given::new().await;
    let worker = quick(foreman_eventlog::postgres::Worker::builder(pool(&given.url, 1))).log(given.log.clone());
    let slow = Recorder::new("slow").taking(Duration::from_secs(3));
    let worker = Running::start(worker.consumer(slow).consumer(Recorder::new("quick")));
    given.append(&Stream::new("order", "1"), 1).await;
    given.until("SELECT count(*) FROM seen", 1).await;
    assert_eq!(given.number("SELECT count(*) FROM worker_nodes WHERE heartbeat_at > now() - interval '2 s'").await, 1);
    given.seen_by("slow", 1).await;
    given.seen_by("quick", 1).await;
    let changes = given.number("SELECT max(epoch) FROM consumer_assignments").await;
    assert_eq!(changes, 1, "it was never taken for dead");
    worker.stop().await;
}

struct Outside {
    calls: Arc<Mutex<Vec<(i64, Duration)>>>,
    started: Instant,
    fails_at: Option<i64>,
    failures: AtomicUsize,
}

#[async_trait]
impl DetachedConsumer for Outside {
    fn name(&self) -> &'static str {
        "outside"
    }

    async fn handle(&self, event: &Event) -> Result<(), Failure> {
        sleep(Duration::from_millis(30)).await;
        if self.fails_at == Some(event.version) && self.failures.fetch_add(1, Ordering::AcqRel) < 2 {
            return Err(Failure::retryable("the other side is away"));
        }
        self.calls.lock().unwrap().push((event.version, self.started.elapsed()));
        Ok(())
    }
}

#[tokio::test]
async fn a_detached_handler_holds_no_connection_and_what_it_did_before_a_failure_stays_done() {
    let given = Given::new().await;
    let calls = Arc::new(Mutex::new(Vec::new()));
    let outside = Outside {
        calls: Arc::clone(&calls),
        started: Instant::now(),
        fails_at: Some(4),
        failures: AtomicUsize::new(0),
    };
    let pool = pool(&given.url, 1);
    let builder = quick(foreman_eventlog::postgres::Worker::builder(pool.clone())).log(given.log.clone());
    let worker = Running::start(builder.detached(outside, ConsumerOptions::new()));
    given.append(&Stream::new("order", "1"), 6).await;
    given.until("SELECT failures::bigint FROM consumer_checkpoints", 1).await;
    drop(pool.get().await.unwrap());
    given.until("SELECT last_position FROM consumer_checkpoints", 6).await;
    let seen: Vec<i64> = calls.lock().unwrap().iter().map(|(version, _)| *version).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5, 6], "nothing before the failure came again");
    worker.stop().await;
}

struct Transfers;

/// A consumer that appends to the log it reads.
#[async_trait]
impl Consumer for Transfers {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn scope(&self) -> Scope {
        Scope::all().event_types(["asked"])
    }

    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        let log = EventLog::new(&foreman_eventlog::postgres::TableNames::default())?;
        let answer = NewEvent::new("answered", "{}").causation_id(event.id.to_string());
        log.append(tx, &Stream::new("answer", event.id.to_string()), Expected::NoStream, &[answer]).await?;
        record(tx, "transfers", event).await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_consumer_may_append_and_a_consumer_without_matches_moves_on() {
    let given = Given::new().await;
    let none = Recorder::new("none").scope(Scope::all().stream_types(["nothing"]));
    let worker = Running::start(given.worker().consumer(Transfers).consumer(none));
    let client = given.client().await;
    for nth in 0..30 {
        let stream = Stream::new("question", nth.to_string());
        given.log.append(&client, &stream, Expected::Any, &[NewEvent::new("asked", "{}")]).await.unwrap();
    }
    given.until("SELECT count(*) FROM events WHERE event_type = 'answered'", 30).await;
    given.until("SELECT last_position FROM consumer_checkpoints WHERE consumer_name = 'none'", 60).await;
    assert_eq!(given.number("SELECT count(*) FROM seen").await, 30);
    let reversed = "SELECT count(*) FROM events AS a JOIN events AS q ON a.causation_id = q.event_id::text WHERE a.global_position < q.global_position";
    assert_eq!(given.number(reversed).await, 0, "an answer is never before its question");
    worker.stop().await;
}

#[derive(Default)]
struct Watch {
    standstills: Mutex<Vec<Standstill>>,
    owners: Mutex<BTreeMap<(String, i32), Uuid>>,
    batches: AtomicUsize,
    heartbeats: AtomicUsize,
}

impl Observer for Watch {
    fn batch(&self, _batch: &BatchReport<'_>) {
        self.batches.fetch_add(1, Ordering::AcqRel);
    }

    fn heartbeat(&self, _worker: Uuid, _is_leader: bool) {
        self.heartbeats.fetch_add(1, Ordering::AcqRel);
    }

    fn standstill(&self, standstill: &Standstill) {
        self.standstills.lock().unwrap().push(standstill.clone());
    }

    fn rebalanced(&self, owners: &BTreeMap<(String, i32), Uuid>) {
        self.owners.lock().unwrap().clone_from(owners);
    }
}

#[tokio::test]
async fn the_observer_hears_of_batches_owners_and_who_holds_readers_up() {
    let given = Given::new().await;
    let watch = Arc::new(Watch::default());
    let builder = given.worker().observer(watch.clone()).standstill_threshold(Duration::from_millis(200));
    let worker = Running::start(builder.assign(RoundRobin).consumer(Recorder::new("orders")));
    given.append(&Stream::new("order", "1"), 1).await;
    given.seen_by("orders", 1).await;
    let mut holds = given.client().await;
    holds.batch_execute("SET application_name = 'forgotten shell'").await.unwrap();
    let tx = holds.transaction().await.unwrap();
    given.log.append(&tx, &Stream::new("order", "2"), Expected::Any, &[NewEvent::new("x", "")]).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while watch.standstills.lock().unwrap().is_empty() || watch.heartbeats.load(Ordering::Acquire) == 0 {
        assert!(Instant::now() < deadline, "nobody said who holds readers up");
        sleep(Duration::from_millis(20)).await;
    }
    let told = watch.standstills.lock().unwrap()[0].clone();
    assert_eq!((told.frontier, told.head, told.holders.len()), (1, 2, 1));
    assert_eq!(told.holders[0].application_name.as_deref(), Some("forgotten shell"));
    assert_eq!(watch.owners.lock().unwrap()[&("orders".to_owned(), 0)], worker.worker.id());
    assert!(watch.batches.load(Ordering::Acquire) >= 1);
    tx.rollback().await.unwrap();
    worker.stop().await;
}

#[tokio::test]
async fn a_notified_worker_looks_at_once_and_one_that_cannot_listen_looks_every_second() {
    let given = Given::new().await;
    let log = given.log.clone().notifying("orders_log");
    let slow = |builder: WorkerBuilder| {
        builder.poll_interval(Duration::from_secs(20)).max_poll_interval(Duration::from_secs(20))
    };
    let builder = slow(given.worker().log(log.clone())).notify_connection_string(&given.url);
    let worker = Running::start(builder.consumer(Recorder::new("orders")));
    given
        .until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'", 1)
        .await;
    let client = given.client().await;
    log.append(&client, &Stream::new("order", "1"), Expected::Any, &[NewEvent::new("x", "")]).await.unwrap();
    given.seen_by("orders", 1).await;
    // After the commit, by the helper.
    let stop = Stop::new();
    let notifier = Notifier::new(given.pool.clone(), "orders_log");
    drop(Tasks::new().spawn("notifier", notifier.clone().run(stop.shutdown())));
    given.append(&Stream::new("order", "1"), 1).await;
    (0..100).for_each(|_| notifier.appended());
    given.seen_by("orders", 2).await;
    // The listener's connection is cut, and events come all the same; then it listens again.
    given.client().await.batch_execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'").await.unwrap();
    given.append(&Stream::new("order", "1"), 1).await;
    given.seen_by("orders", 3).await;
    given
        .until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'", 1)
        .await;
    given.assert_seen_exactly_once("orders").await;
    stop.drain();
    worker.stop().await;
}

#[tokio::test]
async fn connections_cut_at_random_cost_nothing_but_time() {
    let given = Given::new().await;
    let worker = Running::start(given.worker().batch_size(3).consumer(Recorder::new("orders")));
    let client = given.client().await;
    for nth in 0..40 {
        given.append(&Stream::new("order", (nth % 4).to_string()), 3).await;
        if nth % 5 == 0 {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
            client.batch_execute(cut).await.unwrap();
        }
    }
    given.seen_by("orders", 120).await;
    given.assert_seen_exactly_once("orders").await;
    worker.stop().await;
}

#[tokio::test]
async fn the_shards_of_a_consumer_run_on_several_workers() {
    let given = Given::new().await;
    let split = || ConsumerOptions::new().shards(4);
    let first = Running::start(given.worker().consumer_with(Recorder::new("orders"), split()));
    let second = Running::start(given.worker().consumer_with(Recorder::new("orders"), split()));
    given.until("SELECT count(DISTINCT worker_id) FROM consumer_assignments", 2).await;
    for nth in 0..40 {
        given.append(&Stream::new("order", nth.to_string()), 3).await;
    }
    given.seen_by("orders", 120).await;
    given.assert_seen_exactly_once("orders").await;
    let used = "SELECT count(*) FROM consumer_checkpoints WHERE last_position > 0";
    assert_eq!(given.number(used).await, 4, "every shard had streams");
    first.stop().await;
    second.stop().await;
}
