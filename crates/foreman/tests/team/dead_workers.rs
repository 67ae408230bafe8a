//! A dead worker is noticed in seconds, with the settings that a user gets without asking.

use std::time::Duration;

use foreman_client::State;
use tokio::time::{Instant, sleep};

use crate::stage::{
    Answer, Database, Dice, Fault, Fleet, Load, Mix, Pace, Plan, Role, Sql, Target, alone, beside, call, state, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_dead_worker_run_elsewhere_within_twenty_seconds() {
    let _turn = alone().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 1 }, Pace::Defaults).await;
    let client = fleet.client();
    let mut jobs = Vec::new();
    for _ in 0..8 {
        jobs.push(client.submit(&call(&target.url(Answer::Held))).await.unwrap().id);
    }
    until("all are in flight", async || (target.count() == jobs.len()).then_some(())).await;
    let first = fleet.places(Role::Worker)[0];
    let second = fleet.add(Role::Worker, &[]).await;
    let died = Instant::now();
    fleet.kill_nine(first).await;
    until("all are called again", async || (target.count() == 2 * jobs.len()).then_some(())).await;
    let last = target.calls().iter().map(|call| call.at).max().unwrap();
    let took = last.duration_since(died);
    println!("the jobs of a dead worker ran again after {took:?}");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    target.open();
    for id in &jobs {
        let job = state(&client, id, State::Completed).await;
        assert_eq!((job.attempt, job.spent, job.crashes), (2, 2, 1));
        let last = job.attempts.unwrap().pop().unwrap();
        assert_eq!(last.worker.as_deref(), Some(fleet.processes[second].name.as_str()));
    }
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Worker), 1)]);
    database.assert_clean().await;
}

/// Workers sweep as well as the scheduler, so that the leader may die with the worker.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_and_the_leader_that_die_together_delay_nobody() {
    let _turn = alone().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 1 }, Pace::Quick).await;
    let client = fleet.client();
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    fleet.add(Role::Worker, &[]).await;
    let (first, leader) = (fleet.places(Role::Worker)[0], fleet.places(Role::Scheduler)[0]);
    let died = Instant::now();
    fleet.kill_nine(leader).await;
    fleet.kill_nine(first).await;
    until("it is called again", async || (target.count() == 2).then_some(())).await;
    let took = died.elapsed();
    println!("without a leader, the job of a dead worker ran again after {took:?}");
    // The TTL of three seconds and what watching it takes; a leader would have been replaced, at the earliest, after as long.
    assert!(took <= Duration::from_secs(8), "{took:?}");
    target.open();
    state(&client, &id, State::Completed).await;
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Worker), 1), (Fault::Killed(Role::Scheduler), 1)]);
}

/// A machine that is paused, or cut off, while its transaction is open: what it has locked is let go of in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_freezes_in_the_middle_of_a_transaction_holds_nobody_up() {
    let _turn = beside().await;
    let (database, target, mut dice) = (Database::fresh().await, Target::start().await, Dice::new());
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 1 }, Pace::Defaults).await;
    let client = fleet.client();
    let id = client.submit(&call(&target.url(Answer::Held))).await.unwrap().id;
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    // The worker is busy claiming, so now and then it is caught in the middle of it.
    let load = Load::start(&fleet.addresses(), &target, 8, Duration::from_millis(1), Mix::Willing);
    let (sql, sleeper) = (database.connect("looker").await, fleet.places(Role::Worker)[0]);
    let frozen = until("it is caught with its session locked", async || {
        sleep(dice.millis(1, 20)).await;
        let frozen = Instant::now();
        fleet.freeze(sleeper);
        // What it had sent by then is done by then.
        sleep(Duration::from_millis(50)).await;
        if has_its_session_locked(&sql).await {
            return Some(frozen);
        }
        fleet.thaw(sleeper);
        None
    })
    .await;
    fleet.add(Role::Worker, &[]).await;
    let again = until("it runs elsewhere", async || {
        target.calls().into_iter().find(|call| call.job == id && call.attempt == 2)
    })
    .await;
    let took = again.at.duration_since(frozen);
    println!("the job of a worker that was frozen in a transaction ran again after {took:?}");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    target.open();
    fleet.thaw(sleeper);
    state(&client, &id, State::Completed).await;
    load.stop().await;
    database.assert_clean().await;
}

/// A worker waits in a transaction that has a row of `sessions` locked.
async fn has_its_session_locked(sql: &Sql) -> bool {
    let row = sql
        .query_one(
            "SELECT EXISTS (
                 SELECT FROM pg_stat_activity JOIN pg_locks USING (pid)
                 WHERE datname = current_database() AND application_name LIKE 'foreman-worker%'
                   AND state LIKE 'idle in transaction%' AND relation = 'sessions'::regclass AND mode = 'RowShareLock'
             )",
            &[],
        )
        .await
        .unwrap();
    row.get(0)
}
