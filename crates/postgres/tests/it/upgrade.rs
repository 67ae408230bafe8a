//! What a database of an earlier version has in it when it is migrated, and what a binary of that version puts there afterwards.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{HOUR, MINUTE, Scene, a_job, completed, dead, failed, interrupted, jobs, retry};
use foreman_core::error_group::ErrorGroup;
use foreman_core::fair::UNIT;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    Counted, JobFilter, JobQuery, JobStore, RedriveAnswer, Settled, Settlement, Step, WebhookStore,
};
use foreman_core::{Fence, JobId, SessionId, State, TenantId};
use foreman_postgres::{Config, PostgresStore, migrate};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::given::{Database, Team};

/// As version 2 left it.
const BACK_TO_TWO: &str =
    "DROP TABLE tenants, api_keys, webhooks, deliveries, courier, audit_trail, line_fronts, line_shares;
    DROP INDEX ready_of_tenant;
    DELETE FROM job_tags WHERE tag = 'foreman:callback';
    DELETE FROM foreman_migrations WHERE version = 3";

/// As version 3 left it.
fn back_to_three() -> String {
    let first = include_str!("../../migrations/0001_places.sql");
    let (_, view) = first.split_once("CREATE VIEW held").expect("the view of the first version");
    let (view, _) = view.split_once(';').expect("its end");
    format!(
        "DROP VIEW held, courier, bookkeeper;
         CREATE TABLE courier (is_one boolean NOT NULL PRIMARY KEY DEFAULT true, position bigint NOT NULL);
         INSERT INTO courier (position) SELECT position FROM followers WHERE name = 'courier';
         DROP TABLE followers;
         ALTER TABLE claims DROP COLUMN moves;
         ALTER TABLE ready DROP COLUMN moves;
         DROP INDEX IF EXISTS outcomes_by_error, failures_of_users, jobs_of_users, jobs_of_foreman, ended_of_users, ended_of_foreman;
         CREATE INDEX IF NOT EXISTS jobs_of_tenant ON jobs (tenant, id);
         CREATE INDEX IF NOT EXISTS outcomes_by_state ON outcomes (tenant, state, finished_at, job) INCLUDE (queue);
         ALTER TABLE outcomes DROP COLUMN moves, DROP COLUMN error_group;
         ALTER TABLE changes DROP COLUMN notes;
         DROP TABLE statistics, passes, upkeep, depths;
         DROP TRIGGER line_shares_used ON line_shares;
         DROP FUNCTION foreman_line_used;
         ALTER TABLE line_shares DROP COLUMN given_at, DROP COLUMN idle;
         DROP FUNCTION foreman_counted;
         CREATE VIEW held{view};
         ALTER TABLE jobs DROP COLUMN outline;
         ALTER TABLE tenants DROP COLUMN disabled;
         ALTER TABLE sessions DROP COLUMN tasks, DROP COLUMN consumes;
         ALTER TABLE ready DROP COLUMN announced, DROP COLUMN refusals, DROP COLUMN announce_at;
         DROP TABLE announcements, parked_messages;
         DROP SEQUENCE announcement_numbers;
         DELETE FROM foreman_migrations WHERE version >= 4"
    )
}

async fn migrated_again(database: &Database, changes: &str) {
    let sql = format!("{}; {BACK_TO_TWO}; {changes}", back_to_three());
    database.client().await.batch_execute(&sql).await.unwrap();
    assert_eq!(migrate::up(&Config::at(database.url())).await.unwrap(), (3..=migrate::LATEST).collect::<Vec<_>>());
}

async fn migrated_from_three(database: &Database) {
    database.client().await.batch_execute(&back_to_three()).await.unwrap();
    assert_eq!(migrate::up(&Config::at(database.url())).await.unwrap(), (4..=migrate::LATEST).collect::<Vec<_>>());
}

