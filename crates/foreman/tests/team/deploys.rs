//! Stops in good order: nothing is lost, nothing is spent, and whoever takes over does so at once.

use std::time::Duration;

use foreman_client::State;
use foreman_core::outcome::AttemptOutcome;
use tokio::time::Instant;

use crate::stage::{
    Allowed, Answer, Checker, Database, Fault, Fleet, Load, Mix, Pace, Plan, Role, Target, alone, beside, call, state,
    torture, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_under_load_spends_no_attempt() {
    let _turn = beside().await;
    let rounds = if torture() { 10 } else { 1 };
    let (database, target) = (Database::fresh().await, Target::start().await);
    // Less than the longest jobs take, so that stops interrupt some of them.
    let mut fleet = Fleet::new(&database, Pace::Quick, &[("FOREMAN_SHUTDOWN_GRACE", "3s")]);
    fleet.start_plan(Plan { api: 2, worker: 3, scheduler: 2 }, &[]).await;
    let load = Load::start(&fleet.addresses(), &target, 6, Duration::from_millis(20), Mix::Long);
    load.goes_on(20).await;
    for _ in 0..rounds {
        for place in 0..fleet.processes.len() {
            let code = fleet.stop(place).await;
            let name = &fleet.processes[place].name;
            assert!(matches!(code, Some(0 | 3)), "{name} stopped with {code:?}");
            fleet.start_again(place).await;
            load.goes_on(10).await;
        }
    }
    let tally = load.stop().await;
    fleet.faults.assert_at_least(&[
        (Fault::Stopped(Role::Api), 2 * rounds),
        (Fault::Stopped(Role::Worker), 3 * rounds),
        (Fault::Stopped(Role::Scheduler), 2 * rounds),
    ]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    let attempts = jobs.values().flat_map(|job| job.attempts.iter().flatten());
    let interrupted = attempts.filter(|it| it.outcome == Some(AttemptOutcome::Interrupted)).count();
    assert!(interrupted > 0, "no stop interrupted anything: this run proves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_stopped_worker_could_not_finish_is_taken_over_at_once_and_not_spent() {
    let _turn = alone().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    // The defaults of a session: whoever had to wait for it to lapse would be far too late.
    let mut fleet = Fleet::new(&database, Pace::Defaults, &[("FOREMAN_SHUTDOWN_GRACE", "4s")]);
    fleet.start_plan(Plan { api: 1, worker: 1, scheduler: 1 }, &["--slots", "10"]).await;
    let client = fleet.client();
    let mut jobs = Vec::new();
    for _ in 0..10 {
        jobs.push(client.submit(&call(&target.url(Answer::Held))).await.unwrap().id);
    }
    until("all are in flight", async || (target.count() == jobs.len()).then_some(())).await;
    let other = fleet.add(Role::Worker, &["--slots", "10"]).await;
    let stopping = fleet.places(Role::Worker)[0];
    let code = fleet.stop(stopping).await;
    let gone = Instant::now();
    assert_eq!(code, Some(3), "work was handed back: {}", fleet.processes[stopping].log());
    until("all are called again", async || (target.count() == 2 * jobs.len()).then_some(())).await;
    let last = target.calls().iter().map(|call| call.at).max().unwrap();
    let took = last.saturating_duration_since(gone);
    println!("the last job of a stopped worker was taken over {took:?} after it had gone");
    // A moment, where the machine has nothing else to do. Had the session been left to lapse, it would be its fifteen seconds or more.
    assert!(took < Duration::from_secs(10), "{took:?}");
    target.open();
    for id in &jobs {
        let job = state(&client, id, State::Completed).await;
        assert_eq!((job.attempt, job.spent, job.crashes), (2, 1, 0), "{job:#?}");
        let attempts = job.attempts.unwrap();
        assert_eq!(attempts[0].outcome, Some(AttemptOutcome::Interrupted));
        assert_eq!(attempts[1].worker.as_deref(), Some(fleet.processes[other].name.as_str()));
    }
    fleet.faults.assert_at_least(&[(Fault::Stopped(Role::Worker), 1)]);
    database.assert_clean().await;
}

/// Nothing waits for the session of a worker that said goodbye.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_is_gone_from_the_list_when_its_process_is() {
    let _turn = beside().await;
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 2, scheduler: 0 }, Pace::Defaults).await;
    until("both are listed", async || (fleet.sessions().await?.len() == 2).then_some(())).await;
    let places = fleet.places(Role::Worker);
    assert_eq!(fleet.stop(places[0]).await, Some(0));
    let left: Vec<String> = fleet.sessions().await.unwrap().into_iter().map(|(worker, _)| worker).collect();
    assert_eq!(left, [fleet.processes[places[1]].name.clone()]);
}
