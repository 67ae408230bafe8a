//! The change log under many writers: nothing is passed over, where reading by position alone does pass over. The stream and the
//! bookkeeper read it no other way.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreman_conformance::given::{HOUR, Scene, a_job, jobs, queue};
use foreman_core::ports::{CHANGES_BYTES, ChangeLog, JobStore, Note, Position, Retention, Upkeep};
use foreman_core::{JobId, TenantId};
use foreman_postgres::{PostgresStore, statements};
use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;

use crate::given::{Team, connect};

const LINE: &str = r#"[{"tenant":"t","queue":"q","state":"pending","jobs":[["00000000000000000000000000000001",0]]}]"#;

const NOTE: &str = r#"[{"note":"queue","tenant":"t","queue":"slow","is_paused":true}]"#;

/// As the store does it.
async fn append(client: &Client) {
    append_row(client, LINE, None).await;
}

async fn append_row(client: &Client, moved: &str, notes: Option<&str>) {
    let [announce, append] = statements::APPEND;
    client.execute(announce, &[&statements::log_tag("foreman")]).await.unwrap();
    client.execute(append, &[&moved, &notes]).await.unwrap();
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
        if page.rows.is_empty() {
            return (numbers, position);
        }
        position = page.position;
        numbers.push(position.0);
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

/// Ticks, workers and queues are told by rows that move no job.
#[tokio::test]
async fn a_note_that_was_overtaken_is_not_passed_over() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (slow, fast) = (team.database.client().await, team.database.client().await);
    slow.batch_execute("BEGIN").await.unwrap();
    append_row(&slow, "[]", Some(NOTE)).await;
    let tenant = TenantId::default();
    assert!(team.store.pause(&tenant, &queue("fast")).await.unwrap());
    assert_eq!(naive(&fast, 0).await, [2]);
    let early = team.store.changes(Position::default(), 10).await.unwrap();
    assert_eq!((early.rows.len(), early.position), (0, Position::default()), "what may still be overtaken is not read");
    slow.batch_execute("COMMIT").await.unwrap();
    assert_eq!(naive(&fast, 2).await, [0_i64; 0], "lost for whoever trusts positions");
    let read = team.store.changes(early.position, 10).await.unwrap();
    let notes: Vec<Note> = read.rows.iter().flat_map(|row| row.notes.clone()).collect();
    let paused =
        |tenant: &str, name: &str| Note::Queue { tenant: TenantId::new(tenant), queue: queue(name), is_paused: true };
    assert_eq!(notes, [paused("t", "slow"), paused(tenant.as_str(), "fast")]);
    assert_eq!(read.moved().count(), 0);
}

/// A row of the log tells of as many jobs as one write moved.
#[tokio::test]
async fn a_page_of_long_rows_has_so_many_bytes() {
    const ROWS: usize = 9;
    let team = Team::new().await;
    let client = team.database.client().await;
    let job = format!(r#"["{:032x}",0]"#, 1);
    let jobs = vec![job; 10_000].join(",");
    let row = format!(r#"[{{"tenant":"t","queue":"q","state":"pending","jobs":[{jobs}]}}]"#);
    for _ in 0..ROWS {
        append_row(&client, &row, None).await;
    }
    append(&client).await;
    let (mut position, mut pages) = (Position::default(), Vec::new());
    loop {
        let page = team.store.changes(position, 1_000).await.unwrap();
        position = page.position;
        pages.push((page.rows.len(), page.is_full));
        if !page.is_full {
            break;
        }
    }
    let most = CHANGES_BYTES.div_ceil(row.len());
    assert!(most < ROWS / 2, "several pages");
    assert!(pages.iter().all(|(rows, _)| *rows <= most), "{pages:?}");
    assert_eq!(pages.iter().map(|(rows, _)| rows).sum::<usize>(), ROWS + 1, "{pages:?}");
}

/// Whoever asks is told whether it has missed something, whoever prunes: the place is moved with the rows that go.
#[tokio::test]
async fn what_was_pruned_lies_before_the_start_of_the_log_also_with_gaps() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let scene = Scene::of(&team);
    let client = team.database.client().await;
    assert_eq!(team.store.start().await.unwrap(), Position::default());
    // A position that nobody ever sees.
    client.batch_execute("SELECT nextval('change_positions')").await.unwrap();
    scene.submit_all(&jobs(2, &a_job())).await;
    scene.advance(HOUR).await;
    let kept = scene.submit(a_job()).await;
    let before = scene.store.changes(Position::default(), 10).await.unwrap();
    assert_eq!(before.rows.iter().map(|row| row.position.0).collect::<Vec<_>>(), [2, 3]);
    let retention = Retention { changes: HOUR, ..Retention::default() };
    assert_eq!(team.store.prune(&retention, 10).await.unwrap().changes, 1);
    let start = team.store.start().await.unwrap();
    assert_eq!(start, Position(2), "the last that is gone");
    let read = team.store.changes(start, 10).await.unwrap();
    assert_eq!(read.moved().map(|moved| moved.id).collect::<Vec<_>>(), [kept]);
    scene.advance(HOUR).await;
    team.store.prune(&retention, 10).await.unwrap();
    assert_eq!(team.store.start().await.unwrap(), team.store.head().await.unwrap());
}

/// A transaction that waited for a lock sees what was done by others that began after it.
#[tokio::test]
async fn what_was_seen_by_an_older_transaction_is_in_the_log_before_what_it_did() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (older, younger) = (team.database.client().await, team.database.client().await);
    older.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    append(&younger).await;
    let seen: i64 = older.query_one("SELECT max(position) FROM changes", &[]).await.unwrap().get(0);
    append(&older).await;
    older.batch_execute("COMMIT").await.unwrap();
    assert_eq!(positions(&team.store, Position::default()).await.0, [seen, seen + 1]);
}