/// That version kept a job's wish to have somebody called, and left it to this one.
#[tokio::test]
async fn callbacks_asked_for_before_the_migration_are_found_after_it() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    let asking = |url: &str| {
        let url = Some(url.to_owned());
        a_job().work(move |work| work.callback_url = url)
    };
    let session = scene.session().await;
    let done = scene.submit(asking("https://example.com/done")).await;
    scene.run(session, done, completed()).await;
    let held = scene.submit(asking("https://example.com/held")).await;
    scene.claim_job(session, held).await;
    let waits = scene.submit(asking("https://example.com/waits")).await;
    let plain = scene.submit(a_job()).await;
    let damaged = scene.submit(a_job()).await;
    let damage = format!("UPDATE jobs SET work = '{{\"callback_url\" never closed' WHERE id = '{}'", damaged.0);
    migrated_again(&team.database, &damage).await;

    let store = PostgresStore::open(Config::at(team.database.url()), Arc::new(LocalWakeups::new())).await.unwrap();
    let asked = store.with_callback(&[waits, held, done, plain]).await.unwrap();
    assert_eq!(asked, [waits, held], "what was over before is told to nobody, and what cannot be read hinders nobody");
    store.close();
}

/// A queue has served a million, and nothing waits in it at the migration. What a binary of the version before submits then has
/// its place among what this one submits, not behind the next million.
#[tokio::test]
async fn what_the_version_before_submits_after_the_migration_has_its_turn() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let first = scene.submit(a_job()).await;
    scene.run(session, first, completed()).await;
    let served = 1_000_000 * UNIT;
    migrated_again(&team.database, &format!("UPDATE lanes SET v = {served}")).await;

    let ours = scene.submit_all(&jobs(3, &a_job())).await;
    let theirs = scene.submit(a_job()).await;
    // As its statement has it: behind the front that it knows.
    let key = served + UNIT;
    let placed = team.database.client().await;
    placed.execute("UPDATE ready SET key = $1 WHERE job = $2", &[&key, &theirs.0]).await.unwrap();
    let taken: Vec<_> = scene.claim(session, 2).await.into_iter().map(|held| held.job.id).collect();
    assert_eq!(taken, [ours[0], theirs]);
    scene.census().await;
}

/// The moves of one job that the log has, in their order.
async fn steps(scene: &Scene<'_>, job: JobId, from: usize) -> Vec<Step> {
    let moved = scene.moved_since(foreman_core::ports::Position::default()).await;
    moved.into_iter().filter(|moved| moved.id == job).map(|moved| moved.step).skip(from).collect()
}

fn assert_rises(steps: &[Step]) {
    let counted: Vec<u32> = steps.iter().map(|step| step.sequence).filter(|sequence| *sequence > 0).collect();
    assert!(
        counted.is_sorted_by(|one, next| one < next),
        "a count that fell is a move that nobody would show: {steps:?}"
    );
}

/// Jobs that wait, are held and are final when nobody had counted their moves yet.
#[tokio::test]
async fn jobs_of_the_version_before_go_on_from_wherever_they_are() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let later = scene.submit(a_job().after(HOUR)).await;
    let waits = scene.submit(a_job()).await;
    let [ends, returns, goes_on, is_cancelled] = [
        scene.submit(a_job()).await,
        scene.submit(a_job()).await,
        scene.submit(a_job()).await,
        scene.submit(a_job()).await,
    ];
    let proofs = [
        scene.claim_job(session, ends).await,
        scene.claim_job(session, returns).await,
        scene.claim_job(session, goes_on).await,
    ];
    scene.claim_job(session, is_cancelled).await;
    let died = scene.submit(a_job()).await;
    scene.run(session, died, dead("connect to 10.0.0.1:80: refused")).await;
    migrated_from_three(&team.database).await;

    assert_eq!(scene.view(ends).await.sequence, 0, "nobody counted");
    scene.advance(MINUTE).await;
    let [first, second, third] = proofs;
    assert_eq!(scene.settle(first, completed()).await, Settled::Now);
    assert_eq!(scene.settle(second, interrupted()).await, Settled::Now);
    assert_eq!(scene.settle(third, retry(HOUR)).await, Settled::Now);
    scene.cancel(is_cancelled).await.expect("it is held");
    let [ended, returned] = [steps(&scene, ends, 2).await, steps(&scene, returns, 2).await];
    assert_eq!((ended[0].state, ended[0].took), (State::Completed, Some(MINUTE)));
    assert_eq!((returned[0].state, returned[0].took), (State::Pending, Some(MINUTE)));
    assert_eq!(scene.view(ends).await.sequence, ended[0].sequence);
    scene.wait(HOUR).await;
    let session = scene.session().await;
    for held in scene.claim(session, 10).await {
        scene.complete(session, held).await;
    }
    assert_eq!(scene.redrive(died).await, Some(RedriveAnswer::Redriven));
    for job in [later, waits, ends, returns, goes_on, is_cancelled, died] {
        assert_rises(&steps(&scene, job, 0).await);
        assert!(scene.view(job).await.sequence > 1, "{job}");
    }
    scene.census().await;
}

