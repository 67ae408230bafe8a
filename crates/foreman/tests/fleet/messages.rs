//! Messages that no relay has sent.

use std::path::Path;
use std::time::Duration;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Allowed, Mix, Role, beside, binary, until};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_parked_and_listed_and_holds_up_nobody() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 1, 2).await;
    scene.until_it_flows().await;
    let load = scene.load(4, Duration::from_millis(5), Mix::Willing);
    scene.forge("normal", b"\xff\xff not a message");
    scene.forge("high", b"");
    scene.forge("low", &vec![0xff; 70_000]);
    let parked = until("they are parked", async || {
        let parked = scene.client().parked(50, None).await.ok()?.items;
        (parked.len() >= 3).then_some(parked)
    })
    .await;
    assert!(parked.iter().all(|it| !it.reason.is_empty()), "{parked:?}");
    assert!(parked.iter().any(|it| it.topic.ends_with(".normal") && it.size == 16), "{parked:?}");
    assert!(parked.iter().any(|it| it.topic.ends_with("low") && it.size == 70_000), "cut, and its size is known");
    let api = scene.fleet.of(Role::Api).next().unwrap();
    let listed = api.get("/api/v1/parked?limit=1").await.unwrap();
    let listed: serde_json::Value = serde_json::from_str(&listed.body).unwrap();
    assert_eq!((listed["items"].as_array().map(Vec::len), listed["next"].is_string()), (Some(1), true), "{listed}");
    let foreman = async |words: &[&str]| {
        let mut command = binary::foreman(Path::new("/"));
        command.args(words).env("FOREMAN_API_URL", format!("http://{}", api.address));
        let said = binary::run(command, None).await;
        assert_eq!(said.code, 0, "{said:?}");
        said.out
    };
    let printed = foreman(&["parked"]).await;
    for message in &parked {
        assert!(printed.contains(&message.topic) && printed.contains(&message.number.to_string()), "{printed}");
    }
    let printed: serde_json::Value = serde_json::from_str(&foreman(&["parked", "-o", "json"]).await).unwrap();
    let reasons: Vec<&str> =
        printed["items"].as_array().unwrap().iter().filter_map(|it| it["reason"].as_str()).collect();
    assert_eq!(reasons, parked.iter().map(|it| it.reason.as_str()).collect::<Vec<_>>());
    load.goes_on(100).await;
    scene.check(load, Allowed::NoCrashes).await;
    scene.until_drained().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_for_an_unknown_job_is_refused_and_counted() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 1, 2).await;
    scene.until_it_flows().await;
    // As in `proto/foreman/v1/job_announced.proto`: version 1, an id of its own, lane normal, tenant default.
    let unknown = foreman_core::JobId::fresh();
    let message = [&[0x08, 1, 0x12, 16], unknown.0.as_bytes().as_slice(), &[0x20, 2, 0x2a, 7], b"default"].concat();
    // Nothing else is under way, so it is this one that is counted, and once.
    scene.until_drained().await;
    let gone = "foreman_claims_refused_total{reason=\"gone\"}";
    let before = scene.series(Role::Worker, gone).await;
    scene.forge("normal", &message);
    until("it is refused", async || (scene.series(Role::Worker, gone).await > before).then_some(())).await;
    scene.until_drained().await;
    let refused = scene.series(Role::Worker, gone).await - before;
    assert!((refused - 1.0).abs() < 0.5, "{refused} of one message");
    let load = scene.load(4, Duration::from_millis(5), Mix::Willing);
    load.goes_on(50).await;
    scene.check(load, Allowed::NoCrashes).await;
}
