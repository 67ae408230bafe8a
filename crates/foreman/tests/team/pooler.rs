//! Behind PgBouncer in transaction mode: every statement of a role's jobs may find itself on another connection, and what needs
//! one that stays (wake-ups, leadership) goes past it.

use std::time::Duration;

use crate::stage::{
    Allowed, Checker, Database, Dice, Fault, Fleet, Load, Mix, Pace, Plan, Pooler, Role, Target, beside, picked_up,
    torture, until,
};

const PLAN: Plan = Plan { api: 1, worker: 2, scheduler: 1 };

/// As docs/operations.md tells whoever has a pooler.
fn behind(pooler: &Pooler, database: &Database, pace: Pace, more: &[(&str, &str)]) -> Fleet {
    let pooled = pooler.url_of(database);
    let mut variables = vec![
        ("DATABASE_URL", pooled.as_str()),
        ("FOREMAN_DATABASE_DIRECT_URL", database.url.as_str()),
        ("FOREMAN_DATABASE_PREPARE", "false"),
    ];
    variables.extend(more);
    Fleet::new(database, pace, &variables)
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_pooler_dead_workers_and_cut_connections_lose_nothing() {
    let _turn = beside().await;
    let rounds = if torture() { 40 } else { 4 };
    let (database, target, mut dice) = (Database::fresh().await, Target::start().await, Dice::new());
    let pooler = Pooler::shared();
    let mut fleet = behind(&pooler, &database, Pace::Quick, &[]);
    fleet.start_plan(PLAN, &[]).await;
    let scheduler = fleet.places(Role::Scheduler)[0];
    until("somebody leads", async || {
        fleet.processes[scheduler].metric("foreman_leader").await.filter(|value| *value > 0.5)
    })
    .await;
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(20), Mix::Mixed);
    let sql = database.connect("cutter").await;
    for _ in 0..rounds {
        load.goes_on(20).await;
        let workers = fleet.places(Role::Worker);
        let place = workers[dice.below(workers.len())];
        fleet.kill_nine(place).await;
        load.goes_on(20).await;
        fleet.start_again(place).await;
        // Those of the pooler and those past it.
        let cut = sql
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name NOT LIKE 'test %'",
                &[],
            )
            .await
            .unwrap();
        fleet.faults.add(Fault::ConnectionsCut, usize::try_from(cut).unwrap());
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Worker), rounds), (Fault::ConnectionsCut, rounds * 3)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::Crashes).await;
    let carried = pooler.transactions_of(&database).await;
    let least = tally.accepted.len() as u64;
    assert!(carried > least, "{least} jobs were accepted, and the pooler has carried {carried} transactions");
}

/// The poll is far away, so only a wake-up can have brought the job to the worker.
#[tokio::test(flavor = "multi_thread")]
async fn behind_a_pooler_an_idle_worker_is_woken_past_it() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let poll = Duration::from_mins(1);
    let mut fleet = behind(&Pooler::shared(), &database, Pace::Defaults, &[("FOREMAN_WORKER_POLL", "1m")]);
    fleet.start_plan(PLAN, &[]).await;
    let slowest = picked_up(&fleet, &target, 5).await;
    println!("behind a pooler, the slowest of five idle pick-ups took {slowest:?}");
    assert!(slowest < poll / 4, "it waited for the poll: {slowest:?}");
    database.assert_clean().await;
}
