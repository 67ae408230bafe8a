//! The schema: made once by whoever comes first, and refused when it is not the one this binary knows.

use std::sync::Arc;

use foreman_core::memory::LocalWakeups;
use foreman_postgres::{Config, OpenError, PostgresStore, migrate};
use futures_util::future::join_all;

use crate::given::Database;

async fn open(database: &Database) -> Result<PostgresStore, OpenError> {
    PostgresStore::open(Config::at(database.url()), Arc::new(LocalWakeups::new())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_that_migrate_at_once_migrate_once() {
    let database = Database::blank().await.spoil();
    let config = Config::at(database.url());
    let done = join_all((0..8).map(|_| migrate::up(&config))).await;
    let mut applied: Vec<Vec<i64>> = done.into_iter().map(Result::unwrap).collect();
    applied.sort();
    let everything: Vec<i64> = (1..=migrate::LATEST).collect();
    assert_eq!(applied.pop(), Some(everything), "one of them did it");
    assert!(applied.iter().all(Vec::is_empty), "the others found nothing to do: {applied:?}");
    open(&database).await.unwrap().close();
}

#[tokio::test]
async fn a_database_that_was_never_migrated_is_refused_with_the_command() {
    let database = Database::blank().await.spoil();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Older { found: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("foreman migrate"), "{error}");
}

#[tokio::test]
async fn a_look_at_what_would_be_done_does_nothing() {
    let database = Database::blank().await.spoil();
    let config = Config::at(database.url());
    let plan = migrate::dry_run(&config).await.unwrap();
    assert_eq!(plan.iter().map(|one| one.version).collect::<Vec<_>>(), (1..=migrate::LATEST).collect::<Vec<_>>());
    assert!(plan[0].sql.contains("CREATE TABLE ready"));
    assert!(migrate::status(&config).await.unwrap().iter().all(|one| one.applied_at.is_none()));
    migrate::up(&config).await.unwrap();
    assert_eq!(migrate::dry_run(&config).await.unwrap(), []);
    assert!(migrate::status(&config).await.unwrap().iter().all(|one| one.applied_at.is_some()));
}

#[tokio::test]
async fn a_schema_of_a_newer_foreman_is_refused() {
    let database = Database::ready().await.spoil();
    let client = database.client().await;
    client
        .batch_execute("INSERT INTO foreman_migrations (version, name, checksum) VALUES (999, 'later', '')")
        .await
        .unwrap();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: 999, .. }), "{error:?}");
    let error = migrate::up(&Config::at(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }), "nor is it migrated: {error:?}");
}

#[tokio::test]
async fn a_schema_made_from_another_text_is_refused() {
    let database = Database::ready().await.spoil();
    let client = database.client().await;
    client.batch_execute("UPDATE foreman_migrations SET checksum = 'other' WHERE version = 1").await.unwrap();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Changed { version: 1 }), "{error:?}");
}

#[tokio::test]
async fn tables_of_somebody_else_are_not_touched() {
    let database = Database::blank().await.spoil();
    let client = database.client().await;
    client.batch_execute("CREATE SCHEMA foreman; CREATE TABLE foreman.jobs (theirs integer)").await.unwrap();
    let error = migrate::up(&Config::at(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::NotOurs { .. }), "{error:?}");
    assert_eq!(client.query("SELECT theirs FROM foreman.jobs", &[]).await.unwrap().len(), 0);
}

#[tokio::test]
async fn two_schemas_in_one_database_know_nothing_of_each_other() {
    let database = Database::ready().await.spoil();
    let mut config = Config::at(database.url());
    config.schema = "second".into();
    migrate::up(&config).await.unwrap();
    let store = PostgresStore::open(config.clone(), Arc::new(LocalWakeups::new())).await.unwrap();
    foreman_core::ports::JobQuery::ping(&store).await.unwrap();
    store.close();
    config.schema = "drop table jobs;".into();
    let error = migrate::up(&config).await.unwrap_err();
    assert!(matches!(error, OpenError::Address { .. }), "a name goes into statements as it is: {error:?}");
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_without_repeating_its_password() {
    let error = migrate::status(&Config::at("postgres://me:secret@host:port/x")).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
