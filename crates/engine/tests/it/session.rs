//! The worker's session: renewed, fenced on its own clock, and begun anew.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::State;
use foreman_core::memory::LocalWakeups;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobQuery, JobStore, SessionState, SessionView, Topic, Wakeups};
use foreman_engine::worker::Config;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::scene::{Scene, job, until, until_async};
use crate::script::{Act, Verb, away};

async fn sessions(scene: &Scene) -> Vec<SessionView> {
    scene.store.inner.sessions().await.unwrap()
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
    // The work is over before anyone else may have the job.
    assert_eq!((scene.state(id).await, scene.view(id).await.crashes), (State::Running, 0));

    scene.store.heal();
    until_async("a new session was begun", async || sessions(&scene).await.len() == 2).await;
    let old = sessions(&scene).await.into_iter().min_by_key(|session| session.started_at).unwrap();
    sleep(Duration::from_secs(3)).await;
    if old.state.is_alive() {
        scene.lapse(old.id).await;
    }
    scene.player.gate.add_permits(1);
    scene.until_state(id, State::Completed).await;
    let outcomes: Vec<_> = scene.view(id).await.attempts.iter().map(|attempt| attempt.outcome.unwrap()).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lapsed, AttemptOutcome::Completed]);
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
    assert_eq!(drained.abandoned, 1, "{drained:?}");
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
    assert_eq!((view.state, view.attempts.last().unwrap().fence), (State::Failed, Some(fence)));
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
    sleep(Duration::from_secs(10)).await;
    let start = Instant::now();
    let id = scene.submitted("").await;
    scene.until_state(id, State::Completed).await;
    assert!(start.elapsed() <= Duration::from_millis(1_250), "{:?}", start.elapsed());
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
async fn a_settler_that_fell_over_costs_the_session_and_not_the_worker() {
    let scene = Scene::new();
    let worker = scene.worker();
    until_async("it is registered", async || sessions(&scene).await.len() == 1).await;
    let first = sessions(&scene).await[0].id;
    scene.store.next(Verb::Settle, Act::Panic);
    let unlucky = scene.submitted("").await;
    until_async("a new session was begun", async || sessions(&scene).await.len() == 2).await;
    sleep(Duration::from_secs(15)).await;
    scene.lapse(first).await;
    scene.until_state(unlucky, State::Completed).await;
    assert_eq!(scene.player.started(), [unlucky, unlucky], "its first outcome was lost with the settler");
    scene.drained(worker).await;
    scene.is_clean().await;
}
