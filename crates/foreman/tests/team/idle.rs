//! A fleet that has nothing to do: it is cheap, and it is awake at once.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::stage::{Database, Fleet, Pace, Plan, Role, Sql, Target, beside, picked_up, torture};

/// A server process adds what it has done to what is counted within ten seconds of the last.
const UNTIL_COUNTED: Duration = Duration::from_secs(11);

/// Transactions of the database so far, but for those not counted yet.
async fn transactions(sql: &Sql) -> i64 {
    let row = sql
        .query_one("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()", &[])
        .await
        .unwrap();
    row.get(0)
}

/// Loops look less and less often while nothing happens: after so long, as seldom as they ever do.
const UNTIL_AT_REST: Duration = Duration::from_secs(30);

/// Transactions a second of seven processes that have nothing to do.
const MOST: f64 = 5.0;
/// Heartbeats alone are more: fewer were not counted.
const LEAST: f64 = 0.5;

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_fleet_asks_its_database_only_a_few_things_a_second() {
    let _turn = beside().await;
    let seconds = if torture() { 120 } else { 20 };
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, Plan { api: 2, worker: 3, scheduler: 2 }, Pace::Defaults).await;
    let sql = database.connect("counter").await;
    // What was done at the start is counted late, too.
    sleep(UNTIL_COUNTED.max(UNTIL_AT_REST)).await;
    let (begun, before) = (Instant::now(), transactions(&sql).await);
    sleep(Duration::from_secs(seconds)).await;
    let counted = (transactions(&sql).await - before) as f64 / begun.elapsed().as_secs_f64();
    println!("an idle fleet of seven made {counted:.1} transactions a second");
    assert!(counted > LEAST, "{counted:.1} a second");
    assert!(counted < MOST, "{counted:.1} a second");
    fleet.assert_alive();
}

/// The poll is far away, so only a wake-up can have brought the job to the worker.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_is_woken_and_does_not_wait_for_its_poll() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let poll = Duration::from_mins(1);
    let mut fleet = Fleet::new(&database, Pace::Defaults, &[("FOREMAN_WORKER_POLL", "1m")]);
    fleet.start_plan(Plan { api: 1, worker: 2, scheduler: 1 }, &[]).await;
    let slowest = picked_up(&fleet, &target, 5).await;
    println!("the slowest of five idle pick-ups took {slowest:?}");
    assert!(slowest < poll / 4, "it waited for the poll: {slowest:?}");
    database.assert_clean().await;
}

/// What a lost wake-up costs: a poll, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_no_wake_up_reaches_finds_its_work_by_the_poll() {
    let _turn = beside().await;
    let (database, elsewhere, target) = (Database::fresh().await, Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 0, scheduler: 0 }, Pace::Defaults).await;
    // It listens where nobody rings.
    let deaf = [("FOREMAN_DATABASE_DIRECT_URL", elsewhere.url.as_str()), ("FOREMAN_WORKER_POLL", "1s")];
    fleet.add_with(Role::Worker, &[], &deaf).await;
    let slowest = picked_up(&fleet, &target, 3).await;
    println!("the slowest of three pick-ups by polling took {slowest:?}");
    database.assert_clean().await;
}
