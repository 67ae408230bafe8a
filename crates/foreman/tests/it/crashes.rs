//! Kill -9, at any moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_client::{Client, JobSpec, State};
use foreman_core::outcome::AttemptOutcome;
use foreman_runtime::{Stop, Tasks};
use nix::sys::signal::Signal;
use tokio::time::sleep;

use crate::stage::{Stage, Target, all_ended, call, state, torture, until};

/// What was submitted: by its idempotency key, the job that was accepted.
type Accepted = Arc<Mutex<BTreeMap<String, String>>>;

/// Submits one job after the other. A submission without an answer is sent again under its key, as a client should.
async fn submit_on(
    name: usize,
    url: String,
    server: tokio::sync::watch::Receiver<String>,
    accepted: Accepted,
    stop: Stop,
) {
    let shutdown = stop.shutdown();
    let mut number = 0;
    while !shutdown.is_draining() {
        number += 1;
        let key = format!("{name}-{number}");
        let spec = JobSpec { idempotency_key: Some(key.clone()), ..call(&url) };
        loop {
            let address = server.borrow().clone();
            match Client::new(&address, None).unwrap().submit(&spec).await {
                Ok(job) => {
                    accepted.lock().unwrap().insert(key, job.id);
                    break;
                }
                Err(error) if error.is_away() || error.status() == Some(503) => sleep(Duration::from_millis(5)).await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_jobs_survive_kill_nine() {
    let kills = if torture() { 200 } else { 20 };
    let stage = Stage::new();
    // Most are done at once, some take a while, some fail now and then.
    let target = Target::answering(|number| {
        let status = if number % 13 == 0 { 500 } else { 200 };
        (status, Duration::from_millis(number as u64 % 7 * 10))
    })
    .await;
    let words = ["--set", "log.level=warn"];
    let mut server = stage.start(&words).await;
    let (tell, told) = tokio::sync::watch::channel(server.url.clone());
    let (tasks, stop, accepted) = (Tasks::new(), Stop::new(), Accepted::default());
    let submitters: Vec<_> = (0..8)
        .map(|name| {
            let work = submit_on(name, target.url.clone(), told.clone(), Arc::clone(&accepted), stop.clone());
            tasks.spawn("submitter", work)
        })
        .collect();

    // Not evenly: 20 ms to 380 ms after the start, in an order without a pattern. On a busy machine little is accepted between two
    // kills, so there are more of them.
    let mut round = 0;
    while round < kills || accepted.lock().unwrap().len() <= 100 {
        sleep(Duration::from_millis(20 + round * 7919 % 361)).await;
        if round % 4 == 3 {
            // In the middle of a stop, too.
            server.signal(Signal::SIGTERM);
            sleep(Duration::from_millis(round * 31 % 40)).await;
        }
        server.kill_nine().await;
        server = stage.start(&words).await;
        tell.send_replace(server.url.clone());
        round += 1;
    }
    stop.drain();
    for submitter in submitters {
        submitter.await.unwrap();
    }
    let accepted = accepted.lock().unwrap().clone();

    let jobs = all_ended(&server.client).await;
    for (key, id) in &accepted {
        let job = jobs.get(id).unwrap_or_else(|| panic!("{key} was accepted as {id} and is not there"));
        assert_eq!(job.asked.idempotency_key.as_ref(), Some(key));
    }
    assert_eq!(jobs.len(), accepted.len(), "one key, one job, however often it was sent");

    target.assert_one_call_per_attempt();
    assert_settled_once(&server.client, accepted.values()).await;
    assert_eq!(server.stop().await, Some(0), "{}", server.log());
    stage.assert_clean().await;
}

/// One attempt of each job ended it, and that was the last one.
async fn assert_settled_once(client: &Client, ids: impl Iterator<Item = &String>) {
    for id in ids {
        let job = client.get(id).await.unwrap();
        let attempts = job.attempts.unwrap();
        let ends = attempts.iter().filter(|attempt| {
            matches!(attempt.outcome, Some(AttemptOutcome::Completed | AttemptOutcome::Failed | AttemptOutcome::Dead))
        });
        // A job whose workers died three times under it is dead by its crashes, and its last attempt lapsed.
        let expected = usize::from(job.crashes < 3);
        assert!(ends.count() >= expected, "{id}: {attempts:#?}");
        let mut fences: Vec<_> = attempts.iter().filter_map(|attempt| attempt.fence).collect();
        let count = fences.len();
        fences.dedup();
        assert_eq!(fences.len(), count, "{id}: an attempt was recorded twice: {attempts:#?}");
        let completed = attempts.iter().filter(|attempt| attempt.outcome == Some(AttemptOutcome::Completed)).count();
        assert_eq!(completed, usize::from(job.state == State::Completed), "{id}: {attempts:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_held_runs_again_at_once() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--set", "worker.session_ttl=1h", "--set", "worker.heartbeat=1m"]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    until("it is in flight", async || (target.count() == 1).then_some(())).await;
    server.kill_nine().await;
    target.open();
    let server = stage.start(&[]).await;
    // Its session would have lived for an hour: the lock proves it dead.
    let job = state(&server.client, &job.id, State::Completed).await;
    assert_eq!((job.attempt, job.spent, job.crashes), (2, 2, 1));
    let attempts = job.attempts.unwrap();
    assert_eq!(attempts[0].outcome, Some(AttemptOutcome::Lapsed));
    let numbers: Vec<u32> = target.calls().iter().map(|call| call.attempt).collect();
    assert_eq!(numbers, [1, 2]);
    target.assert_one_call_per_attempt();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_kills_its_server_is_stopped_after_three_times() {
    let stage = Stage::new();
    // Not before its submission has been answered.
    let answered = stage.path().join("answered");
    let line = format!("until [ -e {} ]; do sleep 0.05; done; kill -9 $PPID", answered.display());
    let poison = crate::stage::command(&line);
    let mut server = stage.start(&["--allow-commands"]).await;
    let id = server.client.submit(&poison).await.unwrap().id;
    std::fs::write(&answered, "").unwrap();
    for _ in 0..2 {
        assert_eq!(server.ended().await, None, "it was killed");
        server = stage.start(&["--allow-commands"]).await;
    }
    assert_eq!(server.ended().await, None, "it was killed");
    let server = stage.start(&["--allow-commands"]).await;
    let job = state(&server.client, &id, State::Dead).await;
    assert_eq!(job.crashes, 3);
    assert!(job.error.unwrap().contains("poison"));
}
