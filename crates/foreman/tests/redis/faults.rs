//! Redis is flushed again and again, stopped, and slow: jobs are submitted and run as if nothing happened.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::proxy::{Pass, Proxy};
use crate::server::RedisServer;
use crate::shared::fallbacks;
use crate::stage::{
    Allowed, Checker, Database, Fault, Fleet, Load, Mix, Pace, Plan, Process, Role, Target, Watcher, beside, torture,
    until,
};

const TEAM: Plan = Plan { api: 2, worker: 2, scheduler: 1 };

async fn fleet_on(database: &Database, redis: &str) -> Fleet {
    let mut fleet = Fleet::new(database, Pace::Defaults, &[("REDIS_URL", redis)]);
    fleet.start_plan(TEAM, &[]).await;
    fleet
}

/// What `/readyz` says of Redis, of a process that is ready.
async fn said_of_redis(process: &Process) -> Option<String> {
    let answer = process.get("/readyz").await.ok()?;
    assert_eq!(answer.status, 200, "{}: {}", process.name, answer.body);
    let document: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "redis").expect("it has a Redis");
    assert_eq!(check["ok"], true);
    Some(check["detail"].as_str().unwrap_or("fine").to_owned())
}

async fn all_say(fleet: &Fleet, what: &str) {
    for process in &fleet.processes {
        until(&format!("{} says {what:?} of Redis", process.name), async || {
            said_of_redis(process).await.filter(|said| said.starts_with(what))
        })
        .await;
        let up = process.metric("foreman_redis_up").await.unwrap();
        assert_eq!(up > 0.5, what == "fine", "{}", process.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_flushed_again_and_again_loses_nothing_and_doubles_nothing() {
    let _turn = beside().await;
    let (database, target, redis) = (Database::fresh().await, Target::start().await, RedisServer::start().await);
    let mut fleet = fleet_on(&database, &redis.url).await;
    let addresses = fleet.addresses();
    let crowd = Watcher::crowd(2, &addresses).await;
    let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
    let (rounds, pause) = if torture() { (60, 1_000) } else { (8, 500) };
    for _ in 0..rounds {
        redis.flush().await;
        fleet.faults.count(Fault::RedisBroken);
        sleep(Duration::from_millis(pause)).await;
    }
    load.goes_on(30).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::RedisBroken, rounds)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    for watcher in &crowd {
        watcher.assert_saw(&jobs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_stopped_and_started_is_done_without_and_used_again() {
    let _turn = beside().await;
    let (database, target, redis) = (Database::fresh().await, Target::start().await, RedisServer::start().await);
    let mut fleet = fleet_on(&database, &redis.url).await;
    let addresses = fleet.addresses();
    let crowd = Watcher::crowd(2, &addresses).await;
    let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
    for _ in 0..if torture() { 10 } else { 1 } {
        all_say(&fleet, "fine").await;
        load.goes_on(20).await;
        redis.kill().await;
        fleet.faults.count(Fault::RedisBroken);
        all_say(&fleet, "degraded").await;
        load.goes_on(40).await;
        redis.start_again().await;
    }
    all_say(&fleet, "fine").await;
    load.goes_on(20).await;
    for api in fleet.of(Role::Api) {
        assert!(fallbacks(api, "wakeups").await > 0.0, "rings went another way meanwhile");
    }
    let tally = load.stop().await;
    fleet.assert_alive();
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    for watcher in &crowd {
        watcher.assert_saw(&jobs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_answers_after_five_seconds_keeps_nobody_waiting() {
    let _turn = beside().await;
    let (database, target, redis) = (Database::fresh().await, Target::start().await, RedisServer::start().await);
    let proxy = Proxy::before(redis.address()).await;
    let mut fleet = fleet_on(&database, &redis.url_through(proxy.address)).await;
    let load = Load::start(&fleet.addresses(), &target, 4, Duration::from_millis(30), Mix::Mixed);
    for _ in 0..if torture() { 10 } else { 1 } {
        all_say(&fleet, "fine").await;
        load.goes_on(20).await;
        proxy.pass(Pass::Late(Duration::from_secs(5)));
        fleet.faults.count(Fault::RedisBroken);
        let began = Instant::now();
        all_say(&fleet, "degraded").await;
        // Four clients, one after the other: had each waited for an answer, this would take minutes.
        load.goes_on(200).await;
        println!("200 jobs were accepted in {:?} while Redis answered after 5 s", began.elapsed());
        for process in &fleet.processes {
            assert_eq!(process.get("/readyz").await.unwrap().status, 200, "degraded, and ready");
        }
        proxy.pass(Pass::AtOnce);
    }
    all_say(&fleet, "fine").await;
    load.goes_on(20).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}
