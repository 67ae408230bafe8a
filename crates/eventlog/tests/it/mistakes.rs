//! Mistakes are typed errors when a worker is built, or when it is started.

use std::time::Duration;

use foreman_eventlog::Shutdown;
use foreman_eventlog::postgres::{BuildError, ConsumerOptions, Worker, WorkerBuilder, WorkerError};

use crate::given::{Given, Recorder, Running, pool};

#[tokio::test]
async fn every_mistake_in_building_a_worker_has_its_own_error() {
    let nowhere = pool("postgres://nobody@127.0.0.1:1/none", 1);
    let blank = || Worker::builder(nowhere.clone());
    let one = || blank().consumer(Recorder::new("orders"));
    let fails = |builder: WorkerBuilder| builder.build().err().expect("it is a mistake");
    assert!(matches!(fails(blank()), BuildError::NoConsumers));
    assert!(matches!(fails(blank().consumer(Recorder::new(" "))), BuildError::EmptyName));
    assert!(matches!(fails(blank().consumer(Recorder::new(&"x".repeat(201)))), BuildError::InvalidName(_)));
    assert!(
        matches!(fails(one().consumer(Recorder::new("orders"))), BuildError::DoubledName(name) if name == "orders")
    );
    let none = ConsumerOptions::new().shards(0);
    assert!(matches!(fails(blank().consumer_with(Recorder::new("a"), none)), BuildError::NoShards(_)));
    assert!(matches!(fails(one().batch_size(0)), BuildError::Zero("batch_size")));
    assert!(matches!(fails(one().batch_size(10_001)), BuildError::BatchSize(10_001)));
    assert!(matches!(fails(one().max_consecutive_failures(0)), BuildError::Zero("max_consecutive_failures")));
    assert!(matches!(fails(one().heartbeat_interval(Duration::ZERO)), BuildError::Zero("heartbeat_interval")));
    assert!(matches!(fails(one().heartbeat_timeout(Duration::from_secs(6))), BuildError::HeartbeatTimeout { .. }));
    assert!(matches!(fails(one().poll_interval(Duration::from_mins(1))), BuildError::PollInterval { .. }));
    assert!(matches!(fails(one().notify_channel("events")), BuildError::MissingNotifyConnectionString));
    assert!(matches!(fails(one().notify_connection_string("")), BuildError::MissingNotifyConnectionString));
    assert!(matches!(fails(one().notify_connection_string("host=a")), BuildError::MissingNotifyChannel));
    let bad = one().notify_connection_string("no=such=address").notify_channel("events");
    assert!(matches!(fails(bad), BuildError::InvalidNotifyConnectionString));
    let log = foreman_eventlog::postgres::EventLog::new(&foreman_eventlog::postgres::TableNames::default()).unwrap();
    let other = one().log(log.notifying("events")).notify_connection_string("host=a").notify_channel("else");
    assert!(matches!(fails(other), BuildError::NotifyChannelMismatch { .. }));
    assert!(one().build().is_ok(), "the defaults are no mistake");
}

#[tokio::test]
async fn a_worker_starts_once_and_not_without_tables_or_with_another_number_of_shards() {
    let blank = Given::blank().await;
    let worker = blank.worker().consumer(Recorder::new("orders")).build().unwrap();
    let refused = worker.run(Shutdown::never()).await;
    assert!(
        matches!(refused, Err(WorkerError::Log(foreman_eventlog::postgres::LogError::NotMigrated(_)))),
        "{refused:?}"
    );
    assert!(matches!(worker.run(Shutdown::never()).await, Err(WorkerError::AlreadyStarted)));

    let given = Given::new().await;
    Running::start(given.worker().consumer_with(Recorder::new("orders"), ConsumerOptions::new().shards(3)))
        .stop()
        .await;
    let other = given.worker().consumer(Recorder::new("orders")).build().unwrap();
    let refused = other.run(Shutdown::never()).await;
    assert!(matches!(refused, Err(WorkerError::ShardCount { stored: 3, configured: 1, .. })), "{refused:?}");
}
