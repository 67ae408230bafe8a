//! An answer is lost: the same operation is sent again under the same identity, and nothing happens twice.

use std::time::Duration;

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobQuery, StoreError, Submit, Submitted};
use foreman_core::{State, Verdict};
use foreman_engine::settle::{self, Settlements, Settler};
use foreman_engine::submit::{self, Submitter};
use foreman_engine::worker;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb, away};

#[tokio::test(start_paused = true)]
async fn a_submission_whose_answer_is_lost_is_accepted_once() {
    let scene = Scene::new();
    let (submitter, handle) = Submitter::new(scene.store(), submit::Config::default());
    drop(scene.tasks.spawn("submitter", submitter.run(scene.stop.shutdown())));
    scene.store.next(Verb::Submit, Act::LoseAnswer);
    scene.store.next(Verb::Submit, Act::LoseAnswer);
    assert!(handle.submit(vec![job(""), job("")]).await.unwrap().iter().all(Submitted::is_accepted));
    assert_eq!((scene.store.calls(Verb::Submit), scene.count(State::Pending).await), (3, 2));
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_hangs_after_its_commit_is_accepted_once() {
    let scene = Scene::new();
    let config = submit::Config { resend_for: Duration::from_secs(8), ..submit::Config::default() };
    let (submitter, handle) = Submitter::new(scene.store(), config);
    drop(scene.tasks.spawn("submitter", submitter.run(scene.stop.shutdown())));
    scene.store.next(Verb::Submit, Act::HangAfter);
    assert!(handle.submit(vec![job("")]).await.unwrap().iter().all(Submitted::is_accepted));
    assert_eq!((scene.store.calls(Verb::Submit), scene.count(State::Pending).await), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_is_lost_runs_its_jobs_once() {
    let scene = Scene::new();
    let id = scene.submitted("").await;
    scene.store.next(Verb::Claim, Act::LoseAnswer);
    scene.store.next(Verb::Claim, Act::LoseAnswer);
    let worker = scene.worker();
    scene.until_state(id, State::Completed).await;
    let view = scene.view(id).await;
    assert_eq!((view.attempt, scene.player.started()), (1, vec![id]));
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_given_up_is_released_by_the_next_heartbeat_and_not_spent() {
    let scene = Scene::new();
    let id = scene.submitted("").await;
    for _ in 0..3 {
        scene.store.next(Verb::Claim, Act::HangAfter);
    }
    let worker = scene.worker();
    scene.until_state(id, State::Running).await;
    assert_eq!(scene.player.started(), [], "nobody knows yet that it is held");
    scene.until_state(id, State::Completed).await;
    let view = scene.view(id).await;
    assert_eq!((view.attempt, view.spent), (2, 1), "the first try was refunded");
    assert_eq!(view.attempts.records[0].outcome, Some(AttemptOutcome::Released));
    assert_eq!(scene.player.started(), [id]);
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_something_and_failed_after_it_is_released() {
    for error in [StoreError::Full("no space".into()), StoreError::Broken("a job could not be put aside".into())] {
        let scene = Scene::new();
        let id = scene.submitted("").await;
        scene.store.next(Verb::Claim, Act::FailAfter(error));
        let worker = scene.worker();
        let start = Instant::now();
        scene.until_state(id, State::Completed).await;
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "by the next heartbeat, not by the third: {:?}",
            start.elapsed()
        );
        let view = scene.view(id).await;
        assert_eq!((view.attempt, view.spent, view.crashes), (2, 1, 0));
        assert_eq!(view.attempts.records[0].outcome, Some(AttemptOutcome::Released));
        scene.drained(worker).await;
        scene.is_clean().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_given_up_claim_that_commits_long_after_is_released_all_the_same() {
    let scene = Scene::new();
    for _ in 0..3 {
        scene.store.next_claim_is_late();
    }
    let worker = scene.worker();
    until("the call was given up and others were made", || scene.store.calls(Verb::Claim) >= 2).await;
    let beats = scene.store.calls(Verb::Heartbeat);
    until("many heartbeats have named it", || scene.store.calls(Verb::Heartbeat) > beats + 10).await;

    // Only the late claim can take the job.
    scene.store.always(Verb::Claim, away());
    let id = scene.submitted("").await;
    scene.store.late_claims_arrive().await;
    assert_eq!(scene.state(id).await, State::Running, "held, and nobody knows");
    scene.store.heal();
    scene.until_state(id, State::Completed).await;
    let outcomes: Vec<_> =
        scene.view(id).await.attempts.records.iter().map(|attempt| attempt.outcome.unwrap()).collect();
    assert_eq!(outcomes, [AttemptOutcome::Released, AttemptOutcome::Completed]);
    assert_eq!(scene.player.started(), [id], "it ran once");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_outcome_whose_answer_is_lost_is_recorded_once() {
    let scene = Scene::new();
    scene.submitted("").await;
    let session = scene.stranger(Duration::from_hours(1)).await;
    let held = scene.claimed_by(session, 1).await.pop().unwrap();
    let id = held.job.id;
    let (settler, handle) = Settler::new(scene.store(), session, settle::Config::default());
    drop(scene.tasks.spawn("settler", settler.run(scene.stop.shutdown())));
    scene.store.next(Verb::Settle, Act::LoseAnswer);
    handle.outgoing(held.settle(Verdict::Failed(foreman_core::Report::error("once")))).send().await.unwrap();
    handle.idle().await;
    assert_eq!(handle.counts(), Settlements { before: 1, ..Settlements::default() });
    assert_eq!(scene.view(id).await.attempts.records.len(), 1);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn outcomes_wait_out_a_store_that_is_away_and_none_is_lost() {
    let scene = Scene::new();
    scene.store.always(Verb::Settle, Act::LoseAnswer);
    let jobs: Vec<_> = (0..100).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    let worker = scene.worker_with(worker::Config { slots: 8, ..worker::Config::default() });
    sleep(Duration::from_secs(8)).await;
    scene.store.heal();
    until("all have run", || scene.player.started().len() >= 100).await;
    let drained = scene.drained(worker).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!((scene.count(State::Completed).await, scene.player.started().len()), (100, 100));
    assert!(scene.store.census().await.unwrap().is_clean());
}
