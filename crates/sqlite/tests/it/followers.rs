//! Going back to the version before and coming again: a follower goes on where the other version left it.

use foreman_conformance::given::{Scene, a_job};
use foreman_conformance::posting::{Round, callback, courier};
use foreman_conformance::statistics::{Stretch, position};
use foreman_core::ports::{Advanced, FollowerName, Followers, JobStore, Position};
use foreman_sqlite::census_of_file;
use rusqlite::{Connection, OptionalExtension};

use crate::given::Laptop;

/// What the version before says, to the letter; it counts the rows that it moves.
const FIND: &str = "SELECT position FROM courier WHERE only = 1";
const APPOINT: &str = "INSERT INTO courier (only, position) VALUES (1, ?1)";
const DISMISS: &str = "DELETE FROM courier";
const MOVE: &str = "UPDATE courier SET position = ?2 WHERE only = 1 AND position = ?1";
const BOOKS: &str = "SELECT position FROM bookkeeper WHERE only = 1";
const MOVE_BOOKS: &str = "UPDATE bookkeeper SET position = ?2 WHERE only = 1 AND position = ?1";

fn read(sql: &Connection, text: &str) -> Option<Position> {
    sql.query_row(text, [], |row| row.get(0)).optional().unwrap().map(Position)
}

/// What an operator does who goes back for a while.
async fn meanwhile(laptop: Laptop, by_the_version_before: impl FnOnce(&Connection)) -> Laptop {
    laptop.store.close().await;
    by_the_version_before(&Connection::open(laptop.path()).unwrap());
    let audit = census_of_file(&laptop.path()).unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    laptop.reopened().await
}

#[tokio::test]
async fn a_courier_goes_on_where_the_other_version_left_it() {
    let laptop = Laptop::new();
    laptop.store.submit(&[a_job().build(), a_job().build()]).await.unwrap();
    let laptop = meanwhile(laptop, |old| {
        assert_eq!(read(old, FIND), None);
        assert_eq!(old.execute(APPOINT, [0]).unwrap(), 1);
    })
    .await;
    let scene = Scene::of(&laptop);
    assert_eq!(courier(&laptop.store).await, Position(0));
    let round = Round { from: Position(0), to: scene.head().await, deliveries: vec![callback("default")] };
    assert_eq!(laptop.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Done));
    let (told, head) = (round.to, scene.head().await);
    drop(scene);
    let laptop = meanwhile(laptop, |old| {
        assert_eq!(read(old, FIND), Some(told));
        assert_eq!(old.execute(MOVE, [0, head.0]).unwrap(), 0, "it has not been told twice");
        assert_eq!(old.execute(MOVE, [told.0, head.0]).unwrap(), 1);
    })
    .await;
    assert_eq!(courier(&laptop.store).await, head);
    assert_eq!(laptop.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Overtaken));
    laptop.store.dismiss(None, &FollowerName::COURIER).await.unwrap();
    let laptop = meanwhile(laptop, |old| {
        assert_eq!(read(old, FIND), None);
        assert_eq!(old.execute(APPOINT, [1]).unwrap(), 1);
        assert_eq!(old.execute(DISMISS, []).unwrap(), 1);
    })
    .await;
    assert_eq!(courier(&laptop.store).await, head, "a new one begins at the end");
    laptop.store.close().await;
}

#[tokio::test]
async fn a_bookkeeper_goes_on_where_the_other_version_left_it() {
    let laptop = Laptop::new();
    laptop.store.submit(&[a_job().build()]).await.unwrap();
    laptop.store.submit(&[a_job().build()]).await.unwrap();
    let laptop = meanwhile(laptop, |old| {
        assert_eq!(read(old, BOOKS), Some(Position(0)));
        assert_eq!(old.execute(MOVE_BOOKS, [0, 1]).unwrap(), 1);
    })
    .await;
    let stretch = Stretch { from: position(&laptop.store).await, to: Position(2), entries: Vec::new() };
    assert_eq!(stretch.from, Position(1));
    assert_eq!(laptop.store.advance(None, &stretch.advance()).await.unwrap(), Some(Advanced::Done));
    let laptop = meanwhile(laptop, |old| {
        assert_eq!(read(old, BOOKS), Some(Position(2)));
        assert_eq!(old.execute(MOVE_BOOKS, [1, 2]).unwrap(), 0, "it has not counted twice");
    })
    .await;
    assert_eq!(position(&laptop.store).await, Position(2));
    laptop.store.close().await;
}
