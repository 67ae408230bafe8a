//! Appending and reading.

use foreman_eventlog::postgres::{EventLog, LogError, Migrations, Restored};
use foreman_eventlog::{Cursor, Expected, NewEvent, Scope, Stream};
use tokio_postgres::IsolationLevel;

use crate::given::Given;

fn event(kind: &str) -> NewEvent {
    NewEvent::new(kind, "{}")
}

#[tokio::test]
async fn an_event_comes_back_as_it_was_appended() {
    let given = Given::new().await;
    let client = given.client().await;
    let stream = Stream::new("order", "42").of_tenant("acme");
    let new = NewEvent::new("placed", vec![0, 255, 7])
        .version(3)
        .metadata(serde_json::json!({"by": "ann", "tags": [1, null]}))
        .trace_id("trace")
        .correlation_id("correlation")
        .causation_id("causation");
    let appended = given.log.append(&client, &stream, Expected::NoStream, &[new.clone(), event("paid")]).await.unwrap();
    assert_eq!((appended.first_version, appended.last_version(), appended.positions.len()), (1, 2, 2));
    let read = given.log.read_stream(&client, &stream, 1, 10).await.unwrap();
    let first = &read[0];
    assert_eq!((first.id, &first.event_type, first.event_version), (new.id, &new.event_type, 3));
    assert_eq!((&first.payload, &first.metadata), (&new.payload, &new.metadata));
    let ids = (&first.trace_id, &first.correlation_id, &first.causation_id);
    assert_eq!(ids, (&new.trace_id, &new.correlation_id, &new.causation_id));
    assert_eq!((first.version, read[1].version, first.position()), (1, 2, appended.positions[0]));
    assert_eq!(first.stream, stream);
    assert!(
        given.log.read_stream(&client, &Stream::new("order", "42"), 1, 10).await.unwrap().is_empty(),
        "another tenant"
    );
    assert_eq!(given.log.read_stream(&client, &stream, 2, 10).await.unwrap().len(), 1, "from a version on");
}

