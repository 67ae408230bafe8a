//! The database is slow, crashes, throws everybody out, or is away.

use std::time::Duration;

use foreman_client::{CommandSpec, JobSpec, State};
use tokio::time::{Instant, sleep};

use crate::stage::{
    Allowed, Answer, Checker, Cluster, Database, Fault, Fleet, Load, Mix, Pace, Plan, Role, Sql, Target, alone, beside,
    call, state, torture, until,
};

const WHOLE: Plan = Plan { api: 2, worker: 3, scheduler: 2 };
const SMALL: Plan = Plan { api: 1, worker: 2, scheduler: 1 };

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_crashes_and_comes_back_loses_nothing() {
    let _turn = beside().await;
    let crashes = if torture() { 10 } else { 2 };
    let cluster = Cluster::start(&[]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    // The defaults of a session: a crash of the database is over before one could end.
    let mut fleet = Fleet::start(&database, WHOLE, Pace::Defaults).await;
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(20), Mix::Mixed);
    for _ in 0..crashes {
        load.goes_on(50).await;
        cluster.crash().await;
        fleet.faults.count(Fault::DatabaseCrashed);
        sleep(Duration::from_millis(500)).await;
        cluster.start_again().await;
    }
    load.goes_on(50).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::DatabaseCrashed, crashes)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    // Nobody died but the database, so nobody is taken for dead.
    checker.check(&tally, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_are_made_again_and_nothing_is_lost() {
    let _turn = beside().await;
    let rounds = if torture() { 100 } else { 8 };
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, WHOLE, Pace::Defaults).await;
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(20), Mix::Mixed);
    load.goes_on(20).await;
    let sql = database.connect("cutter").await;
    for _ in 0..rounds {
        sleep(Duration::from_millis(200)).await;
        let cut = cut_connections(&sql).await;
        fleet.faults.add(Fault::ConnectionsCut, cut);
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::ConnectionsCut, rounds * 3)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}

