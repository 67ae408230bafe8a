//! The change log under many writers: nothing is passed over, where reading by position alone does pass over.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreman_core::JobId;
use foreman_core::conformance::given::{a_job, jobs};
use foreman_core::ports::{ChangeLog, JobStore, Position};
use foreman_postgres::PostgresStore;
use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;

use crate::given::{Team, connect};

const LINE: &str = r#"[{"tenant":"t","queue":"q","state":"pending","jobs":[["00000000000000000000000000000001",0]]}]"#;

async fn append(client: &Client) {
    client.execute("INSERT INTO changes (at, moved) VALUES (now(), $1)", &[&LINE]).await.unwrap();
}

/// What a reader that trusts positions sees.
async fn naive(client: &Client, last: i64) -> Vec<i64> {
    let rows =
        client.query("SELECT position FROM changes WHERE position > $1 ORDER BY position", &[&last]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn positions(store: &PostgresStore, after: Position) -> (Vec<i64>, Position) {
    let (mut position, mut numbers) = (after, Vec::new());
    loop {
        let page = store.changes(position, 1).await.unwrap();
        if page.moved.is_empty() {
            return (numbers, position);
        }
        position = page.position;
        numbers.push(position.number);
    }
}

#[tokio::test]
async fn a_commit_that_was_overtaken_is_not_passed_over() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (slow, fast) = (team.database.client().await, team.database.client().await);
    slow.batch_execute("BEGIN").await.unwrap();
    append(&slow).await;
    append(&fast).await;
    // The naive reader goes on from the second, and the first is never seen.
    assert_eq!(naive(&fast, 0).await, [2]);
    let (seen, position) = positions(&team.store, Position::default()).await;
    assert_eq!(seen, [0_i64; 0], "what may still be overtaken is not read");
    slow.batch_execute("COMMIT").await.unwrap();
    assert_eq!(naive(&fast, 2).await, [0_i64; 0], "lost for whoever trusts positions");
    assert_eq!(positions(&team.store, position).await.0, [1, 2]);
}

#[tokio::test]
async fn a_later_transaction_with_an_earlier_position_is_not_passed_over() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (slow, fast) = (team.database.client().await, team.database.client().await);
    let reserved: i64 =
        slow.query_one("SELECT nextval(pg_get_serial_sequence('changes', 'position'))", &[]).await.unwrap().get(0);
    append(&fast).await;
    let (seen, position) = positions(&team.store, Position::default()).await;
    assert_eq!(seen, [reserved + 1]);
    slow.execute(
        "INSERT INTO changes (position, at, moved) OVERRIDING SYSTEM VALUE VALUES ($1, now(), $2)",
        &[&reserved, &LINE],
    )
    .await
    .unwrap();
    assert_eq!(naive(&fast, reserved + 1).await, [0_i64; 0], "the position alone is no place to go on from");
    assert_eq!(positions(&team.store, position).await.0, [reserved]);
}

#[tokio::test]
async fn a_reader_waits_a_moment_for_what_may_still_be_overtaken() {
    let team = Team::with(|config| config.changes_patience = Duration::from_secs(20)).await;
    let slow = team.database.client().await;
    slow.batch_execute("BEGIN").await.unwrap();
    append(&slow).await;
    append(&team.database.client().await).await;
    let (page, ()) = tokio::join!(team.store.changes(Position::default(), 10), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        slow.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(page.unwrap().moved.len(), 2, "it did not come back empty-handed");
}

#[tokio::test]
async fn a_long_transaction_in_another_database_of_the_server_holds_nobody_up() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let elsewhere = connect(&crate::given::server()).await;
    elsewhere.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    team.store.submit(&[a_job().build()]).await.unwrap();
    assert_eq!(team.store.changes(Position::default(), 10).await.unwrap().moved.len(), 1);
    elsewhere.batch_execute("ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn a_log_that_came_from_another_server_is_read_as_the_oldest() {
    let team = Team::new().await;
    let client = team.database.client().await;
    client.execute("INSERT INTO changes (tx, at, moved) VALUES ('999999999999', now(), $1)", &[&LINE]).await.unwrap();
    let mut config = foreman_postgres::Config::at(team.database.url());
    config.changes_patience = Duration::ZERO;
    let store = PostgresStore::open(config, team.wakeups.clone()).await.unwrap();
    store.submit(&[a_job().build()]).await.unwrap();
    let moved = store.changes(Position::default(), 10).await.unwrap().moved;
    assert_eq!(moved.len(), 2, "what was restored comes first, and nothing waits behind it");
    store.close();
}

/// The window between drawing a position and committing is made wide; eight write, and two readers follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_twenty_thousand_events_and_none_is_lost() {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 500;
    const BATCH: usize = 5;
    let team = Team::with(|config| config.data_connections = 12).await;
    let database = team.database.client().await;
    database
        .batch_execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF random() < 0.05 THEN PERFORM pg_sleep(random() * 0.004); END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER dawdle BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION dawdle()",
        )
        .await
        .unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writers = async {
        let each = join_all((0..WRITERS).map(|_| async {
            let mut sent = Vec::new();
            for _ in 0..ROUNDS {
                let batch = jobs(BATCH, &a_job());
                team.store.submit(&batch).await.unwrap();
                sent.extend(batch.into_iter().map(|job| job.id));
            }
            sent
        }));
        let sent: HashSet<JobId> = each.await.into_iter().flatten().collect();
        is_over.store(true, Ordering::SeqCst);
        sent
    };
    let reader = async {
        let (mut position, mut seen, mut twice) = (Position::default(), HashSet::new(), 0);
        let deadline = Instant::now() + Duration::from_mins(2);
        while seen.len() < WRITERS * ROUNDS * BATCH && Instant::now() < deadline {
            let page = team.store.changes(position, 50).await.unwrap();
            position = page.position;
            twice += page.moved.iter().filter(|moved| !seen.insert(moved.id)).count();
        }
        (seen, twice)
    };
    let naive_reader = async {
        let (mut last, mut seen) = (0, HashSet::new());
        loop {
            let was_over = is_over.load(Ordering::SeqCst);
            let page = naive(&database, last).await;
            last = page.last().copied().unwrap_or(last);
            seen.extend(page);
            if was_over {
                return seen.len();
            }
            tokio::task::yield_now().await;
        }
    };
    let all = timeout(Duration::from_mins(3), async { tokio::join!(writers, reader, naive_reader) });
    let (sent, (seen, twice), naively) = all.await.unwrap();
    database.batch_execute("DROP FUNCTION dawdle CASCADE").await.unwrap();
    assert_eq!(sent.len(), WRITERS * ROUNDS * BATCH);
    assert_eq!(sent.difference(&seen).count(), 0, "lost");
    assert_eq!(twice, 0, "no event was read twice");
    assert!(naively < WRITERS * ROUNDS, "the window was wide enough for a naive reader to lose: {naively}");
}
