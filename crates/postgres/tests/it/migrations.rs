//! The schema: made once by whoever comes first, and refused when it is not the one this binary knows.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{HOUR, Scene, a_job, completed, jobs, retry};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::JobQuery as _;
use foreman_postgres::{Config, OpenError, PostgresStore, migrate};
use futures_util::future::join_all;
use tokio::time::sleep;

use crate::given::{Database, Team};

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
async fn a_database_that_cannot_hold_every_script_is_refused_with_the_remedy() {
    let database =
        Database::blank_with("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0").await.spoil();
    let error = migrate::up(&Config::at(database.url())).await.unwrap_err();
    assert!(matches!(&error, OpenError::Encoding { found } if found == "LATIN1"), "{error:?}");
    assert!(error.to_string().contains("ENCODING 'UTF8'"), "{error}");
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

/// As a binary of the next version leaves it: a table more, a column more on the tables that this one writes, and its row.
async fn migrated_by_the_next_version(serves: i64) -> Database {
    let database = Database::ready().await.spoil();
    let sql = format!(
        "BEGIN;
         CREATE TABLE later (id bigint PRIMARY KEY);
         ALTER TABLE jobs ADD COLUMN later bigint;
         ALTER TABLE ready ADD COLUMN later bigint NOT NULL DEFAULT 7;
         ALTER TABLE outcomes ADD COLUMN later text;
         INSERT INTO foreman_migrations (version, name, checksum, serves) VALUES ({NEXT}, 'later', 'x', {serves});
         COMMIT"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
    database
}

const NEXT: i64 = migrate::LATEST + 1;

#[tokio::test]
async fn a_newer_schema_that_serves_this_binary_is_worked_on() {
    let database = migrated_by_the_next_version(migrate::LATEST).await;
    let team = Team::on(database, |_| {}).await;
    let scene = Scene::of(&team);
    let jobs = scene.submit_all(&jobs(3, &a_job())).await;
    let session = scene.session().await;
    scene.run(session, jobs[0], retry(HOUR)).await;
    scene.crash(jobs[1]).await;
    scene.run(session, jobs[2], completed()).await;
    scene.wait(HOUR).await;
    let session = scene.session().await;
    for held in scene.claim(session, 5).await {
        scene.complete(session, held).await;
    }
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!((audit.jobs, audit.outcomes), (3, 3));
}

#[tokio::test]
async fn a_newer_schema_that_serves_this_binary_is_left_as_it_is() {
    let database = migrated_by_the_next_version(migrate::LATEST).await;
    let config = Config::at(database.url());
    assert_eq!(migrate::dry_run(&config).await.unwrap(), []);
    assert_eq!(migrate::up(&config).await.unwrap(), [] as [i64; 0]);
    let status = migrate::status(&config).await.unwrap();
    let last = status.last().unwrap();
    assert_eq!((last.version, last.name.as_str(), last.is_known), (NEXT, "later", false));
    assert!(last.applied_at.is_some());
    assert!(status[..status.len() - 1].iter().all(|one| one.is_known && one.applied_at.is_some()));
    open(&database).await.unwrap().close();
}

#[tokio::test]
async fn a_newer_schema_that_does_not_serve_this_binary_is_refused() {
    let database = migrated_by_the_next_version(NEXT).await;
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: NEXT, serves: NEXT, known: migrate::LATEST }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains(&format!("schema version {NEXT} ")) && said.contains("upgrade this binary"), "{said}");
    assert!(said.contains(&format!("knows up to {}", migrate::LATEST)), "{said}");
    let error = migrate::up(&Config::at(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }), "nor is it migrated: {error:?}");
}

/// Whatever came after it: what was taken away stays away.
#[tokio::test]
async fn one_newer_migration_that_does_not_serve_this_binary_is_enough() {
    let database = migrated_by_the_next_version(NEXT).await;
    let sql = format!(
        "INSERT INTO foreman_migrations (version, name, checksum, serves) VALUES ({}, 'adds', 'x', {})",
        NEXT + 1,
        migrate::LATEST
    );
    database.client().await.batch_execute(&sql).await.unwrap();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Newer { serves: NEXT, .. }), "{error:?}");
}

#[tokio::test]
async fn a_newer_schema_without_what_this_binary_needs_is_refused_with_the_command() {
    let database = migrated_by_the_next_version(migrate::LATEST).await;
    let sql = format!("DELETE FROM foreman_migrations WHERE version = {}", migrate::LATEST);
    database.client().await.batch_execute(&sql).await.unwrap();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Older { needed: migrate::LATEST, .. }), "{error:?}");
}

#[tokio::test]
async fn a_schema_made_from_another_text_is_refused() {
    let database = Database::ready().await.spoil();
    let client = database.client().await;
    client.batch_execute("UPDATE foreman_migrations SET checksum = 'other' WHERE version = 1").await.unwrap();
    let error = open(&database).await.err().unwrap();
    assert!(matches!(error, OpenError::Changed { version: 1 }), "{error:?}");
}

/// Everybody who wants the table waits behind a migration that waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_somebody_is_in_the_way_of_gives_way_and_tries_again() {
    let database = Database::blank().await.spoil();
    let (holder, watcher) = (database.client().await, database.client().await);
    // What a migration makes first: whoever holds the name holds it up.
    holder.batch_execute("CREATE SCHEMA foreman").await.unwrap();
    holder.batch_execute("BEGIN; CREATE TABLE foreman.foreman_migrations (theirs integer)").await.unwrap();
    let waits = async |wanted: bool| loop {
        let sql = "SELECT count(*) > 0 FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
        if watcher.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) == wanted {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    };
    let config = Config::at(database.url());
    let meanwhile = async {
        for _ in 0..2 {
            waits(true).await;
            waits(false).await;
        }
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    let both = async { tokio::join!(migrate::up(&config), meanwhile) };
    let (done, ()) = tokio::time::timeout(Duration::from_mins(1), both).await.expect("it comes about");
    assert_eq!(done.unwrap(), (1..=migrate::LATEST).collect::<Vec<_>>());
    open(&database).await.unwrap().close();
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
    store.ping().await.unwrap();
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

#[tokio::test]
async fn a_migration_that_was_applied_is_a_success_although_the_tables_are_busy() {
    let database = Database::blank().await.spoil();
    let config = Config::at(database.url());
    migrate::up(&config).await.unwrap();
    let (admin, busy) = (database.client().await, database.client().await);
    let weeks = async || -> i64 {
        let sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'jobs'::regclass";
        admin.query_one(sql, &[]).await.unwrap().get(0)
    };
    let before = weeks().await;
    let last: String = admin
        .query_one(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'jobs'::regclass ORDER BY 1 DESC LIMIT 1",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    admin.batch_execute(&format!("DROP TABLE {last}")).await.unwrap();
    // Somebody is always at work on what a partition is made beside.
    busy.batch_execute("BEGIN; LOCK TABLE jobs, jobs_default IN ROW EXCLUSIVE MODE").await.unwrap();
    assert_eq!(migrate::up(&config).await.unwrap(), [0_i64; 0]);
    assert_eq!(weeks().await, before - 1, "it could not be made");
    busy.batch_execute("ROLLBACK").await.unwrap();
    migrate::up(&config).await.unwrap();
    assert_eq!(weeks().await, before);
}
