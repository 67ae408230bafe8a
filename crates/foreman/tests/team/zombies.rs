//! A worker that others took for dead, and that lives.

use std::time::Duration;

use foreman_client::{JobSpec, State};
use tokio::time::sleep;

use crate::stage::{
    Allowed, Answer, Checker, Database, Dice, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, beside, call, state,
    torture, until,
};

/// Stopped for longer than its session lives, in the middle of an attempt that ends meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_did_that_slept_through_its_session_does_not_count() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 1 }, Pace::Quick).await;
    let client = fleet.client();
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    let sleeper = fleet.places(Role::Worker)[0];
    fleet.freeze(sleeper);
    let other = fleet.add(Role::Worker, &[]).await;
    until("it runs elsewhere", async || (target.count() == 2).then_some(())).await;
    // Both are answered 200; the sleeper finds its answer when it wakes up.
    target.open();
    let job = state(&client, &id, State::Completed).await;
    fleet.thaw(sleeper);
    let log = until("the sleeper has noticed", async || {
        let log = fleet.processes[sleeper].log();
        // Which of the two comes first is a race: its own clock, or the store's refusal.
        let stopped = log.contains("stopping its work");
        (stopped || log.contains(&format!("dropped outcome completed of job {id}"))).then_some(log)
    })
    .await;
    until("it begins anew", async || {
        let living = fleet.sessions().await?;
        living.iter().any(|(worker, _)| *worker == fleet.processes[sleeper].name).then_some(())
    })
    .await;
    let attempts = job.attempts.clone().unwrap();
    assert_eq!(job.crashes, 1, "{log}");
    assert_eq!(attempts.last().unwrap().worker.as_deref(), Some(fleet.processes[other].name.as_str()));
    let again = client.get(&id).await.unwrap();
    assert_eq!(again.attempts.unwrap().len(), attempts.len(), "the sleeper has added nothing");
    let fences: Vec<i64> = target.calls().iter().map(|call| call.fence).collect();
    assert!(fences[0] < fences[1], "the target can tell which try is the later one: {fences:?}");
    fleet.faults.assert_at_least(&[(Fault::Frozen(Role::Worker), 1)]);
    database.assert_clean().await;
}

/// The same without the worker's own clock to warn it: the store alone refuses.
#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_comes_after_the_session_was_lapsed_is_refused_and_counted() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 0, scheduler: 1 }, Pace::Quick).await;
    // It believes that it has an hour, asks nobody for a while (not for work either: it has one slot), and listens for
    // wake-ups where nobody sends any.
    let elsewhere = Database::fresh().await;
    let deaf = [
        ("FOREMAN_WORKER_SESSION_TTL", "1h"),
        ("FOREMAN_WORKER_HEARTBEAT", "10m"),
        ("FOREMAN_DATABASE_DIRECT_URL", elsewhere.url.as_str()),
    ];
    let zombie = fleet.add_with(Role::Worker, &["--slots", "1"], &deaf).await;
    let client = fleet.client();
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    // Everybody else believes that it had a second.
    let sql = database.connect("liar").await;
    let lied = sql
        .execute(
            "UPDATE sessions SET ttl = '1 second', renewed_at = now() - interval '1 minute', expires_at = now()",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(lied, 1);
    fleet.faults.count(Fault::Frozen(Role::Worker));
    let other = fleet.add(Role::Worker, &[]).await;
    until("it runs elsewhere", async || (target.count() == 2).then_some(())).await;
    // With a free slot it asks for work, and would be told that it is dead: nobody gets work until its outcome was heard.
    sql.batch_execute("BEGIN; LOCK TABLE queues IN ACCESS EXCLUSIVE MODE").await.unwrap();
    target.open();
    until("the zombie's outcome is refused", async || {
        let log = fleet.processes[zombie].log();
        log.contains(&format!("dropped outcome completed of job {id}")).then_some(())
    })
    .await;
    sql.batch_execute("COMMIT").await.unwrap();
    let job = state(&client, &id, State::Completed).await;
    let counted = until("it is counted", async || {
        fleet.processes[zombie].metric("foreman_outcomes_fenced_total").await.filter(|count| *count > 0.0)
    })
    .await;
    assert!((counted - 1.0).abs() < f64::EPSILON, "once: {counted}");
    let last = job.attempts.unwrap().pop().unwrap();
    assert_eq!(last.worker.as_deref(), Some(fleet.processes[other].name.as_str()));
    database.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_fall_asleep_under_load_lose_nothing() {
    let _turn = beside().await;
    let rounds = if torture() { 20 } else { 2 };
    let (database, target, mut dice) = (Database::fresh().await, Target::start().await, Dice::new());
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 3, scheduler: 1 }, Pace::Quick).await;
    let load = Load::start(&fleet.addresses(), &target, 4, Duration::from_millis(20), Mix::Mixed);
    load.goes_on(20).await;
    for round in 0..rounds {
        let sleeper = fleet.places(Role::Worker)[round % 3];
        let name = fleet.processes[sleeper].name.clone();
        fleet.freeze(sleeper);
        until("its session is lapsed", async || {
            let living = fleet.sessions().await?;
            living.iter().all(|(worker, _)| *worker != name).then_some(())
        })
        .await;
        sleep(dice.millis(0, 500)).await;
        fleet.thaw(sleeper);
        load.goes_on(20).await;
    }
    let tally = load.stop().await;
    fleet.faults.assert_at_least(&[(Fault::Frozen(Role::Worker), rounds)]);
    fleet.assert_alive();
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    checker.check(&tally, Allowed::Crashes).await;
}

/// A heartbeat is one row, however many jobs are held: a worker that is merely busy is not taken for dead.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_all_slots_taken_for_longer_than_its_session_lives_keeps_it() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::new(&database, Pace::Quick, &[]);
    fleet.start_plan(Plan { api: 1, worker: 2, scheduler: 1 }, &["--slots", "20"]).await;
    let client = fleet.client();
    let slow = JobSpec { timeout: Some("30s".parse().unwrap()), ..call(&target.url(Answer::Slow(7_000))) };
    let jobs = client.submit_batch(vec![slow; 40]).await.unwrap();
    let ids: Vec<String> = jobs.iter().map(|item| item.job().unwrap().id.clone()).collect();
    for id in &ids {
        let job = state(&client, id, State::Completed).await;
        assert_eq!((job.attempt, job.spent, job.crashes), (1, 1, 0), "{job:#?}");
    }
    assert_eq!(target.count(), 40);
    database.assert_clean().await;
}