/// What died before errors were grouped is one group, beside those that die now.
#[tokio::test]
async fn the_dead_of_the_version_before_are_a_group_of_their_own() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let mut before = Vec::new();
    for error in ["no such user 7", "connection refused", "no such user 8"] {
        let job = scene.submit(a_job().kind("old")).await;
        scene.advance(MINUTE).await;
        scene.run(session, job, dead(error)).await;
        before.push((job, scene.now().await));
    }
    migrated_from_three(&team.database).await;
    let after = scene.submit(a_job()).await;
    scene.run(session, after, dead("no such user 9")).await;
    let elsewhere = scene.submit(a_job()).await;
    scene.run(session, elsewhere, failed("no such user 10")).await;

    let tenant = TenantId::default();
    let groups = team.store.failure_groups(&tenant, &[State::Dead], 10, 2).await.unwrap().groups;
    assert_eq!(groups.len(), 2, "{groups:?}");
    let (old, new) = (&groups[0], &groups[1]);
    assert_eq!((old.group.clone(), old.counted), (None, Counted { count: 2, is_estimate: true }));
    assert_eq!((old.sample, old.last_at), before[2]);
    assert_eq!(
        (old.first_at, old.error.as_deref(), old.kind.as_deref()),
        (before[0].1, Some("no such user 8"), Some("old"))
    );
    let group = ErrorGroup::of("no such user 1");
    assert_eq!((new.group.clone(), new.counted.count, new.sample), (Some(group.clone()), 1, after));
    let of_group = |state| JobFilter { state, error_group: Some(group.clone()), ..JobFilter::default() };
    let found = team.store.list(&tenant, &of_group(None), None, 10).await.unwrap();
    assert_eq!(found.items.iter().map(|summary| summary.id).collect::<Vec<_>>(), [elsewhere, after]);
    assert_eq!(team.store.count(&tenant, &of_group(Some(State::Dead))).await.unwrap(), 1);
}

/// As the statement of version 3 has it: without the count of moves.
async fn claim_as_three(client: &Client, session: SessionId, jobs: &[JobId], at: &str) -> Fence {
    let sql = format!(
        "WITH taken AS (DELETE FROM ready WHERE job = ANY ($3) RETURNING *)
         INSERT INTO claims (number, session, token, claimed_at, jobs, tenants, queues, routes, lanes, kinds, run_at,
                             expires_at, attempt, spent, crashes, open)
         SELECT nextval('claim_numbers'), $1, $2, '{at}', array_agg(job), array_agg(tenant), array_agg(queue),
                array_agg(route), array_agg(lane), array_agg(kind), array_agg(run_at), array_agg(expires_at),
                array_agg(attempt + 1), array_agg(spent + 1), array_agg(crashes),
                repeat('1', count(*)::integer)::bit varying
         FROM taken RETURNING number"
    );
    let jobs: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    Fence(client.query_one(&sql, &[&session.0, &Uuid::now_v7(), &jobs]).await.unwrap().get(0))
}

