//! The broker dies, stands still or forgets everything.

use std::time::Duration;

use tokio::time::Instant;

use crate::broker::{Broker, shared, shared_login};
use crate::scene::Scene;
use crate::stage::{Allowed, Answer, Fault, Mix, Role, beside, call, torture, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_and_started_again_loses_no_job() {
    let _turn = beside().await;
    let broker = Broker::start(&[]).await;
    let mut scene = Scene::start(&broker.address, 2, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(2, Duration::from_millis(20), Mix::Willing);
    for _ in 0..if torture() { 6 } else { 1 } {
        load.goes_on(50).await;
        broker.kill().await;
        scene.fault(Fault::BrokerKilled);
        // Submissions go on without it, all the time.
        let back = Instant::now() + Duration::from_secs(if torture() { 30 } else { 5 });
        while Instant::now() < back {
            load.goes_on(10).await;
        }
        broker.start_again().await;
        load.goes_on(100).await;
    }
    let before = scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await;
    until("relays send again", async || {
        (scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await > before).then_some(())
    })
    .await;
    scene.fleet.assert_alive();
    scene.check(load, Allowed::NoCrashes).await;
    scene.until_drained().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_broker_stands_still_submissions_go_on_and_processes_say_so() {
    let _turn = beside().await;
    let broker = Broker::start(&[]).await;
    let mut scene = Scene::start(&broker.address, 1, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(4, Duration::from_millis(5), Mix::Willing);
    load.goes_on(50).await;
    broker.freeze().await;
    scene.fault(Fault::BrokerFrozen);
    load.goes_on(300).await;
    until("the relay says that it is degraded", async || {
        let relay = scene.fleet.of(Role::Relay).next().unwrap();
        let ready = relay.get("/readyz").await.ok()?;
        (ready.status == 200 && ready.body.contains("degraded")).then_some(())
    })
    .await;
    broker.thaw().await;
    until("all is well", async || {
        let relay = scene.fleet.of(Role::Relay).next().unwrap();
        let ready = relay.get("/readyz").await.ok()?;
        (ready.status == 200 && !ready.body.contains("degraded")).then_some(())
    })
    .await;
    load.goes_on(50).await;
    scene.fleet.assert_alive();
    scene.check(load, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_with_a_wrong_password_says_so_and_works_without_the_brokers() {
    let _turn = beside().await;
    let login =
        [("FOREMAN_KAFKA_SASL", "PLAIN"), ("FOREMAN_KAFKA_USER", "foreman"), ("FOREMAN_KAFKA_PASSWORD", "open sesame")];
    let scene = Scene::start_with(&shared_login(), 1, 1, &login).await;
    for role in [Role::Relay, Role::Worker] {
        until("its readiness names the reason", async || {
            let ready = scene.fleet.of(role).next().unwrap().get("/readyz").await.ok()?;
            (ready.status == 200 && ready.body.contains("refuse this client")).then_some(())
        })
        .await;
        assert!(scene.metric(role, "foreman_kafka_connected").await < 0.5);
    }
    let url = scene.target.url(Answer::Ok);
    let job = scene.client().submit(&call(&url)).await.unwrap();
    let done = scene.client().wait(&job.id, Some(Duration::from_secs(30))).await.unwrap();
    assert!(done.state.is_final(), "{:?}", done.state);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_every_topic_in_the_middle_of_a_run_loses_nothing() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 2, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(4, Duration::from_millis(10), Mix::Willing);
    for _ in 0..if torture() { 10 } else { 2 } {
        load.goes_on(150).await;
        scene.delete_topics().await;
        load.goes_on(150).await;
    }
    let before = scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await;
    until("the topics are there again", async || {
        (scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await > before).then_some(())
    })
    .await;
    scene.fleet.assert_alive();
    scene.check(load, Allowed::NoCrashes).await;
}