#[tokio::test]
async fn a_transaction_that_was_rolled_back_leaves_a_gap_that_nobody_waits_at() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (gone, other) = (team.database.client().await, team.database.client().await);
    gone.batch_execute("BEGIN").await.unwrap();
    append(&gone).await;
    append(&other).await;
    assert_eq!(positions(&team.store, Position::default()).await.0, [0_i64; 0]);
    gone.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(positions(&team.store, Position::default()).await.0, [2]);
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
    // One, when it looked between the commit and the end of its lock; the next page has the other.
    let read = page.unwrap().moved().count();
    assert!((1..=2).contains(&read), "it did not come back empty-handed: {read}");
}

#[tokio::test]
async fn a_long_transaction_of_somebody_else_holds_no_reader_up() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (beside, elsewhere) = (team.database.client().await, connect(&crate::given::server()).await);
    for client in [&beside, &elsewhere] {
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()").await.unwrap();
    }
    team.store.submit(&[a_job().build()]).await.unwrap();
    assert_eq!(team.store.changes(Position::default(), 10).await.unwrap().moved().count(), 1);
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
            twice += page.moved().filter(|moved| !seen.insert(moved.id)).count();
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

/// A writer reads the last position, is held up, and announces it when others have long been read. Nobody who was told of those is
/// to hear that there is no such place.
#[tokio::test]
async fn an_announcement_that_comes_late_does_not_make_a_place_unknown_that_was_told() {
    let team = Team::with(|config| config.changes_patience = Duration::ZERO).await;
    let (late, fast) = (team.database.client().await, team.database.client().await);
    append(&fast).await;
    append(&fast).await;
    append(&fast).await;
    let (seen, told) = positions(&team.store, Position::default()).await;
    assert_eq!(seen, [1, 2, 3]);
    let tag = statements::log_tag("foreman");
    late.execute("SELECT pg_advisory_lock_shared($1::bigint | 1)", &[&tag]).await.unwrap();
    assert_eq!(team.store.head().await.unwrap(), Position(1), "what may still be overtaken is not read");
    assert_eq!(team.store.last().await.unwrap(), told);
    let page = team.store.changes(told, 10).await.unwrap();
    assert_eq!((page.rows.len(), page.position), (0, told), "and whoever stands there goes on from there");
}

/// The time of a row is when its transaction began, its position when it ended: an old row may stand behind a young one.
#[tokio::test]
async fn a_log_is_cut_from_its_beginning_and_no_further_than_its_first_young_row() {
    let team = Team::new().await;
    let client = team.database.client().await;
    for age in ["3 hours", "0 seconds", "3 hours", "3 hours"] {
        append(&client).await;
        let sql = "UPDATE changes SET at = $1::text::timestamptz - $2::text::interval
                   WHERE position = (SELECT max(position) FROM changes)";
        client.execute(sql, &[&foreman_core::Clock::now(&*team.clock).to_string(), &age]).await.unwrap();
    }
    let retention = Retention { changes: HOUR, ..Retention::default() };
    team.store.prune(&retention, 100).await.unwrap();
    let start = team.store.start().await.unwrap();
    assert_eq!(start, Position(1), "whoever has read the first row has missed nothing");
    assert_eq!(positions(&team.store, start).await.0, [2, 3, 4]);
    team.clock.advance(HOUR * 2);
    assert_eq!(team.store.prune(&retention, 2).await.unwrap().changes, 2, "no more than asked for");
    assert_eq!(team.store.start().await.unwrap(), Position(3));
    assert_eq!(positions(&team.store, Position(3)).await.0, [4]);
}
