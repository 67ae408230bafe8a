//! Jobs that only one of three workers can run: they are never announced, and start within two seconds.

use std::time::Duration;

use foreman_client::{CommandSpec, JobSpec, State};
use tokio::time::Instant;

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Answer, Role, alone, call};

const WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_one_worker_of_three_can_run_is_not_announced_and_starts_within_two_seconds() {
    let _turn = alone().await;
    let variables =
        [("FOREMAN_COMMANDS_ALLOW", "true"), ("FOREMAN_SECRET_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")];
    let mut scene = Scene::start_with(&shared(), 1, 0, &variables).await;
    scene.database.allow_commands("sh").await;
    for _ in 0..2 {
        let less = [("FOREMAN_COMMANDS_ALLOW", "false")];
        scene.fleet.add_with(Role::Worker, &["--slots", "4", "--queues", "default"], &less).await;
    }
    let able = scene.fleet.add(Role::Worker, &["--slots", "4"]).await;
    scene.until_it_flows().await;
    let client = scene.client();
    let announced = scene.metric(Role::Relay, "foreman_relay_announced_total").await;
    let rare = JobSpec { queue: Some("rare".into()), ..call(&scene.target.url(Answer::Ok)) };
    let command = JobSpec { command: Some(CommandSpec::Shell("true".into())), ..JobSpec::default() };
    let sealed = JobSpec { env: Some([("TOKEN".to_owned(), "hush".to_owned())].into()), ..command.clone() };
    let mut waits = Vec::new();
    for (kind, spec) in [("queue", rare), ("command", command), ("sealed command", sealed)] {
        for _ in 0..3 {
            let begun = Instant::now();
            let job = client.submit(&spec).await.unwrap();
            let done = client.wait(&job.id, Some(Duration::from_secs(30))).await.unwrap();
            waits.push((kind, begun.elapsed()));
            assert_eq!(done.state, State::Completed, "{done:#?}");
            let attempts = client.get(&job.id).await.unwrap().attempts.unwrap();
            assert_eq!(attempts[0].worker.as_deref(), Some(scene.fleet.processes[able].name.as_str()));
        }
    }
    println!("from submitted to ended: {waits:?}");
    assert!(waits.iter().all(|(_, wait)| *wait < WITHIN), "{waits:?}");
    let more = scene.metric(Role::Relay, "foreman_relay_announced_total").await - announced;
    assert!(more < 0.5, "{more} of them were announced, to workers that cannot run them");
}
