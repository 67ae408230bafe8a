//! Transactions that the server ends for the sake of others: each is done again whole, and its caller hears nothing of it.

use std::time::Duration;

use foreman_conformance::given::{a_job, by_order, completed, jobs, session_info, taken};
use foreman_conformance::prune::for_ever;
use foreman_core::ports::{CancelAnswer, JobQuery, JobStore, PruneKind, SessionStore, Settled, Submitted, Upkeep as _};
use foreman_core::{SessionId, TenantId};
use tokio::time::{Instant, sleep};

use crate::given::{Database, Team};

/// The first two writes of a table are refused with this code: as they are written, or when they are committed.
async fn refuse_twice(database: &Database, table: &str, code: &str, is_late: bool) {
    let client = database.client().await;
    let trigger = if is_late {
        format!("CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW")
    } else {
        format!("CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH STATEMENT")
    };
    // A sequence does not go back with the transaction that has advanced it, so it counts what was rolled back.
    client
        .batch_execute(&format!(
            "CREATE SEQUENCE refusals;
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF nextval('foreman.refusals') <= 2 THEN
                     RAISE EXCEPTION 'somebody else was first' USING ERRCODE = '{code}';
                 END IF;
                 RETURN NULL;
             END $$;
             {trigger} EXECUTE FUNCTION refuse()"
        ))
        .await
        .unwrap();
}

async fn refused(database: &Database) -> i64 {
    let client = database.client().await;
    client.query_one("SELECT last_value FROM refusals", &[]).await.unwrap().get(0)
}

async fn session(team: &Team) -> SessionId {
    let id = SessionId::fresh();
    team.store.register(&session_info(id, "worker", Duration::from_hours(1))).await.unwrap();
    id
}

#[tokio::test]
async fn what_the_server_ends_for_the_sake_of_others_is_done_again_whole() {
    // A serialization failure and a deadlock; in the middle of the transaction, and at its commit.
    let cases = [
        ("jobs", "40001", false),
        ("ready", "40P01", false),
        ("ready", "40001", true),
        ("claims", "40P01", false),
        ("outcomes", "40001", false),
        ("changes", "40P01", true),
    ];
    for (table, code, is_late) in cases {
        let case = format!("{code} of {table}, {}", if is_late { "at the commit" } else { "at once" });
        let database = Database::ready().await.spoil();
        refuse_twice(&database, table, code, is_late).await;
        let team = Team::on(database, |_| {}).await;
        let session = session(&team).await;
        let batch = jobs(3, &a_job());
        let answers = team.store.submit(&batch).await.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(answers.iter().all(Submitted::is_accepted), "{case}: {answers:?}");
        let held = taken(team.store.claim(&by_order(session, 3)).await.unwrap());
        assert_eq!(held.len(), 3, "{case}");
        let settlements: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
        for answer in team.store.settle(session, &settlements).await.unwrap() {
            assert!(answer == Settled::Now, "{case}: {answer:?}");
        }
        let audit = team.store.census().await.unwrap();
        assert!(audit.is_clean(), "{case}: {audit:#?}");
        assert_eq!((audit.jobs, audit.outcomes), (3, 3), "{case}: done once, however often it was begun");
        assert!(refused(&team.database).await > 2, "{case}: nothing was refused");
    }
}

/// A real one: the store has one row and waits for the other, a neighbour has the other and waits for the first.
#[tokio::test]
async fn a_deadlock_with_a_neighbour_is_survived() {
    let team = Team::with(|config| config.lock_timeout = Duration::from_secs(30)).await;
    let mut batch = jobs(2, &a_job());
    batch.sort_by_key(|job| job.id);
    team.store.submit(&batch).await.unwrap();
    let ids = [batch[0].id, batch[1].id];
    let neighbour = team.database.client().await;
    // It is patient, so that the store is the one to be ended.
    neighbour.batch_execute("SET deadlock_timeout = '1min'; BEGIN").await.unwrap();
    let lock = "SELECT FROM ready WHERE job = $1 FOR UPDATE";
    neighbour.query_one(lock, &[&ids[1].0]).await.unwrap();
    let tenant = TenantId::default();
    let cancelled = team.store.cancel(&tenant, &ids);
    let meddle = async {
        let watcher = team.database.client().await;
        let start = Instant::now();
        loop {
            let row = watcher
                .query_one(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
                    &[],
                )
                .await
                .unwrap();
            if row.get::<_, i64>(0) > 0 {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "the store does not wait for the neighbour");
            sleep(Duration::from_millis(10)).await;
        }
        // Granted when the store's transaction was ended; then the neighbour goes, and the store's next try finds both free.
        neighbour.query_one(lock, &[&ids[0].0]).await.unwrap();
        neighbour.batch_execute("COMMIT").await.unwrap();
    };
    let (answers, ()) = tokio::join!(cancelled, meddle);
    let answers = answers.unwrap();
    assert!(answers.iter().all(|answer| *answer == Some(CancelAnswer::WasWaiting)), "{answers:?}");
    let row = neighbour
        .query_one("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", &[])
        .await
        .unwrap();
    assert!(row.get::<_, i64>(0) >= 1, "there was no deadlock: this run proves nothing");
    assert!(team.store.census().await.unwrap().is_clean());
}