#[tokio::test]
async fn a_conflict_says_which_version_is_there_and_leaves_the_transaction_alone() {
    let given = Given::new().await;
    let mut client = given.client().await;
    let stream = Stream::new("order", "1");
    let actual = async |expected| match given.log.append(&given.client().await, &stream, expected, &[event("x")]).await
    {
        Err(LogError::Conflict(conflict)) => Some(conflict.actual),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(actual(Expected::Exact(1)).await, Some(0), "there is no stream");
    assert_eq!(actual(Expected::NoStream).await, None);
    assert_eq!(actual(Expected::NoStream).await, Some(1));
    assert_eq!(actual(Expected::Exact(1)).await, None);
    assert_eq!(actual(Expected::Exact(1)).await, Some(2));
    assert_eq!(actual(Expected::Any).await, None);

    let tx = client.transaction().await.unwrap();
    let refused = given.log.append(&tx, &stream, Expected::NoStream, &[event("x")]).await;
    assert!(matches!(refused, Err(LogError::Conflict(conflict)) if conflict.actual == 3));
    given.log.append(&tx, &stream, Expected::Exact(3), &[event("y")]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(given.log.stream_version(&client, &stream).await.unwrap(), 4);
}

#[tokio::test]
async fn of_many_that_expect_one_version_one_appends() {
    let given = Given::new().await;
    let stream = Stream::new("order", "1");
    let tries = (0..8).map(|_| async {
        given.log.append(&given.client().await, &stream, Expected::NoStream, &[event("x")]).await.is_ok()
    });
    let won = futures_util::future::join_all(tries).await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

#[tokio::test]
async fn every_mistake_of_an_append_has_its_own_error_and_nothing_is_written() {
    let given = Given::new().await;
    let client = given.client().await;
    let stream = Stream::new("order", "1");
    let append = async |stream: &Stream, expected, events: &[NewEvent]| {
        given.log.append(&client, stream, expected, events).await.unwrap_err()
    };
    assert!(matches!(append(&stream, Expected::Any, &[]).await, LogError::NoEvents));
    assert!(matches!(append(&stream, Expected::Exact(-3), &[event("x")]).await, LogError::InvalidVersion(-3)));
    for bad in [Stream::new("", "1"), Stream::new("a", ""), Stream::new("a\0", "1"), Stream::new("a", "x".repeat(501))]
    {
        assert!(matches!(append(&bad, Expected::Any, &[event("x")]).await, LogError::InvalidText { .. }), "{bad}");
    }
    assert!(matches!(append(&stream, Expected::Any, &[event("")]).await, LogError::InvalidText { .. }));
    let nul = event("x").metadata(serde_json::json!({"a": "\0"}));
    assert!(matches!(append(&stream, Expected::Any, &[nul]).await, LogError::InvalidMetadata));
    let same = event("x");
    given.log.append(&client, &stream, Expected::Any, std::slice::from_ref(&same)).await.unwrap();
    assert!(matches!(append(&stream, Expected::Any, &[same]).await, LogError::DuplicateEvent));
    assert_eq!(given.number("SELECT count(*) FROM events").await, 1);
    assert_eq!(given.log.stream_version(&client, &stream).await.unwrap(), 1);
    let blank = Given::blank().await;
    let missing = blank.log.append(&blank.client().await, &stream, Expected::Any, &[event("x")]).await;
    assert!(matches!(missing, Err(LogError::NotMigrated(_))));
}

/// The position is drawn before the commit: the one thing that a reader must never be led astray by.
#[tokio::test]
async fn an_append_that_commits_late_is_not_passed_over_and_the_naive_query_does_pass_it() {
    let given = Given::new().await;
    let (mut slow, fast) = (given.client().await, given.client().await);
    let tx = slow.transaction().await.unwrap();
    given.log.append(&tx, &Stream::new("order", "slow"), Expected::Any, &[event("late")]).await.unwrap();
    given.log.append(&fast, &Stream::new("order", "fast"), Expected::Any, &[event("early")]).await.unwrap();

    let page = given.log.read(&fast, Cursor::START, 100, &Scope::all()).await.unwrap();
    assert_eq!((page.events.len(), page.next.position()), (0, 0), "it waits");
    let naive = given.number("SELECT max(global_position) FROM events").await;
    tx.commit().await.unwrap();
    let lost = given
        .number(&format!("SELECT count(*) FROM events WHERE global_position <= {naive} AND event_type = 'late'"))
        .await;
    assert_eq!(lost, 1, "`position > last` never sees it");

    let page = given.log.read(&fast, page.next, 100, &Scope::all()).await.unwrap();
    let types: Vec<&str> = page.events.iter().map(|event| event.event_type.as_str()).collect();
    assert_eq!(types, ["late", "early"]);
    let again = given.log.read(&fast, page.next, 100, &Scope::all()).await.unwrap();
    assert!(again.events.is_empty() && again.is_end);
}

#[tokio::test]
async fn who_holds_readers_up_is_named_and_nobody_else_does() {
    let given = Given::new().await;
    let (mut appends, mut writes) = (given.client().await, given.client().await);
    appends.batch_execute("SET application_name = 'nightly import'").await.unwrap();
    given.client().await.batch_execute("CREATE TABLE other (a int)").await.unwrap();
    // A transaction that has written, and is older than all the others.
    let foreign = writes.transaction().await.unwrap();
    foreign.batch_execute("INSERT INTO other VALUES (1)").await.unwrap();
    given.append(&Stream::new("order", "1"), 5).await;
    let client = given.client().await;
    assert_eq!(given.log.frontier(&client).await.unwrap().position, 5, "a foreign transaction holds nobody up");

    let tx = appends.transaction().await.unwrap();
    given.log.append(&tx, &Stream::new("order", "2"), Expected::Any, &[event("x"), event("y")]).await.unwrap();
    given.log.append(&tx, &Stream::new("order", "3"), Expected::Any, &[event("z")]).await.unwrap();
    given.append(&Stream::new("order", "1"), 1).await;
    let frontier = given.log.frontier(&client).await.unwrap();
    assert_eq!((frontier.position, frontier.head), (5, 9));
    let holders = given.log.holders(&client).await.unwrap();
    assert_eq!(holders.len(), 1, "one announcement for all appends of a transaction");
    assert_eq!(holders[0].application_name.as_deref(), Some("nightly import"));
    assert_eq!((holders[0].announced, holders[0].state.as_deref()), (5, Some("idle in transaction")));
    assert!(holders[0].pid.is_some() && holders[0].open_secs.is_some());
    tx.rollback().await.unwrap();
    assert_eq!(given.log.frontier(&client).await.unwrap().position, 9);
    foreign.rollback().await.unwrap();
}

#[tokio::test]
async fn an_append_that_was_taken_back_to_a_savepoint_announces_nothing() {
    let given = Given::new().await;
    let mut writer = given.client().await;
    let client = given.client().await;
    let mut tx = writer.transaction().await.unwrap();
    let savepoint = tx.savepoint("before").await.unwrap();
    given.log.append(&savepoint, &Stream::new("order", "1"), Expected::Any, &[event("x")]).await.unwrap();
    savepoint.rollback().await.unwrap();
    given.append(&Stream::new("order", "2"), 1).await;
    assert_eq!(given.log.frontier(&client).await.unwrap().position, 2);
    given.log.append(&tx, &Stream::new("order", "1"), Expected::NoStream, &[event("x")]).await.unwrap();
    given.append(&Stream::new("order", "2"), 1).await;
    assert_eq!(given.log.frontier(&client).await.unwrap().position, 2, "announced again");
    tx.commit().await.unwrap();
    assert_eq!(given.log.frontier(&client).await.unwrap().position, 4);
}

#[tokio::test]
async fn a_snapshot_that_is_older_than_the_frontier_is_refused() {
    let given = Given::new().await;
    let mut client = given.client().await;
    let tx = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await.unwrap();
    let refused = given.log.read(&tx, Cursor::START, 10, &Scope::all()).await;
    assert!(matches!(refused, Err(LogError::Isolation)));
}

#[tokio::test]
async fn a_row_inserted_past_the_function_is_refused() {
    let given = Given::new().await;
    let raw = "INSERT INTO events (stream_type, stream_id, stream_version, stream_hash, event_id, event_type, payload)
               VALUES ('a', 'b', 1, 0, gen_random_uuid(), 'c', '')";
    let refused = given.client().await.batch_execute(raw).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("global_position"));
}

#[tokio::test]
async fn other_drivers_append_and_read_with_functions() {
    let given = Given::new().await;
    let client = given.client().await;
    let sql = r#"SELECT first_version FROM events_append('order', '7', 0,
        '[{"type": "placed", "payload": {"total": 12}, "metadata": {"a": 1}}, {"type": "raw", "payload_base64": "AP8="}]')"#;
    assert_eq!(client.query_typed_one(sql, &[]).await.unwrap().get::<_, i64>(0), 1);
    let conflict = client.query_typed(sql, &[]).await.unwrap_err();
    let said = conflict.as_db_error().unwrap();
    assert_eq!((said.code().code(), said.detail()), ("EL409", Some("2")));
    for bad in ["{}", "[{}]", r#"[{"type": "x"}]"#] {
        let refused =
            client.query_typed(&format!("SELECT events_append('a', 'b', -1, '{bad}')"), &[]).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "22023", "{bad}");
    }
    let read = given.log.read_stream(&client, &Stream::new("order", "7"), 1, 10).await.unwrap();
    assert_eq!(read[0].json().unwrap(), serde_json::json!({"total": 12}));
    assert_eq!(read[1].payload, [0, 255]);
    let found = "SELECT count(*) FROM events_read(0, 10, ARRAY['order'], ARRAY['raw'])";
    assert_eq!(given.number(found).await, 1);
}

