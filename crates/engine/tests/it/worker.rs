//! A worker from registration to its end.

use std::time::Duration;

use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobQuery, SessionState, StoreError};
use foreman_core::{JobId, State};
use foreman_engine::worker::{Config, Drained};
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, job_with, until};
use crate::script::{Act, Verb, away};

#[tokio::test(start_paused = true)]
async fn it_starts_runs_a_job_and_stops() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    let view = scene.view(id).await;
    assert_eq!((view.attempt, view.attempts.records[0].outcome), (1, Some(AttemptOutcome::Completed)));
    assert!(view.attempts.records[0].report.duration_ms.is_some());
    assert_eq!(scene.drained(worker).await, Drained::default());
    let sessions = scene.store.sessions().await.unwrap();
    assert_eq!((sessions.len(), sessions[0].state), (1, SessionState::Ended));
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let worker = scene.worker();
    until("it looks for work", || scene.store.calls(Verb::Claim) > 0).await;
    let start = Instant::now();
    assert_eq!(scene.drained(worker).await, Drained::default());
    assert!(start.elapsed() < Duration::from_millis(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_what_it_holds_and_takes_nothing_new() {
    let scene = Scene::new();
    let worker = scene.worker();
    let held: Vec<JobId> = [scene.submitted("sleep 8000").await, scene.submitted("sleep 3000").await].into();
    until("both run", || scene.player.running() == 2).await;
    scene.stop.drain();
    let late = scene.submitted("").await;
    let drained = scene.drained(worker).await;
    assert_eq!(drained, Drained { finished: 2, ..Drained::default() });
    for id in held {
        assert_eq!(scene.state(id).await, State::Completed);
    }
    assert_eq!(scene.state(late).await, State::Pending);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline_and_hands_back_unspent() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { drain_grace: Duration::from_secs(3), ..Config::default() });
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let start = Instant::now();
    assert_eq!(scene.drained(worker).await, Drained { handed_back: 1, ..Drained::default() });
    assert!((3.0..3.5).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent), (State::Pending, 1, 0));
    assert_eq!(view.attempts.records[0].outcome, Some(AttemptOutcome::Interrupted));
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn aborting_does_not_wait_for_the_grace() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let start = Instant::now();
    scene.stop.abort();
    assert_eq!(scene.drained(worker).await, Drained { handed_back: 1, ..Drained::default() });
    assert!(start.elapsed() < Duration::from_millis(10), "{:?}", start.elapsed());
    assert_eq!(scene.state(id).await, State::Pending);
}

#[tokio::test(start_paused = true)]
async fn work_that_will_not_stop_is_dropped_and_its_job_handed_back() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("deaf").await;
    until("it runs", || scene.player.running() == 1).await;
    let start = Instant::now();
    scene.stop.abort();
    assert_eq!(scene.drained(worker).await, Drained { handed_back: 1, ..Drained::default() });
    assert_eq!(start.elapsed().as_secs(), 6, "the stop grace and a little");
    assert_eq!((scene.state(id).await, scene.player.running()), (State::Pending, 0));
}