/// The same of a retry that a binary of version 3 has put back.
async fn retry_as_three(client: &Client, job: JobId) {
    let sql = "WITH gone AS (DELETE FROM claims WHERE $1 = ANY (jobs) AND cardinality(jobs) = 1 RETURNING *)
               INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, key)
               SELECT jobs[1], tenants[1], queues[1], routes[1], lanes[1], kinds[1], run_at[1], expires_at[1], attempt[1],
                      spent[1], crashes[1], 0
               FROM gone";
    assert_eq!(client.execute(sql, &[&job.0]).await.unwrap(), 1);
}

/// While one process after the other is replaced, jobs go from hand to hand.
#[tokio::test]
async fn what_a_binary_of_the_version_before_holds_is_settled_by_this_one() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let client = team.database.client().await;
    let at = scene.now().await.to_string();
    let ids = scene.submit_all(&jobs(4, &a_job())).await;
    let fence = claim_as_three(&client, session, &ids, &at).await;
    let held = team.store.held_by(session, 10).await.unwrap();
    assert_eq!(
        held.iter().map(|held| (held.job, held.attempt)).collect::<Vec<_>>(),
        ids.iter().map(|id| (*id, 1)).collect::<Vec<_>>()
    );
    scene.advance(MINUTE).await;
    let ended = [completed(), dead("gone"), retry(HOUR)];
    let settlements: Vec<Settlement> =
        ids.iter().zip(ended).map(|(job, verdict)| Settlement { fence, job: *job, verdict }).collect();
    let settled = team.store.settle(session, &settlements).await.unwrap();
    assert_eq!(settled, [Settled::Now; 3]);
    assert_eq!(scene.end(session).await, 1, "the fourth is handed back");
    for id in &ids {
        let told = steps(&scene, *id, 0).await;
        assert_rises(&told);
        assert_eq!(told.last().and_then(|step| step.took), Some(MINUTE), "{told:?}");
    }
    // Back and forth: this one claims, that one returns it, and this one claims again.
    let session = scene.session().await;
    let fourth = ids[3];
    scene.claim_job(session, fourth).await;
    retry_as_three(&client, fourth).await;
    let proof = scene.claim_job(session, fourth).await;
    scene.end_attempt(proof, completed()).await;
    let told = steps(&scene, fourth, 0).await;
    assert_rises(&told);
    assert_eq!(scene.view(fourth).await.sequence, told.last().unwrap().sequence);
    scene.census().await;
}

/// A history as `FEW` in src/indexes.rs has it, and one more; in a week of its own, for jobs are made now.
const LONG: &str =
    "INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report)
     SELECT ('ffffffff' || substr(gen_random_uuid()::text, 9))::uuid, 'default', 'dead', 'q', now(), 1, 1, 0, now(), true, '{}'
     FROM generate_series(1, 10001)";

