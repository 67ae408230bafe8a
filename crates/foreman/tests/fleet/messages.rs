//! Messages that no relay has sent.

use std::time::Duration;

use tokio::time::sleep;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Allowed, Mix, Role, beside, until};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_parked_and_listed_and_holds_up_nobody() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 1, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(4, Duration::from_millis(5), Mix::Willing);
    scene.forge("normal", b"\xff\xff not a message");
    scene.forge("high", b"");
    let parked = until("they are parked", async || {
        let parked = scene.client().parked(50, None).await.ok()?.items;
        (parked.len() >= 2).then_some(parked)
    })
    .await;
    assert!(parked.iter().all(|it| !it.reason.is_empty()), "{parked:?}");
    assert!(parked.iter().any(|it| it.topic.ends_with(".normal") && it.size == 16), "{parked:?}");
    load.goes_on(100).await;
    scene.check(load, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_for_an_unknown_job_is_refused_and_counted() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 1, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(4, Duration::from_millis(5), Mix::Willing);
    // As in `proto/foreman/v1/job_announced.proto`: version 1, an id of its own, lane normal, tenant default.
    let unknown = foreman_core::JobId::fresh();
    let message = [&[0x08, 1, 0x12, 16], unknown.0.as_bytes().as_slice(), &[0x20, 2, 0x2a, 7], b"default"].concat();
    scene.forge("normal", &message);
    until("it is refused", async || {
        (scene.metric(Role::Worker, "foreman_claims_refused_total").await > 0.0).then_some(())
    })
    .await;
    sleep(Duration::from_millis(200)).await;
    load.goes_on(50).await;
    scene.check(load, Allowed::NoCrashes).await;
}