#[tokio::test]
async fn a_reader_gets_what_is_in_its_scope_and_a_cursor_behind_the_rest() {
    let given = Given::new().await;
    let client = given.client().await;
    for (tenant, kind, what) in
        [("", "order", "placed"), ("acme", "order", "placed"), ("", "user", "placed"), ("", "order", "paid")]
    {
        let stream = Stream::new(kind, "1").of_tenant(tenant);
        given.log.append(&client, &stream, Expected::Any, &[event(what)]).await.unwrap();
    }
    let found = async |scope: &Scope| {
        let page = given.log.read(&client, Cursor::START, 10, scope).await.unwrap();
        assert_eq!(page.next.position(), 4);
        assert!(page.events.iter().all(|event| scope.includes(event)));
        page.events.len()
    };
    assert_eq!(found(&Scope::all()).await, 4);
    assert_eq!(found(&Scope::all().stream_types(["order"])).await, 3);
    assert_eq!(found(&Scope::all().stream_types(["order"]).event_types(["placed"])).await, 2);
    assert_eq!(found(&Scope::all().tenant("acme")).await, 1);
    assert_eq!(found(&Scope::all().tenant("")).await, 3);
    assert_eq!(found(&Scope::all().event_types(["never"])).await, 0);
    let page = given.log.read(&client, Cursor::START, 3, &Scope::all()).await.unwrap();
    assert!(!page.is_end && page.next == page.events[2].cursor);
}