#[tokio::test(start_paused = true)]
async fn after_a_long_drain_work_still_has_its_time_to_stop() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { drain_grace: Duration::from_secs(20), ..Config::default() });
    let (deaf, tidy) = (scene.submitted("deaf").await, scene.submitted("gate").await);
    until("both run", || scene.player.running() == 2).await;
    let start = Instant::now();
    assert_eq!(scene.drained(worker).await, Drained { handed_back: 2, ..Drained::default() });
    assert_eq!(start.elapsed().as_secs(), 26);
    for id in [deaf, tidy] {
        assert_eq!(scene.view(id).await.attempts.records[0].outcome, Some(AttemptOutcome::Interrupted));
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_go_on_while_it_drains() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { drain_grace: Duration::from_mins(2), ..Config::default() });
    let id = scene.submitted("sleep 60000").await;
    until("it runs", || scene.player.running() == 1).await;
    let before = scene.store.calls(Verb::Heartbeat);
    assert_eq!(scene.drained(worker).await.finished, 1);
    let beats = scene.store.calls(Verb::Heartbeat) - before;
    assert!((10..=13).contains(&beats), "{beats} in a minute");
    assert_eq!(scene.state(id).await, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn how_an_attempt_ends_decides_what_becomes_of_the_job() {
    let scene = Scene::new();
    let worker = scene.worker();
    let failed = scene.submitted("fail").await;
    let again = scene.submitted("again").await;
    let panicked = scene.submitted("panic").await;
    let bored = scene.submitted("give-up").await;
    let last = job_with("again", |work| work.max_attempts = 1);
    scene.submit(std::slice::from_ref(&last)).await;
    scene.until_state(failed, State::Failed).await;
    scene.until_state(again, State::Retrying).await;
    scene.until_state(panicked, State::Retrying).await;
    scene.until_state(bored, State::Retrying).await;
    scene.until_state(last.id, State::Dead).await;
    let error = async |id| scene.view(id).await.attempts.records[0].report.error.clone().unwrap();
    assert_eq!(error(failed).await, "never");
    assert_eq!(error(again).await, "not yet");
    assert_eq!(error(panicked).await, "the handler panicked: the wheel fell off");
    assert_eq!(error(bored).await, "the handler stopped without being asked to");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_is_stopped_and_tried_again() {
    let scene = Scene::new();
    let worker = scene.worker();
    for (payload, stop_takes) in [("gate", 0), ("deaf", 6)] {
        let slow = job_with(payload, |work| work.timeout = Duration::from_secs(30));
        let start = Instant::now();
        scene.submit(std::slice::from_ref(&slow)).await;
        scene.until_state(slow.id, State::Retrying).await;
        assert_eq!(start.elapsed().as_secs(), 30 + stop_takes, "{payload}");
        let attempt = &scene.view(slow.id).await.attempts.records[0];
        assert_eq!(attempt.report.error.as_deref(), Some("timed out after 30s"));
    }
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_outside_of_the_handler_costs_an_attempt_and_neither_the_job_nor_a_slot() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { slots: 1, ..Config::default() });
    let brittle = job_with("brittle", |work| work.timeout = Duration::from_secs(30));
    scene.submit(std::slice::from_ref(&brittle)).await;
    let start = Instant::now();
    scene.until_state(brittle.id, State::Retrying).await;
    assert_eq!(start.elapsed().as_secs(), 36, "its timeout, and the grace");
    let view = scene.view(brittle.id).await;
    assert_eq!((view.spent, view.crashes), (1, 0));
    let error = view.attempts.records[0].report.error.as_deref();
    assert_eq!(error, Some("the worker failed while it ran this job: the wheel broke"));
    let next = scene.submitted("").await;
    scene.until_state(next, State::Completed).await;
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn one_poisoned_job_never_hurts_another() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { slots: 4, ..Config::default() });
    let mut innocent = Vec::new();
    for n in 0..60 {
        let payload = if n % 3 == 0 { "panic" } else { "sleep 10" };
        let id = scene.submitted(payload).await;
        if n % 3 != 0 {
            innocent.push(id);
        }
    }
    for id in innocent {
        scene.until_state(id, State::Completed).await;
        assert_eq!(scene.view(id).await.attempt, 1);
    }
    assert!(scene.player.most_at_once() <= 4);
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_jobs_in_flight_are_finished_or_handed_back() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { slots: 200, drain_grace: Duration::from_secs(5), ..Config::default() });
    let jobs: Vec<_> = (0..200).map(|n| job(&format!("sleep {}", n * 50))).collect();
    scene.submit(&jobs).await;
    until("all run", || scene.player.started().len() == 200).await;
    let drained = scene.drained(worker).await;
    assert_eq!(drained.abandoned, 0);
    assert!(drained.handed_back > 90 && drained.finished > 90, "{drained:?}");
    assert_eq!(scene.count(State::Pending).await, drained.handed_back);
    assert_eq!(scene.count(State::Completed).await, 200 - drained.handed_back);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_answered_after_draining_began_is_handed_back_unstarted() {
    let scene = Scene::new();
    let id = scene.submitted("").await;
    scene.store.next(Verb::Claim, Act::HangAfter);
    let worker = scene.worker();
    scene.until_state(id, State::Running).await;
    scene.stop.drain();
    sleep(Duration::from_millis(100)).await;
    scene.store.heal();
    assert_eq!(scene.drained(worker).await, Drained { handed_back: 1, ..Drained::default() });
    let view = scene.view(id).await;
    assert_eq!((view.state, view.spent, scene.player.started()), (State::Pending, 0, vec![]));
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_store_that_is_away_at_the_start() {
    let scene = Scene::new();
    scene.store.always(Verb::Register, away());
    let worker = scene.worker();
    sleep(Duration::from_secs(30)).await;
    scene.store.heal();
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_while_it_waits_for_the_store() {
    let scene = Scene::new();
    scene.store.always(Verb::Register, away());
    let worker = scene.worker();
    sleep(Duration::from_secs(30)).await;
    let start = Instant::now();
    scene.drained(worker).await;
    assert!(start.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn a_damaged_store_ends_it_with_a_reason() {
    let scene = Scene::new();
    scene.store.always(Verb::Claim, Act::Fail(StoreError::Damaged("page 7".into())));
    let error = scene.worker().await.unwrap().unwrap_err();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert!(reason.contains("page 7"), "{error}: {reason}");
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn outcomes_that_wait_to_be_recorded_are_recorded_before_the_session_ends() {
    let scene = Scene::new();
    let worker = scene.worker();
    scene.store.always(Verb::Settle, Act::Delay(Duration::from_secs(1)));
    let jobs: Vec<_> = (0..40).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    until("all have run", || scene.player.started().len() == 40 && scene.player.running() == 0).await;
    assert_eq!(scene.count(State::Completed).await, 0);
    assert!(scene.drained(worker).await.is_complete());
    assert_eq!(scene.count(State::Completed).await, 40);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_at_the_end_is_handed_back_with_the_session() {
    let scene = Scene::new();
    scene.store.always(Verb::Settle, away());
    let worker = scene.worker();
    let id = scene.submitted("").await;
    until("it has run", || scene.player.started() == [id] && scene.player.running() == 0).await;
    let drained = scene.drained(worker).await;
    assert_eq!(drained, Drained { handed_back: 1, ..Drained::default() });
    assert_eq!(scene.state(id).await, State::Pending);
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_at_the_end_does_not_hold_the_worker_up() {
    let scene = Scene::new();
    let worker = scene.worker();
    scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    for verb in [Verb::Settle, Verb::End, Verb::Drain] {
        scene.store.always(verb, Act::Hang);
    }
    let start = Instant::now();
    scene.stop.abort();
    let drained = scene.drained(worker).await;
    assert_eq!(drained.abandoned, 1, "{drained:?}");
    assert!(start.elapsed() <= Duration::from_secs(10), "{:?}", start.elapsed());
}
