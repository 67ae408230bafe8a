//! The weeks of `jobs` and `outcomes`.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{a_job, completed};
use foreman_conformance::given::{by_order, session_info, taken};
use foreman_core::JobId;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{JobQuery, JobStore, SessionStore, Submitted};
use foreman_core::{NewJob, SessionId, TenantId};
use foreman_postgres::{Config, PostgresStore, doctor};
use tokio::time::Instant;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::given::{Database, Team};

const WEEK: u64 = 7 * 86_400;

/// All weeks are there that should be, also when this run began in the week before.
async fn up_to_date(team: &Team) {
    team.store.tend_partitions(0).await.unwrap();
}

/// A job as it would have been made so many seconds after 1970.
fn made_at(seconds: u64) -> NewJob {
    let id = JobId(Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, 0)));
    NewJob { id, ..a_job().build() }
}

async fn place_of(team: &Team, table: &str, column: &str, id: JobId) -> Option<String> {
    let client = team.database.client().await;
    let text = format!("SELECT tableoid::regclass::text FROM {table} WHERE {column} = $1");
    client.query_opt(&text, &[&id.0]).await.unwrap().map(|row| row.get(0))
}

async fn now_of(team: &Team) -> u64 {
    let row = team.database.client().await.query_one("SELECT extract(epoch FROM now())::bigint", &[]).await.unwrap();
    u64::try_from(row.get::<_, i64>(0)).unwrap()
}

