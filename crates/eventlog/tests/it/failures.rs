//! What happens when a handler fails: to the event, to its consumer, to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use foreman_eventlog::postgres::{BatchConsumer, Consumer, ConsumerOptions, PoisonHandler};
use foreman_eventlog::{Event, Expected, Failure, NewEvent, Stream};
use tokio_postgres::Transaction;

use crate::given::{Given, Recorder, Running, record};

/// Two events, a bad one, two more.
async fn with_a_bad_event(given: &Given) {
    let client = given.client().await;
    for kind in ["good", "good", "bad", "good", "good"] {
        given
            .log
            .append(&client, &Stream::new("order", "1"), Expected::Any, &[NewEvent::new(kind, "{}")])
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn after_five_failures_a_consumer_pauses_alone_and_shows_where_and_why() {
    let given = Given::new().await;
    with_a_bad_event(&given).await;
    let bad = Recorder::new("bad").failing("bad", |_| Failure::from("no such product"));
    let is_failing = Arc::clone(&bad.is_failing);
    let worker = Running::start(given.worker().consumer(bad).consumer(Recorder::new("sibling")));
    let paused = given.until_checkpoint("bad", |shard| shard.is_paused).await;
    let stuck = paused.stuck_at.expect("it says at which event");
    assert_eq!((paused.position, stuck.position, stuck.failures), (2, 3, 5), "those before it are done");
    assert_eq!((stuck.event_type.as_deref(), stuck.error.as_deref()), (Some("bad"), Some("no such product")));
    assert!(paused.paused_reason.unwrap().contains("5 failures in a row"));
    given.seen_by("sibling", 5).await;
    assert_eq!(given.number("SELECT count(*) FROM seen WHERE consumer = 'bad'").await, 2, "what failed left no trace");
    assert!(worker.worker.is_running());

    is_failing.store(false, Ordering::Release);
    given.admin().resume(&mut given.client().await, "bad", None, "the product is there now").await.unwrap();
    given.seen_by("bad", 5).await;
    given.assert_seen_exactly_once("bad").await;
    let after = given.until_checkpoint("bad", |shard| shard.position == 5).await;
    assert_eq!((after.stuck_at, after.is_paused), (None, false));
    worker.stop().await;
}

#[tokio::test]
async fn a_permanent_failure_pauses_at_once_and_a_retryable_one_never() {
    let given = Given::new().await;
    with_a_bad_event(&given).await;
    let permanent = Recorder::new("permanent").failing("bad", |_| Failure::permanent("unreadable"));
    let retryable = Recorder::new("retryable").failing("bad", |_| Failure::retryable("away"));
    let is_failing = Arc::clone(&retryable.is_failing);
    let worker = Running::start(given.worker().max_consecutive_failures(2).consumer(permanent).consumer(retryable));
    let paused = given.until_checkpoint("permanent", |shard| shard.is_paused).await;
    assert_eq!(paused.stuck_at.unwrap().failures, 1);
    let waiting =
        given.until_checkpoint("retryable", |shard| shard.stuck_at.as_ref().is_some_and(|at| at.failures > 3)).await;
    assert!(!waiting.is_paused);
    is_failing.store(false, Ordering::Release);
    given.seen_by("retryable", 5).await;
    given.assert_seen_exactly_once("retryable").await;
    worker.stop().await;
}

#[tokio::test]
async fn a_count_of_failures_goes_with_the_consumer_to_its_next_worker() {
    let given = Given::new().await;
    with_a_bad_event(&given).await;
    let build = || {
        let slow =
            given.worker().poll_interval(Duration::from_millis(300)).max_poll_interval(Duration::from_millis(300));
        Running::start(slow.consumer(Recorder::new("bad").failing("bad", |_| Failure::from("no"))))
    };
    let first = build();
    given.until_checkpoint("bad", |shard| shard.stuck_at.as_ref().is_some_and(|at| at.failures >= 2)).await;
    first.stop().await;
    let before = given.checkpoint("bad").await.stuck_at.unwrap().failures;
    assert!(before < 5);
    let second = build();
    let paused = given.until_checkpoint("bad", |shard| shard.is_paused).await;
    assert_eq!(paused.stuck_at.unwrap().failures, 5, "the second worker did not begin at one");
    assert!(second.worker.is_running());
    second.stop().await;
}

struct Panics;

#[async_trait]
impl Consumer for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    async fn handle(&self, _tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        assert_ne!(event.event_type, "bad", "a bug of the handler");
        Ok(())
    }
}

/// Ends the transaction behind the worker's back.
struct Commits;

#[async_trait]
impl Consumer for Commits {
    fn name(&self) -> &'static str {
        "commits"
    }

    async fn handle(&self, tx: &mut Transaction<'_>, _event: &Event) -> Result<(), Failure> {
        Ok(tx.batch_execute("COMMIT").await?)
    }
}

