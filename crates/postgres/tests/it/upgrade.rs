//! What a database of the version before has in it when it is migrated, and what a binary of that version puts there afterwards.

use std::sync::Arc;

use foreman_core::conformance::given::{Scene, a_job, completed, jobs};
use foreman_core::fair::UNIT;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::WebhookStore;
use foreman_postgres::{Config, PostgresStore, migrate};

use crate::given::{Database, Team};

/// As the version before left it.
const BACK_TO_TWO: &str =
    "DROP TABLE tenants, api_keys, webhooks, deliveries, courier, audit_trail, line_fronts, line_shares;
    DROP INDEX ready_of_tenant;
    DELETE FROM job_tags WHERE tag = 'foreman:callback';
    DELETE FROM foreman_migrations WHERE version = 3";

async fn migrated_again(database: &Database, changes: &str) {
    database.client().await.batch_execute(&format!("{BACK_TO_TWO}; {changes}")).await.unwrap();
    assert_eq!(migrate::up(&Config::at(database.url())).await.unwrap(), [3]);
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
    scene.audit().await;
}