/// The indexes on all that ever ended, and those of its weeks, by whether they are good.
async fn indexes_by_error(client: &Client) -> Vec<(String, bool)> {
    let sql = "SELECT indexrelid::regclass::text, indisvalid FROM pg_index
               WHERE indexrelid::regclass::text SIMILAR TO '(outcomes%_by_error|failures_of_users|outcomes_default_failures_of_users)'
               ORDER BY 1";
    client.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Whoever settles while the history is read is not kept waiting, and what was made half is made anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_of_errors_is_made_after_the_migration_while_jobs_end() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let scene = Scene::of(&team);
    let client = team.database.client().await;
    client.batch_execute(&format!("{}; {LONG}", back_to_three())).await.unwrap();
    let config = Config::at(team.database.url());
    let other = team.database.client().await;
    let meanwhile = async {
        let sql = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                   AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX CONCURRENTLY%')";
        while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let session = scene.session().await;
        let job = scene.submit(a_job()).await;
        scene.run(session, job, dead("meanwhile")).await;
        other.batch_execute("COMMIT").await.unwrap();
    };
    client.batch_execute("SELECT pg_advisory_lock(x'00696e646578'::bigint)").await.unwrap();
    assert_eq!(
        migrate::up(&config).await.unwrap(),
        (4..=migrate::LATEST).collect::<Vec<_>>(),
        "somebody else makes the index"
    );
    assert_eq!(indexes_by_error(&client).await, []);
    client.batch_execute("SELECT pg_advisory_unlock(x'00696e646578'::bigint)").await.unwrap();
    // One that has ended a job and not committed: the index waits for it, and nobody else does.
    other.batch_execute(&format!("BEGIN; {}", LONG.replace("10001", "1"))).await.unwrap();
    let both = async { tokio::join!(migrate::up(&config), meanwhile) };
    let (done, ()) = tokio::time::timeout(Duration::from_mins(1), both).await.expect("it comes about");
    assert_eq!(done.unwrap(), [0_i64; 0]);
    let good = |name: &str| (name.to_owned(), true);
    let both = [
        good("failures_of_users"),
        good("outcomes_by_error"),
        good("outcomes_default_by_error"),
        good("outcomes_default_failures_of_users"),
    ];
    assert_eq!(indexes_by_error(&client).await, both);
    let groups = team.store.failure_groups(&TenantId::default(), &State::FAILURES, 10, 100).await.unwrap().groups;
    assert_eq!(groups.iter().map(|group| group.counted.count).collect::<Vec<_>>(), [100, 1]);
    // As one who dies on the way leaves it.
    client
        .batch_execute(
            "DROP INDEX outcomes_by_error;
             CREATE INDEX outcomes_default_by_error ON outcomes_default (tenant) WHERE state = 'dead';
             UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'outcomes_default_by_error'::regclass",
        )
        .await
        .unwrap();
    migrate::up(&config).await.unwrap();
    assert_eq!(indexes_by_error(&client).await, both);
}

/// The version before wrote no outlines: what is large of its is read, one at a time, and shown like the rest.
#[tokio::test]
async fn large_work_of_the_version_before_is_listed_like_any_other() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let body = foreman_core::target::Body::Text("x".repeat(100_000));
    let large = |work: &mut foreman_core::Work| {
        let foreman_core::Target::Http(http) = &mut work.target else { panic!("a call") };
        http.body = body.clone();
    };
    let ids =
        [scene.submit(a_job().work(large)).await, scene.submit(a_job().work(large)).await, scene.submit(a_job()).await];
    let client = team.database.client().await;
    let outlined = "SELECT count(outline) FROM jobs";
    assert_eq!(client.query_one(outlined, &[]).await.unwrap().get::<_, i64>(0), 2, "what is small has none");
    client.execute("UPDATE jobs SET outline = NULL WHERE id = $1", &[&ids[0].0]).await.unwrap();
    let page = team.store.list(&TenantId::default(), &JobFilter::default(), None, 10).await.unwrap();
    assert_eq!(page.items.len(), 3);
    for summary in page.items {
        let view = scene.view(summary.id).await;
        assert_eq!(summary, view.into());
    }
}

async fn outdated_indexes(client: &Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace
               AND relname IN ('jobs_of_tenant', 'outcomes_by_state', 'outcomes_of_users')";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn an_index_of_the_version_before_is_dropped_when_that_version_is_gone() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let client = team.database.client().await;
    assert_eq!(outdated_indexes(&client).await, 0, "nobody ever ran the version before here");
    let job = Scene::of(&team).submit(a_job()).await;
    client.batch_execute(&back_to_three()).await.unwrap();
    let config = Config::at(team.database.url());
    migrate::up(&config).await.unwrap();
    migrate::up(&config).await.unwrap();
    assert_eq!(outdated_indexes(&client).await, 2, "the version before may still run");
    client.batch_execute("UPDATE foreman_migrations SET applied_at = applied_at - interval '25 hours'").await.unwrap();
    migrate::up(&config).await.unwrap();
    assert_eq!(outdated_indexes(&client).await, 0);
    Scene::of(&team).view(job).await;
}
