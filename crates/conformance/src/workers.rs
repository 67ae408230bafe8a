//! What can be seen of sessions.

use super::Subject;
use super::given::{DAY, SECOND, Scene, a_job, completed, jobs};
use foreman_core::id::SessionId;
use foreman_core::ports::{SessionInfo, SessionState, SessionView};

async fn views(scene: &Scene<'_>) -> Vec<SessionView> {
    scene.store.sessions().await.expect("the store answers")
}

async fn view(scene: &Scene<'_>, session: SessionId) -> SessionView {
    views(scene).await.into_iter().find(|view| view.id == session).expect("the session is shown")
}

pub async fn a_session_shows_what_it_registered_with(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let before = scene.now().await;
    let info = SessionInfo {
        id: SessionId::fresh(),
        worker: "host-1".into(),
        pid: 4_000_000_000,
        version: "1.2.3".into(),
        slots: 7,
        queues: vec!["mail".into(), "other".into()],
        tasks: vec!["mail.send".into(), "foreman.noop".into()],
        consumes: None,
        ttl: DAY,
    };
    scene.store.register(&info).await.expect("the store answers");
    let view = view(&scene, info.id).await;
    assert_eq!((view.worker.as_str(), view.pid, view.version.as_str()), ("host-1", 4_000_000_000, "1.2.3"));
    assert_eq!((view.slots, view.queues, view.tasks), (7, info.queues, Some(info.tasks)));
    assert_eq!((view.state, view.running), (SessionState::Live, 0));
    assert!(view.started_at >= before && view.renewed_at >= view.started_at);
}

pub async fn a_session_shows_how_much_it_runs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (busy, idle) = (scene.session().await, scene.session().await);
    scene.submit_all(&jobs(5, &a_job())).await;
    let mut held = scene.claim(busy, 3).await;
    scene.claim(busy, 1).await;
    assert_eq!((view(&scene, busy).await.running, view(&scene, idle).await.running), (4, 0));
    let done = held.pop().expect("three were claimed");
    scene.settle_all(busy, &[done.settle(completed())]).await;
    assert_eq!(view(&scene, busy).await.running, 3);
}

pub async fn the_slots_of_the_fleet_are_those_of_sessions_that_are_alive(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(scene.store.fleet_slots().await.expect("the store answers"), 0);
    let (_live, draining) = (scene.session().await, scene.session().await);
    let (ended, dead) = (scene.session().await, scene.mortal().await);
    let of_each = u64::from(view(&scene, ended).await.slots);
    assert_eq!(scene.store.fleet_slots().await.expect("the store answers"), 4 * of_each);
    scene.drain(draining).await;
    scene.end(ended).await;
    scene.lapse(dead).await;
    assert_eq!(scene.store.fleet_slots().await.expect("the store answers"), 2 * of_each, "it may still hold some");
}

pub async fn a_session_shows_its_state_and_last_renewal(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (draining, ended, dead) = (scene.session().await, scene.session().await, scene.mortal().await);
    let registered = view(&scene, draining).await.renewed_at;
    scene.drain(draining).await;
    scene.end(ended).await;
    scene.lapse(dead).await;
    scene.beat(draining, &[]).await;
    assert!(view(&scene, draining).await.renewed_at > registered);
    assert_eq!(view(&scene, draining).await.state, SessionState::Draining);
    assert_eq!(view(&scene, ended).await.state, SessionState::Ended);
    assert_eq!(view(&scene, dead).await.state, SessionState::Dead);
}

pub async fn the_living_come_first_then_the_newest(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(scene.session().await);
        scene.advance(SECOND).await;
    }
    scene.end(sessions[3]).await;
    scene.end(sessions[1]).await;
    let seen: Vec<_> = views(&scene).await.into_iter().map(|view| view.id).collect();
    assert_eq!(seen, [sessions[2], sessions[0], sessions[3], sessions[1]]);
}

pub async fn how_a_session_went_is_not_rewritten(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (dead, ended) = (scene.mortal().await, scene.session().await);
    scene.lapse(dead).await;
    scene.end(dead).await;
    scene.drain(dead).await;
    assert_eq!(view(&scene, dead).await.state, SessionState::Dead);
    scene.end(ended).await;
    scene.drain(ended).await;
    scene.heartbeat(ended, &[]).await;
    assert_eq!(view(&scene, ended).await.state, SessionState::Ended);
}
