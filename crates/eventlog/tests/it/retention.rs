//! The log does not grow for ever, and loses nothing that a consumer still needs.

use std::time::Duration;

use foreman_eventlog::postgres::{EventLog, LogError, Migrations, Retention};
use foreman_eventlog::{Cursor, Expected, NewEvent, Scope, Stream};

use crate::given::{Given, Recorder, Running};

#[tokio::test]
async fn events_are_removed_behind_the_slowest_consumer_and_never_past_it_unless_told_to() {
    let given = Given::new().await;
    given.append(&Stream::new("order", "1"), 10).await;
    Running::start(given.worker().consumer(Recorder::new("orders"))).stop().await;
    let mut client = given.client().await;
    client.batch_execute("UPDATE consumer_checkpoints SET last_position = 4").await.unwrap();
    let keep = Retention::new().keep_last(2);
    assert_eq!(Retention::new().prune(&given.log, &mut client).await.unwrap().pruned_to, 0, "by default all stays");
    let young = Retention::new().keep_for(Duration::from_hours(1)).prune(&given.log, &mut client).await.unwrap();
    assert_eq!(young.pruned_to, 0);
    let pruned = keep.prune(&given.log, &mut client).await.unwrap();
    assert_eq!((pruned.pruned_to, pruned.rows_deleted), (4, 4));
    assert_eq!(pruned.held_by.unwrap().consumer, "orders");
    let pruned = keep.clone().pass_consumers().prune(&given.log, &mut client).await.unwrap();
    assert_eq!((pruned.pruned_to, given.number("SELECT count(*) FROM events").await), (8, 2));
    let refused = given.log.read(&client, "1-3".parse().unwrap(), 10, &Scope::all()).await;
    assert!(matches!(refused, Err(LogError::Pruned { asked: 3, pruned_to: 8 })), "a reader is not led over a gap");
    assert_eq!(given.log.read(&client, Cursor::START, 10, &Scope::all()).await.unwrap().events.len(), 2);
    assert_eq!(
        given.log.stream_version(&client, &Stream::new("order", "1")).await.unwrap(),
        10,
        "a stream keeps its version"
    );
}

#[tokio::test]
async fn partitions_are_made_ahead_and_dropped_behind() {
    let given = Given::blank().await;
    let mut client = given.client().await;
    Migrations::new(given.tables.clone()).partitioned(1_000).up(&mut client).await.unwrap();
    let log = EventLog::new(&given.tables).unwrap();
    let thousand: Vec<NewEvent> = (0..1_000).map(|_| NewEvent::new("x", "")).collect();
    let keep = Retention::new().keep_last(1_500);
    for _ in 0..6 {
        log.append(&client, &Stream::new("order", "1"), Expected::Any, &thousand).await.unwrap();
        keep.prune(&log, &mut client).await.unwrap();
    }
    assert_eq!(given.number("SELECT min(global_position) FROM events").await, 4_001, "only whole partitions go");
    assert_eq!(given.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass").await, 6);
    let same = thousand[999].clone();
    let doubled = log.append(&client, &Stream::new("order", "2"), Expected::Any, &[same.clone(), same]).await;
    assert!(matches!(doubled, Err(LogError::DuplicateEvent)), "within a partition");
}
