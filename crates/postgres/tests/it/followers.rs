//! Followers of the version before beside those of this one: the same two positions, through views of the names it knows.

use std::time::Duration;

use foreman_conformance::given::{Scene, a_job};
use foreman_conformance::posting::{Round, callback, courier};
use foreman_conformance::statistics::{Stretch, position};
use foreman_core::ports::{Advanced, Followers, JobQuery, Position};
use foreman_postgres::{Config, migrate};
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use crate::given::{Database, Team};

/// What the version before says, to the letter.
const FIND: &str = "SELECT position FROM courier";
const APPOINT: &str = "INSERT INTO courier (position) VALUES ($1::bigint) ON CONFLICT DO NOTHING";
const DISMISS: &str = "DELETE FROM courier";
const LOCK: &str = "SELECT position FROM courier FOR UPDATE";
const MOVE: &str = "UPDATE courier SET position = $1::bigint";
const BOOKS: &str = "SELECT position FROM bookkeeper";
const LOCK_BOOKS: &str = "SELECT position FROM bookkeeper FOR UPDATE";
const MOVE_BOOKS: &str = "UPDATE bookkeeper SET position = $1::bigint";

/// As version 8 left it: two tables of one row.
const BACK_TO_EIGHT: &str = "ALTER VIEW courier RENAME TO courier_view;
    ALTER VIEW bookkeeper RENAME TO bookkeeper_view;
    CREATE TABLE courier (is_one boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_one), position bigint NOT NULL);
    CREATE TABLE bookkeeper (is_one boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_one), position bigint NOT NULL);
    INSERT INTO courier (position) SELECT position FROM courier_view;
    INSERT INTO bookkeeper (position) SELECT position FROM bookkeeper_view;
    DROP VIEW courier_view, bookkeeper_view;
    DROP TABLE followers;
    DROP TRIGGER line_shares_used ON line_shares;
    DROP FUNCTION foreman_line_used;
    ALTER TABLE line_shares DROP COLUMN idle;
    ALTER TABLE sessions DROP COLUMN consumes;
    ALTER TABLE ready DROP COLUMN announced, DROP COLUMN refusals, DROP COLUMN announce_at;
    DROP TABLE announcements, parked_messages;
    DROP SEQUENCE announcement_numbers;
    DELETE FROM foreman_migrations WHERE version >= 9";

async fn read(client: &Client, sql: &str) -> Option<Position> {
    client.query_opt(sql, &[]).await.unwrap().map(|row| Position(row.get(0)))
}

/// From where the courier is to the end of the log, with one effect.
async fn next_round(team: &Team, scene: &Scene<'_>) -> Round {
    scene.submit(a_job()).await;
    Round { from: courier(&team.store).await, to: scene.head().await, deliveries: vec![callback("default")] }
}

#[tokio::test]
async fn a_courier_of_the_version_before_is_found_moved_and_dismissed() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let old = team.database.client().await;
    scene.submit(a_job()).await;
    assert_eq!(read(&old, FIND).await, None);
    let head = scene.head().await;
    for at in [head.0, head.0 + 7] {
        old.execute(APPOINT, &[&at]).await.unwrap();
    }
    assert_eq!((read(&old, FIND).await, courier(&team.store).await), (Some(head), head), "the first stays");

    let round = next_round(&team, &scene).await;
    assert_eq!(team.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Done));
    assert_eq!(read(&old, LOCK).await, Some(round.to), "the old one finds that it was overtaken");
    let round = next_round(&team, &scene).await;
    assert_eq!(old.execute(MOVE, &[&round.to.0]).await.unwrap(), 1);
    assert_eq!(team.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Overtaken));
    assert_eq!(team.store.census().await.unwrap().jobs, 4, "three that were submitted, and one effect");

    old.execute(DISMISS, &[]).await.unwrap();
    let head = {
        scene.submit(a_job()).await;
        scene.head().await
    };
    assert_eq!(courier(&team.store).await, head, "the next begins at the end of the log");
    assert_eq!(read(&old, BOOKS).await, Some(Position(0)), "the bookkeeper is nobody's courier");
}

