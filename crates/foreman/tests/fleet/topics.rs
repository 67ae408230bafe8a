//! Topics that are not as they should be: processes and the doctor say so, and what to do.

use serde_json::Value;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::binary::Said;
use crate::stage::{Role, beside, until};

#[tokio::test(flavor = "multi_thread")]
async fn who_needs_more_partitions_than_a_topic_has_is_not_ready_until_it_has_them() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 1, 0).await;
    let more = [("FOREMAN_KAFKA_PARTITIONS", "16")];
    let places = [
        scene.fleet.spawn_with(Role::Relay, &[], &more),
        scene.fleet.spawn_with(Role::Worker, &["--slots", "2"], &more),
    ];
    for place in places {
        let process = &scene.fleet.processes[place];
        until(&format!("{} says what it lacks", process.name), async || {
            let ready = process.get("/readyz").await.ok()?;
            let why = "has 12 partitions and should have 16";
            (ready.status == 503 && ready.body.contains(why)).then_some(())
        })
        .await;
    }
    scene.add_partitions(16).await;
    for place in places {
        scene.fleet.processes[place].ready().await;
    }
    scene.fleet.assert_alive();
}

/// What a doctor finds about something: whether it is fine, and what was found.
fn found(said: &Said, about: &str) -> Vec<(bool, String)> {
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let findings = document["findings"].as_array().unwrap().iter().filter(|it| it["about"] == about);
    findings.map(|it| (it["ok"] == true, it["found"].as_str().unwrap().to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_a_missing_topic_wrong_replication_lag_and_brokers_that_are_away() {
    let _turn = beside().await;
    // Nobody takes anything out.
    let mut scene = Scene::start(&shared(), 1, 0).await;
    let well = scene.doctor(&[]).await;
    assert!(found(&well, "kafka topics").iter().all(|(is_fine, _)| *is_fine), "{well:?}");
    let lags = found(&well, "kafka lag");
    assert!(lags.len() == 4 && lags.iter().all(|(is_fine, said)| *is_fine && said.starts_with("0 ")), "{lags:?}");

    let replicated = scene.doctor(&[("replication", "3")]).await;
    let [(false, why)] = &found(&replicated, "kafka topics")[..] else { panic!("{replicated:?}") };
    assert!(why.contains("replication 1 and should have 3"), "{why}");

    let missing = scene.doctor(&[("topics", "no.such"), ("request_timeout", "1s")]).await;
    let [(false, why)] = &found(&missing, "kafka topics")[..] else { panic!("{missing:?}") };
    assert!(why.contains("no.such.high: it does not exist"), "{why}");

    scene.forge_many("low", b"x", 20_001);
    let behind = scene.doctor(&[]).await;
    let late: Vec<(bool, String)> = found(&behind, "kafka lag").into_iter().filter(|(is_fine, _)| !is_fine).collect();
    let [(_, said)] = &late[..] else { panic!("{behind:?}") };
    assert!(said.contains("20001 messages of ") && said.contains(".low "), "{said}");

    let away = scene.doctor(&[("brokers", "127.0.0.1:9"), ("request_timeout", "1s")]).await;
    assert!(matches!(&found(&away, "kafka")[..], [(false, why)] if why.contains("no broker answers")), "{away:?}");
}