#[tokio::test]
async fn a_job_lies_in_the_week_of_its_id_and_one_from_nowhere_in_the_default() {
    let team = Team::new().await;
    let now = now_of(&team).await;
    let (today, long_ago, far_ahead) = (made_at(now), made_at(1_000_000), made_at(now + 520 * WEEK));
    let batch = [today.clone(), long_ago.clone(), far_ahead.clone()];
    assert!(
        team.store.submit(&batch).await.unwrap().iter().all(Submitted::is_accepted),
        "a wrong clock fails no batch"
    );
    assert!(place_of(&team, "jobs", "id", today.id).await.unwrap().starts_with("jobs_w"));
    assert_eq!(place_of(&team, "jobs", "id", long_ago.id).await.unwrap(), "jobs_default");
    assert_eq!(place_of(&team, "jobs", "id", far_ahead.id).await.unwrap(), "jobs_default");
    for job in &batch {
        assert!(team.store.get(&TenantId::default(), job.id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn when_a_week_is_made_late_its_jobs_move_out_of_the_default() {
    let team = Team::new().await;
    up_to_date(&team).await;
    let now = now_of(&team).await;
    let client = team.database.client().await;
    let next_week: String = client
        .query_one(
            "SELECT child.relname::text FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
             WHERE inhparent = 'jobs'::regclass AND child.relname ~ '_w' ORDER BY 1 OFFSET 1 LIMIT 1",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    client.batch_execute(&format!("DROP TABLE {next_week}")).await.unwrap();
    let job = made_at(now + WEEK);
    team.store.submit(std::slice::from_ref(&job)).await.unwrap();
    assert_eq!(place_of(&team, "jobs", "id", job.id).await.unwrap(), "jobs_default");
    assert_eq!(team.store.tend_partitions(100).await.unwrap().0, 1, "one partition was missing");
    assert_eq!(place_of(&team, "jobs", "id", job.id).await.unwrap(), next_week);
    assert_eq!(team.store.tend_partitions(100).await.unwrap(), (0, 0));
    assert!(team.store.census().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_week_long_past_is_dropped_and_what_is_kept_longer_survives() {
    let team = Team::new().await;
    let client = team.database.client().await;
    // A Monday long ago, with bounds as the store makes them.
    let monday: u64 = 1_577_664_000;
    for (table, name) in [("jobs", "jobs_w20191230"), ("outcomes", "outcomes_w20191230")] {
        let bound = |seconds: u64| Uuid::from_u128(u128::from(seconds * 1_000) << 80);
        let (from, to) = (bound(monday), bound(monday + WEEK));
        client
            .batch_execute(&format!("CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ('{from}') TO ('{to}')"))
            .await
            .unwrap();
    }
    let survivor = made_at(monday + 60);
    team.store.submit(std::slice::from_ref(&survivor)).await.unwrap();
    let session = SessionId::fresh();
    team.store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    let held = taken(team.store.claim(&by_order(session, 1)).await.unwrap());
    let settled: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    team.store.settle(session, &settled).await.unwrap();
    assert_eq!(place_of(&team, "jobs", "id", survivor.id).await.unwrap(), "jobs_w20191230");
    assert_eq!(team.store.tend_partitions(0).await.unwrap().1, 0, "more are left in it than may move");
    assert_eq!(team.store.tend_partitions(10).await.unwrap().1, 2);
    assert_eq!(place_of(&team, "jobs", "id", survivor.id).await.unwrap(), "jobs_default");
    assert_eq!(place_of(&team, "outcomes", "job", survivor.id).await.unwrap(), "outcomes_default");
    assert!(team.store.census().await.unwrap().is_clean());
}

#[tokio::test]
async fn partitions_are_left_alone_while_somebody_reads_them() {
    let team = Team::new().await;
    let client = team.database.client().await;
    let bound = |seconds: u64| Uuid::from_u128(u128::from(seconds * 1_000) << 80);
    let (from, to) = (bound(1_577_664_000), bound(1_577_664_000 + WEEK));
    let name = "jobs_w20191230";
    client
        .batch_execute(&format!("CREATE TABLE {name} PARTITION OF jobs FOR VALUES FROM ('{from}') TO ('{to}')"))
        .await
        .unwrap();
    client.batch_execute("BEGIN; SELECT count(*) FROM jobs").await.unwrap();
    assert!(
        team.store.tend_partitions(10).await.is_err(),
        "it does not wait behind a reader, for all would wait behind it"
    );
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(team.store.tend_partitions(10).await.unwrap().1, 1);
}

#[tokio::test]
async fn a_week_of_which_too_much_is_in_the_default_stays_there() {
    let team = Team::new().await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    let (next_week, bounds): (String, String) = client
        .query_one(
            "SELECT child.relname::text, pg_get_expr(child.relpartbound, child.oid)
             FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
             WHERE inhparent = 'jobs'::regclass AND child.relname ~ '_w' ORDER BY 1 OFFSET 1 LIMIT 1",
            &[],
        )
        .await
        .map(|row| (row.get(0), row.get(1)))
        .unwrap();
    client.batch_execute(&format!("DROP TABLE {next_week}")).await.unwrap();
    // The first half of an id is the time; the second makes each another.
    let first = bounds.split('\'').nth(1).unwrap()[..23].to_owned();
    client
        .execute(
            &format!(
                "INSERT INTO jobs
                 SELECT ('{first}-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'default', 'http', 1, NULL, NULL, 1, now(),
                        now(), '{{}}'
                 FROM generate_series(1, 10001) AS n"
            ),
            &[],
        )
        .await
        .unwrap();
    assert_eq!(team.store.tend_partitions(100).await.unwrap().0, 0, "everybody would wait for so many");
    client.execute("DELETE FROM jobs_default WHERE id IN (SELECT id FROM jobs_default LIMIT 1)", &[]).await.unwrap();
    assert_eq!(team.store.tend_partitions(100).await.unwrap().0, 1);
    assert_eq!(client.query_one("SELECT count(*) FROM jobs_default", &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// A default partition that is large. Answers how long it takes at least to read it under a lock.
async fn fill_the_default(client: &Client) -> Duration {
    put_into_the_default(client, 600_000).await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let scan = "BEGIN; ALTER TABLE jobs_default ADD CONSTRAINT scanned CHECK (id IS NOT NULL); ROLLBACK";
        client.batch_execute(scan).await.unwrap();
        fastest = fastest.min(start.elapsed());
    }
    fastest
}

async fn put_into_the_default(client: &Client, rows: i64) {
    // So many rows would have it vacuumed, under a lock that partitions are not created beside.
    client.batch_execute("ALTER TABLE jobs_default SET (autovacuum_enabled = off)").await.unwrap();
    client
        .execute(
            "INSERT INTO jobs_default (id, tenant, queue, route, lane, max_attempts, created_at, first_run_at, work)
             SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'default', 'http', 1, 1, now(), now(),
                    '{}'
             FROM generate_series(1, $1::bigint) AS n",
            &[&rows],
        )
        .await
        .unwrap();
}

/// The last week that is made ahead.
async fn last_week(client: &Client) -> (String, Uuid) {
    week(client, "true").await
}

/// The week that has begun.
async fn this_week(client: &Client) -> (String, Uuid) {
    week(client, "child.relname = 'jobs_w' || to_char(date_trunc('week', now() AT TIME ZONE 'UTC'), 'YYYYMMDD')").await
}

async fn week(client: &Client, which: &str) -> (String, Uuid) {
    let sql = format!(
        "SELECT child.relname::text, pg_get_expr(child.relpartbound, child.oid)
         FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
         WHERE inhparent = 'jobs'::regclass AND child.relname ~ '_w' AND {which} ORDER BY 1 DESC LIMIT 1"
    );
    let row = client.query_one(&sql, &[]).await.unwrap();
    (row.get(0), row.get::<_, String>(1).split('\'').nth(1).unwrap().parse().unwrap())
}

/// The constraint that keeps the jobs of a week out of the default partition, as somebody left it who died before attaching.
async fn leave_a_constraint(client: &Client, (week, first_id): &(String, Uuid), is_valid: bool) {
    let next = Uuid::from_u128(first_id.as_u128() + (u128::from(WEEK * 1_000) << 80));
    let check = format!(
        "ALTER TABLE jobs_default ADD CONSTRAINT jobs_default_not_{} CHECK (id < '{first_id}' OR id >= '{next}') {}",
        &week[5..],
        if is_valid { "" } else { "NOT VALID" }
    );
    client.batch_execute(&check).await.unwrap();
}

async fn constraints_of_the_default(client: &Client) -> i64 {
    let text = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'jobs_default'::regclass AND contype = 'c'";
    client.query_one(text, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_week_is_created_beside_a_default_partition_that_is_too_large_to_be_read() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    let (last, first_id) = last_week(&client).await;
    client.batch_execute(&format!("DROP TABLE {last}")).await.unwrap();
    let read = fill_the_default(&client).await;
    // A statement that others wait for may take half of it.
    let mut config = Config::at(team.database.url());
    config.statement_timeout = read;
    let start = Instant::now();
    let mut made = false;
    // As often as the pruner tries: a statement that reads nothing may take too long on a busy machine, one that reads everything
    // always does.
    while !made && start.elapsed() < Duration::from_mins(2) {
        if let Ok(hurried) = PostgresStore::open(config.clone(), Arc::new(LocalWakeups::new())).await {
            let _ = hurried.tend_partitions(0).await;
            hurried.close();
        }
        made = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&last]).await.unwrap().get(0);
    }
    assert!(made, "{last} is created by statements of at most half of {read:?}");
    assert_eq!(constraints_of_the_default(&client).await, 0, "nothing is left behind");
    let job = NewJob { id: JobId(first_id), ..a_job().build() };
    team.store.submit(std::slice::from_ref(&job)).await.unwrap();
    assert_eq!(place_of(&team, "jobs", "id", job.id).await.unwrap(), last);
}

#[tokio::test]
async fn a_job_of_a_coming_week_in_a_large_default_partition_stays_and_keeps_nothing_out() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    let (last, first_id) = last_week(&client).await;
    client.batch_execute(&format!("DROP TABLE {last}")).await.unwrap();
    fill_the_default(&client).await;
    let job = |n: u128| NewJob { id: JobId(Uuid::from_u128(first_id.as_u128() + n)), ..a_job().build() };
    team.store.submit(&[job(1)]).await.unwrap();
    // Unseen by the look before: as if it came in at that moment.
    let check = format!(
        "ALTER TABLE jobs_default ADD CONSTRAINT jobs_default_not_{} CHECK (id < '{first_id}') NOT VALID",
        &last[5..]
    );
    client.batch_execute(&check).await.unwrap();
    assert!(team.store.tend_partitions(0).await.is_err(), "it is refused");
    assert_eq!(constraints_of_the_default(&client).await, 0, "and the constraint is gone");
    assert_eq!(team.store.tend_partitions(0).await.unwrap().0, 0, "seen beforehand, it is not tried");
    team.store.submit(&[job(2)]).await.unwrap();
    assert_eq!(place_of(&team, "jobs", "id", job(2).id).await.unwrap(), "jobs_default");
}

/// The constraints that `foreman doctor` names, and whether they keep jobs out by now.
async fn exclusions(team: &Team) -> Vec<(String, bool)> {
    let found = doctor::examine(&Config::at(team.database.url())).await.unwrap().store.unwrap().exclusions;
    assert!(found.iter().all(|exclusion| exclusion.table == "jobs_default"), "{found:?}");
    found.into_iter().map(|exclusion| (exclusion.constraint, exclusion.is_urgent)).collect()
}

/// While it is there, no job of that week can be inserted.
#[tokio::test]
async fn a_constraint_that_was_left_behind_does_not_keep_out_the_jobs_of_a_week_that_has_begun() {
    for is_valid in [false, true] {
        let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
        up_to_date(&team).await;
        let client = team.database.client().await;
        let week = this_week(&client).await;
        client.batch_execute(&format!("DROP TABLE {}", week.0)).await.unwrap();
        leave_a_constraint(&client, &week, is_valid).await;
        let job = NewJob { id: JobId(Uuid::from_u128(week.1.as_u128() + 1)), ..a_job().build() };
        assert!(team.store.submit(std::slice::from_ref(&job)).await.is_err(), "nothing can be submitted");
        assert_eq!(exclusions(&team).await, [(format!("jobs_default_not_{}", &week.0[5..]), true)]);
        // Partitions cannot be attached now; everything else can be done.
        let other = team.database.client().await;
        other.batch_execute("BEGIN; LOCK TABLE ONLY jobs IN SHARE UPDATE EXCLUSIVE MODE").await.unwrap();
        assert!(team.store.tend_partitions(0).await.is_err(), "it does not wait");
        assert_eq!(constraints_of_the_default(&client).await, 0, "valid: {is_valid}");
        assert!(team.store.submit(std::slice::from_ref(&job)).await.unwrap()[0].is_accepted());
        assert_eq!(place_of(&team, "jobs", "id", job.id).await.unwrap(), "jobs_default");
        other.batch_execute("COMMIT").await.unwrap();
        assert_eq!(team.store.tend_partitions(0).await.unwrap().0, 1);
        assert_eq!(place_of(&team, "jobs", "id", job.id).await.unwrap(), week.0);
    }
}

/// It would keep out what is left of that week when its partition is dropped.
#[tokio::test]
async fn a_constraint_for_a_week_that_has_its_partition_is_dropped() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    let last = last_week(&client).await;
    leave_a_constraint(&client, &last, false).await;
    assert_eq!(exclusions(&team).await, [(format!("jobs_default_not_{}", &last.0[5..]), false)]);
    assert_eq!(team.store.tend_partitions(0).await.unwrap(), (0, 0));
    assert_eq!(constraints_of_the_default(&client).await, 0);
}

#[tokio::test]
async fn a_user_who_may_not_create_tables_leaves_no_constraint_behind() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    let last = last_week(&client).await;
    client.batch_execute(&format!("DROP TABLE {}", last.0)).await.unwrap();
    put_into_the_default(&client, 50_001).await;
    client
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE insufficient_privilege; END';
             CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refuse()",
        )
        .await
        .unwrap();
    // Also when it was left by one who might.
    for is_left in [false, true] {
        if is_left {
            leave_a_constraint(&client, &last, false).await;
        }
        assert!(team.store.tend_partitions(0).await.is_err(), "it is refused");
        assert_eq!(constraints_of_the_default(&client).await, 0, "left before: {is_left}");
    }
    client.batch_execute("DROP EVENT TRIGGER refuse").await.unwrap();
    assert_eq!(team.store.tend_partitions(0).await.unwrap().0, 1);
    assert_eq!(constraints_of_the_default(&client).await, 0);
}

#[tokio::test]
async fn whoever_stops_tending_half_way_leaves_no_lock_behind() {
    // Idle for so long before the server ends it, a transaction that was left behind would keep the query below waiting.
    let team = Team::with(|config| config.idle_timeout = Duration::from_hours(1)).await;
    up_to_date(&team).await;
    let client = team.database.client().await;
    // Held up where it has locked the default partition and makes the new one.
    client
        .batch_execute(
            "CREATE FUNCTION hold_up() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); END';
             CREATE EVENT TRIGGER hold_up ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hold_up()",
        )
        .await
        .unwrap();
    let last: String = client
        .query_one(
            "SELECT max(child.relname::text) FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
             WHERE inhparent = 'jobs'::regclass AND child.relname ~ '_w'",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    client.batch_execute(&format!("DROP TABLE {last}")).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(700), team.store.tend_partitions(10)).await.is_err());
    client.batch_execute("DROP EVENT TRIGGER hold_up").await.unwrap();
    let read = client.query("SELECT count(*) FROM jobs", &[]);
    tokio::time::timeout(Duration::from_mins(1), read).await.expect("the lock went with the connection").unwrap();
    assert_eq!(team.store.tend_partitions(10).await.unwrap().0, 1);
}