#[tokio::test]
async fn a_bookkeeper_of_the_version_before_is_found_and_moved() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let old = team.database.client().await;
    assert_eq!(read(&old, BOOKS).await, Some(Position(0)), "it needs a row in a database that was just made");
    scene.submit(a_job()).await;
    let first = scene.head().await;
    assert_eq!(old.execute(MOVE_BOOKS, &[&first.0]).await.unwrap(), 1);
    assert_eq!(position(&team.store).await, first);
    scene.submit(a_job()).await;
    let stretch = Stretch { from: first, to: scene.head().await, entries: Vec::new() };
    assert_eq!(team.store.advance(None, &stretch.advance()).await.unwrap(), Some(Advanced::Done));
    assert_eq!(read(&old, LOCK_BOOKS).await, Some(stretch.to));
}

/// Both have read the same, and both are about to write: whoever waited for the row compares with what the other left there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_old_and_a_new_courier_at_once_one_is_overtaken() {
    let team = Team::with(|config| config.lock_timeout = Duration::from_secs(30)).await;
    let scene = Scene::of(&team);
    courier(&team.store).await;
    let (old, new) = (team.database.client().await, team.database.client().await);

    // The old one has the row first.
    let round = next_round(&team, &scene).await;
    old.batch_execute("BEGIN").await.unwrap();
    assert_eq!(read(&old, LOCK).await, Some(round.from));
    let (advance, store) = (round.advance(), team.store.clone());
    let waits = store.advance(None, &advance);
    tokio::pin!(waits);
    assert!(timeout(Duration::from_millis(300), &mut waits).await.is_err(), "it waits for the row");
    old.execute(MOVE, &[&round.to.0]).await.unwrap();
    old.batch_execute("COMMIT").await.unwrap();
    assert_eq!(waits.await.unwrap(), Some(Advanced::Overtaken));

    // And the new one.
    let round = next_round(&team, &scene).await;
    new.batch_execute("BEGIN; SELECT position FROM followers WHERE name = 'courier' FOR UPDATE").await.unwrap();
    old.batch_execute("BEGIN").await.unwrap();
    let moves = async {
        sleep(Duration::from_millis(300)).await;
        let sql = "UPDATE followers SET position = $1 WHERE name = 'courier'";
        new.execute(sql, &[&round.to.0]).await.unwrap();
        new.batch_execute("COMMIT").await.unwrap();
    };
    let (found, ()) = tokio::join!(read(&old, LOCK), moves);
    assert_eq!(found, Some(round.to), "not where it was when the old one began to wait");
    old.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(team.store.census().await.unwrap().jobs, 2, "no effect was written");
}

/// A process of the version before runs on through the migration, with the statements that it has prepared.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_come_along_and_what_was_prepared_before_goes_on_working() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    scene.submit(a_job()).await;
    let (told, counted) = (courier(&team.store).await, Position(scene.head().await.0 - 1));
    let old = team.database.client().await;
    old.execute(MOVE_BOOKS, &[&counted.0]).await.unwrap();
    old.batch_execute(BACK_TO_EIGHT).await.unwrap();
    old.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    let [find, lock, moves, appoint] = [
        old.prepare(FIND).await.unwrap(),
        old.prepare(LOCK).await.unwrap(),
        old.prepare(MOVE).await.unwrap(),
        old.prepare(APPOINT).await.unwrap(),
    ];
    assert_eq!(old.query_one(&find, &[]).await.unwrap().get::<_, i64>(0), told.0);
    old.execute(&appoint, &[&0_i64]).await.unwrap();

    // In the middle of a round: the migration waits for it, and the round is not lost.
    old.batch_execute("BEGIN").await.unwrap();
    assert_eq!(old.query_one(&lock, &[]).await.unwrap().get::<_, i64>(0), told.0);
    let config = Config::at(team.database.url());
    let migrated = migrate::up(&config);
    let goes_on = async {
        sleep(Duration::from_millis(500)).await;
        old.execute(&moves, &[&(told.0 + 1)]).await.unwrap();
        old.batch_execute("COMMIT").await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migrated, goes_on);
    assert_eq!(migrated.unwrap(), (9..=migrate::LATEST).collect::<Vec<_>>());

    assert_eq!(old.query_one(&find, &[]).await.unwrap().get::<_, i64>(0), told.0 + 1);
    assert_eq!(old.query_one(&lock, &[]).await.unwrap().get::<_, i64>(0), told.0 + 1);
    assert_eq!(old.execute(&moves, &[&(told.0 + 2)]).await.unwrap(), 1);
    old.execute(&appoint, &[&0_i64]).await.unwrap();
    assert_eq!(courier(&team.store).await, Position(told.0 + 2));
    assert_eq!(position(&team.store).await, counted);
}