/// Every connection of the fleet; answers how many there were.
async fn cut_connections(sql: &Sql) -> usize {
    let row = sql
        .query_one(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name NOT LIKE 'test %'",
            &[],
        )
        .await
        .unwrap();
    usize::try_from(row.get::<_, i64>(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_everybody_waits_and_afterwards_everything_goes_on() {
    let _turn = beside().await;
    let cluster = Cluster::start(&[]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    // Long sessions: with the default, a worker that could not renew for so long stops its own work in time.
    let mut fleet = Fleet::new(&database, Pace::Defaults, &[("FOREMAN_WORKER_SESSION_TTL", "1m")]);
    fleet.start_plan(SMALL, &[]).await;
    let client = fleet.client();
    let load = Load::start(&fleet.addresses(), &target, 4, Duration::from_millis(20), Mix::Willing);
    // One is in flight when it happens, and ends while nobody can write that down.
    let held = client.submit(&call(&target.url(Answer::Held))).await.unwrap();
    load.goes_on(20).await;
    state(&client, &held.id, State::Running).await;
    let api = fleet.places(Role::Api)[0];

    cluster.crash().await;
    fleet.faults.count(Fault::DatabaseCrashed);
    let away = Instant::now();
    let refusal = until("the API says so", async || {
        let answer = fleet.processes[api].post("/api/v1/jobs", r#"{"task":"x"}"#).await.unwrap();
        assert_ne!(answer.status, 500, "{answer:?}");
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert!(refusal.headers.contains_key("retry-after"), "{refusal:?}");
    assert!(refusal.body.contains("store-unavailable"), "{refusal:?}");
    for place in 0..fleet.processes.len() {
        let name = fleet.processes[place].name.clone();
        let answer = until(&format!("{name} is not ready"), async || {
            fleet.processes[place].get("/readyz").await.ok().filter(|answer| answer.status == 503)
        })
        .await;
        assert!(answer.body.contains("store"), "and says why: {answer:?}");
        assert_eq!(fleet.processes[place].get("/healthz").await.unwrap().status, 200, "it lives");
        for _ in 0..3 {
            assert_eq!(fleet.processes[place].get("/readyz").await.unwrap().status, 503, "{name}");
        }
    }
    target.open();
    sleep(Duration::from_secs(10).saturating_sub(away.elapsed())).await;
    fleet.assert_alive();
    cluster.start_again().await;

    for place in 0..fleet.processes.len() {
        fleet.processes[place].ready().await;
        // However often it was asked.
        for said in ["not ready: the store does not answer probes", "the store answers probes again after"] {
            let log = fleet.processes[place].log();
            assert_eq!(log.matches(said).count(), 1, "{}: {said}\n{log}", fleet.processes[place].name);
        }
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    assert!(tally.refused.contains_key(&503), "the clients were told: {tally:?}");
    let job = state(&client, &held.id, State::Completed).await;
    assert_eq!((job.attempt, job.crashes), (1, 0), "it ended while the database was away: {job:#?}");
    client.delete(&held.id).await.unwrap();
    fleet.assert_alive();
    assert_eq!(target.forget(&held.id), 1);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}

/// What it does from then on, another may do as well, so it stops by its own clock. Here the work is seen to stop.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_renew_stops_its_work_before_anybody_else_may_take_it() {
    let _turn = alone().await;
    let (cluster, directory) = (Cluster::start(&[]).await, tempfile::tempdir().unwrap());
    let database = Database::on(&cluster).await;
    database.allow_commands("sh").await;
    let ttl = Duration::from_secs(4);
    let variables = [
        ("FOREMAN_COMMANDS_ALLOW", "true"),
        ("FOREMAN_WORKER_SESSION_TTL", "4s"),
        ("FOREMAN_WORKER_FENCE_MARGIN", "1s"),
    ];
    let mut fleet = Fleet::new(&database, Pace::Quick, &variables);
    fleet.start_plan(SMALL, &[]).await;
    let client = fleet.client();
    let (trace, flag) = (directory.path().join("trace"), directory.path().join("flag"));
    let line = format!(
        "test -e {flag} && exit 0; while :; do echo >> {trace}; sleep 0.05; done",
        flag = flag.display(),
        trace = trace.display()
    );
    let spec = JobSpec { command: Some(CommandSpec::Shell(line)), url: None, ..call("") };
    let id = client.submit(&spec).await.unwrap().id;
    let length = || std::fs::metadata(&trace).map_or(0, |it| it.len());
    until("it works", async || (length() > 3).then_some(())).await;

    cluster.crash().await;
    fleet.faults.count(Fault::DatabaseCrashed);
    // No heartbeat was answered after this.
    let away = Instant::now();
    let (mut seen, mut last) = (length(), Instant::now());
    until("it has stopped working", async || {
        if length() != seen {
            (seen, last) = (length(), Instant::now());
        }
        (last.elapsed() > Duration::from_secs(1)).then_some(())
    })
    .await;
    let worked = last.duration_since(away);
    println!("a worker without its database worked on for {worked:?}, of the {ttl:?} that its session lives");
    assert!(worked < ttl, "it worked on for {worked:?}");
    assert!(worked > ttl / 4, "an outage of {worked:?} stops nobody");
    std::fs::write(&flag, "").unwrap();
    cluster.start_again().await;
    let job = state(&client, &id, State::Completed).await;
    assert_eq!((job.attempt, job.spent, job.crashes), (2, 1, 0), "no worker died: {job:#?}");
    assert_eq!(length(), seen, "nobody went on with the first try");
    fleet.assert_alive();
    database.assert_clean().await;
}

/// Long enough for every worker to stop its own work, three times: one job is interrupted twice, and ends during the third.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stands_still_again_and_again_costs_no_crash_and_no_second_call() {
    let _turn = beside().await;
    let cluster = Cluster::start(&[]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    // Only the order matters: time enough for an answer to come in, then the worker stops its work, and much later others may take
    // it for dead.
    let variables = [("FOREMAN_WORKER_SESSION_TTL", "30s"), ("FOREMAN_WORKER_FENCE_MARGIN", "24s")];
    let mut fleet = Fleet::new(&database, Pace::Quick, &variables);
    fleet.start_plan(Plan { api: 1, worker: 1, scheduler: 1 }, &[]).await;
    let (client, worker) = (fleet.client(), fleet.places(Role::Worker)[0]);
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    let mut interrupted = 0;
    for outage in 1..=3 {
        // Just after an outage it is still shown as it was before: it has to be another attempt.
        interrupted = until("it is in flight", async || {
            let job = client.get(&id).await.ok()?;
            let last = target.calls().last()?.attempt;
            let is_in_flight = job.state == State::Running && last == job.attempt && job.attempt > interrupted;
            is_in_flight.then_some(job.attempt)
        })
        .await;
        let fences = || fleet.processes[worker].log().matches("could not be renewed in time: stopping").count();
        let before = fences();
        cluster.freeze().await;
        let calls = target.count();
        if outage == 3 {
            target.open();
        }
        until("the worker has stopped its own work", async || (fences() > before).then_some(())).await;
        fleet.faults.count(Fault::DatabaseFrozen);
        cluster.thaw().await;
        if outage == 3 {
            state(&client, &id, State::Completed).await;
            assert_eq!(target.count(), calls, "it had completed, and was called again");
        }
    }
    let job = state(&client, &id, State::Completed).await;
    assert_eq!((job.spent, job.crashes), (1, 0), "{job:#?}");
    assert_eq!(target.count(), job.attempt as usize, "each try called once: {job:#?}");
    // Every session from before is ended in good order, not found dead.
    let sql = database.connect("looker").await;
    until("the old sessions are ended", async || {
        let row = sql.query_one("SELECT count(*) FROM sessions WHERE state = 'live'", &[]).await.unwrap();
        (row.get::<_, i64>(0) == 1).then_some(())
    })
    .await;
    let dead = sql.query_one("SELECT count(*) FROM sessions WHERE state = 'dead'", &[]).await.unwrap();
    assert_eq!(dead.get::<_, i64>(0), 0, "nobody died");
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::DatabaseFrozen, 3)]);
    database.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_the_database_refuses_for_a_while_is_recorded_after_it() {
    let _turn = beside().await;
    let cluster = Cluster::start(&[]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    let owner = database.connect("owner").await;
    let database = database.as_a_plain_user().await;
    // Many heartbeats, and no session that ends because the machine is busy.
    let mut fleet = Fleet::new(&database, Pace::Quick, &[("FOREMAN_WORKER_SESSION_TTL", "30s")]);
    fleet.start_plan(Plan { api: 1, worker: 1, scheduler: 1 }, &[]).await;
    let (client, worker) = (fleet.client(), fleet.places(Role::Worker)[0]);
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    let sessions = fleet.sessions().await.unwrap();

    owner.batch_execute("REVOKE INSERT ON outcomes FROM plain").await.unwrap();
    fleet.faults.count(Fault::RightRevoked);
    target.open();
    let refused = format!("the store rejected the outcome of job {id}");
    until("it is refused", async || fleet.processes[worker].log().contains(&refused).then_some(())).await;
    // Several heartbeats find it held all the while.
    sleep(Duration::from_secs(4)).await;
    assert_eq!(client.get(&id).await.unwrap().state, State::Running, "its outcome still waits");
    owner.batch_execute("GRANT INSERT ON outcomes TO plain").await.unwrap();

    let job = state(&client, &id, State::Completed).await;
    assert_eq!((job.attempt, job.crashes, target.count()), (1, 0, 1), "{job:#?}");
    let next = client.submit(&call(&target.url(Answer::Ok))).await.unwrap().id;
    state(&client, &next, State::Completed).await;
    let held = owner.query_one("SELECT count(*) FROM claims", &[]).await.unwrap();
    assert_eq!(held.get::<_, i64>(0), 0, "nothing is left held");
    assert_eq!(fleet.sessions().await.unwrap(), sessions, "it cost no session");
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::RightRevoked, 1)]);
    database.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_free_connection_costs_no_session_and_is_not_our_mistake() {
    let _turn = beside().await;
    let cluster = Cluster::start(&["max_connections = 60", "superuser_reserved_connections = 5"]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    let database = database.as_a_plain_user().await;
    let mut fleet = Fleet::start(&database, SMALL, Pace::Quick).await;
    let load = Load::start(&fleet.addresses(), &target, 8, Duration::from_millis(10), Mix::Willing);
    load.goes_on(50).await;
    let before = fleet.sessions().await.unwrap();
    assert_eq!(before.len(), 2);

    // A foreign client takes every connection there is, and those of the API as well.
    let mut foreign = Vec::new();
    let boss = Database { url: cluster.url.clone() }.connect("boss").await;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(if torture() { 60 } else { 8 }) {
        if let Ok(connection) = database.try_connect("foreign").await {
            foreign.push(connection);
            fleet.faults.count(Fault::ConnectionsEaten);
        } else {
            // Two at a time, so that they are not all back before the foreign client has them.
            boss.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%api%' LIMIT 2",
                &[],
            )
            .await
            .unwrap();
            sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(load.tally().refused.contains_key(&503), "it was never short of connections: {:?}", load.tally());
    drop(foreign);
    load.goes_on(50).await;
    let tally = load.stop().await;
    assert_eq!(fleet.sessions().await.unwrap(), before, "a session was lost");
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::ConnectionsEaten, 20)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_stays_open_for_the_whole_run_stops_nobody() {
    let _turn = beside().await;
    let seconds = if torture() { 120 } else { 6 };
    let (database, target) = (Database::fresh().await, Target::start().await);
    let sql = database.connect("idle").await;
    sql.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM jobs").await.unwrap();
    let mut fleet = Fleet::start(&database, SMALL, Pace::Quick).await;
    fleet.faults.count(Fault::TransactionIdle);
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(10), Mix::Mixed);
    let client = fleet.client();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        // Whoever waits is told, although the horizon does not move: the log of changes is read below it.
        let id = client.submit(&call(&target.url(Answer::Ok))).await.unwrap().id;
        let job = client.wait(&id, Some(Duration::from_secs(30))).await.unwrap();
        assert_eq!(job.state, State::Completed);
        client.delete(&id).await.unwrap();
        target.forget(&id);
        sleep(Duration::from_millis(250)).await;
    }
    let tally = load.stop().await;
    let seen: i64 = sql.query_one("SELECT count(*) FROM jobs", &[]).await.unwrap().get(0);
    assert_eq!(seen, 0, "the transaction was open all the time");
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::NoCrashes).await;
}
