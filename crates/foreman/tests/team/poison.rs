//! A job that takes its worker down.

use foreman_client::{CommandSpec, JobSpec, State};

use crate::stage::{Answer, Database, Fault, Fleet, Pace, Plan, Role, Target, beside, call, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_kills_its_worker_three_times_is_dead_and_its_neighbours_complete() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    database.allow_commands("sh").await;
    let mut fleet = Fleet::new(&database, Pace::Quick, &[("FOREMAN_COMMANDS_ALLOW", "true")]);
    fleet.start_plan(Plan { api: 1, worker: 2, scheduler: 1 }, &["--slots", "4"]).await;
    let client = fleet.client();
    let poison = JobSpec {
        command: Some(CommandSpec::Shell("kill -9 $PPID".into())),
        max_attempts: Some(50),
        ..JobSpec::default()
    };
    let neighbour = call(&target.url(Answer::Slow(400)));
    let mut jobs = vec![neighbour; 60];
    jobs.insert(2, poison);
    let answers = client.submit_batch(jobs).await.unwrap();
    let ids: Vec<String> = answers.iter().map(|item| item.job().unwrap().id.clone()).collect();
    // What was killed is started again, as whoever runs a fleet has it.
    until("every job is final", async || {
        for place in fleet.places(Role::Worker) {
            if !fleet.processes[place].runs() {
                assert_eq!(fleet.processes[place].ended().await, None, "it was killed");
                fleet.faults.count(Fault::Killed(Role::Worker));
                fleet.processes[place].spawn();
            }
        }
        for id in &ids {
            if !client.get(id).await.ok()?.state.is_final() {
                return None;
            }
        }
        Some(())
    })
    .await;
    for (place, id) in ids.iter().enumerate() {
        let job = client.get(id).await.unwrap();
        if place == 2 {
            assert_eq!((job.state, job.crashes), (State::Dead, 3), "{job:#?}");
            assert!(job.error.as_ref().unwrap().contains("poison"), "{job:#?}");
        } else {
            assert_eq!(job.state, State::Completed, "an innocent: {job:#?}");
        }
    }
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Worker), 3)]);
    assert_eq!(fleet.faults.total(), 3, "three, and then no more: {}", fleet.faults);
    database.assert_clean().await;
}
