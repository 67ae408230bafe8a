//! Kill -9 of what Kafka stands between.

use std::time::Duration;

use tokio::time::sleep;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Allowed, Dice, Fault, Mix, Role, beside, torture};

#[tokio::test(flavor = "multi_thread")]
async fn relays_that_die_lose_nothing_and_double_nothing() {
    let _turn = beside().await;
    let (mut scene, mut dice) = (Scene::start(&shared(), 2, 2).await, Dice::new());
    scene.until_it_flows().await;
    let load = scene.load(6, Duration::from_millis(2), Mix::Willing);
    let kills = if torture() { 60 } else { 8 };
    for round in 0..kills {
        // In the middle of announcing: some have sent what they did not mark yet, some the other way round.
        load.goes_on(30).await;
        sleep(dice.millis(0, 100)).await;
        let relay = scene.fleet.places(Role::Relay)[round % 2];
        scene.fleet.kill_nine(relay).await;
        scene.fleet.processes[relay].spawn();
    }
    for process in &mut scene.fleet.processes {
        process.ready().await;
    }
    load.goes_on(100).await;
    scene.fleet.faults.assert_at_least(&[(Fault::Killed(Role::Relay), kills)]);
    // No worker died, so no attempt was spent and nothing ran twice.
    scene.check(load, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_die_lose_nothing() {
    let _turn = beside().await;
    let (mut scene, mut dice) = (Scene::start(&shared(), 1, 3).await, Dice::new());
    scene.until_it_flows().await;
    let load = scene.load(6, Duration::from_millis(10), Mix::Mixed);
    let kills = if torture() { 60 } else { 6 };
    for round in 0..kills {
        load.goes_on(20).await;
        sleep(dice.millis(0, 300)).await;
        let worker = scene.fleet.places(Role::Worker)[round % 3];
        scene.fleet.kill_nine(worker).await;
        scene.fleet.processes[worker].spawn();
    }
    for process in &mut scene.fleet.processes {
        process.ready().await;
    }
    load.goes_on(50).await;
    scene.fleet.faults.assert_at_least(&[(Fault::Killed(Role::Worker), kills)]);
    scene.check(load, Allowed::Crashes).await;
}