/// A statement fails, and the handler does not say so.
struct Swallows;

#[async_trait]
impl Consumer for Swallows {
    fn name(&self) -> &'static str {
        "swallows"
    }

    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        record(tx, "swallows", event).await?;
        drop(tx.batch_execute("SELECT 1 / 0").await);
        Ok(())
    }
}

#[tokio::test]
async fn no_handler_stops_the_process_whatever_it_does() {
    let given = Given::new().await;
    with_a_bad_event(&given).await;
    let builder = given.worker().max_consecutive_failures(2).consumer(Panics).consumer(Commits).consumer(Swallows);
    let worker = Running::start(builder.consumer(Recorder::new("sibling")));
    let paused = given.until_checkpoint("panics", |shard| shard.is_paused).await;
    assert_eq!(paused.position, 2);
    assert!(paused.stuck_at.unwrap().error.unwrap().contains("panicked"));
    let paused = given.until_checkpoint("commits", |shard| shard.is_paused).await;
    assert!(paused.stuck_at.unwrap().error.unwrap().contains("ended the transaction"));
    let paused = given.until_checkpoint("swallows", |shard| shard.is_paused).await;
    assert_eq!(paused.position, 0);
    assert_eq!(given.number("SELECT count(*) FROM seen WHERE consumer = 'swallows'").await, 0);
    given.seen_by("sibling", 5).await;
    assert!(worker.worker.is_running());
    worker.stop().await;
}

struct Whole(&'static str);

#[async_trait]
impl BatchConsumer for Whole {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn handle(&self, tx: &mut Transaction<'_>, events: &[Event]) -> Result<(), Failure> {
        for event in events {
            record(tx, self.0, event).await?;
        }
        if events.iter().any(|event| event.event_type == "bad") { Err("one of them is bad".into()) } else { Ok(()) }
    }
}

struct Parks(bool);

#[async_trait]
impl PoisonHandler for Parks {
    async fn park(&self, tx: &mut Transaction<'_>, event: &Event, _error: &str) -> Result<(), Failure> {
        record(tx, "poison", event).await?;
        if self.0 { Ok(()) } else { Err("no place to park".into()) }
    }
}

#[tokio::test]
async fn a_poison_handler_parks_the_one_bad_event_of_a_batch_and_the_rest_is_done() {
    let given = Given::new().await;
    with_a_bad_event(&given).await;
    let options = |parks| ConsumerOptions::new().poison_handler(Parks(parks));
    let builder = given.worker().max_consecutive_failures(3);
    let worker = Running::start(
        builder.batch_consumer(Whole("parks"), options(true)).batch_consumer(Whole("cannot"), options(false)),
    );
    given.seen_by("parks", 4).await;
    let done = given.until_checkpoint("parks", |shard| shard.position == 5).await;
    assert!(!done.is_paused && done.stuck_at.is_none());
    let parked = given.admin().parked(&given.client().await, "parks", 10).await.unwrap();
    assert_eq!((parked.len(), parked[0].position, parked[0].event_type.as_deref()), (1, 3, Some("bad")));
    assert_eq!(given.number("SELECT count(*) FROM consumer_audit WHERE action = 'park' AND to_position = 3").await, 1);
    let paused = given.until_checkpoint("cannot", |shard| shard.is_paused).await;
    assert_eq!(paused.position, 2);
    assert!(paused.stuck_at.unwrap().error.unwrap().contains("no place to park"));
    assert_eq!(
        given.number("SELECT count(*) FROM seen WHERE consumer = 'poison'").await,
        1,
        "the other was rolled back"
    );
    worker.stop().await;
}

struct Slow(Arc<AtomicBool>);
#[async_trait]
impl Consumer for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }
    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        record(tx, "slow", event).await?;
        if self.0.swap(false, Ordering::AcqRel) {
            tokio::time::sleep(Duration::from_mins(10)).await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_batch_that_takes_too_long_is_rolled_back_and_retried() {
    let given = Given::new().await;
    given.append(&Stream::new("order", "1"), 1).await;
    let is_slow = Arc::new(AtomicBool::new(true));
    let worker = Running::start(given.worker().batch_timeout(Duration::from_millis(500)).consumer(Slow(is_slow)));
    given.seen_by("slow", 1).await;
    given.assert_seen_exactly_once("slow").await;
    worker.stop().await;
}
