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

/// How often a Redis comes and goes in one test.
fn rounds() -> usize {
    if torture() { 10 } else { 1 }
}

/// A team under load, watched by so many.
struct BusyTeam {
    database: Database,
    target: Target,
    fleet: Fleet,
    crowd: Vec<Watcher>,
    load: Load,
}

impl BusyTeam {
    async fn on(redis: &str, watchers: usize) -> Self {
        let (database, target) = (Database::fresh().await, Target::start().await);
        let mut fleet = Fleet::new(&database, Pace::Defaults, &[("REDIS_URL", redis)]);
        fleet.start_plan(TEAM, &[]).await;
        let addresses = fleet.addresses();
        let crowd = Watcher::crowd(watchers, &addresses).await;
        let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
        Self { database, target, fleet, crowd, load }
    }

    /// Nothing is missing, nothing is doubled, nobody died, and the watchers saw it all.
    async fn check(mut self) {
        let tally = self.load.stop().await;
        self.fleet.assert_alive();
        let checker = Checker { fleet: &self.fleet, database: &self.database, target: &self.target };
        let jobs = checker.check(&tally, Allowed::NoCrashes).await;
        for watcher in &self.crowd {
            watcher.assert_saw(&jobs).await;
        }
    }
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
    let redis = RedisServer::start().await;
    let mut team = BusyTeam::on(&redis.url, 2).await;
    let (flushes, pause) = if torture() { (60, 1_000) } else { (8, 500) };
    for _ in 0..flushes {
        redis.flush().await;
        team.fleet.faults.count(Fault::RedisBroken);
        sleep(Duration::from_millis(pause)).await;
    }
    team.load.goes_on(30).await;
    team.fleet.faults.assert_at_least(&[(Fault::RedisBroken, flushes)]);
    team.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_stopped_and_started_is_done_without_and_used_again() {
    let _turn = beside().await;
    let redis = RedisServer::start().await;
    let mut team = BusyTeam::on(&redis.url, 2).await;
    for _ in 0..rounds() {
        all_say(&team.fleet, "fine").await;
        team.load.goes_on(20).await;
        redis.kill().await;
        team.fleet.faults.count(Fault::RedisBroken);
        all_say(&team.fleet, "degraded").await;
        team.load.goes_on(40).await;
        redis.start_again().await;
    }
    all_say(&team.fleet, "fine").await;
    team.load.goes_on(20).await;
    for api in team.fleet.of(Role::Api) {
        assert!(fallbacks(api, "wakeups").await > 0.0, "rings went another way meanwhile");
    }
    team.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_answers_after_five_seconds_keeps_nobody_waiting() {
    let _turn = beside().await;
    let redis = RedisServer::start().await;
    let proxy = Proxy::before(redis.address()).await;
    let mut team = BusyTeam::on(&redis.url_through(proxy.address), 0).await;
    for _ in 0..rounds() {
        all_say(&team.fleet, "fine").await;
        team.load.goes_on(20).await;
        proxy.pass(Pass::Late(Duration::from_secs(5)));
        team.fleet.faults.count(Fault::RedisBroken);
        let began = Instant::now();
        all_say(&team.fleet, "degraded").await;
        // Four clients, one after the other: had each waited for an answer, this would take minutes.
        team.load.goes_on(200).await;
        println!("200 jobs were accepted in {:?} while Redis answered after 5 s", began.elapsed());
        for process in &team.fleet.processes {
            assert_eq!(process.get("/readyz").await.unwrap().status, 200, "degraded, and ready");
        }
        proxy.pass(Pass::AtOnce);
    }
    all_say(&team.fleet, "fine").await;
    team.load.goes_on(20).await;
    team.check().await;
}
