//! Kill -9 of any role, at any moment.

use std::time::Duration;

use tokio::time::sleep;

use crate::stage::{
    Allowed, Checker, Database, Dice, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, beside, torture,
};

#[tokio::test(flavor = "multi_thread")]
async fn accepted_jobs_survive_kill_nine_of_any_role() {
    let _turn = beside().await;
    let kills = if torture() { 150 } else { 12 };
    let (database, target, mut dice) = (Database::fresh().await, Target::start().await, Dice::new());
    let mut fleet = Fleet::start(&database, Plan { api: 2, worker: 3, scheduler: 2 }, Pace::Quick).await;
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(20), Mix::Mixed);
    load.goes_on(20).await;

    for round in 0..kills {
        sleep(dice.millis(50, 600)).await;
        // Workers hold jobs, so they die more often.
        let role = [Role::Worker, Role::Api, Role::Worker, Role::Scheduler][round % 4];
        let places = fleet.places(role);
        let place = places[dice.below(places.len())];
        fleet.kill_nine(place).await;
        sleep(dice.millis(0, 200)).await;
        fleet.processes[place].spawn();
    }
    for process in &mut fleet.processes {
        process.ready().await;
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    let each = kills / 4;
    fleet.faults.assert_at_least(&[
        (Fault::Killed(Role::Api), each),
        (Fault::Killed(Role::Worker), each * 2),
        (Fault::Killed(Role::Scheduler), each),
    ]);
    assert!(tally.accepted.len() > 100, "there was load: {}", tally.accepted.len());
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::Crashes).await;
    assert!(jobs.values().any(|job| job.crashes > 0), "no killed worker held anything: this run proves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_dies_takes_no_other_role_with_it() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 1 }, Pace::Quick).await;
    let load = Load::start(&fleet.addresses(), &target, 4, Duration::from_millis(5), Mix::Willing);
    load.goes_on(50).await;
    let api = fleet.places(Role::Api)[0];
    fleet.kill_nine(api).await;
    // Whatever was accepted is run without anybody to ask about it.
    let sql = database.connect("looker").await;
    crate::stage::until("the workers have finished everything", async || {
        let row = sql.query_one("SELECT count(*) FROM jobs", &[]).await.unwrap();
        let done = sql.query_one("SELECT count(*) FROM outcomes", &[]).await.unwrap();
        (row.get::<_, i64>(0) == done.get::<_, i64>(0)).then_some(())
    })
    .await;
    fleet.start_again(api).await;
    load.goes_on(10).await;
    let tally = load.stop().await;
    assert!(tally.unknown > 0, "the clients noticed: {tally:?}");
    fleet.assert_alive();
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}
