//! Commands: each does what it says, once, with an audit row.

use foreman_eventlog::postgres::{AdminError, ConsumerOptions};
use foreman_eventlog::{Cursor, Expected, Failure, NewEvent, Stream};

use crate::given::{Given, Recorder, Running};

#[tokio::test]
async fn a_stuck_consumer_skips_the_event_that_was_named_and_no_other() {
    let given = Given::new().await;
    let client = given.client().await;
    for kind in ["good", "bad", "bad", "good"] {
        given
            .log
            .append(&client, &Stream::new("order", "1"), Expected::Any, &[NewEvent::new(kind, "{}")])
            .await
            .unwrap();
    }
    let bad = Recorder::new("bad").failing("bad", |_| Failure::permanent("no"));
    let worker = Running::start(given.worker().consumer(bad));
    let (admin, mut client) = (given.admin(), given.client().await);
    given.until_checkpoint("bad", |shard| shard.is_paused).await;
    let elsewhere = admin.skip(&mut client, "bad", 0, 3, "wrong one").await;
    assert!(matches!(elsewhere, Err(AdminError::NotStuckThere { position: 3, .. })));
    admin.skip(&mut client, "bad", 0, 2, "known").await.unwrap();
    assert!(admin.skip(&mut client, "bad", 0, 2, "twice").await.is_err());
    given.until_checkpoint("bad", |shard| shard.is_paused && shard.position == 2).await;
    admin.skip(&mut client, "bad", 0, 3, "known too").await.unwrap();
    given.seen_by("bad", 2).await;
    assert_eq!(admin.parked(&client, "bad", 10).await.unwrap().len(), 2);
    assert_eq!(given.number("SELECT count(*) FROM consumer_audit WHERE action = 'skip' AND actor = 'a test'").await, 2);
    worker.stop().await;
}

#[tokio::test]
async fn pause_resume_reset_and_replay_work_on_a_running_consumer() {
    let given = Given::new().await;
    given.append(&Stream::new("order", "1"), 10).await;
    let worker = Running::start(given.worker().consumer(Recorder::new("orders")));
    given.seen_by("orders", 10).await;
    let (admin, mut client) = (given.admin(), given.client().await);
    admin.pause(&mut client, "orders", None, "maintenance").await.unwrap();
    given.append(&Stream::new("order", "1"), 5).await;
    let paused = given.until_checkpoint("orders", |shard| shard.is_paused && shard.lag == 5).await;
    assert_eq!(paused.paused_reason.as_deref(), Some("maintenance"));
    assert!(paused.lag_secs.is_some());
    admin.resume(&mut client, "orders", None, "done").await.unwrap();
    given.seen_by("orders", 15).await;
    admin.replay(&mut client, "orders", "the view has a new column").await.unwrap();
    given.seen_by("orders", 30).await;
    let page = given.log.read(&client, Cursor::START, 12, &foreman_eventlog::Scope::all()).await.unwrap();
    admin.reset(&mut client, "orders", page.next, "the last three again").await.unwrap();
    given.seen_by("orders", 33).await;
    let far: Cursor = "1-999999".parse().unwrap();
    admin.reset(&mut client, "orders", far, "to the end").await.unwrap();
    given.until_checkpoint("orders", |shard| shard.position == 15 && shard.lag == 0).await;
    assert!(matches!(admin.pause(&mut client, "nobody", None, "").await, Err(AdminError::UnknownConsumer(_))));
    assert_eq!(given.number("SELECT count(*) FROM consumer_audit").await, 5);
    worker.stop().await;
}

#[tokio::test]
async fn a_renamed_consumer_keeps_its_place_and_a_forgotten_one_does_not() {
    let given = Given::new().await;
    given.append(&Stream::new("order", "1"), 4).await;
    let worker = Running::start(given.worker().consumer(Recorder::new("old")));
    given.seen_by("old", 4).await;
    worker.stop().await;
    let (admin, mut client) = (given.admin(), given.client().await);
    admin.rename(&mut client, "old", "new", "a better name").await.unwrap();
    assert!(matches!(admin.rename(&mut client, "old", "x", "").await, Err(AdminError::UnknownConsumer(_))));
    let worker = Running::start(given.worker().consumer(Recorder::new("new")));
    given.append(&Stream::new("order", "1"), 1).await;
    given.seen_by("new", 1).await;
    worker.stop().await;
    assert_eq!(given.number("SELECT count(*) FROM seen WHERE consumer = 'new'").await, 1);
    assert!(matches!(admin.rename(&mut client, "new", "new", "").await, Err(AdminError::NameTaken(_))));
    admin.forget(&mut client, "new", "not needed").await.unwrap();
    assert_eq!(admin.consumers(&client).await.unwrap(), []);
}

#[tokio::test]
async fn shards_are_changed_only_where_no_event_could_be_handled_twice() {
    let given = Given::new().await;
    let shards = |count| ConsumerOptions::new().shards(count);
    for nth in 0..20 {
        given.append(&Stream::new("order", nth.to_string()), 2).await;
    }
    let worker = Running::start(given.worker().consumer_with(Recorder::new("orders"), shards(2)));
    given.seen_by("orders", 40).await;
    let (admin, mut client) = (given.admin(), given.client().await);
    assert!(matches!(admin.reshard(&mut client, "orders", 5, "").await, Err(AdminError::NotPaused(_))));
    given.until("SELECT min(last_position) FROM consumer_checkpoints", 40).await;
    worker.stop().await;
    admin.pause(&mut client, "orders", None, "").await.unwrap();
    client.batch_execute("UPDATE consumer_checkpoints SET last_position = 39 WHERE shard = 1").await.unwrap();
    assert!(matches!(
        admin.reshard(&mut client, "orders", 5, "").await,
        Err(AdminError::UnevenShards { lowest: 39, highest: 40, .. })
    ));
    client.batch_execute("UPDATE consumer_checkpoints SET last_position = 40").await.unwrap();
    admin.reshard(&mut client, "orders", 5, "more of them").await.unwrap();
    admin.resume(&mut client, "orders", None, "").await.unwrap();
    let worker = Running::start(given.worker().consumer_with(Recorder::new("orders"), shards(5)));
    for nth in 0..20 {
        given.append(&Stream::new("order", nth.to_string()), 1).await;
    }
    given.seen_by("orders", 60).await;
    given.assert_seen_exactly_once("orders").await;
    worker.stop().await;
}

#[tokio::test]
async fn who_works_who_leads_and_who_stands_by_can_be_seen() {
    let given = Given::new().await;
    let first = Running::start(given.worker().consumer(Recorder::new("orders")));
    given.until("SELECT count(*) FROM consumer_assignments WHERE worker_id IS NOT NULL", 1).await;
    let second = Running::start(given.worker().consumer(Recorder::new("orders")));
    given.until("SELECT count(*) FROM worker_nodes", 2).await;
    let workers = given.admin().workers(&given.client().await).await.unwrap();
    let of = |id| workers.iter().find(|worker| worker.id == id).unwrap();
    assert_eq!((of(first.worker.id()).assigned, of(first.worker.id()).is_leader), (1, true));
    assert_eq!((of(second.worker.id()).assigned, of(second.worker.id()).is_leader), (0, false));
    assert_eq!(of(first.worker.id()).consumers, ["orders/0"]);
    first.stop().await;
    second.stop().await;
}
