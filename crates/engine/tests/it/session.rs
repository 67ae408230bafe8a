//! The worker's session: renewed, fenced on its own clock, and begun anew.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_core::memory::LocalWakeups;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobQuery, JobStore, SessionState, SessionStore, SessionView, StoreError, Topic, Wakeups};
use foreman_core::{JobId, State};
use foreman_engine::sweeper::{self, Sweeper};
use foreman_engine::worker::{Config, Drained};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until, until_async};
use crate::script::{Act, OF_A_WORKER, Verb, away};

async fn sessions(scene: &Scene) -> Vec<SessionView> {
    scene.store.inner.sessions().await.unwrap()
}

async fn outcomes(scene: &Scene, id: JobId) -> Vec<AttemptOutcome> {
    scene.view(id).await.attempts.records.iter().map(|attempt| attempt.outcome.unwrap()).collect()
}

/// The whole store is away for so long.
async fn outage(scene: &Scene, act: &Act, time: Duration) {
    for verb in [&OF_A_WORKER[..], &[Verb::Pulses, Verb::Lapse]].concat() {
        scene.store.always(verb, act.clone());
    }
    sleep(time).await;
    scene.store.heal();
}

/// Somebody who would lapse a session that is not ended in time.
fn sweeper(scene: &Scene) {
    let sweeper = Sweeper::new(scene.store(), sweeper::Config::default());
    drop(scene.tasks.spawn("sweeper", sweeper.run(scene.stop.shutdown())));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_was_refused_before_an_outage_is_recorded_after_it() {
    let scene = Scene::new();
    let worker = scene.worker();
    scene.store.always(Verb::Settle, Act::Fail(StoreError::Broken("permission denied".into())));
    let id = scene.submitted("").await;
    sleep(Duration::from_mins(2)).await;
    outage(&scene, &away(), Duration::from_mins(2)).await;
    scene.until_state(id, State::Completed).await;
    assert_eq!(outcomes(&scene, id).await, [AttemptOutcome::Completed], "its one attempt counts");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_outcome_is_refused_for_ever_is_handed_back() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    scene.store.refuse(id);
    scene.player.gate.add_permits(1);
    for _ in 0..24 {
        scene.submitted("").await;
        sleep(Duration::from_secs(30)).await;
    }
    assert_eq!(scene.count(State::Completed).await, 24);
    scene.store.heal();
    until("it runs again", || scene.player.running() == 1).await;
    assert_eq!(scene.view(id).await.crashes, 0);
    scene.player.gate.add_permits(1);
    scene.until_state(id, State::Completed).await;
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_became_of_a_session_long_ago_is_not_part_of_leaving() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    outage(&scene, &away(), Duration::from_secs(30)).await;
    scene.player.gate.add_permits(1);
    scene.until_state(id, State::Completed).await;
    sleep(Duration::from_hours(24)).await;
    assert_eq!(scene.drained(worker).await, Drained::default());
}

/// The heartbeat is out for more than a TTL; the running work is stopped before it is over.
async fn fences_itself(act: Act) {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    until("one heartbeat was answered", || scene.store.calls(Verb::Heartbeat) == 1).await;
    let last_sent = Instant::now();
    scene.store.always(Verb::Heartbeat, act);
    until("the work was stopped", || scene.player.stopped(id).is_some()).await;
    let after = scene.player.stopped(id).unwrap() - last_sent;
    assert!(after <= Duration::from_secs(13), "stopped {after:?} after the last heartbeat was sent, TTL is 15s");
    assert!(after >= Duration::from_secs(12), "stopped early, {after:?} after the last heartbeat was sent");

    scene.store.heal();
    until_async("a new session was begun", async || sessions(&scene).await.len() == 2).await;
    scene.player.gate.add_permits(1);
    scene.until_state(id, State::Completed).await;
    // The work was over before anyone else had the job: it was interrupted, and that is no crash.
    assert_eq!(outcomes(&scene, id).await, [AttemptOutcome::Interrupted, AttemptOutcome::Completed]);
    let view = scene.view(id).await;
    assert_eq!((view.attempt, view.spent, view.crashes), (2, 1, 0));
    assert_eq!(view.attempts.records[0].report.error.as_deref(), Some("interrupted: the worker lost the store"));
    assert_eq!(scene.player.most_at_once(), 1);
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_its_own_work_before_its_ttl_when_the_store_hangs() {
    fences_itself(Act::Hang).await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_its_own_work_before_its_ttl_when_the_store_is_away() {
    fences_itself(away()).await;
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_counts_from_its_sending_not_from_its_answer() {
    let scene = Scene::new();
    // Each answer comes four seconds late: valid from the sending, each is renewed in time by the next.
    scene.store.always(Verb::Heartbeat, Act::Delay(Duration::from_secs(4)));
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    sleep(Duration::from_mins(2)).await;
    assert_eq!((scene.player.stopped(id), sessions(&scene).await.len()), (None, 1), "late answers are answers");

    // Now each takes longer than anyone waits: the last good one was sent up to 9 s ago, and 13 s after that is the end.
    scene.store.always(Verb::Heartbeat, Act::Delay(Duration::from_secs(6)));
    let start = Instant::now();
    until("the work was stopped", || scene.player.stopped(id).is_some()).await;
    assert!(start.elapsed() <= Duration::from_secs(13), "{:?}", start.elapsed());
    scene.store.heal();
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn found_dead_it_stops_its_work_and_begins_anew() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let first = sessions(&scene).await[0].id;
    // Somebody else takes the session for dead while its heartbeats are out.
    scene.store.always(Verb::Heartbeat, Act::Fail(foreman_core::ports::StoreError::Unavailable("out".into())));
    scene.store.inner_end(first).await;
    scene.store.heal();
    until("the work was stopped", || scene.player.stopped(id).is_some()).await;
    scene.player.gate.add_permits(1);
    scene.until_state(id, State::Completed).await;
    let sessions = sessions(&scene).await;
    assert_eq!(sessions.len(), 2);
    assert!(sessions.iter().any(|session| session.id != first && session.state == SessionState::Live));
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_while_draining_ends_the_worker() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config { drain_grace: Duration::from_mins(5), ..Config::default() });
    scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let first = sessions(&scene).await[0].id;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    scene.store.inner_end(first).await;
    let drained = scene.drained(worker).await;
    assert_eq!(drained, Drained { handed_back: 1, ..Drained::default() }, "whoever ended the session has it back");
    assert_eq!(sessions(&scene).await.len(), 1, "no new life is begun");
}

#[tokio::test(start_paused = true)]
async fn a_zombies_outcome_leaves_no_trace() {
    let scene = Scene::new();
    // With its only slot taken it claims nothing, and so does not learn early that its session is gone.
    let worker = scene.worker_with(Config { slots: 1, ..Config::default() });
    let id = scene.submitted("sleep 3000").await;
    until("it runs", || scene.player.running() == 1).await;
    // Its session ends behind its back, and somebody else completes the job first.
    scene.store.inner_end(sessions(&scene).await[0].id).await;
    let other = scene.stranger(Duration::from_hours(1)).await;
    let held = scene.claimed_by(other, 1).await.pop().unwrap();
    until("the zombie has come to its end", || scene.player.running() == 0 && scene.store.calls(Verb::Settle) > 0)
        .await;
    assert_eq!(scene.state(id).await, State::Running, "the other one's");
    let fence = held.fence;
    let verdict = foreman_core::Verdict::Failed(foreman_core::Report::error("by the other"));
    scene.store.inner.settle(other, &[held.settle(verdict)]).await.unwrap();
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempts.records.last().unwrap().fence), (State::Failed, Some(fence)));
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_job_is_stopped_at_once() {
    let scene = Scene::new();
    let worker = scene.worker();
    let (id, neighbour) = (scene.submitted("gate").await, scene.submitted("gate").await);
    until("both run", || scene.player.running() == 2).await;
    let start = Instant::now();
    scene.store.cancel(&foreman_core::TenantId::default(), &[id]).await.unwrap();
    until("it was stopped", || scene.player.stopped(id).is_some()).await;
    assert!(start.elapsed() < Duration::from_millis(20), "{:?}", start.elapsed());
    assert_eq!(scene.player.stopped(neighbour), None);
    until("its slot is free", || scene.player.running() == 1).await;
    assert_eq!(scene.state(id).await, State::Cancelled);
    assert_eq!(scene.store.calls(Verb::Settle), 0, "there is nothing to settle");
    scene.player.gate.add_permits(1);
    scene.until_state(neighbour, State::Completed).await;
    scene.drained(worker).await;
    scene.is_clean().await;
}

/// Bells of which one rings for nobody.
struct Deaf {
    to: Topic,
    real: Arc<dyn Wakeups>,
    never: LocalWakeups,
}

impl Wakeups for Deaf {
    fn ring(&self, topic: Topic) {
        self.real.ring(topic);
    }

    fn listen(&self, topic: Topic) -> watch::Receiver<u64> {
        if topic == self.to { self.never.listen(topic) } else { self.real.listen(topic) }
    }
}

fn deaf_to(scene: &Scene, to: Topic) -> Arc<dyn Wakeups> {
    Arc::new(Deaf { to, real: scene.wakeups(), never: LocalWakeups::new() })
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_whose_wake_up_is_lost_arrives_with_the_heartbeat() {
    let scene = Scene::new();
    let worker = scene.worker_with_bells(Config::default(), deaf_to(&scene, Topic::Cancelled));
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let start = Instant::now();
    scene.store.cancel(&foreman_core::TenantId::default(), &[id]).await.unwrap();
    until("it was stopped", || scene.player.stopped(id).is_some()).await;
    assert!(start.elapsed() <= Duration::from_secs(5), "{:?}", start.elapsed());
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_wake_up_is_lost_is_found_by_the_poll() {
    let scene = Scene::new();
    let worker = scene.worker_with_bells(Config::default(), deaf_to(&scene, Topic::Ready));
    // At rest it looks once in fifteen periods, and often again as soon as it has found something that nobody rang for.
    sleep(Duration::from_mins(1)).await;
    for longest in [18_500, 1_250, 1_250] {
        let start = Instant::now();
        let id = scene.submitted("").await;
        scene.until_state(id, State::Completed).await;
        assert!(start.elapsed() <= Duration::from_millis(longest), "{:?}", start.elapsed());
    }
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_of_the_store_stops_nothing() {
    let scene = Scene::new();
    let worker = scene.worker();
    let running = scene.submitted("sleep 20000").await;
    until("it runs", || scene.player.running() == 1).await;
    for verb in [Verb::Heartbeat, Verb::Claim, Verb::Settle, Verb::Held] {
        scene.store.always(verb, away());
    }
    sleep(Duration::from_secs(6)).await;
    scene.store.heal();
    let jobs: Vec<_> = (0..10).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    scene.until_state(running, State::Completed).await;
    for job in &jobs {
        scene.until_state(job.id, State::Completed).await;
    }
    assert_eq!(scene.view(running).await.attempt, 1);
    assert_eq!(sessions(&scene).await.len(), 1);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn work_does_not_go_on_under_a_session_whose_heart_has_stopped() {
    let scene = Scene::new();
    let worker = scene.worker();
    let id = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    scene.store.next(Verb::Heartbeat, Act::Panic);
    until("the work was stopped", || scene.player.stopped(id).is_some()).await;
    until_async("a new session was begun", async || sessions(&scene).await.len() == 2).await;
    let fresh = scene.submitted("").await;
    scene.until_state(fresh, State::Completed).await;
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn three_outages_count_no_crash() {
    for act in [away(), Act::Hang] {
        let scene = Scene::new();
        sweeper(&scene);
        let worker = scene.worker();
        let id = scene.submitted("gate").await;
        for number in 1..=3 {
            until("it runs", || scene.player.started().len() == number && scene.player.running() == 1).await;
            outage(&scene, &act, Duration::from_secs(17)).await;
        }
        until("it runs again", || scene.player.started().len() == 4).await;
        // Whoever is not ended by now would be lapsed.
        sleep(Duration::from_secs(30)).await;
        scene.player.gate.add_permits(1);
        scene.until_state(id, State::Completed).await;
        let view = scene.view(id).await;
        assert_eq!((view.attempt, view.spent, view.crashes), (4, 1, 0), "{view:#?}");
        let states: Vec<_> = sessions(&scene).await.iter().map(|session| session.state).collect();
        assert_eq!(states.iter().filter(|state| **state == SessionState::Ended).count(), 3, "{states:?}");
        scene.drained(worker).await;
        scene.is_clean().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_completed_while_the_store_was_away_is_recorded_when_it_is_back() {
    for (act, away_for) in [(away(), 20), (Act::Hang, 20), (away(), 3_600), (Act::LoseAnswer, 20)] {
        let scene = Scene::new();
        sweeper(&scene);
        let worker = scene.worker();
        let id = scene.submitted("sleep 4000").await;
        until("it runs", || scene.player.running() == 1).await;
        outage(&scene, &act, Duration::from_secs(away_for)).await;
        scene.until_state(id, State::Completed).await;
        sleep(Duration::from_mins(1)).await;
        let view = scene.view(id).await;
        assert_eq!((view.attempt, view.spent, view.crashes), (1, 1, 0), "{act:?}: {view:#?}");
        assert_eq!(scene.player.started(), [id], "{act:?}");
        scene.drained(worker).await;
        scene.is_clean().await;
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_outcomes_as_may_wait_and_a_whole_pool_more_survive_an_outage() {
    let scene = Scene::new();
    sweeper(&scene);
    let settle = foreman_engine::settle::Config { max_waiting: 10, ..Default::default() };
    let worker = scene.worker_with(Config { slots: 8, settle, ..Config::default() });
    let jobs: Vec<_> = (0..18).map(|_| job("sleep 1000")).collect();
    scene.store.always(Verb::Settle, away());
    scene.submit(&jobs).await;
    until("all have run", || scene.player.started().len() == 18 && scene.player.running() == 0).await;
    outage(&scene, &away(), Duration::from_secs(20)).await;
    for job in &jobs {
        scene.until_state(job.id, State::Completed).await;
    }
    assert_eq!(scene.player.started().len(), 18, "each ran once");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_on_its_way_when_the_session_was_lost_counts_no_crash() {
    let scene = Scene::new();
    sweeper(&scene);
    let worker = scene.worker();
    until("it looks for work", || scene.store.calls(Verb::Claim) > 0).await;
    // It is taken, and nobody hears of it.
    scene.store.always(Verb::Claim, Act::HangAfter);
    let id = scene.submitted("").await;
    scene.until_state(id, State::Running).await;
    outage(&scene, &away(), Duration::from_secs(20)).await;
    scene.until_state(id, State::Completed).await;
    let view = scene.view(id).await;
    assert_eq!((view.spent, view.crashes), (1, 0), "{view:#?}");
    assert_eq!(outcomes(&scene, id).await, [AttemptOutcome::Released, AttemptOutcome::Completed]);
    assert_eq!(scene.player.started(), [id]);
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stopped_while_an_old_session_waits_for_the_store_leaves_in_time() {
    let scene = Scene::new();
    let worker = scene.worker();
    scene.submitted("sleep 1000").await;
    until("it runs", || scene.player.running() == 1).await;
    for verb in OF_A_WORKER {
        scene.store.always(verb, Act::Hang);
    }
    sleep(Duration::from_secs(30)).await;
    let start = Instant::now();
    let drained = scene.drained(worker).await;
    // A call under way, and twice the grace: to record, and to end the session.
    assert!(start.elapsed() <= Duration::from_secs(12), "{:?}", start.elapsed());
    assert_eq!(drained.abandoned, 1, "its outcome is not recorded: {drained:?}");
}

#[tokio::test(start_paused = true)]
async fn old_sessions_that_cannot_be_ended_do_not_pile_up() {
    let scene = Scene::new();
    let worker = scene.worker();
    for verb in [Verb::Heartbeat, Verb::End] {
        scene.store.always(verb, away());
    }
    until_async("there were many", async || sessions(&scene).await.len() > 12).await;
    let old = scene.tasks.alive().into_iter().find(|(name, _)| *name == "old session").unwrap();
    assert!(old.1 <= 5, "{old:?}");
    scene.store.heal();
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_old_session_whose_outcome_is_refused_hands_its_job_back() {
    let scene = Scene::new();
    sweeper(&scene);
    let worker = scene.worker();
    let id = scene.submitted("sleep 1000").await;
    until("it runs", || scene.player.running() == 1).await;
    // The heartbeats are away, and the store takes everything but this one outcome.
    scene.store.refuse(id);
    scene.store.always(Verb::Heartbeat, away());
    until("it runs again", || scene.player.started().len() == 2).await;
    assert_eq!(scene.view(id).await.crashes, 0);
    scene.store.heal();
    scene.until_state(id, State::Completed).await;
    assert_eq!(scene.view(id).await.crashes, 0);
    scene.drained(worker).await;
    scene.is_clean().await;
}

/// Held by the worker's session, and unknown to the worker.
async fn forgotten(scene: &Scene) -> JobId {
    until_async("it is registered", async || sessions(scene).await.len() == 1).await;
    let session = sessions(scene).await[0].id;
    scene.store.always(Verb::Claim, away());
    let id = scene.submitted("").await;
    assert_eq!(scene.claimed_by(session, 1).await[0].job.id, id);
    id
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_worker_has_forgotten_is_released_by_the_heartbeats() {
    let scene = Scene::new();
    let worker = scene.worker();
    let known = scene.submitted("gate").await;
    until("it runs", || scene.player.running() == 1).await;
    let id = forgotten(&scene).await;
    let start = Instant::now();
    scene.until_state(id, State::Pending).await;
    assert!(start.elapsed() <= Duration::from_secs(21), "{:?}", start.elapsed());
    scene.store.heal();
    scene.until_state(id, State::Completed).await;
    let view = scene.view(id).await;
    assert_eq!((view.attempt, view.spent, view.crashes), (2, 1, 0), "{view:#?}");
    assert_eq!(outcomes(&scene, id).await, [AttemptOutcome::Released, AttemptOutcome::Completed]);
    assert_eq!(scene.state(known).await, State::Running, "its neighbour goes on");
    assert_eq!(sessions(&scene).await.len(), 1);
    scene.player.gate.add_permits(1);
    scene.until_state(known, State::Completed).await;
    assert_eq!(scene.view(known).await.attempt, 1);
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_in_a_claim_call_under_way_is_not_taken_for_forgotten() {
    let scene = Scene::new();
    scene.store.next(Verb::Claim, Act::HangAfter);
    let worker = scene.worker_with(Config { call_timeout: Duration::from_mins(5), ..Config::default() });
    let id = scene.submitted("").await;
    scene.until_state(id, State::Running).await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(scene.state(id).await, State::Running, "the answer may still come");
    scene.store.heal();
    scene.until_state(id, State::Completed).await;
    assert_eq!((scene.view(id).await.attempt, scene.player.started()), (1, vec![id]));
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_outcome_waits_to_be_recorded_is_not_taken_for_forgotten() {
    for act in [away(), Act::Hang, Act::Fail(StoreError::Broken("not allowed".into()))] {
        let scene = Scene::new();
        scene.store.always(Verb::Settle, act);
        let worker = scene.worker();
        let id = scene.submitted("").await;
        sleep(Duration::from_mins(2)).await;
        assert_eq!(scene.state(id).await, State::Running);
        scene.store.heal();
        scene.until_state(id, State::Completed).await;
        assert_eq!((scene.view(id).await.attempt, scene.player.started()), (1, vec![id]));
        scene.drained(worker).await;
        scene.is_clean().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_recorded_although_the_store_fell_over_it_once() {
    let scene = Scene::new();
    let worker = scene.worker();
    scene.store.next(Verb::Settle, Act::Panic);
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    assert_eq!((scene.player.started(), sessions(&scene).await.len()), (vec![id], 1));
    scene.drained(worker).await;
    scene.is_clean().await;
}

/// In real time, for a thread that is blocked does not know of any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_that_cannot_be_stopped_is_left_to_lapse_and_its_neighbours_are_not() {
    let scene = Scene::new();
    let worker = scene.worker_with(Config {
        session_ttl: Duration::from_secs(5),
        heartbeat: Duration::from_millis(200),
        fence_margin: Duration::from_secs(2),
        stop_grace: Duration::ZERO,
        ..Config::default()
    });
    let (blocked, stopped) = (scene.submitted("block").await, scene.submitted("gate").await);
    until("both run", || scene.player.running() == 2).await;
    scene.store.always(Verb::Heartbeat, away());
    let unstarted = forgotten(&scene).await;
    let first = sessions(&scene).await[0].id;
    until_async("a new session was begun", async || sessions(&scene).await.len() == 2).await;
    scene.store.heal();
    scene.player.gate.add_permits(1);
    for id in [stopped, unstarted] {
        scene.until_state(id, State::Completed).await;
        assert_eq!(scene.view(id).await.crashes, 0);
    }
    assert_eq!(scene.state(blocked).await, State::Running, "nobody else may have it while it runs");
    let old = sessions(&scene).await.into_iter().find(|session| session.id == first).unwrap();
    assert_eq!(old.state, SessionState::Draining, "it takes nothing more, and is not ended");
    until_async("its time is over", async || {
        let pulses = scene.store.inner.pulses().await.unwrap();
        pulses.iter().any(|pulse| pulse.session == first && pulse.is_overdue)
    })
    .await;
    scene.lapse(first).await;
    scene.player.unblock.store(true, Ordering::SeqCst);
    scene.until_state(blocked, State::Completed).await;
    assert_eq!(outcomes(&scene, blocked).await, [AttemptOutcome::Lapsed, AttemptOutcome::Completed]);
    assert_eq!(scene.view(blocked).await.crashes, 1, "it went on without its worker");
    scene.drained(worker).await;
    scene.is_clean().await;
}
