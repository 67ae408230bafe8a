//! Migrations: up, down, as text, with names of one's own.

use foreman_eventlog::postgres::{EventLog, MigrationError, Migrations, TableNames};
use foreman_eventlog::{Expected, NewEvent, Stream};

use crate::given::Given;

fn own_names() -> TableNames {
    TableNames::default()
        .schema("sales")
        .events("history.order_events")
        .stream_heads("heads")
        .worker_nodes("workers")
        .consumer_assignments("owners")
        .consumer_checkpoints("checkpoints")
        .consumer_parked_events("parked")
        .consumer_audit("audit")
        .leader_election("leader")
}

const LEFT: &str = "SELECT count(*) FROM (
    SELECT oid FROM pg_class WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        AND relnamespace::regnamespace::text NOT LIKE 'pg_toast%'
    UNION ALL SELECT oid FROM pg_proc WHERE pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
) AS ours";

#[tokio::test]
async fn what_up_makes_down_removes_whatever_it_is_called() {
    for (names, is_partitioned) in [(TableNames::default(), false), (own_names(), false), (own_names(), true)] {
        let given = Given::blank().await;
        let mut client = given.client().await;
        let before = given.number(LEFT).await;
        let migrations = Migrations::new(names.clone());
        let migrations = if is_partitioned { migrations.partitioned(1_000) } else { migrations };
        assert_eq!(migrations.up(&mut client).await.unwrap(), 1);
        assert_eq!(migrations.up(&mut client).await.unwrap(), 0, "a second time changes nothing");
        let log = EventLog::new(&names).unwrap();
        log.append(&client, &Stream::new("a", "b"), Expected::NoStream, &[NewEvent::new("c", "")]).await.unwrap();
        assert_eq!(log.frontier(&client).await.unwrap().position, 1);
        migrations.down(&mut client).await.unwrap();
        assert_eq!(given.number(LEFT).await, before);
        client.batch_execute(&migrations.up_sql().unwrap()).await.unwrap();
        client.batch_execute(&migrations.down_sql().unwrap()).await.unwrap();
        assert_eq!(given.number(LEFT).await, before);
    }
}

#[tokio::test]
async fn any_number_of_processes_may_migrate_at_once() {
    let given = Given::blank().await;
    let migrations = Migrations::new(given.tables.clone());
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(given.client().await);
    }
    let done = futures_util::future::join_all(clients.iter_mut().map(|client| migrations.up(client))).await;
    assert_eq!(done.into_iter().map(Result::unwrap).sum::<usize>(), 1);
}

#[tokio::test]
async fn a_table_of_someone_else_is_left_alone() {
    let given = Given::blank().await;
    let mut client = given.client().await;
    client.batch_execute("CREATE TABLE worker_nodes (mine int)").await.unwrap();
    let refused = Migrations::default().up(&mut client).await;
    assert!(matches!(refused, Err(MigrationError::Database(_))));
    assert_eq!(given.number("SELECT count(*) FROM pg_class WHERE relname IN ('events', 'stream_heads')").await, 0);
}

#[tokio::test]
async fn every_statement_is_understood_by_the_server() {
    let given = Given::new().await;
    let client = given.client().await;
    let log = EventLog::new(&given.tables).unwrap();
    let statements = log.statements();
    assert!(statements.len() > 40);
    for (name, text) in statements {
        if let Err(error) = client.prepare(text).await {
            // A parameter may have a type that only its caller says.
            let code = error.code().map(|code| code.code().to_owned());
            assert!(matches!(code.as_deref(), Some("42P18" | "42P08")), "{name}: {error:?}");
        }
    }
}

#[test]
fn mistakes_in_names_and_sizes_are_typed() {
    assert!(matches!(Migrations::new(TableNames::default().events("Events")).up_sql(), Err(MigrationError::Names(_))));
    assert!(matches!(Migrations::default().partitioned(10).up_sql(), Err(MigrationError::PartitionSize(10))));
}
