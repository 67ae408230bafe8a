//! Kill -9 of what Kafka stands between.

use std::time::Duration;

use foreman_client::{JobSpec, State};
use tokio::time::sleep;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Allowed, Answer, Dice, Fault, Mix, Role, Sql, beside, call, state, torture, until};

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

/// Its messages are with the broker, and it dies before it can note that. Another relay sends them again, and the claim
/// refuses the second message of each job.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_relay_had_sent_and_not_noted_is_sent_again_and_runs_once() {
    let _turn = beside().await;
    let mut scene = Scene::start_with(&shared(), 1, 1, &[("FOREMAN_KAFKA_UNCLAIMED_AFTER", "1m")]).await;
    scene.until_it_flows().await;
    let client = scene.client();
    let submit = async |answer: Answer, count: usize| -> Vec<String> {
        let job = JobSpec { timeout: Some("5m".parse().unwrap()), ..call(&scene.target.url(answer)) };
        let answers = client.submit_batch(vec![job; count]).await.unwrap();
        answers.iter().map(|item| item.job().unwrap().id.clone()).collect()
    };
    // All slots are taken, so that messages wait.
    let mut jobs = submit(Answer::Held, 8).await;
    until("all slots are taken", async || (scene.target.count() == 8).then_some(())).await;
    let notes = scene.database.connect("holder").await;
    until("the relay has noted what it sent of them", async || (unnoted(&notes).await == 0).then_some(())).await;
    hold_notes(&notes).await;
    let before = scene.sent("normal");
    jobs.extend(submit(Answer::Ok, 10).await);
    until("they are sent", async || (scene.sent("normal") == before + 10).then_some(())).await;
    let relay = scene.fleet.places(Role::Relay)[0];
    scene.fleet.kill_nine(relay).await;
    end_dead_relays(&notes).await;
    assert_eq!(unnoted(&notes).await, 10, "jobs were sent, and nobody has noted it");
    release_notes(&notes).await;

    scene.fleet.start_again(relay).await;
    until("they are sent again", async || (scene.sent("normal") >= before + 20).then_some(())).await;
    let again = scene.metric(Role::Relay, "foreman_relay_reannounced_total").await;
    assert!((again - 10.0).abs() < 0.5, "{again} were announced again");
    scene.target.open();
    for id in &jobs {
        let job = state(&client, id, State::Completed).await;
        assert_eq!((job.attempt, job.crashes), (1, 0), "{job:#?}");
    }
    scene.until_drained().await;
    assert_eq!(scene.target.count(), jobs.len(), "every job was called once");
    let refused = scene.metric(Role::Worker, "foreman_claims_refused_total").await;
    assert!(refused > 9.5, "{refused} of ten second messages were refused");
    scene.database.assert_clean().await;
}

/// Jobs that were announced, and of which nobody has noted yet that the broker has them.
async fn unnoted(sql: &Sql) -> i64 {
    let sum = "SELECT coalesce(sum(cardinality(jobs)), 0)::bigint FROM announcements WHERE NOT acknowledged";
    sql.query_one(sum, &[]).await.unwrap().get(0)
}

/// From now on whoever notes what the broker has answered waits.
async fn hold_notes(sql: &Sql) {
    sql.batch_execute(
        "CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$;
         CREATE TRIGGER wait_here BEFORE UPDATE OF acknowledged ON announcements
         FOR EACH ROW EXECUTE FUNCTION wait_here();
         SELECT pg_advisory_lock(4711)",
    )
    .await
    .unwrap();
}

async fn release_notes(sql: &Sql) {
    sql.batch_execute("DROP TRIGGER wait_here ON announcements; SELECT pg_advisory_unlock(4711)").await.unwrap();
}

/// What they had asked the server for goes on without them.
async fn end_dead_relays(sql: &Sql) {
    until("nothing of the dead relay is left", async || {
        let left = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'foreman-relay%'";
        sql.query(left, &[]).await.unwrap().is_empty().then_some(())
    })
    .await;
}