#[tokio::test]
async fn after_a_restore_a_cursor_that_is_ahead_goes_back_to_where_the_log_ended() {
    let given = Given::new().await;
    let mut client = given.client().await;
    let migrations = Migrations::new(given.tables.clone());
    given.append(&Stream::new("order", "1"), 10).await;
    assert_eq!(migrations.restored(&mut client, false).await.unwrap(), Restored::Unchanged);
    let far = given.log.end(&client).await.unwrap();
    // The backup had only six of them, and their positions are given out again.
    client.batch_execute("DELETE FROM events WHERE global_position > 6; UPDATE stream_heads SET stream_version = 6; SELECT setval('events_positions', 6)").await.unwrap();
    let restored = migrations.restored(&mut client, true).await.unwrap();
    assert_eq!(restored, Restored::NewEpoch { epoch: 2, starts_after: 6 });
    given.append(&Stream::new("order", "1"), 5).await;
    let page = given.log.read(&client, far, 100, &Scope::all()).await.unwrap();
    assert_eq!(page.events.len(), 5, "none is missed");
    assert!(page.next > far && page.next.position() == 11);
    // Another cluster is noticed without being told.
    client.batch_execute("UPDATE events_epochs SET system_identifier = 1").await.unwrap();
    assert!(matches!(migrations.restored(&mut client, false).await.unwrap(), Restored::NewEpoch { epoch: 3, .. }));
}

#[tokio::test]
async fn two_logs_in_one_database_do_not_hold_each_other_up() {
    let given = Given::new().await;
    let other = given.tables.clone().schema("sales").events("order_events");
    let mut client = given.client().await;
    Migrations::new(other.clone()).up(&mut client).await.unwrap();
    let second = EventLog::new(&other).unwrap();
    let reader = given.client().await;
    let tx = client.transaction().await.unwrap();
    second.append(&tx, &Stream::new("order", "1"), Expected::Any, &[event("x")]).await.unwrap();
    given.append(&Stream::new("order", "1"), 3).await;
    assert_eq!(given.log.frontier(&reader).await.unwrap().position, 3);
    assert_eq!(second.frontier(&reader).await.unwrap().position, 0);
    given.log.append(&tx, &Stream::new("order", "2"), Expected::Any, &[event("x")]).await.unwrap();
    assert_eq!(given.log.frontier(&reader).await.unwrap().position, 3, "one transaction may append to both");
    tx.commit().await.unwrap();
    assert_eq!(second.frontier(&reader).await.unwrap().position, 1);
}