/// Whoever brings jobs to a queue takes the queue first and then the jobs, whichever way they are written.
#[tokio::test]
async fn a_queue_is_taken_before_the_jobs_that_come_to_it() {
    let team = Team::new().await;
    let holder = team.database.client().await;
    holder
        .batch_execute("BEGIN; INSERT INTO queues (queue, tenant, used_at) VALUES ('default', 'default', now())")
        .await
        .unwrap();
    let watcher = team.database.client().await;
    // With a key they are written the careful way.
    for job in [a_job(), a_job().keyed("once", 1)] {
        let store = team.store.clone();
        let batch = jobs(1, &job);
        let submitting = foreman_runtime::Tasks::new().spawn("a submission", async move { store.submit(&batch).await });
        let deadline = Instant::now() + Duration::from_secs(10);
        let waiting = loop {
            let sql = "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'
                       AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database()) LIMIT 1";
            if let Some(row) = watcher.query_opt(sql, &[]).await.unwrap() {
                break row.get::<_, i32>(0);
            }
            assert!(Instant::now() < deadline, "it waits for the queue");
            sleep(Duration::from_millis(5)).await;
        };
        let sql = "SELECT count(*) FROM pg_locks WHERE pid = $1 AND mode = 'RowExclusiveLock'
                   AND relation = ANY (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'jobs'::regclass)";
        let taken: i64 = watcher.query_one(sql, &[&waiting]).await.unwrap().get(0);
        assert_eq!(taken, 0, "no job is written before the queue is there");
        assert!(submitting.await.unwrap().is_err(), "it gives up when it has waited for too long");
    }
}

/// Places in line are taken and given back in the order of their names, in whatever order they are named.
#[tokio::test]
async fn places_are_given_back_in_the_order_in_which_they_are_reserved() {
    let team = Team::new().await;
    let (holder, giver, probe) =
        (team.database.client().await, team.database.client().await, team.database.client().await);
    holder
        .batch_execute(
            "INSERT INTO line_shares (queue, lane, route, tenant, last_key, given)
             VALUES ('a', 1, 'http', 't', 10, 10), ('b', 1, 'http', 't', 10, 10)",
        )
        .await
        .unwrap();
    holder.batch_execute("BEGIN; SELECT FROM line_shares WHERE queue = 'a' FOR UPDATE").await.unwrap();
    let statements = foreman_postgres::statements::all();
    let text = statements.iter().find(|text| text.contains("given_back.used")).unwrap();
    giver.batch_execute(&format!("PREPARE give_back AS {text}")).await.unwrap();
    let pid: i32 = giver.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let giving = foreman_runtime::Tasks::new().spawn("gives back", async move {
        let sql = "EXECUTE give_back ('{b,a}', '{1,1}', '{http,http}', '{t,t}', '{10,10}', '{5,5}')";
        giver.batch_execute(sql).await
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    let is_waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)";
    while !probe.query_one(is_waiting, &[&pid]).await.unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < deadline, "it waits for the first of them");
        sleep(Duration::from_millis(5)).await;
    }
    probe.batch_execute("BEGIN; SELECT FROM line_shares WHERE queue = 'b' FOR UPDATE NOWAIT; COMMIT").await.unwrap();
    holder.batch_execute("COMMIT").await.unwrap();
    giving.await.unwrap().unwrap();
    let keys = probe.query("SELECT last_key FROM line_shares ORDER BY queue", &[]).await.unwrap();
    assert_eq!(keys.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>(), [5, 5]);
}

/// Whoever reserves places holds one while it waits for the next. To look for unused ones must wait for none of them.
#[tokio::test]
async fn the_pruner_leaves_out_a_line_that_is_in_use() {
    let team = Team::new().await;
    let (holder, probe) = (team.database.client().await, team.database.client().await);
    // As a version wrote them that did not note when they were used.
    holder
        .batch_execute(
            "INSERT INTO line_shares (queue, lane, route, tenant, last_key, given)
             VALUES ('a', 1, 'task:x', 't', 10, 10), ('b', 1, 'task:x', 't', 10, 10), ('c', 1, 'task:x', 't', 10, 10)",
        )
        .await
        .unwrap();
    holder.batch_execute("BEGIN; SELECT FROM line_shares WHERE queue = 'b' FOR UPDATE").await.unwrap();
    team.store.prune_kind(None, PruneKind::Lines, &for_ever(), 100).await.unwrap();
    let noted = "SELECT string_agg(queue, ' ' ORDER BY queue) FROM line_shares WHERE given_at IS NOT NULL";
    assert_eq!(probe.query_one(noted, &[]).await.unwrap().get::<_, String>(0), "a c");
    holder.batch_execute("COMMIT").await.unwrap();
}
