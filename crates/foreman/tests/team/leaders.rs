//! One of the schedulers leads; another takes over when it is gone.

use std::time::Duration;

use tokio::time::Instant;

use crate::stage::{Database, Fault, Fleet, Pace, Plan, Role, alone, until};

const TWO: Plan = Plan { api: 0, worker: 0, scheduler: 2 };

/// Where the one stands that says it leads; `None` when nobody or more than one does.
async fn leader(fleet: &Fleet) -> Option<usize> {
    let mut leading = Vec::new();
    for place in fleet.places(Role::Scheduler) {
        if fleet.processes[place].metric("foreman_leader").await.is_some_and(|value| value > 0.5) {
            leading.push(place);
        }
    }
    (leading.len() == 1).then(|| leading[0])
}

/// How long after `since` somebody other than `before` leads.
async fn replaced(fleet: &Fleet, before: usize, since: Instant) -> Duration {
    let next = until("somebody else leads", async || leader(fleet).await).await;
    assert_ne!(next, before);
    since.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stops_is_replaced_before_its_lease_runs_out() {
    let _turn = alone().await;
    let database = Database::fresh().await;
    // The defaults: whoever had to wait for the lease to run out would be far too late.
    let mut fleet = Fleet::start(&database, TWO, Pace::Defaults).await;
    for _ in 0..3 {
        let first = until("somebody leads", async || leader(&fleet).await).await;
        assert_eq!(fleet.stop(first).await, Some(0));
        let took = replaced(&fleet, first, Instant::now()).await;
        println!("a leader that stopped was replaced after {took:?}");
        // On a machine with nothing else to do it takes a few milliseconds. A lease that was left to run out takes ten to fifteen
        // seconds, for it is renewed every five.
        assert!(took < Duration::from_secs(5), "{took:?}");
        fleet.start_again(first).await;
    }
    fleet.faults.assert_at_least(&[(Fault::Stopped(Role::Scheduler), 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_dies_is_replaced_within_sixteen_seconds() {
    let _turn = alone().await;
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, TWO, Pace::Defaults).await;
    let first = until("somebody leads", async || leader(&fleet).await).await;
    let died = Instant::now();
    fleet.kill_nine(first).await;
    let took = replaced(&fleet, first, died).await;
    println!("a leader that died was replaced after {took:?}");
    assert!(took <= Duration::from_secs(16), "{took:?}");
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Scheduler), 1)]);
}

/// Whoever was stopped for longer than its lease lasts does not go on as if nothing had happened.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_slept_through_its_lease_follows() {
    let _turn = alone().await;
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, TWO, Pace::Quick).await;
    let first = until("somebody leads", async || leader(&fleet).await).await;
    let second = fleet.places(Role::Scheduler).into_iter().find(|place| *place != first).unwrap();
    fleet.freeze(first);
    until("the other leads", async || {
        fleet.processes[second].metric("foreman_leader").await.filter(|value| *value > 0.5)
    })
    .await;
    fleet.thaw(first);
    let woken = fleet.processes[first].metric("foreman_leader").await.unwrap();
    assert!(woken < 0.5, "two lead at once");
    assert_eq!(leader(&fleet).await, Some(second));
    fleet.faults.assert_at_least(&[(Fault::Frozen(Role::Scheduler), 1)]);
}
