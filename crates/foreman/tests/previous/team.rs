//! On Postgres, where an upgrade has both versions at work at the same time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use foreman_client::State;
use foreman_postgres::migrate::LATEST;

use crate::previous;
use crate::stage::binary::{Said, foreman_of, run};
use crate::stage::{
    Allowed, Answer, Checker, Database, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, beside, call, state,
};

/// What the older binary says to whoever starts it on a newer schema.
const TOLD: &str = "newer than this binary";

async fn older(database: &Database, words: &[&str]) -> Said {
    let mut command = foreman_of(&previous(), Path::new("/"));
    command.env("DATABASE_URL", &database.url).args(words);
    run(command, None).await
}

/// A database that the older binary has migrated.
async fn older_database(name: &str) -> Database {
    let beside = Database::fresh().await;
    let name = format!("previous_{name}_{}", std::process::id());
    beside.connect("maker").await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (base, _) = beside.url.rsplit_once('/').expect("it ends with its database");
    let database = Database { url: format!("{base}/{name}") };
    let said = older(&database, &["migrate", "up"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    database
}

/// The newest migration that is recorded.
async fn version(database: &Database) -> i64 {
    let sql = database.connect("version").await;
    sql.query_one("SELECT max(version) FROM foreman_migrations", &[]).await.unwrap().get(0)
}

/// As a deploy does: stopped in good order, and started again as another version; `None`: the one that is tested.
async fn replace(fleet: &mut Fleet, place: usize, program: Option<PathBuf>) {
    let code = fleet.stop(place).await;
    assert!(matches!(code, Some(0 | 3)), "{} stopped with {code:?}", fleet.processes[place].name);
    fleet.processes[place].program = program;
    fleet.start_again(place).await;
}

async fn assert_no_damage(database: &Database) {
    database.assert_clean().await;
    let said = older(database, &["check", "--deep"]).await;
    assert_eq!(said.code, 0, "the older one finds it in order too: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_before_runs_on_the_new_schema() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    assert_eq!(version(&database).await, LATEST);
    let mut fleet = Fleet::new(&database, Pace::Quick, &[]);
    fleet.program = Some(previous());
    fleet.start_plan(Plan { api: 1, worker: 1, scheduler: 1 }, &[]).await;
    for process in &fleet.processes {
        assert!(process.log().contains(TOLD), "{} does not say so: {}", process.name, process.log());
    }
    let client = fleet.client();
    let mut jobs = Vec::new();
    for answer in [Answer::Ok, Answer::Flaky, Answer::Slow(200)].into_iter().cycle().take(30) {
        jobs.push(client.submit(&call(&target.url(answer))).await.unwrap().id);
    }
    for id in &jobs {
        state(&client, id, State::Completed).await;
    }
    // A worker that dies is noticed by the older one too.
    let held = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    state(&client, &held, State::Running).await;
    let worker = fleet.places(Role::Worker)[0];
    fleet.kill_nine(worker).await;
    target.open();
    fleet.start_again(worker).await;
    assert_eq!(state(&client, &held, State::Completed).await.crashes, 1);
    assert_no_damage(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_before_leaves_the_new_schema_as_it_is() {
    let _turn = beside().await;
    let database = Database::fresh().await;
    let status = older(&database, &["migrate", "status"]).await;
    assert!(status.code == 0 && status.out.contains("by a newer foreman"), "{status:?}");
    for words in [["migrate", "up", "--dry-run"].as_slice(), &["migrate", "up"]] {
        let said = older(&database, words).await;
        assert!(said.code == 0 && said.out.is_empty(), "{said:?}");
        assert!(said.err.contains("nothing to do") && said.err.contains(&format!("version {LATEST}")), "{said:?}");
    }
    assert_eq!(version(&database).await, LATEST);
    let doctor = older(&database, &["doctor"]).await;
    assert!(doctor.out.contains(TOLD), "{doctor:?}");
    assert_no_damage(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_under_load_and_the_way_back_lose_nothing_and_spend_no_attempt() {
    let _turn = beside().await;
    let (database, target) = (older_database("upgrade").await, Target::start().await);
    let before = version(&database).await;
    assert!(before < LATEST, "the older binary knows {before}: this run proves nothing");
    let mut fleet = Fleet::new(&database, Pace::Quick, &[]);
    fleet.program = Some(previous());
    fleet.start_plan(Plan { api: 2, worker: 2, scheduler: 2 }, &[]).await;
    let load = Load::start(&fleet.addresses(), &target, 4, Duration::from_millis(10), Mix::Mixed);
    load.goes_on(30).await;

    // First the schema, under those that run.
    let said = database.foreman(Path::new("/"), &["migrate", "up"]).await;
    assert!(said.code == 0 && said.out.contains(&format!("applied {LATEST}")), "{said:?}");
    load.goes_on(50).await;
    fleet.assert_alive();
    // Then one after the other; and one goes back, as an operator does who does not like what he sees.
    for place in 0..fleet.processes.len() {
        replace(&mut fleet, place, None).await;
        load.goes_on(20).await;
    }
    for role in [Role::Api, Role::Worker, Role::Scheduler] {
        let place = fleet.places(role)[0];
        replace(&mut fleet, place, Some(previous())).await;
        load.goes_on(20).await;
        assert!(fleet.processes[place].log().contains(TOLD), "{}", fleet.processes[place].log());
    }
    fleet.assert_alive();
    let tally = load.stop().await;
    fleet.faults.assert_at_least(&[
        (Fault::Stopped(Role::Api), 3),
        (Fault::Stopped(Role::Worker), 3),
        (Fault::Stopped(Role::Scheduler), 3),
    ]);
    let jobs = Checker { fleet: &fleet, database: &database, target: &target }.check(&tally, Allowed::NoCrashes).await;
    assert!(jobs.len() > 200, "a few hundred jobs: {}", jobs.len());
    assert_no_damage(&database).await;
}
